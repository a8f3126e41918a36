#include "models/packing/packed_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/hash.h"

namespace edge_infer {
namespace {

constexpr char kMagic[8] = {'E', 'I', 'P', 'A', 'C', 'K', '0', '1'};
constexpr size_t kAlign = 64;

struct Header {
  char magic[8];
  uint64_t count, key_bytes, file_bytes;
};
struct Item {
  uint64_t offset, bytes;
};
struct StampRecord {
  char magic[8];
  FileStamp stamp;
  Hash128 hash;
  Hash128 self;  // of the fields before
};

size_t round_up(size_t n) {
  return (n + kAlign - 1) / kAlign * kAlign;
}

std::vector<Item> place(size_t key_bytes, std::span<const size_t> sizes, size_t* total) {
  std::vector<Item> items;
  size_t at = round_up(sizeof(Header) + sizes.size() * sizeof(Item) + key_bytes);
  for (const size_t bytes : sizes) {
    items.push_back({at, bytes});
    at = round_up(at + bytes);
  }
  *total = at;
  return items;
}

std::filesystem::path stamp_path(const std::filesystem::path& path) {
  return path.native() + ".stamp";
}

Hash128 record_hash(const StampRecord& r) {
  return hash_bytes(std::as_bytes(std::span(&r, 1)).first(offsetof(StampRecord, self)));
}

Status write_stamp(const std::filesystem::path& path, const FileStamp& stamp, const Hash128& hash) {
  StampRecord r{};
  std::memcpy(r.magic, kMagic, sizeof kMagic);
  r.stamp = stamp;
  r.hash = hash;
  r.self = record_hash(r);
  return write_file_atomically(stamp_path(path), std::as_bytes(std::span(&r, 1)));
}

// The file's bytes are those that were written: by the stamp, else by the hash.
bool trusted(const std::filesystem::path& path, const MappedFile& map) {
  auto text = read_file(stamp_path(path), 4096);
  StampRecord r{};
  if (!text || text->size() != sizeof r) return false;
  std::memcpy(&r, text->data(), sizeof r);
  if (std::memcmp(r.magic, kMagic, sizeof kMagic) != 0 || !(r.self == record_hash(r))) return false;
  if (r.stamp == map.stamp()) return true;
  if (!(hash_bytes(map.bytes()) == r.hash)) return false;
  (void)write_stamp(path, map.stamp(), r.hash);  // a read-only folder only costs the hash again
  return true;
}

}  // namespace

std::optional<PackedFile> PackedFile::open(const std::filesystem::path& path, const std::string& key,
                                           std::span<const size_t> item_bytes) {
  auto map = MappedFile::open(path, true);
  if (!map) return std::nullopt;
  size_t total = 0;
  const std::vector<Item> expected = place(key.size(), item_bytes, &total);
  const std::span<const std::byte> bytes = map->bytes();
  if (bytes.size() != total) return std::nullopt;
  Header header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.count != item_bytes.size() ||
      header.key_bytes != key.size() || header.file_bytes != total)
    return std::nullopt;
  const std::byte* table = bytes.data() + sizeof header;
  if (!expected.empty() && std::memcmp(table, expected.data(), expected.size() * sizeof(Item)) != 0)
    return std::nullopt;
  if (std::memcmp(table + expected.size() * sizeof(Item), key.data(), key.size()) != 0) return std::nullopt;
  if (!trusted(path, *map)) return std::nullopt;
  PackedFile file;
  for (const Item& item : expected) file.items_.push_back(bytes.subspan(item.offset, item.bytes));
  file.use_ = CacheFileUse(map->stamp(), stamp_path(path));
  file.map_ = std::move(*map);
  return file;
}

Status PackedFile::write(const std::filesystem::path& path, const std::string& key,
                         std::span<const size_t> item_bytes,
                         const std::function<Status(size_t, std::span<std::byte>)>& fill) {
  size_t total = 0;
  const std::vector<Item> items = place(key.size(), item_bytes, &total);
  std::vector<std::byte> content(total);
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.count = items.size();
  header.key_bytes = key.size();
  header.file_bytes = total;
  std::memcpy(content.data(), &header, sizeof header);
  std::byte* table = content.data() + sizeof header;
  if (!items.empty()) std::memcpy(table, items.data(), items.size() * sizeof(Item));
  std::memcpy(table + items.size() * sizeof(Item), key.data(), key.size());
  for (size_t i = 0; i < items.size(); ++i)
    EDGE_INFER_RETURN_IF_ERROR(fill(i, std::span(content).subspan(items[i].offset, items[i].bytes)));
  EDGE_INFER_RETURN_IF_ERROR(store_cache_file(path, content));
  EDGE_INFER_ASSIGN(const FileStamp stamp, stamp_file(path));
  return write_stamp(path, stamp, hash_bytes(content));
}

}  // namespace edge_infer
