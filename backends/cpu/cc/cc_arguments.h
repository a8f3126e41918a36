// What the helper tells clang: everything that shapes the code besides the source.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace edge_infer {

// cc1's arguments for a kernel of `target` ("cpu.portable", "cpu.avx2", "cpu.avx512": the vector width
// that is preferred) that may use exactly `features`: LLVM's names, comma separated, beyond x86-64's
// SSE2. Errors: kInvalidArgument for a target or feature that is not known; LLVM itself would ignore it.
Result<std::vector<std::string>> cc_arguments(std::string_view target, std::string_view features);

// The part of them that KernelKey::options names.
constexpr std::string_view kCcOptions = "O2,fp-contract-off";

}  // namespace edge_infer
