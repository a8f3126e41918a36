#include "models/fingerprint.h"

#include <cstring>

#include "runtime/base/cache_files.h"
#include "runtime/base/hash.h"
#include "runtime/base/paths.h"

namespace edge_infer {
namespace {

// A content hash remembered for one stamp; `self` covers the fields before, so that a damaged record is
// computed anew.
struct HashRecord {
  FileStamp stamp;
  Hash128 content;
  Hash128 self;
};

Hash128 self_hash(const HashRecord& r) {
  return hash_bytes(std::as_bytes(std::span(&r, 1)).first(offsetof(HashRecord, self)));
}

Hash128 content_hash(const SafetensorsFile& file, const std::filesystem::path& cache_dir) {
  if (cache_dir.empty()) return hash_bytes(file.bytes());
  const FileStamp& stamp = file.stamp();
  const auto path =
      cache_dir / fmt::format("content-{}.hash", hash_bytes(std::as_bytes(std::span(&stamp, 1))).hex());
  HashRecord r{};
  if (auto text = read_file(path, sizeof r); text && text->size() == sizeof r) {
    std::memcpy(&r, text->data(), sizeof r);
    if (r.stamp == stamp && r.self == self_hash(r)) {
      if (const auto own = stamp_file(path)) const CacheFileUse use(*own, path);
      return r.content;
    }
  }
  r.stamp = stamp;
  r.content = hash_bytes(file.bytes());
  r.self = self_hash(r);
  // Without a writable cache the next start hashes again.
  if (ensure_private_dir(cache_dir)) (void)store_cache_file(path, std::as_bytes(std::span(&r, 1)));
  return r.content;
}

}  // namespace

std::string model_fingerprint(const ModelDirectory& directory, const WeightStore& weights,
                              std::span<const WeightStore> dense, int64_t dimensions,
                              const std::filesystem::path& cache_dir) {
  const SentenceModel& s = directory.sentence();
  std::string text =
      fmt::format("dimensions {}\nnormalize {}\nlower {}\npooling", dimensions, s.normalize, s.do_lower_case);
  for (const PoolingMode mode : s.pooling.modes) text += fmt::format(" {}", pooling_mode_name(mode));
  text += fmt::format(" include_prompt {}\n", s.pooling.include_prompt);
  for (const auto& [name, prompt] : s.prompts)
    text += fmt::format("prompt {} {}:{}\n", quote(name), prompt.size(), prompt);
  for (const SafetensorsFile& file : weights.files())
    text += "weights " + content_hash(file, cache_dir).hex() + "\n";
  for (size_t i = 0; i < dense.size(); ++i) {
    text += fmt::format("dense {} {}\n", dense_activation_name(s.dense[i].activation), s.dense[i].bias);
    for (const SafetensorsFile& file : dense[i].files())
      text += "weights " + content_hash(file, cache_dir).hex() + "\n";
  }
  return hash_text(text).hex();
}

}  // namespace edge_infer
