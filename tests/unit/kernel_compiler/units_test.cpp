// Kernels of several units: how texts are cut, what links and what does not, and that company changes no
// code.
#include "backends/cpu/cc/units.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "backends/cpu/codegen/cc_compiler.h"
#include "backends/cpu/device.h"
#include "tests/unit/kernel_compiler/sources.h"

namespace edge_infer {
namespace {

constexpr std::string_view kHidden = "#define HIDDEN __attribute__((visibility(\"hidden\")))\n";

// y[i] = scaled(i) + `addend`; the shared unit calls back for half of it.
std::string sum_source(int addend, std::string_view shared) {
  std::string text =
      kernel("  i64* y = a->buffers[0];\n  for (i64 i = m0; i < m1; ++i) y[i] = scaled(i);",
             std::string(kHidden) + "HIDDEN i64 scaled(i64 i);\nHIDDEN i64 offset(i64 i) { return i + " +
                 std::to_string(addend) + "; }\n");
  return text + std::string(kUnitMark) + std::string(shared);
}

const std::string kScaled =
    std::string(kHidden) +
    "HIDDEN long long offset(long long i);\n"
    "static const long long factors[4] = {3, 5, 7, 11};\n"
    "HIDDEN long long scaled(long long i) { return factors[i & 3] * i + offset(i); }\n";

class Units : public testing::Test {
 protected:
  void SetUp() override {
#ifdef EDGE_INFER_SANITIZED
    if (!CcCompiler().available()) GTEST_SKIP() << "the release build's helper has not been built";
#endif
  }
  static void expect_refused(std::string text, std::string_view part) {
    const KernelSource source = source_for("portable", std::move(text));
    const auto results = CcCompiler().compile({&source, 1});
    ASSERT_FALSE(results[0]) << "compiled, expected an error with \"" << part << "\"";
    EXPECT_NE(results[0].error().message.find(part), std::string::npos) << results[0].error().message;
  }
};

TEST(SplitUnits, cuts_at_marks_only) {
  using Texts = std::vector<std::string_view>;
  EXPECT_EQ(split_units("a\nb"), (Texts{"a\nb"}));
  EXPECT_EQ(split_units("a\n//@ unit\nb\n//@ unit\nc\n"), (Texts{"a", "b", "c\n"}));
  EXPECT_EQ(split_units("a //@ unit\nb\n//@ units\n"), (Texts{"a //@ unit\nb\n//@ units\n"}));
  EXPECT_EQ(split_units("\n//@ unit\n"), (Texts{"", ""}));
  EXPECT_EQ(split_units(""), (Texts{""}));
}

TEST_F(Units, call_each_other_and_read_their_own_data) {
  const KernelSource source = source_for("portable", sum_source(100, kScaled));
  const auto results = CcCompiler().compile({&source, 1});
  ASSERT_TRUE(results[0]) << results[0].error().message;
  const CpuDevice device(Isa::kPortable);
  const Result<LoadedKernel> loaded = device.load_code("kernel:units", results[0]->blob);
  ASSERT_TRUE(loaded) << loaded.error().message;
  std::array<int64_t, 5> y{};
  void* buffers[] = {y.data()};
  const KernelArgs args{buffers, nullptr};
  loaded->function(&args, 0, 5, 0, 1, nullptr);
  EXPECT_EQ(y, (std::array<int64_t, 5>{100, 106, 116, 136, 116}));
}

TEST_F(Units, give_the_same_code_alone_and_in_any_company) {
  std::vector<KernelSource> sources;
  for (int i = 0; i < 30; ++i)
    sources.push_back(source_for("avx2", i % 3 == 0 ? scale_source(8) : sum_source(i, kScaled)));
  const auto together = CcCompiler().compile(sources);
  ASSERT_EQ(together.size(), sources.size());
  for (const size_t i : {0uz, 1uz, 2uz, 28uz, 29uz}) {
    const auto alone = CcCompiler().compile({&sources[i], 1});
    ASSERT_TRUE(together[i]) << together[i].error().message;
    ASSERT_TRUE(alone[0]) << alone[0].error().message;
    EXPECT_EQ(together[i]->blob, alone[0]->blob) << i;
  }
  for (size_t i = 0; i < sources.size(); ++i) EXPECT_TRUE(together[i]) << i;
}

TEST_F(Units, are_compiled_once_for_all_kernels_of_a_batch) {
  std::string heavy = kScaled;
  for (int i = 0; i < 150; ++i)
    heavy += "HIDDEN long long more" + std::to_string(i) +
             "(long long* x, long long n) { long long s = " + std::to_string(i) +
             "; for (long long j = 0; j < n; ++j) s = s * x[j] + (s >> 3); return s; }\n";
  std::vector<KernelSource> sources;
  for (int i = 0; i < 8; ++i) sources.push_back(source_for("portable", sum_source(i, heavy)));
  CcLimits limits;
  limits.processes = 1;
  const auto results = CcCompiler(limits).compile(sources);
  double others = 0;
  for (const auto& result : results) ASSERT_TRUE(result) << result.error().message;
  for (size_t i = 1; i < results.size(); ++i) others = std::max(others, results[i]->seconds);
  // The first one pays for the unit, of which the rest are a small part.
  EXPECT_GT(results[0]->seconds, 3 * others);
}

TEST_F(Units, refuse_what_is_missing_or_twice) {
  expect_refused(sum_source(1, "int nothing;\n"), "writable data");
  expect_refused(sum_source(1, std::string(kHidden) + "HIDDEN long long other(long long i) { return i; }\n"),
                 "\"scaled\"");
  expect_refused(sum_source(1, kScaled + "HIDDEN long long k(void) { return 1; }\n"), "defines \"k\" twice");
  expect_refused(sum_source(1, "not C"), "error");
}

TEST_F(Units, of_a_broken_kernel_serve_the_next_one) {
  const std::vector<KernelSource> sources = {
      source_for("portable", "not C" + std::string(kUnitMark) + kScaled),
      source_for("portable", sum_source(7, kScaled))};
  const auto results = CcCompiler().compile(sources);
  EXPECT_FALSE(results[0]);
  EXPECT_TRUE(results[1]) << results[1].error().message;
}

}  // namespace
}  // namespace edge_infer
