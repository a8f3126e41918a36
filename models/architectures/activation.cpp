#include "models/architectures/activation.h"

#include <algorithm>
#include <array>

namespace edge_infer {
namespace {

ValueId gelu_erf(GraphBuilder& b, ValueId x) {
  return b.op("aten.gelu", {x}, {{"approximate", std::string("none")}});
}
ValueId gelu_tanh(GraphBuilder& b, ValueId x) {
  return b.op("aten.gelu", {x}, {{"approximate", std::string("tanh")}});
}
// x sigmoid(1.702 x)
ValueId quick_gelu(GraphBuilder& b, ValueId x) {
  const ValueId scaled = b.op("aten.mul.Scalar", {x}, {{"scalar", 1.702}});
  return b.op("aten.mul", {x, b.op("aten.sigmoid", {scaled})});
}
ValueId relu(GraphBuilder& b, ValueId x) {
  return b.op("aten.relu", {x});
}
ValueId relu6(GraphBuilder& b, ValueId x) {
  return b.op("aten.clamp", {x}, {{"min", 0.0}, {"max", 6.0}});
}
ValueId leaky_relu(GraphBuilder& b, ValueId x) {
  return b.op("aten.maximum", {x, b.op("aten.mul.Scalar", {x}, {{"scalar", 0.01}})});
}
ValueId silu(GraphBuilder& b, ValueId x) {
  return b.op("aten.silu", {x});
}
// x tanh(softplus(x)). Where exp(x) is infinite, the hyperbolic tangent is 1, as it should be.
ValueId mish(GraphBuilder& b, ValueId x) {
  const ValueId softplus = b.op("aten.log1p", {b.op("aten.exp", {x})});
  return b.op("aten.mul", {x, b.op("aten.tanh", {softplus})});
}
ValueId tanh(GraphBuilder& b, ValueId x) {
  return b.op("aten.tanh", {x});
}
ValueId sigmoid(GraphBuilder& b, ValueId x) {
  return b.op("aten.sigmoid", {x});
}
ValueId identity(GraphBuilder&, ValueId x) {
  return x;
}

struct Activation {
  std::string_view name;
  ValueId (*emit)(GraphBuilder&, ValueId);
};

// transformers has several names for one function: they differ in how it is written, not in what it is.
constexpr std::array<Activation, 18> kActivations = {{
    {"gelu", gelu_erf},
    {"gelu_python", gelu_erf},
    {"gelu_new", gelu_tanh},
    {"gelu_fast", gelu_tanh},
    {"gelu_accurate", gelu_tanh},
    {"gelu_pytorch_tanh", gelu_tanh},
    {"gelu_python_tanh", gelu_tanh},
    {"quick_gelu", quick_gelu},
    {"relu", relu},
    {"relu6", relu6},
    {"leaky_relu", leaky_relu},
    {"silu", silu},
    {"swish", silu},
    {"mish", mish},
    {"tanh", tanh},
    {"sigmoid", sigmoid},
    {"linear", identity},
    {"identity", identity},
}};

}  // namespace

std::optional<ValueId> emit_activation(GraphBuilder& b, ValueId x, std::string_view name) {
  const auto* found = std::ranges::find(kActivations, name, &Activation::name);
  if (found == kActivations.end()) return std::nullopt;
  return found->emit(b, x);
}

std::string activation_names() {
  std::string names;
  for (const Activation& activation : kActivations)
    names += (names.empty() ? "" : ", ") + std::string(activation.name);
  return names;
}

}  // namespace edge_infer
