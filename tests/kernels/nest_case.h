// A nest with contents for its buffers, what evaluate() makes of them, and how close a kernel must come.
// Knows no back end.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/graph/host_tensor.h"
#include "compiler/loop/loop_nest.h"

namespace edge_infer::testing {

struct NestCase {
  std::string text;
  std::vector<int64_t> symbols;
  // Replaces the random contents of buffers: index arrays, special numbers.
  std::function<void(std::vector<HostTensor>&)> fill{};
  // Of f32 results; other types have bounds of their own.
  double relative = 2e-5, absolute = 2e-6;
  std::string schedule{};
};

using SymbolMap = std::map<std::string, int64_t, std::less<>>;
SymbolMap symbol_values(const loop::LoopNest& nest, const std::vector<int64_t>& symbols);

struct PreparedCase {
  loop::LoopNest nest;
  std::vector<HostTensor> buffers, expected;
};
// Errors: of a text that does not parse or verify, and evaluate()'s.
Result<PreparedCase> prepare(const NestCase& c);
// "" where the out buffers are as close as the case wants; else the first difference.
std::string compare_outputs(const std::vector<HostTensor>& found, const PreparedCase& prepared,
                            const NestCase& c);

}  // namespace edge_infer::testing
