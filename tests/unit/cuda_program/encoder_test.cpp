// A whole encoder as the compiler makes it for a GPU, on the fake driver: what the driver is told to run is
// computed by loop::evaluate, kernel by kernel, in the memory that the device half gave it. The result has
// to have the bits of loop::evaluate for the whole program: buffers, unit lists, constants, counts, forms and
// graphs are right then, whatever the kernels' code is.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <regex>
#include <sstream>

#include "backends/cuda/codegen/cuda_code_generator.h"
#include "compiler/compile.h"
#include "compiler/graph/parse.h"
#include "compiler/loop/evaluate.h"
#include "runtime/base/hash.h"
#include "tests/gpu/program_run.h"
#include "tests/gpu/random_tensor.h"
#include "tests/unit/cuda_device/fake/fake_cuda.h"

namespace edge_infer::test {
namespace {

constexpr int64_t kVocabulary = 300;

std::string code_name(std::string_view source) {
  return content_digest(source).substr(0, 24);
}

// "Compiles" a source to the name of a kernel of the fake driver.
class FakeCompiler final : public KernelCompiler {
 public:
  std::string identity() const override { return "fake"; }
  std::string options() const override { return ""; }
  Status available() const override { return {}; }
  std::vector<Result<CompiledKernel>> compile(std::span<const KernelSource> sources,
                                              const std::function<bool()>&) override {
    std::vector<Result<CompiledKernel>> kernels;
    for (const KernelSource& source : sources) kernels.push_back(compile_one(source.source));
    return kernels;
  }

 private:
  static Result<CompiledKernel> compile_one(const std::string& source) {
    cuda::CudaImage image;
    EDGE_INFER_ASSIGN(image.launch, cuda::CudaLaunch::of_source(source));
    const std::string text = "FAKE " + code_name(source);
    const auto* bytes = reinterpret_cast<const std::byte*>(text.c_str());
    image.cubin.assign(bytes, bytes + text.size() + 1);
    return CompiledKernel{.blob = image.to_blob()};
  }
};

Result<Status> run_nest(const loop::LoopNest& nest, const cuda::fake::Launch& launch) {
  const auto* counts = launch.pointer<const int64_t>(0);
  const std::vector<int64_t> symbols(counts, counts + nest.symbols.size());
  SymbolValues values;
  for (size_t s = 0; s < symbols.size(); ++s) values[nest.symbols[s].name] = symbols[s];
  std::vector<HostTensor> tensors;
  for (size_t b = 0; b < nest.buffers.size(); ++b) {
    std::vector<int64_t> sizes;
    for (const SymInt& size : nest.buffers[b].sizes) {
      EDGE_INFER_ASSIGN(const int64_t value, size.evaluate(values));
      sizes.push_back(value);
    }
    EDGE_INFER_ASSIGN(HostTensor tensor, make_host_tensor(nest.buffers[b].dtype, sizes));
    if (!tensor.bytes.empty())
      std::memcpy(tensor.bytes.data(), launch.pointer<std::byte>(1 + b), tensor.bytes.size());
    tensors.push_back(std::move(tensor));
  }
  std::vector<HostTensor*> buffers;
  for (HostTensor& tensor : tensors) buffers.push_back(&tensor);
  const Status status = loop::evaluate(nest, symbols, buffers);
  for (size_t b = 0; b < tensors.size(); ++b)
    if (nest.buffers[b].access == loop::Access::kOut && !tensors[b].bytes.empty())
      std::memcpy(launch.pointer<std::byte>(1 + b), tensors[b].bytes.data(), tensors[b].bytes.size());
  return status;
}

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
    std::ostringstream text;
    text << std::ifstream("tests/golden/loops/post_norm_encoder.graph").rdbuf();
    std::string small = text.str();
    for (const auto& [from, to] : {std::pair{"30522", "300"},
                                   {"\\b1536\\b", "128"},
                                   {"\\b384\\b", "64"},
                                   {"\\b512\\b", "700"},
                                   {"heads=12", "heads=2"}})
      small = std::regex_replace(small, std::regex(from), to);
    auto graph = parse_graph(small);
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
    for (const KernelPlan& plan : compiled_.kernels) {
      const std::string& source = plan.generated.source.source;
      const auto launch = cuda::CudaLaunch::of_source(source);
      ASSERT_TRUE(launch) << launch.error().message;
      cuda::fake::Kernel kernel;
      kernel.parameter_bytes.assign(1 + plan.nest.buffers.size(), sizeof(cuda::DeviceAddress));
      kernel.parameter_bytes.insert(kernel.parameter_bytes.end(), launch->maps.size(),
                                    sizeof(cuda::EncodedTensorMap));
      kernel.body = [nest = plan.nest](const cuda::fake::Launch& run) {
        const Result<Status> status = run_nest(nest, run);
        ASSERT_TRUE(status) << status.error().message;
        EXPECT_TRUE(*status) << status->error().message;
      };
      cuda::fake::state().kernels[code_name(source)] = std::move(kernel);
    }
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
