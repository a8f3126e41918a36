// The functions of vmath.h and vec.h of each instruction set, callable from tests.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#define EDGE_VMATH_FUNCTIONS(X)                                                                         \
  X(exp)                                                                                                \
  X(exp2)                                                                                               \
  X(log) X(log1p) X(tanh) X(erf) X(gelu) X(gelu_tanh) X(sigmoid) X(silu) X(sin) X(cos) X(floor) X(ceil) \
      X(trunc) X(round_even) X(sqrt)

namespace edge_infer {

struct VmathFunction {
  std::string_view name;
  void (*map)(const float* in, float* out, int64_t n);
};

#define EDGE_DECLARE_SET(isa)                                                             \
  namespace isa {                                                                         \
  std::span<const VmathFunction> vmath_functions();                                       \
  float folded_sum(const float* sixteen);                                                 \
  void pair_extremes(const float* a, const float* b, float* high, float* low, int64_t n); \
  }
EDGE_DECLARE_SET(portable)
#if defined(__x86_64__)
EDGE_DECLARE_SET(avx2)
EDGE_DECLARE_SET(avx512)
#endif
#undef EDGE_DECLARE_SET

}  // namespace edge_infer
