#include "models/tokenizers/tokenizer.h"

#include <utility>

#include "models/tokenizers/image.h"
#include "models/tokenizers/word_piece_tokenizer.h"
#include "runtime/base/cache_files.h"
#include "runtime/base/log.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/paths.h"

namespace edge_infer {
namespace fs = std::filesystem;
namespace {

// tokenizer_config.json decides on which side a long text is cut; tokenizer.json's own truncation is the
// second choice.
Status apply_truncation_side(const JsonObject& config, TokenizerDefinition& definition) {
  if (!config.has("truncation_side")) return {};
  EDGE_INFER_ASSIGN(const std::string side, config.text("truncation_side"));
  if (side != "left" && side != "right") return config.mismatch("truncation_side", "left or right");
  definition.truncate_left = side == "left";
  return {};
}

bool is_there(const fs::path& path) {
  std::error_code error;
  const auto type = fs::symlink_status(path, error).type();
  return type != fs::file_type::not_found && type != fs::file_type::none;
}

Result<TokenizerTables> parse_tables(std::string_view json, const std::string& label) {
  EDGE_INFER_ASSIGN(ParsedTokenizer parsed, parse_tokenizer(json, label));
  return TokenizerTables::build(std::move(parsed));
}

// From the image if there is a good one; otherwise from the JSON, leaving an image for the next time if it
// can.
Result<TokenizerTables> load_tables(std::string_view json, const std::string& label,
                                    const fs::path& cache_dir) {
  if (cache_dir.empty()) return parse_tables(json, label);
  const ImageKey key = image_key(json);
  const fs::path file = cache_dir / fmt::format("tokenizer-{}.img", key.hex());
  auto mapped = TokenizerTables::map(file, key);
  if (mapped) return mapped;
  if (mapped.error().code != ErrorCode::kNotFound)
    log_info("{}; reading {} again", mapped.error().message, label);
  EDGE_INFER_ASSIGN(TokenizerTables tables, parse_tables(json, label));
  Status written = ensure_private_dir(cache_dir);
  if (written) written = store_cache_file(file, tables.serialize(key));
  if (!written) log_info("the tokenizer is not cached: {}", written.error().message);
  return tables;
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::load(const fs::path& model_dir,
                                                   const TokenizerOptions& options) {
  JsonObject config;
  if (const fs::path file = model_dir / "tokenizer_config.json"; is_there(file)) {
    EDGE_INFER_ASSIGN(config, JsonObject::read(file));
  }
  MappedFile map;
  std::string made;
  std::string_view json;
  fs::path source = model_dir / "tokenizer.json";
  if (const fs::path vocab = model_dir / "vocab.txt"; !is_there(source) && is_there(vocab)) {
    source = vocab;
    EDGE_INFER_ASSIGN(const std::string lines, read_file(vocab, size_t{64} << 20));
    EDGE_INFER_ASSIGN(made, bert_tokenizer_json(lines, config, vocab.native()));
    json = made;
  } else {
    EDGE_INFER_ASSIGN(map, MappedFile::open(source));
    json = {reinterpret_cast<const char*>(map.bytes().data()), map.bytes().size()};
  }
  EDGE_INFER_ASSIGN(TokenizerTables tables, load_tables(json, source.native(), options.cache_dir));
  EDGE_INFER_RETURN_IF_ERROR(apply_truncation_side(config, tables.definition()));
  return make_word_piece_tokenizer(std::move(tables), options.force_lower_case);
}

}  // namespace edge_infer
