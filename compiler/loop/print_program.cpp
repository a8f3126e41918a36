#include <algorithm>

#include "compiler/graph/op_table.h"
#include "compiler/loop/print.h"
#include "compiler/loop/text.h"

namespace edge_infer::loop {
namespace {

const char* role_name(Role role) {
  switch (role) {
    case Role::kInput:
      return "input";
    case Role::kOutput:
      return "output";
    case Role::kTemp:
      return "temp";
    case Role::kConstant:
      return "const";
    case Role::kUnits:
      return "units";
  }
  return "?";
}

class ProgramPrinter {
 public:
  ProgramPrinter(const LoopProgram& program, const Graph& graph) : program_(program), graph_(graph) {}

  std::string text() const {
    std::string out;
    for (const LoopNest& nest : program_.nests) out += print(nest) + '\n';
    out += fmt::format("program @{} class {}", plain_name(program_.name), program_.accumulation_class);
    if (!program_.symbols.empty()) out += " symbols(" + symbols_text(program_.symbols) + ')';
    out += " {\n";
    for (size_t i = 0; i < program_.buffers.size(); ++i)
      out += fmt::format("  b{}: {}\n", i, buffer(program_.buffers[i]));
    for (size_t i = 0; i < program_.steps.size(); ++i)
      out += fmt::format("  s{}: {}\n", i, step(program_.steps[i]));
    for (const Unfused& edge : program_.unfused)
      out += fmt::format("  unfused {} -> {}: {}\n", node(edge.producer), node(edge.consumer), edge.reason);
    return out + "}\n";
  }

 private:
  std::string value(ValueId id) const {
    if (id < 0 || id >= graph_.value_count()) return "none";
    return (graph_.is_constant(id) ? "$" : "%") + plain_name(graph_.value(id).name);
  }

  // `%y=aten.linear`: results and op.
  std::string node(NodeId id) const {
    if (id < 0 || static_cast<size_t>(id) >= graph_.nodes().size()) return "none";
    const Node& n = graph_.node(id);
    std::string out;
    for (const ValueId output : n.outputs) out += (out.empty() ? "" : ",") + value(output);
    return out + '=' + n.op->name;
  }

  std::string buffer(const ProgramBuffer& b) const {
    std::string out =
        std::string(role_name(b.role)) + (b.packed ? " packed " : " ") + type_text(b.dtype, b.sizes);
    if (b.role == Role::kUnits)
      return out + fmt::format(" of {} by {} count {}", value(b.value), b.block_rows, b.count);
    if (b.sources.empty()) return out + " = " + value(b.value);
    for (size_t i = 0; i < b.sources.size(); ++i) out += (i > 0 ? ", " : " = ") + value(b.sources[i]);
    return out;
  }

  // Names are for people and may repeat.
  std::string nest_name(size_t id) const {
    const std::string& name = program_.nests[id].name;
    const auto same = [&](const LoopNest& nest) { return nest.name == name; };
    const bool repeated = std::count_if(program_.nests.begin(), program_.nests.end(), same) > 1;
    return '@' + plain_name(name) + (repeated || name.empty() ? fmt::format("#{}", id) : "");
  }

  static std::string argument(int32_t id) { return id < 0 ? "none" : fmt::format("b{}", id); }

  std::string step(const Step& s) const {
    std::string out;
    const bool is_nest = s.nest >= 0 && static_cast<size_t>(s.nest) < program_.nests.size();
    const bool is_node =
        !s.nodes.empty() && s.nodes[0] >= 0 && static_cast<size_t>(s.nodes[0]) < graph_.nodes().size();
    if (is_nest) {
      out = nest_name(static_cast<size_t>(s.nest));
    } else {
      out = "prebuilt " + (is_node ? graph_.node(s.nodes[0]).op->name : "?");
    }
    const size_t inputs = !is_nest && is_node ? graph_.node(s.nodes[0]).inputs.size() : s.buffers.size();
    out += '(';
    for (size_t i = 0; i < s.buffers.size(); ++i)
      out += (i == 0 ? "" : i == inputs ? " -> " : ", ") + argument(s.buffers[i]);
    out += ')';
    if (is_nest) out += bindings(s, program_.nests[static_cast<size_t>(s.nest)]);
    for (size_t i = 0; i < s.nodes.size(); ++i) out += (i == 0 ? "  // " : ", ") + node(s.nodes[i]);
    return out;
  }

  // Symbols of the nest that are not the program's own of that name.
  static std::string bindings(const Step& s, const LoopNest& nest) {
    std::string out;
    for (size_t i = 0; i < std::min(s.symbols.size(), nest.symbols.size()); ++i)
      if (s.symbols[i] != SymInt::symbol(nest.symbols[i].name))
        out +=
            fmt::format("{}{} = {}", out.empty() ? " with " : ", ", nest.symbols[i].name, s.symbols[i].str());
    return out;
  }

  const LoopProgram& program_;
  const Graph& graph_;
};

}  // namespace

std::string print_loops(const LoopProgram& program, const Graph& graph) {
  return ProgramPrinter(program, graph).text();
}

}  // namespace edge_infer::loop
