#include "apps/server/body_reader.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

namespace edge_infer {
namespace {

enum class Field {
  kNone,
  kInput,
  kModel,
  kDimensions,
  kEncoding,
  kTruncate,
  kDirection,
  kNormalize,
  kPrompt
};

struct FieldName {
  std::string_view key;
  Field field;
};
constexpr FieldName kOpenAiFields[] = {
    {"input", Field::kInput},           {"model", Field::kModel},
    {"dimensions", Field::kDimensions}, {"encoding_format", Field::kEncoding},
    {"truncate", Field::kTruncate},     {"prompt_name", Field::kPrompt}};
constexpr FieldName kTeiFields[] = {
    {"inputs", Field::kInput},          {"truncate", Field::kTruncate},
    {"normalize", Field::kNormalize},   {"prompt_name", Field::kPrompt},
    {"dimensions", Field::kDimensions}, {"truncation_direction", Field::kDirection}};

constexpr size_t kMaxShownBytes = 80;

std::string shown(const std::string& text) {
  return text.size() <= kMaxShownBytes ? text : text.substr(0, kMaxShownBytes) + "...";
}

// nlohmann's SAX interface; each event returns false to stop the parse, with error_ saying why.
class Reader {
 public:
  Reader(BodyDialect dialect, const BodyLimits& limits) : dialect_(dialect), limits_(limits) {
    body_.normalize = dialect == BodyDialect::kTei;
  }

  bool null() {
    if (depth_ == 0) return not_an_object("null");
    if (field_ == Field::kNone || ignoring()) return true;
    if (depth_ == 1 && field_ != Field::kInput) return true;
    return wrong_input("null");
  }
  bool boolean(bool value) {
    if (depth_ == 0) return not_an_object("a boolean");
    if (ignoring()) return true;
    switch (field_) {
      case Field::kTruncate:
        body_.truncate = value;
        return true;
      case Field::kNormalize:
        body_.normalize = value;
        return true;
      default:
        return wrong_type("a boolean");
    }
  }
  bool number_integer(int64_t value) { return integer(value); }
  bool number_unsigned(uint64_t value) {
    if (std::in_range<int64_t>(value)) return integer(static_cast<int64_t>(value));
    return integer(std::numeric_limits<int64_t>::max(), fmt::to_string(value));
  }
  bool number_float(double value, const std::string& digits) {
    // An integer beyond 64 bits comes as one of these, too.
    if (digits.find_first_of(".eE") == std::string::npos)
      return integer(value < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max(),
                     shown(digits));
    if (depth_ == 0) return not_an_object("a number");
    return ignoring() || wrong_type("a number that is not an integer");
  }
  bool string(std::string& value) {
    if (depth_ == 0) return not_an_object("a string");
    if (ignoring()) return true;
    switch (field_) {
      case Field::kInput:
        return text(value);
      case Field::kModel:
        body_.model = std::move(value);
        return true;
      case Field::kPrompt:
        body_.prompt_name = std::move(value);
        return true;
      case Field::kEncoding:
        if (value != "float" && value != "base64")
          return refuse(
              "encoding_format",
              fmt::format("\"encoding_format\" must be \"float\" or \"base64\", found \"{}\"", shown(value)));
        body_.base64 = value == "base64";
        return true;
      case Field::kDirection:
        if (value == "Right" || value == "right") return true;
        return refuse("truncation_direction",
                      fmt::format("\"truncation_direction\" must be \"Right\", found \"{}\"", shown(value)));
      default:
        return wrong_type("a string");
    }
  }
  bool binary(nlohmann::json::binary_t&) { return false; }

  bool start_object(size_t) {
    if (depth_ > 0 && !ignoring())
      return field_ == Field::kInput ? wrong_input("an object") : wrong_type("an object");
    return deeper();
  }
  bool key(std::string& name) {
    if (depth_ != 1) return true;
    field_ = Field::kNone;
    const std::span<const FieldName> fields =
        dialect_ == BodyDialect::kOpenAi ? std::span<const FieldName>(kOpenAiFields) : kTeiFields;
    for (const FieldName& candidate : fields)
      if (candidate.key == name) field_ = candidate.field;
    if (field_ == Field::kInput) {
      body_.inputs.clear();
      input_seen_ = true;
      flat_ids_ = false;
    }
    return true;
  }
  bool end_object() { return shallower(); }
  bool start_array(size_t) {
    if (depth_ == 0) return not_an_object("an array");
    if (ignoring()) return deeper();
    if (field_ != Field::kInput) return wrong_type("an array");
    if (depth_ == 2) {
      if (flat_ids_) return wrong_input("an array");
      if (!add_input()) return false;
      body_.inputs.back().is_ids = true;
    } else if (depth_ > 2) {
      return wrong_input("an array");
    }
    return deeper();
  }
  bool end_array() {
    shallower();
    if (field_ == Field::kInput && depth_ == 2 && body_.inputs.back().ids.empty())
      return refuse(input_key(), fmt::format("\"{}[{}]\" is an empty list of token ids", input_key(),
                                             body_.inputs.size() - 1));
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception& exception) {
    std::string detail = exception.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 5: reason"
    if (const size_t colon = detail.find(": "); colon != std::string::npos) detail.erase(0, colon + 2);
    if (detail.size() > 2 * kMaxShownBytes) detail = detail.substr(0, 2 * kMaxShownBytes) + "...";
    error_ = ApiError{400, fmt::format("the body is not valid JSON: byte {}: {}", position, detail), "",
                      "invalid_json"};
    return false;
  }

  std::expected<EmbeddingBody, ApiError> finish(bool parsed) {
    if (error_) return std::unexpected(*std::move(error_));
    if (!parsed) return std::unexpected(ApiError{400, "the body is not valid JSON", "", "invalid_json"});
    if (!input_seen_)
      return std::unexpected(ApiError{400, fmt::format("\"{}\" is required", input_key()), input_key(),
                                      "missing_required_parameter"});
    if (body_.inputs.empty())
      return std::unexpected(
          ApiError{400, fmt::format("\"{}\" must not be empty", input_key()), input_key(), "empty_array"});
    return std::move(body_);
  }

 private:
  // Inside of a value that nothing asks for.
  bool ignoring() const { return field_ == Field::kNone && depth_ > 0; }
  std::string input_key() const { return dialect_ == BodyDialect::kOpenAi ? "input" : "inputs"; }

  bool refuse(const std::string& param, std::string message, const std::string& code = "invalid_value") {
    error_ = ApiError{400, std::move(message), param, code};
    return false;
  }
  bool not_an_object(std::string_view found) {
    return refuse("", fmt::format("the body must be a JSON object, found {}", found), "invalid_type");
  }
  // The element that the reader stands at: "input", "input[2]" or "input[2][5]".
  std::string here() const {
    if (depth_ <= 1) return input_key();
    if (depth_ == 2)
      return fmt::format("{}[{}]", input_key(),
                         flat_ids_ ? body_.inputs.back().ids.size() : body_.inputs.size());
    return fmt::format("{}[{}][{}]", input_key(), body_.inputs.size() - 1, body_.inputs.back().ids.size());
  }
  bool wrong_input(std::string_view found) {
    std::string_view expected = "a string or a list of token ids";
    if (depth_ <= 1)
      expected = "a string, a list of strings, or lists of token ids";
    else if (depth_ > 2 || flat_ids_)
      expected = "a token id";
    else if (body_.inputs.empty())
      expected = "a string, a token id or a list of token ids";
    return refuse(input_key(), fmt::format("\"{}\" must be {}; found {}", here(), expected, found),
                  "invalid_type");
  }
  bool wrong_type(std::string_view found) {
    if (field_ == Field::kInput) return wrong_input(found);
    std::string name, expected = "a string";
    const std::span<const FieldName> fields =
        dialect_ == BodyDialect::kOpenAi ? std::span<const FieldName>(kOpenAiFields) : kTeiFields;
    for (const FieldName& candidate : fields)
      if (candidate.field == field_) name = candidate.key;
    if (field_ == Field::kTruncate || field_ == Field::kNormalize) expected = "a boolean";
    if (field_ == Field::kDimensions) expected = "an integer";
    return refuse(name, fmt::format("\"{}\" must be {}, found {}", name, expected, found), "invalid_type");
  }
  bool deeper() {
    if (++depth_ > limits_.max_depth)
      return refuse("", fmt::format("the body is nested deeper than {} levels", limits_.max_depth));
    return true;
  }
  bool shallower() {
    --depth_;
    return true;
  }
  bool add_input() {
    if (body_.inputs.size() >= limits_.max_inputs)
      return refuse(input_key(),
                    fmt::format("\"{}\" holds more than {} inputs", input_key(), limits_.max_inputs),
                    "too_many_inputs");
    body_.inputs.emplace_back();
    return true;
  }
  bool text(std::string& value) {
    if (depth_ > 2 || flat_ids_) return wrong_input("a string");
    if (!add_input()) return false;
    body_.inputs.back().text = std::move(value);
    return true;
  }
  static std::string exact(int64_t value, const std::string& digits) {
    return digits.empty() ? fmt::to_string(value) : digits;
  }
  // `digits`: what the body has, where `value` is clamped.
  bool integer(int64_t value, const std::string& digits = "") {
    if (depth_ == 0) return not_an_object("a number");
    if (ignoring()) return true;
    if (field_ == Field::kDimensions) {
      if (value < 1 || value > limits_.dimensions)
        return refuse("dimensions", fmt::format("\"dimensions\" must be between 1 and {}, found {}",
                                                limits_.dimensions, exact(value, digits)));
      body_.dimensions = value;
      return true;
    }
    if (field_ != Field::kInput || depth_ < 2) return wrong_type("a number");
    if (depth_ == 2 && !flat_ids_) {
      if (!body_.inputs.empty()) return wrong_input("a number");
      if (!add_input()) return false;
      body_.inputs.back().is_ids = flat_ids_ = true;
    }
    std::vector<int32_t>& ids = body_.inputs.back().ids;
    if (value < 0 || value >= limits_.vocabulary_size)
      return refuse(
          input_key(),
          fmt::format("\"{}\": token id {} is outside of the model's vocabulary of {}; token ids of another "
                      "tokenizer (OpenAI's, as LangChain sends unless check_embedding_ctx_length=False) "
                      "cannot be read",
                      here(), exact(value, digits), limits_.vocabulary_size));
    ids.push_back(static_cast<int32_t>(value));
    return true;
  }

  const BodyDialect dialect_;
  const BodyLimits& limits_;
  EmbeddingBody body_;
  std::optional<ApiError> error_;
  Field field_ = Field::kNone;
  int depth_ = 0;
  bool input_seen_ = false;
  bool flat_ids_ = false;  // the input is one list of token ids
};

}  // namespace

std::expected<EmbeddingBody, ApiError> read_embedding_body(std::string_view body, BodyDialect dialect,
                                                           const BodyLimits& limits) {
  if (body.empty())
    return std::unexpected(ApiError{400, "the body is empty, expected a JSON object", "", "invalid_json"});
  Reader reader(dialect, limits);
  const bool parsed = nlohmann::json::sax_parse(body.begin(), body.end(), &reader);
  return reader.finish(parsed);
}

}  // namespace edge_infer
