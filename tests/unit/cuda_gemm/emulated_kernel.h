// Generated CUDA kernels run on the host: the source is translated into C++ (inline PTX becomes calls of an
// interpreter, ptx_emulation.h), compiled with the compiler of the tests, and loaded. It shows what indices,
// swizzles, pipelines and epilogues do; it says nothing of speed, of memory ordering between threads, or of
// what ptxas makes of the text.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "backends/cuda/launch.h"
#include "runtime/base/error.h"

namespace edge_infer::cuda {

class EmulatedKernel {
 public:
  // Errors: kInvalidArgument (no launch line, an asm statement that is not understood, or what the compiler
  // says).
  static Result<EmulatedKernel> build(const std::string& source);

  struct Buffer {
    void* data;
    int64_t rows;  // of tensor maps over it
  };
  // `symbols`: `n` of the kernel. Buffers in the order of its parameters.
  void run(unsigned blocks, std::span<const int64_t> symbols, std::span<const Buffer> buffers) const;
  const CudaLaunch& launch() const { return launch_; }

 private:
  struct Map;
  CudaLaunch launch_;
  std::shared_ptr<void> library_;
  void (*entry_)(unsigned blocks, unsigned threads, const long long* n, void* const* buffers,
                 const Map* maps) = nullptr;
};

}  // namespace edge_infer::cuda
