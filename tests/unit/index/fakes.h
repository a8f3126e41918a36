// Stand-ins for model and readers: deterministic, quick, and behind the same interfaces.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "apps/index/pipeline.h"
#include "models/embedder.h"

namespace edge_infer::testing {

// Words are runs of letters and digits; a word's id is a hash of it.
class FakeTokenizer final : public Tokenizer {
 public:
  void encode(std::string_view text, int64_t max_length, Encoding& out) const override;
  void encode_spans(std::string_view text, std::vector<TokenSpan>& out) const override;
  int64_t special_tokens() const override { return 2; }
  int64_t vocabulary_size() const override { return 1 << 20; }
};

// A text's vector is the sum of one random direction per word: texts that share words are near each other.
class FakeEmbedder final : public Embedder {
 public:
  explicit FakeEmbedder(std::string fingerprint = "fake-1", int64_t dimensions = 32)
      : space_{"fake", std::move(fingerprint), dimensions} {}
  int64_t dimensions() const override { return space_.dimensions; }
  int64_t max_length() const override { return 64; }
  const Tokenizer& tokenizer() const override { return tokenizer_; }
  const EmbeddingSpace& space() const override { return space_; }
  Result<std::string> prompt(std::string_view) const override { return std::string(); }
  std::string role_prompt(std::string_view) const override { return {}; }
  int64_t max_batch_tokens() const override { return 256; }
  int64_t bulk_tokens() const override { return bulk; }
  int waiting_calls() const override { return waiting; }
  Status embed_tokens(std::span<const std::span<const int32_t>> texts, std::span<float> out,
                      EntryPin* pin = nullptr) const override;
  Result<std::vector<float>> embed(std::span<const std::string> texts, std::string_view prompt,
                                   std::vector<Encoding>* encodings, EntryPin* pin = nullptr) const override;
  std::vector<float> vector_of(const std::string& text) const;

  mutable std::atomic<int64_t> texts_embedded{0};
  std::atomic<int64_t> fail_after{-1};  // texts; < 0: never
  int delay_us = 0;                     // a call
  int64_t bulk = kBulkTokens;
  int waiting = 0;
  std::function<void(int64_t tokens)> before = {};  // called by each call

 private:
  FakeTokenizer tokenizer_;
  EmbeddingSpace space_;
};

// Text files: a paragraph a chunk, "# " lines are headings. Names decide failures: *.broken is kCorruption,
// *.png kUnsupported, *.busy kIoError.
DocumentSource fake_source(std::string version = "fake-1");

class RecordingObserver final : public IndexObserver {
 public:
  void file(const FileEvent& e) override { events[e.path] = e; }
  void progress(const IndexProgress& p) override { last = p; }
  std::map<std::string, FileEvent> events;
  IndexProgress last;
};

// A folder of its own below the system's temporary folder, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void write_text(const std::filesystem::path& path, std::string_view text);

// `count` files of paragraphs drawn from a small vocabulary, some paragraphs in several files. The same for a
// seed.
void write_corpus(const std::filesystem::path& folder, int count, unsigned seed);

Result<IndexSummary> run_index(const std::filesystem::path& index_file,
                               std::vector<std::filesystem::path> paths, const FakeEmbedder& embedder,
                               IndexObserver& observer, int threads = 2,
                               const std::string& version = "fake-1",
                               const std::atomic<bool>* cancel = nullptr);

}  // namespace edge_infer::testing
