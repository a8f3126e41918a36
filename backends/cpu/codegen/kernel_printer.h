// Prints statements of a nest as C. One printer per function body; names are made from ids (b0 buffers, s0
// symbols, v0 values, c0 locals, i0 axes, m the work axis), so nothing of a model's naming reaches the text.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/codegen/c_text.h"
#include "compiler/codegen/index_text.h"
#include "compiler/codegen/nest_names.h"
#include "compiler/loop/loop_nest.h"

namespace edge_infer::cpu_codegen {

using codegen::IndexPrinter;
using codegen::lane_step;

// C text of an expression: a scalar or sixteen lanes.
struct Text {
  std::string code;
  bool vector = false;
  bool atomic = true;  // needs no parentheses as an operand
};

class KernelPrinter {
 public:
  KernelPrinter(const loop::LoopNest& nest, int depth);

  // Statements of one row; the text declares m itself or finds it declared.
  void print_body(const loop::Body& body);
  void print_statement(const loop::Stmt& stmt);
  // All rows of [m0, m1); columns of [n0, n1) where the nest splits them.
  void print_rows();
  // `body` with the lanes of `axis` at its current value: sixteen, or `lanes` of them.
  void print_lanes(loop::AxisId axis, bool whole, bool aligned, const loop::Body& body);
  // The values of `e` along `axis` into the elements of its type at `pointer`.
  void print_row(loop::AxisId axis, loop::ExprId e, const std::string& pointer);
  // Makes `id` a variable of the text that sixteen lanes (or one scalar) are in already.
  void define_value(int32_t id, bool vector);

  Lines& out() { return out_; }
  std::string axis_name(loop::AxisId axis) const { return names_.axis_name(axis); }
  std::string index_code(const SymInt& index) const { return index_.print(index); }

  // Whether the work axis itself is what sixteen lanes run over: a nest without an inner loop.
  bool work_in_lanes() const;

 private:
  struct Lanes {
    loop::AxisId axis;
    bool whole;    // all sixteen; else variable `lanes` says how many
    bool aligned;  // the first lane is at a multiple of 16
  };
  enum class Form : uint8_t { kUndefined, kScalar, kVector };

  // kernel_printer.cpp: statements
  void print(const loop::For& loop);
  void print(const loop::Let& let);
  void print(const loop::StoreLocal& store);
  void print(const loop::Store& store);
  void store_element(DType dtype, const std::string& pointer, const SymInt& index, loop::ExprId value,
                     loop::ExprId predicate);
  bool lanes_fit(loop::AxisId axis, const loop::Body& body) const;
  struct Range {
    std::string begin, end;
    std::optional<int64_t> extent;  // number of iterations, where constant
    bool aligned = false;
  };
  Range range_of(loop::AxisId axis) const;
  // A loop over `axis` in vectors: `body` is printed for sixteen lanes, and again for the rest.
  void lane_loop(loop::AxisId axis, const Range& range, const std::function<void()>& body);

  // reduce_printer.cpp
  void print(const loop::Reduce& reduce);
  void print_extreme_index(const loop::Reduce& reduce);
  void print_moments(const loop::Reduce& reduce);
  // Combines what `element` prints for each iteration: the accumulated value, of the lanes or (out of lanes)
  // a scalar.
  std::string accumulate(const loop::Reduce& reduce, loop::ReduceOp op, Lane lane,
                         const std::function<Text(const std::string& accumulator)>& step);
  void reduce_loops(std::span<const loop::AxisId> axes, const std::function<void()>& inner);
  std::string count_of(const loop::Reduce& reduce) const;
  void define(int32_t value, const std::string& code, bool vector);

  // expr_printer.cpp
  void begin_statement(std::initializer_list<loop::ExprId> roots);
  void count_uses(loop::ExprId e);
  Text emit(loop::ExprId e);
  Text emit_new(loop::ExprId e);
  Text element(DType dtype, const std::string& pointer, const SymInt& index, const loop::Expr* predicated);
  Text gather(DType dtype, const std::string& pointer, const SymInt& index, const Text* mask);
  Text size_value(const loop::Expr& e);
  Text unary(const loop::Expr& e);
  Text binary(const loop::Expr& e);
  Text integer_binary(const loop::Expr& e, const Text& a, const Text& b);
  Text select(const loop::Expr& e);
  Text cast(const Text& x, DType from, DType to);
  Text cast_to_float16(const Text& x, DType from, DType to);
  // function(args...) on vectors; the first lane's where all arguments are scalars.
  Text call(std::string_view function, Lane result, std::initializer_list<std::pair<const Text*, Lane>> args,
            std::string_view extra = "");
  Text infix(const Text& a, std::string_view op, const Text& b, Lane lane, Lane result);
  std::string as_vector(const Text& x, Lane lane) const;
  std::string as_operand(const Text& x) const;
  Text named(const Text& x, Lane lane);
  std::string fresh(std::string_view prefix);
  std::optional<SymInt> step_of(const SymInt& index) const;
  bool varies(std::string_view symbol) const;
  // The index in lane `l` of the current vector, for loops over lanes.
  std::string index_in_lane(const SymInt& index) const;
  std::string symbol_name(std::string_view symbol, bool in_lane) const;
  const char* lane_end() const { return lanes_->whole ? "16" : "lanes"; }

  const loop::LoopNest& nest_;
  Lines out_;
  codegen::NestNames names_;
  IndexPrinter index_, lane_index_;
  std::optional<Lanes> lanes_;
  std::vector<Form> forms_;
  std::map<loop::AxisId, Range> bounds_;  // in place of the axis' own, while a reduction goes in blocks
  std::map<loop::ExprId, int> uses_;
  std::map<loop::ExprId, Text> known_;
  int fresh_ = 0;
};

}  // namespace edge_infer::cpu_codegen
