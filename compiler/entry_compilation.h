// What an entry builder compiles with.
#pragma once

#include <memory>

#include "compiler/codegen/registry.h"
#include "runtime/cache/kernel_cache.h"

namespace edge_infer {

// Without `generator` or `compiler` nothing is compiled and the fallback serves; without `cache` nothing is
// kept.
struct EntryCompilation {
  std::shared_ptr<const CodeGenerator> generator;
  std::shared_ptr<KernelCompiler> compiler;
  std::shared_ptr<KernelCache> cache;
  bool eager = false;         // the fallback only
  bool max_autotune = false;  // measure the candidates of each kernel; the choice is kept in the cache

  bool compiles() const { return !eager && generator != nullptr && compiler != nullptr; }
};

// Version of what a Program means to the runtime: part of the key of every stored entry.
constexpr int kProgramVersion = 1;

}  // namespace edge_infer
