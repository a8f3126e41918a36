// aten.sum, mean, amax, amin, prod, any, all, var, linalg_vector_norm. Sums and products of integers and bool
// are i64. Of no elements: sum 0, prod 1, mean and var NaN, any false, all true, amax and amin the type's
// least and greatest value.
#include "backends/cpu/prebuilt/reduce.h"
#include "backends/cpu/prebuilt/tables.h"

namespace edge_infer::EDGE_ISA {
namespace {

// The accumulator is the result.
template <class Op, class T, class R>
void plain(const ReduceBlock& block, const int64_t*, void* results) {
  accumulate<Op, T, R>(block, nullptr, static_cast<R*>(results));
}

template <class T>
void mean(const ReduceBlock& block, const int64_t*, void* results) {
  T* out = static_cast<T*>(results);
  accumulate<SumOf, T, T>(block, nullptr, out);
  for (int64_t c = 0; c < block.width; ++c) out[c] /= static_cast<T>(block.count);
}

// Two sweeps: the mean, then squared distances from it. Attribute: the correction; degrees of freedom are not
// negative.
template <class T>
void var(const ReduceBlock& block, const int64_t* attributes, void* results) {
  T* out = static_cast<T*>(results);
  const double freedom = static_cast<double>(block.count) - __builtin_bit_cast(double, attributes[0]);
  const T divisor = static_cast<T>(freedom > 0 ? freedom : 0);
  T means[kBlock];
  accumulate<SumOf, T, T>(block, nullptr, means);
  for (int64_t c = 0; c < block.width; ++c) means[c] /= static_cast<T>(block.count);
  accumulate<SumOfSquaredDistances, T, T>(block, means, out);
  for (int64_t c = 0; c < block.width; ++c) out[c] /= divisor;
}

EDGE_INLINE float root(float x) {
  return __builtin_sqrtf(x);
}
EDGE_INLINE double root(double x) {
  return __builtin_sqrt(x);
}
EDGE_INLINE float power(float x, float p) {
  return __builtin_powf(x, p);
}
EDGE_INLINE double power(double x, double p) {
  return __builtin_pow(x, p);
}

// Attribute: the order, any double; 0 counts the elements that are not 0, infinities give the extreme
// magnitudes.
template <class T>
void norm(const ReduceBlock& block, const int64_t* attributes, void* results) {
  T* out = static_cast<T*>(results);
  const double order = __builtin_bit_cast(double, attributes[0]);
  if (order == 2) {
    accumulate<SumOfSquares, T, T>(block, nullptr, out);
    for (int64_t c = 0; c < block.width; ++c) out[c] = root(out[c]);
  } else if (order == 1) {
    accumulate<SumOfMagnitudes, T, T>(block, nullptr, out);
  } else if (order == 0) {
    accumulate<CountOfNonzeros, T, T>(block, nullptr, out);
  } else if (order == __builtin_inf()) {
    accumulate<GreatestMagnitude, T, T>(block, nullptr, out);
  } else if (order == -__builtin_inf()) {
    accumulate<LeastMagnitude, T, T>(block, nullptr, out);
  } else {
    T orders[kBlock];
    for (int64_t c = 0; c < block.width; ++c) orders[c] = static_cast<T>(order);
    accumulate<SumOfPowers, T, T>(block, orders, out);
    for (int64_t c = 0; c < block.width; ++c) out[c] = power(out[c], static_cast<T>(1 / order));
  }
}

template <class Op, class T, class R>
constexpr ReduceForm kPlain{sizeof(T), sizeof(R), &plain<Op, T, R>};
template <class T>
constexpr ReduceForm kMean{sizeof(T), sizeof(T), &mean<T>};
template <class T>
constexpr ReduceForm kVar{sizeof(T), sizeof(T), &var<T>};
template <class T>
constexpr ReduceForm kNorm{sizeof(T), sizeof(T), &norm<T>};

// Rows of elements whose result is of type R.
template <FixedString Name, class Op, class R, class... Ts>
consteval std::array<PrebuiltKernel, sizeof...(Ts)> rows_to() {
  return {{{kernel_name<Name, Ts>, &reduce_kernel<kPlain<Op, Compute<Ts>, R>>}...}};
}
template <FixedString Name, class Op, class... Ts>
consteval std::array<PrebuiltKernel, sizeof...(Ts)> rows() {
  return {{{kernel_name<Name, Ts>, &reduce_kernel<kPlain<Op, Compute<Ts>, Compute<Ts>>>}...}};
}

constexpr std::array<PrebuiltKernel, 6> kStatistics = {
    {{"aten.mean.f32", &reduce_kernel<kMean<float>>},
     {"aten.mean.f64", &reduce_kernel<kMean<double>>},
     {"aten.var.f32", &reduce_kernel<kVar<float>>},
     {"aten.var.f64", &reduce_kernel<kVar<double>>},
     {"aten.linalg_vector_norm.f32", &reduce_kernel<kNorm<float>>},
     {"aten.linalg_vector_norm.f64", &reduce_kernel<kNorm<double>>}}};
constexpr auto kTable = concat(
    rows<"aten.sum", SumOf, float, double>(), rows_to<"aten.sum", SumOf, int64_t, int64_t, int32_t, Bool>(),
    rows<"aten.prod", ProductOf, float, double>(),
    rows_to<"aten.prod", ProductOf, int64_t, int64_t, int32_t, Bool>(),
    rows<"aten.amax", GreatestOf, float, double, int64_t, int32_t>(), rows<"aten.amax", AnyOf, Bool>(),
    rows<"aten.amin", LeastOf, float, double, int64_t, int32_t>(), rows<"aten.amin", AllOf, Bool>(),
    rows_to<"aten.any", AnyOf, uint8_t, float, double, int64_t, int32_t, Bool>(),
    rows_to<"aten.all", AllOf, uint8_t, float, double, int64_t, int32_t, Bool>(), kStatistics);

}  // namespace

std::span<const PrebuiltKernel> reduce_table() {
  return kTable;
}

}  // namespace edge_infer::EDGE_ISA
