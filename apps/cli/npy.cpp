// The .npy format (numpy.lib.format): magic, version, header length, a Python dict literal, the elements.
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "apps/cli/npz.h"

namespace edge_infer {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxHeader = 65536;

struct NpyType {
  std::string_view descr;  // without byte order
  DType dtype;
};
constexpr std::array<NpyType, 10> kTypes = {{{"f4", DType::kF32},
                                             {"f8", DType::kF64},
                                             {"f2", DType::kF16},
                                             {"u2", DType::kBF16},
                                             {"i8", DType::kI64},
                                             {"i4", DType::kI32},
                                             {"i2", DType::kI16},
                                             {"i1", DType::kI8},
                                             {"u1", DType::kU8},
                                             {"b1", DType::kBool}}};

struct Header {
  std::string_view descr;
  bool is_fortran = false;
  std::vector<int64_t> sizes;
};

// Reads the dict's three entries in any order.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  std::optional<Header> parse() {
    Header header;
    int seen = 0;
    if (!accept("{")) return std::nullopt;
    while (!accept("}")) {
      const auto key = quoted();
      if (!key || !accept(":")) return std::nullopt;
      bool ok = false;
      if (*key == "descr") {
        const auto descr = quoted();
        if (descr) header.descr = *descr;
        ok = descr.has_value();
      } else if (*key == "fortran_order") {
        header.is_fortran = accept("True");
        ok = header.is_fortran || accept("False");
      } else if (*key == "shape") {
        ok = shape(header.sizes);
      }
      if (!ok) return std::nullopt;
      ++seen;
      if (!accept(",")) {
        if (!accept("}")) return std::nullopt;
        break;
      }
    }
    return seen == 3 ? std::optional(header) : std::nullopt;
  }

 private:
  bool accept(std::string_view token) {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  std::optional<std::string_view> quoted() {
    if (!accept("'")) return std::nullopt;
    const size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view value = text_.substr(at_, end - at_);
    at_ = end + 1;
    return value;
  }
  bool shape(std::vector<int64_t>& sizes) {
    if (!accept("(")) return false;
    while (!accept(")")) {
      int64_t size = 0;
      while (at_ < text_.size() && text_[at_] == ' ') ++at_;
      const auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (code != std::errc{} || size < 0 || sizes.size() >= 32) return false;
      at_ = static_cast<size_t>(end - text_.data());
      sizes.push_back(size);
      if (!accept(",")) return accept(")");
    }
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Elements given in column-major order, in row-major order.
std::vector<std::byte> reordered(const HostTensor& tensor, std::string_view data) {
  const auto width = static_cast<size_t>(dtype_size(tensor.dtype));
  std::vector<std::byte> out(data.size());
  std::vector<int64_t> position(tensor.sizes.size(), 0);
  for (size_t from = 0; from < data.size(); from += width) {
    int64_t to = 0;
    for (size_t d = 0; d < position.size(); ++d) to = to * tensor.sizes[d] + position[d];
    std::memcpy(&out[static_cast<size_t>(to) * width], data.data() + from, width);
    for (size_t d = 0; d < position.size(); ++d) {
      if (++position[d] < tensor.sizes[d]) break;
      position[d] = 0;
    }
  }
  return out;
}

}  // namespace

Result<HostTensor> parse_npy(std::string_view bytes, std::string_view name) {
  const auto corrupt = [&](std::string_view why) {
    return fail(ErrorCode::kCorruption, "array \"{}\": {}", name, why);
  };
  if (bytes.substr(0, kMagic.size()) != kMagic || bytes.size() < 10) return corrupt("no .npy header");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(bytes[i])); };
  const size_t version = byte(6), prefix = version == 1 ? 10 : 12;
  if (version != 1 && version != 2)
    return fail(ErrorCode::kUnsupported, "array \"{}\": .npy version {}, expected 1 or 2", name, version);
  if (bytes.size() < prefix) return corrupt("no .npy header");
  size_t length = byte(8) | byte(9) << 8;
  if (version == 2) length |= byte(10) << 16 | byte(11) << 24;
  if (length > kMaxHeader || bytes.size() < prefix + length) return corrupt("the header is cut or too long");
  const auto header = HeaderParser(bytes.substr(prefix, length)).parse();
  if (!header || header->descr.size() < 2)
    return corrupt("the header is no dict of descr, fortran_order and shape");
  const std::string_view data = bytes.substr(prefix + length);
  const char order = header->descr[0];
  for (const NpyType& type : kTypes) {
    if (header->descr.substr(1) != type.descr || (order != '<' && order != '|' && order != '=')) continue;
    auto made = make_host_tensor(type.dtype, header->sizes, static_cast<int64_t>(data.size()));
    if (!made) return corrupt(made.error().message);
    HostTensor tensor = *std::move(made);
    if (tensor.bytes.size() != data.size())
      return corrupt(fmt::format("{} bytes of elements, expected {}", data.size(), tensor.bytes.size()));
    if (header->is_fortran) {
      tensor.bytes = reordered(tensor, data);
    } else if (!data.empty()) {
      std::memcpy(tensor.bytes.data(), data.data(), data.size());
    }
    if (type.dtype == DType::kBool)
      for (std::byte& b : tensor.bytes) b = b != std::byte{0} ? std::byte{1} : std::byte{0};
    return tensor;
  }
  return fail(ErrorCode::kUnsupported, "array \"{}\": element type \"{}\" is not supported", name,
              header->descr);
}

std::string make_npy(const HostTensor& tensor) {
  std::string descr;
  for (const NpyType& type : kTypes)
    if (type.dtype == tensor.dtype)
      descr = (dtype_size(type.dtype) == 1 ? "|" : "<") + std::string(type.descr);
  std::string shape;
  for (const int64_t size : tensor.sizes) shape += std::to_string(size) + ",";
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  while ((kMagic.size() + 4 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string out(kMagic);
  out += {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  out += header;
  out.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return out;
}

}  // namespace edge_infer
