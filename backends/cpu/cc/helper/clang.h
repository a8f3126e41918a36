// The one door to clang and LLVM: a source text to an object file, all in memory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace edge_infer {

struct ObjectCode {
  std::string object;    // ELF64, relocatable
  std::string assembly;  // only when asked for
};

// Once, before the sandbox closes: registers the one target and touches what LLVM sets up lazily with system
// calls. A fatal error inside LLVM from then on writes its message to descriptor 2 and ends the process.
void start_clang();

// `arguments` are cc1's. No file is ever opened: the compiler sees an empty file system in memory.
// Errors: kInvalidArgument with the diagnostics.
Result<ObjectCode> compile_source(std::string_view source, const std::vector<std::string>& arguments,
                                  bool assembly);

}  // namespace edge_infer
