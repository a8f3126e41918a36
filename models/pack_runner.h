// PackRunner: tokenized texts through a module, in packs as large as the device likes them. Where a device's
// memory does not suffice for a pack, smaller ones are run, down to single texts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "models/pack_budget.h"
#include "models/pack_queue.h"
#include "runtime/device/device.h"
#include "runtime/module.h"
#include "runtime/program/batch_block.h"

namespace edge_infer {

struct PackRunnerOptions {
  std::string model;  // for messages
  int64_t dimensions = 0;
  int threads = 1;       // workers of a call at most
  double pair_cost = 0;  // PackLimits::pair
};

// Thread-safe.
class PackRunner {
 public:
  // Calls that an accelerator is given at a time: while it computes one, the next is put together.
  static constexpr size_t kCallsAhead = 2;

  using Text = std::span<const int32_t>;

  // `module` takes (ids, offsets) and gives [texts, dimensions]; it and `target` outlive the runner.
  PackRunner(Module& module, const Target& target, const CallSettings& settings, PackRunnerOptions options);

  // Texts hold at least one token each; out is [texts.size(), dimensions]. Errors: kResourceExhausted naming
  // the text when a single one does not fit into the device's memory; kCorruption for vectors that are not
  // finite; else the module's. All texts of a call are served by one entry: that of `pin`, where given.
  Status run(std::span<const Text> texts, std::span<float> out, EntryPin* pin = nullptr) const;

  // The same for texts that encode(i) makes, called once for each i < count on several threads; text(i) is
  // what it made. On an accelerator, texts run while later ones are encoded. Errors: as run(), encode()'s.
  Status run_encoding(size_t count, const std::function<Status(size_t)>& encode,
                      const std::function<Text(size_t)>& text, std::span<float> out,
                      EntryPin* pin = nullptr) const;

  // Tokens of a pack at present.
  int64_t pack_tokens() const { return budget_.tokens(); }

 private:
  PackLimits limits() const { return {budget_.tokens(), options_.pair_cost}; }
  Status run_pinned(std::span<const Text> texts, std::span<float> out, EntryPin& pin) const;
  Status run_shrinking(std::span<const Text> texts, std::span<float> out, int workers, EntryPin& pin) const;
  Status run_pack(std::span<const Text> texts, std::span<float> out, int workers, EntryPin& pin) const;
  std::unique_ptr<BatchBlock> take_block(int64_t tokens, int64_t sequences) const;
  std::span<float> rows(std::span<float> out, const Pack& pack) const;
  void drain(PackQueue& queue, const std::function<Text(size_t)>& text, std::span<float> out,
             EntryPin& pin) const;

  Module& module_;
  const Target& target_;
  const CallSettings settings_;
  const PackRunnerOptions options_;
  mutable PackBudget budget_;
  mutable std::mutex blocks_mutex_;
  mutable std::vector<std::unique_ptr<BatchBlock>> blocks_;
};

}  // namespace edge_infer
