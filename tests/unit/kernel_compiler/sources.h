// Kernel sources that the tests compile.
#pragma once

#include <string>
#include <string_view>

#include "compiler/codegen/kernel_compiler.h"

namespace edge_infer {

// The ABI, as every source spells it.
inline constexpr std::string_view kPrologue = R"(
typedef long long i64;
struct args { void* const* buffers; const i64* integers; };
)";

// `body` with `a`, m0, m1, n0, n1 and scratch in scope.
inline std::string kernel(std::string_view body, std::string_view globals = "") {
  std::string text(kPrologue);
  text += globals;
  text += "void k(const struct args* a, i64 m0, i64 m1, i64 n0, i64 n1, void* scratch) {\n";
  text += body;
  text += "\n}\n";
  return text;
}

inline KernelSource source_for(std::string_view isa, std::string text) {
  KernelSource source;
  source.source = std::move(text);
  source.target = "cpu." + std::string(isa);
  if (isa == "avx2") source.features = "avx2,f16c,fma";
  if (isa == "avx512") source.features = "avx2,avx512bw,avx512dq,avx512f,avx512vl,f16c,fma";
  return source;
}

// y[i] = table[i % 4] + x[i] * 0.75, in vectors of `width`, with read-only data of several kinds.
inline std::string scale_source(int width) {
  const std::string w = std::to_string(width);
  return kernel(R"(
  const float* x = a->buffers[0];
  float* y = a->buffers[1];
  for (i64 i = m0; i < m1; ++i) {
    const float* xi = x + i * )" +
                    w + R"(;
    vec v = *(const vec*)xi;
    vec t;
    for (int j = 0; j < )" +
                    w + R"(; ++j) t[j] = table[j & 3];
    *(vec*)(y + i * )" +
                    w + R"() = t + v * 0.75f;
  })",
                "typedef float vec __attribute__((ext_vector_type(" + w + "), aligned(4)));\n" +
                    "static const float table[4] = {1.0f, 2.0f, -3.5f, 0.25f};\n");
}

// An m x n x k product with 6 x 2 vectors of accumulators, as the code generator writes them: b packed in
// panels, k = integers[0]; rows in multiples of 6.
inline std::string gemm_source(int width) {
  const std::string w = std::to_string(width);
  return kernel(R"(
  const float* A = a->buffers[0];
  const float* B = a->buffers[1];
  float* C = a->buffers[2];
  const i64 K = a->integers[0], N = a->integers[1];
  for (i64 n = n0; n < n1; n += 2 * W)
    for (i64 m = m0; m < m1; m += 6) {
      vec c0[6], c1[6];
      #pragma clang loop unroll(full)
      for (int i = 0; i < 6; ++i) c0[i] = c1[i] = 0;
      const float* b = B + n * K;
      #pragma clang loop unroll(disable)
      for (i64 q = 0; q < K; ++q, b += 2 * W) {
        const vec b0 = *(const vec*)b, b1 = *(const vec*)(b + W);
        #pragma clang loop unroll(full)
        for (int i = 0; i < 6; ++i) {
          const vec x = A[(m + i) * K + q];
          c0[i] = __builtin_elementwise_fma(x, b0, c0[i]);
          c1[i] = __builtin_elementwise_fma(x, b1, c1[i]);
        }
      }
      #pragma clang loop unroll(full)
      for (int i = 0; i < 6; ++i) {
        *(vec*)(C + (m + i) * N + n) = c0[i];
        *(vec*)(C + (m + i) * N + n + W) = c1[i];
      }
    })",
                "enum { W = " + w + " };\ntypedef float vec __attribute__((ext_vector_type(" + w +
                    "), aligned(4)));\n");
}

}  // namespace edge_infer
