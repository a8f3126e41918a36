// Index expressions as C, for back ends that print C-like sources: their text, and how they move along the
// lanes of a vector. The prelude of such a source defines the functions that the text calls.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/symbolic/sym_int.h"

namespace edge_infer::codegen {

struct IndexPrinter {
  std::function<std::string(std::string_view)> name;  // C text of a symbol
  std::span<const Symbol> ranges;                     // what is known of the symbols' values

  bool narrow_division = false;  // where 32 bits suffice: udiv32, umod32

  // C text of a 64-bit integer; calls udiv, umod (operands that cannot be negative), floordiv1_i64, mod1_i64,
  // min1_i64 and max1_i64.
  std::string print(const SymInt& index) const;
  // The same with parentheses where it is more than a name or a number.
  std::string operand(const SymInt& index) const;

 private:
  std::string division(const SymInt& atom) const;
};

// How far `index` moves from one lane to the next: lane l is at index + l * step. nullopt where that is no
// affine map. `varies` tells which symbols differ between lanes; only `axis` ascends by one. The axis is a
// multiple of `grain` in the first lane and there are at most `grain` lanes, so that quotients by multiples
// of it stay; 1: nothing is known.
std::optional<SymInt> lane_step(const SymInt& index, std::string_view axis, int64_t grain,
                                const std::function<bool(std::string_view)>& varies);

}  // namespace edge_infer::codegen
