#include "compiler/graph/print.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "compiler/graph/op_table.h"

namespace edge_infer {
namespace {

bool is_plain(std::string_view name) {
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && c != '_' && c != '.') return false;
  }
  return !name.empty();
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string print_name(std::string_view name) {
  return is_plain(name) ? std::string(name) : quoted(name);
}

std::string print_value(const Graph& graph, ValueId id) {
  if (id == kNoValue) return "none";
  return (graph.is_constant(id) ? "$" : "%") + print_name(graph.value(id).name);
}

std::string print_double(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

template <typename T, typename F>
std::string print_list(const std::vector<T>& items, F&& item) {
  std::string out = "[";
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    out += item(items[i]);
  }
  return out + ']';
}

std::string print_size(const SymInt& size) {
  return size.str();
}

struct AttributePrinter {
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return print_double(value); }
  std::string operator()(const std::string& value) const { return quoted(value); }
  std::string operator()(DType value) const { return std::string(dtype_name(value)); }
  std::string operator()(const std::vector<int64_t>& value) const {
    return print_list(value, [](int64_t v) { return std::to_string(v); });
  }
  std::string operator()(const SymInt& value) const { return value.str(); }
  std::string operator()(const std::vector<SymInt>& value) const { return print_list(value, print_size); }
};

std::string print_symbols(const std::vector<Symbol>& symbols) {
  if (symbols.empty()) return "";
  std::string out = " symbols(";
  for (size_t i = 0; i < symbols.size(); ++i) {
    const Symbol& symbol = symbols[i];
    out += fmt::format("{}{} in {}..{} hint {}", i > 0 ? ", " : "", symbol.name, symbol.range.lo,
                       symbol.range.hi == INT64_MAX ? std::string("inf") : std::to_string(symbol.range.hi),
                       symbol.hint);
  }
  return out + ')';
}

std::string print_return(const Graph& graph) {
  std::string out = "  return";
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const GraphOutput& output = graph.outputs()[i];
    out += (i > 0 ? ", " : " ") + print_value(graph, output.value);
    if (output.kind == OutputKind::kStateUpdate) out += " updates " + print_value(graph, output.state);
    if (output.kind == OutputKind::kSaved) out += " saved";
  }
  return out + "\n";
}

}  // namespace

std::string print(const TensorType& type) {
  return std::string(dtype_name(type.dtype)) + print_list(type.sizes, print_size);
}

std::string print(const Attribute& attribute) {
  return std::visit(AttributePrinter{}, attribute);
}

std::string print_node(const Graph& graph, const Node& node) {
  std::string out;
  for (size_t i = 0; i < node.outputs.size(); ++i)
    out += (i > 0 ? ", " : "") + print_value(graph, node.outputs[i]);
  out += " = " + node.op->name + '(';
  bool first = true;
  const auto separate = [&] {
    if (!first) out += ", ";
    first = false;
  };
  for (const ValueId id : node.inputs) {
    separate();
    out += print_value(graph, id);
  }
  for (const auto& [name, value] : node.attributes) {
    separate();
    out += name + '=' + print(value);
  }
  out += ") : ";
  for (size_t i = 0; i < node.outputs.size(); ++i)
    out += (i > 0 ? ", " : "") + print(graph.value(node.outputs[i]).type);
  return out;
}

std::string print(const Graph& graph) {
  std::string out;
  for (const GraphConstant& constant : graph.constants()) {
    out += "const " + print_value(graph, constant.value) + ": " + print(graph.value(constant.value).type);
    out += constant.kind == ConstantKind::kBuffer ? " buffer\n" : "\n";
  }
  out += "graph @" + print_name(graph.name()) + '(';
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const GraphInput& input = graph.inputs()[i];
    out +=
        (i > 0 ? ", " : "") + print_value(graph, input.value) + ": " + print(graph.value(input.value).type);
    if (input.kind == InputKind::kState) out += " state";
  }
  out += ')' + print_symbols(graph.symbols()) + " {\n";
  for (const Node& node : graph.nodes()) out += "  " + print_node(graph, node) + '\n';
  return out + print_return(graph) + "}\n";
}

}  // namespace edge_infer
