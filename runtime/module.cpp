#include "runtime/module.h"

#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "runtime/base/log.h"

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
  if (entry->improvable) {
    waiting_.push_back({entry, settings});
    if (waiting_.size() == 1) {
      join_improver();  // it has left its loop: nothing was waiting
      try {
        improver_ = std::thread([this] { improve_all(); });
        improver_process_ = ::getpid();
      } catch (const std::system_error& e) {
        log_warning("there is no thread to make better kernels on, the prebuilt ones go on serving: {}",
                    e.what());
        waiting_.clear();
        improved_ = fail(ErrorCode::kResourceExhausted, "no thread to make better kernels on: {}", e.what());
      }
    }
  }
  return entry;
}

void Module::improve_all() {
  std::unique_lock lock(entries_mutex_);
  while (!waiting_.empty()) {
    const Improvement work = waiting_.front();
    Result<std::shared_ptr<const Entry>> better = fail(ErrorCode::kCancelled, "the module is being closed");
    if (!stopping_) {
      lock.unlock();
      better = builder_->improve(*work.entry, work.settings);
      lock.lock();
    }
    if (better) {
      std::ranges::replace(entries_, work.entry, *better);
      const std::lock_guard contexts(contexts_mutex_);
      std::erase_if(idle_, [&](const Idle& idle) { return idle.entry == work.entry; });
    } else {
      improved_ = std::unexpected(better.error());
    }
    waiting_.erase(waiting_.begin());
  }
  settled_.notify_all();
}

bool Module::finish(std::chrono::milliseconds limit) {
  std::unique_lock lock(entries_mutex_);
  return settled_.wait_for(lock, limit, [this] { return waiting_.empty(); });
}

Module::~Module() {
  {
    const std::lock_guard lock(entries_mutex_);
    stopping_ = true;
  }
  builder_->cancel();
  join_improver();
}

void Module::join_improver() {
  if (!improver_.joinable()) return;
  if (improver_process_ == ::getpid())
    improver_.join();
  else
    improver_.detach();
}

Result<std::shared_ptr<const Entry>> Module::pick_pinned(std::span<const TensorView> inputs,
                                                         const CallSettings& settings, EntryPin* pin) {
  if (pin == nullptr) return pick(inputs, settings);
  {
    const std::lock_guard lock(pin->mutex_);
    if (pin->entry_ != nullptr && !pin->entry_->guards.first_failure(inputs, settings)) return pin->entry_;
  }
  EDGE_INFER_ASSIGN(std::shared_ptr<const Entry> entry, pick(inputs, settings));
  const std::lock_guard lock(pin->mutex_);
  if (pin->entry_ == nullptr) pin->entry_ = entry;
  // Another call was first.
  if (!pin->entry_->guards.first_failure(inputs, settings)) return pin->entry_;
  return entry;
}

bool Module::serves(EntryPin& pin) const {
  const std::lock_guard pinned(pin.mutex_);
  if (pin.entry_ == nullptr) return true;
  const std::lock_guard lock(entries_mutex_);
  return std::ranges::find(entries_, pin.entry_) != entries_.end();
}

std::unique_ptr<RunContext> Module::take_context(const Entry& entry, EntryPin* pin) {
  if (pin != nullptr) {
    const std::lock_guard lock(pin->mutex_);
    if (pin->entry_.get() == &entry && !pin->idle_.empty()) {
      auto context = std::move(pin->idle_.back());
      pin->idle_.pop_back();
      return context;
    }
  }
  const std::lock_guard lock(contexts_mutex_);
  // Last in, first out: the context that ran last has warm memory.
  for (size_t i = idle_.size(); i-- > 0;) {
    if (idle_[i].entry.get() != &entry) continue;
    auto context = std::move(idle_[i].context);
    idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
    return context;
  }
  return entry.program->make_context();
}

void Module::return_context(const std::shared_ptr<const Entry>& entry, std::unique_ptr<RunContext> context,
                            EntryPin* pin) {
  // A context fits one program; that of a replaced entry serves those who have it pinned.
  std::unique_lock lock(entries_mutex_);
  if (std::ranges::find(entries_, entry) == entries_.end()) {
    lock.unlock();
    if (pin == nullptr) return;
    const std::lock_guard pinned(pin->mutex_);
    if (pin->entry_ == entry) pin->idle_.push_back(std::move(context));
    return;
  }
  const std::lock_guard contexts(contexts_mutex_);
  idle_.push_back({entry, std::move(context)});
}

Status Module::open(std::span<const TensorView> inputs, const CallSettings& settings) {
  EDGE_INFER_ASSIGN(const auto entry, pick(inputs, settings));
  return {};
}

Status Module::prepare(std::span<const TensorView> inputs, const CallSettings& settings) {
  EDGE_INFER_RETURN_IF_ERROR(open(inputs, settings));
  std::unique_lock lock(entries_mutex_);
  settled_.wait(lock, [this] { return waiting_.empty(); });
  return improved_;
}

Status Module::run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                   const CallSettings& settings, int max_workers, EntryPin* pin) {
  // The second attempt is made without an accelerator.
  for (bool again = true;; again = false) {
    EDGE_INFER_ASSIGN(const std::shared_ptr<const Entry> entry, pick_pinned(inputs, settings, pin));
    std::unique_ptr<RunContext> context = take_context(*entry, pin);
    Status status = entry->program->run(*context, inputs, outputs, max_workers);
    if (status || status.error().code != ErrorCode::kDeviceLost || !again) {
      return_context(entry, std::move(context), pin);
      return status;
    }
    log_warning("the accelerator is given up: {}", status.error().message);
    builder_->lose_accelerator();
    if (pin != nullptr) {
      context.reset();
      const std::lock_guard pinned(pin->mutex_);
      if (pin->entry_ == entry) pin->idle_.clear(), pin->entry_.reset();
    }
    const std::lock_guard lock(entries_mutex_);
    std::erase(entries_, entry);
  }
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
