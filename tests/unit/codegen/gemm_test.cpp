// Nests around the GEMM template and the attention template, against evaluate.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cpu/codegen/cpu_code_generator.h"
#include "compiler/loop/parse.h"
#include "tests/kernels/nest_run.h"

namespace edge_infer::testing {
namespace {

constexpr std::string_view kLinear = R"(nest @linear class f32.k1 symbols(T in 1..512 hint 128)
    (b0: in f32[T, 40], b1: packed f32[{0}, 40], b2: in f32[{0}], b3: out f32[T, {0}]) {{
    for m:T work {{
      gemm %v0 over n:{0}, k:40 a(b0[40*m+k]) w(b1) {{
        %v1 = %v0 + b2[n]
        b3[{0}*m+n] = 0.5 * %v1 * (erf(%v1 * 0.70710678) + 1)
      }}
    }} }})";

TEST(GemmNest, BiasAndGelu) {
  for (const int columns : {10, 48, 77})
    for (const int64_t rows : {1, 2, 15, 33, 100})
      EXPECT_EQ(
          compare_with_evaluate(
              {.text = fmt::format(kLinear, columns), .symbols = {rows}, .relative = 1e-4, .absolute = 1e-5}),
          "");
}

constexpr std::string_view kResidualNorm = R"(nest @out_ln class f32.k1 symbols(T in 1..512 hint 128)
    (b0: in f32[T, 40], b1: packed f32[{0}, 40], b2: in f32[{0}], b3: in f32[T, {0}], b4: in f32[{0}], b5: out f32[T, {0}]) {{
    for m:T work {{
      local c0: f32[{0}]
      gemm %v0 over n:{0}, k:40 a(b0[40*m+k]) w(b1) {{ c0[n] = %v0 + b2[n] + b3[{0}*m+n] }}
      %v1, %v2 = reduce moments(c0[n]) over n:{0}
      %v3 = rsqrt(%v2 / {0} + 1e-12)
      for n:{0} lane {{ b5[{0}*m+n] = (c0[n] - %v1) * %v3 * b4[n] }}
    }} }})";

TEST(GemmNest, ResidualAndNormInTheRow) {
  for (const int columns : {33, 96})
    for (const int64_t rows : {1, 7, 100, 200})
      EXPECT_EQ(compare_with_evaluate({.text = fmt::format(kResidualNorm, columns),
                                       .symbols = {rows},
                                       .relative = 2e-4,
                                       .absolute = 2e-4}),
                "");
}

TEST(GemmNest, NormBeforeIt) {
  for (const int64_t rows : {1, 5, 110})
    EXPECT_EQ(compare_with_evaluate({.text = R"(nest @pre class f32.k1 symbols(T in 1..512 hint 128)
    (b0: in f32[T, 37], b1: packed f32[50, 37], b2: in f32[37], b3: out f32[T, 50], b4: out f32[T]) {
    for m:T work {
      local c0: f32[50]
      %v0 = reduce sum(b0[37*m+k] * b0[37*m+k]) over k:37
      %v1 = rsqrt(%v0 / 37 + 1e-6)
      gemm %v2 over n:50, k:37 a(b0[37*m+k] * %v1 * b2[k]) w(b1) { c0[n] = %v2 * %v1 }
      %v3 = reduce max(c0[n]) over n:50
      b4[m] = %v3 * %v1
      for n:50 lane { b3[50*m+n] = c0[n] - %v3 }
    } })",
                                     .symbols = {rows},
                                     .relative = 2e-4,
                                     .absolute = 2e-4}),
              "");
}

TEST(GemmNest, GatedHalves) {
  EXPECT_EQ(compare_with_evaluate({.text = R"(nest @swiglu class f32.k1 symbols(T in 1..512 hint 128)
    (b0: in f32[T, 24], b1: packed f32[96, 24], b2: out f32[T, 48]) {
    for m:T work {
      local c0: f32[96]
      gemm %v0 over n:96, k:24 a(b0[24*m+k]) w(b1) { c0[n] = %v0 }
      for n:48 lane { b2[48*m+n] = c0[n] / (exp(-c0[n]) + 1) * c0[n+48] }
    } })",
                                   .symbols = {13},
                                   .relative = 2e-4,
                                   .absolute = 2e-4}),
            "");
}

TEST(GemmNest, EverySchedule) {
  const std::string text = fmt::format(kResidualNorm, 80);
  const auto nest = loop::parse_nest(text);
  ASSERT_TRUE(nest) << nest.error().message;
  const CpuCodeGenerator generator = CpuCodeGenerator::for_this_cpu();
  const std::vector<Schedule> schedules = generator.candidates(*nest);
  ASSERT_GE(schedules.size(), 2U);
  EXPECT_LE(schedules.size(), 8U);
  std::vector<HostTensor> buffers;
  for (const loop::Buffer& buffer : nest->buffers) {
    std::vector<int64_t> sizes;
    for (const SymInt& size : buffer.sizes) sizes.push_back(size.constant().value_or(29));
    buffers.push_back(*make_host_tensor(buffer.dtype, sizes));
    std::vector<double> x(static_cast<size_t>(buffers.back().elements()));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>((i * 7919) % 201) / 100 - 1;
    buffers.back().store(x);
  }
  std::vector<std::byte> first;
  for (const Schedule& schedule : schedules) {
    const auto run = run_kernel(*nest, generator.target(), schedule, {29}, buffers, 2);
    ASSERT_TRUE(run) << schedule << run.error().message;
    if (first.empty()) first = run->buffers.back().bytes;
    EXPECT_EQ(run->buffers.back().bytes, first) << schedule;
  }
}

TEST(AttentionNest, PackedSequences) {
  for (const bool causal : {false, true})
    EXPECT_EQ(
        compare_with_evaluate(
            {.text = fmt::format(
                 R"(nest @attention class f32.k1 symbols(T in 1..512 hint 128, B in 1..16 hint 2, U in 1..64 hint 4)
    (b0: in f32[T, 144], b1: index i32[B+1], b2: index i32[U, 2], b3: out f32[T, 48]) {{
    for m:3*U work {{
      attention heads 3 kv_heads 3 dim 16 block_rows 32 scale 0.25{} q(b0 row 144 offset 0) k(b0 row 144 offset 48) v(b0 row 144 offset 96) out(b3 row 48 offset 0) cu(b1) units(b2)
    }} }})",
                 causal ? " causal" : ""),
             .symbols = {105, 2, 5},
             .fill =
                 [](std::vector<HostTensor>& b) {
                   b[1].store(std::vector<int64_t>{0, 35, 105});
                   b[2].store(std::vector<int64_t>{0, 0, 0, 32, 1, 0, 1, 32, 1, 64});
                 },
             .relative = 1e-4,
             .absolute = 1e-5}),
        "");
}

}  // namespace
}  // namespace edge_infer::testing
