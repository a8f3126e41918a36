// The CUDA sources of this folder and of ../templates as text.
#pragma once

#include <string_view>

namespace edge_infer::cuda {

// By file name ("prelude.cu"); empty for a name that there is not.
std::string_view embedded_source(std::string_view name);
// 16 hex digits of all that decides a kernel's text.
std::string_view generator_digest();

}  // namespace edge_infer::cuda
