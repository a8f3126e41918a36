#include "apps/cli/model_options.h"

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <istream>
#include <nlohmann/json.hpp>

#include "runtime/device/registry.h"

namespace edge_infer {
namespace {

Result<std::string> text_member(const std::string& line, const std::string& file, size_t number) {
  const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object() || !object.contains("text") || !object["text"].is_string())
    return fail(ErrorCode::kCorruption,
                "\"{}\" line {}: expected a JSON object with a string member \"text\"", file, number);
  return object["text"].get<std::string>();
}

Status read_lines(std::istream& in, const std::string& file, bool json_lines,
                  std::vector<std::string>& texts) {
  std::string line;
  for (size_t number = 1; std::getline(in, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!json_lines) {
      texts.push_back(line);
      continue;
    }
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    EDGE_INFER_ASSIGN(std::string text, text_member(line, file, number));
    texts.push_back(std::move(text));
  }
  if (in.bad()) return fail(ErrorCode::kIoError, "cannot read \"{}\"", file);
  return {};
}

}  // namespace

void add_device_option(CLI::App& command, EmbedderOptions& options) {
  command
      .add_option("--device", options.device,
                  "auto | cpu | cuda | cuda:N; cuda:[N,]memory=2G limits its memory")
      ->check([](const std::string& name) {
        const Status known = check_device_name(name);
        return known ? std::string() : known.error().message;
      })
      ->default_str("auto");
}

void add_mode_option(CLI::App& command, EmbedderOptions& options) {
  command
      .add_option("--mode", options.mode,
                  "default | reduce-overhead (a GPU's graphs are made before the first call; on a processor "
                  "the same as default) | max-autotune (and the schedules of kernels are measured here)")
      ->check(CLI::IsMember({"default", "reduce-overhead", "max-autotune"}))
      ->default_str("default");
}

void add_model_options(CLI::App& command, ModelOptions& options, bool with_precision) {
  command.add_option("--model", options.model, "model directory, or the name of a pulled model")->required();
  add_device_option(command, options.embedder);
  command.add_option("--threads", options.embedder.threads, "at most so many workers")
      ->check(CLI::Range(1, 1024));
  add_mode_option(command, options.embedder);
  if (!with_precision) return;
  command
      .add_option("--precision", options.embedder.precision,
                  "fp32 | fp16 | bf16 | auto; fp32 on processors, auto elsewhere, unless given")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16", "auto"}));
  command.add_option("--max-length", options.embedder.max_length, "tokens of a text, special ones included")
      ->check(CLI::Range(1, 1 << 20));
}

void let_compilation_finish(const Embedder& embedder) {
  constexpr std::chrono::seconds kLimit{10};
  if (!embedder.settle(kLimit))
    fmt::print(stderr, "edge-infer: the kernels were not compiled within {} s; the next run tries again\n",
               kLimit.count());
}

void add_text_options(CLI::App& command, TextOptions& options) {
  command.add_option("--input", options.input,
                     "file of texts, one a line (.jsonl: member \"text\"); - is standard input");
  command.add_option("TEXT", options.texts, "texts");
}

Result<std::vector<std::string>> read_texts(const TextOptions& options) {
  std::vector<std::string> texts;
  if (options.input.empty() && options.texts.empty())
    return fail(ErrorCode::kInvalidArgument, "no text given: expected TEXT or --input FILE");
  if (options.input == "-") {
    EDGE_INFER_RETURN_IF_ERROR(read_lines(std::cin, "standard input", false, texts));
  } else if (!options.input.empty()) {
    std::ifstream file(options.input, std::ios::binary);
    if (!file) return fail(ErrorCode::kNotFound, "cannot open \"{}\"", options.input);
    EDGE_INFER_RETURN_IF_ERROR(read_lines(file, options.input, options.input.ends_with(".jsonl"), texts));
  }
  texts.insert(texts.end(), options.texts.begin(), options.texts.end());
  return texts;
}

}  // namespace edge_infer
