// edge-infer tokenize: texts in, token ids out.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "apps/cli/commands.h"
#include "apps/cli/model_options.h"
#include "apps/cli/report.h"
#include "models/files/model_config.h"
#include "models/hub/model_directory.h"
#include "runtime/base/paths.h"

namespace edge_infer {
namespace {

struct TokenizeArguments {
  std::string model;
  TextOptions texts;
  bool no_truncate = false;
  int64_t max_length = 0;
};

Status tokenize(const TokenizeArguments& a) {
  EDGE_INFER_ASSIGN(const std::vector<std::string> texts, read_texts(a.texts));
  EDGE_INFER_ASSIGN(const std::filesystem::path dir, resolve_model(a.model));
  EDGE_INFER_ASSIGN(const ModelDirectory directory, ModelDirectory::open(dir));
  TokenizerOptions options;
  options.cache_dir = default_cache_dir();
  options.force_lower_case = directory.sentence().do_lower_case;
  EDGE_INFER_ASSIGN(const std::unique_ptr<Tokenizer> tokenizer,
                    Tokenizer::load(directory.transformer_dir(), options));
  const int64_t limit = a.no_truncate ? 0 : a.max_length > 0 ? a.max_length : directory.max_seq_length();
  if (limit > 0 && limit < tokenizer->special_tokens())
    return fail(ErrorCode::kInvalidArgument, "max length {} leaves no room for the {} special tokens", limit,
                tokenizer->special_tokens());
  fmt::memory_buffer out;
  Encoding encoding;
  for (const std::string& text : texts) {
    tokenizer->encode(text, limit, encoding);
    fmt::format_to(std::back_inserter(out), "{{\"ids\":[");
    for (size_t i = 0; i < encoding.ids.size(); ++i)
      fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "" : ",", encoding.ids[i]);
    fmt::format_to(std::back_inserter(out), "],\"truncated\":{},\"tokens\":{}}}\n", encoding.truncated,
                   encoding.tokens);
  }
  if (std::fwrite(out.data(), 1, out.size(), stdout) != out.size() || std::fflush(stdout) != 0)
    return fail(ErrorCode::kIoError, "cannot write to standard output");
  return {};
}

}  // namespace

void add_tokenize_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("tokenize", "print the token ids of texts");
  auto a = std::make_shared<TokenizeArguments>();
  command->add_option("--model", a->model, "model directory, or the name of a pulled model")->required();
  command->add_flag("--no-truncate", a->no_truncate, "print all ids");
  command->add_option("--max-length", a->max_length, "tokens of a text, special ones included")
      ->check(CLI::Range(1, 1 << 20));
  add_text_options(*command, a->texts);
  command->callback([a, &exit_code] {
    if (a->texts.input.empty() && a->texts.texts.empty()) {
      exit_code = report_usage("tokenize: no text given: expected TEXT or --input FILE");
      return;
    }
    if (const Status status = tokenize(*a); !status) exit_code = report_error(status.error());
  });
}

}  // namespace edge_infer
