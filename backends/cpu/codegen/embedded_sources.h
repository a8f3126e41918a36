// C sources that CMake puts into the library as text.
#pragma once

#include <string_view>

namespace edge_infer::cpu_codegen::embedded {

std::string_view prelude();
std::string_view gemm_template();
std::string_view gemm_sweep_header();
std::string_view gemm_sweep();
std::string_view gemm_bf16_template();
std::string_view gemm_amx_template();
std::string_view attention_template();
// 16 hexadecimal digits of a digest of all sources that decide a kernel's text.
std::string_view digest();

}  // namespace edge_infer::cpu_codegen::embedded
