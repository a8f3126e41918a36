#include "tests/unit/loop_lower/check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/graph/op_table.h"
#include "compiler/graph/parse.h"
#include "compiler/graph/verify.h"
#include "compiler/loop/evaluate.h"
#include "compiler/loop/print.h"
#include "compiler/loop/verify.h"
#include "compiler/passes/passes.h"

namespace edge_infer::loop::test {
namespace {

HostTensor random_tensor(const edge_infer::Value& value, const std::vector<int64_t>& sizes,
                         std::mt19937& random, const SymbolValues& symbols) {
  HostTensor t = *make_host_tensor(value.type.dtype, sizes);
  const auto n = static_cast<size_t>(t.elements());
  if (is_floating(t.dtype)) {
    std::vector<double> values(n);
    for (double& v : values) v = std::uniform_real_distribution<double>(-1, 1)(random);
    t.store(values);
    return t;
  }
  std::vector<int64_t> values(n);
  for (int64_t& v : values) v = static_cast<int64_t>(random() % (t.dtype == DType::kBool ? 2 : 3));
  if (value.name.starts_with("cu")) {
    const int64_t total = symbols.find("T")->second;
    for (size_t i = 0; i < n; ++i) values[i] = total * static_cast<int64_t>(i) / static_cast<int64_t>(n - 1);
  }
  t.store(values);
  return t;
}

}  // namespace

Graph graph_of(std::string_view text) {
  auto graph = parse_graph(text);
  if (!graph) {
    ADD_FAILURE() << graph.error().message << "\n" << text;
    return Graph("none");
  }
  if (const Status status = verify(*graph); !status) ADD_FAILURE() << status.error().message;
  return *std::move(graph);
}

Graph optimized(std::string_view text) {
  Graph graph = graph_of(text);
  const auto reports = run_passes(graph, {});
  if (!reports) ADD_FAILURE() << reports.error().message;
  const auto merged = merge_parallel_linears(graph, {});
  if (!merged) ADD_FAILURE() << merged.error().message;
  return graph;
}

std::string text_of(const LoopProgram& program, const Graph& graph) {
  std::string text;
  for (const LoopNest& nest : program.nests) text += print(nest) + "\n";
  for (const Step& step : program.steps) {
    std::string ops, buffers;
    for (const NodeId id : step.nodes) ops += " %" + graph.value(graph.node(id).outputs[0]).name;
    for (const int32_t b : step.buffers) buffers += fmt::format(" {}", b);
    const std::string name = step.nest >= 0 ? "@" + program.nests[static_cast<size_t>(step.nest)].name
                                            : "prebuilt " + graph.node(step.nodes.front()).op->name;
    text += fmt::format("step {} buffers{} :{}\n", name, buffers, ops);
  }
  for (const Unfused& edge : program.unfused) {
    const auto name = [&](NodeId id) {
      return id == kNoNode ? std::string("input") : "%" + graph.value(graph.node(id).outputs[0]).name;
    };
    text += fmt::format("unfused {} -> {}: {}\n", name(edge.producer), name(edge.consumer), edge.reason);
  }
  return text;
}

int nest_steps(const LoopProgram& program) {
  int count = 0;
  for (const Step& step : program.steps) count += step.nest >= 0;
  return count;
}

std::string difference_from_evaluate(const LoopProgram& program, const Graph& graph,
                                     std::span<const HostTensor> inputs, const TensorMap& constants,
                                     std::span<const double> error_bounds) {
  for (const LoopNest& nest : program.nests)
    if (const Status status = verify(nest); !status) return "verify: " + status.error().message;
  const auto want = evaluate(graph, inputs, constants);
  if (!want) return "evaluate: " + want.error().message;
  const auto got = loop::evaluate(program, graph, inputs, constants);
  if (!got) return "program: " + got.error().message;
  if (got->size() != want->size()) return "number of outputs";
  for (size_t o = 0; o < want->size(); ++o) {
    const HostTensor &a = (*got)[o], &b = (*want)[o];
    if (a.dtype != b.dtype || a.sizes != b.sizes) return fmt::format("type of output {}", o);
    const auto x = a.to_doubles(), y = b.to_doubles();
    for (size_t i = 0; i < x.size(); ++i) {
      const bool narrow = a.dtype == DType::kF16 || a.dtype == DType::kBF16;
      double limit = !is_floating(a.dtype) ? 0 : (narrow ? 1e-2 : 1e-5) * std::fabs(y[i]) + 1e-6;
      if (!error_bounds.empty() && is_floating(a.dtype)) limit += error_bounds[o];
      const bool same =
          x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])) || std::fabs(x[i] - y[i]) <= limit;
      if (!same) return fmt::format("output {} element {}: {} instead of {}", o, i, x[i], y[i]);
    }
  }
  return "";
}

std::string check_graph(const Graph& graph, const LoopProgram& program,
                        const std::vector<SymbolValues>& symbol_values) {
  std::mt19937 random(7);
  TensorMap constants;
  for (const GraphConstant& c : graph.constants()) {
    std::vector<int64_t> sizes;
    for (const SymInt& s : graph.value(c.value).type.sizes) sizes.push_back(*s.constant());
    constants[graph.value(c.value).name] = random_tensor(graph.value(c.value), sizes, random, {});
  }
  for (const SymbolValues& symbols : symbol_values) {
    std::vector<HostTensor> inputs;
    for (const GraphInput& i : graph.inputs()) {
      std::vector<int64_t> sizes;
      for (const SymInt& s : graph.value(i.value).type.sizes) sizes.push_back(*s.evaluate(symbols));
      inputs.push_back(random_tensor(graph.value(i.value), sizes, random, symbols));
    }
    std::string text = difference_from_evaluate(program, graph, inputs, constants);
    if (!text.empty()) {
      for (const auto& [name, v] : symbols) text += fmt::format(" {}={}", name, v);
      return text;
    }
  }
  return "";
}

}  // namespace edge_infer::loop::test
