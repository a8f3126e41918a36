// Any bytes as the text of a graph: what parses prints, parses and prints the same; verification and the
// passes end in a graph or an error, and a graph that verifies still does after each pass.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "compiler/graph/parse.h"
#include "compiler/graph/print.h"
#include "compiler/graph/verify.h"
#include "compiler/passes/passes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace edge_infer;
  auto graph = parse_graph({reinterpret_cast<const char*>(data), size});
  if (!graph) return 0;
  const std::string text = print(*graph);
  const auto again = parse_graph(text);
  if (!again || print(*again) != text) std::abort();
  if (!verify(*graph)) return 0;
  PipelineOptions options;
  options.context.fold_limit = 256;
  if (!run_passes(*graph, options)) std::abort();
  options.passes = {"decompose"};
  // A decomposition may exceed a limit of the graph, as eight dimensions.
  if (const auto decomposed = run_passes(*graph, options);
      !decomposed && decomposed.error().code == ErrorCode::kInternal)
    std::abort();
  const auto final = parse_graph(print(*graph));
  if (!final || print(*final) != print(*graph)) std::abort();
  return 0;
}
