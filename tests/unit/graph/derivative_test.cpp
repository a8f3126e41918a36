// Derivatives of the op table, compared with central differences of evaluate() in f64.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "compiler/graph/evaluate.h"
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/op_table.h"
#include "compiler/graph/parse.h"
#include "compiler/graph/print.h"
#include "compiler/graph/verify.h"

namespace edge_infer {
namespace {

struct Case {
  const char* inputs;  // types of %a, %b, ...: f64 ones get gradients
  const char* node;
  const char* types;
};

const Case kCases[] = {
    {"f64[3, 4]; f64[4]", "aten.add(%a, %b)", "f64[3, 4]"},
    {"f64[3, 1]; f64[1, 4]", "aten.sub(%a, %b)", "f64[3, 4]"},
    {"f64[3, 4]; f64[4]", "aten.mul(%a, %b)", "f64[3, 4]"},
    {"f64[3, 4]; f64[]", "aten.div(%a, %b)", "f64[3, 4]"},
    {"f64[3, 4]; f64[4]", "aten.pow(%a, %b)", "f64[3, 4]"},
    {"f64[3, 4]; f64[3, 4]", "aten.maximum(%a, %b)", "f64[3, 4]"},
    {"f64[3, 4]; f64[3, 4]", "aten.minimum(%a, %b)", "f64[3, 4]"},
    {"f64[3, 4]; f64[4]", "aten.atan2(%a, %b)", "f64[3, 4]"},
    {"f64[3, 4]", "aten.add.Scalar(%a, scalar=2.0)", "f64[3, 4]"},
    {"f64[3, 4]", "aten.sub.Scalar(%a, scalar=2.0)", "f64[3, 4]"},
    {"f64[3, 4]", "aten.mul.Scalar(%a, scalar=-0.3)", "f64[3, 4]"},
    {"f64[3, 4]", "aten.div.Scalar(%a, scalar=-0.3)", "f64[3, 4]"},
    {"f64[3, 4]", "aten.pow.Scalar(%a, scalar=2.5)", "f64[3, 4]"},
    {"f64[3, 4]", "aten.clamp(%a, min=0.8, max=1.5)", "f64[3, 4]"},
    {"f64[3, 4]", "aten.clamp_min(%a, min=0.8)", "f64[3, 4]"},
    {"f64[3, 4]", "aten.clamp_max(%a, max=1.5)", "f64[3, 4]"},
    {"f64[5]", "aten.neg(%a)", "f64[5]"},
    {"f64[5]", "aten.abs(%a)", "f64[5]"},
    {"f64[5]", "aten.sign(%a)", "f64[5]"},
    {"f64[5]", "aten.sqrt(%a)", "f64[5]"},
    {"f64[5]", "aten.rsqrt(%a)", "f64[5]"},
    {"f64[5]", "aten.reciprocal(%a)", "f64[5]"},
    {"f64[5]", "aten.exp(%a)", "f64[5]"},
    {"f64[5]", "aten.exp2(%a)", "f64[5]"},
    {"f64[5]", "aten.log(%a)", "f64[5]"},
    {"f64[5]", "aten.log1p(%a)", "f64[5]"},
    {"f64[5]", "aten.tanh(%a)", "f64[5]"},
    {"f64[5]", "aten.erf(%a)", "f64[5]"},
    {"f64[5]", "aten.sin(%a)", "f64[5]"},
    {"f64[5]", "aten.cos(%a)", "f64[5]"},
    {"f64[5]", "aten.sigmoid(%a)", "f64[5]"},
    {"f64[5]", "aten.relu(%a)", "f64[5]"},
    {"f64[5]", "aten.silu(%a)", "f64[5]"},
    {"f64[5]", "aten.gelu(%a)", "f64[5]"},
    {"f64[5]", "aten.gelu(%a, approximate=\"tanh\")", "f64[5]"},
    {"f64[2, 6]", "aten.view(%a, size=[3, 4])", "f64[3, 4]"},
    {"f64[2, 3, 4]", "aten.permute(%a, dims=[2, 0, 1])", "f64[4, 2, 3]"},
    {"f64[2, 3, 4]", "aten.transpose(%a, dim0=0, dim1=2)", "f64[4, 3, 2]"},
    {"f64[5, 2]", "aten.slice(%a, start=1, end=-1)", "f64[3, 2]"},
    {"f64[5, 2]", "aten.select(%a, dim=0, index=-1)", "f64[2]"},
    {"f64[3, 1]", "aten.expand(%a, size=[2, 3, 4])", "f64[2, 3, 4]"},
    {"f64[3, 2]", "aten.unsqueeze(%a, dim=1)", "f64[3, 1, 2]"},
    {"f64[3, 1]", "aten.squeeze(%a)", "f64[3]"},
    {"f64[2, 3]; f64[2, 1]", "aten.cat(%a, %b, dim=1)", "f64[2, 4]"},
    {"f64[5]", "aten.clone(%a)", "f64[5]"},
    {"f64[5]", "aten._to_copy(%a, dtype=f64)", "f64[5]"},
    {"f64[2, 3, 4]", "aten.sum(%a, dim=[0, 2])", "f64[3]"},
    {"f64[2, 3, 4]", "aten.mean(%a, dim=[1], keepdim=true)", "f64[2, 1, 4]"},
    {"f64[3, 4]", "aten.mean(%a)", "f64[]"},
    {"f64[3, 4]", "aten.amax(%a, dim=[1])", "f64[3]"},
    {"f64[3, 4]", "aten.amin(%a, dim=[0])", "f64[4]"},
    {"f64[3, 4]", "aten.var(%a, dim=[1])", "f64[3]"},
    {"f64[3, 4]", "aten.linalg_vector_norm(%a, dim=[1])", "f64[3]"},
    {"f64[2, 3]; f64[3, 4]", "aten.mm(%a, %b)", "f64[2, 4]"},
    {"f64[2, 2, 3]; f64[2, 3, 2]", "aten.bmm(%a, %b)", "f64[2, 2, 2]"},
    {"f64[2, 1, 2, 3]; f64[2, 3, 2]", "aten.matmul(%a, %b)", "f64[2, 2, 2, 2]"},
    {"f64[3]; f64[3, 2]", "aten.matmul(%a, %b)", "f64[2]"},
    {"f64[2, 3]; f64[3]", "aten.matmul(%a, %b)", "f64[2]"},
    {"f64[3]; f64[3]", "aten.matmul(%a, %b)", "f64[]"},
    {"f64[3]; f64[2, 4]; f64[4, 3]", "aten.addmm(%a, %b, %c, beta=0.5, alpha=2.0)", "f64[2, 3]"},
    {"f64[2, 2, 3]; f64[4, 3]; f64[4]", "aten.linear(%a, %b, %c)", "f64[2, 2, 4]"},
    {"f64[2, 5]; f64[5]; f64[5]", "aten.layer_norm(%a, %b, %c, normalized_shape=[5])", "f64[2, 5]"},
    {"f64[2, 5]", "aten.layer_norm(%a, normalized_shape=[5])", "f64[2, 5]"},
    {"f64[2, 5]; f64[5]", "edge.rms_norm(%a, %b)", "f64[2, 5]"},
    {"f64[2, 5]", "aten.softmax(%a, dim=-1)", "f64[2, 5]"},
    {"f64[2, 5]", "aten.log_softmax(%a, dim=0)", "f64[2, 5]"},
    {"f64[3, 8]; i32[3]", "edge.rope(%a, %b, head_dim=4)", "f64[3, 8]"},
    {"bool[4]; f64[3, 4]; f64[4]", "aten.where(%a, %b, %c)", "f64[3, 4]"},
    {"f64[5]", "aten.floor(%a)", "f64[5]"},
};

class Check {
 public:
  explicit Check(const Case& c) {
    std::string inputs;
    std::string types = c.inputs;
    for (char name = 'a'; !types.empty(); ++name) {
      const size_t end = std::min(types.find("; "), types.size());
      inputs += (name > 'a' ? ", %" : "%") + std::string(1, name) + ": " + types.substr(0, end);
      types = types.substr(std::min(end + 2, types.size()));
    }
    text_ = "graph @g(" + inputs + ") {\n  %y = " + c.node + " : " + c.types + "\n  return %y\n}\n";
  }

  void run(std::set<std::string>& covered) {
    auto graph = parse_graph(text_);
    ASSERT_TRUE(graph) << text_ << graph.error().message;
    ASSERT_TRUE(verify(*graph)) << text_;
    const Node node = graph->node(0);
    ASSERT_NE(node.op->derivative, nullptr) << text_;
    covered.insert(node.op->name);
    fill(*graph);

    // The loss is sum(y * weight), so that weight is the gradient of y.
    Graph backward = *graph;
    GraphBuilder b(backward);
    const TensorType y = backward.value(node.outputs[0]).type;
    const ValueId weight = b.input("weight", DType::kF64, y.sizes);
    const auto grads = node.op->derivative(b, node, node.inputs, node.outputs, std::vector{weight});
    ASSERT_TRUE(grads) << text_ << grads.error().message;
    ASSERT_EQ(b.error(), nullptr) << text_ << b.error()->message;
    ASSERT_EQ(grads->size(), node.inputs.size());
    backward.outputs().clear();
    std::vector<size_t> with_grad;
    for (size_t i = 0; i < grads->size(); ++i) {
      const bool floating =
          node.inputs[i] != kNoValue && is_floating(graph->value(node.inputs[i]).type.dtype);
      ASSERT_EQ((*grads)[i] != kNoValue, floating) << text_ << "operand " << i;
      if (!floating) continue;
      backward.add_output({(*grads)[i]});
      with_grad.push_back(i);
    }
    ASSERT_TRUE(verify(backward)) << print(backward) << verify(backward).error().message;
    auto inputs = inputs_;
    inputs.push_back(random(sizes_of(y), 0.5, 1.5));
    const auto results = evaluate(backward, inputs, {});
    ASSERT_TRUE(results) << print(backward) << results.error().message;
    const auto weights = inputs.back().to_doubles();
    for (size_t k = 0; k < with_grad.size(); ++k) compare(*graph, with_grad[k], weights, (*results)[k]);
  }

 private:
  static std::vector<int64_t> sizes_of(const TensorType& type) {
    std::vector<int64_t> sizes;
    for (const SymInt& size : type.sizes) sizes.push_back(*size.constant());
    return sizes;
  }
  HostTensor random(std::vector<int64_t> sizes, double lo, double hi) {
    HostTensor tensor = *make_host_tensor(DType::kF64, std::move(sizes));
    std::vector<double> values(static_cast<size_t>(tensor.elements()));
    for (double& v : values) v = std::uniform_real_distribution(lo, hi)(random_);
    tensor.store(values);
    return tensor;
  }
  void fill(const Graph& graph) {
    for (const GraphInput& input : graph.inputs()) {
      const TensorType& type = graph.value(input.value).type;
      HostTensor tensor = random(sizes_of(type), 0.6, 1.9);
      if (!is_floating(type.dtype)) {
        HostTensor integers = *make_host_tensor(type.dtype, tensor.sizes);
        std::vector<int64_t> values;
        for (int64_t i = 0; i < integers.elements(); ++i) values.push_back(i % 2 == 0 ? i : 0);
        integers.store(values);
        tensor = integers;
      }
      inputs_.push_back(tensor);
    }
  }
  double loss(const Graph& graph, const std::vector<HostTensor>& inputs, const std::vector<double>& weights) {
    const auto y = (*evaluate(graph, inputs, {}))[0].to_doubles();
    double sum = 0;
    for (size_t i = 0; i < y.size(); ++i) sum += y[i] * weights[i];
    return sum;
  }
  void compare(const Graph& graph, size_t operand, const std::vector<double>& weights,
               const HostTensor& grad) {
    constexpr double kStep = 1e-5;
    const auto found = grad.to_doubles();
    auto inputs = inputs_;
    auto values = inputs[operand].to_doubles();
    ASSERT_EQ(found.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const double at = values[i];
      values[i] = at + kStep;
      inputs[operand].store(values);
      const double up = loss(graph, inputs, weights);
      values[i] = at - kStep;
      inputs[operand].store(values);
      const double down = loss(graph, inputs, weights);
      values[i] = at;
      const double expected = (up - down) / (2 * kStep);
      EXPECT_NEAR(found[i], expected, 1e-7 * (1 + std::fabs(expected)))
          << text_ << "operand " << operand << " at " << i;
    }
  }

  std::string text_;
  std::vector<HostTensor> inputs_;
  std::mt19937 random_{11};
};

TEST(Derivative, agrees_with_central_differences) {
  std::set<std::string> covered;
  for (const Case& c : kCases) Check(c).run(covered);
  // Ops whose gradient is known to be none, and the split, which has several results.
  const std::set<std::string> elsewhere = {"aten.eq",          "aten.ne",
                                           "aten.lt",          "aten.le",
                                           "aten.gt",          "aten.ge",
                                           "aten.eq.Scalar",   "aten.ne.Scalar",
                                           "aten.lt.Scalar",   "aten.le.Scalar",
                                           "aten.gt.Scalar",   "aten.ge.Scalar",
                                           "aten.logical_and", "aten.logical_or",
                                           "aten.logical_not", "aten.bitwise_and",
                                           "aten.bitwise_or",  "aten.bitwise_xor",
                                           "aten.isnan",       "aten.any",
                                           "aten.all",         "aten.argmax",
                                           "aten.argmin",      "aten.full",
                                           "aten.arange",      "aten.split_with_sizes",
                                           "aten.ceil",        "aten.round"};
  for (const OpInfo& op : op_table())
    EXPECT_EQ(op.derivative != nullptr, covered.contains(op.name) || elsewhere.contains(op.name)) << op.name;
}

TEST(Derivative, of_a_split_joins_the_parts_and_fills_missing_ones_with_zeros) {
  auto graph = parse_graph(
      "graph @g(%x: f32[2, 5], %g: f32[2, 3]) {\n  %a, %b = aten.split_with_sizes(%x, split_sizes=[3, 2], "
      "dim=1) : "
      "f32[2, 3], f32[2, 2]\n  return %a\n}\n");
  ASSERT_TRUE(graph);
  GraphBuilder b(*graph);
  const Node node = graph->node(0);
  const auto grads =
      node.op->derivative(b, node, node.inputs, node.outputs, std::vector{*graph->find("g"), kNoValue});
  ASSERT_TRUE(grads);
  graph->outputs() = {{(*grads)[0]}};
  ASSERT_TRUE(verify(*graph));
  HostTensor x = *make_host_tensor(DType::kF32, {2, 5}), g = *make_host_tensor(DType::kF32, {2, 3});
  g.store(std::vector<double>{1, 2, 3, 4, 5, 6});
  const auto result = evaluate(*graph, std::vector{x, g}, {});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ((*result)[0].to_doubles(), (std::vector<double>{1, 2, 3, 0, 0, 4, 5, 6, 0, 0}));
}

}  // namespace
}  // namespace edge_infer
