#include "compiler/loop/expand.h"

#include <algorithm>
#include <cmath>

#include "compiler/graph/graph_builder.h"
#include "compiler/graph/op_table.h"
#include "compiler/graph/ops.h"
#include "compiler/loop/find_half_gemms.h"
#include "compiler/loop/lower.h"
#include "compiler/loop/pointwise.h"
#include "compiler/loop/prebuilt_parts.h"
#include "compiler/loop/text.h"

namespace edge_infer::loop {
namespace {

using Dims = std::vector<int64_t>;

// Ops of expanded graphs alone. loop.moments: mean and sum of squared distances over `dim`, kept as 1.
// loop.size: a SymInt as a tensor without dimensions.
const OpInfo& moments_op() {
  static const OpInfo op{.name = "loop.moments",
                         .kind = OpKind::kReduction,
                         .operands = {{"self"}},
                         .attributes = {{"dim", AttributeKind::kInts, Dims{}, false, {}},
                                        {"keepdim", AttributeKind::kBool, false, false, {}}}};
  return op;
}
const OpInfo& size_op() {
  static const OpInfo op{.name = "loop.size",
                         .attributes = {{"value", AttributeKind::kSize, SymInt(0), false, {}}}};
  return op;
}

// Lower-case letter and digits: what axes and values are named.
using Renames = std::map<std::string, SymInt, std::less<>>;

Attribute renamed(const Attribute& attribute, const Renames& names) {
  if (const auto* size = std::get_if<SymInt>(&attribute)) return size->substitute(names);
  if (const auto* sizes = std::get_if<std::vector<SymInt>>(&attribute)) {
    std::vector<SymInt> result;
    for (const SymInt& size : *sizes) result.push_back(size.substitute(names));
    return result;
  }
  return attribute;
}

class Expander {
 public:
  Expander(const Graph& from, const std::set<NodeId>& whole, const LowerOptions& options)
      : from_(from),
        options_(options),
        whole_(whole),
        out_{Graph(from.name()), {}, {}, {}, {}, {}, {}},
        b_(out_.graph) {
    if (!options.half_class.empty()) half_ = find_half_gemms(from, whole, options.half, options.narrow_temps);
  }

  Result<Expansion> run() {
    rename_symbols();
    map_.assign(static_cast<size_t>(from_.value_count()), kNoValue);
    find_live();
    for (const GraphConstant& c : from_.constants())
      map_[static_cast<size_t>(c.value)] =
          out_.graph.add_constant(from_.value(c.value).name, type_of(c.value), c.kind);
    for (const GraphInput& i : from_.inputs())
      map_[static_cast<size_t>(i.value)] =
          out_.graph.add_input(from_.value(i.value).name, type_of(i.value), i.kind);
    for (NodeId id = 0; id < static_cast<NodeId>(from_.nodes().size()); ++id) {
      if (!live_[static_cast<size_t>(id)]) continue;
      EDGE_INFER_RETURN_IF_ERROR(visit(id));
    }
    add_outputs();
    if (b_.error() != nullptr) return std::unexpected(*b_.error());
    out_.original.assign(static_cast<size_t>(out_.graph.value_count()), kNoValue);
    for (size_t v = 0; v < map_.size(); ++v)
      if (map_[v] != kNoValue && out_.original[static_cast<size_t>(map_[v])] == kNoValue)
        out_.original[static_cast<size_t>(map_[v])] = static_cast<ValueId>(v);
    find_users();
    if (options_.narrow_temps && !options_.half_class.empty()) find_narrow();
    return std::move(out_);
  }

 private:
  void rename_symbols() {
    std::vector<std::string> taken;
    for (const Symbol& s : from_.symbols()) taken.push_back(s.name);
    for (const Symbol& s : from_.symbols()) {
      Symbol own = s;
      if (is_axis_name(s.name)) {
        do {
          own.name = "S_" + own.name;
        } while (std::find(taken.begin(), taken.end(), own.name) != taken.end());
        renames_[s.name] = SymInt::symbol(own.name);
        out_.symbol_names[own.name] = SymInt::symbol(s.name);
      }
      out_.graph.symbols().push_back(std::move(own));
    }
  }

  // Nodes whose results reach an output.
  void find_live() {
    live_.assign(from_.nodes().size(), false);
    std::vector<bool> wanted(static_cast<size_t>(from_.value_count()), false);
    for (const GraphOutput& o : from_.outputs()) wanted[static_cast<size_t>(o.value)] = true;
    for (size_t n = from_.nodes().size(); n-- > 0;) {
      const Node& node = from_.nodes()[n];
      for (const ValueId v : node.outputs)
        if (wanted[static_cast<size_t>(v)]) live_[n] = true;
      if (!live_[n]) continue;
      for (const ValueId v : node.inputs)
        if (v != kNoValue) wanted[static_cast<size_t>(v)] = true;
    }
  }

  TensorType type_of(ValueId v) const {
    TensorType type = from_.value(v).type;
    for (SymInt& size : type.sizes) size = size.substitute(renames_);
    return type;
  }
  ValueId mapped(ValueId v) const { return v == kNoValue ? kNoValue : map_[static_cast<size_t>(v)]; }
  const TensorType& type(ValueId v) const { return out_.graph.value(v).type; }

  ValueId op(std::string_view name, std::vector<ValueId> inputs, Attributes attributes = {}) {
    const ValueId v = b_.op(name, std::move(inputs), std::move(attributes));
    return v;
  }
  ValueId size(const SymInt& value, DType dtype) {
    const NodeId id = out_.graph.add_node(size_op(), {}, {{"value", value}}, {{dtype, {}}});
    return out_.graph.node(id).outputs[0];
  }
  // Arithmetic of compound ops is f32 where the values are narrower.
  ValueId widened(ValueId v) {
    const DType dtype = type(v).dtype, compute = compute_dtype(dtype);
    return compute == dtype ? v : op("aten._to_copy", {v}, {{"dtype", compute}});
  }
  ValueId narrowed(ValueId v, DType dtype) {
    return type(v).dtype == dtype ? v : op("aten._to_copy", {v}, {{"dtype", dtype}});
  }
  ValueId scaled(ValueId v, ValueId by) { return by == kNoValue ? v : op("aten.mul", {v, widened(by)}); }

  // Everything that a node became gets its id and the kind of its op.
  void tag(NodeId origin) {
    while (out_.origin.size() < out_.graph.nodes().size()) {
      const Node& node = out_.graph.nodes()[out_.origin.size()];
      out_.kinds.push_back(kind_of(node, origin));
      out_.origin.push_back(origin);
    }
  }

  bool is_constant(ValueId v) const {
    if (out_.graph.is_constant(v)) return true;
    const NodeId producer = out_.graph.value(v).producer;
    return producer != kNoNode && static_cast<size_t>(producer) < out_.kinds.size() &&
           out_.kind(producer) == NodeKind::kConstant;
  }

  bool is_gemm(const Node& node, const std::vector<ValueId>& in) const {
    if (node.op->name != "aten.linear") return false;
    const TensorType& w = type(in[1]);
    return is_constant(in[1]) && w.dtype == DType::kF32 && type(in[0]).dtype == DType::kF32 &&
           w.sizes[0].constant().value_or(0) > 0 && w.sizes[1].constant().value_or(0) > 0;
  }

  NodeKind kind_of(const Node& node, NodeId origin) const {
    const std::string& name = node.op->name;
    if (whole_.count(origin) > 0) return NodeKind::kPrebuilt;
    if (half_.rounded_weights.count(origin) > 0) return NodeKind::kConstant;
    if (half_.gemms.count(origin) > 0) return NodeKind::kGemm;
    if (is_view(node)) return NodeKind::kView;
    if (is_pointwise(node)) return NodeKind::kPure;
    if (name == "aten.cat") {
      const bool joins_constants =
          attribute_as<int64_t>(node, "dim") == 0 &&
          std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) {
            return out_.graph.is_constant(v) && type(v).dtype == type(node.inputs[0]).dtype;
          });
      return joins_constants ? NodeKind::kConstant : NodeKind::kPure;
    }
    if (name == "aten.full" || name == "aten.arange" || name == "loop.size" || name == "aten.embedding" ||
        name == "aten.index_select" || name == "aten.gather")
      return NodeKind::kPure;
    if (name == "edge.segment_pool") return NodeKind::kPool;
    if (name == "edge.varlen_attention" && type(node.inputs[0]).dtype == DType::kF32)
      return NodeKind::kAttention;
    if (name == "aten.linear") return is_gemm(node, node.inputs) ? NodeKind::kGemm : NodeKind::kPrebuilt;
    if (name == "aten.cumsum") return NodeKind::kScan;
    if (node.op->kind == OpKind::kReduction) return NodeKind::kReduce;
    return NodeKind::kPrebuilt;
  }

  Status visit(NodeId id) {
    const Node& node = from_.node(id);
    std::vector<ValueId> inputs;
    for (const ValueId v : node.inputs) inputs.push_back(mapped(v));
    std::vector<ValueId> results;
    const bool gemm = half_.gemms.count(id) > 0 || is_gemm(node, inputs);
    if (!gemm && prefers_prebuilt(from_, node, options_)) whole_.insert(id);
    if (node.op->name == "aten._to_copy" && !inputs.empty() &&
        (half_.wide_sums.count(from_.value(node.inputs[0]).producer) > 0 ||
         half_.stored_operands.count(id) > 0)) {
      results = {inputs[0]};
    } else if (whole_.count(id) == 0 && !gemm) {
      EDGE_INFER_ASSIGN(results, parts(node, inputs));
      if (b_.error() != nullptr) return std::unexpected(*b_.error());
      if (!results.empty() && has_products(node)) out_.inseparable.insert(id);
    }
    if (results.empty()) {
      copy(node, id, std::move(inputs));
    } else {
      for (size_t i = 0; i < results.size(); ++i) map_[static_cast<size_t>(node.outputs[i])] = results[i];
    }
    tag(id);
    return {};
  }

  void copy(const Node& node, NodeId id, std::vector<ValueId> inputs) {
    Attributes attributes = node.attributes;
    for (auto& [name, value] : attributes) value = renamed(value, renames_);
    std::vector<TensorType> types;
    for (const ValueId v : node.outputs) types.push_back(type_of(v));
    if (half_.wide_sums.count(id) > 0) types[0].dtype = DType::kF32;
    Node probe{node.op, inputs, attributes, {}};
    const bool attention = node.op->name == "edge.varlen_attention" && whole_.count(id) == 0;
    const NodeKind kind = kind_of(probe, id);
    if (kind == NodeKind::kPrebuilt || kind == NodeKind::kAttention) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        ValueId& v = inputs[i];
        if (v == kNoValue) continue;
        const bool fits = attention && i < 3 ? row_view(out_.graph, v).has_value() : has_dense_buffer(v);
        if (!fits) v = op("aten.clone", {v});
      }
      tag_pending(id);
    }
    const NodeId made =
        out_.graph.add_node(*node.op, std::move(inputs), std::move(attributes), std::move(types));
    for (size_t i = 0; i < node.outputs.size(); ++i)
      map_[static_cast<size_t>(node.outputs[i])] = out_.graph.node(made).outputs[i];
  }
  // Copies in front of a prebuilt node are no prebuilt nodes.
  void tag_pending(NodeId origin) {
    while (out_.origin.size() < out_.graph.nodes().size()) {
      out_.kinds.push_back(NodeKind::kPure);
      out_.origin.push_back(origin);
    }
  }
  // The buffer of its base holds the value's elements in order.
  bool has_dense_buffer(ValueId v) const {
    for (;;) {
      const NodeId producer = out_.graph.value(v).producer;
      if (producer == kNoNode || out_.kind(producer) != NodeKind::kView) return true;
      if (!is_reshape(out_.graph.node(producer))) return false;
      v = out_.graph.node(producer).inputs[0];
    }
  }

  // The results from simpler ops; empty where the node stays as it is.
  Result<std::vector<ValueId>> parts(const Node& node, const std::vector<ValueId>& in) {
    const std::string& name = node.op->name;
    if (name == "aten.layer_norm") return std::vector{layer_norm(node, in)};
    if (name == "edge.rms_norm") return std::vector{rms_norm(node, in)};
    if (name == "aten.softmax" || name == "aten.log_softmax") {
      const DType dtype = type(in[0]).dtype;
      const std::vector<ValueId> wide = {widened(in[0])};
      if (type(in[0]).rank() == 0) return std::vector<ValueId>{};
      EDGE_INFER_ASSIGN(auto values, node.op->decompose(b_, node, wide));
      return std::vector{narrowed(values[0], dtype)};
    }
    if (name == "aten.mean") return std::vector{mean(node, in[0])};
    if (name == "aten.var") return std::vector{variance(node, in[0])};
    if (name == "aten.linalg_vector_norm") return std::vector{norm(node, in[0])};
    if (has_products(node) && node.op->decompose != nullptr) return decomposed(node, in);
    return prebuilt_parts(b_, node, in);
  }

  static bool has_products(const Node& node) {
    return node.op->kind == OpKind::kMatmul || node.op->name == "aten.scaled_dot_product_attention";
  }
  // What the op table makes of the node, in parts. f16 and bf16 are computed in f32 and rounded once, at the
  // results.
  Result<std::vector<ValueId>> decomposed(const Node& node, const std::vector<ValueId>& given) {
    const DType dtype = type(given[0]).dtype;
    std::vector<ValueId> in;
    for (const ValueId v : given) in.push_back(v == kNoValue || !is_floating(type(v).dtype) ? v : widened(v));
    Graph alone("parts");
    alone.symbols() = out_.graph.symbols();
    GraphBuilder b(alone);
    std::map<ValueId, ValueId> own{{kNoValue, kNoValue}};
    std::vector<ValueId> operands;
    for (const ValueId v : in) {
      operands.push_back(v == kNoValue ? kNoValue : alone.add_input("x", type(v)));
      own[operands.back()] = v;
    }
    const auto results = node.op->decompose(b, node, operands);
    if (!results && results.error().code == ErrorCode::kUnsupported) return std::vector<ValueId>{};
    if (!results) return std::unexpected(results.error());
    if (b.error() != nullptr) return std::unexpected(*b.error());
    for (const Node& part : alone.nodes()) {
      std::vector<ValueId> inputs;
      for (const ValueId v : part.inputs) inputs.push_back(own.at(v));
      EDGE_INFER_ASSIGN(std::vector<ValueId> values, parts(part, inputs));
      if (values.empty()) {
        std::vector<TensorType> types;
        for (const ValueId v : part.outputs) types.push_back(alone.value(v).type);
        const NodeId made =
            out_.graph.add_node(*part.op, std::move(inputs), part.attributes, std::move(types));
        values = out_.graph.node(made).outputs;
      }
      for (size_t i = 0; i < values.size(); ++i) own[part.outputs[i]] = values[i];
    }
    std::vector<ValueId> values;
    for (const ValueId v : *results)
      values.push_back(is_floating(dtype) ? narrowed(own.at(v), dtype) : own.at(v));
    return values;
  }

  Dims dims_of(const Node& node, ValueId x) const {
    return reduced_dims(attribute_as<Dims>(node, "dim"), type(x).rank()).value_or(Dims{});
  }
  SymInt count(ValueId x, const Dims& dims) const {
    SymInt n = 1;
    for (const int64_t d : dims)
      if (type(x).rank() > 0) n = n * type(x).sizes[static_cast<size_t>(d)];
    return n;
  }
  struct Moments {
    ValueId mean, m2;
  };
  Moments moments(ValueId x, const Dims& dims) {
    const TensorType kept{type(x).dtype, reduced_sizes(type(x).sizes, dims, true)};
    const NodeId id =
        out_.graph.add_node(moments_op(), {x}, {{"dim", dims}, {"keepdim", true}}, {kept, kept});
    return {out_.graph.node(id).outputs[0], out_.graph.node(id).outputs[1]};
  }
  ValueId divided(ValueId sum, const SymInt& by) { return op("aten.div", {sum, size(by, type(sum).dtype)}); }

  ValueId mean(const Node& node, ValueId x) {
    const DType dtype = type(x).dtype;
    const Dims dims = dims_of(node, x);
    const ValueId sum =
        op("aten.sum", {widened(x)}, {{"dim", dims}, {"keepdim", attribute_as<bool>(node, "keepdim")}});
    return narrowed(divided(sum, count(x, dims)), dtype);
  }

  ValueId variance(const Node& node, ValueId x) {
    const DType dtype = type(x).dtype;
    const Dims dims = dims_of(node, x);
    const double correction = attribute_as<double>(node, "correction");
    const ValueId wide = widened(x);
    ValueId m2 = moments(wide, dims).m2;
    const SymInt n = count(x, dims);
    if (correction == std::floor(correction)) {
      const SymInt degrees = n - SymInt(static_cast<int64_t>(correction));
      m2 = divided(m2, max(degrees, 0));
    } else {
      const ValueId degrees = op("aten.sub.Scalar", {size(n, type(wide).dtype)}, {{"scalar", correction}});
      m2 = op("aten.div", {m2, op("aten.clamp", {degrees}, {{"min", 0.0}})});
    }
    if (!attribute_as<bool>(node, "keepdim"))
      m2 = op("aten.view", {m2}, {{"size", reduced_sizes(type(x).sizes, dims, false)}});
    return narrowed(m2, dtype);
  }

  ValueId layer_norm(const Node& node, const std::vector<ValueId>& in) {
    const DType dtype = type(in[0]).dtype;
    const auto trailing = std::ssize(attribute_as<std::vector<SymInt>>(node, "normalized_shape"));
    Dims dims;
    for (int64_t d = type(in[0]).rank() - trailing; d < type(in[0]).rank(); ++d) dims.push_back(d);
    const ValueId x = widened(in[0]);
    const Moments m = moments(x, dims);
    const ValueId variance = divided(m.m2, count(x, dims));
    const ValueId rstd = op(
        "aten.rsqrt", {op("aten.add.Scalar", {variance}, {{"scalar", attribute_as<double>(node, "eps")}})});
    ValueId y = scaled(op("aten.mul", {op("aten.sub", {x, m.mean}), rstd}), in.size() > 1 ? in[1] : kNoValue);
    if (in.size() > 2 && in[2] != kNoValue) y = op("aten.add", {y, widened(in[2])});
    return narrowed(y, dtype);
  }

  ValueId rms_norm(const Node& node, const std::vector<ValueId>& in) {
    const DType dtype = type(in[0]).dtype;
    const ValueId x = widened(in[0]);
    const Dims last = {type(x).rank() - 1};
    const ValueId sum = op("aten.sum", {op("aten.mul", {x, x})}, {{"dim", last}, {"keepdim", true}});
    const ValueId square = divided(sum, count(x, last));
    const ValueId scale =
        op("aten.rsqrt", {op("aten.add.Scalar", {square}, {{"scalar", attribute_as<double>(node, "eps")}})});
    return narrowed(scaled(op("aten.mul", {x, scale}), in.size() > 1 ? in[1] : kNoValue), dtype);
  }

  ValueId norm(const Node& node, ValueId x) {
    const DType dtype = type(x).dtype;
    const double ord = attribute_as<double>(node, "ord");
    const Attributes over = {{"dim", dims_of(node, x)}, {"keepdim", attribute_as<bool>(node, "keepdim")}};
    const ValueId wide = widened(x);
    if (ord == 2)
      return narrowed(op("aten.sqrt", {op("aten.sum", {op("aten.mul", {wide, wide})}, over)}), dtype);
    const ValueId magnitude = op("aten.abs", {wide});
    if (std::isinf(ord)) return narrowed(op(ord > 0 ? "aten.amax" : "aten.amin", {magnitude}, over), dtype);
    if (ord == 1) return narrowed(op("aten.sum", {magnitude}, over), dtype);
    if (ord == 0) {
      const ValueId counted = op("aten._to_copy", {op("aten.ne.Scalar", {wide}, {{"scalar", 0.0}})},
                                 {{"dtype", type(wide).dtype}});
      return narrowed(op("aten.sum", {counted}, over), dtype);
    }
    const ValueId sum = op("aten.sum", {op("aten.pow.Scalar", {magnitude}, {{"scalar", ord}})}, over);
    return narrowed(op("aten.pow.Scalar", {sum}, {{"scalar", 1 / ord}}), dtype);
  }

  // Every output is computed into a buffer of its own.
  void add_outputs() {
    std::set<ValueId> taken;
    for (const GraphOutput& o : from_.outputs()) {
      ValueId v = mapped(o.value);
      const NodeId producer = out_.graph.value(v).producer;
      const bool computed = producer != kNoNode && out_.kind(producer) != NodeKind::kView &&
                            out_.kind(producer) != NodeKind::kConstant;
      if (!computed || taken.count(v) > 0) {
        v = op("aten.clone", {v});
        tag_pending(from_.value(o.value).producer);
      }
      taken.insert(v);
      out_.graph.add_output({v, o.kind, o.state == kNoValue ? kNoValue : mapped(o.state)});
    }
  }

  void find_users() {
    out_.users.assign(static_cast<size_t>(out_.graph.value_count()), {});
    for (NodeId id = 0; id < static_cast<NodeId>(out_.graph.nodes().size()); ++id) {
      if (out_.kind(id) == NodeKind::kView || out_.kind(id) == NodeKind::kConstant) continue;
      for (const ValueId v : out_.graph.node(id).inputs) {
        if (v == kNoValue) continue;
        auto& users = out_.users[static_cast<size_t>(out_.base(v))];
        if (users.empty() || users.back() != id) users.push_back(id);
      }
    }
  }

  void find_narrow() {
    const Graph& g = out_.graph;
    out_.narrow = options_.half;
    out_.is_narrow.assign(static_cast<size_t>(g.value_count()), false);
    std::set<ValueId> kept;
    for (const GraphOutput& o : g.outputs()) kept.insert(out_.base(o.value));
    for (NodeId id = 0; id < static_cast<NodeId>(g.nodes().size()); ++id)
      if (out_.kind(id) == NodeKind::kPrebuilt) {
        for (const ValueId v : g.node(id).inputs)
          if (v != kNoValue) kept.insert(out_.base(v));
        kept.insert(g.node(id).outputs.begin(), g.node(id).outputs.end());
      }
    for (NodeId id = 0; id < static_cast<NodeId>(g.nodes().size()); ++id) {
      if (out_.kind(id) == NodeKind::kView || out_.kind(id) == NodeKind::kConstant) continue;
      for (const ValueId v : g.node(id).outputs) {
        const TensorType& t = type(v);
        const bool wide = t.rank() > 0 && t.sizes.back().constant().value_or(1) > 1;
        out_.is_narrow[static_cast<size_t>(v)] = t.dtype == DType::kF32 && wide && kept.count(v) == 0;
      }
    }
  }

  const Graph& from_;
  const LowerOptions& options_;
  std::set<NodeId> whole_;
  HalfGemms half_;
  Expansion out_;
  GraphBuilder b_;
  Renames renames_;
  std::vector<ValueId> map_;
  std::vector<bool> live_;
};

}  // namespace

ValueId Expansion::base(ValueId v) const {
  for (;;) {
    const NodeId producer = graph.value(v).producer;
    if (producer == kNoNode || kind(producer) != NodeKind::kView) return v;
    v = graph.node(producer).inputs[0];
  }
}

NodeId Expansion::source(ValueId v) const {
  const NodeId producer = graph.value(base(v)).producer;
  return producer != kNoNode && kind(producer) == NodeKind::kConstant ? kNoNode : producer;
}

std::vector<size_t> Expansion::reduced(const Node& node) const {
  const int64_t rank = graph.value(node.inputs[0]).type.rank();
  Dims dims;
  const Attribute& dim = attribute(node, "dim");
  if (const auto* one = std::get_if<int64_t>(&dim)) dims.push_back(*one);
  if (const auto* many = std::get_if<Dims>(&dim)) dims = *many;
  std::vector<size_t> result;
  if (rank == 0) return result;
  for (const int64_t d : reduced_dims(dims, rank).value_or(Dims{})) result.push_back(static_cast<size_t>(d));
  return result;
}

std::optional<RowView> row_view(const Graph& graph, ValueId v) {
  const TensorType& type = graph.value(v).type;
  if (type.rank() != 2) return std::nullopt;
  Bounds bounds(graph.symbols());
  bounds.add("t", 0, type.sizes[0] - 1);
  bounds.add("c", 0, type.sizes[1] - 1);
  const SymInt t = SymInt::symbol("t"), c = SymInt::symbol("c");
  Index index = {t, c};
  for (NodeId producer = graph.value(v).producer; producer != kNoNode && is_view(graph.node(producer));
       producer = graph.value(v).producer) {
    const Node& node = graph.node(producer);
    const auto output =
        static_cast<size_t>(std::find(node.outputs.begin(), node.outputs.end(), v) - node.outputs.begin());
    index = through_view(graph, node, output, index, bounds);
    v = node.inputs[0];
  }
  const SymInt flat = linearize(index, graph.value(v).type.sizes);
  const auto offset = flat.substitute({{"t", 0}, {"c", 0}}).constant();
  const auto next = flat.substitute({{"t", 1}, {"c", 0}}).constant();
  if (!offset || !next || !(flat == t * SymInt(*next - *offset) + c + SymInt(*offset))) return std::nullopt;
  return RowView{v, *next - *offset, *offset};
}

Result<Expansion> expand(const Graph& graph, const std::set<NodeId>& whole, const LowerOptions& options) {
  return Expander(graph, whole, options).run();
}

}  // namespace edge_infer::loop
