// What an entry builder compiles with.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "compiler/codegen/registry.h"
#include "compiler/precision_gate.h"
#include "runtime/cache/kernel_cache.h"
#include "runtime/device/device.h"

namespace edge_infer {

// Where entries are compiled for, and with what. Without `generator` or `compiler` nothing is compiled.
struct CompileSite {
  std::shared_ptr<const Device> device;
  std::shared_ptr<const CodeGenerator> generator;
  std::shared_ptr<KernelCompiler> compiler;

  bool compiles() const { return generator != nullptr && compiler != nullptr; }
};

// How much is done before the first call, so that later ones take less time. Each includes the one before.
enum class CompileMode {
  kDefault,
  kReduceOverhead,  // what a device makes at the first call of a kind is made at once: Executable::prepare()
  kMaxAutotune,     // the candidates of each kernel are measured; the choice is kept in the cache
};
// "default", "reduce-overhead", "max-autotune". Errors: kInvalidArgument listing the names.
Result<CompileMode> parse_compile_mode(std::string_view name);

// How entries in precisions below fp32 are judged before they serve (compiler/precision_gate.h).
struct PrecisionGate {
  GateSample sample;
  // Identifies the values of the graph's constants. Asked at most once, from any thread.
  std::function<std::string()> weights;
};

// Without a site that compiles the fallback serves; without `cache` nothing is kept.
struct EntryCompilation {
  CompileSite host;         // the device of the prebuilt kernels
  CompileSite accelerator;  // preferred where there is one; the host answers until its entry is made, and
                            // when it fails
  std::shared_ptr<KernelCache> cache;
  std::optional<PrecisionGate> gate{};  // without one every precision serves unjudged
  bool names_precision = false;  // the user chose it: fp32 takes its place where it fails, nothing else
  bool eager = false;            // the fallback only
  bool stored_only = false;      // what is not in the cache is not made: the fallback answers
  CompileMode mode = CompileMode::kDefault;

  bool compiles() const { return !eager && (host.compiles() || accelerator.compiles()); }
  // The site whose entries serve in the end.
  const CompileSite& preferred() const { return accelerator.compiles() ? accelerator : host; }
};

// Version of what a Program means to the runtime and of how graphs are lowered to it: part of the key of
// every stored entry.
constexpr int kProgramVersion = 3;

}  // namespace edge_infer
