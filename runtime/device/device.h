// Device: a backend's run-time half (DESIGN.md §2): resolves kernel references to code, declares packed
// formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/device/executable.h"
#include "runtime/program/kernel_abi.h"
#include "runtime/program/kernel_blob.h"

namespace edge_infer {

// Plain facts about where code runs, known to compiler and runtime alike.
struct Target {
  std::string name;  // "cpu.portable", "cpu.avx2", "cpu.avx512"
  int64_t vector_bytes = 16;
  int64_t gemm_rows = 1;               // row grain that fills the GEMM register tile
  int64_t gemm_columns = 1;            // column grain: panel width of the packed weight
  std::string packed_linear_format{};  // format of aten.linear's weight, e.g. "nk.f32.p48"
  int64_t attention_block_rows = 32;   // query rows of one attention work unit
  int64_t pack_tokens = 512;  // tokens of one call in bulk work: enough for products to be efficient, few
                              // enough for activations to stay in a core's cache
  bool has_prebuilt = true;   // kernels "prebuilt:...": the device can run the fallback
  bool splits_rows = true;    // the executor shares a call's rows out to workers (Phase::when on `workers`)
  bool narrow_temps = false;  // in precisions below f32 temporaries lie in memory in that type
  // Ops whose prebuilt kernels the compiler shall prefer to nests of its own, but for little work
  // (loop::LowerOptions::least_prebuilt_work). Empty: of these ops everything that can be a nest is one, as a
  // back end without prebuilt kernels needs.
  std::vector<std::string> prebuilt_ops{};
};

// What the hardware can do at most in a second; 0 where that is not known.
struct DevicePeak {
  double flops = 0;       // floating-point operations of products in f32
  double half_flops = 0;  // of products in f16 and bf16 with f32 sums
  double bytes = 0;       // from and to the device's memory
};

struct LoadedKernel {
  KernelFn function = nullptr;  // null where the kernel does not run on the host
  size_t scratch_bytes = 0;     // per worker
};

struct NamedBlob {
  std::string_view name;  // KernelRef::name, "kernel:<id>"
  const KernelBlob* blob;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const Target& target() const = 0;
  virtual DevicePeak peak() const { return {}; }
  // A prebuilt kernel, or compiled code that load_code() has seen.
  // Errors: kNotFound when the backend has no such kernel (the name is given).
  virtual Result<LoadedKernel> load_kernel(std::string_view name) const = 0;
  // Makes a program ready: its kernels are found, its constants located and brought where the device reads
  // them. Device and constants outlive the result. Errors: kNotFound (kernel), what `constants` reports,
  // kInternal (a program that does not verify), kResourceExhausted, kDeviceLost.
  virtual Result<std::unique_ptr<Executable>> bind(Program program, ConstantSource& constants) const = 0;
  // Makes compiled code executable, all of it or none; it stays while the device lives. Code under a name
  // that is loaded already is not loaded twice. The caller answers for the blobs: they come from a compiler
  // or an authenticated cache, for an instruction set that this machine has. Any thread, at any time.
  // Errors: kUnsupported when the backend or the system runs no compiled code, kInvalidArgument for other
  // code under a known name, kCorruption, kResourceExhausted.
  virtual Result<std::vector<LoadedKernel>> load_code(std::span<const NamedBlob> blobs) const;
  Result<LoadedKernel> load_code(std::string_view name, const KernelBlob& blob) const;
  // Size of an [n, k] f32 weight in `format`. Errors: kUnsupported for an unknown format.
  virtual Result<size_t> packed_bytes(std::string_view format, int64_t n, int64_t k) const = 0;
  // Packs rows [n, k] (row-major, one pointer a source tensor with its row count) into `out`.
  struct Rows {
    const float* data;
    int64_t rows;
  };
  virtual Status pack(std::string_view format, std::span<const Rows> sources, int64_t k,
                      std::span<std::byte> out) const = 0;
};

}  // namespace edge_infer
