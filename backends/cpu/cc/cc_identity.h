// Which compiler this build's edge-infer-cc is.
#pragma once

#include <string_view>

namespace edge_infer {

// "clang-19.1.7/edge-infer-cc-<16 hex digits>": LLVM's version and a hash of all sources that shape what
// the helper returns (backends/cpu/cc/CMakeLists.txt). The same in every preset of one source tree.
std::string_view cc_identity();

}  // namespace edge_infer
