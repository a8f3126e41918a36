#include "runtime/module.h"

#include <algorithm>
#include <utility>

namespace edge_infer {

std::shared_ptr<const Entry> Module::find(std::span<const TensorView> inputs,
                                          const CallSettings& settings) const {
  const std::lock_guard lock(entries_mutex_);
  for (const auto& entry : entries_)
    if (!entry->guards.first_failure(inputs, settings)) return entry;
  return nullptr;
}

Result<std::shared_ptr<const Entry>> Module::pick(std::span<const TensorView> inputs,
                                                  const CallSettings& settings) {
  if (auto entry = find(inputs, settings)) return entry;
  const std::lock_guard building(build_mutex_);
  if (auto entry = find(inputs, settings)) return entry;  // built while this call waited
  EDGE_INFER_ASSIGN(std::shared_ptr<const Entry> entry, builder_->build(inputs, settings));
  const std::lock_guard lock(entries_mutex_);
  entries_.push_back(entry);
  return entry;
}

std::unique_ptr<ExecutionContext> Module::take_context(const Entry& entry) {
  const std::lock_guard lock(contexts_mutex_);
  // Last in, first out: the context that ran last has warm memory.
  for (size_t i = idle_.size(); i-- > 0;) {
    if (idle_[i].entry != &entry) continue;
    auto context = std::move(idle_[i].context);
    idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
    return context;
  }
  return std::make_unique<ExecutionContext>();
}

Status Module::prepare(std::span<const TensorView> inputs, const CallSettings& settings) {
  EDGE_INFER_ASSIGN(const auto entry, pick(inputs, settings));
  return {};
}

Status Module::run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                   const CallSettings& settings, int max_workers) {
  EDGE_INFER_ASSIGN(const std::shared_ptr<const Entry> entry, pick(inputs, settings));
  std::unique_ptr<ExecutionContext> context = take_context(*entry);
  Status status = entry->program->run(*context, inputs, outputs, max_workers);
  const std::lock_guard lock(contexts_mutex_);
  idle_.push_back({entry.get(), std::move(context)});
  return status;
}

std::vector<std::shared_ptr<const Entry>> Module::entries() const {
  const std::lock_guard lock(entries_mutex_);
  return entries_;
}

size_t Module::peak_arena_bytes() const {
  size_t peak = 0;
  for (const auto& entry : entries()) peak = std::max(peak, entry->program->peak_arena_bytes());
  return peak;
}

}  // namespace edge_infer
