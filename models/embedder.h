// Embedder: a sentence-transformers model directory as the applications see it: text or token ids in, one
// vector a text out. Immutable after open and safe to use from any number of threads; calls share the
// process' worker budget. A text's vector has the same bits alone, in any batch, in any order, with any
// number of workers.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizers/tokenizer.h"
#include "runtime/base/error.h"

namespace edge_infer {

class EntryPin;  // runtime/module.h

struct EmbedderOptions {
  std::string precision;            // fp32 | fp16 | bf16 | auto; empty: fp32 on processors, else auto
  std::string device = "auto";      // auto | cpu | cuda | cuda:N
  int threads = 0;                  // upper bound of workers of one call; 0: the process' budget
  int64_t max_length = 0;           // tokens, special ones included; 0: the model's own; larger is an error
  std::filesystem::path cache_dir;  // kernels, packed weights, tokenizer image; empty: default_cache_dir()
  bool eager = false;               // run the prebuilt kernels only; compile nothing
  // default | reduce-overhead (an accelerator's graphs are made before the first call) | max-autotune (and
  // the schedules of kernels are measured here)
  std::string mode = "default";
};

// What an index must agree on before vectors may be compared. Precision fp32, bf16 and fp16 are one space.
struct EmbeddingSpace {
  std::string model;  // directory as given, for messages
  std::string
      fingerprint;  // hash of weights, pooling, prompts, dimensions, normalization (and "int8" if quantized)
  int64_t dimensions = 0;
};

class Embedder {
 public:
  static constexpr int64_t kBulkTokens = 2048;

  // `model` is a directory, or a name that `edge-infer pull` stored. Errors name the file, tensor or member.
  static Result<std::unique_ptr<Embedder>> open(const std::string& model, const EmbedderOptions& options);
  virtual ~Embedder() = default;

  // open() answers at once and compiles behind: the first vectors of a machine's first run may come from the
  // prebuilt kernels, which round differently. prepare() waits until the compiled kernels serve. Errors: why
  // they do not; the prebuilt ones go on serving.
  virtual Status prepare() const { return {}; }
  // Lets a running compilation finish, at most for `limit`, so that the next process finds its kernels.
  // False: it has not.
  virtual bool settle(std::chrono::milliseconds limit) const {
    static_cast<void>(limit);
    return true;
  }

  // For calls whose vectors shall have the bits of one set of kernels: all that share the pin which was the
  // present one when they began. The same object until better kernels serve. Null: there is only one set. A
  // single call needs none, as its vectors come from one set anyway.
  virtual std::shared_ptr<EntryPin> pin() const { return nullptr; }

  virtual int64_t dimensions() const = 0;
  virtual int64_t max_length() const = 0;
  virtual const Tokenizer& tokenizer() const = 0;
  virtual const EmbeddingSpace& space() const = 0;
  // The prompt text of `name`; "" selects the default prompt (possibly empty). Errors: kNotFound lists the
  // names.
  virtual Result<std::string> prompt(std::string_view name) const = 0;
  // The prompt for a role, "query" or "document"; empty when the model has none.
  virtual std::string role_prompt(std::string_view role) const = 0;
  // The largest number of tokens one forward pass takes; embed_tokens splits what is more.
  virtual int64_t max_batch_tokens() const = 0;
  // Tokens of a call that make bulk work efficient, where they are there: what batches of many texts should
  // have.
  virtual int64_t bulk_tokens() const { return kBulkTokens; }
  // Calls that only wait for an accelerator: so many should be made beside what the processor has to do, each
  // of bulk_tokens(). 0 where calls compute on the processor.
  virtual int waiting_calls() const { return 0; }

  // Vectors of tokenized texts, row-major [texts.size(), dimensions()]. Ids outside of the vocabulary, empty
  // texts and texts beyond max_length() are kInvalidArgument, before anything runs.
  virtual Status embed_tokens(std::span<const std::span<const int32_t>> texts, std::span<float> out,
                              EntryPin* pin = nullptr) const = 0;

  // Tokenizes (with the prompt in front), truncates and embeds. `encodings`, when not null, gets one per
  // text.
  virtual Result<std::vector<float>> embed(std::span<const std::string> texts, std::string_view prompt_text,
                                           std::vector<Encoding>* encodings = nullptr,
                                           EntryPin* pin = nullptr) const = 0;
  // As embed() for one text that is searched with, not stored. With device "auto" it may be answered by the
  // processor where that was measured to be faster than the accelerator; its vector is then that of "cpu",
  // and differs from embed()'s in the last bits (a cosine of 0.99999 and more).
  virtual Result<std::vector<float>> embed_query(const std::string& text,
                                                 std::string_view prompt_text) const {
    return embed(std::span(&text, 1), prompt_text);
  }
};

}  // namespace edge_infer
