// Products of bf16 operands, in each class that this machine runs, against double precision.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "backends/cpu/codegen/cpu_code_generator.h"
#include "backends/cpu/pack_bf16.h"
#include "compiler/loop/parse.h"
#include "tests/kernels/nest_run.h"

namespace edge_infer::testing {
namespace {

// Operand rows as they are, in bf16; odd K, and N beside the panels.
constexpr std::string_view kLinear = R"(nest @linear class bf16 symbols(T in 1..512 hint 128)
    (b0: in bf16[T, {1}], b1: packed bf16[{0}, {1}], b2: in f32[{0}], b3: out f32[T, {0}]) {{
    for m:T work {{
      gemm %v0 over n:{0}, k:{1} a(b0[{1}*m+k]) w(b1) {{
        b3[{0}*m+n] = %v0 + b2[n]
      }}
    }} }})";

TEST(Bf16Gemm, RowsAsTheyAre) {
  for (const int64_t rows : {1, 4, 13, 16, 17, 32, 47, 100, 300})
    for (const auto& [columns, depth] :
         {std::pair{10, 40}, {48, 37}, {77, 64}, {32, 1}, {100, 31}, {33, 200}})
      EXPECT_EQ(compare_with_evaluate({.text = fmt::format(kLinear, columns, depth),
                                       .symbols = {rows},
                                       .relative = 1e-5,
                                       .absolute = 1e-5}),
                "")
          << rows << " x " << columns << " x " << depth;
}

// The operand is rounded as it is read; columns may be split all the same.
constexpr std::string_view kRounded = R"(nest @rounded class bf16 symbols(T in 1..512 hint 128)
    (b0: in f32[T, 40], b1: packed bf16[{0}, 40], b2: in f32[{0}], b3: out bf16[T, {0}]) {{
    for m:T work {{
      gemm %v0 over n:{0}, k:40 a(bf16(b0[40*m+k])) w(b1) {{
        %v1 = %v0 + b2[n]
        b3[{0}*m+n] = bf16(0.5 * %v1 * (erf(%v1 * 0.70710678) + 1))
      }}
    }} }})";

TEST(Bf16Gemm, RoundedOperandAndResult) {
  for (const int64_t rows : {1, 16, 45, 130})
    for (const int columns : {10, 96, 101})
      EXPECT_EQ(compare_with_evaluate({.text = fmt::format(kRounded, columns), .symbols = {rows}}), "")
          << rows << " x " << columns;
  const auto nest = loop::parse_nest(fmt::format(kRounded, 96));
  ASSERT_TRUE(nest);
  for (const std::string& target : runnable_bf16_targets()) {
    loop::LoopNest own = *nest;
    own.accumulation_class = target.substr(target.find('+') + 1);
    CpuFeatures cpu;
    cpu.avx512_bf16 = own.accumulation_class != "bf16.f32";
    cpu.amx_bf16 = own.accumulation_class == "bf16.amx32";
    const auto generated =
        CpuCodeGenerator::for_target(target.substr(0, target.find('+')), cpu)->generate(own, "");
    ASSERT_TRUE(generated);
    EXPECT_TRUE(generated->splits_columns);
    EXPECT_EQ(generated->source.features.starts_with("amx-bf16,amx-tile,"), cpu.amx_bf16);
  }
}

constexpr std::string_view kResidualNorm = R"(nest @out_ln class bf16 symbols(T in 1..512 hint 128)
    (b0: in bf16[T, 40], b1: packed bf16[{0}, 40], b2: in f32[{0}], b3: in f32[T, {0}], b4: out f32[T, {0}], b5: out bf16[T, {0}]) {{
    for m:T work {{
      local c0: f32[{0}]
      gemm %v0 over n:{0}, k:40 a(b0[40*m+k]) w(b1) {{ c0[n] = %v0 + b2[n] + b3[{0}*m+n] }}
      %v1, %v2 = reduce moments(c0[n]) over n:{0}
      %v3 = rsqrt(%v2 / {0} + 1e-12)
      for n:{0} lane {{
        %v4 = (c0[n] - %v1) * %v3
        b4[{0}*m+n] = %v4
        b5[{0}*m+n] = bf16(%v4)
      }}
    }} }})";

TEST(Bf16Gemm, NormInTheRow) {
  for (const int64_t rows : {1, 7, 100, 200})
    for (const int columns : {33, 96})
      EXPECT_EQ(compare_with_evaluate({.text = fmt::format(kResidualNorm, columns),
                                       .symbols = {rows},
                                       .relative = 2e-4,
                                       .absolute = 2e-4}),
                "");
}

// Sums of one row, class and schedule; the row stands at `at` of `rows`.
std::vector<float> sums_of(const std::string& target, const std::string& schedule, int64_t rows, int64_t at,
                           const std::vector<double>& a, const std::vector<double>& w, int64_t n, int64_t k) {
  auto nest = loop::parse_nest(fmt::format(kLinear, n, k));
  nest->accumulation_class = target.substr(target.find('+') + 1);
  std::vector<HostTensor> buffers = {
      *make_host_tensor(DType::kBF16, {rows, k}), *make_host_tensor(DType::kBF16, {n, k}),
      *make_host_tensor(DType::kF32, {n}), *make_host_tensor(DType::kF32, {rows, n})};
  std::vector<double> operand(static_cast<size_t>(rows * k), 3.0);
  std::copy(a.begin(), a.end(), operand.begin() + at * k);
  buffers[0].store(operand);
  buffers[1].store(w);
  const auto run = run_kernel(*nest, target, schedule, {rows}, buffers, 1);
  EXPECT_TRUE(run) << (run ? "" : run.error().message);
  if (!run) return {};
  std::vector<float> sums(static_cast<size_t>(n));
  std::memcpy(sums.data(), run->buffers[3].bytes.data() + at * n * 4, sums.size() * 4);
  return sums;
}

std::vector<double> numbers(int64_t count, uint32_t seed) {
  std::vector<double> result;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    // Few enough bits for bf16.
    result.push_back(static_cast<double>(static_cast<int32_t>(seed >> 25U) - 64) / 37.0 *
                     (i % 3 == 0 ? 0x1p-9 : 1));
  }
  HostTensor rounded = *make_host_tensor(DType::kBF16, {count});
  rounded.store(result);
  return rounded.to_doubles();
}

// A row's bits are the same wherever it stands, whatever stands beside it and however the rows are blocked.
TEST(Bf16Gemm, BitsOfARowAreItsOwn) {
  constexpr int64_t kN = 70, kK = 75;
  const std::vector<double> a = numbers(kK, 1), w = numbers(kN * kK, 2);
  for (const std::string& target : runnable_bf16_targets()) {
    const std::vector<float> alone = sums_of(target, "", 1, 0, a, w, kN, kK);
    const bool amx = target.ends_with("amx32");
    const std::string tile = amx                              ? "32x32"
                             : target.starts_with("cpu.avx5") ? "12x32"
                             : target.starts_with("cpu.avx2") ? "6x16"
                                                              : "3x16";
    for (const auto& [rows, at] : {std::pair<int64_t, int64_t>{2, 1}, {17, 16}, {40, 31}, {200, 150}})
      for (const std::string& schedule : {std::string(), fmt::format("tile={};kb=0;rb=48", tile)}) {
        const std::vector<float> found = sums_of(target, schedule, rows, at, a, w, kN, kK);
        ASSERT_EQ(found.size(), alone.size());
        EXPECT_EQ(std::memcmp(found.data(), alone.data(), alone.size() * 4), 0)
            << target << " " << schedule << ", row " << at << " of " << rows;
      }
  }
}

// The emulation is one chain of fma, the same on every instruction set.
TEST(Bf16Gemm, EmulationIsAChainOfFma) {
  constexpr int64_t kN = 40, kK = 51;
  const std::vector<double> a = numbers(kK, 3), w = numbers(kN * kK, 4);
  for (const std::string& target : runnable_targets()) {
    const std::vector<float> found = sums_of(target + "+bf16.f32", "", 5, 2, a, w, kN, kK);
    ASSERT_EQ(found.size(), static_cast<size_t>(kN));
    for (int64_t n = 0; n < kN; ++n) {
      float sum = 0;
      for (int64_t k = 0; k < kK; ++k)
        sum = std::fma(static_cast<float>(a[static_cast<size_t>(k)]),
                       static_cast<float>(w[static_cast<size_t>(n * kK + k)]), sum);
      EXPECT_EQ(found[static_cast<size_t>(n)], sum) << target << " column " << n;
    }
  }
}

TEST(PackBf16, PlacesRoundsAndPads) {
  // Column 17 of k 33: the second tile of the first panel, second step.
  std::vector<float> rows(18 * 34, 0.0F);
  rows[17 * 34 + 33] = 1.00390625F;  // halfway between 1 and its successor: to even, 1
  rows[17 * 34 + 32] = std::nanf("");
  rows[0] = 1.01171875F;  // halfway above an odd one: up, 1.015625
  const Device::Rows sources[] = {{rows.data(), 10}, {rows.data() + 10 * 34, 8}};
  for (const auto& [format, at, size] : {std::tuple{"nk.bf16.amx32", 2048 / 2 + 512 + 2, 2 * 2048 / 2},
                                         {"nk.bf16.p32", 16 * 64 + 34, 17 * 64},
                                         {"nk.bf16.p16", 17 * 32 + 16 * 32 + 2, 2 * 17 * 32}}) {
    const Bf16Layout layout = *Bf16Layout::find(format);
    ASSERT_EQ(*bf16_packed_bytes(layout, 18, 34), static_cast<size_t>(size) * 2) << format;
    std::vector<uint16_t> out(static_cast<size_t>(size), 0xffff);
    pack_bf16(layout, sources, 34, std::as_writable_bytes(std::span(out)));
    EXPECT_EQ(out[0], 0x3f82) << format;
    EXPECT_EQ(out[static_cast<size_t>(at) + 1], 0x3f80) << format;
    EXPECT_EQ(out[static_cast<size_t>(at)] & 0x7fc0, 0x7fc0) << format;
    size_t other = 0;
    for (const uint16_t word : out) other += word != 0;
    EXPECT_EQ(other, 3U) << format;
  }
  EXPECT_FALSE(Bf16Layout::find("nk.f32.p32"));
  EXPECT_FALSE(bf16_packed_bytes({32, 32, 16}, -1, 4));
  EXPECT_FALSE(bf16_packed_bytes({32, 32, 16}, int64_t{1} << 62, 4));
}

}  // namespace
}  // namespace edge_infer::testing
