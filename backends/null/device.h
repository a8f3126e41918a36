// NullDevice: the smallest backend, and the skeleton to copy for a new one. It resolves every kernel name to
// a function that does nothing and packs by copying, so that programs can be bound, planned and walked (tests
// of the executor, the overhead of a run without its arithmetic). Outputs keep whatever the memory held.
//
// What a real backend puts in place of it:
// - target(): plain facts that lowering reads (grains, packed format, rows of an attention unit);
// - load_kernel(): from a name to code; kNotFound with the name for what it lacks, never a stand-in;
// - packed_bytes() and pack(): one pair a packed format, sizes checked before anything is written;
// - an entry in the explicit list of backends.
#pragma once

#include "runtime/device/device.h"

namespace edge_infer {

// Immutable: all methods may be called from any thread.
class NullDevice final : public Device {
 public:
  NullDevice();

  const Target& target() const override { return target_; }
  // Succeeds for every name that begins with "prebuilt:"; others are kNotFound.
  Result<LoadedKernel> load_kernel(std::string_view name) const override;
  Result<std::unique_ptr<Executable>> bind(Program program, ConstantSource& constants) const override;
  // The one format is "nk.f32", rows as they are: n * k floats.
  Result<size_t> packed_bytes(std::string_view format, int64_t n, int64_t k) const override;
  Status pack(std::string_view format, std::span<const Rows> sources, int64_t k,
              std::span<std::byte> out) const override;

 private:
  Target target_;
};

}  // namespace edge_infer
