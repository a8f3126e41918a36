// Generated attention kernels, emulated, against loop::evaluate: sequences of all lengths, outputs poisoned,
// what lies behind the rows NaN.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "backends/cuda/templates/attention_template.h"
#include "compiler/loop/evaluate.h"
#include "compiler/loop/verify.h"
#include "tests/support/cuda/attention_nests.h"
#include "tests/unit/cuda_gemm/emulated_kernel.h"

namespace edge_infer::cuda {
namespace {

using test::AttentionShape;

constexpr int64_t kPadRows = 80;

struct Emulated {
  std::string name;
  std::string target;
  AttentionShape shape;
  std::vector<int64_t> lengths;
  friend void PrintTo(const Emulated& c, std::ostream* out) { *out << c.target << " " << c.shape.label(); }
};

struct Operands {
  std::vector<int64_t> symbols;
  std::vector<HostTensor> exact, padded;  // with rows of all ones behind
};

const loop::Attention& attention_of(const loop::LoopNest& nest) {
  return std::get<loop::Attention>(std::get<loop::For>(nest.body.front().node).body.front().node);
}

Operands operands_of(const loop::LoopNest& nest, const std::vector<int64_t>& lengths) {
  const loop::Attention& a = attention_of(nest);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::vector<int64_t> offsets{0}, units;
  for (size_t s = 0; s < lengths.size(); ++s) {
    offsets.push_back(offsets.back() + lengths[s]);
    for (int64_t row = 0; row < lengths[s]; row += a.block_rows)
      units.insert(units.end(), {static_cast<int64_t>(s), row});
  }
  Operands operands;
  operands.symbols = {offsets.back(), static_cast<int64_t>(lengths.size()),
                      static_cast<int64_t>(units.size()) / 2};
  std::map<std::string, int64_t, std::less<>> values;
  for (size_t s = 0; s < nest.symbols.size(); ++s) values[nest.symbols[s].name] = operands.symbols[s];
  for (size_t b = 0; b < nest.buffers.size(); ++b) {
    const loop::Buffer& buffer = nest.buffers[b];
    std::vector<int64_t> sizes;
    for (const SymInt& size : buffer.sizes) sizes.push_back(*size.evaluate(values));
    HostTensor tensor = *make_host_tensor(buffer.dtype, sizes);
    if (static_cast<int32_t>(b) == a.cu) {
      tensor.store(offsets);
    } else if (static_cast<int32_t>(b) == a.units) {
      tensor.store(units);
    } else if (buffer.access == loop::Access::kOut) {
      std::ranges::fill(tensor.bytes, std::byte{0xFF});
    } else {
      std::vector<double> numbers(static_cast<size_t>(tensor.elements()));
      for (double& x : numbers) x = normal(random);
      tensor.store(numbers);
    }
    HostTensor padded = tensor;
    padded.sizes[0] += kPadRows;
    padded.bytes.resize(static_cast<size_t>(padded.elements() * dtype_size(buffer.dtype)), std::byte{0xFF});
    operands.exact.push_back(std::move(tensor));
    operands.padded.push_back(std::move(padded));
  }
  return operands;
}

class AttentionEmulation : public testing::TestWithParam<Emulated> {};

TEST_P(AttentionEmulation, AgreesWithTheEvaluator) {
  const Emulated& c = GetParam();
  const loop::LoopNest nest = attention_nest(c.shape);
  const Status valid = loop::verify(nest);
  ASSERT_TRUE(valid) << valid.error().message;
  const Result<GeneratedKernel> generated = generate_attention(nest, {}, *CudaTarget::of(c.target));
  ASSERT_TRUE(generated) << generated.error().message;
  const Result<EmulatedKernel> kernel = EmulatedKernel::build(generated->source.source);
  ASSERT_TRUE(kernel) << kernel.error().message;

  Operands operands = operands_of(nest, c.lengths);
  std::vector<HostTensor*> pointers;
  for (HostTensor& tensor : operands.exact) pointers.push_back(&tensor);
  const Status evaluated = loop::evaluate(nest, operands.symbols, pointers);
  ASSERT_TRUE(evaluated) << evaluated.error().message;
  const auto out = static_cast<size_t>(attention_of(nest).out.buffer);
  const HostTensor poisoned = operands.padded[out];
  std::vector<std::byte> first;
  // One CTA that does all items, and several that share them: the same bits.
  for (const unsigned blocks : {1U, 5U}) {
    operands.padded[out] = poisoned;
    std::vector<EmulatedKernel::Buffer> buffers;
    for (HostTensor& tensor : operands.padded) buffers.push_back({tensor.bytes.data(), tensor.sizes[0]});
    kernel->run(blocks, operands.symbols, buffers);
    if (first.empty()) first = operands.padded[out].bytes;
    EXPECT_EQ(first, operands.padded[out].bytes) << blocks << " CTAs";
  }
  const std::vector<double> got = operands.padded[out].to_doubles(), want = operands.exact[out].to_doubles();
  const double step = c.shape.dtype == DType::kF16    ? 0x1p-10
                      : c.shape.dtype == DType::kBF16 ? 0x1p-7
                                                      : 0x1p-18;
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_LE(std::fabs(got[i] - want[i]), step * (1 + std::fabs(want[i]))) << "element " << i;
  const size_t real = operands.exact[out].bytes.size();
  EXPECT_TRUE(std::all_of(operands.padded[out].bytes.begin() + static_cast<std::ptrdiff_t>(real),
                          operands.padded[out].bytes.end(), [](std::byte b) { return b == std::byte{0xFF}; }))
      << "rows behind the last one were written";
}

std::vector<Emulated> cases() {
  constexpr DType kHalf = DType::kF16, kBrain = DType::kBF16, kSingle = DType::kF32;
  const std::vector<int64_t> ragged = {65, 1, 64};
  return {
      {"Wgmma32", "cuda.sm_90a", {.dim = 32}, ragged},
      {"Wgmma64Causal",
       "cuda.sm_90a",
       {.dim = 64, .heads = 2, .kv_heads = 1, .dtype = kBrain, .out = kBrain, .causal = true},
       ragged},
      // Scores of tens: the maximum moves.
      {"Wgmma32Large", "cuda.sm_90a", {.dim = 32, .heads = 1, .kv_heads = 1, .scale = 2}, {200, 3}},
      {"Wgmma64Large", "cuda.sm_90a", {.dim = 64, .heads = 1, .kv_heads = 1, .scale = 2}, {200, 3}},
      {"Wgmma96", "cuda.sm_90a", {.dim = 96, .heads = 2, .kv_heads = 1, .packed = false}, {65, 20}},
      {"Wgmma128", "cuda.sm_90a", {.dim = 128, .heads = 1, .kv_heads = 1, .out = kSingle}, {70, 64}},
      {"Mma16", "cuda.sm_80", {.dim = 16}, ragged},
      {"Mma32Causal", "cuda.sm_90", {.dim = 32, .heads = 2, .kv_heads = 1, .causal = true}, ragged},
      {"Mma48", "cuda.sm_80", {.dim = 48, .dtype = kBrain, .out = kBrain}, {65, 20}},
      {"Mma64", "cuda.sm_120", {.dim = 64, .packed = false, .offsets = DType::kI64}, {66, 1}},
      {"Mma80", "cuda.sm_80", {.dim = 80, .out = kSingle}, {65, 20}},
      {"Mma96", "cuda.sm_80", {.dim = 96, .heads = 1, .kv_heads = 1}, {65, 20}},
      {"Mma128", "cuda.sm_86", {.dim = 128, .heads = 1, .kv_heads = 1, .causal = true}, {70}},
      {"Simt20", "cuda.sm_80", {.dim = 20, .dtype = kSingle, .out = kSingle}, ragged},
      {"Simt64Causal",
       "cuda.sm_90a",
       {.dim = 64, .heads = 2, .kv_heads = 1, .dtype = kSingle, .out = kSingle, .causal = true},
       {65, 20}},
      {"SimtHalf", "cuda.sm_90a", {.dim = 24, .dtype = kHalf, .packed = false, .scale = -0.3}, ragged},
      {"Simt256",
       "cuda.sm_86",
       {.dim = 256, .heads = 1, .kv_heads = 1, .dtype = kSingle, .out = kSingle},
       {40, 3}},
      {"SimtShortUnits", "cuda.sm_90a", {.dim = 32, .block_rows = 32}, {70, 5}},
      {"SimtDouble",
       "cuda.sm_80",
       {.dim = 24, .dtype = DType::kF64, .out = DType::kF64, .causal = true},
       {40}},
  };
}
INSTANTIATE_TEST_SUITE_P(Kernels, AttentionEmulation, testing::ValuesIn(cases()),
                         [](const auto& made) { return made.param.name; });

}  // namespace
}  // namespace edge_infer::cuda
