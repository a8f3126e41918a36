#include "models/tokenizers/definition.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

#include "models/tokenizers/normalizers.h"
#include "models/tokenizers/steps.h"
#include "runtime/base/log.h"

namespace edge_infer {
namespace {

using Json = nlohmann::json;
using Index = std::unordered_map<std::string_view, int32_t>;

constexpr int64_t kMaxId = INT32_MAX - 1;
constexpr size_t kMaxTokenBytes = 1024;  // a word is matched in time of its length times this at most
constexpr size_t kMaxAddedBytes = size_t{4} << 20;
constexpr const char* kSkeletonMember = "edge_infer";

JsonLimits tokenizer_limits() {
  JsonLimits limits;
  limits.bytes = size_t{256} << 20;
  limits.depth = 64;
  limits.values = size_t{8} << 20;
  limits.unique_keys = true;
  return limits;
}

Result<std::vector<VocabularyEntry>> read_vocabulary(const JsonObject& model) {
  EDGE_INFER_ASSIGN(const JsonObject vocab, model.object("vocab"));
  std::vector<VocabularyEntry> out;
  out.reserve(vocab.json().size());
  for (const auto& [token, id] : vocab.json().get_ref<const Json::object_t&>()) {
    EDGE_INFER_ASSIGN(const int64_t value, vocab.integer(token, {0, kMaxId}));
    if (token.size() > kMaxTokenBytes)
      return fail(ErrorCode::kUnsupported, "{}: token {} has {} bytes, expected at most {}", vocab.label(),
                  quote(token), token.size(), kMaxTokenBytes);
    out.push_back({token, static_cast<int32_t>(value)});
  }
  if (out.empty())
    return fail(ErrorCode::kCorruption, "{}: found no token, expected a vocabulary", vocab.label());
  return out;
}

Status check_model_type(const JsonObject& model) {
  if (!model.has("type") && model.has("max_input_chars_per_word")) return {};  // files older than the member
  EDGE_INFER_ASSIGN(const std::string type, model.text("type"));
  if (type != "WordPiece")
    return fail(ErrorCode::kUnsupported, "{}: member \"type\": found model {}, expected WordPiece",
                model.label(), quote(type));
  return {};
}

// The ids of added tokens: the vocabulary's where it has the content, else the next free one; the file's own
// numbers are not believed, exactly as the reference implementation does not.
class IdSource {
 public:
  IdSource(const Index& index) : index_(index) {}
  int32_t of(const std::string& content) {
    if (const auto known = added_.find(content); known != added_.end()) return known->second;
    const auto entry = index_.find(content);
    const auto size = static_cast<int64_t>(index_.size());
    int64_t id = entry != index_.end() ? entry->second : (highest_ >= size ? highest_ + 1 : size);
    highest_ = std::max(highest_, id);
    added_.emplace(content, static_cast<int32_t>(id));
    return static_cast<int32_t>(id);
  }

 private:
  const Index& index_;
  std::unordered_map<std::string, int32_t> added_;
  int64_t highest_ = -1;
};

Result<AddedToken> read_added_token(const JsonObject& object) {
  AddedToken token;
  EDGE_INFER_ASSIGN(token.content, object.text("content"));
  EDGE_INFER_ASSIGN(const int64_t id, object.integer("id", {0, kMaxId}));
  token.id = static_cast<int32_t>(id);
  EDGE_INFER_ASSIGN(token.single_word, object.boolean_or("single_word", false));
  EDGE_INFER_ASSIGN(token.lstrip, object.boolean_or("lstrip", false));
  EDGE_INFER_ASSIGN(token.rstrip, object.boolean_or("rstrip", false));
  EDGE_INFER_ASSIGN(token.special, object.boolean_or("special", false));
  EDGE_INFER_ASSIGN(token.normalized, object.boolean_or("normalized", !token.special));
  return token;
}

// A content that normalizes to nothing would match everywhere.
bool normalizes_to_nothing(const AddedToken& token, const std::vector<NormalizerStep>& steps) {
  CodeText text;
  unicode::decode_all(token.content, 0, text);
  apply_normalizers(steps, text);
  return text.empty();
}

// As the reference implementation keeps them: of tokens with one content the last, special tokens first;
// where several have one id, the last one's options hold for all.
void settle(std::vector<AddedToken>& tokens) {
  std::unordered_map<std::string_view, size_t> last;
  std::unordered_map<int32_t, size_t> last_of_id;
  for (size_t i = 0; i < tokens.size(); ++i) {
    last[tokens[i].content] = i;
    last_of_id[tokens[i].id] = i;
  }
  std::vector<AddedToken> out;
  for (const bool special : {true, false}) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].special != special || last[tokens[i].content] != i) continue;
      const AddedToken& options = tokens[last_of_id[tokens[i].id]];
      out.push_back(tokens[i]);
      out.back().single_word = options.single_word;
      out.back().lstrip = options.lstrip;
      out.back().rstrip = options.rstrip;
    }
  }
  tokens.swap(out);
}

Status read_added_tokens(const JsonObject& root, IdSource* ids, TokenizerDefinition& definition) {
  EDGE_INFER_ASSIGN(const auto objects, root.objects_or_empty("added_tokens"));
  size_t bytes = 0;
  for (const JsonObject& object : objects) {
    EDGE_INFER_ASSIGN(AddedToken token, read_added_token(object));
    if (token.content.empty()) continue;
    bytes += token.content.size();
    if (bytes > kMaxAddedBytes)
      return fail(ErrorCode::kResourceExhausted, "{}: more than {} bytes of added tokens", root.label(),
                  kMaxAddedBytes);
    if (token.normalized && normalizes_to_nothing(token, definition.normalizers))
      return fail(ErrorCode::kUnsupported, "{}: added token {} is nothing after normalization",
                  object.label(), quote(token.content));
    if (ids != nullptr) {
      const int32_t id = ids->of(token.content);
      if (id != token.id)
        log_warning("{}: added token {} has id {} in the file but {} in the vocabulary", object.label(),
                    quote(token.content), token.id, id);
      token.id = id;
    }
    definition.added_tokens.push_back(std::move(token));
  }
  settle(definition.added_tokens);
  return {};
}

// The ids of a template's special token.
Result<std::vector<int32_t>> special_ids(const JsonObject& processor, const std::string& name) {
  EDGE_INFER_ASSIGN(const JsonObject specials, processor.object("special_tokens"));
  if (!specials.has(name))
    return fail(ErrorCode::kCorruption,
                "{}: the template names special token {}, which special_tokens does not define",
                processor.label(), quote(name));
  EDGE_INFER_ASSIGN(const JsonObject special, specials.object(name));
  const auto ids = special.json().find("ids");
  if (ids == special.json().end() || !ids->is_array() || ids->empty())
    return special.mismatch("ids", "an array of ids");
  std::vector<int32_t> out;
  for (const Json& id : *ids) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > static_cast<uint64_t>(kMaxId))
      return special.mismatch("ids", "an array of ids");
    out.push_back(id.get<int32_t>());
  }
  return out;
}

Status read_template(const JsonObject& processor, std::vector<int32_t>& prefix,
                     std::vector<int32_t>& suffix) {
  EDGE_INFER_ASSIGN(const auto pieces, processor.objects_or_empty("single"));
  bool seen = false;
  for (const JsonObject& piece : pieces) {
    if (piece.has("SpecialToken")) {
      EDGE_INFER_ASSIGN(const JsonObject special, piece.object("SpecialToken"));
      EDGE_INFER_ASSIGN(const std::string name, special.text("id"));
      EDGE_INFER_ASSIGN(const auto ids, special_ids(processor, name));
      auto& side = seen ? suffix : prefix;
      side.insert(side.end(), ids.begin(), ids.end());
      continue;
    }
    EDGE_INFER_ASSIGN(const JsonObject sequence, piece.object("Sequence"));
    EDGE_INFER_ASSIGN(const std::string name, sequence.text("id"));
    if (name != "A" || seen)
      return fail(ErrorCode::kUnsupported, "{}: member \"single\": expected sequence A exactly once",
                  processor.label());
    seen = true;
  }
  if (!seen)
    return fail(ErrorCode::kUnsupported, "{}: member \"single\": expected sequence A", processor.label());
  return {};
}

// ["[SEP]", 102]
Result<int32_t> read_token_pair(const JsonObject& processor, const char* key) {
  const auto pair = processor.json().find(key);
  if (pair == processor.json().end() || !pair->is_array() || pair->size() != 2 ||
      !(*pair)[1].is_number_unsigned() || (*pair)[1].get<uint64_t>() > static_cast<uint64_t>(kMaxId))
    return processor.mismatch(key, "a token and its id");
  return (*pair)[1].get<int32_t>();
}

// Each processor wraps what the ones before it gave.
Status read_post_processor(const JsonObject& processor, TokenizerDefinition& definition) {
  EDGE_INFER_ASSIGN(const std::string type, processor.text("type"));
  if (type == "Sequence") {
    EDGE_INFER_ASSIGN(const auto parts, processor.objects_or_empty("processors"));
    for (const JsonObject& part : parts) EDGE_INFER_RETURN_IF_ERROR(read_post_processor(part, definition));
    return {};
  }
  if (type == "ByteLevel") return {};  // changes offsets only
  std::vector<int32_t> prefix, suffix;
  if (type == "TemplateProcessing") {
    EDGE_INFER_RETURN_IF_ERROR(read_template(processor, prefix, suffix));
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    EDGE_INFER_ASSIGN(const int32_t cls, read_token_pair(processor, "cls"));
    EDGE_INFER_ASSIGN(const int32_t sep, read_token_pair(processor, "sep"));
    prefix = {cls};
    suffix = {sep};
  } else {
    return fail(
        ErrorCode::kUnsupported,
        "{}: found post-processor {}, expected TemplateProcessing, BertProcessing, RobertaProcessing, "
        "ByteLevel or Sequence",
        processor.label(), quote(type));
  }
  constexpr size_t kMaxSpecialTokens = 256;
  definition.prefix.insert(definition.prefix.begin(), prefix.begin(), prefix.end());
  definition.suffix.insert(definition.suffix.end(), suffix.begin(), suffix.end());
  if (definition.prefix.size() + definition.suffix.size() > kMaxSpecialTokens)
    return fail(ErrorCode::kUnsupported, "{}: more than {} special tokens around a text", processor.label(),
                kMaxSpecialTokens);
  return {};
}

// Everything that is read alike from a whole file and from a skeleton.
Status read_common(const JsonObject& root, const JsonObject& model, TokenizerDefinition& definition) {
  EDGE_INFER_RETURN_IF_ERROR(check_model_type(model));
  EDGE_INFER_ASSIGN(definition.normalizers, read_normalizers(root));
  EDGE_INFER_ASSIGN(definition.pre_tokenizers, read_pre_tokenizers(root));
  EDGE_INFER_ASSIGN(definition.max_chars_per_word,
                    model.integer_or("max_input_chars_per_word", 100, {0, INT32_MAX}));
  EDGE_INFER_ASSIGN(definition.continuing_prefix, model.text_or("continuing_subword_prefix", "##"));
  if (root.has("post_processor")) {
    EDGE_INFER_ASSIGN(const JsonObject processor, root.object("post_processor"));
    EDGE_INFER_RETURN_IF_ERROR(read_post_processor(processor, definition));
  }
  if (root.has("truncation")) {
    EDGE_INFER_ASSIGN(const JsonObject truncation, root.object("truncation"));
    EDGE_INFER_ASSIGN(const std::string direction, truncation.text_or("direction", "Right"));
    definition.truncate_left = direction == "Left";
  }
  return {};
}

int64_t highest_id(const TokenizerDefinition& definition, const std::vector<VocabularyEntry>& vocabulary) {
  int64_t highest = definition.unknown_id;
  for (const VocabularyEntry& entry : vocabulary) highest = std::max<int64_t>(highest, entry.id);
  for (const AddedToken& token : definition.added_tokens) highest = std::max<int64_t>(highest, token.id);
  for (const int32_t id : definition.prefix) highest = std::max<int64_t>(highest, id);
  for (const int32_t id : definition.suffix) highest = std::max<int64_t>(highest, id);
  return highest;
}

std::string make_skeleton(const JsonObject& root, const TokenizerDefinition& definition) {
  Json out = Json::object();
  for (const char* member : {"normalizer", "pre_tokenizer", "post_processor", "truncation"})
    if (root.has(member)) out[member] = root.json().at(member);
  out["model"] = {{"type", "WordPiece"},
                  {"continuing_subword_prefix", definition.continuing_prefix},
                  {"max_input_chars_per_word", definition.max_chars_per_word}};
  Json& added = out["added_tokens"] = Json::array();
  for (const AddedToken& token : definition.added_tokens)
    added.push_back({{"content", token.content},
                     {"id", token.id},
                     {"single_word", token.single_word},
                     {"lstrip", token.lstrip},
                     {"rstrip", token.rstrip},
                     {"special", token.special},
                     {"normalized", token.normalized}});
  out[kSkeletonMember] = {{"unknown_id", definition.unknown_id},
                          {"vocabulary_size", definition.vocabulary_size}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Result<ParsedTokenizer> parse_tokenizer(std::string_view text, const std::string& label) {
  ParsedTokenizer parsed;
  TokenizerDefinition& definition = parsed.definition;
  EDGE_INFER_ASSIGN(parsed.root, JsonObject::parse(text, label, tokenizer_limits()));
  EDGE_INFER_ASSIGN(const JsonObject model, parsed.root.object("model"));
  EDGE_INFER_RETURN_IF_ERROR(read_common(parsed.root, model, definition));
  EDGE_INFER_ASSIGN(parsed.vocabulary, read_vocabulary(model));
  Index index;
  index.reserve(parsed.vocabulary.size());
  for (const VocabularyEntry& entry : parsed.vocabulary) index.emplace(entry.token, entry.id);

  EDGE_INFER_ASSIGN(const std::string unknown, model.text_or("unk_token", "[UNK]"));
  const auto found = index.find(unknown);
  if (found == index.end())
    return fail(ErrorCode::kCorruption, "{}: member \"unk_token\": {} is not in the vocabulary",
                model.label(), quote(unknown));
  definition.unknown_id = found->second;
  IdSource ids(index);
  EDGE_INFER_RETURN_IF_ERROR(read_added_tokens(parsed.root, &ids, definition));
  definition.vocabulary_size = highest_id(definition, parsed.vocabulary) + 1;
  parsed.skeleton = make_skeleton(parsed.root, definition);
  return parsed;
}

Result<TokenizerDefinition> parse_skeleton(std::string_view text) {
  TokenizerDefinition definition;
  EDGE_INFER_ASSIGN(const JsonObject root, JsonObject::parse(text, "tokenizer image", tokenizer_limits()));
  EDGE_INFER_ASSIGN(const JsonObject model, root.object("model"));
  EDGE_INFER_RETURN_IF_ERROR(read_common(root, model, definition));
  EDGE_INFER_RETURN_IF_ERROR(read_added_tokens(root, nullptr, definition));
  EDGE_INFER_ASSIGN(const JsonObject extra, root.object(kSkeletonMember));
  EDGE_INFER_ASSIGN(const int64_t unknown, extra.integer("unknown_id", {0, kMaxId}));
  definition.unknown_id = static_cast<int32_t>(unknown);
  EDGE_INFER_ASSIGN(definition.vocabulary_size, extra.integer("vocabulary_size", {1, kMaxId + 1}));
  if (highest_id(definition, {}) >= definition.vocabulary_size)
    return fail(ErrorCode::kCorruption, "{}: an id is not below vocabulary_size", extra.label());
  return definition;
}

}  // namespace edge_infer
