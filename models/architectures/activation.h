// Activations by the names that model files give them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/capture/graph_builder.h"

namespace edge_infer {

// Writes the activation that transformers calls `name` (a value of hidden_act; "identity" is "linear").
// Nothing for a name that is not one of activation_names().
std::optional<ValueId> emit_activation(GraphBuilder& b, ValueId x, std::string_view name);

// "gelu, gelu_python, ...", for messages.
std::string activation_names();

}  // namespace edge_infer
