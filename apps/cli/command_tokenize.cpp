// edge-infer tokenize: texts in, token ids out, as embed gives them to the model: default prompt included.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "apps/cli/commands.h"
#include "apps/cli/option_range.h"
#include "apps/cli/report.h"
#include "apps/cli/text_input.h"
#include "models/files/model_config.h"
#include "models/hub/model_directory.h"
#include "models/token_limit.h"
#include "models/tokenizers/tokenizer.h"
#include "runtime/base/paths.h"

namespace edge_infer {
namespace {

struct TokenizeArguments {
  std::string model;
  std::optional<std::string> prompt_name;
  TextOptions texts;
  bool no_truncate = false;
  int64_t max_length = 0;
};

Status print_tokens(const TextInput& input, const std::string& prompt, const Tokenizer& tokenizer,
                    int64_t limit) {
  fmt::memory_buffer out;
  Encoding encoding;
  for (const std::string& text : input.texts()) {
    tokenizer.encode(prompt + text, limit, encoding);
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

int run_tokenize(const TokenizeArguments& a) {
  if (a.texts.input.empty() && a.texts.texts.empty())
    return report_usage("tokenize: no text given: expected TEXT or --input FILE");
  const Result<TextInput> input = TextInput::read(a.texts);
  if (!input) return report_error(input.error());
  const Result<std::filesystem::path> dir = resolve_model(a.model);
  if (!dir) return report_error(dir.error());
  const Result<ModelDirectory> directory = ModelDirectory::open(*dir);
  if (!directory) return report_error(directory.error());
  const Result<std::string> prompt = find_prompt(directory->sentence(), a.prompt_name);
  if (!prompt) return report_error(prompt.error());
  TokenizerOptions options;
  options.cache_dir = default_cache_dir();
  options.force_lower_case = directory->sentence().do_lower_case;
  const auto tokenizer = Tokenizer::load(directory->transformer_dir(), options);
  if (!tokenizer) return report_error(tokenizer.error());
  const Result<int64_t> limit = token_limit(*directory, a.max_length, (*tokenizer)->special_tokens());
  if (!limit) return report_usage(limit.error().message);
  const Status status = print_tokens(*input, *prompt, **tokenizer, a.no_truncate ? 0 : *limit);
  return status ? 0 : report_error(status.error());
}

}  // namespace

void add_tokenize_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("tokenize", "print the token ids of texts");
  auto a = std::make_shared<TokenizeArguments>();
  command->add_option("--model", a->model, "model directory, or the name of a pulled model")->required();
  command->add_flag("--no-truncate", a->no_truncate, "print all ids");
  command->add_option("--max-length", a->max_length, "tokens of a text, special ones included")
      ->check(integer_from(1, 1 << 20));
  add_prompt_option(*command, a->prompt_name);
  add_text_options(*command, a->texts);
  command->callback([a, &exit_code] { exit_code = run_tokenize(*a); });
}

}  // namespace edge_infer
