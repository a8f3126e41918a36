// The generated text itself: what it may and may not contain, and what the generator refuses.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cpu/codegen/cpu_code_generator.h"
#include "compiler/loop/parse.h"

namespace edge_infer {
namespace {

loop::LoopNest nest_of(std::string_view text) {
  auto nest = loop::parse_nest(text);
  EXPECT_TRUE(nest) << nest.error().message;
  return std::move(*nest);
}

CpuCodeGenerator generator(std::string_view target) {
  return *CpuCodeGenerator::for_target(target);
}

constexpr std::string_view kScale = R"(nest @secret_layer class f32.k1 symbols(hidden_tokens in 1..64 hint 8)
    (b0: in f32[hidden_tokens, 48], b1: out f32[hidden_tokens, 48]) {
    for m:hidden_tokens work { for n:48 lane { b1[48*m+n] = b0[48*m+n] * 2 } } })";

TEST(KernelText, HoldsNoNameOfTheModelAndIsTheSameEachTime) {
  const auto kernel = generator("cpu.avx2").generate(nest_of(kScale), "");
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_EQ(kernel->source.source.find("secret"), std::string::npos);
  EXPECT_EQ(kernel->source.source.find("hidden"), std::string::npos);
  EXPECT_EQ(kernel->source.source, generator("cpu.avx2").generate(nest_of(kScale), "")->source.source);
  EXPECT_TRUE(kernel->splits_columns);
  EXPECT_EQ(kernel->column_grain, 16);
  EXPECT_EQ(kernel->bytes_per_row, 48 * 8);
  EXPECT_EQ(kernel->flops_per_row, 48);
}

TEST(KernelText, StatementsReadAsTheyAreMeant) {
  const std::string source = generator("cpu.portable").generate(nest_of(kScale), "")->source.source;
  const std::string expected =
      "void k(const struct KernelArgs* args, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) "
      "{\n"
      "  const float* b0 = args->buffers[0];\n"
      "  float* b1 = args->buffers[1];\n"
      "  for (int64_t m = m0; m < m1; ++m) {\n"
      "    for (int64_t i1 = n0; i1 + 16 <= n1; i1 += 16) {\n"
      "      store_f32(b1 + (48 * m + i1), load_f32(b0 + (48 * m + i1)) * splat_f32(2.0f));\n"
      "    }\n"
      "  }\n"
      "}\n";
  EXPECT_TRUE(source.ends_with(expected)) << source;
  EXPECT_EQ(source.find("erf_f32"), std::string::npos) << "unused parts of the prelude are printed";
}

TEST(KernelText, TargetsAndVersion) {
  EXPECT_FALSE(CpuCodeGenerator::for_target("cpu.sparc"));
  EXPECT_EQ(generator("cpu.avx2").features(), "avx,avx2,f16c,fma");
  EXPECT_EQ(generator("cpu.avx512").features(), "avx,avx2,avx512bw,avx512dq,avx512f,avx512vl,f16c,fma");
  EXPECT_EQ(CpuCodeGenerator::for_target("cpu.avx512", {.avx512_bf16 = true})->features(),
            "avx,avx2,avx512bf16,avx512bw,avx512dq,avx512f,avx512vl,f16c,fma");
  EXPECT_EQ(generator("cpu.avx512").packed_format(DType::kF32), "nk.f32.p32");
  EXPECT_EQ(generator("cpu.portable").packed_format(DType::kF32), "nk.f32.p16");
  EXPECT_EQ(generator("cpu.avx2").version().size(), std::string("cpu-c-").size() + 16);
}

TEST(KernelText, RefusesWithAReason) {
  const CpuCodeGenerator avx2 = generator("cpu.avx2");
  const auto reason = [&](std::string_view text) {
    const Status status = avx2.accepts(nest_of(text));
    return status ? std::string() : status.error().message;
  };
  EXPECT_EQ(reason(kScale), "");
  EXPECT_EQ(
      reason("nest class f32.k1 symbols(S in 1..inf hint 8) (b0: in f32[4, S], b1: out f32[4, S]) { for m:4 "
             "work { "
             "local c0: f32[S] for n:S lane { c0[n] = b0[S*m+n] } for n:S lane { b1[S*m+n] = c0[n] } } }"),
      "too large: a local of S elements, which has no bound");
  EXPECT_EQ(
      reason("nest class bf16.amx32 (b0: in f32[4], b1: out f32[4]) { for m:4 work { b1[m] = b0[m] } }"),
      "class bf16.amx32, expected f32.k1 or bf16.f32");
  EXPECT_EQ(
      reason(
          "nest class f32.k1 (b0: in f32[4, 8], b1: packed f32[16, 8], b2: out f32[4, 16]) { for m:4 work { "
          "gemm %v0 over n:16, k:8 a(b0[8*m+k]) w(b1) { b2[16*m+n] = %v0 } "
          "gemm %v1 over n:16, k:8 a(b0[8*m+k]) w(b1) { b2[16*m+n] = %v1 } } }"),
      "slot refused: two gemms in one nest");
  EXPECT_FALSE(avx2.generate(nest_of(kScale), "tile=6x16;kb=0;rb=96"));
}

}  // namespace
}  // namespace edge_infer
