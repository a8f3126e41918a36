// SizeClasses: for which sizes the graphs of a program are made. A graph has grids and a block of inputs for
// the largest sizes of its class and serves all smaller ones; the kernels read the actual sizes from device
// memory. So a few graphs serve every call.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/program/program.h"

namespace edge_infer::cuda {

// One value a symbol of a program.
struct SymbolValues {
  static constexpr size_t kMost = 16;
  std::array<int64_t, kMost> of{};
  size_t count = 0;
  std::span<const int64_t> span() const { return {of.data(), count}; }
  // No value is larger than the other's.
  bool within(const SymbolValues& limits) const;
  friend bool operator==(const SymbolValues&, const SymbolValues&) = default;
};

// The leading symbol (the one with the largest range: packed tokens) is cut into at most kMostLimits ranges:
// at powers of two, and where a condition of the program (Phase::when) changes. Calls with few sequences have
// narrower classes in the lowest two ranges: a single query should not start CTAs for a hundred texts.
class SizeClasses {
 public:
  static constexpr size_t kMostLimits = 4;

  // `program` outlives the object. Errors: kUnsupported for more than SymbolValues::kMost symbols.
  static Result<SizeClasses> of(const Program& program);

  // What a program has memory for at first, and the next larger sizes that hold `needed`, too.
  SymbolValues initial_capacity() const;
  SymbolValues grown(const SymbolValues& capacity, const SymbolValues& needed) const;
  // A call that cannot be split: of one sequence, or within what a program has memory for at first.
  bool is_least(const SymbolValues& sizes) const;
  // The limits of the smallest class that holds `sizes`, which are within `capacity`.
  SymbolValues limits_for(const SymbolValues& sizes, const SymbolValues& capacity) const;
  // Classes worth having graphs for before the first call: each once, smallest first.
  std::vector<SymbolValues> all(const SymbolValues& capacity) const;

  size_t leading() const { return leading_; }
  std::span<const int64_t> ladder() const { return ladder_; }

 private:
  // `few` bounds the symbols that count sequences.
  SymbolValues box(int64_t leading, int64_t few, const SymbolValues& capacity) const;
  void set_unit_counts(SymbolValues& values) const;

  const Program* program_ = nullptr;
  size_t leading_ = 0;
  std::vector<int64_t> ladder_;  // ascending, without the capacity itself
  struct UnitCount {
    size_t symbol, sequences;  // positions; sequences: of the symbol that counts the offsets
    int64_t block_rows;
    bool has_sequences;
  };
  std::vector<UnitCount> units_;
};

}  // namespace edge_infer::cuda
