#include "compiler/obtain_kernels.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace edge_infer {
namespace {

constexpr std::chrono::milliseconds kPoll{50};

class Obtaining {
 public:
  Obtaining(std::span<const KernelPlan> kernels, const Device& device, KernelCompiler& compiler,
            KernelCache* cache, const std::function<bool()>& is_cancelled, std::chrono::milliseconds patience)
      : kernels_(kernels),
        device_(device),
        compiler_(compiler),
        cache_(cache),
        is_cancelled_(is_cancelled),
        patience_(patience) {}

  // What befalls a kernel is noted here, one a kernel, and the others go on.
  void note_failures(std::vector<Status>& statuses) {
    statuses.assign(kernels_.size(), Status());
    statuses_ = &statuses;
  }

  Result<ObtainReport> run() {
    std::vector<const KernelPlan*> missing;
    EDGE_INFER_RETURN_IF_ERROR(load_stored(missing));
    if (missing.empty()) return report_;
    if (cache_ == nullptr) {
      EDGE_INFER_RETURN_IF_ERROR(compile(missing));
      return report_;
    }
    std::vector<KernelKey> keys;
    for (const KernelPlan* plan : missing) keys.push_back(plan->key);
    KernelClaim claim = cache_->claim(keys);
    std::vector<const KernelPlan*> mine, others;
    for (const KernelPlan* plan : missing)
      (std::ranges::find(claim.owned(), plan->key) != claim.owned().end() ? mine : others).push_back(plan);
    EDGE_INFER_RETURN_IF_ERROR(compile(mine));
    std::vector<const KernelPlan*> left;
    // All that others compile together: one that hangs delays once, not once a kernel.
    const auto end = std::chrono::steady_clock::now() + patience_;
    for (const KernelPlan* plan : others) {
      KernelClaim::Outcome outcome = KernelClaim::Outcome::kTimeout;
      do {
        if (is_cancelled_ && is_cancelled_()) return fail(ErrorCode::kCancelled, "compilation was cancelled");
        const bool waits = std::chrono::steady_clock::now() < end;
        outcome = claim.wait(plan->key, waits ? kPoll : std::chrono::milliseconds(0));
        if (!waits) break;
      } while (outcome == KernelClaim::Outcome::kTimeout);
      const bool stored = outcome == KernelClaim::Outcome::kStored && load_stored(*plan);
      if (!stored) left.push_back(plan);
    }
    EDGE_INFER_RETURN_IF_ERROR(compile(left));
    return report_;
  }

 private:
  bool load_stored(const KernelPlan& plan) {
    const std::optional<KernelBlob> blob = cache_->find_kernel(plan.key);
    if (!blob || !device_.load_code(plan.name, *blob)) return false;
    ++report_.from_cache;
    return true;
  }

  Status load_stored(std::vector<const KernelPlan*>& missing) {
    std::vector<KernelBlob> blobs;
    std::vector<const KernelPlan*> found;
    for (const KernelPlan& plan : kernels_) {
      if (device_.load_kernel(plan.name)) continue;
      std::optional<KernelBlob> blob = cache_ == nullptr ? std::nullopt : cache_->find_kernel(plan.key);
      if (blob) {
        blobs.push_back(*std::move(blob));
        found.push_back(&plan);
      } else {
        missing.push_back(&plan);
      }
    }
    std::vector<NamedBlob> named;
    for (size_t i = 0; i < blobs.size(); ++i) named.push_back({found[i]->name, &blobs[i]});
    EDGE_INFER_ASSIGN(const std::vector<bool> loaded, load(found, named));
    report_.from_cache += std::ranges::count(loaded, true);
    return {};
  }

  bool goes_on(const KernelPlan& plan, const Error& error) {
    if (statuses_ == nullptr || error.code == ErrorCode::kCancelled || error.code == ErrorCode::kDeviceLost)
      return false;
    (*statuses_)[static_cast<size_t>(&plan - kernels_.data())] = std::unexpected(error);
    return true;
  }

  // Which of them are loaded: all, unless failures are noted.
  Result<std::vector<bool>> load(const std::vector<const KernelPlan*>& plans,
                                 std::span<const NamedBlob> named) {
    std::vector<bool> done(named.size(), true);
    if (named.empty()) return done;
    const auto together = device_.load_code(named);
    if (together) return done;
    if (statuses_ == nullptr) return std::unexpected(together.error());
    for (size_t i = 0; i < named.size(); ++i)
      if (const auto one = device_.load_code(named.subspan(i, 1)); !one) {
        if (!goes_on(*plans[i], one.error())) return std::unexpected(one.error());
        done[i] = false;
      }
    return done;
  }

  Status compile(const std::vector<const KernelPlan*>& plans) {
    if (plans.empty()) return {};
    if (is_cancelled_ && is_cancelled_()) return fail(ErrorCode::kCancelled, "compilation was cancelled");
    std::vector<KernelSource> sources;
    for (const KernelPlan* plan : plans) sources.push_back(plan->generated.source);
    std::vector<Result<CompiledKernel>> compiled = compiler_.compile(sources, is_cancelled_);
    std::vector<NamedBlob> named;
    std::vector<const KernelPlan*> made;
    for (size_t i = 0; i < plans.size(); ++i) {
      if (!compiled[i]) {
        if (compiled[i].error().code == ErrorCode::kCancelled) return std::unexpected(compiled[i].error());
        if (cache_ != nullptr) cache_->add_event("failed", plans[i]->name, compiled[i].error().message);
        if (goes_on(*plans[i], compiled[i].error())) continue;
        return fail_with_context(compiled[i].error(), plans[i]->name);
      }
      report_.compile_seconds += compiled[i]->seconds;
      named.push_back({plans[i]->name, &compiled[i]->blob});
      made.push_back(plans[i]);
    }
    EDGE_INFER_ASSIGN(const std::vector<bool> loaded, load(made, named));
    for (size_t i = 0; i < made.size(); ++i) {
      if (!loaded[i]) continue;
      ++report_.compiled;
      if (cache_ != nullptr) cache_->put_kernel(made[i]->key, *named[i].blob);
    }
    return {};
  }

  std::span<const KernelPlan> kernels_;
  const Device& device_;
  KernelCompiler& compiler_;
  KernelCache* cache_;
  const std::function<bool()>& is_cancelled_;
  std::chrono::milliseconds patience_;
  std::vector<Status>* statuses_ = nullptr;
  ObtainReport report_;
};

}  // namespace

Result<ObtainReport> obtain_kernels(std::span<const KernelPlan> kernels, const Device& device,
                                    KernelCompiler& compiler, KernelCache* cache,
                                    const std::function<bool()>& is_cancelled,
                                    std::chrono::milliseconds patience) {
  return Obtaining(kernels, device, compiler, cache, is_cancelled, patience).run();
}

Result<std::vector<Status>> obtain_candidates(std::span<const KernelPlan> kernels, const Device& device,
                                              KernelCompiler& compiler, KernelCache* cache,
                                              const std::function<bool()>& is_cancelled) {
  std::vector<Status> statuses;
  Obtaining obtaining(kernels, device, compiler, cache, is_cancelled, std::chrono::seconds(20));
  obtaining.note_failures(statuses);
  EDGE_INFER_RETURN_IF_ERROR(obtaining.run());
  return statuses;
}

}  // namespace edge_infer
