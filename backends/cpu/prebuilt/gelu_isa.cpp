// aten.gelu.f32, both forms: out is dense, the input is read through strides.
#include "backends/cpu/prebuilt/args.h"
#include "backends/cpu/prebuilt/registry.h"
#include "backends/cpu/prebuilt/tables.h"
#include "backends/cpu/prebuilt/vmath.h"

namespace edge_infer::EDGE_ISA {
namespace {

template <bool kTanh>
EDGE_INLINE F32 apply(F32 x) {
  return kTanh ? gelu_tanh(x) : gelu(x);
}

template <bool kTanh>
EDGE_INLINE void map_dense(const float* in, float* out, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, apply<kTanh>(load(in + i)));
  if (i < n) store(out + i, apply<kTanh>(load(in + i, n - i)), n - i);
}

// Elements [m0, m1) of the output in rows of the innermost dimension.
template <bool kTanh>
EDGE_INLINE void map_strided(const float* in, float* out, int64_t rank, const int64_t* sizes,
                             const int64_t* strides, int64_t m0, int64_t m1) {
  for (int64_t m = m0; m < m1;) {
    const int64_t inner = rank == 0 ? 1 : sizes[rank - 1], stride = rank == 0 ? 0 : strides[rank - 1];
    const int64_t column = m % inner,
                  count = smaller<int64_t>(smaller<int64_t>(inner - column, m1 - m), kLanes);
    int64_t offset = column * stride, rest = m / inner;
    for (int64_t d = rank - 2; d >= 0; --d) {
      offset += rest % sizes[d] * strides[d];
      rest /= sizes[d];
    }
    alignas(64) float lanes[kLanes] = {};
    for (int64_t l = 0; l < count; ++l) lanes[l] = in[offset + l * stride];
    store(out + m, apply<kTanh>(load(lanes)), count);
    m += count;
  }
}

template <bool kTanh>
EDGE_INLINE void map(const KernelArgs* args, int64_t m0, int64_t m1) {
  float* out = output<float>(args, 0);
  const float* in = input<float>(args, 1);
  const int64_t rank = integer(args, 0);
  const int64_t* sizes = args->integers + 1;
  const int64_t* strides = sizes + rank;
  bool dense = true;
  int64_t expected = 1;
  for (int64_t d = rank - 1; d >= 0; --d) {
    dense = dense && (sizes[d] == 1 || strides[d] == expected);
    expected *= sizes[d];
  }
  if (dense)
    map_dense<kTanh>(in + m0, out + m0, m1 - m0);
  else
    map_strided<kTanh>(in, out, rank, sizes, strides, m0, m1);
}

void gelu_kernel(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  const int64_t approximate = integer(args, static_cast<int>(1 + 2 * integer(args, 0)));
  if (approximate == 0)
    map<false>(args, m0, m1);
  else
    map<true>(args, m0, m1);
}

constexpr PrebuiltKernel kTable[] = {{"aten.gelu.f32", gelu_kernel}};

}  // namespace

std::span<const PrebuiltKernel> gelu_table() {
  return kTable;
}

}  // namespace edge_infer::EDGE_ISA
