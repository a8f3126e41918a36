// A kernel's source as code in this process, by edge-infer-cc.
#pragma once

#include <memory>

#include "backends/cpu/code_arena.h"
#include "compiler/codegen/kernel_compiler.h"
#include "runtime/program/kernel_abi.h"

namespace edge_infer::testing {

class LoadedNest {
 public:
  // Errors: as KernelCompiler::compile() and CodeArena::map().
  static Result<LoadedNest> compile(const KernelSource& source);
  KernelFn function() const { return code_->function(0); }

 private:
  std::shared_ptr<const CodeArena> code_;
};

}  // namespace edge_infer::testing
