#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/files/json.h"
#include "runtime/base/mapped_file.h"

namespace edge_infer {
namespace {

using Json = nlohmann::json;

std::string shown(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    case Json::value_t::number_integer:
      return fmt::format("{}", value.get<int64_t>());
    case Json::value_t::number_unsigned:
      return fmt::format("{}", value.get<uint64_t>());
    case Json::value_t::number_float:
      return fmt::format("{}", value.get<double>());
    case Json::value_t::string:
      return "the string " + quote(value.get_ref<const std::string&>());
    case Json::value_t::array:
      return fmt::format("an array of {} values", value.size());
    case Json::value_t::object:
      return "an object";
    default:
      return "another value";
  }
}

std::string shown(IntegerRange range) {
  constexpr IntegerRange kAny;
  if (range.min == kAny.min && range.max == kAny.max) return "an integer";
  if (range.max == kAny.max) return fmt::format("an integer of at least {}", range.min);
  return fmt::format("an integer from {} to {}", range.min, range.max);
}

Result<Json> read_document(const std::filesystem::path& path, const JsonLimits& limits) {
  EDGE_INFER_ASSIGN(const std::string text, read_file(path, limits.bytes));
  return parse_json(text, fmt::format("\"{}\"", path.native()), limits);
}

}  // namespace

JsonObject::JsonObject() : JsonObject(std::make_shared<const Json>(Json::object()), nullptr, "") {
  node_ = root_.get();
}

JsonObject::JsonObject(std::shared_ptr<const Json> root, const Json* node, std::string label)
    : root_(std::move(root)), node_(node), label_(std::move(label)) {}

Result<JsonObject> JsonObject::read(const std::filesystem::path& path, const JsonLimits& limits) {
  EDGE_INFER_ASSIGN(const std::string text, read_file(path, limits.bytes));
  return parse(text, path.native(), limits);
}

Result<JsonObject> JsonObject::parse(std::string_view text, const std::string& label,
                                     const JsonLimits& limits) {
  std::string name = fmt::format("\"{}\"", label);
  EDGE_INFER_ASSIGN(Json document, parse_json(text, name, limits));
  if (!document.is_object())
    return fail(ErrorCode::kCorruption, "{}: found {}, expected a JSON object", name, shown(document));
  auto root = std::make_shared<const Json>(std::move(document));
  const Json* node = root.get();
  return JsonObject(std::move(root), node, std::move(name));
}

Result<std::vector<JsonObject>> read_json_array(const std::filesystem::path& path, const JsonLimits& limits) {
  EDGE_INFER_ASSIGN(Json document, read_document(path, limits));
  if (!document.is_array())
    return fail(ErrorCode::kCorruption, "\"{}\": found {}, expected a JSON array", path.native(),
                shown(document));
  const auto root = std::make_shared<const Json>(std::move(document));
  std::vector<JsonObject> out;
  for (size_t i = 0; i < root->size(); ++i) {
    const Json& entry = (*root)[i];
    if (!entry.is_object())
      return fail(ErrorCode::kCorruption, "\"{}\": entry {}: found {}, expected an object", path.native(), i,
                  shown(entry));
    out.push_back(JsonObject(root, &entry, fmt::format("\"{}\": entry {}", path.native(), i)));
  }
  return out;
}

const Json* JsonObject::find(std::string_view key) const {
  const auto found = node_->find(key);
  return found == node_->end() || found->is_null() ? nullptr : &*found;
}

bool JsonObject::has(std::string_view key) const {
  return find(key) != nullptr;
}

std::string JsonObject::member_label(std::string_view key) const {
  return fmt::format("{}: member {}", label_, quote(key));
}

std::unexpected<Error> JsonObject::mismatch(std::string_view key, std::string_view expected) const {
  const Json* value = find(key);
  return fail(ErrorCode::kCorruption, "{}: found {}, expected {}", member_label(key),
              value != nullptr ? shown(*value) : "nothing", expected);
}

Result<int64_t> JsonObject::integer(std::string_view key, IntegerRange range) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_number_integer()) return mismatch(key, shown(range));
  if (value->is_number_unsigned() && value->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
    return mismatch(key, shown(range));
  const auto found = value->get<int64_t>();
  if (found < range.min || found > range.max) return mismatch(key, shown(range));
  return found;
}

Result<int64_t> JsonObject::integer_or(std::string_view key, int64_t fallback, IntegerRange range) const {
  if (!has(key)) return fallback;
  return integer(key, range);
}

Result<double> JsonObject::number(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_number()) return mismatch(key, "a number");
  return value->get<double>();
}

Result<double> JsonObject::number_or(std::string_view key, double fallback) const {
  if (!has(key)) return fallback;
  return number(key);
}

Result<std::string> JsonObject::text(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_string()) return mismatch(key, "a string");
  return value->get<std::string>();
}

Result<std::string> JsonObject::text_or(std::string_view key, std::string fallback) const {
  if (!has(key)) return fallback;
  return text(key);
}

Result<bool> JsonObject::boolean(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_boolean()) return mismatch(key, "true or false");
  return value->get<bool>();
}

Result<bool> JsonObject::boolean_or(std::string_view key, bool fallback) const {
  if (!has(key)) return fallback;
  return boolean(key);
}

Result<std::vector<std::string>> JsonObject::texts_or_empty(std::string_view key) const {
  std::vector<std::string> out;
  const Json* value = find(key);
  if (value == nullptr) return out;
  if (!value->is_array()) return mismatch(key, "an array of strings");
  for (const Json& entry : *value) {
    if (!entry.is_string()) return mismatch(key, "an array of strings only");
    out.push_back(entry.get<std::string>());
  }
  return out;
}

Result<JsonObject> JsonObject::object(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_object()) return mismatch(key, "an object");
  return JsonObject(root_, value, member_label(key));
}

Result<std::vector<JsonObject>> JsonObject::objects_or_empty(std::string_view key) const {
  std::vector<JsonObject> out;
  const Json* value = find(key);
  if (value == nullptr) return out;
  if (!value->is_array()) return mismatch(key, "an array of objects");
  for (size_t i = 0; i < value->size(); ++i) {
    const Json& entry = (*value)[i];
    if (!entry.is_object()) return mismatch(key, "an array of objects only");
    out.push_back(JsonObject(root_, &entry, fmt::format("{}[{}]", member_label(key), i)));
  }
  return out;
}

}  // namespace edge_infer
