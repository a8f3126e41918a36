// What one row of a nest costs, for the executor's choice of workers.
#pragma once

#include "compiler/loop/loop_nest.h"

namespace edge_infer::codegen {

struct RowCost {
  double flops = 0;
  double bytes = 0;  // loaded and stored, each access counted
};
// At the symbols' hints.
RowCost row_cost(const loop::LoopNest& nest);

}  // namespace edge_infer::codegen
