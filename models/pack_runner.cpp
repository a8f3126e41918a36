#include "models/pack_runner.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/executor/team.h"

namespace edge_infer {
namespace {

// Texts below which encoding is not worth a team.
constexpr size_t kParallelTexts = 32;

}  // namespace

PackRunner::PackRunner(Module& module, const Target& target, const CallSettings& settings,
                       PackRunnerOptions options)
    : module_(module),
      target_(target),
      settings_(settings),
      options_(std::move(options)),
      budget_(target.pack_tokens) {}

std::span<float> PackRunner::rows(std::span<float> out, const Pack& pack) const {
  const auto width = static_cast<size_t>(options_.dimensions);
  return out.subspan(pack.first * width, pack.count * width);
}

std::unique_ptr<BatchBlock> PackRunner::take_block(int64_t tokens, int64_t sequences) const {
  const int64_t units = tokens / target_.attention_block_rows + sequences;
  {
    const std::lock_guard lock(blocks_mutex_);
    for (auto& block : blocks_) {
      const BatchCapacity& c = block->capacity();
      if (c.tokens < tokens || c.sequences < sequences || c.units < units) continue;
      std::swap(block, blocks_.back());
      auto taken = std::move(blocks_.back());
      blocks_.pop_back();
      return taken;
    }
  }
  // Generous, so that blocks of a few sizes serve every call.
  const int64_t room = std::max(tokens, target_.pack_tokens);
  BatchCapacity capacity;
  capacity.tokens = capacity.sequences = static_cast<int32_t>(room);
  capacity.units = static_cast<int32_t>(2 * room);
  return std::make_unique<BatchBlock>(capacity);
}

Status PackRunner::run_pack(std::span<const Text> texts, std::span<float> out, int workers,
                            EntryPin& pin) const {
  int64_t tokens = 0;
  for (const Text& text : texts) tokens += static_cast<int64_t>(text.size());
  std::unique_ptr<BatchBlock> block = take_block(tokens, static_cast<int64_t>(texts.size()));
  Status status = block->fill(texts, target_.attention_block_rows);
  if (status) {
    const std::span<int32_t> ids = block->ids(), cu = block->offsets();
    const int64_t ids_size[1] = {static_cast<int64_t>(ids.size())},
                  cu_size[1] = {static_cast<int64_t>(cu.size())};
    const int64_t out_size[2] = {static_cast<int64_t>(texts.size()), options_.dimensions};
    const TensorView inputs[] = {{ids.data(), DType::kI32, ids_size}, {cu.data(), DType::kI32, cu_size}};
    const TensorView outputs[] = {{out.data(), DType::kF32, out_size}};
    status = module_.run(inputs, outputs, settings_, workers, &pin);
    if (status && !std::all_of(out.begin(), out.end(), [](float v) { return std::isfinite(v); }))
      status = fail(ErrorCode::kCorruption, "\"{}\": the model's weights give numbers that are not finite",
                    options_.model);
  }
  const std::lock_guard lock(blocks_mutex_);
  blocks_.push_back(std::move(block));
  return status;
}

Status PackRunner::run_shrinking(std::span<const Text> texts, std::span<float> out, int workers,
                                 EntryPin& pin) const {
  const auto length = [&](size_t i) { return static_cast<int64_t>(texts[i].size()); };
  Pack pack = {0, texts.size(), 0};
  for (const Text& text : texts) pack.tokens += static_cast<int64_t>(text.size());
  while (true) {
    Status status = run_pack(texts.subspan(pack.first, pack.count), rows(out, pack), workers, pin);
    if (status) {
      budget_.accept();
      pack.first += pack.count;
      if (pack.first == texts.size()) return {};
    } else if (status.error().code != ErrorCode::kResourceExhausted) {
      return status;
    } else if (pack.count == 1) {
      return fail(ErrorCode::kResourceExhausted, "\"{}\": a text of {} tokens does not fit into memory: {}",
                  options_.model, pack.tokens, status.error().message);
    } else {
      budget_.refuse(pack.tokens);
      log_info("{} texts with {} tokens do not fit into memory, {} tokens at most are run at a time: {}",
               pack.count, pack.tokens, std::min(budget_.tokens(), pack.tokens / 2), status.error().message);
      // Other calls may have raised the budget meanwhile: this one's packs shrink all the same.
      PackLimits limits = this->limits();
      limits.tokens = std::min(limits.tokens, pack.tokens / 2);
      pack = cut_pack(pack.first, pack.first + pack.count, length, limits);
      continue;
    }
    pack = cut_pack(pack.first, texts.size(), length, limits());
  }
}

Status PackRunner::run(std::span<const Text> texts, std::span<float> out, EntryPin* pin) const {
  EntryPin own;
  return run_pinned(texts, out, pin != nullptr ? *pin : own);
}

Status PackRunner::run_pinned(std::span<const Text> texts, std::span<float> out, EntryPin& pin) const {
  if (texts.empty()) return {};
  const auto length = [&](size_t i) { return static_cast<int64_t>(texts[i].size()); };
  if (!target_.splits_rows) {
    if (cut_pack(0, texts.size(), length, limits()).count == texts.size())
      return run_shrinking(texts, out, options_.threads, pin);
    PackQueue queue(texts.size(), length);
    while (const auto block = queue.next_block()) queue.set_ready(*block);
    const std::function<Text(size_t)> text = [&](size_t i) { return texts[i]; };
    // The lanes wait for the device and are no workers of the budget.
    auto lane = [&](int) { drain(queue, text, out, pin); };
    run_team(static_cast<int>(kCallsAhead), lane);
    return queue.status();
  }
  std::vector<Pack> packs;
  for (size_t first = 0; first < texts.size(); first += packs.back().count)
    packs.push_back(cut_pack(first, texts.size(), length, limits()));
  const auto run_one = [&](const Pack& p, int workers) {
    return run_shrinking(texts.subspan(p.first, p.count), rows(out, p), workers, pin);
  };
  const int lanes = static_cast<int>(std::min(packs.size(), static_cast<size_t>(options_.threads)));
  if (lanes <= 1 || packs.size() < 2 * static_cast<size_t>(lanes)) {
    for (const Pack& p : packs) EDGE_INFER_RETURN_IF_ERROR(run_one(p, options_.threads));
    return {};
  }
  // Many packs: a pack a worker beats all workers on one pack after the other (no barriers, own caches).
  const WorkerShare share(lanes);
  std::atomic<size_t> next{0};
  std::vector<Status> statuses(static_cast<size_t>(share.workers()));
  auto body = [&](int worker) {
    for (size_t i = next.fetch_add(1); i < packs.size(); i = next.fetch_add(1)) {
      Status status = run_one(packs[i], 1);
      if (!status) {
        statuses[static_cast<size_t>(worker)] = std::move(status);
        next.store(packs.size());
      }
    }
  };
  run_team(share.workers(), body);
  for (Status& status : statuses)
    if (!status) return std::move(status);
  return {};
}

void PackRunner::drain(PackQueue& queue, const std::function<Text(size_t)>& text, std::span<float> out,
                       EntryPin& pin) const try {
  std::vector<Text> texts;
  while (const auto pack = queue.next_pack(limits())) {
    texts.clear();
    for (size_t i = 0; i < pack->count; ++i) texts.push_back(text(pack->first + i));
    if (Status status = run_shrinking(texts, rows(out, *pack), options_.threads, pin); !status)
      return queue.stop(std::move(status));
  }
} catch (const std::bad_alloc&) {
  queue.stop(fail(ErrorCode::kResourceExhausted, "out of memory"));
} catch (const std::exception& exception) {
  queue.stop(fail(ErrorCode::kInternal, "{}", exception.what()));
}

Status PackRunner::run_encoding(size_t count, const std::function<Status(size_t)>& encode,
                                const std::function<Text(size_t)>& text, std::span<float> out,
                                EntryPin* pin) const {
  EntryPin own;
  EntryPin& pinned = pin != nullptr ? *pin : own;
  PackQueue queue(count, [&](size_t i) { return static_cast<int64_t>(text(i).size()); });
  const auto fill = [&] {
    try {
      while (const auto block = queue.next_block()) {
        for (size_t i = block->first; i < block->end; ++i)
          if (Status status = encode(i); !status) return queue.stop(std::move(status));
        queue.set_ready(*block);
      }
    } catch (const std::bad_alloc&) {
      queue.stop(fail(ErrorCode::kResourceExhausted, "out of memory"));
    } catch (const std::exception& exception) {
      queue.stop(fail(ErrorCode::kInternal, "{}", exception.what()));
    }
  };
  if (target_.splits_rows || count < kParallelTexts) {
    {
      const WorkerShare share(count < kParallelTexts ? 1 : options_.threads);
      auto encoders = [&](int) { fill(); };
      run_team(share.workers(), encoders);
    }
    EDGE_INFER_RETURN_IF_ERROR(queue.status());
    std::vector<Text> texts;
    for (size_t i = 0; i < count; ++i) texts.push_back(text(i));
    return run_pinned(texts, out, pinned);
  }
  const WorkerShare share(options_.threads);
  auto body = [&](int worker) {
    if (worker < static_cast<int>(kCallsAhead))
      drain(queue, text, out, pinned);
    else
      fill();
  };
  run_team(static_cast<int>(kCallsAhead) + share.workers(), body);
  return queue.status();
}

}  // namespace edge_infer
