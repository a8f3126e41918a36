// The texts of a command: TEXT... and --input FILE|-.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/error.h"

namespace CLI {
class App;
}

namespace edge_infer {

struct TextOptions {
  std::string input;
  std::vector<std::string> texts;
};
void add_text_options(CLI::App& command, TextOptions& options);

// --prompt-name: nothing where it is not given, which is not the same as "".
void add_prompt_option(CLI::App& command, std::optional<std::string>& name);

// What --input may hold: all texts are in memory at once.
struct TextLimits {
  size_t line_bytes = size_t{64} << 20;
  uint64_t input_bytes = uint64_t{4} << 30;
};

class TextInput {
 public:
  // The texts in order: those of --input (one a line; of a .jsonl file the member "text" of each line's JSON
  // object, where only the last line may be blank), then TEXT.... Errors: kInvalidArgument when there is
  // neither, kNotFound, kIoError, kCorruption with the line and the byte in it, kResourceExhausted beyond
  // `limits`.
  static Result<TextInput> read(const TextOptions& options, const TextLimits& limits = {});

  const std::vector<std::string>& texts() const { return texts_; }
  // Where text `index` (from 0) stood, for messages: "line 3" of --input or "text 2" of the arguments, both
  // from 1.
  std::string place(size_t index) const;

 private:
  std::vector<std::string> texts_;
  size_t lines_ = 0;  // texts that --input gave, one a line
};

}  // namespace edge_infer
