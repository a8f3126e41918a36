#include "tests/gpu/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tests/support/tolerances.h"

namespace edge_infer::test {

Bound bound_of(DType dtype) {
  const double step = epsilon_of(dtype);
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
      return {step, step, step / 2};
    case DType::kF32:
      return {1e-5, 1e-5, 2e-6};
    case DType::kF64:
      return {1e-12, 1e-12, 1e-13};
    default:
      return {};
  }
}

Bound attention_bound(DType operand, DType dtype) {
  const Bound stored = bound_of(dtype);
  if (operand != DType::kF16 && operand != DType::kBF16)
    return {stored.relative, 4 * stored.absolute, 4 * stored.rms};
  // A weight is off by half a step, a result by at most half a step of the weighted mean of the values'
  // magnitudes. Over a long sequence the values cancel and their magnitudes do not, so that single elements
  // are off by several steps of the results' size; their root mean square is not.
  const double step = epsilon_of(operand);
  return {step, 6 * step, step / 2};
}

std::string outside(const HostTensor& got, const HostTensor& want, const Bound& bound, double* error) {
  if (got.dtype != want.dtype || got.bytes.size() != want.bytes.size())
    return fmt::format("{} bytes of {}, expected {} of {}", got.bytes.size(), dtype_name(got.dtype),
                       want.bytes.size(), dtype_name(want.dtype));
  if (!is_floating(want.dtype)) {
    const auto a = got.to_integers(), b = want.to_integers();
    const auto [x, y] = std::ranges::mismatch(a, b);
    if (x == a.end()) return {};
    return fmt::format("element {} of {}: {}, expected {}", x - a.begin(), a.size(), *x, *y);
  }
  const auto a = got.to_doubles(), b = want.to_doubles();
  double squares = 0, numbers = 0;
  for (const double x : b)
    if (std::isfinite(x)) squares += x * x, ++numbers;
  const double size = numbers > 0 ? std::sqrt(squares / numbers) : 0;
  // A difference of subnormals is none.
  const double least = want.dtype == DType::kF64 ? 1e-300 : 1e-37;
  double worst = 0, distance = 0;
  size_t worst_at = 0, count = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double off = std::fabs(a[i] - b[i]);
    const double allowed = bound.relative * std::fabs(b[i]) + bound.absolute * size + least;
    const bool finite = std::isfinite(a[i]) && std::isfinite(b[i]);
    if (finite) distance += off * off;
    const double times = finite ? off / allowed : HUGE_VAL;
    count += times > 1;
    if (times > worst) worst = times, worst_at = i;
  }
  const double rms = size > 0 ? std::sqrt(distance / numbers) / size : std::sqrt(distance);
  if (error != nullptr) *error = std::max(*error, rms);
  if (worst > 1)
    return fmt::format("{} of {} elements outside, worst {}: {}, expected {} ({:.3g} times what is allowed)",
                       count, a.size(), worst_at, a[worst_at], b[worst_at], worst);
  if (size > 0 && rms > bound.rms + 1e-30)
    return fmt::format("relative error {:.3g}, allowed {:.3g}", rms, bound.rms);
  return {};
}

}  // namespace edge_infer::test
