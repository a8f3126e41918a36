// Kernels of nests on a GPU, each run alone on host tensors, with poison wherever it has no business.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backends/cuda/device.h"
#include "backends/cuda/launch_list.h"
#include "compiler/codegen/registry.h"
#include "compiler/compile.h"
#include "compiler/graph/host_tensor.h"
#include "compiler/loop/loop_nest.h"

namespace edge_infer::test {

// Thread-safe but for add() and compile().
class KernelSet {
 public:
  KernelSet(std::shared_ptr<const cuda::CudaDevice> device, TargetCompiler compiler);
  ~KernelSet();

  // The kernel's number; equal kernels have one. Errors: those of CodeGenerator::generate().
  Result<size_t> add(const loop::LoopNest& nest, const Schedule& schedule = {});
  // Compiles and loads those added since the last call, in one batch. Errors: the device's; a kernel that
  // does not compile is the error of its runs.
  Status compile();
  size_t size() const { return kernels_.size(); }
  int64_t spilled() const;  // kernels that spill registers

  // Runs the kernel on copies of the buffers, in the nest's order, and copies the outputs back. Buffers whose
  // rows a symbol counts lie in front of rows of all ones: NaN, -1. Twice, on the grid that a program would
  // give it and on one of few CTAs, and the bits must be equal. Errors: kInternal for bytes written outside
  // of outputs, bits that depend on the grid, those of the compiler and the driver.
  Status run(size_t kernel, std::span<const int64_t> symbols, std::span<HostTensor* const> buffers) const;

  // Microseconds of one launch in a graph of many, edges as in programs, best of `repeats`. The operands stay
  // in the GPU's cache where they fit.
  Result<double> time(size_t kernel, std::span<const int64_t> symbols, std::span<HostTensor* const> buffers,
                      int repeats) const;

  const cuda::CudaDevice& device() const { return *device_; }
  const CodeGenerator& generator() const { return *compiler_.generator; }
  const KernelCompiler& compiler() const { return *compiler_.compiler; }

 private:
  struct Kernel {
    KernelPlan plan;
    Status compiled{};
    const cuda::CudaKernel* loaded = nullptr;
    int32_t spill_bytes = 0;
  };
  // Where buffers lie, and what a launch needs.
  struct Placement;
  Result<Placement> place(const Kernel& kernel, std::span<const int64_t> symbols,
                          std::span<HostTensor* const> buffers) const;
  Status launch(const Kernel& kernel, Placement& placement, int64_t most_ctas) const;
  Result<cuda::GraphExec> chain(const Kernel& kernel, Placement& placement, int count) const;
  Status reserve(size_t bytes) const;

  std::shared_ptr<const cuda::CudaDevice> device_;
  TargetCompiler compiler_;
  std::vector<Kernel> kernels_;
  std::map<std::string, size_t> known_;  // by KernelPlan::name
  size_t compiled_ = 0;
  mutable std::mutex mutex_;  // guards the device memory
  mutable cuda::DeviceBuffer memory_;
};

}  // namespace edge_infer::test
