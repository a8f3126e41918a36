// What can be proved about an index that is affine in the axes around it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/loop/loop_nest.h"

namespace edge_infer::loop {

// Loops around an access, outermost first.
using AxisScope = std::span<const Axis* const>;

// e = coefficient * name + rest where neither names `name`; nullopt where e is not affine in it.
struct AffineTerm {
  SymInt coefficient, rest;
};
std::optional<AffineTerm> affine_in(const SymInt& e, const std::string& name);

// A failure that is certain to happen: the message, or nullopt. `index` must be inside [0, size).
std::optional<std::string> out_of_bounds(const SymInt& index, const SymInt& size, AxisScope scope,
                                         std::span<const Symbol> symbols);
// Two iterations of `axis`, one of `scope`, that reach the same element with every other axis outside of
// `axis` equal.
std::optional<std::string> meets_itself(const SymInt& index, const Axis& axis, AxisScope scope,
                                        std::span<const Symbol> symbols);

}  // namespace edge_infer::loop
