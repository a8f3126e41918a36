#include <utf8proc.h>

#include <nlohmann/json.hpp>

#include "models/files/json.h"

namespace edge_infer {
namespace {

using Json = nlohmann::json;

// What is wrong, of nlohmann's "[json.exception.NAME] parse error at PLACE: syntax error while parsing ... -
// WHAT; last read: 'READ'" and "[json.exception.NAME] WHAT parsing 'READ'".
std::string reason(std::string_view message, std::string_view read) {
  const auto skip = [&](std::string_view mark) {
    if (const size_t at = message.find(mark); at != std::string_view::npos)
      message.remove_prefix(at + mark.size());
  };
  const auto cut = [&](std::string_view mark) { message = message.substr(0, message.find(mark)); };
  skip("] ");
  cut("; last read: ");
  cut(" parsing '");
  skip(" - ");
  constexpr size_t kShown = 40;
  if (read.size() <= kShown) return fmt::format("{}, found {}", message, quote(read));
  return fmt::format("{}, found what ends with {}", message, quote(read.substr(read.size() - kShown)));
}

// Builds the document as nlohmann's own handler does, but counts on the way and never throws.
class DocumentBuilder {
 public:
  DocumentBuilder(const std::string& label, const JsonLimits& limits) : label_(label), limits_(limits) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(int64_t value) { return add(value); }
  bool number_unsigned(uint64_t value) { return add(value); }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }

  bool start_object(size_t) { return open(Json::value_t::object); }
  bool start_array(size_t) { return open(Json::value_t::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    auto [entry, inserted] = open_.back()->get_ref<Json::object_t&>().try_emplace(std::move(name));
    if (!inserted && limits_.unique_keys)
      return stop(ErrorCode::kCorruption,
                  fmt::format("key {} stands twice in one object", quote(entry->first)));
    slot_ = &entry->second;
    return true;
  }
  bool parse_error(size_t position, const std::string& read, const nlohmann::detail::exception& exception) {
    return stop(ErrorCode::kCorruption,
                fmt::format("not valid JSON at byte {}: {}", position, reason(exception.what(), read)));
  }

  Result<Json> finish(bool complete) && {
    if (complete) return std::move(root_);
    return std::unexpected(std::move(error_));
  }

 private:
  bool stop(ErrorCode code, const std::string& what) {
    error_ = {code, fmt::format("{}: {}", label_, what)};
    return false;
  }
  template <typename T>
  Json* place(T&& value) {
    if (open_.empty()) return &(root_ = Json(std::forward<T>(value)));
    if (open_.back()->is_array())
      return &open_.back()->get_ref<Json::array_t&>().emplace_back(std::forward<T>(value));
    return &(*slot_ = Json(std::forward<T>(value)));
  }
  template <typename T>
  bool add(T&& value) {
    if (++values_ > limits_.values)
      return stop(ErrorCode::kResourceExhausted, fmt::format("more than {} JSON values", limits_.values));
    place(std::forward<T>(value));
    return true;
  }
  bool open(Json::value_t kind) {
    if (static_cast<int>(open_.size()) >= limits_.depth)
      return stop(ErrorCode::kResourceExhausted,
                  fmt::format("JSON nested more than {} levels deep", limits_.depth));
    if (++values_ > limits_.values)
      return stop(ErrorCode::kResourceExhausted, fmt::format("more than {} JSON values", limits_.values));
    // An open container's address is stable: its parent grows only after it is closed.
    open_.push_back(place(kind));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& label_;
  const JsonLimits& limits_;
  Json root_;
  std::vector<Json*> open_;
  Json* slot_ = nullptr;
  size_t values_ = 0;
  Error error_{ErrorCode::kCorruption, ""};
};

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& label, const JsonLimits& limits) {
  if (text.size() > limits.bytes)
    return fail(ErrorCode::kResourceExhausted, "{}: found {} bytes of JSON, expected at most {}", label,
                text.size(), limits.bytes);
  DocumentBuilder builder(label, limits);
  const bool complete = Json::sax_parse(text.begin(), text.end(), &builder);
  return std::move(builder).finish(complete);
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  size_t at = 0;
  for (int shown = 0; at < text.size(); ++shown) {
    if (shown == 120) return out + "...\"";
    utf8proc_int32_t code = 0;
    const auto n = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                    static_cast<utf8proc_ssize_t>(text.size() - at), &code);
    if (n <= 0 || code < 0x20 || (code >= 0x7f && code < 0xa0)) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
      ++at;
    } else {
      out.append(text.substr(at, static_cast<size_t>(n)));
      at += static_cast<size_t>(n);
    }
  }
  return out + "\"";
}

}  // namespace edge_infer
