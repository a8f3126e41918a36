// A kernel's source as code in this process, by clang-19 as a program: for tests of code generation alone.
#pragma once

#include <memory>

#include "compiler/codegen/kernel_compiler.h"
#include "runtime/program/kernel_abi.h"

namespace edge_infer::testing {

class ClangKernel {
 public:
  // Errors: kInvalidArgument with the diagnostics; undefined symbols are refused.
  static Result<ClangKernel> compile(const KernelSource& source);
  KernelFn function() const { return function_; }

 private:
  std::shared_ptr<void> library_;
  KernelFn function_ = nullptr;
};

}  // namespace edge_infer::testing
