// NVIDIA's run-time compiler, loaded with dlopen: building needs no CUDA package, and a process that finds
// its kernels in the cache never loads it.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/error.h"

namespace edge_infer::cuda {

struct NvrtcResult {
  std::vector<std::byte> cubin;
  std::string ptx;  // where asked for
  std::string log;  // warnings, and ptxas' figures with --ptxas-options=-v
};

class NvrtcLibrary {
 public:
  // Where the library lies: $EDGE_INFER_NVRTC (a file) and nothing else where that is set; beside the running
  // program or in ../lib; in $CUDA_HOME, $CUDA_PATH, /usr/local/cuda*; in the system's library folders; in
  // the wheel nvidia-cuda-nvrtc of $VIRTUAL_ENV, the user or the system. Version 13 before 12. Empty:
  // nowhere.
  static std::filesystem::path find();
  // "nvrtc-13.0.88" of libnvrtc.so.13.0.88; a file without a full version is told by its size as well. Does
  // not load it.
  static std::string identity_of(const std::filesystem::path& file);
  // Its builtins, which it asks for by bare name, are loaded first from the same folder. Errors: kUnsupported
  // with the loader's message or the missing function's name.
  static Result<std::shared_ptr<const NvrtcLibrary>> load(const std::filesystem::path& file);

  // From several threads at once. Errors: kInvalidArgument with the compiler's log.
  Result<NvrtcResult> compile(const std::string& source, std::span<const std::string> options,
                              bool with_ptx) const;
  int major() const { return major_; }
  int minor() const { return minor_; }

 private:
  struct Functions;
  NvrtcLibrary() = default;
  std::shared_ptr<const Functions> functions_;
  int major_ = 0, minor_ = 0;
};

}  // namespace edge_infer::cuda
