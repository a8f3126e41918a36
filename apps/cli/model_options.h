// The options that name and configure a model, the same in every command.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "models/embedder.h"

namespace CLI {
class App;
}

namespace edge_infer {

struct ModelOptions {
  std::string model;
  EmbedderOptions embedder;
};

// --device and --mode, each alone.
void add_device_option(CLI::App& command, EmbedderOptions& options);
void add_mode_option(CLI::App& command, EmbedderOptions& options);
// --model, --device, --threads, --mode; --precision and --max-length where `with_precision`.
void add_model_options(CLI::App& command, ModelOptions& options, bool with_precision);

// One-shot commands write their output, then let a compilation that their first use of a model began finish;
// says so when it does not within 10 s.
void let_compilation_finish(const Embedder& embedder);

// Where texts come from: TEXT... and --input FILE|-.
struct TextOptions {
  std::string input;
  std::vector<std::string> texts;
};
void add_text_options(CLI::App& command, TextOptions& options);

// The texts in order: those of --input (one a line; of a .jsonl file the member "text" of each line), then
// TEXT.... Errors: kInvalidArgument when there is neither; kNotFound, kCorruption with the line's number.
Result<std::vector<std::string>> read_texts(const TextOptions& options);

}  // namespace edge_infer
