// The shared nests, emulated, against evaluate: f16 between kernels, whole vectors, rows of a warp and of a
// CTA, pools of short and long sequences. All in one translation unit: compiling is what costs.
#include "tests/unit/cuda_codegen/nests.h"

#include <gtest/gtest.h>

#include "backends/cuda/codegen/cuda_code_generator.h"
#include "compiler/loop/parse.h"
#include "tests/kernels/nest_case.h"
#include "tests/unit/cuda_codegen/emulated_kernels.h"

namespace edge_infer::cuda::test {
namespace {

using testing::NestCase;
using testing::PreparedCase;

struct EncoderRun {
  const char* name;
  std::vector<int64_t> symbols;
  std::function<void(std::vector<HostTensor>&)> fill{};
  double absolute = 2e-6;
};

void embedding_ids(std::vector<HostTensor>& b) {
  std::vector<int64_t> ids(static_cast<size_t>(b[0].sizes[0])), positions(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<int64_t>(i * 7919 % 1000);
    positions[i] = static_cast<int64_t>(i % 512);
  }
  ids[0] = 999;
  b[0].store(ids);
  b[1].store(positions);
}

std::vector<EncoderRun> runs() {
  const auto offsets = [](std::vector<int64_t> cu) {
    return [cu](std::vector<HostTensor>& b) { b[1].store(cu); };
  };
  return {
      {"layer_norm", {7}},
      {"embedding", {9}, embedding_ids},
      // One block, several, a full round of the CTA's parts, more than one round.
      {"pool_normalize", {70, 3}, offsets({0, 1, 64, 70})},
      {"pool_normalize", {1400, 4}, offsets({0, 512, 577, 577 + 640, 1400})},
      {"gelu", {3}},
      {"softmax", {6, 1}},
      {"softmax", {6, 77}},
      {"long_rows", {2}},
      {"split_heads", {5}},
      {"linear", {1}},
      {"linear", {131}, {}, 2e-5},
      {"layer_norm_held", {7}},
      {"rms_norm_held", {3}},
      {"softmax_held", {6}},
  };
}

TEST(CudaNests, emulated_kernels_agree_with_evaluate) {
  if (const Status status = can_emulate(); !status) GTEST_SKIP() << status.error().message;
  const auto generator = CudaCodeGenerator::for_target("cuda.sm_90a");
  std::vector<std::string> sources;
  for (const NamedNest& named : kNests) {
    const auto prepared = loop::parse_nest(named.text);
    ASSERT_TRUE(prepared) << prepared.error().message;
    const auto kernel = generator->generate(*prepared, "");
    ASSERT_TRUE(kernel) << kernel.error().message;
    sources.push_back(kernel->source.source);
  }
  const auto emulated = EmulatedKernels::compile(sources);
  ASSERT_TRUE(emulated) << emulated.error().message;
  for (const EncoderRun& run : runs()) {
    size_t index = 0;
    while (std::string_view(kNests[index].name) != run.name) ++index;
    const NestCase c{
        .text = kNests[index].text, .symbols = run.symbols, .fill = run.fill, .absolute = run.absolute};
    const auto prepared = testing::prepare(c);
    ASSERT_TRUE(prepared) << run.name << ": " << prepared.error().message;
    std::vector<HostTensor> buffers = prepared->buffers;
    std::vector<HostTensor*> pointers;
    for (HostTensor& tensor : buffers) pointers.push_back(&tensor);
    const Status status = emulated->run(index, prepared->nest, c.symbols, pointers);
    ASSERT_TRUE(status) << run.name << ": " << status.error().message;
    EXPECT_EQ(testing::compare_outputs(buffers, *prepared, c), "") << run.name << "\n" << sources[index];
  }
}

TEST(CudaNests, a_sequence_is_pooled_to_the_same_bits_alone_and_among_others) {
  if (const Status status = can_emulate(); !status) GTEST_SKIP() << status.error().message;
  const auto nest = loop::parse_nest(kNests[2].text);
  const auto generator = CudaCodeGenerator::for_target("cuda.sm_90a");
  const std::string source = generator->generate(*nest, "")->source.source;
  const auto emulated = EmulatedKernels::compile(std::span(&source, 1));
  ASSERT_TRUE(emulated) << emulated.error().message;
  const auto many = testing::prepare({.text = kNests[2].text, .symbols = {900, 3}, .fill = [](auto& b) {
                                        b[1].store(std::vector<int64_t>{0, 30, 730, 900});
                                      }});
  const auto alone =
      testing::prepare({.text = kNests[2].text, .symbols = {700, 1}, .fill = [&](auto& b) {
                          const std::vector<double> rows = many->buffers[0].to_doubles();
                          b[0].store(std::vector<double>(rows.begin() + 30 * 384, rows.begin() + 730 * 384));
                          b[1].store(std::vector<int64_t>{0, 700});
                        }});
  ASSERT_TRUE(many && alone);
  std::vector<std::vector<HostTensor>> buffers{many->buffers, alone->buffers};
  const std::vector<std::vector<int64_t>> symbols{{900, 3}, {700, 1}};
  for (size_t i = 0; i < 2; ++i) {
    std::vector<HostTensor*> pointers;
    for (HostTensor& tensor : buffers[i]) pointers.push_back(&tensor);
    ASSERT_TRUE(emulated->run(0, *nest, symbols[i], pointers));
  }
  const std::vector<std::byte>&a = buffers[0][2].bytes, &b = buffers[1][2].bytes;
  EXPECT_TRUE(std::equal(b.begin(), b.end(), a.begin() + 384 * 4));
}

}  // namespace
}  // namespace edge_infer::cuda::test
