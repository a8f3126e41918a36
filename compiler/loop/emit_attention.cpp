#include "compiler/loop/emit_attention.h"

#include <algorithm>

namespace edge_infer::loop {

EmittedNest emit_attention(const Expansion& graph, const Node& node, int64_t block_rows,
                           const Symbol& units) {
  EmittedNest result;
  LoopNest& nest = result.nest;
  nest.accumulation_class = "f32.k1";
  const auto type = [&](ValueId v) -> const TensorType& { return graph.graph.value(v).type; };
  const auto argument = [&](ValueId v, Access access) {
    const auto known = std::find(result.arguments.begin(), result.arguments.end(), v);
    if (known != result.arguments.end()) return static_cast<int32_t>(known - result.arguments.begin());
    result.arguments.push_back(v);
    nest.buffers.push_back({access, graph.stored_dtype(v), type(v).sizes});
    return static_cast<int32_t>(nest.buffers.size()) - 1;
  };
  Attention attention;
  const auto view = [&](size_t operand) {
    const RowView rows = *row_view(graph.graph, node.inputs[operand]);
    return Attention::View{argument(rows.base, Access::kIn), rows.row, rows.offset};
  };
  attention.q = view(0);
  attention.k = view(1);
  attention.v = view(2);
  attention.cu = argument(graph.base(node.inputs[3]), Access::kIndex);
  attention.units = static_cast<int32_t>(nest.buffers.size());
  result.arguments.push_back(kNoValue);
  const SymInt count = SymInt::symbol(units.name);
  nest.buffers.push_back({Access::kIndex, DType::kI32, {count, 2}});
  const ValueId out = node.outputs[0];
  const int64_t width = type(out).sizes[1].constant().value_or(0);
  attention.out = {argument(out, Access::kOut), width, 0};
  attention.heads = attribute_as<int64_t>(node, "heads");
  attention.kv_heads = attribute_as<int64_t>(node, "kv_heads");
  attention.dim = width / attention.heads;
  attention.block_rows = block_rows;
  attention.scale = attribute_as<double>(node, "scale");
  attention.causal = attribute_as<bool>(node, "causal");
  nest.axes.push_back({"m", AxisKind::kWork, 0, count * SymInt(attention.heads)});
  For work{0, {}};
  work.body.push_back({attention});
  nest.body.push_back({std::move(work)});
  for (const Symbol& s : graph.graph.symbols()) {
    const bool used = std::any_of(nest.buffers.begin(), nest.buffers.end(), [&](const Buffer& b) {
      return std::any_of(b.sizes.begin(), b.sizes.end(), [&](const SymInt& size) {
        const auto names = size.symbols();
        return std::find(names.begin(), names.end(), s.name) != names.end();
      });
    });
    if (used) nest.symbols.push_back(s);
  }
  nest.symbols.push_back(units);
  return result;
}

}  // namespace edge_infer::loop
