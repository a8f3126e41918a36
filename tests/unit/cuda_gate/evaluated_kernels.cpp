#include "tests/unit/cuda_gate/evaluated_kernels.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>

#include "backends/cuda/launch.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/parse.h"
#include "compiler/loop/evaluate.h"
#include "runtime/base/hash.h"
#include "tests/unit/cuda_device/fake/fake_cuda.h"

namespace edge_infer::test {
namespace {

std::string code_name(std::string_view source) {
  return content_digest(source).substr(0, 24);
}

Result<CompiledKernel> compile_one(const std::string& source) {
  cuda::CudaImage image;
  image.registers = kFakeRegisters;
  image.static_shared_bytes = kFakeStaticShared;
  EDGE_INFER_ASSIGN(image.launch, cuda::CudaLaunch::of_source(source));
  const std::string text = "FAKE " + code_name(source);
  const auto* bytes = reinterpret_cast<const std::byte*>(text.c_str());
  image.cubin.assign(bytes, bytes + text.size() + 1);
  return CompiledKernel{.blob = image.to_blob()};
}

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

}  // namespace

std::vector<Result<CompiledKernel>> FakeCompiler::compile(std::span<const KernelSource> sources,
                                                          const std::function<bool()>&) {
  std::vector<Result<CompiledKernel>> kernels;
  for (const KernelSource& source : sources) kernels.push_back(compile_one(source.source));
  return kernels;
}

Status give_meaning(const CompiledGraph& compiled) {
  for (const KernelPlan& plan : compiled.kernels) {
    const std::string& source = plan.generated.source.source;
    EDGE_INFER_ASSIGN(const cuda::CudaLaunch launch, cuda::CudaLaunch::of_source(source));
    cuda::fake::Kernel kernel;
    kernel.parameter_bytes.assign(1 + plan.nest.buffers.size(), sizeof(cuda::DeviceAddress));
    kernel.parameter_bytes.insert(kernel.parameter_bytes.end(), launch.maps.size(),
                                  sizeof(cuda::EncodedTensorMap));
    kernel.body = [nest = plan.nest](const cuda::fake::Launch& run) {
      const Result<Status> status = run_nest(nest, run);
      ASSERT_TRUE(status) << status.error().message;
      EXPECT_TRUE(*status) << status->error().message;
    };
    cuda::fake::state().kernels[code_name(source)] = std::move(kernel);
  }
  return {};
}

Result<Graph> small_encoder() {
  std::ostringstream text;
  text << std::ifstream("tests/golden/loops/post_norm_encoder.graph").rdbuf();
  std::string small = text.str();
  for (const auto& [from, to] : {std::pair{"30522", "300"},
                                 {"\\b1536\\b", "128"},
                                 {"\\b384\\b", "64"},
                                 {"\\b512\\b", "700"},
                                 {"heads=12", "heads=2"}})
    small = std::regex_replace(small, std::regex(from), to);
  return parse_graph(small);
}

}  // namespace edge_infer::test
