// Views: the same elements under other sizes or in another order. They have no storage meaning; sizes and
// bounds are SymInts.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "compiler/graph/evaluators.h"
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/ops.h"
#include "compiler/graph/print.h"

namespace edge_infer {
namespace {

using Ids = std::span<const ValueId>;
using Values = Result<std::vector<ValueId>>;
using Dims = std::vector<int64_t>;

int64_t dim_attribute(const Node& node, std::string_view name, int64_t rank) {
  return wrap_dim(attribute_as<int64_t>(node, name), rank).value_or(0);
}

Result<Types> infer_view(const InferContext& c) {
  const TensorType& x = *c.inputs[0];
  Sizes sizes = attribute_as<Sizes>(c.node, "size");
  std::optional<size_t> open;
  SymInt known = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].constant() == -1) {
      if (open)
        return fail(ErrorCode::kInvalidArgument, "size {} leaves two dimensions open",
                    print(Attribute{sizes}));
      open = i;
    } else {
      known = known * sizes[i];
    }
  }
  const SymInt elements = x.elements();
  if (open) sizes[*open] = known.constant() == 0 ? SymInt(0) : floordiv(elements, known);
  if (!((open ? sizes[*open] * known : known) == elements))
    return fail(ErrorCode::kInvalidArgument, "{} has {} elements, the view {} has {}", print(x),
                elements.str(), print(Attribute{sizes}),
                open ? "another multiple of " + known.str() : known.str());
  return Types{{x.dtype, std::move(sizes)}};
}

Result<Dims> permutation(const Node& node, int64_t rank) {
  Dims dims;
  for (const int64_t dim : attribute_as<Dims>(node, "dims")) {
    EDGE_INFER_ASSIGN(const int64_t d, wrap_dim(dim, rank));
    dims.push_back(d);
  }
  Dims sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t i = 0; i < static_cast<int64_t>(sorted.size()); ++i)
    if (sorted[static_cast<size_t>(i)] != i) sorted.clear();
  if (static_cast<int64_t>(sorted.size()) != rank)
    return fail(ErrorCode::kInvalidArgument, "dims {} are no permutation of {} dimensions",
                print(Attribute{dims}), rank);
  return dims;
}

Result<Types> infer_permute(const InferContext& c) {
  EDGE_INFER_ASSIGN(const Dims dims, permutation(c.node, c.inputs[0]->rank()));
  Sizes sizes;
  for (const int64_t dim : dims) sizes.push_back(c.inputs[0]->sizes[static_cast<size_t>(dim)]);
  return Types{{c.inputs[0]->dtype, std::move(sizes)}};
}

Result<Types> infer_transpose(const InferContext& c) {
  TensorType type = *c.inputs[0];
  EDGE_INFER_ASSIGN(const int64_t a, wrap_dim(attribute_as<int64_t>(c.node, "dim0"), type.rank()));
  EDGE_INFER_ASSIGN(const int64_t b, wrap_dim(attribute_as<int64_t>(c.node, "dim1"), type.rank()));
  if (type.rank() > 0) std::swap(type.sizes[static_cast<size_t>(a)], type.sizes[static_cast<size_t>(b)]);
  return Types{std::move(type)};
}

// A slice bound as ATen reads it: negative ones count from the end, and all are clamped to [0, size]. The
// sign must hold over the symbols' ranges.
Result<SymInt> slice_bound(const SymInt& bound, const SymInt& size, std::span<const Symbol> symbols) {
  const SymRange range = bound.range(symbols);
  if (range.lo < 0 && range.hi >= 0)
    return fail(ErrorCode::kInvalidArgument, "bound {} may be negative or not", bound.str());
  if (range.hi < 0) {
    const SymInt from_end = size + bound;
    return from_end.range(symbols).lo >= 0 ? from_end : max(from_end, 0);
  }
  if ((size - bound).range(symbols).lo >= 0) return bound;
  if ((bound - size).range(symbols).lo >= 0 || bound.constant() == INT64_MAX) return size;
  return min(bound, size);
}

Result<Types> infer_slice(const InferContext& c) {
  TensorType type = *c.inputs[0];
  EDGE_INFER_ASSIGN(const int64_t dim, wrap_dim(attribute_as<int64_t>(c.node, "dim"), type.rank()));
  if (type.rank() == 0) return fail(ErrorCode::kInvalidArgument, "self has no dimensions");
  const int64_t step = attribute_as<int64_t>(c.node, "step");
  if (step < 1) return fail(ErrorCode::kInvalidArgument, "step is {}, expected 1 or more", step);
  SymInt& size = type.sizes[static_cast<size_t>(dim)];
  EDGE_INFER_ASSIGN(const SymInt start, slice_bound(attribute_as<SymInt>(c.node, "start"), size, c.symbols));
  EDGE_INFER_ASSIGN(const SymInt end, slice_bound(attribute_as<SymInt>(c.node, "end"), size, c.symbols));
  const SymInt length = ceildiv(end - start, step);
  size = length.range(c.symbols).lo >= 0 ? length : max(length, 0);
  return Types{std::move(type)};
}

Result<Types> infer_select(const InferContext& c) {
  TensorType type = *c.inputs[0];
  EDGE_INFER_ASSIGN(const int64_t dim, wrap_dim(attribute_as<int64_t>(c.node, "dim"), type.rank()));
  if (type.rank() == 0) return fail(ErrorCode::kInvalidArgument, "self has no dimensions");
  const auto size = type.sizes[static_cast<size_t>(dim)].constant();
  const auto index = attribute_as<SymInt>(c.node, "index").constant();
  if (size && index && (*index < -*size || *index >= *size))
    return fail(ErrorCode::kInvalidArgument, "index {} of a dimension of size {}", *index, *size);
  type.sizes.erase(type.sizes.begin() + dim);
  return Types{std::move(type)};
}

Result<Types> infer_expand(const InferContext& c) {
  Sizes sizes = attribute_as<Sizes>(c.node, "size");
  const Sizes& from = c.inputs[0]->sizes;
  if (sizes.size() < from.size())
    return fail(ErrorCode::kInvalidArgument, "{} does not expand to the {} dimensions of {}",
                print(*c.inputs[0]), sizes.size(), print(Attribute{sizes}));
  for (size_t i = 0; i < from.size(); ++i) {
    SymInt& size = sizes[sizes.size() - from.size() + i];
    if (size.constant() == -1) size = from[i];
    if (!(size == from[i]) && from[i].constant() != 1)
      return fail(ErrorCode::kInvalidArgument,
                  "{} does not expand to {}: {} and {} differ and the former is not 1", print(*c.inputs[0]),
                  print(Attribute{sizes}), from[i].str(), size.str());
  }
  for (const SymInt& size : sizes)
    if (size.constant() == -1)
      return fail(ErrorCode::kInvalidArgument, "size {} keeps a dimension that self lacks",
                  print(Attribute{sizes}));
  return Types{{c.inputs[0]->dtype, std::move(sizes)}};
}

Result<Types> infer_unsqueeze(const InferContext& c) {
  TensorType type = *c.inputs[0];
  EDGE_INFER_ASSIGN(const int64_t dim, wrap_dim(attribute_as<int64_t>(c.node, "dim"), type.rank() + 1));
  type.sizes.insert(type.sizes.begin() + dim, SymInt(1));
  return Types{std::move(type)};
}

// Dimensions whose size is the constant 1, among `dim` or among all; a symbol is never taken for 1.
Result<Types> infer_squeeze(const InferContext& c) {
  const TensorType& x = *c.inputs[0];
  EDGE_INFER_ASSIGN(const Dims dims, reduced_dims(attribute_as<Dims>(c.node, "dim"), x.rank()));
  Sizes sizes;
  for (int64_t i = 0; i < x.rank(); ++i) {
    const SymInt& size = x.sizes[static_cast<size_t>(i)];
    if (size.constant() != 1 || !std::binary_search(dims.begin(), dims.end(), i)) sizes.push_back(size);
  }
  return Types{{x.dtype, std::move(sizes)}};
}

Result<Types> infer_split(const InferContext& c) {
  const TensorType& x = *c.inputs[0];
  EDGE_INFER_ASSIGN(const int64_t dim, wrap_dim(attribute_as<int64_t>(c.node, "dim"), x.rank()));
  if (x.rank() == 0) return fail(ErrorCode::kInvalidArgument, "self has no dimensions");
  const Sizes& parts = attribute_as<Sizes>(c.node, "split_sizes");
  if (parts.empty()) return fail(ErrorCode::kInvalidArgument, "split_sizes is empty");
  SymInt total = 0;
  Types types;
  for (const SymInt& part : parts) {
    total = total + part;
    types.push_back(x);
    types.back().sizes[static_cast<size_t>(dim)] = part;
  }
  EDGE_INFER_RETURN_IF_ERROR(
      expect_equal_size(c, total, x.sizes[static_cast<size_t>(dim)], "the sum of split_sizes"));
  return types;
}

// --- Evaluation: every view is a gather of elements ---

void gather_elements(const HostTensor& from, HostTensor& to, const Dims& strides, int64_t offset) {
  const auto width = static_cast<size_t>(dtype_size(from.dtype));
  Dims position(to.sizes.size(), 0);
  for (int64_t i = 0; i < to.elements(); ++i) {
    int64_t at = offset;
    for (size_t d = 0; d < position.size(); ++d) at += position[d] * strides[d];
    std::memcpy(&to.bytes[static_cast<size_t>(i) * width], &from.bytes[static_cast<size_t>(at) * width],
                width);
    for (size_t d = position.size(); d-- > 0;) {
      if (++position[d] < to.sizes[d]) break;
      position[d] = 0;
    }
  }
}

// The elements in order under other sizes.
Status evaluate_reshape(const EvaluateContext& c) {
  if (c.in(0).bytes.size() != c.out().bytes.size())
    return fail(ErrorCode::kInvalidArgument, "{} does not have the elements of {}",
                print_sizes(c.in(0).sizes), print_sizes(c.out().sizes));
  c.out().bytes = c.in(0).bytes;
  return {};
}
Status evaluate_permute(const EvaluateContext& c) {
  EDGE_INFER_ASSIGN(const Dims dims, permutation(c.node, static_cast<int64_t>(c.in(0).sizes.size())));
  const Dims dense = dense_strides(c.in(0).sizes);
  Dims strides;
  for (const int64_t dim : dims) strides.push_back(dense[static_cast<size_t>(dim)]);
  gather_elements(c.in(0), c.out(), strides, 0);
  return {};
}
Status evaluate_transpose(const EvaluateContext& c) {
  const auto rank = static_cast<int64_t>(c.in(0).sizes.size());
  if (rank == 0) return evaluate_reshape(c);
  Dims strides = dense_strides(c.in(0).sizes);
  std::swap(strides[static_cast<size_t>(dim_attribute(c.node, "dim0", rank))],
            strides[static_cast<size_t>(dim_attribute(c.node, "dim1", rank))]);
  gather_elements(c.in(0), c.out(), strides, 0);
  return {};
}
Status evaluate_slice(const EvaluateContext& c) {
  const auto dim =
      static_cast<size_t>(dim_attribute(c.node, "dim", static_cast<int64_t>(c.in(0).sizes.size())));
  Dims strides = dense_strides(c.in(0).sizes);
  const int64_t size = c.in(0).sizes[dim], step = attribute_as<int64_t>(c.node, "step");
  EDGE_INFER_ASSIGN(int64_t start, attribute_as<SymInt>(c.node, "start").evaluate(c.symbols));
  start = std::clamp<int64_t>(start < 0 ? start + size : start, 0, size);
  const int64_t length = c.out().sizes[dim];
  if (length > 0 && (length - 1 > (size - 1 - start) / step || start >= size))
    return fail(ErrorCode::kInvalidArgument, "{} elements from {} in steps of {} leave the size {}", length,
                start, step, size);
  const int64_t offset = start * strides[dim];
  strides[dim] *= step;
  gather_elements(c.in(0), c.out(), strides, offset);
  return {};
}
Status evaluate_select(const EvaluateContext& c) {
  const auto dim = dim_attribute(c.node, "dim", static_cast<int64_t>(c.in(0).sizes.size()));
  Dims strides = dense_strides(c.in(0).sizes);
  EDGE_INFER_ASSIGN(int64_t index, attribute_as<SymInt>(c.node, "index").evaluate(c.symbols));
  const int64_t size = c.in(0).sizes[static_cast<size_t>(dim)];
  if (index < -size || index >= size)
    return fail(ErrorCode::kInvalidArgument, "index {} of a dimension of size {}", index, size);
  if (index < 0) index += size;
  const int64_t offset = index * strides[static_cast<size_t>(dim)];
  strides.erase(strides.begin() + dim);
  gather_elements(c.in(0), c.out(), strides, offset);
  return {};
}
Status evaluate_expand(const EvaluateContext& c) {
  const Dims& from = c.in(0).sizes;
  const Dims dense = dense_strides(from);
  Dims strides(c.out().sizes.size(), 0);
  for (size_t i = 0; i < from.size(); ++i)
    strides[strides.size() - from.size() + i] = from[i] == 1 ? 0 : dense[i];
  gather_elements(c.in(0), c.out(), strides, 0);
  return {};
}
Status evaluate_split(const EvaluateContext& c) {
  const auto dim =
      static_cast<size_t>(dim_attribute(c.node, "dim", static_cast<int64_t>(c.in(0).sizes.size())));
  const Dims strides = dense_strides(c.in(0).sizes);
  int64_t start = 0;
  for (HostTensor& out : c.outputs) {
    if (start + out.sizes[dim] > c.in(0).sizes[dim])
      return fail(ErrorCode::kInvalidArgument, "split_sizes exceed the size {}", c.in(0).sizes[dim]);
    gather_elements(c.in(0), out, strides, start * strides[dim]);
    start += out.sizes[dim];
  }
  return {};
}

// --- Decompositions into view, permute, slice ---

ValueId view_as(GraphBuilder& b, ValueId x, const Sizes& sizes) {
  return b.op("aten.view", {x}, {{"size", sizes}});
}

// What the shape rule says of the node's first result.
Result<Sizes> result_sizes(GraphBuilder& b, const Node& node, Ids in) {
  const Node inferred{node.op, {in.begin(), in.end()}, node.attributes, {}};
  EDGE_INFER_ASSIGN(const Types types, infer_types(b.graph(), inferred));
  return types[0].sizes;
}
Values decompose_to_view(GraphBuilder& b, const Node& node, Ids in) {
  EDGE_INFER_ASSIGN(const Sizes sizes, result_sizes(b, node, in));
  return std::vector{view_as(b, in[0], sizes)};
}
Values decompose_transpose(GraphBuilder& b, const Node& node, Ids in) {
  const int64_t rank = b.type(in[0]).rank();
  if (rank == 0) return std::vector{in[0]};
  Dims dims(static_cast<size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  std::swap(dims[static_cast<size_t>(dim_attribute(node, "dim0", rank))],
            dims[static_cast<size_t>(dim_attribute(node, "dim1", rank))]);
  return std::vector{b.op("aten.permute", {in[0]}, {{"dims", dims}})};
}
Values decompose_select(GraphBuilder& b, const Node& node, Ids in) {
  const int64_t dim = dim_attribute(node, "dim", b.type(in[0]).rank());
  const SymInt index = attribute_as<SymInt>(node, "index");
  const auto constant = index.constant();
  if (!constant) return fail(ErrorCode::kUnsupported, "a symbolic index may count from either end");
  const SymInt start = *constant < 0 ? b.type(in[0]).sizes[static_cast<size_t>(dim)] + index : index;
  EDGE_INFER_ASSIGN(const Sizes sizes, result_sizes(b, node, in));
  const ValueId row = b.op("aten.slice", {in[0]}, {{"dim", dim}, {"start", start}, {"end", start + 1}});
  // Whether the row exists shows only at run time where the size is symbolic; such a view cannot be written.
  if (b.error() == nullptr && !(b.type(row).elements() == TensorType{DType::kF32, sizes}.elements()))
    return fail(ErrorCode::kUnsupported, "row {} may not exist", start.str());
  return std::vector{view_as(b, row, sizes)};
}
Values decompose_split(GraphBuilder& b, const Node& node, Ids in) {
  std::vector<ValueId> parts;
  SymInt start = 0;
  const Attribute dim = attribute(node, "dim");
  for (const SymInt& size : attribute_as<Sizes>(node, "split_sizes")) {
    parts.push_back(b.op("aten.slice", {in[0]}, {{"dim", dim}, {"start", start}, {"end", start + size}}));
    start = start + size;
  }
  return parts;
}

// --- Derivatives ---

Values derive_reshape(GraphBuilder& b, const Node&, Ids in, Ids, Ids g) {
  return std::vector{view_as(b, g[0], b.type(in[0]).sizes)};
}
Values derive_permute(GraphBuilder& b, const Node& node, Ids in, Ids, Ids g) {
  EDGE_INFER_ASSIGN(const Dims dims, permutation(node, b.type(in[0]).rank()));
  Dims inverse(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) inverse[static_cast<size_t>(dims[i])] = static_cast<int64_t>(i);
  return std::vector{b.op("aten.permute", {g[0]}, {{"dims", inverse}})};
}
Values derive_transpose(GraphBuilder& b, const Node& node, Ids, Ids, Ids g) {
  return std::vector{b.op("aten.transpose", {g[0]}, node.attributes)};
}
Values derive_expand(GraphBuilder& b, const Node&, Ids in, Ids, Ids g) {
  return std::vector{sum_to(b, g[0], b.type(in[0]))};
}
// The gradient between zeros, along `dim` of the sizes of the input.
ValueId padded(GraphBuilder& b, ValueId grad, const TensorType& type, int64_t dim, const SymInt& before) {
  const auto d = static_cast<size_t>(dim);
  const SymInt after = type.sizes[d] - before - b.type(grad).sizes[d];
  const auto zeros = [&](const SymInt& length) {
    Sizes sizes = type.sizes;
    sizes[d] = length;
    return b.op("aten.full", {}, {{"size", sizes}, {"fill_value", 0.0}, {"dtype", type.dtype}});
  };
  std::vector<ValueId> parts;
  if (before.constant() != 0) parts.push_back(zeros(before));
  parts.push_back(grad);
  if (after.constant() != 0) parts.push_back(zeros(after));
  return parts.size() == 1 ? grad : b.op("aten.cat", parts, {{"dim", dim}});
}
Values derive_slice(GraphBuilder& b, const Node& node, Ids in, Ids, Ids g) {
  if (attribute_as<int64_t>(node, "step") != 1)
    return fail(ErrorCode::kUnsupported, "aten.slice: the derivative of a step other than 1 is not known");
  const TensorType type = b.type(in[0]);
  const int64_t dim = dim_attribute(node, "dim", type.rank());
  EDGE_INFER_ASSIGN(const SymInt start,
                    slice_bound(attribute_as<SymInt>(node, "start"), type.sizes[static_cast<size_t>(dim)],
                                b.graph().symbols()));
  return std::vector{padded(b, g[0], type, dim, start)};
}
Values derive_select(GraphBuilder& b, const Node& node, Ids in, Ids, Ids g) {
  const TensorType type = b.type(in[0]);
  const int64_t dim = dim_attribute(node, "dim", type.rank());
  SymInt index = attribute_as<SymInt>(node, "index");
  if (index.constant() && *index.constant() < 0) index = type.sizes[static_cast<size_t>(dim)] + index;
  return std::vector{padded(b, b.op("aten.unsqueeze", {g[0]}, {{"dim", dim}}), type, dim, index)};
}
Values derive_split(GraphBuilder& b, const Node& node, Ids in, Ids out, Ids g) {
  std::vector<ValueId> parts;
  for (size_t i = 0; i < g.size(); ++i) {
    const TensorType& type = b.type(out[i]);
    parts.push_back(
        g[i] != kNoValue
            ? g[i]
            : b.op("aten.full", {}, {{"size", type.sizes}, {"fill_value", 0.0}, {"dtype", type.dtype}}));
  }
  const int64_t dim = dim_attribute(node, "dim", b.type(in[0]).rank());
  return std::vector{b.op("aten.cat", parts, {{"dim", dim}})};
}

}  // namespace

void add_view_ops(std::vector<OpInfo>& table) {
  const auto add = [&](const char* name, std::vector<AttributeSchema> attributes, InferFn infer,
                       EvaluateFn evaluate, DecomposeFn decompose, DerivativeFn derivative) {
    table.push_back({.name = name,
                     .kind = OpKind::kView,
                     .operands = {{"self"}},
                     .attributes = std::move(attributes),
                     .infer = infer,
                     .evaluate = evaluate,
                     .decompose = decompose,
                     .derivative = derivative});
  };
  using enum AttributeKind;
  add("aten.view", {required("size", kSizes)}, infer_view, evaluate_reshape, nullptr, derive_reshape);
  add("aten.permute", {required("dims", kInts)}, infer_permute, evaluate_permute, nullptr, derive_permute);
  add("aten.transpose", {required("dim0", kInt), required("dim1", kInt)}, infer_transpose, evaluate_transpose,
      decompose_transpose, derive_transpose);
  add("aten.slice",
      {with_default("dim", kInt, int64_t{0}), with_default("start", kSize, SymInt(0)),
       with_default("end", kSize, SymInt(INT64_MAX)), with_default("step", kInt, int64_t{1})},
      infer_slice, evaluate_slice, nullptr, derive_slice);
  add("aten.select", {required("dim", kInt), required("index", kSize)}, infer_select, evaluate_select,
      decompose_select, derive_select);
  add("aten.expand", {required("size", kSizes)}, infer_expand, evaluate_expand, nullptr, derive_expand);
  add("aten.unsqueeze", {required("dim", kInt)}, infer_unsqueeze, evaluate_reshape, decompose_to_view,
      derive_reshape);
  add("aten.squeeze", {with_default("dim", kInts, Dims{})}, infer_squeeze, evaluate_reshape,
      decompose_to_view, derive_reshape);
  add("aten.split_with_sizes", {required("split_sizes", kSizes), with_default("dim", kInt, int64_t{0})},
      infer_split, evaluate_split, decompose_split, derive_split);
}

}  // namespace edge_infer
