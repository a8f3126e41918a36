// The CPU kernel ABI (loop_ir.md §9), the same for compiled kernels and for prebuilt ones.
//
// A kernel computes the rectangle [m0, m1) x [n0, n1) of its domain and never synchronizes, allocates or
// calls out; the executor chooses the ranges. `scratch` is 64-byte aligned, private to the worker, at least
// as large as the kernel declares. Buffers are dense row-major unless the kernel's contract says otherwise,
// and 64-byte aligned when they come from the arena; caller-owned buffers have element alignment only.
#pragma once

#include <cstdint>

namespace edge_infer {

struct KernelArgs {
  void* const* buffers;     // in the order of Call::buffers; nullptr for an absent optional operand
  const int64_t* integers;  // in the order of Call::integers; doubles are bit-cast
};

using KernelFn = void (*)(const KernelArgs* args, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
                          void* scratch);

}  // namespace edge_infer
