// Measuring candidates on the host, the calls that are measured, and choosing among candidates.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>

#include "compiler/loop/parse.h"
#include "compiler/tune/choose.h"
#include "compiler/tune/measured_call.h"

namespace edge_infer {
namespace {

std::atomic<int> calls{0};

void sum_rows(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  ++calls;
  const auto* in = static_cast<const float*>(args->buffers[0]);
  auto* out = static_cast<float*>(args->buffers[1]);
  for (int64_t m = m0; m < m1; ++m) out[m] = in[m] + static_cast<float>(args->integers[0]);
}
void sum_rows_slowly(const KernelArgs* args, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
  for (int i = 0; i < 50; ++i) sum_rows(args, m0, m1, n0, n1, scratch);
}

// Two functions behind the Device interface, as a processor's kernels are.
class Functions final : public Device {
 public:
  const Target& target() const override { return target_; }
  Result<LoadedKernel> load_kernel(std::string_view name) const override {
    if (name == "fast") return LoadedKernel{sum_rows, 0};
    if (name == "slow") return LoadedKernel{sum_rows_slowly, 128};
    return fail(ErrorCode::kNotFound, "no {}", name);
  }
  Result<std::unique_ptr<Executable>> bind(Program, ConstantSource&) const override {
    return fail(ErrorCode::kUnsupported, "nothing runs here");
  }
  Result<size_t> packed_bytes(std::string_view, int64_t n, int64_t k) const override {
    return static_cast<size_t>(2 * n * k);
  }
  Status pack(std::string_view, std::span<const Rows>, int64_t, std::span<std::byte>) const override {
    return {};
  }

 private:
  Target target_{.name = "functions", .pack_tokens = 16'384};
};

class Formats final : public CodeGenerator {
 public:
  std::string version() const override { return "1"; }
  std::string target() const override { return "functions"; }
  std::string features() const override { return ""; }
  std::string packed_format(DType) const override { return "nk.f16"; }
  std::string accumulation_class(DType) const override { return "f32.k1"; }
  DType fastest_precision() const override { return DType::kF32; }
  Status accepts(const loop::LoopNest&) const override { return {}; }
  Result<GeneratedKernel> generate(const loop::LoopNest&, const Schedule&) const override {
    return GeneratedKernel{};
  }
  std::vector<Schedule> candidates(const loop::LoopNest&) const override { return {""}; }
};

loop::LoopNest parsed(std::string_view text) {
  auto nest = loop::parse_nest(text);
  EXPECT_TRUE(nest) << nest.error().message;
  return nest ? *std::move(nest) : loop::LoopNest();
}

loop::LoopNest add() {
  return parsed(R"(nest @add class f32.k1 symbols(T in 1..65536 hint 8)
    (b0: in f32[T], b1: out f32[T]) {
  for m:T work { b1[m] = b0[m] + size(T):f32 }
})");
}

loop::LoopNest attention() {
  return parsed(
      R"(nest @varlen_attention class f32.k1 symbols(T in 1..16384 hint 128, B in 1..16384 hint 1, U0 in 0..16777216 hint 1)
    (b0: in f32[T, 192], b1: index i32[B+1], b2: index i32[U0, 2], b3: out f32[T, 64]) {
  for m:2*U0 work {
    attention heads 2 kv_heads 2 dim 32 block_rows 64 scale 0.25 q(b0 row 192 offset 0) k(b0 row 192 offset 64) v(b0 row 192 offset 128) out(b3 row 64 offset 0) cu(b1) units(b2)
  }
})");
}

template <typename T>
std::vector<T> numbers(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(Measure, times_every_candidate_over_the_whole_domain) {
  calls = 0;
  const Functions device;
  MeasuredCall call{.integers = {20'000}, .rows = 20'000};
  call.buffers = {{.bytes = 80'000}, {.bytes = 80'000, .is_output = true}};
  const std::string kernels[] = {"fast", "slow"};
  const auto measured = device.measure(call, kernels, {.rounds = 5});
  ASSERT_TRUE(measured) << measured.error().message;
  ASSERT_EQ(measured->size(), 2u);
  EXPECT_GE(calls, 2 * 51);
  EXPECT_LE(calls, 5 * 51);
  const std::vector<CandidateTimes> times = {(*measured)[0].nanoseconds, (*measured)[1].nanoseconds};
  EXPECT_EQ(times[0].size(), times[1].size());
  EXPECT_EQ(choose_candidate(times), 0u);
}

TEST(Measure, stops_when_it_is_cancelled_and_names_a_kernel_that_is_not_there) {
  const Functions device;
  MeasuredCall call{.integers = {16}, .rows = 16};
  call.buffers = {{.bytes = 64}, {.bytes = 64, .is_output = true}};
  const std::string fast[] = {"fast"}, other[] = {"other"};
  EXPECT_EQ(device.measure(call, fast, {.is_cancelled = [] { return true; }}).error().code,
            ErrorCode::kCancelled);
  EXPECT_EQ(device.measure(call, other, {}).error().code, ErrorCode::kNotFound);
}

TEST(Measure, operands_are_numbers_of_order_one_in_every_floating_type) {
  std::vector<std::byte> bytes(4096, std::byte{0xff});
  fill_operand(DType::kF32, bytes);
  for (const float x : numbers<float>(bytes)) EXPECT_TRUE(std::abs(x) >= 0.5F && std::abs(x) < 1) << x;
  fill_operand(DType::kF64, bytes);
  for (const double x : numbers<double>(bytes)) EXPECT_TRUE(std::abs(x) >= 0.5 && std::abs(x) < 1) << x;
  fill_operand(DType::kF16, bytes);
  for (const uint16_t x : numbers<uint16_t>(bytes)) EXPECT_EQ(x & 0x7c00, 0x3800);
  fill_operand(DType::kBF16, bytes);
  for (const uint16_t x : numbers<uint16_t>(bytes)) EXPECT_EQ(x & 0x7f80, 0x3f00);
  fill_operand(DType::kI32, bytes);
  for (const int32_t x : numbers<int32_t>(bytes)) EXPECT_EQ(x, 0);
}

TEST(MeasuredCall, has_the_rows_of_its_class) {
  const Functions device;
  const Formats generator;
  for (const auto& [rows, expected] : {std::pair<int64_t, int64_t>{128, 128},
                                       {4096, 4096},
                                       {INT64_MAX, 16'384},  // a pack
                                       {0, 128}}) {          // no class: the hint, but enough to tell
    const auto call = measured_call(add(), rows, device, generator);
    ASSERT_TRUE(call) << call.error().message;
    EXPECT_EQ(call->rows, expected);
    EXPECT_EQ(call->integers, std::vector{expected});
    ASSERT_EQ(call->buffers.size(), 2u);
    EXPECT_EQ(call->buffers[0].bytes, static_cast<size_t>(4 * expected));
    EXPECT_FALSE(call->buffers[0].is_output);
    EXPECT_TRUE(call->buffers[1].is_output);
  }
}

TEST(MeasuredCall, of_attention_has_sequences_of_these_rows) {
  const Functions device;
  const Formats generator;
  for (const int64_t rows : {100, 512, 4096}) {
    const auto call = measured_call(attention(), rows, device, generator);
    ASSERT_TRUE(call) << call.error().message;
    const auto offsets = numbers<int32_t>(call->buffers[1].content);
    const auto units = numbers<int32_t>(call->buffers[2].content);
    EXPECT_EQ(offsets.back(), rows);
    EXPECT_EQ(offsets.size() == 2, rows <= 512);
    const std::vector<int64_t> symbols = {rows, static_cast<int64_t>(offsets.size()) - 1,
                                          static_cast<int64_t>(units.size()) / 2};
    EXPECT_EQ(call->integers, symbols);
    EXPECT_EQ(call->rows, 2 * symbols[2]);
    // Every row of every sequence is in one unit.
    int64_t covered = 0;
    for (size_t u = 0; u < units.size(); u += 2) {
      const auto s = static_cast<size_t>(units[u]);
      const int32_t length = offsets[s + 1] - offsets[s];
      EXPECT_EQ(units[u + 1] % 64, 0);
      EXPECT_LT(units[u + 1], length);
      EXPECT_LE(length, 512);
      covered += std::min(64, length - units[u + 1]);
    }
    EXPECT_EQ(covered, rows);
  }
}

TEST(Choice, own_choice_stays_unless_another_is_clearly_faster) {
  using Times = std::vector<CandidateTimes>;
  EXPECT_EQ(choose_candidate(Times{}), std::nullopt);
  EXPECT_EQ(choose_candidate(Times{{100}, {98}, {99}}), 0u);
  EXPECT_EQ(choose_candidate(Times{{100, 130}, {150, 90}, {80, 200}}), 2u);
  EXPECT_EQ(choose_candidate(Times{{100}, {80}, {80}}), 1u);  // the first of equals
  EXPECT_EQ(choose_candidate(Times{{100}, {}, {99}}), 0u);    // one failed
  EXPECT_EQ(choose_candidate(Times{{}, {300}, {299}}), 2u);   // the own choice failed
  EXPECT_EQ(choose_candidate(Times{{}, {}}), std::nullopt);
}

}  // namespace
}  // namespace edge_infer
