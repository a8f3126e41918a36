// attention.c on every instruction set against a double reference, and its bits over ranges, units and
// neighbours.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/templates/attention_schedule.h"
#include "tests/support/templates/template_kernel.h"

namespace edge_infer::testing {
namespace {

constexpr float kCanary = 12345.5F;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Packed sequences with queries, keys and values in one buffer [T, (heads + 2 kv_heads) * dim].
struct Batch {
  AttentionKernelSpec spec;
  std::vector<int32_t> cu{0}, units;
  int64_t rows = 0, width = 0;
  Floats qkv;

  Batch(AttentionKernelSpec s, const std::vector<int>& lengths) : spec(s) {
    width = int64_t{spec.heads + 2 * spec.kv_heads} * spec.dim;
    spec.q_row = spec.k_row = spec.v_row = static_cast<int>(width);
    spec.out_row = spec.heads * spec.dim + 3;
    spec.q_offset = 0;
    spec.k_offset = spec.heads * spec.dim;
    spec.v_offset = spec.k_offset + spec.kv_heads * spec.dim;
    for (size_t i = 0; i < lengths.size(); ++i) {
      for (int32_t row = 0; row < lengths[i]; row += spec.block_rows)
        units.insert(units.end(), {static_cast<int32_t>(i), row});
      cu.push_back(cu.back() + lengths[i]);
    }
    rows = cu.back();
    qkv = random_floats(rows * width, 11);
    for (int64_t i = 0; i < qkv.size(); ++i) qkv[i] *= 2.5F;
  }
  int64_t items() const { return static_cast<int64_t>(units.size()) / 2 * spec.heads; }
  const float* q(int64_t row, int head) const { return qkv.data() + row * width + head * spec.dim; }
  const float* k(int64_t row, int head) const {
    return qkv.data() + row * width + spec.k_offset + head / (spec.heads / spec.kv_heads) * spec.dim;
  }
  const float* v(int64_t row, int head) const {
    return qkv.data() + row * width + spec.v_offset + head / (spec.heads / spec.kv_heads) * spec.dim;
  }
};

void run(const TemplateKernel& kernel, Batch& b, Floats& out, int64_t m0, int64_t m1) {
  const int64_t floats = attention_scratch_bytes(b.spec.dim) / 4;
  Floats scratch(floats + 16, kCanary);
  for (int64_t i = 0; i < floats; ++i) scratch[i] = std::nanf("");
  void* buffers[] = {out.data(), b.qkv.data(), b.qkv.data(), b.qkv.data(), b.cu.data(), b.units.data()};
  kernel({buffers, nullptr}, m0, m1, 0, 1, scratch.data());
  for (int64_t i = 0; i < 16; ++i) ASSERT_EQ(scratch[floats + i], kCanary) << "scratch overrun";
}

// The result row of one head.
std::vector<double> reference(const Batch& b, int sequence, int64_t row, int head) {
  const int64_t begin = b.cu[static_cast<size_t>(sequence)];
  const int64_t keys = b.spec.causal ? row + 1 : b.cu[static_cast<size_t>(sequence) + 1] - begin;
  std::vector<double> scores;
  for (int64_t j = 0; j < keys; ++j) {
    double s = 0;
    for (int d = 0; d < b.spec.dim; ++d) s += double{b.q(begin + row, head)[d]} * b.k(begin + j, head)[d];
    scores.push_back(s * b.spec.scale);
  }
  const double top = std::ranges::max(scores);
  double sum = 0;
  std::vector<double> result(static_cast<size_t>(b.spec.dim));
  for (int64_t j = 0; j < keys; ++j) {
    const double w = std::exp(scores[static_cast<size_t>(j)] - top);
    sum += w;
    for (int d = 0; d < b.spec.dim; ++d) result[static_cast<size_t>(d)] += w * b.v(begin + j, head)[d];
  }
  for (double& x : result) x /= sum;
  return result;
}

class AttentionTemplate : public ::testing::TestWithParam<TemplateIsa> {
 protected:
  TemplateKernel compile(const AttentionKernelSpec& spec) {
    auto kernel = TemplateKernel::compile(attention_source(spec), GetParam());
    if (!kernel) ADD_FAILURE() << kernel.error().message;
    return kernel ? *kernel : TemplateKernel();
  }
};
INSTANTIATE_TEST_SUITE_P(Isas, AttentionTemplate, ::testing::ValuesIn(template_isas()),
                         [](const auto& isa) { return std::string(template_isa_name(isa.param)); });

TEST_P(AttentionTemplate, MatchesTheReference) {
  const std::vector<int> lengths = {1, 2, 5, 15, 16, 17, 31, 32, 33, 71, 72, 73, 100, 145};
  for (const bool causal : {false, true}) {
    for (const auto& [heads, kv_heads, dim] :
         std::vector<std::tuple<int, int, int>>{{3, 3, 32}, {4, 2, 20}, {2, 1, 64}, {2, 2, 7}}) {
      Batch b({.heads = heads,
               .kv_heads = kv_heads,
               .dim = dim,
               .causal = causal,
               .scale = causal ? 0.3F : 0.17F},
              lengths);
      const TemplateKernel kernel = compile(b.spec);
      Floats out(b.rows * b.spec.out_row, kCanary);
      run(kernel, b, out, 0, b.items());
      for (size_t s = 0; s < lengths.size(); ++s)
        for (int64_t row = 0; row < lengths[s]; ++row) {
          const float* o = out.data() + (b.cu[s] + row) * b.spec.out_row;
          for (int h = 0; h < heads; ++h) {
            const std::vector<double> want = reference(b, static_cast<int>(s), row, h);
            for (int d = 0; d < dim; ++d)
              ASSERT_NEAR(o[h * dim + d], want[static_cast<size_t>(d)], 1e-5)
                  << "length " << lengths[s] << " row " << row << " head " << h << " dim " << dim << " at "
                  << d << " causal " << causal;
          }
          for (int i = heads * dim; i < b.spec.out_row; ++i) ASSERT_EQ(o[i], kCanary);
        }
    }
  }
}

TEST_P(AttentionTemplate, BitsDependOnNeitherUnitsNorRangesNorNeighbours) {
  for (const bool causal : {false, true}) {
    const std::vector<int> lengths = {150, 3, 90};
    Batch whole({.heads = 2, .kv_heads = 2, .dim = 32, .causal = causal}, lengths);
    const TemplateKernel kernel = compile(whole.spec);
    Floats expected(whole.rows * whole.spec.out_row, kCanary),
        split(whole.rows * whole.spec.out_row, kCanary);
    run(kernel, whole, expected, 0, whole.items());
    for (int64_t m = 0; m < whole.items(); ++m) run(kernel, whole, split, m, m + 1);
    EXPECT_EQ(std::memcmp(split.data(), expected.data(), sizeof(float) * static_cast<size_t>(split.size())),
              0);
    for (const int block_rows : {1, 5, 16, 48}) {
      AttentionKernelSpec spec = whole.spec;
      spec.block_rows = block_rows;
      Batch other(spec, lengths);
      Floats out(other.rows * other.spec.out_row, kCanary);
      run(compile(spec), other, out, 0, other.items());
      EXPECT_EQ(std::memcmp(out.data(), expected.data(), sizeof(float) * static_cast<size_t>(out.size())), 0)
          << block_rows << " causal " << causal;
    }
    // The third sequence alone.
    Batch alone(whole.spec, {lengths[2]});
    std::copy_n(whole.qkv.data() + whole.cu[2] * whole.width, alone.qkv.size(), alone.qkv.data());
    Floats out(alone.rows * alone.spec.out_row, kCanary);
    run(kernel, alone, out, 0, alone.items());
    EXPECT_EQ(std::memcmp(out.data(), expected.data() + whole.cu[2] * whole.spec.out_row,
                          sizeof(float) * static_cast<size_t>(out.size())),
              0)
        << causal;
  }
}

TEST_P(AttentionTemplate, HiddenKeysDoNotExist) {
  Batch b({.heads = 1, .kv_heads = 1, .dim = 32, .causal = true}, {80});
  const TemplateKernel kernel = compile(b.spec);
  Floats clean(b.rows * b.spec.out_row, kCanary), poisoned = Floats(b.rows * b.spec.out_row, kCanary);
  run(kernel, b, clean, 0, b.items());
  for (int64_t row = 41; row < 80; ++row)
    for (int64_t i = 0; i < b.width; ++i) b.qkv[row * b.width + i] = i % 2 == 0 ? std::nanf("") : kInfinity;
  run(kernel, b, poisoned, 0, b.items());
  EXPECT_EQ(
      std::memcmp(poisoned.data(), clean.data(), sizeof(float) * static_cast<size_t>(41 * b.spec.out_row)),
      0);
  for (int d = 0; d < 32; ++d) EXPECT_TRUE(std::isnan(poisoned[41 * b.spec.out_row + d]));
}

TEST_P(AttentionTemplate, ExtremeScores) {
  constexpr int64_t kRows = 150;
  Batch b({.heads = 1, .kv_heads = 1, .dim = 32, .scale = 1.0F}, {kRows});
  const TemplateKernel kernel = compile(b.spec);
  // One key far above the others takes all weight, in whatever block it lies.
  for (const int64_t winner : {0, 71, 72, 143, 149}) {
    for (int64_t row = 0; row < kRows; ++row)
      for (int d = 0; d < 32; ++d) {
        b.qkv[row * b.width + d] = 1.0F;
        b.qkv[row * b.width + b.spec.k_offset + d] = row == winner ? 100.0F : -100.0F;
      }
    Floats out(b.rows * b.spec.out_row, kCanary);
    run(kernel, b, out, 0, b.items());
    for (int64_t row = 0; row < kRows; ++row)
      for (int d = 0; d < 32; ++d) ASSERT_EQ(out[row * b.spec.out_row + d], b.v(winner, 0)[d]) << winner;
  }
  // Only -inf: zeros. A NaN key: NaN for every row.
  for (int64_t row = 0; row < kRows; ++row) b.qkv[row * b.width + b.spec.k_offset] = -kInfinity;
  Floats out(b.rows * b.spec.out_row, kCanary);
  run(kernel, b, out, 0, b.items());
  for (int d = 0; d < 32; ++d) ASSERT_EQ(out[d], 0.0F);
  b.qkv[30 * b.width + b.spec.k_offset] = std::nanf("");
  run(kernel, b, out, 0, b.items());
  for (int64_t row = 0; row < kRows; ++row) ASSERT_TRUE(std::isnan(out[row * b.spec.out_row + 5])) << row;
}

// Scores of one query in two rise from block to block by more than a weight may, so that its reference is
// raised again and again beside one that is not. Scores reach 216, where an ulp is 1.5e-5 of a weight.
TEST_P(AttentionTemplate, RisingScores) {
  for (const bool causal : {false, true}) {
    Batch b({.heads = 1, .kv_heads = 1, .dim = 32, .causal = causal, .scale = 1.0F}, {300});
    for (int64_t row = 0; row < b.rows; ++row)
      for (int d = 0; d < 32; ++d) {
        float* at = b.qkv.data() + row * b.width + d;
        at[0] = d == 0 ? (row % 2 == 0 ? 1.0F : 0.0F) : at[0] * 0.1F;
        if (d == 0) at[b.spec.k_offset] = 0.5F * static_cast<float>(row);
      }
    Floats out(b.rows * b.spec.out_row, kCanary);
    run(compile(b.spec), b, out, 0, b.items());
    for (int64_t row = 0; row < b.rows; ++row) {
      const std::vector<double> want = reference(b, 0, row, 0);
      for (int d = 0; d < 32; ++d)
        ASSERT_NEAR(out[row * b.spec.out_row + d], want[static_cast<size_t>(d)], 1e-4)
            << row << " " << causal;
    }
    AttentionKernelSpec spec = b.spec;
    spec.block_rows = 1;
    Batch single(spec, {300});
    std::copy_n(b.qkv.data(), b.qkv.size(), single.qkv.data());
    Floats other(b.rows * b.spec.out_row, kCanary);
    run(compile(spec), single, other, 0, single.items());
    EXPECT_EQ(std::memcmp(other.data(), out.data(), sizeof(float) * static_cast<size_t>(out.size())), 0)
        << causal;
  }
}

// Heads whose keys and values are too many to stay packed.
TEST_P(AttentionTemplate, LargeHeads) {
  for (const bool causal : {false, true}) {
    Batch b({.heads = 2, .kv_heads = 1, .dim = 512, .causal = causal, .scale = 0.03F}, {150, 3});
    Floats out(b.rows * b.spec.out_row, kCanary);
    run(compile(b.spec), b, out, 0, b.items());
    for (int s = 0; s < 2; ++s)
      for (int64_t row = b.cu[static_cast<size_t>(s)]; row < b.cu[static_cast<size_t>(s) + 1]; ++row)
        for (int h = 0; h < 2; ++h) {
          const std::vector<double> want = reference(b, s, row - b.cu[static_cast<size_t>(s)], h);
          for (int d = 0; d < 512; ++d)
            ASSERT_NEAR(out[row * b.spec.out_row + h * 512 + d], want[static_cast<size_t>(d)], 1e-5)
                << row << " head " << h << " causal " << causal;
        }
  }
}

}  // namespace
}  // namespace edge_infer::testing
