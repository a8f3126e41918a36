// evaluate(): the slow, obvious meaning of nests and loop programs, the oracle that generated kernels are
// compared with. Floating types are computed in double and rounded where the text says so: at stores (of
// buffers and locals) and at casts; integers in int64, wrapped to their type. Sums run in the stated order.
// Nothing is vectorized or reordered. Both operands of a select are computed; a load that may lie outside
// carries a predicate.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compiler/graph/evaluate.h"
#include "compiler/loop/loop_nest.h"
#include "compiler/loop/loop_program.h"

namespace edge_infer::loop {

// `symbols` and `buffers` in the nest's order; a buffer has the nest's dtype and as many elements as its
// sizes say, a packed weight is the plain [n, k] tensor. Out buffers keep what is not stored. Errors:
// kInvalidArgument for a nest that does not verify, an access out of bounds, a local read before it is
// written, an integer division by zero, an argmax of nothing, sequences that are not within their buffers.
Status evaluate(const LoopNest& nest, std::span<const int64_t> symbols, std::span<HostTensor* const> buffers);

// The outputs of the graph, in order: steps in order, nests as above, prebuilt steps by their op's evaluator.
// `inputs` in the graph's order, `constants` by name.
Result<std::vector<HostTensor>> evaluate(const LoopProgram& program, const Graph& graph,
                                         std::span<const HostTensor> inputs, const TensorMap& constants);

// The same with another way to compute nests: a kernel that stands to be checked, say. Out buffers come
// filled with zeros, and with what earlier steps stored there.
using NestRunner = std::function<Status(const LoopNest& nest, std::span<const int64_t> symbols,
                                        std::span<HostTensor* const> buffers)>;
Result<std::vector<HostTensor>> evaluate(const LoopProgram& program, const Graph& graph,
                                         std::span<const HostTensor> inputs, const TensorMap& constants,
                                         const NestRunner& run_nest);

}  // namespace edge_infer::loop
