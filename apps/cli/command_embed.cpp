// edge-infer embed: texts in, vectors out.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>

#include "apps/cli/commands.h"
#include "apps/cli/model_options.h"
#include "apps/cli/report.h"

namespace edge_infer {
namespace {

// Texts embedded by one call: bounds memory when millions of lines stream in from a file.
constexpr size_t kTextsPerCall = 4096;
// So many are sooner done when the compiled kernels are waited for; fewer are answered at once.
constexpr size_t kTextsAnsweredAtOnce = 32;

struct EmbedArguments {
  ModelOptions model;
  TextOptions texts;
  std::string prompt_name;
  std::string format = "json";
};

void print_json(std::span<const float> vector, fmt::memory_buffer& out) {
  out.push_back('[');
  for (size_t i = 0; i < vector.size(); ++i) {
    if (i > 0) out.push_back(',');
    fmt::format_to(std::back_inserter(out), "{}", vector[i]);
  }
  out.push_back(']');
  out.push_back('\n');
}

// NumPy's format 1.0: magic, version, length of the header, header padded to 64 bytes.
std::string npy_header(size_t rows, int64_t columns) {
  std::string dict =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  dict.append(63 - (10 + dict.size()) % 64, ' ');
  dict += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(dict.size() & 0xff);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

Status write_stdout(const void* data, size_t bytes) {
  if (std::fwrite(data, 1, bytes, stdout) != bytes)
    return fail(ErrorCode::kIoError, "cannot write to standard output");
  return {};
}

void warn_truncated(std::span<const Encoding> encodings, size_t first, int64_t max_length) {
  for (size_t i = 0; i < encodings.size(); ++i)
    if (encodings[i].truncated)
      fmt::print(stderr, "edge-infer: text {} was cut to {} of its {} tokens\n", first + i, max_length,
                 encodings[i].tokens);
}

Status embed(const EmbedArguments& a) {
  EDGE_INFER_ASSIGN(const std::vector<std::string> texts, read_texts(a.texts));
  EDGE_INFER_ASSIGN(const std::unique_ptr<Embedder> embedder,
                    Embedder::open(a.model.model, a.model.embedder));
  EDGE_INFER_ASSIGN(const std::string prompt, embedder->prompt(a.prompt_name));
  // Many texts are worth the wait, and the prebuilt kernels know one precision only.
  const bool asked = !a.model.embedder.precision.empty() && a.model.embedder.precision != "fp32" &&
                     a.model.embedder.precision != "auto";
  if (asked || texts.size() > kTextsAnsweredAtOnce) static_cast<void>(embedder->prepare());
  const auto width = static_cast<size_t>(embedder->dimensions());
  if (a.format == "npy") {
    const std::string header = npy_header(texts.size(), embedder->dimensions());
    EDGE_INFER_RETURN_IF_ERROR(write_stdout(header.data(), header.size()));
  }
  const std::shared_ptr<EntryPin> pin = embedder->pin();
  std::vector<Encoding> encodings;
  for (size_t first = 0; first < texts.size(); first += kTextsPerCall) {
    const size_t count = std::min(kTextsPerCall, texts.size() - first);
    EDGE_INFER_ASSIGN(const std::vector<float> vectors,
                      embedder->embed(std::span(texts).subspan(first, count), prompt, &encodings, pin.get()));
    warn_truncated(encodings, first, embedder->max_length());
    if (a.format == "npy") {
      EDGE_INFER_RETURN_IF_ERROR(write_stdout(vectors.data(), vectors.size() * sizeof(float)));
      continue;
    }
    fmt::memory_buffer out;
    for (size_t i = 0; i < count; ++i) print_json(std::span(vectors).subspan(i * width, width), out);
    EDGE_INFER_RETURN_IF_ERROR(write_stdout(out.data(), out.size()));
  }
  if (std::fflush(stdout) != 0) return fail(ErrorCode::kIoError, "cannot write to standard output");
  let_compilation_finish(*embedder);
  return {};
}

}  // namespace

void add_embed_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("embed", "print the vectors of texts");
  auto a = std::make_shared<EmbedArguments>();
  add_model_options(*command, a->model, true);
  add_text_options(*command, a->texts);
  command->add_flag("--eager", a->model.embedder.eager, "run the fallback kernels only");
  command->add_option("--prompt-name", a->prompt_name, "prompt of the model to put in front of each text");
  command->add_option("--format", a->format, "json | npy")->check(CLI::IsMember({"json", "npy"}));
  command->callback([a, &exit_code] {
    if (a->texts.input.empty() && a->texts.texts.empty()) {
      exit_code = report_usage("embed: no text given: expected TEXT or --input FILE");
      return;
    }
    if (const Status status = embed(*a); !status) exit_code = report_error(status.error());
  });
}

}  // namespace edge_infer
