// A module whose one program is a function of the test: what ran is recorded, memory and waiting are
// settable.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "models/pack_runner.h"

namespace edge_infer::test {

constexpr int64_t kWidth = 2;

struct Passes {
  std::mutex mutex;
  std::vector<std::vector<int64_t>> lengths;  // of each pass that ran
  int refused = 0;
  int64_t room = INT64_MAX;                        // tokens that fit
  std::function<void(size_t tokens)> before = {};  // called by each pass, without the mutex
  std::vector<int64_t> tokens() const {
    std::vector<int64_t> out;
    for (const auto& pass : lengths) {
      int64_t sum = 0;
      for (const int64_t length : pass) sum += length;
      out.push_back(sum);
    }
    std::ranges::sort(out);
    return out;
  }
};

// A text's vector: the sum of its ids and its length.
class FakeProgram final : public Executable {
 public:
  explicit FakeProgram(Passes& passes) : passes_(passes) {}
  std::unique_ptr<RunContext> make_context() const override { return std::make_unique<RunContext>(); }
  Status run(RunContext&, std::span<const TensorView> inputs, std::span<const TensorView> outputs,
             int) const override {
    const auto* ids = static_cast<const int32_t*>(inputs[0].data);
    const auto* cu = static_cast<const int32_t*>(inputs[1].data);
    auto* out = static_cast<float*>(outputs[0].data);
    const int64_t tokens = inputs[0].sizes[0], texts = inputs[1].sizes[0] - 1;
    if (passes_.before) passes_.before(static_cast<size_t>(tokens));
    const std::lock_guard lock(passes_.mutex);
    if (tokens > passes_.room) {
      ++passes_.refused;
      return fail(ErrorCode::kResourceExhausted, "{} tokens, room for {}", tokens, passes_.room);
    }
    std::vector<int64_t>& lengths = passes_.lengths.emplace_back();
    for (int64_t b = 0; b < texts; ++b) {
      float sum = 0;
      for (int32_t t = cu[b]; t < cu[b + 1]; ++t) sum += static_cast<float>(ids[t]);
      out[kWidth * b] = sum;
      out[kWidth * b + 1] = static_cast<float>(cu[b + 1] - cu[b]);
      lengths.push_back(cu[b + 1] - cu[b]);
    }
    return {};
  }
  Result<std::vector<int64_t>> profile(RunContext&, std::span<const TensorView>,
                                       std::span<const TensorView>) const override {
    return std::vector<int64_t>();
  }
  const Program& program() const override { return program_; }
  size_t peak_arena_bytes() const override { return 0; }

 private:
  Passes& passes_;
  Program program_;
};

class FakeBuilder final : public EntryBuilder {
 public:
  explicit FakeBuilder(Passes& passes) : passes_(passes) {}
  Result<std::shared_ptr<const Entry>> build(std::span<const TensorView>, const CallSettings&) override {
    auto entry = std::make_shared<Entry>();
    entry->program = std::make_unique<FakeProgram>(passes_);
    return entry;
  }

 private:
  Passes& passes_;
};

// Texts of the given lengths with ids of their own, and what their vectors must be.
struct Texts {
  explicit Texts(std::span<const int64_t> lengths) {
    int32_t id = 1;
    for (const int64_t length : lengths) {
      std::vector<int32_t>& text = ids.emplace_back();
      float sum = 0;
      for (int64_t i = 0; i < length; ++i) {
        text.push_back(id = id * 5 % 1009);
        sum += static_cast<float>(id);
      }
      expected.push_back(sum);
      expected.push_back(static_cast<float>(length));
    }
    for (const auto& text : ids) spans.emplace_back(text);
    out.assign(expected.size(), -1);
  }
  std::vector<std::vector<int32_t>> ids;
  std::vector<std::span<const int32_t>> spans;
  std::vector<float> expected, out;
};

}  // namespace edge_infer::test
