// Activations against what transformers 5 computes in float64.
#include "models/architectures/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "compiler/graph/evaluate.h"

namespace edge_infer {
namespace {

const std::vector<double> kInputs = {-100, -12, -6, -2.5, -1, -0.3, 0, 1e-3, 0.5, 1, 3, 6.5, 20, 100};
const std::vector<double> kErf = {0,
                                  0,
                                  -5.91952586948e-09,
                                  -0.0155241633144,
                                  -0.158655253931,
                                  -0.114626573343,
                                  0,
                                  0.000500398942214,
                                  0.345731230637,
                                  0.841344746069,
                                  2.99595030591,
                                  6.49999999974,
                                  20,
                                  100};
const std::vector<double> kTanhForm = {0,
                                       0,
                                       -8.43964897967e-11,
                                       -0.01508426609,
                                       -0.158808009392,
                                       -0.114629076457,
                                       0,
                                       0.000500398942214,
                                       0.345714009825,
                                       0.841191990608,
                                       2.99636260792,
                                       6.5,
                                       20,
                                       100};
const std::vector<double> kSilu = {-3.72007597602e-42,
                                   -7.37300952266e-05,
                                   -0.0148357389398,
                                   -0.189645450053,
                                   -0.26894142137,
                                   -0.127667244957,
                                   0,
                                   0.000500249999979,
                                   0.311229665601,
                                   0.73105857863,
                                   2.85772238047,
                                   6.49024231533,
                                   19.9999999588,
                                   100};

struct Case {
  const char* name;
  std::vector<double> expected;
};
const std::vector<Case> kCases = {
    {"gelu", kErf},
    {"gelu_python", kErf},
    {"gelu_new", kTanhForm},
    {"gelu_fast", kTanhForm},
    {"gelu_accurate", kTanhForm},
    {"gelu_pytorch_tanh", kTanhForm},
    {"gelu_python_tanh", kTanhForm},
    {"quick_gelu",
     {-1.21081886852e-72, -1.61864178358e-08, -0.000220353549787, -0.0349861650486, -0.154204234067,
      -0.112515864618, 0, 0.000500425499897, 0.350388436606, 0.845795765933, 2.98192869029, 6.4998980689, 20,
      100}},
    {"relu", {0, 0, 0, 0, 0, 0, 0, 0.001, 0.5, 1, 3, 6.5, 20, 100}},
    {"relu6", {0, 0, 0, 0, 0, 0, 0, 0.001, 0.5, 1, 3, 6, 6, 6}},
    {"leaky_relu", {-1, -0.12, -0.06, -0.025, -0.01, -0.003, 0, 0.001, 0.5, 1, 3, 6.5, 20, 100}},
    {"silu", kSilu},
    {"swish", kSilu},
    {"mish",
     {-3.72007597602e-42, -7.37303217319e-05, -0.0148540804794, -0.196816203907, -0.303401461374,
      -0.151133177138, 0, 0.000600319983954, 0.375245211305, 0.865098388267, 2.98653500497, 6.49997070394, 20,
      100}},
    {"tanh",
     {-1, -0.999999999924, -0.999987711651, -0.986614298151, -0.761594155956, -0.291312612452, 0,
      0.000999999666667, 0.46211715726, 0.761594155956, 0.995054753687, 0.999995479351, 1, 1}},
    {"sigmoid",
     {3.72007597602e-44, 6.14417460221e-06, 0.00247262315663, 0.0758581800212, 0.26894142137, 0.425557483188,
      0.5, 0.500249999979, 0.622459331202, 0.73105857863, 0.952574126822, 0.998498817743, 0.999999997939, 1}},
    {"linear", kInputs},
    {"identity", kInputs},
};

TEST(Activation, agrees_with_transformers) {
  const auto n = static_cast<int64_t>(kInputs.size());
  for (const auto& [name, expected] : kCases) {
    GraphBuilder b("activation");
    const ValueId x = b.input("x", DType::kF32, {n});
    const auto y = emit_activation(b, x, name);
    ASSERT_TRUE(y) << name;
    b.output(*y);
    const auto graph = b.finish();
    ASSERT_TRUE(graph) << name << ": " << graph.error().message;
    HostTensor input = *make_host_tensor(DType::kF32, {n});
    input.store(kInputs);
    const auto result = evaluate(*graph, TensorMap{{"x", input}});
    ASSERT_TRUE(result) << name << ": " << result.error().message;
    const std::vector<double> got = result->front().to_doubles();
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(got[i], expected[i], 1e-6 * std::max(1.0, std::abs(expected[i])))
          << name << "(" << kInputs[i] << ")";
  }
}

TEST(Activation, refuses_other_names) {
  GraphBuilder b("activation");
  const ValueId x = b.input("x", DType::kF32, {1});
  for (const char* name : {"", "gelu_zebra", "GELU", "relu2"})
    EXPECT_FALSE(emit_activation(b, x, name)) << name;
  for (const Case& known : kCases)
    EXPECT_NE((", " + activation_names() + ",").find(std::string(", ") + known.name + ","), std::string::npos)
        << known.name;
}

}  // namespace
}  // namespace edge_infer
