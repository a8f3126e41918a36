#include "compiler/fallback/symbol_sources.h"

namespace edge_infer {

Result<std::vector<Program::SymbolSource>> find_symbol_sources(const Graph& graph) {
  std::vector<Program::SymbolSource> sources;
  for (const Symbol& s : graph.symbols()) {
    const SymInt symbol = SymInt::symbol(s.name);
    bool found = false;
    int32_t index = 0;
    for (const GraphInput& input : graph.inputs()) {
      const std::vector<SymInt>& sizes = graph.value(input.value).type.sizes;
      for (size_t d = 0; d < sizes.size() && !found; ++d) {
        const auto minus = (sizes[d] - symbol).constant();
        if (!minus) continue;
        sources.push_back({index, static_cast<int32_t>(d), *minus});
        found = true;
      }
      ++index;
    }
    if (!found)
      return fail(ErrorCode::kUnsupported, "graph @{}: no input has a size from which {} follows",
                  graph.name(), s.name);
  }
  return sources;
}

}  // namespace edge_infer
