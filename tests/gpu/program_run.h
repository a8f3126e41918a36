// A compiled graph as a program on the GPU.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "backends/cuda/program.h"
#include "compiler/codegen/registry.h"
#include "compiler/graph/evaluate.h"

namespace edge_infer::test {

// Constants from a map of tensors, packed by the device.
class MapConstants final : public ConstantSource {
 public:
  explicit MapConstants(const TensorMap& tensors) : tensors_(tensors) {}
  Status prepare(std::span<const ConstantDecl>, const Device&) override { return {}; }
  Result<const void*> locate(const ConstantDecl& constant, const Device& device) override;

 private:
  const TensorMap& tensors_;
  std::deque<std::vector<std::byte>> made_;  // addresses stay
};

// Thread-safe after make().
class ProgramRun {
 public:
  // `constants` outlives the object. Errors: those of compile(), of the compiler and of the device.
  static Result<std::unique_ptr<ProgramRun>> make(const std::shared_ptr<const cuda::CudaDevice>& device,
                                                  const TargetCompiler& compiler, const Graph& graph,
                                                  DType precision, const TensorMap& constants);

  // The outputs, into memory that held ones.
  Result<std::vector<HostTensor>> run(std::span<const HostTensor> inputs, cuda::LaunchMode mode) const;
  const cuda::CudaProgram& program() const { return *program_; }

 private:
  explicit ProgramRun(const TensorMap& tensors) : constants_(tensors) {}

  MapConstants constants_;
  Graph graph_;
  std::unique_ptr<cuda::CudaProgram> program_;
};

}  // namespace edge_infer::test
