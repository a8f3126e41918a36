// JSON of untrusted files: parsing with bounds, and members read by type with errors that name the file, the
// member, what was found and what was expected. Nothing here throws on any input.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace edge_infer {

struct JsonLimits {
  size_t bytes = size_t{16} << 20;
  int depth = 64;           // nested objects and arrays
  size_t values = 1 << 20;  // values of any kind
  bool unique_keys =
      false;  // a key twice in one object is an error; otherwise the last one counts, as in Python
};

// `label` begins each message. Errors: kCorruption (not JSON, not UTF-8, a doubled key), kResourceExhausted.
Result<nlohmann::json> parse_json(std::string_view text, const std::string& label,
                                  const JsonLimits& limits = {});

// `text` for a message: control characters and bytes that are not UTF-8 escaped, at most 120 characters.
std::string quote(std::string_view text);

struct IntegerRange {
  int64_t min = std::numeric_limits<int64_t>::min();
  int64_t max = std::numeric_limits<int64_t>::max();
};

// One JSON object of a file. Copies share the parsed document; immutable, so any thread may read it.
// A member whose value is null counts as absent. All getters fail with kCorruption.
class JsonObject {
 public:
  // Reads and parses a file whose root is an object. Errors: as of read_file and parse_json.
  static Result<JsonObject> read(const std::filesystem::path& path, const JsonLimits& limits = {});
  static Result<JsonObject> parse(std::string_view text, const std::string& label,
                                  const JsonLimits& limits = {});
  JsonObject();  // an empty object

  bool has(std::string_view key) const;

  // Members that must be there, and members with a value to take when they are not.
  Result<int64_t> integer(std::string_view key, IntegerRange range = {}) const;
  Result<int64_t> integer_or(std::string_view key, int64_t fallback, IntegerRange range = {}) const;
  Result<double> number(std::string_view key) const;
  Result<double> number_or(std::string_view key, double fallback) const;
  Result<std::string> text(std::string_view key) const;
  Result<std::string> text_or(std::string_view key, std::string fallback) const;
  Result<bool> boolean(std::string_view key) const;
  Result<bool> boolean_or(std::string_view key, bool fallback) const;
  // An array of strings; empty when absent.
  Result<std::vector<std::string>> texts_or_empty(std::string_view key) const;
  // A member object, or an array of objects; an absent array is empty.
  Result<JsonObject> object(std::string_view key) const;
  Result<std::vector<JsonObject>> objects_or_empty(std::string_view key) const;

  // kCorruption about member `key`: `"FILE": member "key": found VALUE, expected WHAT`.
  [[nodiscard]] std::unexpected<Error> mismatch(std::string_view key, std::string_view expected) const;
  // `"FILE"` and, for a nested object, the path of members to it: the start of messages about it.
  const std::string& label() const { return label_; }
  const nlohmann::json& json() const { return *node_; }

 private:
  friend Result<std::vector<JsonObject>> read_json_array(const std::filesystem::path&, const JsonLimits&);
  JsonObject(std::shared_ptr<const nlohmann::json> root, const nlohmann::json* node, std::string label);
  const nlohmann::json* find(std::string_view key) const;  // nullptr when absent or null
  std::string member_label(std::string_view key) const;

  std::shared_ptr<const nlohmann::json> root_;  // keeps node_ alive
  const nlohmann::json* node_;
  std::string label_;
};

// A file whose root is an array of objects (modules.json).
Result<std::vector<JsonObject>> read_json_array(const std::filesystem::path& path,
                                                const JsonLimits& limits = {});

}  // namespace edge_infer
