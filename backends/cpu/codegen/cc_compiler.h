// CcCompiler: the CPU's KernelCompiler. Sources go to edge-infer-cc, a process of its own, so that no LLVM is
// ever loaded into a host and a compiler's crash is an event.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/codegen/kernel_compiler.h"

namespace edge_infer {

struct CcLimits {
  int64_t memory_bytes = int64_t{1} << 30;  // address space of one helper
  int64_t cpu_seconds = 60;                 // of one helper
  int64_t batch_ms = 60'000;                // wall clock of one compile()
  int processes = 2;                        // at most; never more than worker_budget()
};

// What the helpers of the last compile() used, for reports.
struct CcUsage {
  double cpu_seconds = 0;
  int64_t peak_bytes = 0;  // of the largest
  int processes = 0;
};

// Each compile() starts its helpers and sees their end. One thread at a time.
class CcCompiler final : public KernelCompiler {
 public:
  // The helper lies beside the running program or library, or in ../bin of it; never elsewhere.
  explicit CcCompiler(CcLimits limits = {}) : CcCompiler(find_helper(), limits) {}
  CcCompiler(std::filesystem::path helper, CcLimits limits) : helper_(std::move(helper)), limits_(limits) {}

  std::string identity() const override;
  std::string options() const override;
  Status available() const override;
  std::vector<Result<CompiledKernel>> compile(std::span<const KernelSource> sources,
                                              const std::function<bool()>& is_cancelled = {}) override;

  const CcUsage& last_usage() const { return usage_; }

  static std::filesystem::path find_helper();

 private:
  std::filesystem::path helper_;
  CcLimits limits_;
  CcUsage usage_;
};

}  // namespace edge_infer
