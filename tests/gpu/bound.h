// How far a result of the GPU may be from loop::evaluate of the same nest on the same operands.
#pragma once

#include <string>

#include "compiler/graph/host_tensor.h"

namespace edge_infer::test {

// |got - want| <= relative * |want| + absolute * size, and the root mean square of the differences <= rms *
// size, where size is the root mean square of what is wanted. NaN equals NaN, an infinity itself; other types
// than floating ones are equal.
struct Bound {
  double relative = 0, absolute = 0, rms = 0;
};

// Of sums in f32 of rounded operands, stored in `dtype`.
Bound bound_of(DType dtype);
// Of products whose weights are rounded to `operand` on the way, stored in `dtype`.
Bound attention_bound(DType operand, DType dtype);

// What differs first and most; empty where `got` is within the bound. `error`: the rms of the differences
// over the size.
std::string outside(const HostTensor& got, const HostTensor& want, const Bound& bound, double* error);

}  // namespace edge_infer::test
