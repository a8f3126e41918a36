#include "compiler/fallback/lowering.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "compiler/fallback/lower_fallback.h"
#include "compiler/fallback/symbol_sources.h"
#include "compiler/passes/rewrite.h"
#include "runtime/program/buffer_plan.h"

namespace edge_infer::fallback {

std::vector<SymInt> dense_strides(const std::vector<SymInt>& sizes) {
  std::vector<SymInt> strides(sizes.size());
  SymInt stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = stride;
    stride = stride * sizes[d];
  }
  return strides;
}

std::vector<SymInt> broadcast_strides(const std::vector<SymInt>& sizes, const std::vector<SymInt>& out) {
  const std::vector<SymInt> dense = dense_strides(sizes);
  std::vector<SymInt> strides(out.size());
  const size_t missing = out.size() - sizes.size();
  for (size_t d = missing; d < out.size(); ++d)
    if (sizes[d - missing] == out[d]) strides[d] = dense[d - missing];
  return strides;
}

SymInt product(const std::vector<SymInt>& sizes, size_t first, size_t last) {
  SymInt p = 1;
  for (size_t d = first; d < last; ++d) p = p * sizes[d];
  return p;
}
SymInt product(const std::vector<SymInt>& sizes, size_t first) {
  return product(sizes, first, sizes.size());
}

SymInt double_bits(double value) {
  return std::bit_cast<int64_t>(value);
}

DType compute_dtype(DType dtype) {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
      return DType::kF32;
    case DType::kI16:
    case DType::kI8:
    case DType::kU8:
      return DType::kI32;
    default:
      return dtype;
  }
}

size_t normalize_dim(int64_t dim, int64_t rank) {
  return static_cast<size_t>(dim < 0 ? dim + rank : dim);
}

LowerFn find_lowering(std::string_view op) {
  for (const auto family : {find_pointwise, find_view, find_reduction, find_matmul, find_row_op})
    if (const LowerFn f = family(op)) return f;
  return nullptr;
}

bool Lowering::is_constant(ValueId v) const {
  return v != kNoValue && constant_of_[static_cast<size_t>(v)] >= 0;
}

int32_t Lowering::temp(DType dtype, std::vector<SymInt> sizes) {
  program_.buffers.push_back({.role = BufferRole::kTemp, .dtype = dtype, .sizes = std::move(sizes)});
  return static_cast<int32_t>(program_.buffers.size()) - 1;
}

int32_t Lowering::result(ValueId v) {
  const auto i = static_cast<size_t>(v);
  if (buffer_of_[i] < 0)
    buffer_of_[i] = output_buffer_[i] >= 0 ? output_buffer_[i] : temp(type(v).dtype, type(v).sizes);
  return buffer_of_[i];
}

int32_t Lowering::packed_weight(ValueId v) {
  for (const auto& [value, buffer] : packed_)
    if (value == v) return buffer;
  ConstantDecl packed = program_.constants[static_cast<size_t>(constant_of_[static_cast<size_t>(v)])];
  packed.format = target_.packed_linear_format;
  program_.constants.push_back(std::move(packed));
  program_.buffers.push_back({.role = BufferRole::kConstant,
                              .dtype = type(v).dtype,
                              .sizes = type(v).sizes,
                              .index = static_cast<int32_t>(program_.constants.size()) - 1});
  packed_.emplace_back(v, static_cast<int32_t>(program_.buffers.size()) - 1);
  return packed_.back().second;
}

Result<Lowering::Units> Lowering::units(ValueId cu, int64_t block_rows) {
  for (const KnownUnits& known : known_units_)
    if (known.cu == cu && known.block_rows == block_rows) return known.units;
  const int32_t offsets = buffer(cu);
  if (program_.buffers[static_cast<size_t>(offsets)].role != BufferRole::kInput)
    return fail(ErrorCode::kUnsupported, "sequence offsets %{} must be an input of the graph",
                graph_.value(cu).name);
  const auto list = static_cast<int32_t>(program_.unit_lists.size());
  const std::string symbol = fmt::format("U{}", list);
  int64_t tokens = int64_t{1} << 24;
  for (const Symbol& s : program_.symbols) tokens = s.name == "T" ? s.range.hi : tokens;
  program_.unit_lists.push_back({offsets, block_rows, symbol});
  program_.symbols.push_back({symbol, {0, tokens}, 1});
  program_.buffers.push_back({.role = BufferRole::kIndex,
                              .dtype = DType::kI32,
                              .sizes = {SymInt::symbol(symbol), 2},
                              .index = list});
  known_units_.push_back(
      {cu, block_rows, {static_cast<int32_t>(program_.buffers.size()) - 1, SymInt::symbol(symbol)}});
  return known_units_.back().units;
}

void Lowering::cast(int32_t from, DType from_type, int32_t to, DType to_type,
                    const std::vector<SymInt>& sizes) {
  Emit call{.kernel = fmt::format("edge.cast.{}.{}", dtype_name(from_type), dtype_name(to_type)),
            .buffers = {to, from}};
  call.integers = {static_cast<int64_t>(sizes.size())};
  append(call.integers, sizes);
  append(call.integers, dense_strides(sizes));
  call.rows = product(sizes);
  call.row_grain = 64;
  emit(std::move(call));
}

int32_t Lowering::in_dtype(ValueId v, DType dtype) {
  if (type(v).dtype == dtype) return buffer(v);
  const int32_t to = temp(dtype, type(v).sizes);
  cast(buffer(v), type(v).dtype, to, dtype, type(v).sizes);
  return to;
}

void Lowering::copy(int32_t out, int32_t in, DType dtype, const std::vector<SymInt>& sizes,
                    const std::vector<SymInt>& strides, const SymInt& offset) {
  Emit call{.kernel = fmt::format("edge.copy.b{}", dtype_size(dtype)), .buffers = {out, in}};
  call.integers = {static_cast<int64_t>(sizes.size())};
  append(call.integers, sizes);
  append(call.integers, strides);
  call.integers.push_back(offset);
  call.rows = product(sizes);
  call.row_grain = 64;
  emit(std::move(call));
}

void Lowering::emit(Emit e) {
  const KernelRef ref{"prebuilt:" + e.kernel};
  size_t kernel = 0;
  while (kernel < program_.kernels.size() && !(program_.kernels[kernel] == ref)) ++kernel;
  if (kernel == program_.kernels.size()) program_.kernels.push_back(ref);
  Call call;
  call.kernel = static_cast<int32_t>(kernel);
  call.buffers = std::move(e.buffers);
  call.integers = std::move(e.integers);
  call.rows = std::move(e.rows);
  call.columns = std::move(e.columns);
  call.row_grain = e.row_grain;
  call.column_grain = e.column_grain;
  call.row_cost = std::move(e.row_cost);
  call.node = node_;
  Phase phase;
  phase.split = e.split;
  phase.calls.push_back(std::move(call));
  program_.phases.push_back(std::move(phase));
}

std::unexpected<Error> Lowering::unsupported(const Node& node, const std::string& why) const {
  return fail(ErrorCode::kUnsupported, "fallback of %{} = {}: {}", graph_.value(node.outputs[0]).name,
              node.op->name, why);
}

Status Lowering::declare_inputs() {
  program_.name = graph_.name();
  program_.accumulation_class = "f32.k1";
  program_.symbols = graph_.symbols();
  const auto count = static_cast<size_t>(graph_.value_count());
  buffer_of_.assign(count, -1);
  output_buffer_.assign(count, -1);
  constant_of_.assign(count, -1);
  const auto declare = [&](ValueId v, BufferRole role, int32_t index) {
    program_.buffers.push_back(
        {.role = role, .dtype = type(v).dtype, .sizes = type(v).sizes, .index = index});
    return static_cast<int32_t>(program_.buffers.size()) - 1;
  };
  int32_t index = 0;
  for (const GraphInput& input : graph_.inputs()) {
    if (input.kind == InputKind::kState)
      return fail(ErrorCode::kUnsupported, "fallback: state input %{} is not served by prebuilt kernels",
                  graph_.value(input.value).name);
    buffer_of_[static_cast<size_t>(input.value)] = declare(input.value, BufferRole::kInput, index++);
  }
  for (const GraphConstant& constant : graph_.constants()) {
    ConstantDecl decl;
    decl.sources = {graph_.value(constant.value).name};
    decl.dtype = type(constant.value).dtype;
    for (const SymInt& size : type(constant.value).sizes) decl.sizes.push_back(size.constant().value_or(-1));
    constant_of_[static_cast<size_t>(constant.value)] = static_cast<int32_t>(program_.constants.size());
    program_.constants.push_back(std::move(decl));
    buffer_of_[static_cast<size_t>(constant.value)] =
        declare(constant.value, BufferRole::kConstant, static_cast<int32_t>(program_.constants.size()) - 1);
  }
  index = 0;
  for (const GraphOutput& output : graph_.outputs()) {
    if (output.kind == OutputKind::kStateUpdate)
      return fail(ErrorCode::kUnsupported, "fallback: state update %{} is not served by prebuilt kernels",
                  graph_.value(output.value).name);
    const int32_t buffer = declare(output.value, BufferRole::kOutput, index++);
    int32_t& first = output_buffer_[static_cast<size_t>(output.value)];
    if (first < 0) first = buffer;
  }
  return {};
}

Status Lowering::finish_outputs() {
  // Outputs that no call wrote directly: views, inputs, constants, and values that are output twice.
  int32_t index = 0;
  for (const GraphOutput& output : graph_.outputs()) {
    int32_t target = -1;
    for (size_t b = 0; b < program_.buffers.size(); ++b)
      if (program_.buffers[b].role == BufferRole::kOutput && program_.buffers[b].index == index)
        target = static_cast<int32_t>(b);
    ++index;
    if (buffer(output.value) == target) continue;
    const TensorType& t = type(output.value);
    copy(target, buffer(output.value), t.dtype, t.sizes, dense_strides(t.sizes), 0);
  }
  return {};
}

Result<Program> Lowering::run() {
  EDGE_INFER_RETURN_IF_ERROR(declare_inputs());
  EDGE_INFER_ASSIGN(program_.symbol_sources, find_symbol_sources(graph_));
  for (size_t n = 0; n < graph_.nodes().size(); ++n) {
    const Node& node = graph_.nodes()[n];
    node_ = static_cast<int32_t>(n);
    const LowerFn lower = find_lowering(node.op->name);
    const Status status = lower == nullptr ? unsupported(node, "no prebuilt kernel") : lower(*this, node);
    if (status) continue;
    if (status.error().code != ErrorCode::kUnsupported || node.op->decompose == nullptr)
      return std::unexpected(status.error());
    unserved_.push_back(node_);
    if (unserved_.size() == 1) first_unserved_ = status.error();
    for (const ValueId output : node.outputs)
      result(output);  // so that the nodes behind it are tried as well
  }
  node_ = -1;
  if (!unserved_.empty()) return std::unexpected(first_unserved_);
  EDGE_INFER_RETURN_IF_ERROR(finish_outputs());
  plan_buffers(program_);
  EDGE_INFER_RETURN_IF_ERROR(verify_program(program_));
  return std::move(program_);
}

}  // namespace edge_infer::fallback

namespace edge_infer {

Result<Program> lower_fallback(const Graph& graph, const Target& target) {
  // What no kernel serves is decomposed, and what comes of that is tried again.
  constexpr int kMaxRounds = 16;
  Graph current = graph;
  for (int round = 0;; ++round) {
    fallback::Lowering lowering(current, target);
    Result<Program> program = lowering.run();
    if (program || lowering.unserved().empty() || round == kMaxRounds) return program;
    NodeId id = -1;  // rewrite() visits nodes in order
    EDGE_INFER_ASSIGN(const bool changed, rewrite(current,
                                                  [&](GraphBuilder& builder, const Node& node,
                                                      std::span<const ValueId> inputs) -> Replacement {
                                                    ++id;
                                                    if (!std::ranges::binary_search(lowering.unserved(), id))
                                                      return std::nullopt;
                                                    auto values = node.op->decompose(builder, node, inputs);
                                                    if (values) return *std::move(values);
                                                    if (values.error().code == ErrorCode::kUnsupported)
                                                      return std::nullopt;
                                                    return std::unexpected(values.error());
                                                  }));
    if (!changed) return program;
  }
}

}  // namespace edge_infer
