#include "compiler/loop/loop_nest.h"

#include <algorithm>

namespace edge_infer::loop {

const Axis& LoopNest::work() const {
  return axis(std::get<For>(body.front().node).axis);
}

AxisId LoopNest::split_columns() const {
  if (body.size() != 1) return -1;
  const auto* rows = std::get_if<For>(&body.front().node);
  if (rows == nullptr || rows->body.size() != 1) return -1;
  const Stmt& inner = rows->body.front();
  const Body* columns = nullptr;
  AxisId column_axis = -1;
  if (const auto* loop = std::get_if<For>(&inner.node); loop != nullptr) {
    if (axis(loop->axis).kind != AxisKind::kLane) return -1;
    columns = &loop->body;
    column_axis = loop->axis;
  } else if (const auto* gemm = std::get_if<Gemm>(&inner.node); gemm != nullptr) {
    columns = &gemm->body;
    column_axis = gemm->n;
  } else {
    return -1;
  }
  const bool plain = std::all_of(columns->begin(), columns->end(), [](const Stmt& stmt) {
    return std::holds_alternative<Let>(stmt.node) || std::holds_alternative<Store>(stmt.node);
  });
  return plain ? column_axis : -1;
}

}  // namespace edge_infer::loop
