// A deterministic embedder without a model: a token a byte, a vector that depends on the ids of its text
// alone. It counts its calls, can be held at a gate, and fails on ids that the server should never have let
// in.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "models/embedder.h"
#include "runtime/module.h"

namespace edge_infer::testing {

constexpr int32_t kBegin = 1, kEnd = 2;
// Ids at which the model fails: by a defect, by weights that give NaN (reported, or left in the vector), by
// something it cannot do.
constexpr int32_t kPoison = 3, kReportedNan = 4, kSilentNan = 5, kCannot = 6;
// In the messages of those failures.
constexpr const char* kModelPath = "/secret/model";

class FakeTokenizer final : public Tokenizer {
 public:
  void encode(std::string_view text, int64_t max_length, Encoding& out) const override {
    out.ids.assign(1, kBegin);
    for (const char c : text) out.ids.push_back(10 + static_cast<unsigned char>(c));
    out.ids.push_back(kEnd);
    out.tokens = static_cast<int64_t>(out.ids.size());
    out.truncated = max_length > 0 && out.tokens > max_length;
    if (out.truncated) {
      out.ids.resize(static_cast<size_t>(max_length));
      out.ids.back() = kEnd;
    }
  }
  void encode_spans(std::string_view text, std::vector<TokenSpan>& out) const override {
    out.clear();
    for (int64_t i = 0; i < static_cast<int64_t>(text.size()); ++i) out.push_back({i, i + 1});
  }
  int64_t special_tokens() const override { return 2; }
  int64_t vocabulary_size() const override { return 300; }
};

class FakeEmbedder final : public Embedder {
 public:
  static constexpr int64_t kDimensions = 16, kMaxLength = 64, kMaxBatchTokens = 256;

  int64_t dimensions() const override { return kDimensions; }
  int64_t max_length() const override { return kMaxLength; }
  const Tokenizer& tokenizer() const override { return tokenizer_; }
  const EmbeddingSpace& space() const override { return space_; }
  Result<std::string> prompt(std::string_view name) const override {
    if (name.empty()) return std::string();
    if (name == "query") return std::string("query: ");
    if (name == "unable") return std::string("unable: ");
    return fail(ErrorCode::kNotFound, "no prompt \"{}\", the model has: query", name);
  }
  std::string role_prompt(std::string_view role) const override { return role == "query" ? "query: " : ""; }
  int64_t max_batch_tokens() const override { return max_tokens; }
  int waiting_calls() const override { return waiting; }
  int64_t bulk_tokens() const override { return bulk; }

  Status embed_tokens(std::span<const std::span<const int32_t>> texts, std::span<float> out,
                      EntryPin* pin = nullptr) const override {
    ++calls;
    {
      std::unique_lock lock(mutex_);
      ++waiting_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return !closed_; });
      --waiting_;
    }
    int64_t tokens = 0;
    {
      const std::lock_guard lock(mutex_);
      std::vector<int32_t>& batch = batches.emplace_back(pin).first_ids;
      for (const auto& text : texts) batch.push_back(text.size() > 1 ? text[1] : 0);
    }
    for (size_t i = 0; i < texts.size(); ++i) {
      tokens += static_cast<int64_t>(texts[i].size());
      ++texts_embedded;
      for (const int32_t id : texts[i]) {
        if (id < 0 || id >= 300 || texts[i].size() > kMaxLength || texts[i].empty())
          return fail(ErrorCode::kInvalidArgument, "id {} should not have come", id);
        if (id == kPoison) return fail(ErrorCode::kInternal, "\"{}\": poisoned", kModelPath);
        if (id == kReportedNan) return fail(ErrorCode::kCorruption, "\"{}\": not finite", kModelPath);
        if (id == kCannot) return fail(ErrorCode::kUnsupported, "\"{}\": no entry serves", kModelPath);
      }
      vector_of(texts[i], out.subspan(i * kDimensions, kDimensions));
      if (std::ranges::find(texts[i], kSilentNan) != texts[i].end())
        out[i * kDimensions] = std::numeric_limits<float>::quiet_NaN();
      if (broken) return fail(ErrorCode::kCorruption, "\"{}\": not finite", kModelPath);
    }
    int64_t largest = largest_batch.load();
    while (tokens > largest && !largest_batch.compare_exchange_weak(largest, tokens)) {
    }
    if (microseconds_per_token.load() > 0)
      std::this_thread::sleep_for(std::chrono::microseconds(microseconds_per_token.load() * tokens));
    return {};
  }
  Result<std::vector<float>> embed(std::span<const std::string> texts, std::string_view prompt_text,
                                   std::vector<Encoding>* = nullptr, EntryPin* = nullptr) const override {
    if (prompt_text == "unable: ") return fail(ErrorCode::kUnsupported, "the model cannot take this prompt");
    std::vector<float> out(texts.size() * kDimensions);
    Encoding encoding;
    for (size_t i = 0; i < texts.size(); ++i) {
      tokenizer_.encode(std::string(prompt_text) + texts[i], kMaxLength, encoding);
      vector_of(encoding.ids, std::span(out).subspan(i * kDimensions, kDimensions));
    }
    return out;
  }

  // Better kernels serve from now on.
  void change_kernels() {
    const std::lock_guard lock(mutex_);
    present_ = std::make_shared<EntryPin>();
  }
  std::shared_ptr<EntryPin> pin() const override {
    const std::lock_guard lock(mutex_);
    return present_;
  }
  // Of each forward, its pin and the second id of each text. Read when nothing runs.
  struct Batch {
    EntryPin* pin;
    std::vector<int32_t> first_ids{};
  };
  mutable std::vector<Batch> batches;

  // While closed, forwards wait; wait_until_held returns once one does.
  void close_gate() { set_gate(true); }
  void open_gate() { set_gate(false); }
  void wait_until_held(int forwards = 1) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, forwards] { return waiting_ >= forwards; });
  }

  mutable std::atomic<int> calls{0}, texts_embedded{0};
  mutable std::atomic<int64_t> largest_batch{0};
  std::atomic<int64_t> microseconds_per_token{0};
  std::atomic<bool> broken{false};  // every forward gives NaN
  int64_t max_tokens = kMaxBatchTokens, bulk = kBulkTokens;
  int waiting = 0;

 private:
  static void vector_of(std::span<const int32_t> ids, std::span<float> out) {
    uint64_t hash = 1469598103934665603u;
    for (const int32_t id : ids) hash = (hash ^ static_cast<uint64_t>(id)) * 1099511628211u;
    double sum = 0;
    for (float& value : out) {
      hash = hash * 6364136223846793005u + 1442695040888963407u;
      value = static_cast<float>(static_cast<double>(hash >> 33) / 4294967296.0 - 0.25);
      sum += static_cast<double>(value) * static_cast<double>(value);
    }
    for (float& value : out) value = static_cast<float>(static_cast<double>(value) / std::sqrt(sum));
  }
  void set_gate(bool closed) {
    const std::lock_guard lock(mutex_);
    closed_ = closed;
    changed_.notify_all();
  }

  FakeTokenizer tokenizer_;
  EmbeddingSpace space_{"fake", "fake", kDimensions};
  std::shared_ptr<EntryPin> present_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable int waiting_ = 0;
  bool closed_ = false;
};

}  // namespace edge_infer::testing
