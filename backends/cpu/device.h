// CpuDevice: the prebuilt kernels of one instruction set, and compiled ones, behind the Device interface.
#pragma once

#include <memory>

#include "backends/cpu/loaded_code.h"
#include "backends/cpu/prebuilt/registry.h"
#include "runtime/device/device.h"

namespace edge_infer {

// The one packed format of each set's aten.linear is "nk.f32.p<width>": [ceil(n / width)][k][width] floats,
// columns beyond n zero, 64-byte aligned as a whole. Compiled kernels have the formats of pack_bf16.h, too.
// All methods may be called from any thread.
class CpuDevice final : public Device {
 public:
  // The set that this process selected ($EDGE_INFER_ISA obeyed), or a given one. The processor must have it
  // (isa_runs_here).
  CpuDevice() : CpuDevice(selected_isa()) {}
  explicit CpuDevice(Isa isa);

  const Target& target() const override { return target_; }
  Result<LoadedKernel> load_kernel(std::string_view name) const override;
  Result<std::unique_ptr<Executable>> bind(Program program, ConstantSource& constants) const override;
  using Device::load_code;
  Result<std::vector<LoadedKernel>> load_code(std::span<const NamedBlob> blobs) const override;
  Result<size_t> packed_bytes(std::string_view format, int64_t n, int64_t k) const override;
  // Single-threaded; `out` must have exactly packed_bytes of the sources' rows together and float alignment.
  Status pack(std::string_view format, std::span<const Rows> sources, int64_t k,
              std::span<std::byte> out) const override;

 private:
  Isa isa_;
  Target target_;
  mutable LoadedCode code_;
};

}  // namespace edge_infer
