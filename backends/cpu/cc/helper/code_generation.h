// The half of the compiler behind clang: IR to optimized machine code.
#pragma once

#include <string>

#include "runtime/base/error.h"

namespace llvm {
class Module;
}

namespace edge_infer {

// An ELF64 object file, or its assembly. Changes `module`.
// Errors: kInvalidArgument for what has no machine code.
Result<std::string> generate_code(llvm::Module& module, bool object);

}  // namespace edge_infer
