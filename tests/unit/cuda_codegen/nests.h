// The nests that golden files and NVRTC tests share: what a sentence encoder has besides products and
// attention, with f16 between kernels.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace edge_infer::cuda::test {

struct NamedNest {
  const char* name;
  const char* text;
};

inline constexpr NamedNest kNests[] = {
    {"layer_norm", R"(nest @layer_norm class f32.k1 symbols(T in 1..16384 hint 128)
    (b0: in f16[T, 384], b1: in f32[384], b2: in f32[384], b3: out f16[T, 384]) {
    for m:T work {
      local c0: f32[384]
      for n:384 lane { c0[n] = f32(b0[384*m+n]) }
      %v0, %v1 = reduce moments(c0[n]) over n:384
      %v2 = rsqrt(%v1 * 0x1.5555555555555p-9 + 1e-12)
      for n:384 lane { b3[384*m+n] = f16((c0[n] - %v0) * %v2 * b1[n] + b2[n]) }
    } })"},
    {"embedding", R"(nest @embedding class f32.k1 symbols(T in 1..16384 hint 128)
    (b0: index i32[T], b1: index i64[T], b2: in f32[1000, 768], b3: in f16[512, 768], b4: in f32[768],
     b5: in f32[768], b6: out f16[T, 768]) {
    for m:T work {
      local c0: f32[768]
      %v0 = b0[m]
      %v1 = b1[m]
      for n:768 lane { c0[n] = b2[768*v0+n] + f32(b3[768*v1+n]) }
      %v2, %v3 = reduce moments(c0[n]) over n:768
      %v4 = rsqrt(%v3 / 768 + 1e-12)
      for n:768 lane { b6[768*m+n] = f16((c0[n] - %v2) * %v4 * b4[n] + b5[n]) }
    } })"},
    {"pool_normalize",
     R"(nest @pool_normalize class f32.k1 symbols(T in 1..16384 hint 128, B in 1..1024 hint 1)
    (b0: in f16[T, 384], b1: index i32[B+1], b2: out f32[B, 384]) {
    for m:B work {
      local c0: f32[384]
      %v0 = b1[m]
      %v1 = b1[m+1]
      for n:384 lane {
        %v2 = reduce sum(f32(b0[384*t+n])) over t:v0..v1 segment
        c0[n] = %v2 / f32(size(v1-v0):i64)
      }
      %v3 = reduce sum(c0[n] * c0[n]) over n:384
      %v4 = 1 / max(sqrt(%v3), 1e-12)
      for n:384 lane { b2[384*m+n] = c0[n] * %v4 }
    } })"},
    {"gelu", R"(nest @gelu class f32.k1 symbols(T in 1..16384 hint 128)
    (b0: in bf16[T, 1536], b1: in f32[1536], b2: out f16[T, 1536]) {
    for m:T work {
      for n:1536 lane {
        %v0 = f32(b0[1536*m+n]) + b1[n]
        b2[1536*m+n] = f16(%v0 * 0.5 * (1 + erf(%v0 * 0x1.6a09e667f3bcdp-1)))
      }
    } })"},
    {"softmax", R"(nest @softmax class f32.k1 symbols(R in 1..100000 hint 64, S in 1..4096 hint 128)
    (b0: in f32[R, S], b1: out f32[R, S]) {
    for m:R work {
      local c0: f32[S]
      %v0 = reduce max(b0[S*m+n]) over n:S
      for n:S lane { c0[n] = exp(b0[S*m+n] - %v0) }
      %v1 = reduce sum(c0[n]) over n:S
      for n:S lane { b1[S*m+n] = c0[n] / %v1 }
    } })"},
    {"long_rows", R"(nest @long_rows class f32.k1 symbols(T in 1..64 hint 8)
    (b0: in f16[T, 8192], b1: out f16[T, 8192], b2: out i64[T]) {
    for m:T work {
      local c0: f32[8192]
      %v0 = reduce max(f32(b0[8192*m+n])) over n:8192
      %v1 = reduce argmax(b0[8192*m+n]) over n:8192
      b2[m] = %v1
      for n:8192 lane { c0[n] = exp(f32(b0[8192*m+n]) - %v0) }
      %v2 = reduce sum(c0[n]) over n:8192
      for n:8192 lane { b1[8192*m+n] = f16(c0[n] / %v2) }
    } })"},
    {"split_heads", R"(nest @split_heads class f32.k1 symbols(T in 1..16384 hint 128)
    (b0: in f32[12, T, 32], b1: out f16[T, 384]) {
    for m:T work {
      for n:384 lane { b1[384*m+n] = f16(b0[32*T*(n//32)+32*m+n%32]) }
    } })"},
    {"linear", R"(nest @linear class f32.k1 symbols(T in 1..16384 hint 128)
    (b0: in f32[T, 50], b1: packed f32[70, 50], b2: in f32[70], b3: in f32[T, 70], b4: out f32[T, 70]) {
    for m:T work {
      gemm %v0 over n:70, k:50 a(b0[50*m+k]) w(b1) {
        %v1 = %v0 + b2[n]
        b4[70*m+n] = tanh(%v1) + b3[70*m+n]
      }
    } })"},
    // Without locals: what hold_rows() makes of rows that are read several times.
    {"layer_norm_held", R"(nest @layer_norm_held class f32.k1 symbols(T in 1..16384 hint 128)
    (b0: in f16[T, 384], b1: in f32[384], b2: in f32[384], b3: out f16[T, 384]) {
    for m:T work {
      %v0, %v1 = reduce moments(f32(b0[k+384*m])) over k:384
      %v2 = %v1 / 384
      %v3 = %v2 + 0x1.197998p-40
      %v4 = rsqrt(%v3)
      for n:384 lane { b3[384*m+n] = f16((f32(b0[384*m+n]) - %v0) * %v4 * b1[n] + b2[n]) }
    } })"},
    {"rms_norm_held", R"(nest @rms_norm_held class f32.k1 symbols(T in 1..16384 hint 128)
    (b0: in bf16[T, 2048], b1: in bf16[T, 2048], b2: in bf16[2048], b3: out bf16[T, 2048]) {
    for m:T work {
      %v0 = reduce sum((f32(b0[k+2048*m]) + f32(b1[k+2048*m])) * (f32(b0[k+2048*m]) + f32(b1[k+2048*m]))) over k:2048
      %v1 = rsqrt(%v0 / 2048 + 1e-6)
      for n:2048 lane {
        %v2 = f32(b0[2048*m+n]) + f32(b1[2048*m+n])
        b3[2048*m+n] = bf16(%v2 * %v1 * f32(b2[n]))
      }
    } })"},
    {"softmax_held", R"(nest @softmax_held class f32.k1 symbols(R in 1..100000 hint 64)
    (b0: in f32[R, 1000], b1: out f32[R, 1000]) {
    for m:R work {
      %v0 = reduce max(b0[k+1000*m]) over k:1000
      %v1 = reduce sum(exp(b0[k+1000*m] - %v0)) over k:1000
      for n:1000 lane { b1[1000*m+n] = exp(b0[1000*m+n] - %v0) / %v1 }
    } })"},
};

// Adds up `rows` rows of n elements, each normalized by itself, without locals.
inline std::string sum_of_norms(int64_t n, std::string_view dtype, int rows) {
  std::string buffers, moments, sum = "0";
  for (int i = 0; i < rows; ++i) {
    buffers += fmt::format("b{}: in {}[T, {}], ", i, dtype, n);
    moments += fmt::format("    %v{}, %v{} = reduce moments(f32(b{}[{}*m+k])) over k:{}\n", 2 * i, 2 * i + 1,
                           i, n, n);
    sum += fmt::format(" + (f32(b{}[{}*m+n]) - %v{}) * %v{}", i, n, 2 * i, 2 * i + 1);
  }
  return fmt::format(
      "nest @n class f32.k1 symbols(T in 1..64 hint 8) ({0}b{1}: out f32[T, {2}]) {{\n  for m:T work {{\n{3}"
      "    for n:{2} lane {{ b{1}[{2}*m+n] = {4} }}\n  }}\n}}\n",
      buffers, rows, n, moments, sum);
}

}  // namespace edge_infer::cuda::test
