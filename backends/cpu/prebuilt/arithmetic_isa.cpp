// aten.add, sub, mul, div, pow, maximum, minimum, remainder, atan2 and their .Scalar forms; neg, abs, sign,
// relu, reciprocal, clamp. Integers wrap. Integer division (remainder, pow) never traps: remainder(x, 0) is
// 0.
#include "backends/cpu/prebuilt/args.h"
#include "backends/cpu/prebuilt/pointwise.h"
#include "backends/cpu/prebuilt/tables.h"

namespace edge_infer::EDGE_ISA {
namespace {

// Signed integers are added as unsigned ones, where overflow is defined.
template <class T>
struct WrapOf {
  using type = T;
};
template <>
struct WrapOf<int32_t> {
  using type = uint32_t;
};
template <>
struct WrapOf<int64_t> {
  using type = uint64_t;
};
template <class T>
using Wrap = typename WrapOf<T>::type;

struct Add {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<Wrap<T>>(a) + static_cast<Wrap<T>>(b));
  }
};
struct Sub {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<Wrap<T>>(a) - static_cast<Wrap<T>>(b));
  }
};
struct Mul {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<Wrap<T>>(a) * static_cast<Wrap<T>>(b));
  }
};
struct Div {
  template <class T>
  static T apply(T a, T b) {
    return a / b;
  }
};
// NaN wins over numbers. Of equal operands (+0 and -0 too) the second one is the result.
struct Maximum {
  template <class T>
  static T apply(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
  }
};
struct Minimum {
  template <class T>
  static T apply(T a, T b) {
    return ((a < b) | (a != a)) ? a : b;
  }
};
struct Or {
  static uint8_t apply(uint8_t a, uint8_t b) { return static_cast<uint8_t>((a != 0) | (b != 0)); }
};
struct And {
  static uint8_t apply(uint8_t a, uint8_t b) { return static_cast<uint8_t>((a != 0) & (b != 0)); }
};

// The result has the divisor's sign.
struct Remainder {
  static float apply(float a, float b) {
    const float r = __builtin_fmodf(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
  static double apply(double a, double b) {
    const double r = __builtin_fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
  template <class T>
  static T apply(T a, T b) {
    if (b == 0 || b == -1) return 0;  // the least integer % -1 would trap
    const T r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
};

struct Pow {
  static float apply(float a, float b) { return __builtin_powf(a, b); }
  static double apply(double a, double b) { return __builtin_pow(a, b); }
  // A negative exponent gives 1, -1 or 0 as in ATen, 0 for the base 0 too.
  template <class T>
  static T apply(T a, T b) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 != 0 ? -1 : 1) : 0;
    Wrap<T> base = static_cast<Wrap<T>>(a), result = 1;
    for (Wrap<T> n = static_cast<Wrap<T>>(b); n != 0; n >>= 1) {
      if ((n & 1) != 0) result *= base;
      base *= base;
    }
    return static_cast<T>(result);
  }
};
struct Atan2 {
  static float apply(float a, float b) { return __builtin_atan2f(a, b); }
  static double apply(double a, double b) { return __builtin_atan2(a, b); }
};

struct Neg {
  template <class T>
  static T apply(T a) {
    if constexpr (kIsFloat<T>)
      return -a;
    else
      return static_cast<T>(0 - static_cast<Wrap<T>>(a));
  }
};
struct Abs {
  static float apply(float a) { return __builtin_fabsf(a); }
  static double apply(double a) { return __builtin_fabs(a); }
  template <class T>
  static T apply(T a) {
    return a < 0 ? static_cast<T>(0 - static_cast<Wrap<T>>(a)) : a;
  }
};
// 0 for NaN, as in ATen.
struct Sign {
  template <class T>
  static T apply(T a) {
    return static_cast<T>((a > 0) - (a < 0));
  }
};
struct Relu {
  template <class T>
  static T apply(T a) {
    return a < 0 ? 0 : a;
  }
};
struct Reciprocal {
  template <class T>
  static T apply(T a) {
    return 1 / a;
  }
};

// ---- pow with a scalar exponent: the exponents of real models need no logarithm
// --------------------------------------

struct Square {
  template <class T>
  static T apply(T a) {
    return a * a;
  }
};
struct Cube {
  template <class T>
  static T apply(T a) {
    return a * a * a;
  }
};
template <class T>
void pow_scalar_chunk(void* out, const void* const* in, int64_t n, const int64_t* attributes) {
  const double exponent = __builtin_bit_cast(double, attributes[0]);
  if (exponent == 2) return chunk1<Square, T, T>(out, in, n, attributes);
  if (exponent == 3) return chunk1<Cube, T, T>(out, in, n, attributes);
  if constexpr (kIsFloat<T>)
    if (exponent == -1) return chunk1<Reciprocal, T, T>(out, in, n, attributes);
  chunk2<Pow, T, T>(out, in, n, attributes);
}
template <class T>
constexpr PointwiseForm kPowScalarForm{&pow_scalar_chunk<Compute<T>>,
                                       1,
                                       {kStorageOf<T>},
                                       kStorageOf<T>,
                                       &scalar_operand<Compute<T>>,
                                       sizeof(Compute<T>)};
template <FixedString Op, class... Ts>
consteval std::array<PrebuiltKernel, sizeof...(Ts)> pow_scalar() {
  return {{{kernel_name<Op, Ts>, &pointwise_kernel<kPowScalarForm<Ts>>}...}};
}

// ---- clamp
// -----------------------------------------------------------------------------------------------------------

// A bound as T; integers saturate, and round inwards so that clamp(x, 0.5) >= 0.5.
template <class T>
T lower_bound(double x) {
  if constexpr (kIsFloat<T>)
    return static_cast<T>(x);
  else
    return saturate<T>(__builtin_ceil(x));
}
template <class T>
T upper_bound(double x) {
  if constexpr (kIsFloat<T>)
    return static_cast<T>(x);
  else
    return saturate<T>(__builtin_floor(x));
}

// Attributes: has_min, min, has_max, max. min(max(x, low), high): the upper bound wins where they cross. A
// NaN stays.
template <class T>
void clamp_chunk(void* out, const void* const* in, int64_t n, const int64_t* attributes) {
  const bool has_low = attributes[0] != 0, has_high = attributes[2] != 0;
  const double low_value = __builtin_bit_cast(double, attributes[1]);
  const double high_value = __builtin_bit_cast(double, attributes[3]);
  const T* a = static_cast<const T*>(in[0]);
  T* to = static_cast<T*>(out);
  const T low = lower_bound<T>(has_low ? low_value : -__builtin_inf());
  const T high = upper_bound<T>(has_high ? high_value : __builtin_inf());
  if constexpr (kIsFloat<T>) {
    if (low != low || high != high) {
      for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(__builtin_nan(""));
      return;
    }
  }
  EDGE_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    const T raised = a[i] < low ? low : a[i];
    to[i] = raised > high ? high : raised;
  }
}
template <class T>
constexpr PointwiseForm kClampForm{&clamp_chunk<Compute<T>>, 1, {kStorageOf<T>}, kStorageOf<T>};
template <FixedString Op, class... Ts>
consteval std::array<PrebuiltKernel, sizeof...(Ts)> clamp() {
  return {{{kernel_name<Op, Ts>, &pointwise_kernel<kClampForm<Ts>>}...}};
}

constexpr auto kTable = concat(
    binary<"aten.add", Add, float, double, Half, BFloat, int64_t, int32_t>(),
    binary<"aten.sub", Sub, float, double, Half, BFloat, int64_t, int32_t>(),
    binary<"aten.mul", Mul, float, double, Half, BFloat, int64_t, int32_t>(),
    binary<"aten.div", Div, float, double, Half, BFloat>(),
    binary<"aten.pow", Pow, float, double, Half, BFloat, int64_t, int32_t>(),
    binary<"aten.maximum", Maximum, float, double, Half, BFloat, int64_t, int32_t>(),
    binary<"aten.minimum", Minimum, float, double, Half, BFloat, int64_t, int32_t>(),
    binary<"aten.remainder", Remainder, float, double, Half, BFloat, int64_t, int32_t>(),
    binary<"aten.atan2", Atan2, float, double, Half, BFloat>(), binary<"aten.add", Or, Bool>(),
    binary<"aten.mul", And, Bool>(), binary<"aten.maximum", Or, Bool>(), binary<"aten.minimum", And, Bool>(),
    scalar<"aten.add.Scalar", Add, float, double, Half, BFloat, int64_t, int32_t>(),
    scalar<"aten.sub.Scalar", Sub, float, double, Half, BFloat, int64_t, int32_t>(),
    scalar<"aten.mul.Scalar", Mul, float, double, Half, BFloat, int64_t, int32_t>(),
    scalar<"aten.div.Scalar", Div, float, double, Half, BFloat>(),
    pow_scalar<"aten.pow.Scalar", float, double, Half, BFloat, int64_t, int32_t>(),
    unary<"aten.neg", Neg, float, double, Half, BFloat, int64_t, int32_t>(),
    unary<"aten.abs", Abs, float, double, Half, BFloat, int64_t, int32_t>(),
    unary<"aten.sign", Sign, float, double, Half, BFloat, int64_t, int32_t>(),
    unary<"aten.sign", Sign, Bool>(),
    unary<"aten.relu", Relu, float, double, Half, BFloat, int64_t, int32_t>(),
    unary<"aten.reciprocal", Reciprocal, float, double, Half, BFloat>(),
    clamp<"aten.clamp", float, double, Half, BFloat, int64_t, int32_t>());

}  // namespace

std::span<const PrebuiltKernel> arithmetic_table() {
  return kTable;
}

}  // namespace edge_infer::EDGE_ISA
