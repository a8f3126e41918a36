#include "compiler/loop/prebuilt_parts.h"

#include <algorithm>
#include <cmath>

#include "compiler/graph/op_table.h"
#include "compiler/loop/index.h"
#include "compiler/loop/pointwise.h"

namespace edge_infer::loop {
namespace {

ValueId as(GraphBuilder& b, ValueId v, DType dtype) {
  return b.type(v).dtype == dtype ? v : b.op("aten._to_copy", {v}, {{"dtype", dtype}});
}
ValueId viewed(GraphBuilder& b, ValueId v, Sizes sizes) {
  return b.op("aten.view", {v}, {{"size", std::move(sizes)}});
}

// Vectors count as one row or one column, which the result lacks.
ValueId matmul(GraphBuilder& b, ValueId x, ValueId y) {
  const DType dtype = b.type(x).dtype, compute = is_floating(dtype) ? compute_dtype(dtype) : dtype;
  Sizes rows = b.type(x).sizes, columns = b.type(y).sizes;
  const bool is_row = rows.size() == 1, is_column = columns.size() == 1;
  if (is_row) rows.insert(rows.begin(), 1);
  if (is_column) columns.emplace_back(1);
  rows.emplace_back(1);
  columns.insert(columns.end() - 2, 1);
  const ValueId products =
      b.op("aten.mul", {viewed(b, as(b, x, compute), rows), viewed(b, as(b, y, compute), columns)});
  ValueId sum = b.op("aten.sum", {products}, {{"dim", std::vector<int64_t>{-2}}});
  if (is_row || is_column) {
    Sizes sizes = b.type(sum).sizes;
    if (is_column) sizes.pop_back();
    if (is_row) sizes.erase(sizes.end() - (is_column ? 1 : 2));
    sum = viewed(b, sum, sizes);
  }
  return as(b, sum, dtype);
}

// The frequencies are rounded once; angles and rotations are f32, as of models in f32.
ValueId rope(GraphBuilder& b, const Node& node, ValueId x, ValueId positions) {
  const TensorType type = b.type(x);
  const DType compute = compute_dtype(type.dtype);
  const int64_t head_dim = attribute_as<int64_t>(node, "head_dim"), pairs = head_dim / 2;
  const bool is_interleaved = attribute_as<bool>(node, "interleaved");
  const SymInt rows = type.sizes[0], heads = floordiv(type.sizes[1], head_dim);
  const double step = -2 * std::log(attribute_as<double>(node, "base")) / static_cast<double>(head_dim);
  const ValueId pair = b.op("aten.arange", {}, {{"end", SymInt(pairs)}, {"dtype", DType::kF64}});
  const ValueId frequency =
      as(b, b.op("aten.exp", {b.op("aten.mul.Scalar", {pair}, {{"scalar", step}})}), compute);
  const ValueId angle = b.op("aten.mul", {viewed(b, as(b, positions, compute), {rows, 1, 1}), frequency});
  const ValueId cosine = b.op("aten.cos", {angle}), sine = b.op("aten.sin", {angle});
  const Sizes split = is_interleaved ? Sizes{rows, heads, pairs, 2} : Sizes{rows, heads, 2, pairs};
  const int64_t dim = is_interleaved ? 3 : 2;
  const ValueId of_pairs = viewed(b, as(b, x, compute), split);
  const auto part = [&](int64_t index) {
    return b.op("aten.select", {of_pairs}, {{"dim", dim}, {"index", SymInt(index)}});
  };
  const ValueId first = part(0), second = part(1);
  const auto product = [&](ValueId a, ValueId c) { return b.op("aten.mul", {a, c}); };
  const ValueId turned_first = b.op("aten.sub", {product(first, cosine), product(second, sine)});
  const ValueId turned_second = b.op("aten.add", {product(second, cosine), product(first, sine)});
  const auto column = [&](ValueId v) { return b.op("aten.unsqueeze", {v}, {{"dim", dim}}); };
  const ValueId turned = b.op("aten.cat", {column(turned_first), column(turned_second)}, {{"dim", dim}});
  return as(b, viewed(b, turned, type.sizes), type.dtype);
}

// Row t less the last offset that is not beyond it.
ValueId packed_positions(GraphBuilder& b, ValueId ids, ValueId offsets) {
  const SymInt rows = b.type(ids).sizes[0], count = b.type(offsets).sizes[0];
  const ValueId row = b.op("aten.arange", {}, {{"end", rows}, {"dtype", DType::kI32}});
  const ValueId offset = viewed(b, offsets, {1, count});
  const ValueId begun = b.op("aten.le", {offset, viewed(b, row, {rows, 1})});
  const ValueId zero =
      b.op("aten.full", {}, {{"size", Sizes{}}, {"fill_value", int64_t{0}}, {"dtype", DType::kI32}});
  const ValueId start =
      b.op("aten.amax", {b.op("aten.where", {begun, offset, zero})}, {{"dim", std::vector<int64_t>{1}}});
  return b.op("aten.sub", {row, start});
}

// Multiply-adds, or elements that are touched. Positions are little work at the hint, and rows times
// sequences in a large batch.
constexpr int64_t kMuch = int64_t{1} << 40;
SymInt work_of(const Graph& graph, const Node& node) {
  const auto sizes = [&](size_t i) { return graph.value(node.inputs[i]).type.sizes; };
  const std::string& op = node.op->name;
  const SymInt results = graph.value(node.outputs[0]).type.elements();
  if (op == "aten.scaled_dot_product_attention") return results * sizes(1)[sizes(1).size() - 2] * 2;
  if (op == "edge.packed_positions") return kMuch;
  if (node.op->kind == OpKind::kMatmul) return results * sizes(op == "aten.addmm" ? 1 : 0).back();
  return results;
}

}  // namespace

bool prefers_prebuilt(const Graph& graph, const Node& node, const LowerOptions& options) {
  if (std::ranges::find(options.prebuilt_ops, node.op->name) == options.prebuilt_ops.end()) return false;
  std::map<std::string, int64_t, std::less<>> hints;
  for (const Symbol& s : graph.symbols()) hints[s.name] = s.hint;
  const auto work = work_of(graph, node).evaluate(hints);
  return !work || *work > options.least_prebuilt_work;
}

std::vector<ValueId> prebuilt_parts(GraphBuilder& b, const Node& node, std::span<const ValueId> in) {
  if (node.op->name == "aten.matmul") return {matmul(b, in[0], in[1])};
  if (node.op->name == "edge.rope") return {rope(b, node, in[0], in[1])};
  if (node.op->name == "edge.packed_positions") return {packed_positions(b, in[0], in[1])};
  return {};
}

}  // namespace edge_infer::loop
