#include "models/tokenizers/image.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>
#include <utility>

namespace edge_infer {
namespace {

constexpr std::array<char, 8> kMagic = {'E', 'I', 'T', 'O', 'K', 'I', 'M', 'G'};
constexpr uint32_t kVersion = 1;  // of the file's layout and of everything that goes into the tables
constexpr uint32_t kByteOrder = 0x01020304;
constexpr size_t kAlignment = 64;

enum Section { kSkeleton, kUnits, kIds, kBlocks, kEntries, kPool, kSections };
struct SectionRecord {
  uint64_t offset, size;  // bytes
};
struct Header {
  std::array<char, 8> magic;
  uint32_t version, byte_order;
  uint64_t checksum;  // XXH3 of all bytes behind this member
  uint64_t file_size;
  ImageKey key;
  std::array<SectionRecord, kSections> sections;
};
static_assert(std::is_trivially_copyable_v<Header> && sizeof(Header) % 8 == 0);
constexpr size_t kChecksummedFrom = offsetof(Header, file_size);

uint64_t checksum(std::span<const std::byte> file) {
  const auto covered = file.subspan(kChecksummedFrom);
  return XXH3_64bits(covered.data(), covered.size());
}

template <typename T>
std::span<const std::byte> raw(const T& container) {
  return std::as_bytes(std::span(container.data(), container.size()));
}

// The typed content of a section; false when it does not lie in the file whole.
template <typename T>
bool section(std::span<const std::byte> file, const SectionRecord& record, std::span<const T>& out) {
  if (record.offset % kAlignment != 0 || record.offset > file.size() ||
      record.size > file.size() - record.offset || record.size % sizeof(T) != 0)
    return false;
  out = {reinterpret_cast<const T*>(file.data() + record.offset), record.size / sizeof(T)};
  return true;
}

std::unexpected<Error> damaged(const std::filesystem::path& file, std::string_view what) {
  return fail(ErrorCode::kCorruption, "tokenizer image \"{}\": {}", file.native(), what);
}

}  // namespace

std::string ImageKey::hex() const {
  return fmt::format("{:016x}{:016x}", high, low);
}

ImageKey image_key(std::string_view tokenizer_json) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(tokenizer_json.data(), tokenizer_json.size(), kVersion);
  return {hash.low64, hash.high64};
}

Result<TokenizerTables> TokenizerTables::build(ParsedTokenizer parsed, bool with_char_table) {
  TokenizerTables tables;
  EDGE_INFER_ASSIGN(tables.vocabulary_arrays_, build_vocabulary(std::move(parsed.vocabulary)));
  tables.definition_ = std::move(parsed.definition);
  tables.skeleton_ = std::move(parsed.skeleton);
  if (with_char_table) tables.char_arrays_ = build_char_table(tables.definition_);
  tables.vocabulary_ = Vocabulary(tables.vocabulary_arrays_.units, tables.vocabulary_arrays_.ids);
  tables.char_table_ =
      CharTable(tables.char_arrays_.blocks, tables.char_arrays_.entries, tables.char_arrays_.pool);
  EDGE_INFER_RETURN_IF_ERROR(tables.vocabulary_.validate(tables.definition_.vocabulary_size));
  EDGE_INFER_RETURN_IF_ERROR(tables.char_table_.validate());
  return tables;
}

std::vector<std::byte> TokenizerTables::serialize(const ImageKey& key) const {
  const std::array<std::span<const std::byte>, kSections> parts = {
      raw(skeleton_),           raw(vocabulary_arrays_.units), raw(vocabulary_arrays_.ids),
      raw(char_arrays_.blocks), raw(char_arrays_.entries),     raw(char_arrays_.pool)};
  Header header{kMagic, kVersion, kByteOrder, 0, 0, key, {}};
  uint64_t at = sizeof header;
  for (size_t i = 0; i < parts.size(); ++i) {
    at = (at + kAlignment - 1) / kAlignment * kAlignment;
    header.sections[i] = {at, parts[i].size()};
    at += parts[i].size();
  }
  header.file_size = at;
  std::vector<std::byte> out(at);
  for (size_t i = 0; i < parts.size(); ++i)
    if (!parts[i].empty())
      std::memcpy(out.data() + header.sections[i].offset, parts[i].data(), parts[i].size());
  std::memcpy(out.data(), &header, sizeof header);
  header.checksum = checksum(out);
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

Result<TokenizerTables> TokenizerTables::map(const std::filesystem::path& path, const ImageKey& key) {
  TokenizerTables tables;
  EDGE_INFER_ASSIGN(tables.file_, MappedFile::open(path, true));
  const auto file = tables.file_.bytes();
  Header header;
  if (file.size() < sizeof header) return damaged(path, "shorter than its header");
  std::memcpy(&header, file.data(), sizeof header);
  if (header.magic != kMagic || header.version != kVersion || header.byte_order != kByteOrder)
    return damaged(path, "of another format");
  if (header.file_size != file.size()) return damaged(path, "not of the size that its header says");
  if (header.key != key) return damaged(path, "made from another tokenizer.json");
  if (header.checksum != checksum(file)) return damaged(path, "its checksum is wrong");

  std::span<const char> skeleton, pool;
  std::span<const TrieUnit> units;
  std::span<const int32_t> ids;
  std::span<const uint16_t> blocks;
  std::span<const CharEntry> entries;
  const auto& sections = header.sections;
  if (!section(file, sections[kSkeleton], skeleton) || !section(file, sections[kUnits], units) ||
      !section(file, sections[kIds], ids) || !section(file, sections[kBlocks], blocks) ||
      !section(file, sections[kEntries], entries) || !section(file, sections[kPool], pool))
    return damaged(path, "a section lies outside of the file");
  EDGE_INFER_ASSIGN(tables.definition_, parse_skeleton({skeleton.data(), skeleton.size()}));
  tables.vocabulary_ = Vocabulary(units, ids);
  tables.char_table_ = CharTable(blocks, entries, pool);
  EDGE_INFER_RETURN_IF_ERROR(tables.vocabulary_.validate(tables.definition_.vocabulary_size));
  EDGE_INFER_RETURN_IF_ERROR(tables.char_table_.validate());
  tables.use_ = CacheFileUse(tables.file_.stamp(), path);
  return tables;
}

}  // namespace edge_infer
