// LoadedCode: the compiled kernels of a device by name.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/code_arena.h"
#include "runtime/device/device.h"

namespace edge_infer {

// Thread-safe. Code stays mapped until the object is destroyed.
class LoadedCode {
 public:
  // As Device::load_code: the new ones of `blobs` share one arena, known names are not mapped again.
  Result<std::vector<LoadedKernel>> load(std::span<const NamedBlob> blobs);
  std::optional<LoadedKernel> find(std::string_view name) const;

 private:
  struct Entry {
    LoadedKernel kernel;
    uint64_t entry;
    std::span<const std::byte> image;  // in an arena
  };
  mutable std::mutex mutex_;
  std::vector<CodeArena> arenas_;
  std::map<std::string, Entry, std::less<>> kernels_;
};

}  // namespace edge_infer
