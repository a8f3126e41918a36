// The attention statement of evaluate().
#pragma once

#include <span>

#include "compiler/loop/loop_nest.h"
#include "compiler/loop/tensor_view.h"

namespace edge_infer::loop {

// Iteration `m` of the work axis. Errors: a unit or an offset that is not within the buffers.
Status evaluate_attention(const Attention& attention, int64_t m, std::span<TensorView> buffers);

}  // namespace edge_infer::loop
