// The explicit list of back ends' compile-time halves. Declared here, defined in backends/compilers.cpp, so
// that nothing above names one.
#pragma once

#include <memory>
#include <string_view>

#include "compiler/codegen/code_generator.h"
#include "compiler/codegen/kernel_compiler.h"

namespace edge_infer {

// What compiles for one target. Both may be used from several threads.
struct TargetCompiler {
  std::shared_ptr<const CodeGenerator> generator;
  std::shared_ptr<KernelCompiler> compiler;
};

// For a target by name ("cpu.avx512"), which this machine need not have. Errors: kUnsupported when no back
// end of this build generates code for it.
Result<TargetCompiler> open_compiler(std::string_view target);

}  // namespace edge_infer
