// How pointwise kernels are made: an operator is a small functor, a *chunk* is its loop over dense operands,
// and one driver brings every stride, broadcast, scalar and widening to that loop. So each op and dtype costs
// one loop.
//
// An output element's bits depend on its operands only: loops hold IEEE operations or whole 16-lane vectors,
// whatever part of the range a call covers. (The payload of a NaN made from two NaNs is not specified.)
#pragma once

#include <cstdint>

#include "backends/cpu/prebuilt/convert.h"
#include "backends/cpu/prebuilt/element.h"
#include "backends/cpu/prebuilt/vec.h"

namespace edge_infer::EDGE_ISA {

// Computes n elements from dense operands of the compute type. `out` may be one of `in`. `attributes` are the
// integers after the strides.
using ChunkFn = void (*)(void* out, const void* const* in, int64_t n, const int64_t* attributes);

enum class Storage : uint8_t { k1, k2, k4, k8, kHalf, kBFloat };

constexpr int64_t storage_bytes(Storage s) {
  switch (s) {
    case Storage::k1:
      return 1;
    case Storage::k4:
      return 4;
    case Storage::k8:
      return 8;
    case Storage::k2:
    case Storage::kHalf:
    case Storage::kBFloat:
      return 2;
  }
  return 0;
}
constexpr int kMaxInputs = 3;

struct PointwiseForm {
  ChunkFn chunk = nullptr;
  int inputs = 0;  // buffers besides the output
  Storage in[kMaxInputs] = {};
  Storage out = Storage::k4;
  // Writes the last operand (number `inputs`) of a `.Scalar` op from the attribute, in the compute type;
  // nullptr otherwise.
  void (*scalar)(void* to, double value) = nullptr;
  int64_t scalar_bytes = 0;
};

void run_pointwise(const PointwiseForm& form, const KernelArgs* args, int64_t m0, int64_t m1);

namespace {

template <class T>
inline constexpr Storage kStorageOf = sizeof(T) == 1   ? Storage::k1
                                      : sizeof(T) == 2 ? Storage::k2
                                      : sizeof(T) == 4 ? Storage::k4
                                                       : Storage::k8;
template <>
inline constexpr Storage kStorageOf<Half> = Storage::kHalf;
template <>
inline constexpr Storage kStorageOf<BFloat> = Storage::kBFloat;

template <const PointwiseForm& Form>
void pointwise_kernel(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  run_pointwise(Form, args, m0, m1);
}

// ---- chunks: R F::apply(T...) a element
// ----------------------------------------------------------------------------

template <class F, class T, class R>
void chunk1(void* out, const void* const* in, int64_t n, const int64_t*) {
  const T* a = static_cast<const T*>(in[0]);
  R* to = static_cast<R*>(out);
  EDGE_IVDEP
  for (int64_t i = 0; i < n; ++i) to[i] = F::apply(a[i]);
}

template <class F, class T, class R>
void chunk2(void* out, const void* const* in, int64_t n, const int64_t*) {
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  R* to = static_cast<R*>(out);
  EDGE_IVDEP
  for (int64_t i = 0; i < n; ++i) to[i] = F::apply(a[i], b[i]);
}

// F32 F::vector(F32): tails are whole vectors too.
template <class F>
void chunk1_vector(void* out, const void* const* in, int64_t n, const int64_t*) {
  const float* a = static_cast<const float*>(in[0]);
  float* to = static_cast<float*>(out);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(to + i, F::vector(load(a + i)));
  if (i < n) store(to + i, F::vector(load(a + i, n - i)), n - i);
}

// The vector form where the functor has one and the type is f32.
template <class F, class T, class R>
inline constexpr ChunkFn kChunk1 = [] {
  if constexpr (requires { &F::vector; } && sizeof(T) == 4 && kIsFloat<T>)
    return &chunk1_vector<F>;
  else
    return &chunk1<F, T, R>;
}();

// ---- table rows: "<op>.<dtype>" for each of Ts
// -----------------------------------------------------------------------

template <class T>
void scalar_operand(void* to, double value) {
  *static_cast<T*>(to) = static_cast<T>(value);
}

template <class F, class T, class Out>
inline constexpr PointwiseForm kUnaryForm{
    kChunk1<F, Compute<T>, Compute<Out>>, 1, {kStorageOf<T>}, kStorageOf<Out>};
template <class F, class T, class Out>
inline constexpr PointwiseForm kBinaryForm{
    &chunk2<F, Compute<T>, Compute<Out>>, 2, {kStorageOf<T>, kStorageOf<T>}, kStorageOf<Out>};
template <class F, class T, class Out>
inline constexpr PointwiseForm kScalarForm{&chunk2<F, Compute<T>, Compute<Out>>,
                                           1,
                                           {kStorageOf<T>},
                                           kStorageOf<Out>,
                                           &scalar_operand<Compute<T>>,
                                           sizeof(Compute<T>)};

// Result of the operands' type.
template <FixedString Op, class F, class... Ts>
consteval std::array<PrebuiltKernel, sizeof...(Ts)> unary() {
  return {{{kernel_name<Op, Ts>, &pointwise_kernel<kUnaryForm<F, Ts, Ts>>}...}};
}
template <FixedString Op, class F, class... Ts>
consteval std::array<PrebuiltKernel, sizeof...(Ts)> binary() {
  return {{{kernel_name<Op, Ts>, &pointwise_kernel<kBinaryForm<F, Ts, Ts>>}...}};
}
template <FixedString Op, class F, class... Ts>
consteval std::array<PrebuiltKernel, sizeof...(Ts)> scalar() {
  return {{{kernel_name<Op, Ts>, &pointwise_kernel<kScalarForm<F, Ts, Ts>>}...}};
}
// Result bool.
template <FixedString Op, class F, class... Ts>
consteval std::array<PrebuiltKernel, sizeof...(Ts)> unary_test() {
  return {{{kernel_name<Op, Ts>, &pointwise_kernel<kUnaryForm<F, Ts, Bool>>}...}};
}
template <FixedString Op, class F, class... Ts>
consteval std::array<PrebuiltKernel, sizeof...(Ts)> binary_test() {
  return {{{kernel_name<Op, Ts>, &pointwise_kernel<kBinaryForm<F, Ts, Bool>>}...}};
}
template <FixedString Op, class F, class... Ts>
consteval std::array<PrebuiltKernel, sizeof...(Ts)> scalar_test() {
  return {{{kernel_name<Op, Ts>, &pointwise_kernel<kScalarForm<F, Ts, Bool>>}...}};
}

}  // namespace
}  // namespace edge_infer::EDGE_ISA
