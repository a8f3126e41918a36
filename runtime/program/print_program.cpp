#include <fmt/ranges.h>

#include "runtime/base/text_scanner.h"
#include "runtime/program/program.h"
#include "runtime/program/program_names.h"

namespace edge_infer {
namespace {

std::string join(const std::vector<SymInt>& list) {
  std::string out;
  for (size_t i = 0; i < list.size(); ++i) out += (i == 0 ? "" : ", ") + list[i].str();
  return out;
}

std::string print_symbol(const Program& program, size_t i) {
  const Symbol& s = program.symbols[i];
  std::string text = fmt::format("  symbol {} in {}..{} hint {}", s.name, s.range.lo, s.range.hi, s.hint);
  if (i < program.symbol_sources.size()) {
    const Program::SymbolSource& source = program.symbol_sources[i];
    text += fmt::format(" = input {} dim {} minus {}", source.input, source.dim, source.minus);
  }
  return text + "\n";
}

std::string print_constant(const ConstantDecl& c, size_t i) {
  std::string text =
      fmt::format("  c{}: {} {}[{}]", i, c.format, dtype_name(c.dtype), fmt::join(c.sizes, ", "));
  if (c.sources.empty())
    return text + " literal " + to_hex({reinterpret_cast<const char*>(c.literal.data()), c.literal.size()}) +
           "\n";
  for (size_t s = 0; s < c.sources.size(); ++s) text += (s == 0 ? " " : " ++ ") + quote_text(c.sources[s]);
  return text + "\n";
}

std::string print_buffer(const BufferDecl& b, size_t i) {
  std::string text =
      fmt::format("  b{}: {} {}[{}]", i, role_name(b.role), dtype_name(b.dtype), join(b.sizes));
  if (b.role == BufferRole::kTemp) {
    if (b.slot >= 0) text += fmt::format(" s{}", b.slot);
  } else {
    text += fmt::format(" {}{}", index_prefix(b.role), b.index);
  }
  return text + "\n";
}

std::string print_call(const Program& program, const Call& c) {
  std::string operands;
  for (const int32_t b : c.buffers)
    operands += fmt::format("{}{}", operands.empty() ? "" : ", ", b < 0 ? "none" : fmt::format("b{}", b));
  const auto kernel = static_cast<size_t>(c.kernel);
  return fmt::format("    {}({}) [{}] over {} by {} x {} by {} cost {}{}\n",
                     kernel < program.kernels.size() ? program.kernels[kernel].name : "?", operands,
                     join(c.integers), c.rows.str(), c.row_grain, c.columns.str(), c.column_grain,
                     c.row_cost.str(), c.node < 0 ? "" : fmt::format(" node {}", c.node));
}

}  // namespace

std::string print_program(const Program& program) {
  std::string out =
      fmt::format("program {} class {}\n", quote_text(program.name), quote_text(program.accumulation_class));
  for (size_t i = 0; i < program.symbols.size(); ++i) out += print_symbol(program, i);
  for (size_t i = 0; i < program.constants.size(); ++i) out += print_constant(program.constants[i], i);
  for (size_t i = 0; i < program.buffers.size(); ++i) out += print_buffer(program.buffers[i], i);
  for (size_t i = 0; i < program.slots.size(); ++i)
    out += fmt::format("  slot s{}: {} bytes\n", i, program.slots[i].str());
  for (size_t i = 0; i < program.unit_lists.size(); ++i) {
    const UnitListDecl& u = program.unit_lists[i];
    out += fmt::format("  units u{}: {} = blocks of {} rows of b{}\n", i, u.count, u.block_rows, u.offsets);
  }
  for (const KernelRef& kernel : program.kernels) out += fmt::format("  kernel {}\n", kernel.name);
  for (size_t p = 0; p < program.phases.size(); ++p) {
    const Phase& phase = program.phases[p];
    out += fmt::format("  phase {} {}", p, split_name(phase.split));
    if (!(phase.when == SymInt(1))) out += " when " + phase.when.str();
    if (phase.row_block != 0) out += fmt::format(" rows of {}", phase.row_block);
    out += "\n";
    for (const Call& c : phase.calls) out += print_call(program, c);
  }
  return out;
}

}  // namespace edge_infer
