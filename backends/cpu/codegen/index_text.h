// Index expressions as C: their text, and how they move along the lanes of a vector.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/symbolic/sym_int.h"

namespace edge_infer::cpu_codegen {

struct IndexPrinter {
  std::function<std::string(std::string_view)> name;  // C text of a symbol
  std::span<const Symbol> ranges;                     // what is known of the symbols' values

  // C text of type int64_t. Quotients of what cannot be negative are unsigned divisions.
  std::string print(const SymInt& index) const;
  // The same with parentheses where it is more than a name or a number.
  std::string operand(const SymInt& index) const;

 private:
  std::string division(const SymInt& atom) const;
};

// How far `index` moves from one lane to the next: lane l is at index + l * step. nullopt where that is no
// affine map. `varies` tells which symbols differ between lanes; only `axis` ascends by one. `aligned`: the
// axis is a multiple of 16 in the first lane, so that quotients by multiples of 16 stay.
std::optional<SymInt> lane_step(const SymInt& index, std::string_view axis, bool aligned,
                                const std::function<bool(std::string_view)>& varies);

}  // namespace edge_infer::cpu_codegen
