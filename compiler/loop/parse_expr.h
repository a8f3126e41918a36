// The expressions of a nest's text.
#pragma once

#include <vector>

#include "compiler/loop/text_cursor.h"

namespace edge_infer::loop {

// What is defined so far, by position; ids may come in any order.
struct Defined {
  std::vector<bool> values, locals;
};

class ExprParser {
 public:
  ExprParser(TextCursor& cursor, LoopNest& nest, const Defined& defined)
      : cursor_(cursor), nest_(nest), defined_(defined), builder_(nest) {}
  // Errors: syntax, undefined names, operands of differing or wrong types, too deep an expression.
  Result<ExprId> expr();

 private:
  Result<ExprId> sum();
  Result<ExprId> product();
  Result<ExprId> sign();
  Result<ExprId> atom();
  Result<ExprId> call(std::string_view word, size_t start);
  Result<ExprId> literal();
  Result<ExprId> access();  // b3[...], c3[...]
  Result<ExprId> guarded_load();
  Result<ExprId> operate(ScalarOp op, size_t start, ExprId a, ExprId b = kNoExpr);
  Result<ExprId> node(Expr expr, size_t start);
  DType dtype(ExprId id) const { return nest_.expr(id).dtype; }

  TextCursor& cursor_;
  LoopNest& nest_;
  const Defined& defined_;
  ExprBuilder builder_;
  std::vector<int> depths_;  // of each node of the nest
  int nesting_ = 0;
};

}  // namespace edge_infer::loop
