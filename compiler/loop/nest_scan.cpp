// Cumulative sums: a serial loop along the dimension fills the Local that holds the row.
#include <algorithm>

#include "compiler/graph/ops.h"
#include "compiler/loop/nest_emitter.h"
#include "compiler/loop/pointwise.h"

namespace edge_infer::loop {

size_t NestEmitter::scanned(const Node& n) const {
  return static_cast<size_t>(wrap_dim(attribute_as<int64_t>(n, "dim"), type(n.inputs[0]).rank()).value_or(0));
}

// Rows must not cut the dimension.
bool NestEmitter::holds_scan(const Node& n) const {
  const Sizes& sizes = type(n.inputs[0]).sizes;
  SymInt prefix = 1;
  for (size_t d = 0; d <= std::min(scanned(n), sizes.size()); ++d) {
    if (prefix == rows_) return true;
    if (d < sizes.size()) prefix = prefix * sizes[d];
  }
  return false;
}

void NestEmitter::emit_scan(Batch& batch) {
  const ValueId v = batch.sinks[0];
  const Node& n = node(producer(v));
  const ValueId x = n.inputs[0];
  const Sizes& sizes = type(v).sizes;
  const size_t dim = scanned(n);
  const SymInt length = sizes.empty() ? SymInt(1) : sizes[dim];
  const SymInt inner = sizes.empty() ? SymInt(1) : product(std::span(sizes).subspan(dim + 1));
  // A row may hold several of them, one behind the other.
  const SymInt outer = floordiv(batch.columns, length * inner);
  if (!(outer == SymInt(1)) && !(outer * length * inner == batch.columns)) return refuse("different map");
  const DType dtype = compute_dtype(type(v).dtype);
  if (dtype != type(v).dtype)
    return refuse("slot refused: a scan of " + std::string(dtype_name(type(v).dtype)));
  batch.current = v;
  const auto step = [&](const SymInt& begin, const SymInt& end) {
    Body lane_body, block_body, body;
    const bool is_block = !(outer == SymInt(1)), is_lane = !(inner == SymInt(1));
    const AxisId block = is_block ? add_axis('o', AxisKind::kSerial, 0, outer, 1) : -1;
    const AxisId serial = add_axis('s', AxisKind::kSerial, begin, end, 1);
    const AxisId lane = is_lane ? add_axis('n', AxisKind::kLane, 0, inner, 1) : -1;
    const SymInt s = axis_symbol(serial);
    Scope loop;
    loop.kind = Scope::Kind::kLane;
    loop.id = batch.loop = ++scopes_;
    loop.reads = at_hints(batch.columns);
    loop.column = (is_block ? axis_symbol(block) * length * inner : SymInt(0)) + s * inner +
                  (is_lane ? axis_symbol(lane) : SymInt(0));
    loop.body = &lane_body;
    scope_ = &loop;
    ExprId e = b_->cast(at(x, index_of(x, row_, loop.column)), dtype);
    if (failed()) return;
    if (!(begin == SymInt(0)))
      e = b_->binary(ScalarOp::kAdd, b_->local(local_of_.at(v), loop.column - inner), e);
    const ExprId sum = b_->value(let(e, loop));
    lane_body.push_back({StoreLocal{local_of_.at(v), loop.column, sum}});
    if (is_stored(v))
      lane_body.push_back(
          {Store{argument(v, Access::kOut), row_ * batch.columns + loop.column, stored(v, sum)}});
    if (is_lane) {
      body.push_back({For{lane, std::move(lane_body)}});
    } else {
      body = std::move(lane_body);
    }
    Stmt statement{For{serial, std::move(body)}};
    if (is_block) {
      block_body.push_back(std::move(statement));
      statement = {For{block, std::move(block_body)}};
    }
    row_body_.push_back(std::move(statement));
  };
  step(0, min(length, 1));
  if (!failed()) step(1, length);
}

}  // namespace edge_infer::loop
