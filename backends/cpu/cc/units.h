// A kernel's source text is one translation unit or more. The first is the kernel's own and defines `k`;
// others are shared: texts that many kernels hold alike, and that a helper compiles once for all of them.
#pragma once

#include <string_view>
#include <vector>

namespace edge_infer {

// Begins each unit but the first. Code generators write it on a line of its own.
inline constexpr std::string_view kUnitMark = "\n//@ unit\n";

// The units of `source`, in order, at least one; the views point into it.
std::vector<std::string_view> split_units(std::string_view source);

}  // namespace edge_infer
