#include "runtime/guards/guard_set.h"

#include <cstdint>
#include <utility>

#include "runtime/base/text_scanner.h"

namespace edge_infer {
namespace {

int64_t size_at(std::span<const TensorView> inputs, int16_t input, uint8_t dim) {
  return inputs[static_cast<size_t>(input)].sizes[dim];
}

// The quantity that a guard compares.
int64_t observed(const Guard& g, std::span<const TensorView> inputs, const CallSettings& settings) {
  switch (g.kind) {
    case Guard::Kind::kInputCount:
      return static_cast<int64_t>(inputs.size());
    case Guard::Kind::kDType:
      return static_cast<int64_t>(inputs[static_cast<size_t>(g.input)].dtype);
    case Guard::Kind::kRank:
      return static_cast<int64_t>(inputs[static_cast<size_t>(g.input)].sizes.size());
    case Guard::Kind::kSizeEqual:
    case Guard::Kind::kSizeRange:
    case Guard::Kind::kMultipleOf:
      return size_at(inputs, g.input, g.dim);
    case Guard::Kind::kSameSize:
      return size_at(inputs, g.input, g.dim) - size_at(inputs, g.other_input, g.other_dim);
    case Guard::Kind::kAlignment:
      return static_cast<int64_t>(reinterpret_cast<uintptr_t>(inputs[static_cast<size_t>(g.input)].data) %
                                  static_cast<uintptr_t>(g.value));
    case Guard::Kind::kPrecision:
      return static_cast<int64_t>(settings.precision);
    case Guard::Kind::kDeterministic:
      return settings.deterministic ? 1 : 0;
  }
  return 0;
}

bool holds(const Guard& g, int64_t found) {
  switch (g.kind) {
    case Guard::Kind::kSizeRange:
      return g.value <= found && found <= g.upper;
    case Guard::Kind::kMultipleOf:
      return found % g.value == 0;
    case Guard::Kind::kAlignment:
      return found == 0;
    default:
      return found == g.value;
  }
}

std::string condition(const Guard& g) {
  const std::string size = fmt::format("size(input {}, dim {})", g.input, g.dim);
  switch (g.kind) {
    case Guard::Kind::kInputCount:
      return fmt::format("number of inputs == {}", g.value);
    case Guard::Kind::kDType:
      return fmt::format("dtype(input {}) == {}", g.input, dtype_name(static_cast<DType>(g.value)));
    case Guard::Kind::kRank:
      return fmt::format("rank(input {}) == {}", g.input, g.value);
    case Guard::Kind::kSizeEqual:
      return fmt::format("{} == {}", size, g.value);
    case Guard::Kind::kSizeRange:
      return fmt::format("{} in {}..{}", size, g.value, g.upper);
    case Guard::Kind::kMultipleOf:
      return fmt::format("{} is a multiple of {}", size, g.value);
    case Guard::Kind::kSameSize:
      return fmt::format("{} == size(input {}, dim {}) + {}", size, g.other_input, g.other_dim, g.value);
    case Guard::Kind::kAlignment:
      return fmt::format("address(input {}) is a multiple of {}", g.input, g.value);
    case Guard::Kind::kPrecision:
      return fmt::format("precision == {}", g.value == 0 ? "fp32" : g.value == 1 ? "bf16" : "fp16");
    case Guard::Kind::kDeterministic:
      return fmt::format("deterministic == {}", g.value);
  }
  return "?";
}

Guard used_members(const Guard& g) {
  using Kind = Guard::Kind;
  Guard used{.kind = g.kind, .value = g.value};
  const bool on_size = g.kind == Kind::kSizeEqual || g.kind == Kind::kSizeRange ||
                       g.kind == Kind::kMultipleOf || g.kind == Kind::kSameSize;
  if (on_size || g.kind == Kind::kDType || g.kind == Kind::kRank || g.kind == Kind::kAlignment)
    used.input = g.input;
  if (on_size) used.dim = g.dim;
  if (g.kind == Kind::kSizeRange) used.upper = g.upper;
  if (g.kind == Kind::kSameSize) {
    used.other_input = g.other_input;
    used.other_dim = g.other_dim;
  }
  return used;
}

}  // namespace

void GuardSet::add(const Guard& guard, std::string origin) {
  guards_.push_back(used_members(guard));
  origins_.push_back(std::move(origin));
}

std::optional<size_t> GuardSet::first_failure(std::span<const TensorView> inputs,
                                              const CallSettings& settings) const {
  for (size_t i = 0; i < guards_.size(); ++i)
    if (!holds(guards_[i], observed(guards_[i], inputs, settings))) return i;
  return std::nullopt;
}

std::string GuardSet::describe_failure(size_t guard, std::span<const TensorView> inputs,
                                       const CallSettings& settings) const {
  const Guard& g = guards_[guard];
  int64_t found = observed(g, inputs, settings);
  if (g.kind == Guard::Kind::kSameSize) found = size_at(inputs, g.input, g.dim);
  const std::string text = g.kind == Guard::Kind::kDType ? std::string(dtype_name(static_cast<DType>(found)))
                                                         : std::to_string(found);
  return fmt::format("{} ({}): found {}", condition(g), origins_[guard], text);
}

std::string GuardSet::print_one(size_t i) const {
  return condition(guards_[i]);
}

std::string GuardSet::print() const {
  std::string out;
  for (size_t i = 0; i < guards_.size(); ++i)
    out += fmt::format("{}  // {}\n", condition(guards_[i]), quote_text(origins_[i]));
  return out;
}

}  // namespace edge_infer
