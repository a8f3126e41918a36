// What compiles and runs graphs of one CPU target in these tests: kernels of many graphs in one batch, one
// cache for all, in memory or, to shorten repeated runs, in the folder $EDGE_INFER_TEST_KERNELS.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "runtime/cache/kernel_cache.h"
#include "runtime/device/device.h"
#include "tests/conformance/random_graph.h"
#include "tests/support/tolerances.h"

namespace edge_infer::test {

// Targets that there is code for; `runs` says whether this machine can run it.
struct TargetName {
  std::string name;
  bool runs = false;
};
std::vector<TargetName> cpu_targets();
// The last one that runs here.
std::string best_target();

class TargetUnderTest {
 public:
  // `may_run` false: as on a machine that lacks the target.
  explicit TargetUnderTest(const std::string& name, bool may_run = true);

  // As a target without prebuilt kernels (Target::prebuilt_ops).
  void forget_prebuilt_ops() { target_.prebuilt_ops.clear(); }
  // Without its kernels yet.
  Result<CompiledGraph> compile(const Graph& graph, const CompileOptions& options = {}) const;
  // Machine code for the kernels of all graphs, in one batch; loaded, where the target runs here.
  Status obtain(std::span<const CompiledGraph> graphs);
  // Runs form `form` alone. `workers` above 1: as many as the process has, in pieces as small as the kernels
  // allow.
  Result<std::vector<HostTensor>> run(const CompiledGraph& graph, size_t form,
                                      std::span<const HostTensor> inputs, const TensorMap& constants,
                                      int workers) const;

  bool runs() const { return device_ != nullptr; }
  const std::string& name() const { return target_.name; }
  // Compiled or found in the cache.
  int64_t kernels() const { return kernels_; }

 private:
  Target target_;
  std::shared_ptr<const Device> device_;  // null where the target does not run here
  std::shared_ptr<const CodeGenerator> generator_;
  std::shared_ptr<KernelCompiler> compiler_;
  std::unique_ptr<KernelCache> cache_;
  int64_t kernels_ = 0;
};

// Random graph number `seed` of the set that these tests share: 3 to 40 nodes.
RandomGraph numbered_graph(uint64_t seed);

// Empty where outputs are within their error bounds and `extra` of `want`; else what differs.
std::string difference_of(std::span<const HostTensor> got, std::span<const HostTensor> want,
                          std::span<const double> error_bounds, const Tolerance& extra);

}  // namespace edge_infer::test
