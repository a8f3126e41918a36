// The fallback: a Program of one prebuilt-kernel call a graph op. It answers while the compiler works and is
// the eager baseline; nothing is fused. Argument conventions: backends/cpu/prebuilt/README.md.
#pragma once

#include "compiler/graph/graph.h"
#include "runtime/device/device.h"
#include "runtime/program/program.h"

namespace edge_infer {

// Needs a verified graph. Views that keep the element order share their operand's buffer; other views become
// copies. Ops without a prebuilt kernel are decomposed where the op table knows how. Errors: kUnsupported
// naming the node and what is missing.
Result<Program> lower_fallback(const Graph& graph, const Target& target);

}  // namespace edge_infer
