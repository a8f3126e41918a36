// CodeArena: compiled kernels in executable memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/program/kernel_abi.h"
#include "runtime/program/kernel_blob.h"

namespace edge_infer {

// One mapping for the blobs it was made of: written first, executable then, never both at once. Functions
// are valid while the arena lives.
class CodeArena {
 public:
  // Errors: kCorruption for a blob whose entry lies outside of it, kResourceExhausted when memory cannot be
  // mapped, kUnsupported when the system refuses to make it executable.
  static Result<CodeArena> map(std::span<const KernelBlob* const> blobs);

  CodeArena(CodeArena&& other) noexcept;
  CodeArena& operator=(CodeArena&&) = delete;
  ~CodeArena();

  KernelFn function(size_t blob) const;
  // The bytes of a blob as they were mapped.
  std::span<const std::byte> image(size_t blob) const;

 private:
  struct Place {
    size_t start, size, entry;
  };
  CodeArena() = default;
  std::byte* memory_ = nullptr;
  size_t bytes_ = 0;
  std::vector<Place> places_;
};

}  // namespace edge_infer
