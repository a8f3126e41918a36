// Rows of a buffer that a nest reads several times (a norm: its moments, then its result) are read from
// memory once and held in registers. A rewrite of the nest:
//
//   for m:T work {                                            for m:T work {
//                                                               local c0: f32[384]
//                                                               for k:384 lane { c0[k] = f32(b0[k+384*m]) }
//     %v0, %v1 = reduce moments(f32(b0[k+384*m])) over k:384    %v0, %v1 = reduce moments(c0[k]) over k:384
//     for n:384 lane { b1[384*m+n] = f32(b0[384*m+n]) - %v0 }   for n:384 lane { b1[384*m+n] = c0[n] - %v0 }
//   }                                                         }
#pragma once

#include "backends/cuda/codegen/cuda_target.h"
#include "compiler/loop/loop_nest.h"

namespace edge_infer::cuda {

// The nest with such rows held; as it was where there are none. A row is N elements side by side of an `in`
// buffer from a place that only the work axis and sizes decide, N constant, read without predicate by two or
// more sweeps: lane loops and reductions over one axis in the row loop itself, moments being two. Its
// elements are used as f32: the buffer's, or all casts to f32. Held are those that plan_nest() then places in
// registers with room to spare; all else of the plan stays as it was, and so do the results' bits.
loop::LoopNest hold_rows(loop::LoopNest nest, const CudaTarget& target);

}  // namespace edge_infer::cuda
