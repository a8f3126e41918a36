// The names in a nest's index expressions, as the C-like printers write them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/loop/loop_nest.h"
#include "runtime/symbolic/sym_int.h"

namespace edge_infer::codegen {

// Symbols of the nest are s0, s1... in its order, axes i0, i1... (`m` the work axis), values v0, v1... Axes
// of one name (loops one after another) are one variable, that of the first of them. Copies what it needs of
// `nest`.
class NestNames {
 public:
  explicit NestNames(const loop::LoopNest& nest);

  // The text of a symbol of the nest; empty for any other name.
  std::string_view symbol(std::string_view name) const;
  // The first axis of that name; -1 where there is none.
  loop::AxisId axis(std::string_view name) const;
  // The number of a value by its name; -1 where the name is a symbol's or an axis's, or no value's.
  int32_t value(std::string_view name) const;
  std::string axis_name(loop::AxisId axis) const;
  // What is known of symbols, axes and values. Stays where it is as long as this does.
  const std::vector<Symbol>& ranges() const { return ranges_; }

 private:
  std::vector<Symbol> ranges_;
  std::map<std::string, std::string, std::less<>> symbols_;
  std::map<std::string, loop::AxisId, std::less<>> axes_;
  std::vector<std::string> axis_names_;
};

}  // namespace edge_infer::codegen
