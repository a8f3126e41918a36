// Errors of the vector functions against the C library's double ones, over one in 1,262 of all floats.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/cpu/prebuilt/registry.h"
#include "tests/unit/prebuilt/vmath_functions.h"

namespace edge_infer {
namespace {

struct Set {
  Isa isa;
  std::span<const VmathFunction> functions;
  float (*folded_sum)(const float*);
  void (*pair_extremes)(const float*, const float*, float*, float*, int64_t);
};

std::vector<Set> sets() {
  std::vector<Set> all = {
      {Isa::kPortable, portable::vmath_functions(), portable::folded_sum, portable::pair_extremes}};
#if defined(__x86_64__)
  if (isa_runs_here(Isa::kAvx2))
    all.push_back({Isa::kAvx2, avx2::vmath_functions(), avx2::folded_sum, avx2::pair_extremes});
  if (isa_runs_here(Isa::kAvx512))
    all.push_back({Isa::kAvx512, avx512::vmath_functions(), avx512::folded_sum, avx512::pair_extremes});
#endif
  return all;
}

double gelu(double x) {
  return x * 0.5 * std::erfc(-x * M_SQRT1_2);
}
double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
double silu(double x) {
  return x / (1 + std::exp(-x));
}

struct Bound {
  std::string_view name;
  double (*exact)(double);
  double ulps;      // relative bound, in units in the last place of the exact value
  double absolute;  // a value passes by either
};
void PrintTo(const Bound& bound, std::ostream* out) {
  *out << bound.name;
}
const Bound kBounds[] = {
    {"exp", [](double x) { return std::exp(x); }, 1.2, 0},
    {"exp2", [](double x) { return std::exp2(x); }, 1.2, 0},
    {"log", [](double x) { return std::log(x); }, 1.5, 0},
    {"log1p", [](double x) { return std::log1p(x); }, 2, 0},
    {"tanh", [](double x) { return std::tanh(x); }, 2, 0},
    {"erf", [](double x) { return std::erf(x); }, 2, 0},
    {"sin", [](double x) { return std::sin(x); }, 2, 0},
    {"cos", [](double x) { return std::cos(x); }, 2, 0},
    {"sigmoid", sigmoid, 3, 1e-38},
    {"silu", silu, 3, 3e-37},
    {"gelu", gelu, 2, 5e-7},
    {"gelu_tanh", gelu_tanh, 3, 1e-6},
    {"floor", [](double x) { return std::floor(x); }, 0, 0},
    {"ceil", [](double x) { return std::ceil(x); }, 0, 0},
    {"trunc", [](double x) { return std::trunc(x); }, 0, 0},
    {"round_even", [](double x) { return std::nearbyint(x); }, 0, 0},
    {"sqrt", [](double x) { return std::sqrt(x); }, 0.5, 0},
};

double ulp_of(double exact) {
  const double magnitude = std::max(std::fabs(exact), static_cast<double>(std::numeric_limits<float>::min()));
  return std::ldexp(1.0, std::ilogb(magnitude) - 23);
}

class Vmath : public testing::TestWithParam<Bound> {};

TEST_P(Vmath, is_within_its_bound_in_every_instruction_set) {
  const Bound bound = GetParam();
  std::vector<float> in;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 97 * 13 + 1)
    if (const float x = std::bit_cast<float>(static_cast<uint32_t>(bits)); !std::isnan(x)) in.push_back(x);
  // The range of activations more densely than the whole line.
  for (int i = 0; i < 400'000; ++i) in.push_back(static_cast<float>(i - 200'000) * 1.0003e-4F);
  for (const float x :
       {0.0F, -0.0F, INFINITY, -INFINITY, 1.0F, -1.0F, 88.7F, -87.4F, -103.9F, 0.9277F, 0.625F})
    in.push_back(x);
  std::vector<float> out(in.size());
  for (const Set& set : sets()) {
    const VmathFunction* function = nullptr;
    for (const VmathFunction& f : set.functions)
      if (f.name == bound.name) function = &f;
    ASSERT_NE(function, nullptr);
    function->map(in.data(), out.data(), static_cast<int64_t>(in.size()));
    double worst = 0, worst_absolute = 0;
    float worst_at = 0;
    for (size_t i = 0; i < in.size(); ++i) {
      const double exact = bound.exact(in[i]);
      const float rounded = static_cast<float>(exact);
      if (std::isnan(exact)) {
        // 0 * inf and the like of the reference formula: not what is under test.
        if (bound.name == "gelu" || bound.name == "gelu_tanh" || bound.name == "silu") continue;
        ASSERT_TRUE(std::isnan(out[i])) << bound.name << "(" << in[i] << ") = " << out[i];
        continue;
      }
      if (std::isinf(rounded)) {
        // One ulp below overflow may stay finite.
        ASSERT_TRUE(out[i] == rounded || (std::isfinite(exact) && std::fabs(out[i]) > 3.40282e38F))
            << bound.name << "(" << in[i] << ") = " << out[i];
        continue;
      }
      const double error = std::fabs(out[i] - exact);
      worst_absolute = std::max(worst_absolute, error);
      if (error <= bound.absolute) continue;
      if (const double ulps = error / ulp_of(exact); !(ulps <= worst)) worst = ulps, worst_at = in[i];
      if (bound.ulps == 0 && exact == 0) {
        ASSERT_EQ(std::signbit(out[i]), std::signbit(exact)) << bound.name << "(" << in[i] << ")";
      }
    }
    printf("  %-9s %-10s worst %.3f ulp at %.9g, %.3g absolute\n", isa_name(set.isa).data(),
           bound.name.data(), worst, static_cast<double>(worst_at), worst_absolute);
    EXPECT_LE(worst, bound.ulps + 1e-9) << bound.name << " in " << isa_name(set.isa) << " at " << worst_at;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    float result = 0;
    function->map(&nan, &result, 1);
    EXPECT_TRUE(std::isnan(result)) << bound.name << " hides NaN";
  }
}

INSTANTIATE_TEST_SUITE_P(functions, Vmath, testing::ValuesIn(kBounds),
                         [](const auto& bound) { return std::string(bound.param.name); });

TEST(Vec, folds_lanes_by_halves_in_every_instruction_set) {
  float lanes[16];
  for (int i = 0; i < 16; ++i) lanes[i] = std::ldexp(1.0F + static_cast<float>(i) * 0.1F, (i * 7) % 23);
  float expected[16];
  std::copy(lanes, lanes + 16, expected);
  for (int half = 8; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) expected[l] += expected[l + half];
  for (const Set& set : sets()) EXPECT_EQ(set.folded_sum(lanes), expected[0]) << isa_name(set.isa);
}

TEST(Vec, maximum_and_minimum_propagate_nan_from_either_side) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float a[] = {1, nan, 3, -INFINITY, nan}, b[] = {nan, 1, 2, 5, nan};
  for (const Set& set : sets()) {
    float high[6], low[6];
    high[5] = low[5] = 77;
    set.pair_extremes(a, b, high, low, 5);
    for (const int i : {0, 1, 4}) {
      EXPECT_TRUE(std::isnan(high[i])) << isa_name(set.isa) << " " << i;
      EXPECT_TRUE(std::isnan(low[i])) << isa_name(set.isa) << " " << i;
    }
    EXPECT_EQ(high[2], 3);
    EXPECT_EQ(low[2], 2);
    EXPECT_EQ(high[3], 5);
    EXPECT_EQ(low[3], -INFINITY);
    EXPECT_EQ(high[5], 77) << "a masked store wrote beyond its lanes";
  }
}

}  // namespace
}  // namespace edge_infer
