#include "models/files/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/files/json.h"

namespace edge_infer {
namespace {

using Json = nlohmann::json;
using Entries = std::map<std::string, SafetensorsEntry, std::less<>>;

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the reference implementation
constexpr size_t kMaxRank = 64;

struct FileDType {
  std::string_view name;
  int64_t bits;
  std::optional<DType> dtype;
};
constexpr FileDType kDTypes[] = {
    {"F64", 64, DType::kF64}, {"F32", 32, DType::kF32},  {"F16", 16, DType::kF16}, {"BF16", 16, DType::kBF16},
    {"I64", 64, DType::kI64}, {"I32", 32, DType::kI32},  {"I16", 16, DType::kI16}, {"I8", 8, DType::kI8},
    {"U8", 8, DType::kU8},    {"BOOL", 8, DType::kBool}, {"U16", 16, {}},          {"U32", 32, {}},
    {"U64", 64, {}},          {"F8_E4M3", 8, {}},        {"F8_E5M2", 8, {}},       {"F8_E8M0", 8, {}},
    {"F8_E4M3FNUZ", 8, {}},   {"F8_E5M2FNUZ", 8, {}},    {"C64", 64, {}},          {"F4", 4, {}},
    {"F6_E2M3", 6, {}},       {"F6_E3M2", 6, {}},
};

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 80) + "...";
  return text;
}

// The parts of one tensor's record, relative to the file's data.
struct Record {
  const FileDType* dtype = nullptr;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;
};

class HeaderReader {
 public:
  HeaderReader(const std::string& label, uint64_t data_size) : label_(label), data_size_(data_size) {}

  Result<Record> read(const std::string& name, const Json& value) const {
    if (!value.is_object()) return wrong(name, "entry", value, "an object");
    Record record;
    EDGE_INFER_RETURN_IF_ERROR(read_dtype(name, value, record));
    EDGE_INFER_RETURN_IF_ERROR(read_shape(name, value, record));
    EDGE_INFER_RETURN_IF_ERROR(read_offsets(name, value, record));
    return check_size(name, record) ? Result<Record>(std::move(record)) : size_error(name, record);
  }

 private:
  std::unexpected<Error> wrong(const std::string& name, const char* member, const Json& found,
                               std::string_view expected) const {
    return fail(ErrorCode::kCorruption, "\"{}\": tensor {}: {}: found {}, expected {}", label_, quote(name),
                member, shown(found), expected);
  }

  Status read_dtype(const std::string& name, const Json& value, Record& record) const {
    const auto dtype = value.find("dtype");
    if (dtype == value.end()) return wrong(name, "dtype", nullptr, "a dtype");
    if (!dtype->is_string()) return wrong(name, "dtype", *dtype, "a string");
    const auto& text = dtype->get_ref<const std::string&>();
    const auto* known = std::ranges::find(kDTypes, std::string_view(text), &FileDType::name);
    if (known == std::end(kDTypes))
      return wrong(name, "dtype", *dtype, "one of F64, F32, F16, BF16, I64, ...");
    record.dtype = known;
    return {};
  }

  Status read_shape(const std::string& name, const Json& value, Record& record) const {
    const auto shape = value.find("shape");
    if (shape == value.end()) return wrong(name, "shape", nullptr, "an array of sizes");
    if (!shape->is_array() || shape->size() > kMaxRank)
      return wrong(name, "shape", *shape, "an array of sizes");
    for (const Json& size : *shape) {
      if (!size.is_number_unsigned() || size.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
        return wrong(name, "shape", *shape, "integers of at least 0");
      record.shape.push_back(size.get<int64_t>());
    }
    return {};
  }

  Status read_offsets(const std::string& name, const Json& value, Record& record) const {
    const auto offsets = value.find("data_offsets");
    if (offsets == value.end()) return wrong(name, "data_offsets", nullptr, "begin and end");
    if (!offsets->is_array() || offsets->size() != 2 || !(*offsets)[0].is_number_unsigned() ||
        !(*offsets)[1].is_number_unsigned())
      return wrong(name, "data_offsets", *offsets, "two integers of at least 0");
    record.begin = (*offsets)[0].get<uint64_t>();
    record.end = (*offsets)[1].get<uint64_t>();
    if (record.begin > record.end) return wrong(name, "data_offsets", *offsets, "a begin before the end");
    if (record.end > data_size_)
      return wrong(name, "data_offsets", *offsets,
                   fmt::format("an end within the {} data bytes of the file (is it truncated?)", data_size_));
    return {};
  }

  // Whether shape and dtype need exactly the bytes that the offsets give. Wide enough never to wrap.
  static bool check_size(const std::string&, const Record& record) {
    unsigned __int128 bits = static_cast<unsigned __int128>(record.dtype->bits);
    if (std::ranges::find(record.shape, 0) != record.shape.end()) return record.begin == record.end;
    const unsigned __int128 available = static_cast<unsigned __int128>(record.end - record.begin) * 8;
    for (const int64_t size : record.shape) {
      bits *= static_cast<uint64_t>(size);
      if (bits > available) return false;
    }
    return bits == available;
  }
  std::unexpected<Error> size_error(const std::string& name, const Record& record) const {
    return fail(ErrorCode::kCorruption,
                "\"{}\": tensor {}: found {} bytes, expected what shape [{}] of {} needs", label_,
                quote(name), record.end - record.begin, fmt::join(record.shape, ", "), record.dtype->name);
  }

  const std::string& label_;
  uint64_t data_size_;
};

// Tensors, in the order of their offsets, must cover the data exactly.
Status check_cover(const std::map<std::string, Record>& records, uint64_t data_size,
                   const std::string& label) {
  std::vector<std::pair<const std::string*, const Record*>> order;
  order.reserve(records.size());
  for (const auto& [name, record] : records) order.emplace_back(&name, &record);
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    return std::pair(a.second->begin, a.second->end) < std::pair(b.second->begin, b.second->end);
  });
  uint64_t at = 0;
  for (const auto& [name, record] : order) {
    if (record->begin != at)
      return fail(ErrorCode::kCorruption, "\"{}\": tensor {} begins at offset {}, expected {}: tensors {}",
                  label, quote(*name), record->begin, at, record->begin < at ? "overlap" : "leave a gap");
    at = record->end;
  }
  if (at != data_size)
    return fail(ErrorCode::kCorruption, "\"{}\": found {} data bytes, expected the {} that the header covers",
                label, data_size, at);
  return {};
}

// The header's JSON, after the length has been checked against the file.
Result<Json> read_header(std::span<const std::byte> file, const std::string& label, uint64_t& data_begin) {
  uint64_t length = 0;
  if (file.size() < sizeof length)
    return fail(ErrorCode::kCorruption, "\"{}\": found {} bytes, expected a safetensors file (at least 8)",
                label, file.size());
  std::memcpy(&length, file.data(), sizeof length);
  if (length > file.size() - sizeof length)
    return fail(ErrorCode::kCorruption, "\"{}\": header length {}, expected at most the {} bytes of the file",
                label, length, file.size() - sizeof length);
  if (length > kMaxHeaderBytes)
    return fail(ErrorCode::kResourceExhausted, "\"{}\": header length {}, expected at most {}", label, length,
                kMaxHeaderBytes);
  data_begin = sizeof length + length;
  JsonLimits limits;
  limits.bytes = kMaxHeaderBytes;
  limits.depth = 8;
  limits.values = size_t{4} << 20;
  limits.unique_keys = true;
  const auto text = std::string_view(reinterpret_cast<const char*>(file.data()) + sizeof length, length);
  EDGE_INFER_ASSIGN(Json header, parse_json(text, fmt::format("\"{}\": header", label), limits));
  if (!header.is_object())
    return fail(ErrorCode::kCorruption, "\"{}\": header: found {}, expected a JSON object", label,
                shown(header));
  return header;
}

}  // namespace

Result<Entries> parse_safetensors(std::span<const std::byte> file, const std::string& label) {
  uint64_t data_begin = 0;
  EDGE_INFER_ASSIGN(const Json header, read_header(file, label, data_begin));
  const auto data = file.subspan(data_begin);
  const HeaderReader reader(label, data.size());
  std::map<std::string, Record> records;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") continue;
    EDGE_INFER_ASSIGN(Record record, reader.read(name, value));
    records.emplace(name, std::move(record));
  }
  EDGE_INFER_RETURN_IF_ERROR(check_cover(records, data.size(), label));
  Entries entries;
  for (auto& [name, record] : records)
    entries.emplace(
        name, SafetensorsEntry{record.dtype->dtype, std::string(record.dtype->name), std::move(record.shape),
                               data.subspan(record.begin, record.end - record.begin)});
  return entries;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  SafetensorsFile out;
  out.path_ = path;
  EDGE_INFER_ASSIGN(out.file_, MappedFile::open(path));
  EDGE_INFER_ASSIGN(out.tensors_, parse_safetensors(out.file_.bytes(), path.native()));
  return out;
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

}  // namespace edge_infer
