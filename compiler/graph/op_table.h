// The op table: one row per operator, named as in ATen (`aten.linear`) or ours (`edge.varlen_attention`).
// Everything the system knows of an op hangs from its row: schema with defaults, result types over SymInt,
// the evaluator that defines it, its decomposition and derivative where known, flags.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"

namespace edge_infer {

struct EvaluateContext;  // evaluate.h

enum class OpKind { kPointwise, kReduction, kView, kMatmul, kNormalization, kGather, kAttention, kOther };

struct OperandSchema {
  std::string name;
  bool optional = false;  // may be `none`
  bool variadic = false;  // the last operand may repeat (aten.cat)
};
// kScalar is a bool, an int64 or a double, whichever was written: it takes part in type promotion like ATen's
// Scalar.
enum class AttributeKind { kBool, kInt, kFloat, kScalar, kString, kDType, kInts, kSize, kSizes };
struct AttributeSchema {
  std::string name;
  AttributeKind kind = AttributeKind::kInt;
  Attribute default_value;  // monostate: `none` is the default (unless required)
  bool required = false;
  std::vector<std::string> choices;  // kString: the values allowed
};

// What a shape rule sees of a node.
struct InferContext {
  const OpInfo& op;
  std::span<const TensorType* const> inputs;  // nullptr where `none`
  const Node& node;                           // attributes
  std::span<const Symbol> symbols;            // ranges, for what holds only within them
};
using InferFn = Result<std::vector<TensorType>> (*)(const InferContext&);
using EvaluateFn = Status (*)(const EvaluateContext&);
class GraphBuilder;
// Emits an equivalent of `node` from simpler ops; the results in order.
using DecomposeFn = Result<std::vector<ValueId>> (*)(GraphBuilder&, const Node& node,
                                                     std::span<const ValueId> inputs);
// Emits the gradients of the inputs (kNoValue where none) from those of the outputs.
using DerivativeFn = Result<std::vector<ValueId>> (*)(GraphBuilder&, const Node& node,
                                                      std::span<const ValueId> inputs,
                                                      std::span<const ValueId> outputs,
                                                      std::span<const ValueId> grads);

struct OpInfo {
  std::string name;
  OpKind kind = OpKind::kOther;
  std::vector<OperandSchema> operands{};
  std::vector<AttributeSchema> attributes{};
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

// Checks names and alternatives against the schema, widens (an int where a float or a size is wanted), sorts
// into schema order and leaves defaults out. Errors: kInvalidArgument naming op and attribute.
Result<Attributes> normalize_attributes(const OpInfo& op, Attributes attributes);
// Whether that many operands, with `none` where an id is kNoValue, fit the schema.
Status check_operands(const OpInfo& op, std::span<const ValueId> inputs);
// Result types of a node whose operands and attributes were checked. Errors name the op and the sizes or
// types.
Result<std::vector<TensorType>> infer_types(const Graph& graph, const Node& node);

}  // namespace edge_infer
