// SizeTable: the size expressions of a program, each distinct one compiled once. CallSizes: their values in
// one call. What every executor shares, whatever its device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/guards/guard_set.h"
#include "runtime/program/program.h"
#include "runtime/program/unit_list.h"

namespace edge_infer {

// Reused over calls; a call at sizes already seen allocates nothing.
struct CallSizes {
  std::vector<int64_t> symbols;  // of the program, and last the number of workers (1 until it is set)
  std::vector<int64_t> values;   // of the table's expressions
  bool valid = false;            // values hold for symbols
};

class SizeTable {
 public:
  using Index = uint32_t;

  // `program` outlives the table, at the same address, and verifies.
  static Result<SizeTable> compile(const Program& program);

  // The place of an expression; equal ones share it. For use before the first call. Errors: kInvalidArgument
  // for a symbol that the program does not declare, kResourceExhausted for too deep an expression.
  Result<Index> add(const SymInt& expression);
  size_t size() const { return codes_.size(); }

  // Sets the symbols: sizes of inputs, and counts of work units from the inputs' offsets. Errors:
  // kInvalidArgument for a value outside of the symbol's range.
  Status bind_symbols(CallSizes& sizes, std::span<const TensorView> inputs) const;
  // The values for the symbols; does nothing where they are valid.
  void evaluate(CallSizes& sizes) const;
  // That the call's outputs have the sizes that the program computes. Needs valid values.
  Status check_outputs(const CallSizes& sizes, std::span<const TensorView> outputs) const;
  // Offsets that unit list `list` is made of.
  std::span<const int32_t> offsets(size_t list, std::span<const TensorView> inputs) const;

  static constexpr int64_t kBadSize = INT64_MIN;  // the value of an expression that overflows

 private:
  const Program* program_ = nullptr;
  std::vector<SymInt> expressions_;
  std::vector<SymCode> codes_;
  std::vector<size_t> unit_symbols_;              // of each unit list, its count
  std::vector<std::vector<Index>> output_sizes_;  // of each output
};

}  // namespace edge_infer
