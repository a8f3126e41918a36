#include "compiler/codegen/nest_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace edge_infer::codegen {

using loop::AxisId;

NestNames::NestNames(const loop::LoopNest& nest) : ranges_(nest.symbols) {
  for (size_t i = 0; i < nest.symbols.size(); ++i) symbols_[nest.symbols[i].name] = fmt::format("s{}", i);
  for (size_t i = 0; i < nest.axes.size(); ++i) {
    const loop::Axis& axis = nest.axes[i];
    const SymRange begin = axis.begin.range(ranges_), extent = axis.extent.range(ranges_);
    const SymRange range{begin.lo, extent.hi > begin.lo ? extent.hi - 1 : begin.lo};
    const auto [first, is_first] = axes_.emplace(axis.name, static_cast<AxisId>(i));
    if (is_first) {
      axis_names_.push_back(axis.kind == loop::AxisKind::kWork ? "m" : fmt::format("i{}", i));
      ranges_.push_back({.name = axis.name, .range = range});
    } else {
      axis_names_.push_back(axis_names_[static_cast<size_t>(first->second)]);
      SymRange& known = std::ranges::find(ranges_, axis.name, &Symbol::name)->range;
      known = {std::min(known.lo, range.lo), std::max(known.hi, range.hi)};
    }
  }
  for (size_t i = 0; i < nest.values.size(); ++i)
    ranges_.push_back({.name = fmt::format("v{}", i), .range = {INT64_MIN, INT64_MAX}});
}

std::string_view NestNames::symbol(std::string_view name) const {
  const auto it = symbols_.find(name);
  return it == symbols_.end() ? std::string_view() : it->second;
}

AxisId NestNames::axis(std::string_view name) const {
  const auto it = axes_.find(name);
  return it == axes_.end() ? -1 : it->second;
}

int32_t NestNames::value(std::string_view name) const {
  if (axes_.contains(name) || symbols_.contains(name) || name.size() < 2 || name[0] != 'v') return -1;
  int32_t id = -1;
  std::from_chars(name.data() + 1, name.data() + name.size(), id);
  return id;
}

std::string NestNames::axis_name(AxisId axis) const {
  return axis_names_[static_cast<size_t>(axis)];
}

}  // namespace edge_infer::codegen
