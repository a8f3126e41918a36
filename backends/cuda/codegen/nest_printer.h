// Prints the statements of a plain nest (no gemm, no attention) as CUDA C++, dealt to threads as its NestPlan
// says. Statements of a row are done by all threads of its group alike; lane loops and reductions are shared
// among them; inside of those, and where there are no groups, every thread works for itself.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/codegen/expr_printer.h"
#include "backends/cuda/codegen/nest_plan.h"
#include "compiler/loop/loop_nest.h"

namespace edge_infer::cuda {

class NestPrinter {
 public:
  NestPrinter(const loop::LoopNest& nest, const NestPlan& plan);
  // The loops over the nest's rows, as the body of a function.
  std::string print();

 private:
  // V iterations of an axis done by one thread at once; its values are arrays of V.
  struct Vector {
    loop::AxisId axis;
    int width;
  };

  // nest_printer.cpp: loops and statements
  void print_elements(const loop::For& rows);
  void print_rows(const loop::For& rows);
  // Declares what `body` names of the thread's place and the row's shared memory.
  void print_row_variables(std::string_view body);
  void print_body(const loop::Body& body);
  void print(const loop::For& loop);
  void print(const loop::Let& let);
  void print(const loop::StoreLocal& store);
  void print(const loop::Store& store);
  void print(const loop::DeclareLocal& declare);
  void print(const loop::Reduce& reduce);
  // `acc = acc + x`, fused where x is a product; inside of a statement.
  void add_element(const loop::Reduce& reduce, loop::ReduceOp op, Lane lane, const std::string& accumulator);
  // `body` for the iterations of `axis` that belong to this thread, a vector of them at once.
  void deal(loop::AxisId axis, const std::function<void()>& body);
  void serial(loop::AxisId axis, const std::function<void()>& body);
  void synchronize();
  bool touches_shared(const loop::Stmt& stmt) const;

  // pool_printer.cpp
  void print_pool(const loop::For& loop, const PoolPlan& pool);
  void pool_sum(const loop::Reduce& reduce, const PoolPlan& pool);

  // One statement with its expressions: loads of whole vectors, then `body` once, or for each of the vector's
  // elements j.
  void statement(std::initializer_list<loop::ExprId> roots, const std::function<void()>& body);
  void load_vectors(std::initializer_list<loop::ExprId> roots);
  std::string leaf_text(loop::ExprId e);
  std::string held_element(const loop::Expr& e) const;
  bool varies(std::string_view symbol) const;
  bool is_uniform(const SymInt& index) const;

  // reduce_printer.cpp
  void reduce_value(const loop::Reduce& reduce);
  void reduce_index(const loop::Reduce& reduce);
  void reduce_moments(const loop::Reduce& reduce);
  // Declares `name` and combines into it what `element` prints: the assignment of one iteration to
  // `accumulator`.
  void accumulate(const loop::Reduce& reduce, loop::ReduceOp op, Lane lane, const std::string& name,
                  const std::function<void(const std::string& accumulator)>& element);
  void reduce_loops(std::span<const loop::AxisId> axes, loop::AxisId shared,
                    const std::function<void()>& inner);
  std::string group_reduce(const std::string& value, const char* op) const;
  std::string count_of(const loop::Reduce& reduce) const;
  void declare(const std::string& type, const std::string& name, const std::string& start);
  // The name of value `id` while it is defined: an array's element, or the variable.
  std::string element_of(const std::string& name) const { return vector_ ? name + "[j]" : name; }
  void define(int32_t value);

  const loop::LoopNest& nest_;
  const NestPlan& plan_;
  Lines out_;
  ExprPrinter printer_;
  bool in_group_ = false;         // all threads of a group do the same
  std::optional<Vector> vector_;  // what one thread does at once
  bool dealt_vector_ = false;     // a group's reduction has its operand in vectors: accumulators are single
  bool in_element_ = false;       // inside of the loop over j
  std::string round_;             // variable that counts a dealt axis' turns
  std::vector<bool> varying_;     // values that are arrays
  std::map<loop::ExprId, std::string> loaded_;                          // of the current statement
  std::map<loop::AxisId, std::pair<std::string, std::string>> bounds_;  // in place of the axis' own
};

}  // namespace edge_infer::cuda
