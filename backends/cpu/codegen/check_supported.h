// Which nests the CPU's code generator serves.
#pragma once

#include "compiler/loop/loop_nest.h"
#include "runtime/base/error.h"

namespace edge_infer::cpu_codegen {

// Errors: kUnsupported with the reason in the words of an un-fused edge.
Status check_supported(const loop::LoopNest& nest, std::string_view bf16_class);

}  // namespace edge_infer::cpu_codegen
