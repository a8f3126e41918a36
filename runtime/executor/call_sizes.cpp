#include "runtime/executor/call_sizes.h"

#include <algorithm>

namespace edge_infer {

Result<SizeTable> SizeTable::compile(const Program& program) {
  SizeTable table;
  table.program_ = &program;
  for (const UnitListDecl& list : program.unit_lists) {
    const auto found = std::ranges::find(program.symbols, list.count, &Symbol::name);
    table.unit_symbols_.push_back(static_cast<size_t>(found - program.symbols.begin()));
  }
  for (const BufferDecl& b : program.buffers) {
    if (b.role != BufferRole::kOutput) continue;
    const auto at = static_cast<size_t>(b.index);
    if (table.output_sizes_.size() <= at) table.output_sizes_.resize(at + 1);
    for (const SymInt& size : b.sizes) {
      EDGE_INFER_ASSIGN(const Index index, table.add(size));
      table.output_sizes_[at].push_back(index);
    }
  }
  return table;
}

Result<SizeTable::Index> SizeTable::add(const SymInt& expression) {
  const auto known = std::ranges::find(expressions_, expression);
  if (known != expressions_.end()) return static_cast<Index>(known - expressions_.begin());
  EDGE_INFER_ASSIGN(SymCode code, SymCode::compile(expression, program_->symbols));
  codes_.push_back(std::move(code));
  expressions_.push_back(expression);
  return static_cast<Index>(codes_.size() - 1);
}

std::span<const int32_t> SizeTable::offsets(size_t list, std::span<const TensorView> inputs) const {
  const BufferDecl& decl = program_->buffers[static_cast<size_t>(program_->unit_lists[list].offsets)];
  const TensorView& input = inputs[static_cast<size_t>(decl.index)];
  return {static_cast<const int32_t*>(input.data), static_cast<size_t>(input.sizes[0])};
}

Status SizeTable::bind_symbols(CallSizes& sizes, std::span<const TensorView> inputs) const {
  const size_t count = program_->symbols.size();
  if (sizes.symbols.size() != count + 1) {
    sizes.valid = false;
    sizes.symbols.assign(count + 1, 1);
  }
  const auto set = [&](size_t i, int64_t value) -> Status {
    const Symbol& s = program_->symbols[i];
    if (value < s.range.lo || value > s.range.hi)
      return fail(ErrorCode::kInvalidArgument, "size {} is {}, expected {}..{}", s.name, value, s.range.lo,
                  s.range.hi);
    if (sizes.symbols[i] != value) sizes.valid = false;
    sizes.symbols[i] = value;
    return {};
  };
  for (size_t i = 0; i < program_->symbol_sources.size(); ++i) {
    const Program::SymbolSource& source = program_->symbol_sources[i];
    const TensorView& input = inputs[static_cast<size_t>(source.input)];
    EDGE_INFER_RETURN_IF_ERROR(set(i, input.sizes[static_cast<size_t>(source.dim)] - source.minus));
  }
  for (size_t u = 0; u < unit_symbols_.size(); ++u) {
    const int64_t units = count_units(offsets(u, inputs), program_->unit_lists[u].block_rows);
    EDGE_INFER_RETURN_IF_ERROR(set(unit_symbols_[u], units));
  }
  return {};
}

void SizeTable::evaluate(CallSizes& sizes) const {
  if (sizes.valid && sizes.values.size() == codes_.size()) return;
  sizes.values.resize(codes_.size());
  for (size_t i = 0; i < codes_.size(); ++i) sizes.values[i] = codes_[i].evaluate(sizes.symbols);
  sizes.valid = true;
}

Status SizeTable::check_outputs(const CallSizes& sizes, std::span<const TensorView> outputs) const {
  if (outputs.size() != output_sizes_.size())
    return fail(ErrorCode::kInvalidArgument, "{} outputs given, expected {}", outputs.size(),
                output_sizes_.size());
  for (size_t o = 0; o < outputs.size(); ++o) {
    const auto value = [&](Index i) { return sizes.values[i]; };
    if (!std::ranges::equal(outputs[o].sizes, output_sizes_[o], {}, {}, value))
      return fail(ErrorCode::kInvalidArgument, "output {} has other sizes than the program computes", o);
  }
  return {};
}

}  // namespace edge_infer
