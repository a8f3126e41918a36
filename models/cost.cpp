#include "models/cost.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "compiler/graph/op_table.h"
#include "runtime/program/buffer_plan.h"

namespace edge_infer {
namespace {

double value_of(const SymInt& size, const std::map<std::string, int64_t, std::less<>>& symbols) {
  return static_cast<double>(size.evaluate(symbols).value_or(0));
}

}  // namespace

double graph_flops(const Graph& graph, std::span<const int64_t> lengths) {
  std::map<std::string, int64_t, std::less<>> symbols;
  int64_t tokens = 0;
  double pairs = 0;  // (query, key) pairs
  for (const int64_t length : lengths) {
    tokens += length;
    pairs += static_cast<double>(length) * static_cast<double>(length);
  }
  symbols["T"] = tokens;
  symbols["B"] = static_cast<int64_t>(lengths.size());
  double flops = 0;
  for (const Node& node : graph.nodes()) {
    const auto elements = [&](ValueId v) { return value_of(graph.value(v).type.elements(), symbols); };
    if (node.op->name == "aten.linear") {
      const double k = value_of(graph.value(node.inputs[1]).type.sizes[1], symbols);
      flops += 2 * k * elements(node.outputs[0]);
    } else if (node.op->name == "aten.matmul" || node.op->name == "aten.mm" || node.op->name == "aten.bmm") {
      const double k = value_of(graph.value(node.inputs[0]).type.sizes.back(), symbols);
      flops += 2 * k * elements(node.outputs[0]);
    } else if (node.op->name == "edge.varlen_attention") {
      flops += 4 * pairs * value_of(graph.value(node.inputs[0]).type.sizes[1], symbols);
    }
  }
  return flops;
}

double program_arena_bytes(const Program& program, std::span<const int64_t> lengths) {
  std::map<std::string, int64_t, std::less<>> values;
  values["T"] = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  values["B"] = static_cast<int64_t>(lengths.size());
  for (const UnitListDecl& list : program.unit_lists) {
    int64_t units = 0;
    for (const int64_t length : lengths) units += (length + list.block_rows - 1) / list.block_rows;
    values[list.count] = units;
  }
  double bytes = 0;
  for (const SymInt& slot : program.slots) bytes += value_of(slot, values);
  return bytes;
}

double program_bytes(const Program& program, std::span<const int64_t> symbols, int workers) {
  std::map<std::string, int64_t, std::less<>> values;
  for (size_t i = 0; i < std::min(symbols.size(), program.symbols.size()); ++i)
    values[program.symbols[i].name] = symbols[i];
  values[kWorkersSymbol] = workers;
  double total = 0;
  for (const Phase& phase : program.phases) {
    if (value_of(phase.when, values) == 0) continue;
    for (const Call& call : phase.calls) {
      const bool gathers =
          program.kernels[static_cast<size_t>(call.kernel)].name.find("embedding") != std::string::npos;
      for (size_t i = 0; i < call.buffers.size(); ++i) {
        // A gather reads as much of its table as it writes.
        const int32_t b = gathers && i == 1 ? call.buffers[0] : call.buffers[i];
        if (b >= 0) total += value_of(buffer_bytes(program.buffers[static_cast<size_t>(b)]), values);
      }
    }
  }
  return total;
}

}  // namespace edge_infer
