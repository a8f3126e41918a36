// Every pointwise op of the table, made from its schema.
#include <algorithm>

#include "compiler/graph/op_table.h"
#include "tests/conformance/case.h"

namespace edge_infer::test {
namespace {

// Sizes of two operands that broadcast; the second ones serve unary ops, too.
struct Shapes {
  const char* label;
  bool uses_t;
  Sizes first, second;
};
std::vector<Shapes> shapes(const SymInt& t) {
  return {{"[7] [7]", false, {7}, {7}},
          {"[] [3]", false, {}, {3}},
          {"[0,3] [3]", false, {0, 3}, {3}},
          {"[1031] [1]", false, {1031}, {1}},
          {"[3,1,33] [1,6,33]", false, {3, 1, 33}, {1, 6, 33}},
          {"[5,1] [1,130]", false, {5, 1}, {1, 130}},
          {"[T,64] [64]", true, {t, 64}, {64}},
          {"[T,1] [T,70]", true, {t, 1}, {t, 70}},
          {"[2,1,2,1,3,1,2,1] [1,2,1,2,1,2,1,3]", false, {2, 1, 2, 1, 3, 1, 2, 1}, {1, 2, 1, 2, 1, 2, 1, 3}}};
}

bool needs_positive(const std::string& op) {
  return op == "aten.log" || op == "aten.sqrt" || op == "aten.rsqrt" || op.starts_with("aten.pow");
}

// Attribute settings that the schema asks for.
std::vector<std::pair<std::string, Attributes>> settings(const OpInfo& op) {
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(op.attributes, [&](const AttributeSchema& a) { return a.name == name; });
  };
  if (has("scalar"))
    return {{"by 2", {{"scalar", int64_t{2}}}},
            {"by -3", {{"scalar", int64_t{-3}}}},
            {"by 1.5", {{"scalar", 1.5}}},
            {"by true", {{"scalar", true}}}};
  if (has("min") && has("max"))
    return {{"0..2", {{"min", int64_t{0}}, {"max", int64_t{2}}}},
            {"-0.5..", {{"min", -0.5}}},
            {"..1", {{"max", int64_t{1}}}},
            {"3..-3", {{"min", int64_t{3}}, {"max", int64_t{-3}}}}};
  if (has("min")) return {{"-1..", {{"min", int64_t{-1}}}}, {"0.25..", {{"min", 0.25}}}};
  if (has("max")) return {{"..2", {{"max", int64_t{2}}}}, {"..0.25", {{"max", 0.25}}}};
  if (has("approximate")) return {{"erf", {}}, {"tanh", {{"approximate", std::string("tanh")}}}};
  return {{"", {}}};
}

// The operands' dtypes: one for all, or one each.
void add_case(Cases& cases, const OpInfo& op, DType counted, const std::vector<DType>& dtypes, size_t shape,
              const std::pair<std::string, Attributes>& setting, Fill fill) {
  const Shapes plain = shapes(1)[shape];
  std::string label = std::string(plain.label) + " " + setting.first;
  for (const DType dtype : dtypes) label += " " + std::string(dtype_name(dtype));
  if (fill.kind == Fill::kSpecial) label += " special";
  CaseBuilder c(op.name, counted, label);
  const Shapes s = plain.uses_t ? shapes(c.t())[shape] : plain;
  std::vector<ValueId> operands;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const bool condition = op.name == "aten.where" && i == 0;
    // Powers of integers wrap, and a divisor of integers is not 0 (evaluate() refuses it).
    Fill own = fill;
    if (op.name == "aten.pow" && i == 1) own = {Fill::kSmall};
    if (op.name == "aten.remainder" && i == 1 && !is_floating(dtypes.back())) own = {Fill::kPositive};
    const Sizes& sizes = op.operands.size() == 1 ? (shape % 2 == 0 ? s.second : s.first)
                         : i % 2 == 0            ? s.first
                                                 : s.second;
    operands.push_back(
        c.input(condition ? DType::kBool : dtypes[std::min(i, dtypes.size() - 1)], sizes, own));
  }
  if (plain.uses_t) {
    // T must follow from an input's size.
    const bool has_t = std::ranges::any_of(operands, [&](ValueId v) {
      return std::ranges::any_of(c.graph().type(v).sizes,
                                 [](const SymInt& size) { return !size.constant(); });
    });
    if (!has_t) return;
  }
  c.node(std::move(operands), setting.second);
  add(cases, std::move(c));
}

}  // namespace

void add_pointwise_cases(Cases& cases) {
  const std::pair<DType, DType> mixed[] = {{DType::kF32, DType::kI64},  {DType::kI32, DType::kF64},
                                           {DType::kBool, DType::kF32}, {DType::kF16, DType::kBF16},
                                           {DType::kU8, DType::kI8},    {DType::kI32, DType::kI64}};
  for (const OpInfo& op : op_table()) {
    if (op.kind != OpKind::kPointwise || op.name == "aten._to_copy") continue;
    const Fill fill = {needs_positive(op.name) ? Fill::kPositive : Fill::kNormal};
    size_t turn = 0;
    for (const auto& setting : settings(op)) {
      for (const DType dtype : kAllTypes) {
        // All shapes for f32; the other types take turns.
        for (size_t shape = 0; shape < shapes(1).size(); ++shape)
          if (dtype == DType::kF32 || (shape + turn) % 3 == 0)
            add_case(cases, op, dtype, {dtype}, shape, setting, fill);
        ++turn;
        const bool special = !(op.name == "aten.remainder" && !is_floating(dtype)) && dtype != DType::kBool;
        if (special) add_case(cases, op, dtype, {dtype}, 3, setting, {Fill::kSpecial});
        if (special) add_case(cases, op, dtype, {dtype}, 5, setting, {Fill::kSpecial});
      }
      if (op.operands.size() == 2)
        for (const auto& [a, b] : mixed)
          for (const size_t shape : {1U, 4U, 5U}) add_case(cases, op, a, {a, b}, shape, setting, fill);
    }
  }
}

}  // namespace edge_infer::test
