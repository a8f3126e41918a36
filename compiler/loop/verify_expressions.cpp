#include "compiler/loop/verify_expressions.h"

#include <algorithm>
#include <cmath>

#include "compiler/loop/op_rules.h"
#include "compiler/loop/text.h"

namespace edge_infer::loop {
namespace {

template <typename... Args>
std::unexpected<Error> invalid(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::kInvalidArgument, format, std::forward<Args>(args)...);
}

// Each node by itself: operands before it, ids in range, types equal.
class NodeCheck {
 public:
  explicit NodeCheck(const LoopNest& nest) : nest_(nest) {}

  Status run() {
    for (size_t i = 0; i < nest_.exprs.size(); ++i) {
      if (const Status status = check(i); !status)
        return fail_with_context(status.error(), fmt::format("expression {}", i));
    }
    return {};
  }

 private:
  Status check(size_t position) {
    const Expr& e = nest_.exprs[position];
    int64_t nodes = 1;
    int depth = 1;
    for (const ExprId operand : e.operands) {
      if (operand == kNoExpr) continue;
      if (operand < 0 || static_cast<size_t>(operand) >= position)
        return invalid("operand {} does not stand before it", operand);
      nodes += nodes_[static_cast<size_t>(operand)];
      depth = std::max(depth, depths_[static_cast<size_t>(operand)] + 1);
    }
    if (depth > kMaxExprDepth || nodes > kMaxExprNodes)
      return invalid(
          "{} levels and {} nodes as a tree, at most {} and {} are allowed: shared parts belong in a let",
          depth, nodes, kMaxExprDepth, kMaxExprNodes);
    nodes_.push_back(nodes);
    depths_.push_back(depth);
    return check_kind(e);
  }

  Status operands(const Expr& e, size_t count) const {
    for (size_t i = 0; i < 3; ++i)
      if ((e.operands[i] != kNoExpr) != (i < count)) return invalid("expected {} operands", count);
    return {};
  }
  Status wants(const Expr& e, DType dtype) const {
    if (e.dtype == dtype) return {};
    return invalid("is {}, expected {}", dtype_name(e.dtype), dtype_name(dtype));
  }
  DType type(const Expr& e, size_t i) const { return nest_.expr(e.operands[i]).dtype; }

  Status check_kind(const Expr& e) const {
    const auto id = static_cast<size_t>(e.id);
    switch (e.kind) {
      case Expr::Kind::kConst:
      case Expr::Kind::kSize:
        return operands(e, 0);
      case Expr::Kind::kValue:
        EDGE_INFER_RETURN_IF_ERROR(operands(e, 0));
        if (id >= nest_.values.size()) return invalid("there is no value {}", e.id);
        return wants(e, nest_.values[id].dtype);
      case Expr::Kind::kLocal:
        EDGE_INFER_RETURN_IF_ERROR(operands(e, 0));
        if (id >= nest_.locals.size()) return invalid("there is no local {}", e.id);
        return wants(e, nest_.locals[id].dtype);
      case Expr::Kind::kLoad:
        if (id >= nest_.buffers.size()) return invalid("there is no buffer {}", e.id);
        EDGE_INFER_RETURN_IF_ERROR(operands(e, e.operands[0] == kNoExpr ? 0 : 2));
        if (e.operands[0] != kNoExpr && (type(e, 0) != DType::kBool || type(e, 1) != e.dtype))
          return invalid("a load of {} with a predicate of {} and another value of {}", dtype_name(e.dtype),
                         dtype_name(type(e, 0)), dtype_name(type(e, 1)));
        return wants(e, nest_.buffers[id].dtype);
      case Expr::Kind::kUnary:
        EDGE_INFER_RETURN_IF_ERROR(operands(e, 1));
        if (!is_unary(e.op)) return invalid("{} is not unary", scalar_op_name(e.op));
        return check_op(e);
      case Expr::Kind::kBinary:
      case Expr::Kind::kCompare: {
        EDGE_INFER_RETURN_IF_ERROR(operands(e, 2));
        if (is_unary(e.op) || is_compare(e.op) != (e.kind == Expr::Kind::kCompare))
          return invalid("{} is of another kind", scalar_op_name(e.op));
        if (type(e, 0) != type(e, 1))
          return invalid("{} of {} and {}, expected equal types", scalar_op_name(e.op),
                         dtype_name(type(e, 0)), dtype_name(type(e, 1)));
        return check_op(e);
      }
      case Expr::Kind::kSelect:
        EDGE_INFER_RETURN_IF_ERROR(operands(e, 3));
        if (type(e, 0) != DType::kBool || type(e, 1) != type(e, 2))
          return invalid("select of {}, {} and {}, expected bool and two equal types", dtype_name(type(e, 0)),
                         dtype_name(type(e, 1)), dtype_name(type(e, 2)));
        return wants(e, type(e, 1));
      case Expr::Kind::kCast:
        return operands(e, 1);
    }
    return invalid("has no kind");
  }
  Status check_op(const Expr& e) const {
    if (!op_takes(e.op, type(e, 0)))
      return invalid("{} does not take {}", scalar_op_name(e.op), dtype_name(type(e, 0)));
    return wants(e, op_result(e.op, type(e, 0)));
  }

  const LoopNest& nest_;
  std::vector<int64_t> nodes_;
  std::vector<int> depths_;
};

}  // namespace

Status verify_expressions(const LoopNest& nest) {
  return NodeCheck(nest).run();
}

}  // namespace edge_infer::loop
