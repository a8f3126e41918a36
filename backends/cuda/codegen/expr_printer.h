// Expressions of a nest as CUDA C++: the text of one thread's scalar value. Names are made from ids (b0
// buffers, s0 symbols, v0 values, c0 locals, m the work axis, i1 other axes), so nothing of a model's naming
// reaches the text. Templates print their epilogues with it: hooks say where leaves come from.
//
//   ExprPrinter printer(nest, out, {.value = [](int32_t v) { return v == gemm.value ? "acc" : ""; }});
//   printer.print(gemm.body);                    // Let and Store statements, one element
// or, statement by statement,
//   printer.begin({store.expr, store.predicate});
//   const std::string x = printer.stored(DType::kF16, store.expr);      // "f16_from_f32(acc + t0)"
//
// Arithmetic is f32 for f16 and bf16 values, which are held as floats that those types can hold; types in
// registers are scalar_type(lane_of(dtype)). The text calls functions of prelude.cu (select_prelude() finds
// them) and CUDA's built-in math, and wants --fmad=false.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/codegen/cuda_text.h"
#include "compiler/codegen/index_text.h"
#include "compiler/codegen/nest_names.h"
#include "compiler/loop/loop_nest.h"

namespace edge_infer::cuda {

// Each may be empty, or return "" for the printer's own text. A text must be an operand: a name, a call, or
// in parentheses. Hooks may add lines to `out`; these stand before the statement that is being printed.
struct ExprHooks {
  // Of a kLoad or kLocal node: its value in registers ("t0[j]"). Predicate and other value of a load are
  // the hook's matter as well.
  std::function<std::string(loop::ExprId)> leaf{};
  // Of any other node that computes: a cheaper form of what it means here ("fast_erf(x)").
  std::function<std::string(loop::ExprId)> node{};
  // Of a value ("acc[j]").
  std::function<std::string(int32_t value)> value{};
  // Of an axis as a number ("(n0 + j)").
  std::function<std::string(loop::AxisId)> axis{};
  // Prints a Store in its own way and returns true.
  std::function<bool(const loop::Store&)> store{};
};

class ExprPrinter {
 public:
  ExprPrinter(const loop::LoopNest& nest, Lines& out, ExprHooks hooks = {});
  ExprPrinter(const ExprPrinter&) = delete;
  ExprPrinter& operator=(const ExprPrinter&) = delete;

  // Begins a statement: what its expressions share becomes a variable.
  void begin(std::initializer_list<loop::ExprId> roots);
  // The value; an operand. May add lines that define variables.
  std::string operand(loop::ExprId e);
  // The same without the parentheses that an operand needs.
  std::string expression(loop::ExprId e);
  // The value as an element of that type in memory: `f16_from_f32(x)`.
  std::string stored(DType dtype, loop::ExprId e);
  // An index, a 64-bit integer; and as an operand.
  std::string index(const SymInt& index) const { return index_.print(index); }
  std::string index_operand(const SymInt& index) const { return index_.operand(index); }

  // `const T v3 = ...;`
  void print(const loop::Let& let);
  // `b3[...] = ...;`, under its predicate where there is one.
  void print(const loop::Store& store);
  // Let and Store statements.
  void print(const loop::Body& body);

  const codegen::NestNames& names() const { return names_; }
  std::string fresh(std::string_view prefix) { return fmt::format("{}{}", prefix, fresh_++); }
  Lines& out() { return out_; }
  ExprHooks& hooks() { return hooks_; }

  // An element `text` of memory as its value in registers, and the other way.
  static std::string loaded(DType dtype, const std::string& text);
  static std::string stored_text(DType dtype, const std::string& text);
  // Conversion with the meaning of a kCast. `x` is an operand.
  static std::string cast(const std::string& x, DType from, DType to);

 private:
  struct Text {
    std::string code;
    bool atomic = true;  // needs no parentheses as an operand
  };
  void count_uses(loop::ExprId e);
  Text emit(loop::ExprId e);
  Text emit_new(loop::ExprId e);
  Text load(const loop::Expr& e);
  Text unary(const loop::Expr& e);
  Text binary(const loop::Expr& e);
  Text float_binary(loop::ScalarOp op, Lane lane, const std::string& a, const std::string& b);
  Text integer_binary(loop::ScalarOp op, DType dtype, const std::string& a, const std::string& b);
  std::string symbol_text(std::string_view symbol) const;

  const loop::LoopNest& nest_;
  Lines& out_;
  ExprHooks hooks_;
  codegen::NestNames names_;
  codegen::IndexPrinter index_;
  std::map<loop::ExprId, int> uses_;
  std::map<loop::ExprId, Text> known_;
  int fresh_ = 0;
};

}  // namespace edge_infer::cuda
