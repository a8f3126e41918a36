// The passes over a Graph, in pipeline order, and the driver that runs them. Reading this header is reading
// the graph half of the compiler. Each pass is in the file of its name; true means that it changed the graph.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"
#include "runtime/base/error.h"

namespace edge_infer {

struct PassContext {
  // Largest tensor that fold_constants computes, in elements.
  int64_t fold_limit = 4096;
  // What assign_precision rounds operands to, f16 or bf16.
  DType precision = DType::kBF16;
};

// Gives equal computations one form: views, copies and conversions that do nothing disappear, squeeze,
// unsqueeze and transpose become view and permute, chains of them one, dimensions count from the front,
// numbers held in tensors become scalars, operands of commutative ops are ordered. Needs nothing; never
// changes a bit of any result.
Result<bool> canonicalize(Graph& graph, const PassContext& context);

// Replaces what is computed from `aten.full` and `aten.arange` alone by one of the two, where the result has
// that form. Needs canonical scalars to see much. Leaves what it folded from without users.
Result<bool> fold_constants(Graph& graph, const PassContext& context);

// Merges nodes of the same op, operands and attributes into the first. Needs canonical operand order and
// attributes. Leaves no two equal nodes.
Result<bool> eliminate_common_subexpressions(Graph& graph, const PassContext& context);

// Removes nodes whose results reach no output, and constants that no node reads; inputs stay. Leaves every
// node in use.
Result<bool> eliminate_dead_nodes(Graph& graph, const PassContext& context);

// Replaces each op that the op table knows to decompose by simpler ones, until none is left; a decomposition
// that does not apply (a symbolic count, say) leaves its op whole. Not in the default pipeline: prebuilt
// kernels want whole ops.
Result<bool> decompose(Graph& graph, const PassContext& context);

// Makes linears that read one value one linear on joined constants (`aten.cat` of them along dimension 0) and
// slices of its result: one product reads the rows once. Needs constant weights, and constant biases in all
// or none. Not in the default pipeline: only a compiler that joins constants when it packs them gains.
Result<bool> merge_parallel_linears(Graph& graph, const PassContext& context);

// Rounds operand and weight of each f32 linear with a constant weight to PassContext::precision; sums, bias
// and all else stay in f32. Needs linears merged: joined constants are rounded as one. Run for the precisions
// f16 and bf16 alone.
Result<bool> assign_precision(Graph& graph, const PassContext& context);

// What a graph has gone through: captured -> canonical -> primitive.
enum class GraphStage { kCaptured, kCanonical, kPrimitive };

struct PassInfo {
  std::string_view name;
  Result<bool> (*run)(Graph&, const PassContext&);
  GraphStage needs, leaves;
  bool in_pipeline;      // run by default
  std::string_view why;  // it stands where it stands
};
// All passes in order.
std::span<const PassInfo> graph_passes();
// The names of the passes that come before lowering to loops: the default pipeline and what only a compiler
// gains from. `precision`: f32, or f16 or bf16 for linears in that.
std::vector<std::string> compile_pipeline(DType precision = DType::kF32);

struct PipelineOptions {
  PassContext context;
  // Names to run, in this order; none: the default pipeline. Errors: kInvalidArgument listing the names.
  std::optional<std::vector<std::string>> passes{};
  std::vector<std::string> skip{};
  bool verify_each = true;
  std::function<bool()> is_cancelled{};
  // Called after each pass that changed the graph.
  std::function<void(std::string_view pass, const Graph&)> on_change{};
};
struct PassReport {
  std::string_view name;
  bool changed = false;
  double seconds = 0;
};
// Errors name the pass: what it reports, or what verify() finds after it.
Result<std::vector<PassReport>> run_passes(Graph& graph, const PipelineOptions& options);

}  // namespace edge_infer
