// A conformance case: a graph of one node, operands for several sizes, and how close the result must be.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "compiler/graph/evaluate.h"
#include "compiler/graph/graph_builder.h"
#include "tests/support/tolerances.h"

namespace edge_infer::test {

using Random = std::mt19937_64;
using Sizes = std::vector<SymInt>;

// What an operand holds.
struct Fill {
  enum Kind {
    kNormal,    // floats about 0 with deviation 1; integers -9..9 (0..9 where unsigned)
    kPositive,  // floats 0.1 .. 3; integers 1..9
    kSmall,     // floats -1..1; integers 0..3
    kSpecial,   // kNormal with zeros of both signs, infinities, NaN, halves, large numbers, extremes of
                // integers
    kIndex,     // integers 0 .. limit - 1
    kOffsets,  // cu_seqlens over `total`: ascending from 0, empty sequences excluded where there are rows for
               // all
  } kind = kNormal;
  SymInt limit = 0;
};
inline Fill index_below(SymInt limit) {
  return {Fill::kIndex, std::move(limit)};
}
inline Fill offsets_over(SymInt total) {
  return {Fill::kOffsets, std::move(total)};
}

struct Case {
  std::string op;
  DType dtype;        // what the case is counted under
  std::string label;  // shapes and attributes
  Graph graph;
  std::vector<std::vector<HostTensor>> input_sets;  // one for each assignment of sizes
  TensorMap constants;
  Tolerance tolerance;
};

class CaseBuilder {
 public:
  CaseBuilder(std::string op, DType dtype, std::string label);

  DType dtype() const { return dtype_; }
  GraphBuilder& graph() { return builder_; }
  // Symbols of the sizes, with values tried one after the other: T = 1, 7, 40; B = 1, 3, 2.
  SymInt t();
  SymInt b();
  ValueId input(DType dtype, Sizes sizes, Fill fill = {});
  ValueId constant(DType dtype, Sizes sizes, Fill fill = {});
  // The node under test; its results become the outputs.
  void node(std::vector<ValueId> inputs, Attributes attributes = {});
  // Sums of that many terms stand behind one element.
  void reduces(int64_t terms) {
    arithmetic_ = Arithmetic::kReduction;
    terms_ = terms;
  }
  void moves_data() { arithmetic_ = Arithmetic::kExact; }
  void widen_tolerance(double factor) { factor_ = factor; }

  // Nothing where the op's shape rule refuses the types. Terms of the largest sizes count.
  std::optional<Case> finish();

 private:
  std::string op_;
  DType dtype_;
  std::string label_;
  GraphBuilder builder_;
  std::vector<Fill> fills_, constant_fills_;
  bool uses_t_ = false, uses_b_ = false;
  Arithmetic arithmetic_ = Arithmetic::kElementwise;
  int64_t terms_ = 1;
  double factor_ = 1;
};

HostTensor make_tensor(DType dtype, std::vector<int64_t> sizes, const Fill& fill, int64_t limit,
                       Random& random);

constexpr DType kAllTypes[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI64,
                               DType::kI32, DType::kI16, DType::kI8,  DType::kU8,   DType::kBool};

// The cases of each family of ops; together they must name every op of the table.
using Cases = std::vector<Case>;
void add_pointwise_cases(Cases& cases);
void add_movement_cases(Cases& cases);
void add_reduction_cases(Cases& cases);
void add_matmul_cases(Cases& cases);
void add_row_cases(Cases& cases);     // normalization, softmax, gathers
void add_packed_cases(Cases& cases);  // attention, packed sequences, rope
inline void add(Cases& cases, CaseBuilder&& builder) {
  if (auto made = builder.finish()) cases.push_back(std::move(*made));
}

}  // namespace edge_infer::test
