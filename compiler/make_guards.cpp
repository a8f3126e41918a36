#include "compiler/make_guards.h"

#include <optional>

namespace edge_infer {
namespace {

using Kind = Guard::Kind;

// Where a symbol was first seen: size(input, dim) == symbol + plus.
struct FirstUse {
  std::string symbol;
  int16_t input;
  uint8_t dim;
  int64_t plus;
};

void guard_size(GuardSet& set, const Graph& graph, std::vector<FirstUse>& seen, const SymInt& size,
                int16_t input, uint8_t dim, const std::string& origin) {
  if (const auto value = size.constant()) {
    set.add({.kind = Kind::kSizeEqual, .dim = dim, .input = input, .value = *value}, origin);
    return;
  }
  for (const Symbol& s : graph.symbols()) {
    const auto plus = (size - SymInt::symbol(s.name)).constant();
    if (!plus) continue;
    for (const FirstUse& use : seen)
      if (use.symbol == s.name) {
        set.add({.kind = Kind::kSameSize,
                 .dim = dim,
                 .other_dim = use.dim,
                 .input = input,
                 .other_input = use.input,
                 .value = *plus - use.plus},
                origin);
        return;
      }
    const int64_t hi = s.range.hi > INT64_MAX - *plus ? INT64_MAX : s.range.hi + *plus;
    set.add({.kind = Kind::kSizeRange, .dim = dim, .input = input, .value = s.range.lo + *plus, .upper = hi},
            origin);
    seen.push_back({s.name, input, dim, *plus});
    return;
  }
}

}  // namespace

GuardSet make_guards(const Graph& graph, const CallSettings& settings) {
  GuardSet set;
  set.add({.kind = Kind::kInputCount, .value = static_cast<int64_t>(graph.inputs().size())},
          "graph @" + graph.name());
  set.add({.kind = Kind::kPrecision, .value = static_cast<int64_t>(settings.precision)}, "settings");
  set.add({.kind = Kind::kDeterministic, .value = settings.deterministic ? 1 : 0}, "settings");
  std::vector<FirstUse> seen;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& value = graph.value(graph.inputs()[i].value);
    const std::string origin = "input %" + value.name;
    const auto input = static_cast<int16_t>(i);
    set.add({.kind = Kind::kDType, .input = input, .value = static_cast<int64_t>(value.type.dtype)}, origin);
    set.add({.kind = Kind::kRank, .input = input, .value = value.type.rank()}, origin);
    set.add({.kind = Kind::kAlignment, .input = input, .value = dtype_size(value.type.dtype)}, origin);
    for (size_t d = 0; d < value.type.sizes.size(); ++d)
      guard_size(set, graph, seen, value.type.sizes[d], input, static_cast<uint8_t>(d), origin);
  }
  return set;
}

}  // namespace edge_infer
