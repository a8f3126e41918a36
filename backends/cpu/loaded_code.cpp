#include "backends/cpu/loaded_code.h"

#include <algorithm>

namespace edge_infer {

Result<std::vector<LoadedKernel>> LoadedCode::load(std::span<const NamedBlob> blobs) {
  const std::lock_guard lock(mutex_);
  std::map<std::string_view, const KernelBlob*> fresh;
  for (const NamedBlob& named : blobs) {
    const KernelBlob& blob = *named.blob;
    bool same = true;
    if (const auto known = kernels_.find(named.name); known != kernels_.end()) {
      const Entry& entry = known->second;
      same = std::ranges::equal(entry.image, blob.image) && entry.entry == blob.entry &&
             entry.kernel.scratch_bytes == blob.scratch_bytes;
    } else {
      const auto [place, inserted] = fresh.emplace(named.name, &blob);
      same = inserted || *place->second == blob;
    }
    if (!same) return fail(ErrorCode::kInvalidArgument, "other code is loaded as \"{}\" already", named.name);
  }
  if (!fresh.empty()) {
    std::vector<const KernelBlob*> images;
    for (const auto& [name, blob] : fresh) images.push_back(blob);
    EDGE_INFER_ASSIGN(CodeArena arena, CodeArena::map(images));
    arenas_.push_back(std::move(arena));
    size_t index = 0;
    for (const auto& [name, blob] : fresh) {
      const LoadedKernel kernel{arenas_.back().function(index), static_cast<size_t>(blob->scratch_bytes)};
      kernels_.emplace(std::string(name), Entry{kernel, blob->entry, arenas_.back().image(index)});
      ++index;
    }
  }
  std::vector<LoadedKernel> loaded;
  for (const NamedBlob& named : blobs) loaded.push_back(kernels_.find(named.name)->second.kernel);
  return loaded;
}

std::optional<LoadedKernel> LoadedCode::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto known = kernels_.find(name);
  if (known == kernels_.end()) return std::nullopt;
  return known->second.kernel;
}

}  // namespace edge_infer
