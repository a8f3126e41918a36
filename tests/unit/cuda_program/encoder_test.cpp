// A whole encoder as the compiler makes it for a GPU, on the fake driver: what the driver is told to run is
// computed by loop::evaluate, kernel by kernel, in the memory that the device half gave it. The result has
// to have the bits of loop::evaluate for the whole program: buffers, unit lists, constants, counts, forms and
// graphs are right then, whatever the kernels' code is.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "backends/cuda/codegen/cuda_code_generator.h"
#include "compiler/compile.h"
#include "compiler/loop/evaluate.h"
#include "tests/gpu/program_run.h"
#include "tests/gpu/random_tensor.h"
#include "tests/unit/cuda_device/fake/fake_cuda.h"
#include "tests/unit/cuda_program/evaluated_kernels.h"

namespace edge_infer::test {
namespace {

constexpr int64_t kVocabulary = 300;

class Encoder : public testing::Test {
 protected:
  void SetUp() override {
    cuda::fake::reset();
    ::setenv("EDGE_INFER_LIBCUDA", EDGE_INFER_FAKE_CUDA, 1);
    auto device = cuda::CudaDevice::open();
    ASSERT_TRUE(device) << device.error().message;
    device_ = *device;
    auto generator = cuda::CudaCodeGenerator::for_target(device_->target().name);
    ASSERT_TRUE(generator) << generator.error().message;
    compiler_ = {std::make_shared<cuda::CudaCodeGenerator>(*std::move(generator)),
                 std::make_shared<FakeCompiler>()};
    auto graph = small_encoder();
    ASSERT_TRUE(graph) << graph.error().message;
    graph_ = *std::move(graph);
    std::mt19937_64 random(5);
    for (const GraphConstant& constant : graph_.constants()) {
      const Value& value = graph_.value(constant.value);
      std::vector<int64_t> sizes;
      for (const SymInt& size : value.type.sizes) sizes.push_back(size.constant().value_or(1));
      constants_[value.name] = normal_tensor(value.type.dtype, std::move(sizes), 0.2, random);
    }
  }

  // Compiles for the fake driver and gives its kernels their meaning.
  void make(DType precision) {
    auto compiled = compile(graph_, device_->target(), *compiler_.generator, *compiler_.compiler,
                            {.precision = precision});
    ASSERT_TRUE(compiled) << compiled.error().message;
    compiled_ = *std::move(compiled);
    const Status meaning = give_meaning(compiled_);
    ASSERT_TRUE(meaning) << meaning.error().message;
    auto run = ProgramRun::make(device_, compiler_, graph_, precision, constants_);
    ASSERT_TRUE(run) << run.error().message;
    run_ = *std::move(run);
  }

  static std::vector<HostTensor> inputs(const std::vector<int64_t>& lengths) {
    std::vector<int64_t> offsets{0};
    for (const int64_t length : lengths) offsets.push_back(offsets.back() + length);
    std::mt19937_64 random(static_cast<uint64_t>(offsets.back()));
    std::vector<int64_t> ids(static_cast<size_t>(offsets.back()));
    for (int64_t& id : ids) id = static_cast<int64_t>(random() % kVocabulary);
    return {integer_tensor(DType::kI32, {offsets.back()}, ids),
            integer_tensor(DType::kI32, {static_cast<int64_t>(offsets.size())}, offsets)};
  }

  void check(const std::vector<int64_t>& lengths, cuda::LaunchMode mode = cuda::LaunchMode::kGraphs) {
    const std::vector<HostTensor> in = inputs(lengths);
    const auto want = loop::evaluate(compiled_.forms.front(), compiled_.graph, in, constants_);
    ASSERT_TRUE(want) << want.error().message;
    const auto got = run_->run(in, mode);
    ASSERT_TRUE(got) << got.error().message;
    ASSERT_EQ(got->size(), want->size());
    for (size_t i = 0; i < want->size(); ++i) EXPECT_EQ((*got)[i].bytes, (*want)[i].bytes);
  }

  std::shared_ptr<const cuda::CudaDevice> device_;
  TargetCompiler compiler_;
  Graph graph_;
  TensorMap constants_;
  CompiledGraph compiled_;
  std::unique_ptr<ProgramRun> run_;
};

TEST_F(Encoder, has_the_bits_of_its_loops_in_every_class) {
  for (const DType precision : {DType::kF16, DType::kF32}) {
    make(precision);
    if (testing::Test::HasFatalFailure()) return;
    for (const auto& lengths :
         std::vector<std::vector<int64_t>>{{1}, {16}, {129}, {5, 4, 3, 2, 1, 7}, {3, 1, 64, 65}})
      check(lengths);
    // Beyond the generator's first class of rows.
    if (precision == DType::kF16) check({500, 13});
    check({7, 70}, cuda::LaunchMode::kLaunches);
    EXPECT_LE(run_->program().statistics().counts.graphs, 6U);
  }
}

TEST_F(Encoder, is_one_chain_of_programmatic_edges_behind_the_block) {
  make(DType::kF16);
  if (testing::Test::HasFatalFailure()) return;
  ASSERT_FALSE(cuda::fake::state().graphs.empty());
  std::string kernels;
  for (const loop::LoopNest& nest : compiled_.forms.front().nests) kernels += nest.name + " ";
  for (const cuda::fake::Graph& graph : cuda::fake::state().graphs) {
    // The block, positions, embeddings, two layers of seven kernels, pooling with normalization.
    EXPECT_LE(graph.nodes.size(), 18U) << kernels;
    ASSERT_EQ(graph.edges.size(), graph.nodes.size() - 1);
    for (size_t i = 0; i < graph.edges.size(); ++i) {
      EXPECT_EQ(graph.edges[i].from, i);
      EXPECT_EQ(graph.edges[i].to, i + 1);
      EXPECT_EQ(graph.edges[i].type == cuda::kDependencyProgrammatic, i > 0) << i;
    }
  }
}

}  // namespace
}  // namespace edge_infer::test
