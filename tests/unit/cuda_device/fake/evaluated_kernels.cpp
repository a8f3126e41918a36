#include "tests/unit/cuda_device/fake/evaluated_kernels.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>
#include <regex>
#include <sstream>

#include "backends/cuda/launch.h"
#include "compiler/graph/parse.h"
#include "compiler/loop/evaluate.h"
#include "runtime/base/hash.h"
#include "tests/gpu/random_tensor.h"

namespace edge_infer::test {
namespace {

Result<CompiledKernel> compile_one(const std::string& source, bool too_large) {
  cuda::CudaImage image;
  image.registers = kFakeRegisters;
  image.static_shared_bytes = too_large ? 232'000 : kFakeStaticShared;
  EDGE_INFER_ASSIGN(image.launch, cuda::CudaLaunch::of_source(source));
  const std::string text = "FAKE " + code_name(source);
  const auto* bytes = reinterpret_cast<const std::byte*>(text.c_str());
  image.cubin.assign(bytes, bytes + text.size() + 1);
  return CompiledKernel{.blob = image.to_blob()};
}

Result<Status> evaluate_nest(const loop::LoopNest& nest, const cuda::fake::Launch& launch) {
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

}  // namespace

std::string code_name(std::string_view source) {
  return content_digest(source).substr(0, 24);
}

std::vector<Result<CompiledKernel>> FakeCompiler::compile(std::span<const KernelSource> sources,
                                                          const std::function<bool()>&) {
  batches.push_back(sources.size());
  std::vector<Result<CompiledKernel>> kernels;
  for (const KernelSource& source : sources) {
    const std::string code = code_name(source.source);
    if (refused.contains(code))
      kernels.push_back(fail(ErrorCode::kInvalidArgument, "does not compile"));
    else
      kernels.push_back(compile_one(source.source, too_large.contains(code)));
  }
  return kernels;
}

cuda::fake::Kernel fake_kernel(const KernelPlan& plan) {
  const auto launch = cuda::CudaLaunch::of_source(plan.generated.source.source);
  EXPECT_TRUE(launch) << launch.error().message;
  cuda::fake::Kernel kernel;
  kernel.parameter_bytes.assign(1 + plan.nest.buffers.size(), sizeof(cuda::DeviceAddress));
  kernel.parameter_bytes.insert(kernel.parameter_bytes.end(), launch->maps.size(),
                                sizeof(cuda::EncodedTensorMap));
  return kernel;
}

void run_nest(const loop::LoopNest& nest, const cuda::fake::Launch& launch) {
  const Result<Status> status = evaluate_nest(nest, launch);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_TRUE(*status) << status->error().message;
}

void give_meaning(const CompiledGraph& compiled) {
  for (const KernelPlan& plan : compiled.kernels) {
    cuda::fake::Kernel kernel = fake_kernel(plan);
    kernel.body = [nest = plan.nest](const cuda::fake::Launch& launch) { run_nest(nest, launch); };
    cuda::fake::state().kernels[code_name(plan.generated.source.source)] = std::move(kernel);
  }
}

Result<Graph> small_encoder(const std::string& most_tokens) {
  std::ostringstream text;
  text << std::ifstream("tests/golden/loops/post_norm_encoder.graph").rdbuf();
  std::string small = text.str();
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"30522", "300"},
                                 {"\\b16384\\b", most_tokens},
                                 {"\\b1536\\b", "128"},
                                 {"\\b384\\b", "64"},
                                 {"\\b512\\b", "700"},
                                 {"heads=12", "heads=2"}})
    small = std::regex_replace(small, std::regex(from), to);
  return parse_graph(small);
}

TensorMap small_encoder_constants(const Graph& graph) {
  TensorMap constants;
  std::mt19937_64 random(5);
  for (const GraphConstant& constant : graph.constants()) {
    const Value& value = graph.value(constant.value);
    std::vector<int64_t> sizes;
    for (const SymInt& size : value.type.sizes) sizes.push_back(size.constant().value_or(1));
    constants[value.name] = normal_tensor(value.type.dtype, std::move(sizes), 0.2, random);
  }
  return constants;
}

}  // namespace edge_infer::test
