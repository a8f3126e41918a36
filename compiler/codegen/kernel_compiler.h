// KernelCompiler: source text to machine code. Implemented by a back end (the CPU's runs edge-infer-cc, a
// process of its own, so that no LLVM is ever loaded into a host).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/program/kernel_blob.h"

namespace edge_infer {

// One kernel: a freestanding source that defines `void k(const KernelArgs*, int64_t m0, int64_t m1, int64_t
// n0, int64_t n1, void* scratch)` (runtime/program/kernel_abi.h) and calls nothing outside of itself.
struct KernelSource {
  std::string source;
  std::string target;          // "cpu.avx512"
  std::string features;        // KernelKey::features
  uint64_t scratch_bytes = 0;  // handed on to the blob
  bool keep_assembly = false;  // fill CompiledKernel::assembly
};

struct CompiledKernel {
  KernelBlob blob;
  std::string assembly;
  double seconds = 0;  // CPU time
};

class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;
  // What goes into KernelKey::compiler and ::options; known without starting the compiler.
  virtual std::string identity() const = 0;
  virtual std::string options() const = 0;
  // How dumps name files of sources and of assembly.
  virtual std::string_view source_suffix() const { return ".c"; }
  virtual std::string_view assembly_suffix() const { return ".s"; }
  // Whether compile() can work at all (the helper exists); the reason where it cannot.
  virtual Status available() const = 0;
  // One result a source, in order; one kernel's error is not the others'. Errors: kUnsupported (no helper),
  // kInvalidArgument (does not compile: the diagnostics), kCorruption (undefined symbols, forbidden
  // sections), kResourceExhausted (memory or time limit), kIoError (the helper died), kCancelled: where
  // `is_cancelled` is given, it is asked many times a second, and once it is true the compiler's processes
  // are ended and compile() returns.
  virtual std::vector<Result<CompiledKernel>> compile(std::span<const KernelSource> sources,
                                                      const std::function<bool()>& is_cancelled = {}) = 0;
};

}  // namespace edge_infer
