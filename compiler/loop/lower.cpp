#include "compiler/loop/lower.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/graph/op_table.h"
#include "compiler/loop/emit_attention.h"
#include "compiler/loop/expand.h"
#include "compiler/loop/fuse.h"
#include "compiler/loop/print.h"

namespace edge_infer::loop {
namespace {

class ProgramWriter {
 public:
  ProgramWriter(const Graph& graph, const Expansion& expansion, const LowerOptions& options)
      : graph_(graph), g_(expansion), options_(options) {}

  Result<LoopProgram> run(Schedule schedule) {
    program_.name = graph_.name();
    program_.accumulation_class = "f32.k1";
    for (const Group& group : schedule.groups)
      if (group.emitted && group.emitted->nest.accumulation_class == options_.half_class)
        program_.accumulation_class = options_.half_class;
    program_.symbols = graph_.symbols();
    buffer_of_.assign(static_cast<size_t>(g_.graph.value_count()), -1);
    for (const GraphInput& i : g_.graph.inputs()) add_buffer(i.value, Role::kInput);
    for (size_t i = 0; i < g_.graph.outputs().size(); ++i) {
      const int32_t b = add_buffer(g_.graph.outputs()[i].value, Role::kOutput);
      program_.buffers[static_cast<size_t>(b)].value = graph_.outputs()[i].value;
    }
    for (Group& group : schedule.groups) EDGE_INFER_RETURN_IF_ERROR(add_step(group));
    program_.unfused = std::move(schedule.unfused);
    return std::move(program_);
  }

 private:
  Sizes own_sizes(ValueId v) const {
    Sizes sizes = g_.graph.value(v).type.sizes;
    for (SymInt& size : sizes) size = size.substitute(g_.symbol_names);
    return sizes;
  }
  int32_t add_buffer(ValueId v, Role role) {
    ProgramBuffer b;
    b.role = role;
    b.dtype = role == Role::kTemp ? g_.stored_dtype(v) : g_.graph.value(v).type.dtype;
    b.sizes = own_sizes(v);
    b.value = g_.original[static_cast<size_t>(v)];
    program_.buffers.push_back(std::move(b));
    const auto id = static_cast<int32_t>(program_.buffers.size()) - 1;
    buffer_of_[static_cast<size_t>(v)] = id;
    return id;
  }
  // The buffer of a value, or of what it is a view of.
  int32_t buffer(ValueId v) {
    if (v == kNoValue) return -1;
    v = g_.base(v);
    const int32_t known = buffer_of_[static_cast<size_t>(v)];
    if (known >= 0) return known;
    const std::vector<ValueId> sources = constant_sources(v);
    const int32_t id = add_buffer(v, sources.empty() ? Role::kTemp : Role::kConstant);
    program_.buffers[static_cast<size_t>(id)].sources = sources;
    return id;
  }
  int32_t packed(ValueId v) {
    for (const auto& [value, id] : packed_)
      if (value == v) return id;
    const int32_t raw = buffer_of_[static_cast<size_t>(v)];
    const int32_t id = add_buffer(v, Role::kConstant);
    buffer_of_[static_cast<size_t>(v)] = raw;
    program_.buffers[static_cast<size_t>(id)].packed = true;
    program_.buffers[static_cast<size_t>(id)].sources = constant_sources(v);
    packed_.emplace_back(v, id);
    return id;
  }
  std::vector<ValueId> constant_sources(ValueId v) const {
    const auto original = [&](ValueId own) { return g_.original[static_cast<size_t>(own)]; };
    if (g_.graph.is_constant(v)) return {original(v)};
    const NodeId producer = g_.graph.value(v).producer;
    if (producer == kNoNode || g_.kind(producer) != NodeKind::kConstant) return {};
    std::vector<ValueId> sources;
    for (const ValueId part : g_.graph.node(producer).inputs) {
      const std::vector<ValueId> behind = constant_sources(part);
      sources.insert(sources.end(), behind.begin(), behind.end());
    }
    return sources;
  }

  Status add_step(Group& group) {
    Step step;
    for (const auto* ids : {&group.nodes, &group.copies})
      for (const NodeId id : *ids)
        if (g_.origin[static_cast<size_t>(id)] != kNoNode)
          step.nodes.push_back(g_.origin[static_cast<size_t>(id)]);
    std::sort(step.nodes.begin(), step.nodes.end());
    step.nodes.erase(std::unique(step.nodes.begin(), step.nodes.end()), step.nodes.end());
    const Node& first = g_.graph.node(group.nodes.front());
    if (!group.emitted && g_.kind(group.nodes.front()) == NodeKind::kPrebuilt) {
      for (const ValueId v : first.inputs) step.buffers.push_back(buffer(v));
      for (const ValueId v : first.outputs) step.buffers.push_back(buffer(v));
      program_.steps.push_back(std::move(step));
      return {};
    }
    int32_t units = -1;
    if (!group.emitted) {
      EDGE_INFER_ASSIGN(const Units found, units_of(first.inputs[3]));
      units = found.buffer;
      group.emitted = emit_attention(g_, first, options_.attention_block_rows, found.symbol);
    }
    const EmittedNest& own = *group.emitted;
    for (size_t i = 0; i < own.arguments.size(); ++i)
      step.buffers.push_back(own.arguments[i] == kNoValue                    ? units
                             : own.nest.buffers[i].access == Access::kPacked ? packed(own.arguments[i])
                                                                             : buffer(own.arguments[i]));
    for (const Symbol& s : own.nest.symbols) {
      const auto renamed = g_.symbol_names.find(s.name);
      step.symbols.push_back(renamed != g_.symbol_names.end() ? renamed->second : SymInt::symbol(s.name));
    }
    step.nest = add_nest(own.nest, step.nodes);
    program_.steps.push_back(std::move(step));
    return {};
  }

  struct Units {
    int32_t buffer = -1;
    Symbol symbol;
  };
  Result<Units> units_of(ValueId cu) {
    const ValueId base = g_.base(cu);
    for (const auto& [value, units] : units_)
      if (value == base) return units;
    Units units;
    int number = 0;
    const auto is_taken = [&](const std::string& name) {
      return std::any_of(program_.symbols.begin(), program_.symbols.end(),
                         [&](const Symbol& s) { return s.name == name; });
    };
    do {
      units.symbol.name = fmt::format("U{}", number++);
    } while (is_taken(units.symbol.name));
    units.symbol.range = {0, int64_t{1} << 24};
    units.symbol.hint = 1;
    program_.symbols.push_back(units.symbol);
    ProgramBuffer b;
    b.role = Role::kUnits;
    b.dtype = DType::kI32;
    b.sizes = {SymInt::symbol(units.symbol.name), 2};
    b.value = g_.original[static_cast<size_t>(base)];
    b.block_rows = options_.attention_block_rows;
    b.count = units.symbol.name;
    program_.buffers.push_back(std::move(b));
    units.buffer = static_cast<int32_t>(program_.buffers.size()) - 1;
    units_.emplace_back(base, units);
    return units;
  }

  // Ops by their names, each once and without its overload, for people: "linear_add_layer_norm".
  std::string name_of(const std::vector<NodeId>& nodes) const {
    constexpr size_t kMostNames = 4;
    std::vector<std::string> names;
    for (const NodeId id : nodes) {
      std::string op = graph_.node(id).op->name;
      op = op.substr(op.find('.') + 1);
      op = op.substr(0, op.find('.'));
      if (std::find(names.begin(), names.end(), op) == names.end()) names.push_back(std::move(op));
    }
    if (names.empty()) return "copy";
    std::string name = names[0];
    for (size_t i = 1; i < std::min(names.size(), kMostNames); ++i) name += '_' + names[i];
    return names.size() > kMostNames ? fmt::format("{}_and_{}", name, names.size() - kMostNames) : name;
  }
  int32_t add_nest(LoopNest nest, const std::vector<NodeId>& nodes) {
    std::string text = print_identity(nest);
    for (size_t i = 0; i < texts_.size(); ++i)
      if (texts_[i] == text) return static_cast<int32_t>(i);
    std::string name = name_of(nodes);
    for (int number = 1; std::any_of(program_.nests.begin(), program_.nests.end(),
                                     [&](const LoopNest& other) { return other.name == name; });)
      name = fmt::format("{}_{}", name_of(nodes), ++number);
    nest.name = std::move(name);
    texts_.push_back(std::move(text));
    program_.nests.push_back(std::move(nest));
    return static_cast<int32_t>(program_.nests.size()) - 1;
  }

  const Graph& graph_;
  const Expansion& g_;
  const LowerOptions& options_;
  LoopProgram program_;
  std::vector<int32_t> buffer_of_;
  std::vector<std::pair<ValueId, int32_t>> packed_;
  std::vector<std::pair<ValueId, Units>> units_;
  std::vector<std::string> texts_;
};

// Attention that the back end refuses.
std::set<NodeId> refused_attention(const Expansion& g, const LowerOptions& options) {
  std::set<NodeId> refused;
  if (!options.accepts) return refused;
  for (NodeId id = 0; id < static_cast<NodeId>(g.graph.nodes().size()); ++id) {
    if (g.kind(id) != NodeKind::kAttention) continue;
    const EmittedNest nest =
        emit_attention(g, g.graph.node(id), options.attention_block_rows, {"U0", {0, 1 << 24}, 1});
    if (!options.accepts(nest.nest)) refused.insert(g.origin[static_cast<size_t>(id)]);
  }
  return refused;
}

}  // namespace

Result<LoopProgram> lower(const Graph& graph, const LowerOptions& options) {
  for (const GraphInput& i : graph.inputs())
    if (i.kind == InputKind::kState)
      return fail(ErrorCode::kUnsupported, "lower @{}: state input %{}", graph.name(),
                  graph.value(i.value).name);
  std::set<NodeId> whole;
  for (;;) {
    EDGE_INFER_ASSIGN(const Expansion expansion, expand(graph, whole, options));
    Schedule groups;
    groups.refused = refused_attention(expansion, options);
    if (groups.refused.empty()) {
      EDGE_INFER_ASSIGN(groups, schedule(expansion, options));
    }
    if (groups.refused.empty()) return ProgramWriter(graph, expansion, options).run(std::move(groups));
    for (const NodeId id : groups.refused)
      if (id == kNoNode || !whole.insert(id).second)
        return fail(ErrorCode::kUnsupported, "lower @{}: a copy of {} has no accepted nest", graph.name(),
                    id == kNoNode ? "an input" : graph.node(id).op->name);
  }
}

}  // namespace edge_infer::loop
