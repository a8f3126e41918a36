// Holds evaluate() to what PyTorch computed (tests/data/make_op_vectors.py). Data movement and integers are
// equal. PyTorch's floating values were computed in double and rounded to the result's type, so that each
// differs by its last digit at most; results of sums that cancel have an absolute tolerance as well.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/cli/npz.h"
#include "compiler/graph/op_table.h"
#include "compiler/graph/parse.h"
#include "compiler/graph/print.h"
#include "compiler/graph/verify.h"
#include "compiler/passes/passes.h"

namespace edge_infer {
namespace {

struct Tolerance {
  double relative, absolute;
};
Tolerance tolerance(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {1e-13, 1e-13};
    case DType::kF32:
      return {1.2e-7, 1e-12};  // one unit in the last place
    case DType::kF16:
      return {1e-3, 6e-8};
    case DType::kBF16:
      return {8e-3, 1e-38};
    default:
      return {0, 0};
  }
}

struct Case {
  std::string node;
  TensorMap inputs;
  std::vector<HostTensor> outputs;
  std::string text;        // of the graph
  bool is_native = false;  // PyTorch's own rounding, a few units in the last place
};

std::vector<Case> load_cases() {
  auto arrays = read_npz("tests/data/op_vectors.npz");
  EXPECT_TRUE(arrays) << arrays.error().message;
  if (!arrays) return {};
  const HostTensor& manifest = arrays->at("manifest");
  const auto json =
      nlohmann::json::parse(reinterpret_cast<const char*>(manifest.bytes.data()),
                            reinterpret_cast<const char*>(manifest.bytes.data()) + manifest.bytes.size());
  std::vector<Case> cases;
  const auto type_of = [](const HostTensor& t) {
    return std::string(dtype_name(t.dtype)) + print_sizes(t.sizes);
  };
  for (const auto& entry : json) {
    Case c;
    c.node = entry["node"];
    c.is_native = entry["native"];
    std::string inputs, results, types;
    for (size_t i = 0; i < entry["inputs"].size(); ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      const HostTensor& tensor = arrays->at(entry["inputs"][i][0]);
      EXPECT_EQ(dtype_name(tensor.dtype), entry["inputs"][i][1].get<std::string>());
      inputs += (i > 0 ? ", %" : "%") + name + ": " + type_of(tensor);
      c.inputs[name] = tensor;
    }
    for (size_t i = 0; i < entry["outputs"].size(); ++i) {
      c.outputs.push_back(arrays->at(entry["outputs"][i][0]));
      results += (i > 0 ? ", %y" : "%y") + std::to_string(i);
      types += (i > 0 ? ", " : "") + type_of(c.outputs.back());
    }
    c.text = "graph @g(" + inputs + ") {\n  " + results + " = " + c.node + " : " + types + "\n  return " +
             results + "\n}\n";
    cases.push_back(std::move(c));
  }
  return cases;
}

// "" or the first difference.
std::string difference(const HostTensor& found, const HostTensor& expected, Tolerance t) {
  if (found.dtype != expected.dtype || found.sizes != expected.sizes) return "type differs";
  const auto a = found.to_doubles(), b = expected.to_doubles();
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i] || std::fabs(a[i] - b[i]) <= t.absolute + t.relative * std::fabs(b[i])) continue;
    return fmt::format("element {}: found {:.17g}, expected {:.17g}", i, a[i], b[i]);
  }
  if (!is_floating(found.dtype) && found.to_integers() != expected.to_integers()) return "integers differ";
  return "";
}

TEST(Evaluate, computes_what_pytorch_computes) {
  std::set<std::string> ops;
  for (const Case& c : load_cases()) {
    const auto graph = parse_graph(c.text);
    ASSERT_TRUE(graph) << c.text << graph.error().message;
    const Status status = verify(*graph);
    ASSERT_TRUE(status) << c.text << status.error().message;
    ops.insert(graph->node(0).op->name);
    const auto results = evaluate(*graph, c.inputs);
    ASSERT_TRUE(results) << c.text << results.error().message;
    for (size_t i = 0; i < results->size(); ++i) {
      Tolerance t = tolerance(c.outputs[i].dtype);
      if (c.is_native) t.relative *= 4;
      EXPECT_EQ(difference((*results)[i], c.outputs[i], t), "") << c.text;
    }
  }
  for (const OpInfo& op : op_table()) EXPECT_TRUE(ops.contains(op.name)) << op.name << " has no vectors";
}

// A decomposition rounds at each step; it is compared in the same type with room for that.
TEST(Evaluate, decompositions_compute_the_same) {
  std::set<std::string> decomposed;
  for (const Case& c : load_cases()) {
    auto graph = parse_graph(c.text);
    ASSERT_TRUE(graph);
    const OpInfo& op = *graph->node(0).op;
    if (op.decompose == nullptr) continue;
    const auto changed = decompose(*graph, {});
    ASSERT_TRUE(changed) << c.text << changed.error().message;
    if (!*changed) continue;
    const Status status = verify(*graph);
    ASSERT_TRUE(status) << print(*graph) << status.error().message;
    decomposed.insert(op.name);
    const auto results = evaluate(*graph, c.inputs);
    ASSERT_TRUE(results) << print(*graph) << results.error().message;
    for (size_t i = 0; i < results->size(); ++i) {
      Tolerance t = tolerance(c.outputs[i].dtype);
      t.relative *= 40;
      t.absolute = std::max(t.absolute, t.relative * 10);
      EXPECT_EQ(difference((*results)[i], c.outputs[i], t), "") << print(*graph);
    }
  }
  for (const OpInfo& op : op_table())
    if (op.decompose != nullptr) {
      EXPECT_TRUE(decomposed.contains(op.name)) << op.name;
    }
}

// The default pipeline must not change a result beyond the rounding of x*x for pow(x, 2).
TEST(Evaluate, the_pipeline_keeps_every_result) {
  for (const Case& c : load_cases()) {
    auto graph = parse_graph(c.text);
    ASSERT_TRUE(graph);
    const auto before = evaluate(*graph, c.inputs);
    const auto reports = run_passes(*graph, {});
    ASSERT_TRUE(reports) << c.text << reports.error().message;
    const auto after = evaluate(*graph, c.inputs);
    ASSERT_TRUE(before && after) << print(*graph);
    for (size_t i = 0; i < after->size(); ++i)
      EXPECT_EQ(difference((*after)[i], (*before)[i], {0, 0}), "") << print(*graph);
    const std::string once = print(*graph);
    ASSERT_TRUE(run_passes(*graph, {}));
    EXPECT_EQ(print(*graph), once) << "a second run changed the graph";
  }
}

}  // namespace
}  // namespace edge_infer
