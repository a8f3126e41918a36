// What the shape rules of the op families share: promotion, broadcasting, checks.
#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/graph/graph_builder.h"
#include "compiler/graph/ops.h"
#include "compiler/graph/print.h"

namespace edge_infer {
namespace {

int category(DType t) {
  return t == DType::kBool ? 0 : is_floating(t) ? 2 : 1;
}

}  // namespace

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (category(a) == 2) {
    if (a == DType::kF64 || b == DType::kF64) return DType::kF64;
    return DType::kF32;  // also of f16 and bf16
  }
  const DType wider = dtype_size(a) >= dtype_size(b) ? a : b;
  return dtype_size(a) == dtype_size(b) ? DType::kI16 : wider;  // equal sizes: i8 and u8
}

DType promote(std::span<const PromotionOperand> operands) {
  std::optional<DType> groups[3];
  for (const PromotionOperand& operand : operands) {
    auto& group = groups[operand.group];
    group = group ? promote_types(*group, operand.dtype) : operand.dtype;
  }
  std::optional<DType> result;
  for (int g = 2; g >= 0; --g) {
    const auto& higher = groups[g];
    if (!higher) continue;
    if (!result || category(*higher) == 2 || (category(*higher) == 1 && category(*result) < 2)) {
      result = higher;
    } else {
      result = promote_types(*higher, *result);
    }
  }
  return result.value_or(DType::kF32);
}

PromotionOperand promotion_operand(DType dtype, int64_t rank) {
  return {dtype, rank == 0 ? PromotionOperand::kZeroDim : PromotionOperand::kTensor};
}

PromotionOperand promotion_operand(const Attribute& scalar) {
  if (std::holds_alternative<double>(scalar)) return {DType::kF32, PromotionOperand::kScalar};
  if (std::holds_alternative<bool>(scalar)) return {DType::kBool, PromotionOperand::kScalar};
  return {DType::kI64, PromotionOperand::kScalar};
}

Result<Sizes> broadcast_sizes(const Sizes& a, const Sizes& b) {
  const Sizes& longer = a.size() >= b.size() ? a : b;
  const Sizes& shorter = a.size() >= b.size() ? b : a;
  Sizes result = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    const SymInt &x = longer[offset + i], &y = shorter[i];
    if (x == y || y.constant() == 1) continue;
    if (x.constant() != 1)
      return fail(ErrorCode::kInvalidArgument,
                  "sizes {} and {} do not broadcast: {} and {} differ and neither is 1", print(Attribute{a}),
                  print(Attribute{b}), x.str(), y.str());
    result[offset + i] = y;
  }
  return result;
}

Result<int64_t> wrap_dim(int64_t dim, int64_t rank) {
  const int64_t n = std::max<int64_t>(rank, 1);
  if (dim < -n || dim >= n)
    return fail(ErrorCode::kInvalidArgument, "dimension {} of a tensor with {} dimensions", dim, rank);
  return dim < 0 ? dim + n : dim;
}

Result<std::vector<int64_t>> reduced_dims(const std::vector<int64_t>& dims, int64_t rank) {
  std::vector<int64_t> result;
  for (const int64_t dim : dims) {
    EDGE_INFER_ASSIGN(const int64_t d, wrap_dim(dim, rank));
    if (rank > 0) result.push_back(d);
  }
  if (dims.empty())
    for (int64_t d = 0; d < rank; ++d) result.push_back(d);
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    return fail(ErrorCode::kInvalidArgument, "a dimension is named twice in {}", print(Attribute{dims}));
  return result;
}

Sizes reduced_sizes(const Sizes& sizes, const std::vector<int64_t>& dims, bool keepdim) {
  Sizes result;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!std::binary_search(dims.begin(), dims.end(), static_cast<int64_t>(i))) {
      result.push_back(sizes[i]);
    } else if (keepdim) {
      result.push_back(1);
    }
  }
  return result;
}

namespace {
const std::string& operand_name(const InferContext& c, size_t i) {
  return c.op.operands[std::min(i, c.op.operands.size() - 1)].name;
}
}  // namespace

Status expect_rank(const InferContext& c, size_t operand, int64_t rank) {
  if (c.inputs[operand]->rank() == rank) return {};
  return fail(ErrorCode::kInvalidArgument, "{} is {}, expected {} dimensions", operand_name(c, operand),
              print(*c.inputs[operand]), rank);
}

Status expect_floating(const InferContext& c, size_t operand) {
  if (is_floating(c.inputs[operand]->dtype)) return {};
  return fail(ErrorCode::kInvalidArgument, "{} is {}, expected a floating type", operand_name(c, operand),
              print(*c.inputs[operand]));
}

Status expect_dtype(const InferContext& c, size_t operand, DType dtype) {
  if (c.inputs[operand]->dtype == dtype) return {};
  return fail(ErrorCode::kInvalidArgument, "{} is {}, expected {}", operand_name(c, operand),
              print(*c.inputs[operand]), dtype_name(dtype));
}

Status expect_index(const InferContext& c, size_t operand) {
  const DType dtype = c.inputs[operand]->dtype;
  if (dtype == DType::kI32 || dtype == DType::kI64) return {};
  return fail(ErrorCode::kInvalidArgument, "{} is {}, expected i32 or i64", operand_name(c, operand),
              print(*c.inputs[operand]));
}

Status expect_same_dtype(const InferContext& c, size_t a, size_t b) {
  if (c.inputs[a]->dtype == c.inputs[b]->dtype) return {};
  return fail(ErrorCode::kInvalidArgument, "{} is {} and {} is {}, expected one element type",
              operand_name(c, a), print(*c.inputs[a]), operand_name(c, b), print(*c.inputs[b]));
}

Status expect_equal_size(const InferContext&, const SymInt& found, const SymInt& expected,
                         std::string_view what) {
  if (found == expected) return {};
  return fail(ErrorCode::kInvalidArgument, "{} is {}, expected {}", what, found.str(), expected.str());
}

Result<Types> infer_same(const InferContext& c) {
  return Types{*c.inputs[0]};
}

ValueId sum_to(GraphBuilder& b, ValueId grad, const TensorType& target) {
  const TensorType from = b.type(grad);
  std::vector<int64_t> dims;
  const int64_t extra = from.rank() - target.rank();
  for (int64_t i = 0; i < from.rank(); ++i) {
    const bool broadcast =
        i < extra || !(from.sizes[static_cast<size_t>(i)] == target.sizes[static_cast<size_t>(i - extra)]);
    if (broadcast) dims.push_back(i);
  }
  if (!dims.empty()) grad = b.op("aten.sum", {grad}, {{"dim", dims}, {"keepdim", true}});
  if (!(b.type(grad).sizes == target.sizes)) grad = b.op("aten.view", {grad}, {{"size", target.sizes}});
  if (b.type(grad).dtype != target.dtype) grad = b.op("aten._to_copy", {grad}, {{"dtype", target.dtype}});
  return grad;
}

}  // namespace edge_infer
