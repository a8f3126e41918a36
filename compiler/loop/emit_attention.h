// The nest of an edge.varlen_attention node.
#pragma once

#include <string>

#include "compiler/loop/expand.h"
#include "compiler/loop/nest_emitter.h"

namespace edge_infer::loop {

// The arguments of the result: the buffers that q, k, v are views of (each once), cu_seqlens, kNoValue for
// the unit list, the result. `units`: the symbol that counts the units.
EmittedNest emit_attention(const Expansion& graph, const Node& node, int64_t block_rows, const Symbol& units);

}  // namespace edge_infer::loop
