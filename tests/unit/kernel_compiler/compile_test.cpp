// The real helper: what it compiles, and what it refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "backends/cpu/cc/protocol.h"
#include "backends/cpu/codegen/cc_compiler.h"
#include "backends/cpu/device.h"
#include "runtime/base/cpu.h"
#include "tests/unit/kernel_compiler/sources.h"

namespace edge_infer {
namespace {

class Compile : public testing::Test {
 protected:
  void SetUp() override {
    // Sanitizer builds run the release build's helper, which need not have been built.
#ifdef EDGE_INFER_SANITIZED
    if (!compiler_.available()) GTEST_SKIP() << compiler_.available().error().message;
#endif
  }
  Result<CompiledKernel> compile(const KernelSource& source) {
    std::vector<Result<CompiledKernel>> results = compiler_.compile({&source, 1});
    EXPECT_EQ(results.size(), 1u);
    return std::move(results.front());
  }
  void expect_refused(const KernelSource& source, ErrorCode code, std::string_view part) {
    const Result<CompiledKernel> result = compile(source);
    ASSERT_FALSE(result) << "compiled, expected an error with \"" << part << "\"";
    EXPECT_EQ(error_code_name(result.error().code), std::string(error_code_name(code)))
        << result.error().message;
    EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
  }
  CcCompiler compiler_;
};

bool runs_here(std::string_view isa) {
  return isa == "portable" || (isa == "avx2" && cpu_features().avx2_fma) ||
         (isa == "avx512" && cpu_features().avx512);
}

int lanes(std::string_view isa) {
  return isa == "avx512" ? 16 : isa == "avx2" ? 8 : 4;
}

TEST_F(Compile, runs_vector_code_of_every_instruction_set) {
  for (const std::string_view isa : {"portable", "avx2", "avx512"}) {
    const Result<CompiledKernel> kernel = compile(source_for(isa, scale_source(lanes(isa))));
    ASSERT_TRUE(kernel) << isa << ": " << kernel.error().message;
    if (!runs_here(isa)) continue;
    const CpuDevice device;
    const Result<LoadedKernel> loaded = device.load_code("kernel:scale", kernel->blob);
    ASSERT_TRUE(loaded) << loaded.error().message;
    const int width = lanes(isa);
    const size_t size = static_cast<size_t>(width) * 5;
    std::vector<float> x(size + 1), y(size + 1, -1.0f);
    for (size_t i = 0; i <= size; ++i) x[i] = static_cast<float>(i) * 0.5f - 3.0f;
    // Off by one float: caller-owned buffers have element alignment only.
    void* buffers[] = {x.data() + 1, y.data() + 1};
    const KernelArgs args{buffers, nullptr};
    loaded->function(&args, 1, 4, 0, 1, nullptr);
    constexpr float kTable[] = {1.0f, 2.0f, -3.5f, 0.25f};
    for (size_t i = 0; i < size; ++i) {
      const bool inside = i >= static_cast<size_t>(width) && i < static_cast<size_t>(width) * 4;
      const float expected = inside ? kTable[i % 4] + x[i + 1] * 0.75f : -1.0f;
      ASSERT_EQ(y[i + 1], expected) << isa << " at " << i;
    }
  }
}

TEST_F(Compile, runs_a_matrix_product) {
  for (const std::string_view isa : {"portable", "avx2", "avx512"}) {
    const Result<CompiledKernel> kernel = compile(source_for(isa, gemm_source(lanes(isa))));
    if (isa == "portable") {
      // Without the instruction a fused multiply-add is a call of fmaf.
      ASSERT_FALSE(kernel);
      EXPECT_NE(kernel.error().message.find("\"fmaf\""), std::string::npos) << kernel.error().message;
      continue;
    }
    ASSERT_TRUE(kernel) << isa << ": " << kernel.error().message;
    if (!runs_here(isa)) continue;
    const CpuDevice device;
    const Result<LoadedKernel> loaded = device.load_code("kernel:gemm", kernel->blob);
    ASSERT_TRUE(loaded) << loaded.error().message;
    const size_t M = 12, K = 7, W = static_cast<size_t>(lanes(isa)), N = 4 * W;
    std::vector<float> a(M * K), b(N * K), c(M * N);
    for (size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<float>(i));
    for (size_t i = 0; i < b.size(); ++i) b[i] = std::cos(static_cast<float>(i) * 0.3f);
    const int64_t integers[] = {static_cast<int64_t>(K), static_cast<int64_t>(N)};
    void* buffers[] = {a.data(), b.data(), c.data()};
    const KernelArgs args{buffers, integers};
    loaded->function(&args, 0, M, 0, static_cast<int64_t>(N), nullptr);
    for (size_t m = 0; m < M; ++m)
      for (size_t n = 0; n < N; ++n) {
        float sum = 0;
        for (size_t k = 0; k < K; ++k)
          sum = std::fma(a[m * K + k], b[n / (2 * W) * (2 * W) * K + k * 2 * W + n % (2 * W)], sum);
        ASSERT_EQ(c[m * N + n], sum) << isa << " at " << m << ", " << n;
      }
  }
}

TEST_F(Compile, keeps_products_and_sums_apart) {
  if (!runs_here("avx2")) GTEST_SKIP() << "needs avx2";
  const Result<CompiledKernel> kernel = compile(source_for("avx2", edge_infer::kernel(R"(
  const float* x = a->buffers[0];
  float* y = a->buffers[1];
  for (i64 i = m0; i < m1; ++i) y[i] = x[i] * x[i] - 1.0f;)")));
  ASSERT_TRUE(kernel) << kernel.error().message;
  const CpuDevice device;
  const Result<LoadedKernel> loaded = device.load_code("kernel:square", kernel->blob);
  ASSERT_TRUE(loaded) << loaded.error().message;
  std::vector<float> x(64), y(64);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 1.0f + static_cast<float>(i) * 0x1p-20f;
  void* buffers[] = {x.data(), y.data()};
  const KernelArgs args{buffers, nullptr};
  loaded->function(&args, 0, 64, 0, 1, nullptr);
  int differ = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const volatile float product = x[i] * x[i];
    ASSERT_EQ(y[i], product - 1.0f) << i;
    differ += std::fma(x[i], x[i], -1.0f) != product - 1.0f;
  }
  EXPECT_GT(differ, 0) << "the values do not tell a fused operation from two";
}

TEST_F(Compile, gives_equal_code_for_equal_sources) {
  std::vector<KernelSource> sources;
  for (int i = 0; i < 4; ++i) sources.push_back(source_for("avx2", gemm_source(8)));
  sources.push_back(source_for("avx2", scale_source(8)));
  const auto results = compiler_.compile(sources);
  CcLimits one;
  one.processes = 1;
  const auto alone = CcCompiler(one).compile({&sources[0], 1});
  ASSERT_EQ(results.size(), 5u);
  for (const auto& result : results) ASSERT_TRUE(result) << result.error().message;
  ASSERT_TRUE(alone[0]) << alone[0].error().message;
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(results[i]->blob, alone[0]->blob) << i;
  EXPECT_NE(results[4]->blob, alone[0]->blob);
}

TEST_F(Compile, hands_scratch_and_assembly_on) {
  KernelSource source = source_for("avx2", gemm_source(8));
  source.scratch_bytes = 4096;
  source.keep_assembly = true;
  const Result<CompiledKernel> kernel = compile(source);
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_EQ(kernel->blob.scratch_bytes, 4096u);
  EXPECT_NE(kernel->assembly.find("vfmadd"), std::string::npos);
  EXPECT_EQ(kernel->assembly.find("zmm"), std::string::npos);
  EXPECT_GT(kernel->seconds, 0);
  source.keep_assembly = false;
  EXPECT_TRUE(compile(source)->assembly.empty());
}

TEST_F(Compile, uses_only_the_features_that_it_is_given) {
  KernelSource source = source_for("avx512", scale_source(16));
  source.keep_assembly = true;
  const Result<CompiledKernel> with = compile(source);
  ASSERT_TRUE(with) << with.error().message;
  EXPECT_NE(with->assembly.find("zmm"), std::string::npos);
  source.features = "";
  const Result<CompiledKernel> without = compile(source);
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_EQ(without->assembly.find("ymm"), std::string::npos);
  EXPECT_EQ(without->assembly.find("zmm"), std::string::npos);
}

TEST_F(Compile, reports_diagnostics) {
  expect_refused(source_for("avx2", kernel("int x = ;")), ErrorCode::kInvalidArgument,
                 "kernel.c:5:9: error: expected expression");
  expect_refused(source_for("avx2", kernel("undeclared();")), ErrorCode::kInvalidArgument, "undeclared");
  expect_refused(source_for("avx2", ""), ErrorCode::kCorruption, "\"k\"");
  expect_refused(source_for("avx2", std::string(kCcMaxSourceBytes + 1, ' ')), ErrorCode::kInvalidArgument,
                 "bytes");
}

TEST_F(Compile, refuses_unknown_targets_and_features) {
  KernelSource source = source_for("avx2", scale_source(8));
  source.features = "avx2,fast";
  expect_refused(source, ErrorCode::kInvalidArgument, "\"fast\"");
  source.features = "avx2,,fma";
  expect_refused(source, ErrorCode::kInvalidArgument, "\"\"");
  source.features = "avx2,";
  expect_refused(source, ErrorCode::kInvalidArgument, "\"\"");
  source.features = "avx2";
  source.target = "cpu.sse9";
  expect_refused(source, ErrorCode::kInvalidArgument, "\"cpu.sse9\"");
}

TEST_F(Compile, refuses_code_that_needs_anything_outside) {
  expect_refused(
      source_for("avx2", kernel("other(scratch); more(scratch);", "void other(void*);\nvoid more(void*);\n")),
      ErrorCode::kCorruption, "\"other\", \"more\"");
  // A copy that clang makes a call of memcpy.
  expect_refused(source_for("avx2", kernel("*(struct big*)scratch = *(const struct big*)a->buffers[0];",
                                           "struct big { char bytes[5000]; };\n")),
                 ErrorCode::kCorruption, "\"memcpy\"");
}

TEST_F(Compile, refuses_writable_data_and_pointers_in_data) {
  expect_refused(source_for("avx2", kernel("*(i64*)scratch = ++calls;", "static i64 calls;\n")),
                 ErrorCode::kCorruption, "writable data");
  expect_refused(source_for("avx2", kernel("*(i64*)scratch = ++calls;", "static i64 calls = 7;\n")),
                 ErrorCode::kCorruption, "writable data");
  expect_refused(source_for("avx2", kernel("*(i64*)scratch = ++calls;", "static _Thread_local i64 calls;\n")),
                 ErrorCode::kCorruption, "thread-local");
  expect_refused(source_for("avx2", kernel("*(const void**)scratch = tables;",
                                           "static const i64 x[4] = {1}, y[4] = {2};\n"
                                           "static const i64* const tables[2] = {x, y};\n")),
                 ErrorCode::kCorruption, "pointers in data");
}

TEST_F(Compile, runs_jump_tables_and_constants_of_every_width) {
  const Result<CompiledKernel> kernel = compile(source_for("portable", edge_infer::kernel(R"(
  i64* y = a->buffers[0];
  for (i64 i = m0; i < m1; ++i) switch (i) {
    case 0: f0(y, i); break; case 1: f1(y, i); break; case 2: f2(y, i); break;
    case 3: f3(y, i); break; case 4: f4(y, i); break; case 5: f5(y, i); break;
    default: y[i] = -1;
  })",
                                                                                          R"(
#define F(n, e) static __attribute__((noinline)) void f##n(i64* y, i64 i) { y[i] = e; }
F(0, i + 10) F(1, i * 30) F(2, y[0] - 5) F(3, y[1] ^ 77) F(4, i << 9) F(5, y[4] / 3)
)")));
  ASSERT_TRUE(kernel) << kernel.error().message;
  const CpuDevice device(Isa::kPortable);
  const Result<LoadedKernel> loaded = device.load_code("kernel:switch", kernel->blob);
  ASSERT_TRUE(loaded) << loaded.error().message;
  std::vector<int64_t> y(8);
  void* buffers[] = {y.data()};
  const KernelArgs args{buffers, nullptr};
  loaded->function(&args, 0, 8, 0, 1, nullptr);
  EXPECT_EQ(y, (std::vector<int64_t>{10, 30, 5, 30 ^ 77, 2048, 682, -1, -1}));
}

TEST_F(Compile, opens_no_file) {
  for (const char* text : {"#include \"/etc/passwd\"\n", "#include <stdint.h>\n",
                           "#include_next <stddef.h>\n", "const char x[] = {\n#embed \"/etc/passwd\"\n};\n",
                           "#pragma GCC dependency \"/etc/passwd\"\n#error reached\n"})
    EXPECT_FALSE(compile(source_for("avx2", text + kernel("")))) << text;
  for (const char* text :
       {"__asm__(\".incbin \\\"/etc/passwd\\\"\");\n", "__asm__(\".include \\\"/etc/passwd\\\"\");\n"})
    expect_refused(source_for("avx2", text + kernel("")), ErrorCode::kInvalidArgument, "asm");
  expect_refused(source_for("avx2", kernel("__asm__ volatile(\".incbin \\\"/etc/passwd\\\"\");")),
                 ErrorCode::kInvalidArgument, "asm");
  // A file that is there and one that is not look the same.
  const Result<CompiledKernel> probe =
      compile(source_for("avx2", "#if __has_include(\"/etc/passwd\")\n#error found\n#endif\n" + kernel("")));
  EXPECT_TRUE(probe) << probe.error().message;
}

TEST_F(Compile, one_bad_kernel_is_not_the_others_problem) {
  std::vector<KernelSource> sources;
  for (int i = 0; i < 6; ++i)
    sources.push_back(source_for("avx2", i % 2 == 0 ? scale_source(8) : kernel("int x = ;")));
  const auto results = compiler_.compile(sources);
  ASSERT_EQ(results.size(), 6u);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(results[i].has_value(), i % 2 == 0) << i;
}

TEST_F(Compile, knows_its_identity_without_the_helper) {
  const CcCompiler nowhere("/nonexistent/edge-infer-cc", {});
  EXPECT_EQ(nowhere.identity(), compiler_.identity());
  EXPECT_EQ(nowhere.identity().rfind("clang-19.", 0), 0u) << nowhere.identity();
  EXPECT_EQ(nowhere.identity().find(';'), std::string::npos);
  EXPECT_EQ(nowhere.options().find(';'), std::string::npos);
}

}  // namespace
}  // namespace edge_infer
