// The op table: one row per operator, named as in ATen (`aten.linear`) or ours (`edge.varlen_attention`).
// Everything the system knows of an op hangs from its row: schema with defaults, result types over SymInt, the
// evaluator that defines it, its decomposition and derivative where known, flags.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"

namespace edge_infer {

struct HostTensor;  // evaluate.h

enum class OpKind { kPointwise, kReduction, kView, kMatmul, kNormalization, kGather, kAttention, kOther };

struct OperandSchema {
  std::string name;
  bool optional = false;   // may be `none`
  bool variadic = false;   // the last operand may repeat (aten.cat)
};
struct AttributeSchema {
  std::string name;
  Attribute default_value;  // also fixes the alternative
  bool required = false;
};

// What a shape rule sees of a node.
struct InferContext {
  const OpInfo& op;
  std::span<const TensorType* const> inputs;  // nullptr where `none`
  const Node& node;                           // attributes
};
using InferFn = Result<std::vector<TensorType>> (*)(const InferContext&);
using EvaluateFn = Status (*)(const Node& node, std::span<const HostTensor* const> inputs,
                              std::span<HostTensor> outputs);
class GraphBuilder;
// Emits an equivalent of `node` from simpler ops; the results in order.
using DecomposeFn = Result<std::vector<ValueId>> (*)(GraphBuilder&, const Node& node, std::span<const ValueId> inputs);
// Emits the gradients of the inputs (kNoValue where none) from those of the outputs.
using DerivativeFn = Result<std::vector<ValueId>> (*)(GraphBuilder&, const Node& node, std::span<const ValueId> inputs,
                                                      std::span<const ValueId> outputs, std::span<const ValueId> grads);

struct OpInfo {
  std::string name;
  OpKind kind = OpKind::kOther;
  std::vector<OperandSchema> operands;
  std::vector<AttributeSchema> attributes;
  InferFn infer = nullptr;
  EvaluateFn evaluate = nullptr;
  DecomposeFn decompose = nullptr;    // nullptr: primitive
  DerivativeFn derivative = nullptr;  // nullptr: not known
  bool is_commutative = false;
};

// All rows, in a fixed order.
std::span<const OpInfo> op_table();
// nullptr when there is no such op.
const OpInfo* find_op(std::string_view name);

}  // namespace edge_infer
