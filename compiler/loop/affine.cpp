#include "compiler/loop/affine.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace edge_infer::loop {
namespace {

using Values = std::map<std::string, int64_t, std::less<>>;

SymInt with(const SymInt& e, const std::string& name, const SymInt& value) {
  return e.substitute({{name, value}});
}

bool names(const SymInt& e, const std::string& name) {
  const auto symbols = e.symbols();
  return std::find(symbols.begin(), symbols.end(), name) != symbols.end();
}

// All symbols at their lowest value, at the hint, at their highest.
std::vector<Values> sample_points(std::span<const Symbol> symbols) {
  std::vector<Values> points(3);
  for (const Symbol& symbol : symbols) {
    points[0][symbol.name] = symbol.range.lo;
    points[1][symbol.name] =
        std::clamp(symbol.hint, symbol.range.lo, std::max(symbol.range.lo, symbol.range.hi));
    points[2][symbol.name] = symbol.range.hi;
  }
  return points;
}

std::string describe(std::span<const Symbol> symbols, const Values& point) {
  std::string out;
  for (const Symbol& symbol : symbols)
    out += fmt::format("{}{} = {}", out.empty() ? " at " : ", ", symbol.name, point.at(symbol.name));
  return out;
}

// Each axis at one end of its range, innermost first, since inner bounds may name outer axes.
std::optional<SymInt> at_extreme(SymInt e, AxisScope scope, const Values& point, bool highest) {
  for (size_t i = scope.size(); i-- > 0;) {
    const Axis& axis = *scope[i];
    if (!names(e, axis.name)) continue;
    const auto term = affine_in(e, axis.name);
    if (!term) return std::nullopt;
    const auto coefficient = term->coefficient.evaluate(point);
    if (!coefficient) return std::nullopt;
    e = with(e, axis.name, (*coefficient > 0) == highest ? axis.extent - SymInt(1) : axis.begin);
  }
  return e;
}

// Iterations of a loop whose bounds name nothing but symbols.
std::optional<int64_t> iterations(const Axis& axis, const Values& point) {
  const auto count = (axis.extent - axis.begin).evaluate(point);
  return count ? std::optional<int64_t>(*count) : std::nullopt;
}

bool all_run(AxisScope scope, const Values& point) {
  return std::all_of(scope.begin(), scope.end(), [&](const Axis* axis) {
    const auto count = iterations(*axis, point);
    return count && *count > 0;
  });
}

}  // namespace

std::optional<AffineTerm> affine_in(const SymInt& e, const std::string& name) {
  const SymInt rest = with(e, name, 0), coefficient = with(e, name, 1) - rest;
  if (rest + coefficient * SymInt::symbol(name) != e || names(coefficient, name)) return std::nullopt;
  return AffineTerm{coefficient, rest};
}

std::optional<std::string> out_of_bounds(const SymInt& index, const SymInt& size, AxisScope scope,
                                         std::span<const Symbol> symbols) {
  for (const Values& point : sample_points(symbols)) {
    if (!all_run(scope, point)) continue;
    const auto limit = size.evaluate(point);
    if (!limit) continue;
    const auto highest = at_extreme(index, scope, point, true),
               lowest = at_extreme(index, scope, point, false);
    const auto high = highest ? highest->evaluate(point) : Result<int64_t>(0);
    const auto low = lowest ? lowest->evaluate(point) : Result<int64_t>(0);
    if (highest && high && *high >= *limit)
      return fmt::format("index {} reaches {}, expected less than {} = {}{}", index.str(), *high, size.str(),
                         *limit, describe(symbols, point));
    if (lowest && low && *low < 0)
      return fmt::format("index {} reaches {}, expected at least 0{}", index.str(), *low,
                         describe(symbols, point));
  }
  return std::nullopt;
}

std::optional<std::string> meets_itself(const SymInt& index, const Axis& axis, AxisScope scope,
                                        std::span<const Symbol> symbols) {
  const auto own = affine_in(index, axis.name);
  if (!own) return std::nullopt;
  const auto position = std::find(scope.begin(), scope.end(), &axis);
  const AxisScope inner = scope.subspan(static_cast<size_t>(position - scope.begin()) + 1);
  for (const Values& point : sample_points(symbols)) {
    if (!all_run(scope, point)) continue;
    const auto count = iterations(axis, point);
    const auto step = own->coefficient.evaluate(point);
    if (!count || *count < 2 || !step) continue;
    // A value in the index differs from iteration to iteration.
    const auto extreme = at_extreme(index, scope, point, true);
    if (!extreme || !extreme->evaluate(point)) continue;
    if (*step == 0) {
      return fmt::format("index {} is the same in each iteration of {}{}", index.str(), axis.name,
                         describe(symbols, point));
    }
    for (const Axis* other : inner) {
      const auto term = affine_in(index, other->name);
      const auto other_count = iterations(*other, point);
      const auto other_step = term ? term->coefficient.evaluate(point) : Result<int64_t>(0);
      if (!term || !other_count || !other_step || *other_step == 0) continue;
      if (*step == INT64_MIN || *other_step == INT64_MIN) continue;
      // step * d = other_step * e has the smallest solution d = other_step / g, e = step / g.
      const int64_t g = std::gcd(*step, *other_step);
      const int64_t d = std::abs(*other_step / g), e = std::abs(*step / g);
      if (d < *count && e < *other_count)
        return fmt::format("index {} meets itself: {} steps of {} are {} steps of {}{}", index.str(), d,
                           axis.name, e, other->name, describe(symbols, point));
    }
  }
  return std::nullopt;
}

}  // namespace edge_infer::loop
