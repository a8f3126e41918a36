#include "compiler/codegen/row_cost.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace edge_infer::codegen {
namespace {

using loop::Expr;
using loop::ExprId;
using loop::ScalarOp;

// Rows of a segment, where its length is data.
constexpr double kSegmentRows = 128;
// Keys that a query row meets.
constexpr double kAttentionKeys = 128;

class Counter {
 public:
  explicit Counter(const loop::LoopNest& nest) : nest_(nest) {
    for (const Symbol& symbol : nest.symbols) hints_[symbol.name] = symbol.hint;
  }
  RowCost row() {
    count(std::get<loop::For>(nest_.body.front().node).body, 1);
    return cost_;
  }

 private:
  double extent(loop::AxisId id) const {
    const loop::Axis& axis = nest_.axis(id);
    const auto value = (axis.extent - axis.begin).evaluate(hints_);
    return value ? std::max(1.0, static_cast<double>(*value)) : kSegmentRows;
  }
  void count_expr(ExprId root, double times) {
    std::set<ExprId> seen;
    count_node(root, times, seen);
  }
  void count_node(ExprId id, double times, std::set<ExprId>& seen) {
    if (id == loop::kNoExpr || !seen.insert(id).second) return;
    const Expr& e = nest_.expr(id);
    for (const ExprId operand : e.operands) count_node(operand, times, seen);
    switch (e.kind) {
      case Expr::Kind::kLoad:
        cost_.bytes += times * static_cast<double>(dtype_size(e.dtype));
        break;
      case Expr::Kind::kUnary:
        cost_.flops += times * (e.op >= ScalarOp::kExp && e.op <= ScalarOp::kCos ? 20 : 1);
        break;
      case Expr::Kind::kBinary:
        cost_.flops += times * (e.op == ScalarOp::kPow || e.op == ScalarOp::kAtan2 ? 60 : 1);
        break;
      case Expr::Kind::kCompare:
      case Expr::Kind::kSelect:
      case Expr::Kind::kCast:
        cost_.flops += times;
        break;
      default:
        break;
    }
  }
  void count(const loop::Body& body, double times) {
    for (const loop::Stmt& stmt : body) std::visit([&](const auto& node) { add(node, times); }, stmt.node);
  }
  void add(const loop::For& loop, double times) { count(loop.body, times * extent(loop.axis)); }
  void add(const loop::Let& let, double times) { count_expr(let.expr, times); }
  void add(const loop::DeclareLocal&, double) {}
  void add(const loop::StoreLocal& store, double times) { count_expr(store.expr, times); }
  void add(const loop::Store& store, double times) {
    count_expr(store.expr, times);
    count_expr(store.predicate, times);
    cost_.bytes +=
        times * static_cast<double>(dtype_size(nest_.buffers[static_cast<size_t>(store.buffer)].dtype));
  }
  void add(const loop::Reduce& reduce, double times) {
    for (const loop::AxisId axis : reduce.axes) times *= extent(axis);
    if (reduce.op == loop::ReduceOp::kMoments) times *= 2;
    count_expr(reduce.expr, times);
    cost_.flops += times;
  }
  void add(const loop::Gemm& gemm, double times) {
    const double n = extent(gemm.n), k = extent(gemm.k);
    cost_.flops += 2 * times * n * k;
    count_expr(gemm.a, times * k);
    count(gemm.body, times * n);
  }
  void add(const loop::Attention& a, double times) {
    const auto rows = static_cast<double>(a.block_rows), dim = static_cast<double>(a.dim);
    cost_.flops += times * rows * kAttentionKeys * (4 * dim + 20);
    cost_.bytes += times * 4 * dim * (2 * rows + 2 * kAttentionKeys);
  }

  const loop::LoopNest& nest_;
  std::map<std::string, int64_t, std::less<>> hints_;
  RowCost cost_;
};

}  // namespace

RowCost row_cost(const loop::LoopNest& nest) {
  return Counter(nest).row();
}

}  // namespace edge_infer::codegen
