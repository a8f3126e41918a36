#include "backends/cuda/size_classes.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <set>
#include <string>

namespace edge_infer::cuda {
namespace {

constexpr int64_t kFirstCapacity = 2048;   // of the leading symbol
constexpr int64_t kFirstSequences = 1024;  // of the others
constexpr int64_t kFewSequences = 4;
constexpr std::array<int64_t, 3> kSteps = {128, 512, 2048};
constexpr int64_t kNarrowLimit = 512;  // above, grids fill the GPU anyway

int64_t power_of_two(int64_t value) {
  if (value <= 1) return 1;
  if (value > (int64_t{1} << 61)) return value;
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(value)));
}

// The numbers that an expression names.
std::set<int64_t> constants_of(const SymInt& expression) {
  std::set<int64_t> out;
  const std::string text = expression.str();
  for (const char* at = text.data(); at < text.data() + text.size();) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(at, text.data() + text.size(), value);
    if (error == std::errc{} && value > INT64_MIN) out.insert(std::abs(value));
    at = end > at ? end : at + 1;
  }
  return out;
}

}  // namespace

bool SymbolValues::within(const SymbolValues& limits) const {
  for (size_t i = 0; i < count; ++i)
    if (of[i] > limits.of[i]) return false;
  return true;
}

Result<SizeClasses> SizeClasses::of(const Program& program) {
  if (program.symbols.size() > SymbolValues::kMost)
    return fail(ErrorCode::kUnsupported, "program \"{}\" has {} symbols, at most {} are supported",
                program.name, program.symbols.size(), SymbolValues::kMost);
  SizeClasses classes;
  classes.program_ = &program;
  for (size_t i = 1; i < program.symbol_sources.size(); ++i)
    if (program.symbols[i].range.hi > program.symbols[classes.leading_].range.hi) classes.leading_ = i;
  for (const UnitListDecl& list : program.unit_lists) {
    const int32_t input = program.buffers[static_cast<size_t>(list.offsets)].index;
    UnitCount unit{0, 0, list.block_rows, false};
    for (size_t i = 0; i < program.symbols.size(); ++i) {
      if (program.symbols[i].name == list.count) unit.symbol = i;
      if (i >= program.symbol_sources.size() || program.symbol_sources[i].input != input) continue;
      unit.sequences = i;
      unit.has_sequences = true;
    }
    classes.units_.push_back(unit);
  }
  // Where conditions change, at sizes next to the constants that they name.
  std::set<int64_t> limits;
  if (!program.symbol_sources.empty()) {
    const Symbol& lead = program.symbols[classes.leading_];
    std::vector<Symbol> with_workers = program.symbols;
    with_workers.push_back({kWorkersSymbol, {1, 1024}, 1});
    std::vector<int64_t> values;
    for (const Symbol& s : program.symbols) values.push_back(std::clamp(s.hint, s.range.lo, s.range.hi));
    values.push_back(1);
    for (const Phase& phase : program.phases) {
      if (phase.when.constant()) continue;
      EDGE_INFER_ASSIGN(const SymCode code, SymCode::compile(phase.when, with_workers));
      const auto holds = [&](int64_t value) {
        values[classes.leading_] = value;
        return code.evaluate(values) != 0;
      };
      for (const int64_t c : constants_of(phase.when))
        for (const int64_t at : {c - 1, c})
          if (at >= lead.range.lo && at < lead.range.hi && holds(at) != holds(at + 1)) limits.insert(at);
    }
    while (limits.size() > kMostLimits - 1) limits.erase(std::prev(limits.end()));
    for (const int64_t step : kSteps) {
      if (limits.size() >= kMostLimits - 1 || step >= lead.range.hi) break;
      const bool near = std::ranges::any_of(limits, [&](int64_t l) { return l < 2 * step && step < 2 * l; });
      if (!near) limits.insert(step);
    }
  }
  classes.ladder_.assign(limits.begin(), limits.end());
  return classes;
}

// Blocks never cross a sequence, so each sequence adds at most one that is not full.
void SizeClasses::set_unit_counts(SymbolValues& values) const {
  for (const UnitCount& unit : units_) {
    const int64_t sequences = unit.has_sequences ? values.of[unit.sequences] : kFirstSequences;
    values.of[unit.symbol] =
        std::min(values.of[leading_] / unit.block_rows + sequences, program_->symbols[unit.symbol].range.hi);
  }
}

SymbolValues SizeClasses::initial_capacity() const {
  SymbolValues capacity;
  capacity.count = program_->symbols.size();
  for (size_t i = 0; i < capacity.count; ++i) {
    const Symbol& s = program_->symbols[i];
    const int64_t wanted = i == leading_ ? std::max(kFirstCapacity, power_of_two(s.hint)) : kFirstSequences;
    capacity.of[i] = std::min(s.range.hi, std::max(wanted, s.range.lo));
  }
  set_unit_counts(capacity);
  return capacity;
}

SymbolValues SizeClasses::grown(const SymbolValues& capacity, const SymbolValues& needed) const {
  SymbolValues grown = capacity;
  for (size_t i = 0; i < grown.count; ++i)
    if (needed.of[i] > grown.of[i])
      grown.of[i] = std::min(program_->symbols[i].range.hi, power_of_two(needed.of[i]));
  SymbolValues units = grown;
  set_unit_counts(units);
  for (size_t i = 0; i < grown.count; ++i) grown.of[i] = std::max(grown.of[i], units.of[i]);
  return grown;
}

bool SizeClasses::is_least(const SymbolValues& sizes) const {
  if (sizes.within(initial_capacity())) return true;
  const auto single = [&](const UnitCount& unit) {
    return unit.has_sequences && sizes.of[unit.sequences] <= 1;
  };
  return !units_.empty() && std::ranges::all_of(units_, single);
}

SymbolValues SizeClasses::box(int64_t leading, int64_t few, const SymbolValues& capacity) const {
  SymbolValues limits = capacity;
  limits.of[leading_] = std::min(leading, capacity.of[leading_]);
  for (const UnitCount& unit : units_)
    if (unit.has_sequences && unit.sequences != leading_)
      limits.of[unit.sequences] = std::min(few, capacity.of[unit.sequences]);
  set_unit_counts(limits);
  for (const UnitCount& unit : units_)
    limits.of[unit.symbol] = std::min(limits.of[unit.symbol], capacity.of[unit.symbol]);
  return limits;
}

SymbolValues SizeClasses::limits_for(const SymbolValues& sizes, const SymbolValues& capacity) const {
  if (sizes.count == 0) return capacity;
  const int64_t value = sizes.of[leading_];
  const auto step = std::ranges::lower_bound(ladder_, value);
  const int64_t leading = step == ladder_.end() ? capacity.of[leading_] : *step;
  if (leading <= kNarrowLimit)
    if (const SymbolValues narrow = box(leading, kFewSequences, capacity); sizes.within(narrow))
      return narrow;
  if (const SymbolValues wide = box(leading, leading, capacity); sizes.within(wide)) return wide;
  SymbolValues rest = capacity;
  rest.of[leading_] = std::min(leading, capacity.of[leading_]);
  return rest;
}

std::vector<SymbolValues> SizeClasses::all(const SymbolValues& capacity) const {
  std::vector<SymbolValues> boxes;
  const auto add = [&](const SymbolValues& limits) {
    if (std::ranges::find(boxes, limits) == boxes.end()) boxes.push_back(limits);
  };
  if (capacity.count == 0) return {capacity};
  for (const int64_t leading : ladder_) {
    if (leading > capacity.of[leading_]) break;
    if (leading <= kNarrowLimit) add(box(leading, kFewSequences, capacity));
    add(box(leading, leading, capacity));
  }
  add(box(capacity.of[leading_], capacity.of[leading_], capacity));
  return boxes;
}

}  // namespace edge_infer::cuda
