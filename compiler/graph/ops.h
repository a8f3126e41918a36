// The families of the op table (each file adds its rows), and what their shape rules share.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/graph/op_table.h"

namespace edge_infer {

void add_binary_ops(std::vector<OpInfo>& table);
void add_scalar_ops(std::vector<OpInfo>& table);
void add_unary_ops(std::vector<OpInfo>& table);
void add_activation_ops(std::vector<OpInfo>& table);
void add_view_ops(std::vector<OpInfo>& table);
void add_copy_ops(std::vector<OpInfo>& table);
void add_reduction_ops(std::vector<OpInfo>& table);
void add_matmul_ops(std::vector<OpInfo>& table);
void add_normalization_ops(std::vector<OpInfo>& table);
void add_gather_ops(std::vector<OpInfo>& table);
void add_attention_ops(std::vector<OpInfo>& table);
void add_packed_ops(std::vector<OpInfo>& table);

// Schema entries.
inline OperandSchema optional_operand(std::string name) {
  return {std::move(name), true, false};
}
inline AttributeSchema required(std::string name, AttributeKind kind) {
  return {std::move(name), kind, {}, true, {}};
}
inline AttributeSchema with_default(std::string name, AttributeKind kind, Attribute value) {
  return {std::move(name), kind, std::move(value), false, {}};
}
inline AttributeSchema or_none(std::string name, AttributeKind kind) {
  return {std::move(name), kind, {}, false, {}};
}

using Sizes = std::vector<SymInt>;
using Types = std::vector<TensorType>;

// Promotion as in ATen: tensors with dimensions count before 0-dimensional ones, those before scalars; a
// lower group matters only when its category (bool < integer < float) is higher.
struct PromotionOperand {
  DType dtype;
  enum Group { kTensor, kZeroDim, kScalar } group;
};
DType promote_types(DType a, DType b);
DType promote(std::span<const PromotionOperand> operands);
PromotionOperand promotion_operand(DType dtype, int64_t rank);
PromotionOperand promotion_operand(const Attribute& scalar);  // kScalar: bool, i64 or f32

// Sizes must be equal, or one of them the constant 1. The error names both.
Result<Sizes> broadcast_sizes(const Sizes& a, const Sizes& b);
// dim in [-rank, rank) as [0, rank); a rank of 0 counts as 1.
Result<int64_t> wrap_dim(int64_t dim, int64_t rank);
// A reduction's dimensions, sorted: all of them for an empty list.
Result<std::vector<int64_t>> reduced_dims(const std::vector<int64_t>& dims, int64_t rank);
Sizes reduced_sizes(const Sizes& sizes, const std::vector<int64_t>& dims, bool keepdim);

Status expect_rank(const InferContext& c, size_t operand, int64_t rank);
Status expect_floating(const InferContext& c, size_t operand);
Status expect_dtype(const InferContext& c, size_t operand, DType dtype);
Status expect_index(const InferContext& c, size_t operand);  // i32 or i64
Status expect_same_dtype(const InferContext& c, size_t a, size_t b);
Status expect_equal_size(const InferContext& c, const SymInt& found, const SymInt& expected,
                         std::string_view what);

// Shape rule: one result of the first operand's type.
Result<Types> infer_same(const InferContext& c);

// Derivatives: the gradient summed down to what broadcast to its type.
ValueId sum_to(GraphBuilder& b, ValueId grad, const TensorType& target);

}  // namespace edge_infer
