#include "models/tokenizers/steps.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace edge_infer {
namespace {

constexpr size_t kMaxSteps = 64;
constexpr size_t kMaxPatternChars = 256;
constexpr double kMaxExpansion = 64;  // how much longer normalization may make a text

std::u32string to_codes(std::string_view text) {
  CodeText codes;
  unicode::decode_all(text, 0, codes);
  std::u32string out;
  for (const CodeChar& c : codes) out.push_back(static_cast<char32_t>(c.code));
  return out;
}

Result<std::u32string> read_codes(const JsonObject& step, std::string_view key) {
  EDGE_INFER_ASSIGN(const std::string text, step.text(key));
  std::u32string codes = to_codes(text);
  if (codes.size() > kMaxPatternChars)
    return fail(ErrorCode::kUnsupported, "{}: member {} has {} characters, expected at most {}", step.label(),
                quote(key), codes.size(), kMaxPatternChars);
  return codes;
}

// {"String": "..."}; regular expressions are refused.
Result<std::u32string> read_pattern(const JsonObject& step) {
  EDGE_INFER_ASSIGN(const JsonObject pattern, step.object("pattern"));
  if (pattern.has("Regex")) {
    EDGE_INFER_ASSIGN(const std::string regex, pattern.text("Regex"));
    return fail(ErrorCode::kUnsupported,
                "{}: the regular expression {} is not supported: expected a String pattern", pattern.label(),
                quote(regex));
  }
  EDGE_INFER_ASSIGN(std::u32string codes, read_codes(pattern, "String"));
  if (codes.empty()) return pattern.mismatch("String", "at least one character");
  return codes;
}

std::unexpected<Error> unknown_type(const JsonObject& step, const char* what, const std::string& type,
                                    std::string_view expected) {
  return fail(ErrorCode::kUnsupported, "{}: found {} {}, expected {}", step.label(), what, quote(type),
              expected);
}

std::optional<NormalizerKind> plain_normalizer(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, NormalizerKind>, 7> kPlain = {{
      {"Lowercase", NormalizerKind::kLowercase},
      {"NFC", NormalizerKind::kNfc},
      {"NFD", NormalizerKind::kNfd},
      {"NFKC", NormalizerKind::kNfkc},
      {"NFKD", NormalizerKind::kNfkd},
      {"StripAccents", NormalizerKind::kStripAccents},
      {"Nmt", NormalizerKind::kNmt},
  }};
  const auto* found = std::ranges::find(kPlain, type, &std::pair<std::string_view, NormalizerKind>::first);
  if (found == kPlain.end()) return std::nullopt;
  return found->second;
}

Result<NormalizerStep> read_normalizer(const JsonObject& object, const std::string& type) {
  NormalizerStep step;
  if (const auto kind = plain_normalizer(type)) {
    step.kind = *kind;
  } else if (type == "BertNormalizer") {
    step.kind = NormalizerKind::kBert;
    EDGE_INFER_ASSIGN(step.clean_text, object.boolean_or("clean_text", true));
    EDGE_INFER_ASSIGN(step.chinese_chars, object.boolean_or("handle_chinese_chars", true));
    EDGE_INFER_ASSIGN(step.lower_case, object.boolean_or("lowercase", true));
    EDGE_INFER_ASSIGN(step.strip_accents, object.boolean_or("strip_accents", step.lower_case));
  } else if (type == "Strip") {
    step.kind = NormalizerKind::kStrip;
    EDGE_INFER_ASSIGN(step.left, object.boolean("strip_left"));
    EDGE_INFER_ASSIGN(step.right, object.boolean("strip_right"));
  } else if (type == "Replace") {
    step.kind = NormalizerKind::kReplace;
    EDGE_INFER_ASSIGN(step.pattern, read_pattern(object));
    EDGE_INFER_ASSIGN(step.content, read_codes(object, "content"));
  } else if (type == "Prepend") {
    step.kind = NormalizerKind::kPrepend;
    EDGE_INFER_ASSIGN(step.content, read_codes(object, "prepend"));
  } else {
    return unknown_type(
        object, "normalizer", type,
        "BertNormalizer, Lowercase, NFC, NFD, NFKC, NFKD, StripAccents, Strip, Replace, Prepend, Nmt or "
        "Sequence");
  }
  return step;
}

Status add_normalizers(const JsonObject& object, std::vector<NormalizerStep>& out) {
  std::string type;
  EDGE_INFER_ASSIGN(type, object.text("type"));
  if (type == "Sequence") {
    EDGE_INFER_ASSIGN(const auto parts, object.objects_or_empty("normalizers"));
    for (const JsonObject& part : parts) EDGE_INFER_RETURN_IF_ERROR(add_normalizers(part, out));
    return {};
  }
  EDGE_INFER_ASSIGN(NormalizerStep step, read_normalizer(object, type));
  out.push_back(std::move(step));
  if (out.size() > kMaxSteps)
    return fail(ErrorCode::kUnsupported, "{}: more than {} normalizers", object.label(), kMaxSteps);
  return {};
}

Status check_expansion(const std::vector<NormalizerStep>& steps, const JsonObject& object) {
  double factor = 1;
  for (const NormalizerStep& step : steps)
    if (step.kind == NormalizerKind::kReplace)
      factor *=
          std::max(1.0, static_cast<double>(step.content.size()) / static_cast<double>(step.pattern.size()));
  if (factor <= kMaxExpansion) return {};
  return fail(ErrorCode::kUnsupported,
              "{}: the Replace steps can make a text {} times longer, expected at most {}", object.label(),
              factor, kMaxExpansion);
}

Result<SplitBehavior> read_behavior(const JsonObject& object) {
  EDGE_INFER_ASSIGN(const std::string name, object.text_or("behavior", "Isolated"));
  constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kNames = {{
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous},
  }};
  for (const auto& [known, behavior] : kNames)
    if (known == name) return behavior;
  return object.mismatch("behavior", "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

Result<PreTokenizerStep> read_pre_tokenizer(const JsonObject& object, const std::string& type) {
  PreTokenizerStep step;
  if (type == "BertPreTokenizer") {
    step.kind = PreTokenizerKind::kBert;
  } else if (type == "Whitespace") {
    step.kind = PreTokenizerKind::kWhitespace;
  } else if (type == "WhitespaceSplit") {
    step.kind = PreTokenizerKind::kWhitespaceSplit;
  } else if (type == "Punctuation") {
    step.kind = PreTokenizerKind::kPunctuation;
    EDGE_INFER_ASSIGN(step.behavior, read_behavior(object));
  } else if (type == "Digits") {
    step.kind = PreTokenizerKind::kDigits;
    EDGE_INFER_ASSIGN(step.individual_digits, object.boolean("individual_digits"));
  } else if (type == "Split") {
    step.kind = PreTokenizerKind::kSplit;
    EDGE_INFER_ASSIGN(step.pattern, read_pattern(object));
    EDGE_INFER_ASSIGN(step.behavior, read_behavior(object));
    EDGE_INFER_ASSIGN(step.invert, object.boolean("invert"));
  } else if (type == "CharDelimiterSplit") {
    step.kind = PreTokenizerKind::kCharDelimiter;
    EDGE_INFER_ASSIGN(step.pattern, read_codes(object, "delimiter"));
    if (step.pattern.size() != 1) return object.mismatch("delimiter", "one character");
  } else {
    return unknown_type(object, "pre-tokenizer", type,
                        "BertPreTokenizer, Whitespace, WhitespaceSplit, Punctuation, Digits, Split, "
                        "CharDelimiterSplit or Sequence");
  }
  return step;
}

Status add_pre_tokenizers(const JsonObject& object, std::vector<PreTokenizerStep>& out) {
  std::string type;
  EDGE_INFER_ASSIGN(type, object.text("type"));
  if (type == "Sequence") {
    EDGE_INFER_ASSIGN(const auto parts, object.objects_or_empty("pretokenizers"));
    for (const JsonObject& part : parts) EDGE_INFER_RETURN_IF_ERROR(add_pre_tokenizers(part, out));
    return {};
  }
  EDGE_INFER_ASSIGN(PreTokenizerStep step, read_pre_tokenizer(object, type));
  out.push_back(std::move(step));
  if (out.size() > kMaxSteps)
    return fail(ErrorCode::kUnsupported, "{}: more than {} pre-tokenizers", object.label(), kMaxSteps);
  return {};
}

}  // namespace

Result<std::vector<NormalizerStep>> read_normalizers(const JsonObject& root) {
  std::vector<NormalizerStep> steps;
  if (!root.has("normalizer")) return steps;
  EDGE_INFER_ASSIGN(const JsonObject object, root.object("normalizer"));
  EDGE_INFER_RETURN_IF_ERROR(add_normalizers(object, steps));
  EDGE_INFER_RETURN_IF_ERROR(check_expansion(steps, object));
  return steps;
}

Result<std::vector<PreTokenizerStep>> read_pre_tokenizers(const JsonObject& root) {
  std::vector<PreTokenizerStep> steps;
  if (!root.has("pre_tokenizer")) return steps;
  EDGE_INFER_ASSIGN(const JsonObject object, root.object("pre_tokenizer"));
  EDGE_INFER_RETURN_IF_ERROR(add_pre_tokenizers(object, steps));
  return steps;
}

}  // namespace edge_infer
