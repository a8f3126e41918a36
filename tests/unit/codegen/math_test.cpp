// Errors of the generated math functions in units of the last place, over floats of all magnitudes, against
// long double.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "compiler/loop/parse.h"
#include "tests/kernels/nest_run.h"

namespace edge_infer::testing {
namespace {

struct Function {
  const char* expression;  // of x
  long double (*exact)(long double);
  double bound;                            // ulp, where the result is normal
  double absolute = 0;                     // in place of bound, where not 0
  float low = -INFINITY, high = INFINITY;  // arguments
};

long double gelu(long double x) {
  return x / 2 * (1 + std::erf(x / std::sqrt(2.0L)));
}
long double rsqrt(long double x) {
  return 1 / std::sqrt(x);
}

// Floats of all exponents, and densely where the functions bend.
std::vector<float> arguments(float low, float high) {
  std::vector<float> x;
  for (uint32_t bits = 0; bits < 0x7f800000U; bits += 14983) {
    const auto value = std::bit_cast<float>(bits);
    x.push_back(value);
    x.push_back(-value);
  }
  for (int i = 0; i < 120'000; ++i) x.push_back(static_cast<float>(i - 60'000) * 1.7e-3F);
  for (const float special :
       {0.0F, -0.0F, 1.0F, -1.0F, INFINITY, -INFINITY, NAN, 88.72F, 88.73F, -87.3F, -103.9F})
    x.push_back(special);
  std::erase_if(x, [&](float v) { return v < low || v > high; });
  return x;
}

double ulp_of(float x) {
  const float magnitude = std::fabs(x);
  return static_cast<double>(std::nextafter(magnitude, INFINITY)) - static_cast<double>(magnitude);
}

std::string worst_error(const Function& f, const std::string& target, double& worst) {
  const auto nest =
      loop::parse_nest(fmt::format("nest @f class f32.k1 symbols(T in 1..1000000 hint 8)\n  (b0: in f32[T], "
                                   "b1: out f32[T]) {{\n  for m:T work {{\n  "
                                   "  %v0 = b0[m]\n    b1[m] = {}\n  }} }}",
                                   f.expression));
  if (!nest) return nest.error().message;
  const std::vector<float> x = arguments(f.low, f.high);
  const auto count = static_cast<int64_t>(x.size());
  std::vector<HostTensor> buffers(2, *make_host_tensor(DType::kF32, {count}));
  std::memcpy(buffers[0].bytes.data(), x.data(), x.size() * sizeof(float));
  const auto run = run_kernel(*nest, target, "", {count}, buffers, 1);
  if (!run) return run.error().message;
  std::vector<float> y(x.size());
  std::memcpy(y.data(), run->buffers[1].bytes.data(), y.size() * sizeof(float));
  worst = 0;
  float worst_at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const long double exact = f.exact(static_cast<long double>(x[i]));
    const auto rounded = static_cast<float>(exact);
    if (std::isnan(rounded) || std::isnan(y[i])) {
      if (std::isnan(rounded) != std::isnan(y[i]))
        return fmt::format("f({:a}) is {}, expected {}", x[i], y[i], rounded);
      continue;
    }
    if (rounded == y[i]) {
      // Zeros and infinities with their sign.
      if (rounded == 0 && f.absolute == 0 && std::signbit(rounded) != std::signbit(y[i]))
        return fmt::format("f({:a}) is {}, expected {}", x[i], y[i], rounded);
      if (std::isinf(rounded)) continue;
    }
    const long double distance = std::fabs(static_cast<long double>(y[i]) - exact);
    double error = 0;
    if (f.absolute != 0)
      error = static_cast<double>(distance);
    else if (std::fabs(rounded) >= 0x1p-126F && !std::isinf(rounded))
      error = static_cast<double>(distance) / ulp_of(rounded);
    else if (std::isinf(rounded))
      error = y[i] >= 0x1.fffffcp127F ? 0 : 1e9;
    else
      error = static_cast<double>(distance) / 0x1p-149 > 4
                  ? 1e9
                  : 0;  // subnormal: nearly all of the digits that are left
    if (error > worst) {
      worst = error;
      worst_at = x[i];
    }
  }
  const double bound = f.absolute != 0 ? f.absolute : f.bound;
  return worst <= bound
             ? ""
             : fmt::format("{} at {:a} ({}), expected at most {}", worst, worst_at, worst_at, bound);
}

TEST(Math, ErrorsStayWithinTheirBounds) {
  const std::vector<Function> functions{
      {"exp(%v0)", std::exp, 1.5},
      {"exp2(%v0)", std::exp2, 1.5},
      {"log(%v0)", std::log, 1.5},
      {"log1p(%v0)", std::log1p, 2},
      {"tanh(%v0)", std::tanh, 2},
      {"erf(%v0)", std::erf, 1.5},
      {"sin(%v0)", std::sin, 1},
      {"cos(%v0)", std::cos, 1},
      {"sqrt(%v0)", std::sqrt, 0.5},
      {"rsqrt(%v0)", rsqrt, 1.5},
      {"pow(%v0, 2.5)", [](long double x) { return std::pow(x, 2.5L); }, 1, 0, 0},
      {"pow(1.5, %v0)", [](long double x) { return std::pow(1.5L, x); }, 1},
      {"pow(%v0, 3)", [](long double x) { return std::pow(x, 3.0L); }, 1},
      {"atan2(%v0, 1.5)", [](long double x) { return std::atan2(x, 1.5L); }, 1},
      {"atan2(2, %v0)", [](long double x) { return std::atan2(2.0L, x); }, 1},
      {"0.5 * %v0 * (erf(%v0 * 0.70710678118) + 1)", gelu, 0, 5e-7, -50, 50},
  };
  for (const std::string& target : runnable_targets())
    for (const Function& f : functions) {
      double worst = 0;
      EXPECT_EQ(worst_error(f, target, worst), "") << target << " " << f.expression;
      fmt::print("{:12} {:45} {:.3g}\n", target, f.expression, worst);
    }
}

}  // namespace
}  // namespace edge_infer::testing
