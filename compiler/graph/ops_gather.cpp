// Reads through an index tensor. Indices are checked where a graph is evaluated; kernels rely on the check
// made when a batch is built.
#include <cstring>

#include "compiler/graph/evaluators.h"
#include "compiler/graph/ops.h"

namespace edge_infer {
namespace {

using Ids = std::span<const ValueId>;

Result<Types> infer_embedding(const InferContext& c) {
  EDGE_INFER_RETURN_IF_ERROR(expect_rank(c, 0, 2));
  EDGE_INFER_RETURN_IF_ERROR(expect_index(c, 1));
  TensorType type{c.inputs[0]->dtype, c.inputs[1]->sizes};
  type.sizes.push_back(c.inputs[0]->sizes[1]);
  return Types{std::move(type)};
}

Result<Types> infer_index_select(const InferContext& c) {
  EDGE_INFER_RETURN_IF_ERROR(expect_rank(c, 1, 1));
  EDGE_INFER_RETURN_IF_ERROR(expect_index(c, 1));
  TensorType type = *c.inputs[0];
  EDGE_INFER_ASSIGN(const int64_t dim, wrap_dim(attribute_as<int64_t>(c.node, "dim"), type.rank()));
  if (type.rank() == 0) return fail(ErrorCode::kInvalidArgument, "self has no dimensions");
  type.sizes[static_cast<size_t>(dim)] = c.inputs[1]->sizes[0];
  return Types{std::move(type)};
}

Result<Types> infer_gather(const InferContext& c) {
  EDGE_INFER_RETURN_IF_ERROR(expect_index(c, 1));
  EDGE_INFER_RETURN_IF_ERROR(expect_rank(c, 1, c.inputs[0]->rank()));
  EDGE_INFER_RETURN_IF_ERROR(wrap_dim(attribute_as<int64_t>(c.node, "dim"), c.inputs[0]->rank()));
  if (c.inputs[0]->rank() == 0) return fail(ErrorCode::kInvalidArgument, "self has no dimensions");
  return Types{{c.inputs[0]->dtype, c.inputs[1]->sizes}};
}

Status check_index(int64_t index, int64_t size) {
  if (index >= 0 && index < size) return {};
  return fail(ErrorCode::kInvalidArgument, "index {} of a dimension of size {}", index, size);
}

void copy_elements(const HostTensor& from, int64_t at, HostTensor& to, int64_t to_at, int64_t count) {
  const int64_t width = dtype_size(from.dtype);
  if (count > 0)
    std::memcpy(&to.bytes[static_cast<size_t>(to_at * width)], &from.bytes[static_cast<size_t>(at * width)],
                static_cast<size_t>(count * width));
}

// Rows along `dim` of the first operand in the order of the index.
Status select_rows(const EvaluateContext& c, int64_t dim) {
  const DimView from = view_dim(c.in(0).sizes, dim);
  const std::vector<int64_t> index = c.in(1).to_integers();
  int64_t to = 0;
  for (int64_t o = 0; o < from.outer; ++o)
    for (const int64_t i : index) {
      EDGE_INFER_RETURN_IF_ERROR(check_index(i, from.length));
      copy_elements(c.in(0), from.index(o, i, 0), c.out(), to, from.inner);
      to += from.inner;
    }
  return {};
}

Status evaluate_embedding(const EvaluateContext& c) {
  return select_rows(c, 0);
}
Status evaluate_index_select(const EvaluateContext& c) {
  const auto rank = static_cast<int64_t>(c.in(0).sizes.size());
  EDGE_INFER_ASSIGN(const int64_t dim, wrap_dim(attribute_as<int64_t>(c.node, "dim"), rank));
  return select_rows(c, dim);
}

Status evaluate_gather(const EvaluateContext& c) {
  const auto rank = static_cast<int64_t>(c.in(0).sizes.size());
  EDGE_INFER_ASSIGN(const int64_t dim, wrap_dim(attribute_as<int64_t>(c.node, "dim"), rank));
  const std::vector<int64_t> index = c.in(1).to_integers();
  const auto strides = dense_strides(c.in(0).sizes);
  const auto& sizes = c.out().sizes;
  std::vector<int64_t> position(sizes.size(), 0);
  for (size_t i = 0; i < index.size(); ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < sizes.size(); ++d) {
      const int64_t p = static_cast<int64_t>(d) == dim ? index[i] : position[d];
      EDGE_INFER_RETURN_IF_ERROR(check_index(p, c.in(0).sizes[d]));
      at += p * strides[d];
    }
    copy_elements(c.in(0), at, c.out(), static_cast<int64_t>(i), 1);
    for (size_t d = sizes.size(); d-- > 0;) {
      if (++position[d] < sizes[d]) break;
      position[d] = 0;
    }
  }
  return {};
}

}  // namespace

void add_gather_ops(std::vector<OpInfo>& table) {
  const auto add = [&](const char* name, std::vector<OperandSchema> operands,
                       std::vector<AttributeSchema> attributes, InferFn infer, EvaluateFn evaluate) {
    table.push_back({.name = name,
                     .kind = OpKind::kGather,
                     .operands = std::move(operands),
                     .attributes = std::move(attributes),
                     .infer = infer,
                     .evaluate = evaluate});
  };
  add("aten.embedding", {{"weight"}, {"indices"}}, {}, infer_embedding, evaluate_embedding);
  add("aten.index_select", {{"self"}, {"index"}}, {required("dim", AttributeKind::kInt)}, infer_index_select,
      evaluate_index_select);
  add("aten.gather", {{"self"}, {"index"}}, {required("dim", AttributeKind::kInt)}, infer_gather,
      evaluate_gather);
}

}  // namespace edge_infer
