// Ops that make a tensor: joins, copies, conversions and constants.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/graph/evaluators.h"
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/ops.h"
#include "compiler/graph/print.h"

namespace edge_infer {
namespace {

using Ids = std::span<const ValueId>;
using Values = Result<std::vector<ValueId>>;

Result<Types> infer_cat(const InferContext& c) {
  TensorType type = *c.inputs[0];
  if (type.rank() == 0)
    return fail(ErrorCode::kInvalidArgument, "a tensor without dimensions cannot be joined");
  EDGE_INFER_ASSIGN(const int64_t dim, wrap_dim(attribute_as<int64_t>(c.node, "dim"), type.rank()));
  for (size_t i = 1; i < c.inputs.size(); ++i) {
    EDGE_INFER_RETURN_IF_ERROR(expect_rank(c, i, type.rank()));
    type.dtype = promote_types(type.dtype, c.inputs[i]->dtype);
    for (size_t d = 0; d < type.sizes.size(); ++d) {
      const SymInt& size = c.inputs[i]->sizes[d];
      if (static_cast<int64_t>(d) == dim) {
        type.sizes[d] = type.sizes[d] + size;
      } else {
        EDGE_INFER_RETURN_IF_ERROR(
            expect_equal_size(c, size, type.sizes[d], fmt::format("size {} of operand {}", d, i)));
      }
    }
  }
  return Types{std::move(type)};
}

void store_as(HostTensor& out, const HostTensor& in) {
  if (is_floating(in.dtype)) {
    out.store(in.to_doubles());
  } else {
    out.store(in.to_integers());
  }
}

Status evaluate_cat(const EvaluateContext& c) {
  const auto rank = static_cast<int64_t>(c.out().sizes.size());
  EDGE_INFER_ASSIGN(const int64_t dim, wrap_dim(attribute_as<int64_t>(c.node, "dim"), rank));
  const DimView to = view_dim(c.out().sizes, dim);
  const int64_t width = dtype_size(c.out().dtype);
  int64_t row = 0;
  for (const HostTensor* input : c.inputs) {
    HostTensor part{c.out().dtype, input->sizes, {}};
    part.bytes.resize(static_cast<size_t>(part.elements() * width));
    store_as(part, *input);
    const DimView from = view_dim(part.sizes, dim);
    if (row + from.length > to.length || from.outer != to.outer || from.inner != to.inner)
      return fail(ErrorCode::kInvalidArgument, "{} does not fit into {}", print_sizes(part.sizes),
                  print_sizes(c.out().sizes));
    const auto block = static_cast<size_t>(from.length * from.inner * width);
    for (int64_t o = 0; o < from.outer && block > 0; ++o)
      std::memcpy(&c.out().bytes[static_cast<size_t>(to.index(o, row, 0) * width)],
                  &part.bytes[static_cast<size_t>(o) * block], block);
    row += from.length;
  }
  return {};
}

Values derive_cat(GraphBuilder& b, const Node& node, Ids in, Ids, Ids g) {
  const Attribute dim = attribute(node, "dim");
  const int64_t d = wrap_dim(std::get<int64_t>(dim), b.type(in[0]).rank()).value_or(0);
  std::vector<ValueId> grads;
  SymInt start = 0;
  for (const ValueId input : in) {
    const SymInt size = b.type(input).sizes[static_cast<size_t>(d)];
    ValueId part = b.op("aten.slice", {g[0]}, {{"dim", dim}, {"start", start}, {"end", start + size}});
    grads.push_back(is_floating(b.type(input).dtype) ? sum_to(b, part, b.type(input)) : kNoValue);
    start = start + size;
  }
  return grads;
}

Status evaluate_clone(const EvaluateContext& c) {
  c.out().bytes = c.in(0).bytes;
  return {};
}
Values decompose_clone(GraphBuilder&, const Node&, Ids in) {
  return std::vector{in[0]};
}
Values derive_clone(GraphBuilder&, const Node&, Ids, Ids, Ids g) {
  return std::vector{g[0]};
}

Result<Types> infer_to_copy(const InferContext& c) {
  return Types{{attribute_as<DType>(c.node, "dtype"), c.inputs[0]->sizes}};
}
Status evaluate_to_copy(const EvaluateContext& c) {
  store_as(c.out(), c.in(0));
  return {};
}
Values derive_to_copy(GraphBuilder& b, const Node&, Ids in, Ids, Ids g) {
  const DType dtype = b.type(in[0]).dtype;
  return std::vector{is_floating(dtype) ? b.op("aten._to_copy", {g[0]}, {{"dtype", dtype}}) : kNoValue};
}

Result<Types> infer_full(const InferContext& c) {
  return Types{{attribute_as<DType>(c.node, "dtype"), attribute_as<Sizes>(c.node, "size")}};
}
Status evaluate_full(const EvaluateContext& c) {
  const auto n = static_cast<size_t>(c.out().elements());
  const Attribute& value = attribute(c.node, "fill_value");
  if (const auto* number = std::get_if<double>(&value)) {
    c.out().store(std::vector<double>(n, *number));
  } else if (const auto* truth = std::get_if<bool>(&value)) {
    c.out().store(std::vector<int64_t>(n, *truth ? 1 : 0));
  } else {
    c.out().store(std::vector<int64_t>(n, std::get<int64_t>(value)));
  }
  return {};
}

// start, start + step, ... below end (above it for a negative step).
Result<Types> infer_arange(const InferContext& c) {
  const int64_t step = attribute_as<int64_t>(c.node, "step");
  if (step == 0) return fail(ErrorCode::kInvalidArgument, "step is 0");
  const SymInt distance = attribute_as<SymInt>(c.node, "end") - attribute_as<SymInt>(c.node, "start");
  const SymInt length =
      step > 0 ? ceildiv(distance, step) : ceildiv(SymInt(0) - distance, SymInt(0) - SymInt(step));
  if (length.constant() && *length.constant() < 0)
    return fail(ErrorCode::kInvalidArgument, "end lies before start, {} elements", *length.constant());
  const bool is_positive = length.range(c.symbols).lo >= 0;
  return Types{{attribute_as<DType>(c.node, "dtype"), {is_positive ? length : max(length, 0)}}};
}
Status evaluate_arange(const EvaluateContext& c) {
  EDGE_INFER_ASSIGN(const int64_t start, attribute_as<SymInt>(c.node, "start").evaluate(c.symbols));
  const int64_t step = attribute_as<int64_t>(c.node, "step");
  std::vector<int64_t> values(static_cast<size_t>(c.out().elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<int64_t>(i) * step;
  c.out().store(values);
  return {};
}

Values derive_nothing(GraphBuilder&, const Node&, Ids, Ids, Ids) {
  return std::vector<ValueId>{};
}

}  // namespace

void add_copy_ops(std::vector<OpInfo>& table) {
  using enum AttributeKind;
  table.push_back({.name = "aten.cat",
                   .operands = {{"tensors", false, true}},
                   .attributes = {with_default("dim", kInt, int64_t{0})},
                   .infer = infer_cat,
                   .evaluate = evaluate_cat,
                   .derivative = derive_cat});
  table.push_back({.name = "aten.clone",
                   .operands = {{"self"}},
                   .infer = infer_same,
                   .evaluate = evaluate_clone,
                   .decompose = decompose_clone,
                   .derivative = derive_clone});
  table.push_back({.name = "aten._to_copy",
                   .kind = OpKind::kPointwise,
                   .operands = {{"self"}},
                   .attributes = {required("dtype", kDType)},
                   .infer = infer_to_copy,
                   .evaluate = evaluate_to_copy,
                   .derivative = derive_to_copy});
  table.push_back({.name = "aten.full",
                   .attributes = {required("size", kSizes), required("fill_value", kScalar),
                                  with_default("dtype", kDType, DType::kF32)},
                   .infer = infer_full,
                   .evaluate = evaluate_full,
                   .derivative = derive_nothing});
  table.push_back(
      {.name = "aten.arange",
       .attributes = {with_default("start", kSize, SymInt(0)), required("end", kSize),
                      with_default("step", kInt, int64_t{1}), with_default("dtype", kDType, DType::kI64)},
       .infer = infer_arange,
       .evaluate = evaluate_arange,
       .derivative = derive_nothing});
}

}  // namespace edge_infer
