// How far a backend's result may be from evaluate(), in one table (docs/testing.md explains it). evaluate()
// computes in double and rounds once to the type; integers, bools and data movement are exact everywhere.
#pragma once

#include <cmath>
#include <cstdint>

#include "runtime/base/dtype.h"

namespace edge_infer::test {

// |got - want| <= absolute + relative * |want|; NaN equals NaN, an infinity itself.
struct Tolerance {
  double relative = 0, absolute = 0;
};

// Distance from 1 to the next value.
constexpr double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 0x1p-52;
    case DType::kF32:
      return 0x1p-23;
    case DType::kF16:
      return 0x1p-10;
    case DType::kBF16:
      return 0x1p-7;
    default:
      return 0;
  }
}

enum class Arithmetic {
  kExact,        // data movement, comparisons, integers: the same bits (any NaN for NaN)
  kElementwise,  // one op an element: a few units in the last place
  kReduction,    // sums of n terms of size 1: lanes of n / 16 terms, rounded at each step
};

// `terms`: the longest sum behind one element. f16 and bf16 results are computed in f32 and rounded once
// more.
constexpr Tolerance tolerance(Arithmetic arithmetic, DType dtype, int64_t terms = 1) {
  if (arithmetic == Arithmetic::kExact || !is_floating(dtype)) return {};
  const bool narrow = dtype == DType::kF16 || dtype == DType::kBF16;
  const double step = narrow ? epsilon_of(DType::kF32) : epsilon_of(dtype);
  Tolerance t = arithmetic == Arithmetic::kElementwise
                    ? Tolerance{4 * step, dtype == DType::kF64 ? 0x1p-50 : 5e-7}  // gelu's absolute bound
                    : Tolerance{8 * step, step * (8 + static_cast<double>(terms) / 4)};
  if (narrow) t.relative += epsilon_of(dtype);
  // The least step of f16 and bf16 subnormals.
  if (narrow) t.absolute += dtype == DType::kF16 ? 0x1p-24 : 0;
  return t;
}

}  // namespace edge_infer::test
