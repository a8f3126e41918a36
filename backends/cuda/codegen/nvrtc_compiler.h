// NvrtcCompiler: the CUDA back end's KernelCompiler. Compiles in this process, several kernels at once; loads
// NVRTC with the first compile(), never before. A kernel's blob is a CudaImage.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backends/cuda/codegen/nvrtc_library.h"
#include "backends/cuda/launch.h"
#include "compiler/codegen/kernel_compiler.h"

namespace edge_infer::cuda {

struct NvrtcKernel {
  CudaImage image;
  std::string assembly;               // PTX, where KernelSource::keep_assembly asks for it
  std::vector<std::string> warnings;  // the log's lines that are no figures
  double seconds = 0;                 // CPU time
};

// May be used from several threads.
class NvrtcCompiler final : public KernelCompiler {
 public:
  // `threads` 0: the process' worker budget, at most 8.
  explicit NvrtcCompiler(std::filesystem::path library = NvrtcLibrary::find(), int threads = 0);

  // "nvrtc-13.0.88"; "nvrtc-none" where there is none, so nothing that it would compile is found in a cache
  // by key; entries that name their kernels still load them.
  std::string identity() const override;
  std::string options() const override;
  Status available() const override;
  // A kernel that is being compiled is finished; those behind it are cancelled.
  std::vector<Result<CompiledKernel>> compile(std::span<const KernelSource> sources,
                                              const std::function<bool()>& is_cancelled = {}) override;

  // One kernel, with what the log says. Errors: as compile().
  Result<NvrtcKernel> compile_one(const KernelSource& source);

 private:
  Result<std::shared_ptr<const NvrtcLibrary>> library();

  std::filesystem::path file_;
  int threads_;
  std::mutex mutex_;
  std::shared_ptr<const NvrtcLibrary> library_;
};

}  // namespace edge_infer::cuda
