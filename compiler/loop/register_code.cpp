#include "compiler/loop/register_code.h"

#include <algorithm>

#include "runtime/symbolic/sym_node.h"

namespace edge_infer::loop {

int64_t IndexCode::evaluate(std::span<const int64_t> variables) const {
  if (general) return general->evaluate(variables);
  int64_t sum = constant;
  for (const Term& term : terms) {
    int64_t product = 0;
    if (__builtin_mul_overflow(term.coefficient, variables[static_cast<size_t>(term.variable)], &product) ||
        __builtin_add_overflow(sum, product, &sum))
      return INT64_MIN;
  }
  return sum;
}

CodeBuilder::CodeBuilder(const LoopNest& nest)
    : nest_(nest), names_(nest.symbols.size() + nest.axes.size() + nest.values.size()) {
  for (size_t i = 0; i < nest.symbols.size(); ++i) names_[i].name = nest.symbols[i].name;
  for (size_t i = 0; i < nest.values.size(); ++i)
    names_[static_cast<size_t>(value_variable(static_cast<int32_t>(i)))].name = "v" + std::to_string(i);
}

void CodeBuilder::enter(AxisId axis) {
  names_[static_cast<size_t>(axis_variable(axis))].name = nest_.axis(axis).name;
}
void CodeBuilder::leave(AxisId axis) {
  names_[static_cast<size_t>(axis_variable(axis))].name.clear();
}

Result<IndexCode> CodeBuilder::index(const SymInt& e) const {
  IndexCode code;
  const Polynomial polynomial = to_polynomial(e);
  code.constant = polynomial.constant;
  for (const SymTerm& term : polynomial.terms) {
    const auto found = std::find_if(names_.begin(), names_.end(), [&](const Symbol& symbol) {
      return term.factors[0].node().kind == SymKind::kSymbol && symbol.name == term.factors[0].node().name;
    });
    if (term.factors.size() > 1 || found == names_.end()) {
      EDGE_INFER_ASSIGN(code.general, SymCode::compile(e, names_));
      return code;
    }
    code.terms.push_back({term.coefficient, static_cast<int32_t>(found - names_.begin())});
  }
  return code;
}

Result<ExprCode> CodeBuilder::expression(ExprId root) const {
  // Operands stand before their users, so ascending ids are an order of evaluation.
  std::vector<ExprId> reached{root};
  std::map<ExprId, int32_t> registers{{root, 0}};
  for (size_t i = 0; i < reached.size(); ++i)
    for (const ExprId operand : nest_.expr(reached[i]).operands)
      if (operand != kNoExpr && registers.emplace(operand, 0).second) reached.push_back(operand);
  ExprCode code;
  for (auto& [id, position] : registers) {
    position = static_cast<int32_t>(code.instructions.size());
    const Expr& e = nest_.expr(id);
    Instruction instruction{e.kind, e.op, e.dtype, e.dtype, {-1, -1, -1}, e.id, -1, {}};
    for (size_t i = 0; i < 3; ++i)
      if (e.operands[i] != kNoExpr) instruction.operands[i] = registers.at(e.operands[i]);
    if (e.operands[0] != kNoExpr) instruction.from = nest_.expr(e.operands[0]).dtype;
    if (e.kind == Expr::Kind::kConst) {
      if (is_floating(e.dtype)) {
        instruction.constant.number = e.number;
      } else {
        instruction.constant.integer = e.integer;
      }
    }
    if (e.kind == Expr::Kind::kSize || e.kind == Expr::Kind::kLoad || e.kind == Expr::Kind::kLocal) {
      EDGE_INFER_ASSIGN(IndexCode index, this->index(e.index));
      instruction.index = static_cast<int32_t>(code.indices.size());
      code.indices.push_back(std::move(index));
    }
    code.instructions.push_back(instruction);
  }
  return code;
}

}  // namespace edge_infer::loop
