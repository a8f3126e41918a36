// Reading KernelArgs inside *_isa.cpp.
#pragma once

#include <cstdint>

#include "backends/cpu/prebuilt/vec.h"
#include "runtime/program/kernel_abi.h"

namespace edge_infer::EDGE_ISA {

template <typename T>
EDGE_INLINE T* output(const KernelArgs* args, int index) {
  return static_cast<T*>(args->buffers[index]);
}
template <typename T>
EDGE_INLINE const T* input(const KernelArgs* args, int index) {
  return static_cast<const T*>(args->buffers[index]);
}
EDGE_INLINE int64_t integer(const KernelArgs* args, int index) {
  return args->integers[index];
}
EDGE_INLINE double real(const KernelArgs* args, int index) {
  return __builtin_bit_cast(double, args->integers[index]);
}

}  // namespace edge_infer::EDGE_ISA
