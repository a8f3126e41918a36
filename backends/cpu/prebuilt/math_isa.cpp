// Pointwise functions of one operand: roots, exponentials, trigonometry, rounding, sigmoid, silu, gelu.
// f32 (and f16, bf16 through it) uses vmath.h, f64 the C library.
#include "backends/cpu/prebuilt/args.h"
#include "backends/cpu/prebuilt/pointwise.h"
#include "backends/cpu/prebuilt/tables.h"
#include "backends/cpu/prebuilt/vmath.h"

namespace edge_infer::EDGE_ISA {
namespace {

struct Sqrt {
  static F32 vector(F32 x) { return sqrt(x); }
  static double apply(double x) { return __builtin_sqrt(x); }
};
struct Rsqrt {
  static F32 vector(F32 x) { return splat(1.0F) / sqrt(x); }
  static double apply(double x) { return 1 / __builtin_sqrt(x); }
};
struct Exp {
  static F32 vector(F32 x) { return exp(x); }
  static double apply(double x) { return __builtin_exp(x); }
};
struct Exp2 {
  static F32 vector(F32 x) { return exp2(x); }
  static double apply(double x) { return __builtin_exp2(x); }
};
struct Log {
  static F32 vector(F32 x) { return log(x); }
  static double apply(double x) { return __builtin_log(x); }
};
struct Log1p {
  static F32 vector(F32 x) { return log1p(x); }
  static double apply(double x) { return __builtin_log1p(x); }
};
struct Tanh {
  static F32 vector(F32 x) { return tanh(x); }
  static double apply(double x) { return __builtin_tanh(x); }
};
struct Erf {
  static F32 vector(F32 x) { return erf(x); }
  static double apply(double x) { return __builtin_erf(x); }
};
struct Sin {
  static F32 vector(F32 x) { return sin(x); }
  static double apply(double x) { return __builtin_sin(x); }
};
struct Cos {
  static F32 vector(F32 x) { return cos(x); }
  static double apply(double x) { return __builtin_cos(x); }
};
struct Sigmoid {
  static F32 vector(F32 x) { return sigmoid(x); }
  static double apply(double x) { return 1 / (1 + __builtin_exp(-x)); }
};
struct Silu {
  static F32 vector(F32 x) { return silu(x); }
  static double apply(double x) { return x / (1 + __builtin_exp(-x)); }
};

// Of integers: the integers themselves.
struct Floor {
  static F32 vector(F32 x) { return floor(x); }
  static double apply(double x) { return __builtin_floor(x); }
  template <class T>
  static T apply(T x) {
    return x;
  }
};
struct Ceil {
  static F32 vector(F32 x) { return ceil(x); }
  static double apply(double x) { return __builtin_ceil(x); }
  template <class T>
  static T apply(T x) {
    return x;
  }
};
// Halves to even.
struct Round {
  static F32 vector(F32 x) { return round_even(x); }
  static double apply(double x) { return __builtin_rint(x); }
  template <class T>
  static T apply(T x) {
    return x;
  }
};

// 0.5 x (1 + erf(x / sqrt 2)), or its tanh form: attribute 0 is 0 or 1. f32 has a file of its own.
struct GeluErf {
  static F32 vector(F32 x) { return gelu(x); }
  static double apply(double x) { return 0.5 * x * __builtin_erfc(-x * 0.70710678118654752); }
};
struct GeluTanh {
  static F32 vector(F32 x) { return gelu_tanh(x); }
  static double apply(double x) {
    return 0.5 * x * (1 + __builtin_tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
  }
};
template <class T>
void gelu_chunk(void* out, const void* const* in, int64_t n, const int64_t* attributes) {
  if (attributes[0] == 0)
    kChunk1<GeluErf, T, T>(out, in, n, attributes);
  else
    kChunk1<GeluTanh, T, T>(out, in, n, attributes);
}
template <class T>
constexpr PointwiseForm kGeluForm{&gelu_chunk<Compute<T>>, 1, {kStorageOf<T>}, kStorageOf<T>};
template <FixedString Op, class... Ts>
consteval std::array<PrebuiltKernel, sizeof...(Ts)> gelus() {
  return {{{kernel_name<Op, Ts>, &pointwise_kernel<kGeluForm<Ts>>}...}};
}

template <FixedString Op, class F>
consteval auto floats() {
  return unary<Op, F, float, double, Half, BFloat>();
}

constexpr auto kTable =
    concat(floats<"aten.sqrt", Sqrt>(), floats<"aten.rsqrt", Rsqrt>(), floats<"aten.exp", Exp>(),
           floats<"aten.exp2", Exp2>(), floats<"aten.log", Log>(), floats<"aten.log1p", Log1p>(),
           floats<"aten.tanh", Tanh>(), floats<"aten.erf", Erf>(), floats<"aten.sin", Sin>(),
           floats<"aten.cos", Cos>(), floats<"aten.sigmoid", Sigmoid>(), floats<"aten.silu", Silu>(),
           unary<"aten.floor", Floor, float, double, Half, BFloat, int64_t, int32_t>(),
           unary<"aten.ceil", Ceil, float, double, Half, BFloat, int64_t, int32_t>(),
           unary<"aten.round", Round, float, double, Half, BFloat, int64_t, int32_t>(),
           gelus<"aten.gelu", double, Half, BFloat>());

}  // namespace

std::span<const PrebuiltKernel> math_table() {
  return kTable;
}

}  // namespace edge_infer::EDGE_ISA
