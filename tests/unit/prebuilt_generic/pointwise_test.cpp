// Pointwise kernels against arithmetic in double (floating types) or in 64-bit integers.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "tests/unit/prebuilt_generic/harness.h"

namespace edge_infer::test {
namespace {

using D = std::span<const double>;
using I = std::span<const int64_t>;
constexpr std::array kFloats = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16};
constexpr std::array kIntegers = {DType::kI64, DType::kI32};

int64_t wrap(uint64_t x) {
  return static_cast<int64_t>(x);
}
uint64_t u(int64_t x) {
  return static_cast<uint64_t>(x);
}

struct Case {
  std::string op;
  size_t inputs;
  std::function<double(D)> of_doubles;    // empty: no floating kernels
  std::function<int64_t(I)> of_integers;  // empty: no integer kernels
  std::function<int64_t(I)> of_bools = {};
  bool to_bool = false;
  double ulps = 0;      // of f32 and f64; f16 and bf16 get one more of theirs where this is not 0
  double absolute = 0;  // for cancelling formulas
  std::vector<int64_t> attributes = {};
};

double max_nan(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
}
double min_nan(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
}
double remainder_of(double a, double b) {
  const double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
int64_t remainder_of(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
int64_t pow_of(int64_t a, int64_t b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
  uint64_t result = 1;
  for (uint64_t base = u(a), n = u(b); n != 0; n >>= 1, base *= base)
    if ((n & 1) != 0) result *= base;
  return wrap(result);
}

// Both operands are one type and the result is it, or bool.
double expected_of(DType dtype, double exact) {
  // The kernel computes f16 and bf16 in f32 and rounds once more.
  if (dtype == DType::kF16 || dtype == DType::kBF16) return static_cast<float>(exact);
  return exact;
}
double ulp_of(DType dtype, double x) {
  const int digits = dtype == DType::kF64 ? 53 : dtype == DType::kF32 ? 24 : dtype == DType::kF16 ? 11 : 8;
  const int least = dtype == DType::kF64   ? -1074
                    : dtype == DType::kF32 ? -149
                    : dtype == DType::kF16 ? -24
                                           : -133;
  if (x == 0 || !std::isfinite(x)) return std::ldexp(1.0, least);
  int e = 0;
  std::frexp(x, &e);
  return std::ldexp(1.0, std::max(e - digits, least));
}

void check(Isa isa, const Case& c, DType dtype, const Sizes& sizes, Layout layout, Random& random) {
  const std::string name = c.op + "." + std::string(dtype_name(dtype));
  std::vector<Operand> operands;
  std::vector<const void*> inputs;
  std::vector<int64_t> integers = {static_cast<int64_t>(sizes.size())};
  integers.insert(integers.end(), sizes.begin(), sizes.end());
  for (size_t k = 0; k < c.inputs; ++k) {
    // The first operand has the layout under test, the others any.
    const Layout own = k == 0 ? layout : kLayouts[random() % std::size(kLayouts)];
    operands.push_back(make_operand(dtype, sizes, own, random));
    inputs.push_back(operands.back().buffer.data());
    integers.insert(integers.end(), operands.back().strides.begin(), operands.back().strides.end());
  }
  integers.insert(integers.end(), c.attributes.begin(), c.attributes.end());
  const DType out_type = c.to_bool ? DType::kBool : dtype;
  const int64_t n = product(sizes);
  SCOPED_TRACE(describe(isa, name, sizes));
  const Guarded out =
      run_kernel(isa, name, static_cast<size_t>(n * dtype_size(out_type)), inputs, integers, n, random);
  int failures = 0;
  for (int64_t i = 0; i < n && failures < 3; ++i) {
    std::vector<double> d;
    std::vector<int64_t> v;
    for (const Operand& operand : operands) {
      const int64_t at = offset_of(i, sizes, operand.strides);
      d.push_back(get_double(dtype, operand.buffer.data(), at));
      if (!is_floating(dtype)) v.push_back(get_integer(dtype, operand.buffer.data(), at));
    }
    bool ok = false;
    double want = 0, got = 0;
    if (is_floating(dtype)) {
      want = expected_of(dtype, c.of_doubles(d));
      got = get_double(out_type, out.data(), i);
      if (!c.to_bool) {
        std::byte rounded[8];
        set_double(out_type, rounded, 0, want);
        const double nearest = get_double(out_type, rounded, 0);
        double ulps = c.ulps;
        if (dtype == DType::kF16 || dtype == DType::kBF16) ulps = c.ulps > 0 ? 1 : 0;
        ok = std::isnan(nearest)
                 ? std::isnan(got)
                 : got == nearest || std::fabs(got - nearest) <= ulps * ulp_of(dtype, nearest) + c.absolute;
      } else {
        ok = got == want;
      }
    } else {
      const int64_t raw = dtype == DType::kBool ? c.of_bools(v) : c.of_integers(v);
      const int64_t wanted = out_type == DType::kI32 ? static_cast<int32_t>(raw) : raw;
      ok = get_integer(out_type, out.data(), i) == wanted;
      want = static_cast<double>(wanted);
      got = static_cast<double>(get_integer(out_type, out.data(), i));
    }
    if (!ok) {
      ++failures;
      ADD_FAILURE() << "element " << i << ": " << got << ", expected " << want << " of "
                    << ::testing::PrintToString(d);
    }
  }
}

void check_all(const Case& c) {
  Random random(std::hash<std::string>{}(c.op));
  std::vector<DType> dtypes;
  if (c.of_doubles) dtypes.insert(dtypes.end(), kFloats.begin(), kFloats.end());
  if (c.of_integers) dtypes.insert(dtypes.end(), kIntegers.begin(), kIntegers.end());
  if (c.of_bools) dtypes.push_back(DType::kBool);
  for (const Isa isa : isas())
    for (const DType dtype : dtypes)
      for (const Sizes& sizes : shapes()) {
        check(isa, c, dtype, sizes, kLayouts[random() % std::size(kLayouts)], random);
        check(isa, c, dtype, sizes, Layout::kDense, random);
      }
}

template <typename F>
std::function<double(D)> two(F f) {
  return [f](D v) { return static_cast<double>(f(v[0], v[1])); };
}
template <typename F>
std::function<int64_t(I)> two_i(F f) {
  return [f](I v) { return static_cast<int64_t>(f(v[0], v[1])); };
}
template <typename F>
std::function<double(D)> one(F f) {
  return [f](D v) { return static_cast<double>(f(v[0])); };
}
template <typename F>
std::function<int64_t(I)> one_i(F f) {
  return [f](I v) { return static_cast<int64_t>(f(v[0])); };
}

TEST(PrebuiltPointwise, ArithmeticIsExactInEveryLayout) {
  check_all({"aten.add", 2, two([](double a, double b) { return a + b; }),
             two_i([](int64_t a, int64_t b) { return wrap(u(a) + u(b)); }),
             two_i([](int64_t a, int64_t b) { return a | b; })});
  check_all({"aten.sub", 2, two([](double a, double b) { return a - b; }),
             two_i([](int64_t a, int64_t b) { return wrap(u(a) - u(b)); })});
  check_all({"aten.mul", 2, two([](double a, double b) { return a * b; }),
             two_i([](int64_t a, int64_t b) { return wrap(u(a) * u(b)); }),
             two_i([](int64_t a, int64_t b) { return a & b; })});
  check_all({"aten.div", 2, two([](double a, double b) { return a / b; }), {}});
}

TEST(PrebuiltPointwise, ExtremesPropagateNan) {
  check_all({"aten.maximum", 2, two(max_nan), two_i([](int64_t a, int64_t b) { return std::max(a, b); }),
             two_i([](int64_t a, int64_t b) { return a | b; })});
  check_all({"aten.minimum", 2, two(min_nan), two_i([](int64_t a, int64_t b) { return std::min(a, b); }),
             two_i([](int64_t a, int64_t b) { return a & b; })});
}

TEST(PrebuiltPointwise, RemainderHasTheDivisorsSignAndNeverTraps) {
  Case c{"aten.remainder", 2, two([](double a, double b) { return remainder_of(a, b); }),
         two_i([](int64_t a, int64_t b) { return remainder_of(a, b); })};
  c.ulps = 1;  // adding the divisor rounds in the type
  check_all(c);
}

TEST(PrebuiltPointwise, PowAndAtan2) {
  Case pow{"aten.pow", 2, two([](double a, double b) { return std::pow(a, b); }), two_i(pow_of)};
  pow.ulps = 2;
  check_all(pow);
  Case atan{"aten.atan2", 2, two([](double a, double b) { return std::atan2(a, b); }), {}};
  atan.ulps = 2;
  check_all(atan);
}

TEST(PrebuiltPointwise, ComparisonsGiveBool) {
  const auto add = [](const char* op, auto f) { check_all({op, 2, two(f), two_i(f), two_i(f), true}); };
  add("aten.eq", [](auto a, auto b) { return a == b; });
  add("aten.ne", [](auto a, auto b) { return a != b; });
  add("aten.lt", [](auto a, auto b) { return a < b; });
  add("aten.le", [](auto a, auto b) { return a <= b; });
  add("aten.gt", [](auto a, auto b) { return a > b; });
  add("aten.ge", [](auto a, auto b) { return a >= b; });
}

TEST(PrebuiltPointwise, LogicTakesAnythingButZeroAsTrue) {
  const auto add = [](const char* op, auto f) {
    const auto truth = [f](auto a, auto b) { return f(a != 0, b != 0); };
    check_all({op, 2, two(truth), two_i(truth), two_i(truth), true});
  };
  add("aten.logical_and", [](bool a, bool b) { return a && b; });
  add("aten.logical_or", [](bool a, bool b) { return a || b; });
  add("aten.logical_xor", [](bool a, bool b) { return a != b; });
  const auto negation = [](auto a) { return a == 0; };
  check_all({"aten.logical_not", 1, one(negation), one_i(negation), one_i(negation), true});
  check_all({"aten.isnan", 1, one([](double a) { return std::isnan(a); }), one_i([](int64_t) { return 0; }),
             one_i([](int64_t) { return 0; }), true});
}

TEST(PrebuiltPointwise, BitwiseOps) {
  const auto add = [](const char* op, auto f) { check_all({op, 2, {}, two_i(f), two_i(f)}); };
  add("aten.bitwise_and", [](int64_t a, int64_t b) { return a & b; });
  add("aten.bitwise_or", [](int64_t a, int64_t b) { return a | b; });
  add("aten.bitwise_xor", [](int64_t a, int64_t b) { return a ^ b; });
  check_all({"aten.bitwise_not", 1, {}, one_i([](int64_t a) { return ~a; }), one_i([](int64_t a) {
               return a == 0;
             })});
}

TEST(PrebuiltPointwise, UnaryArithmetic) {
  check_all(
      {"aten.neg", 1, one([](double a) { return -a; }), one_i([](int64_t a) { return wrap(0 - u(a)); })});
  check_all({"aten.abs", 1, one([](double a) { return std::fabs(a); }),
             one_i([](int64_t a) { return a < 0 ? wrap(0 - u(a)) : a; })});
  const auto sign = [](auto a) { return (a > 0) - (a < 0); };
  check_all({"aten.sign", 1, one(sign), one_i(sign), one_i(sign)});
  check_all({"aten.relu", 1, one([](double a) { return max_nan(a, 0); }),
             one_i([](int64_t a) { return std::max<int64_t>(a, 0); })});
  check_all({"aten.reciprocal", 1, one([](double a) { return 1 / a; }), {}});
  const auto same = one_i([](int64_t a) { return a; });
  check_all({"aten.floor", 1, one([](double a) { return std::floor(a); }), same});
  check_all({"aten.ceil", 1, one([](double a) { return std::ceil(a); }), same});
  check_all({"aten.round", 1, one([](double a) { return std::nearbyint(a); }), same});
  check_all({"aten.sqrt", 1, one([](double a) { return std::sqrt(a); }), {}});
}

TEST(PrebuiltPointwise, FunctionsAreWithinTheirBounds) {
  const auto add = [](const char* op, double ulps, auto f, double absolute = 0,
                      std::vector<int64_t> attributes = {}) {
    Case c{op, 1, one(f), {}};
    c.ulps = ulps;
    c.absolute = absolute;
    c.attributes = std::move(attributes);
    check_all(c);
  };
  add("aten.rsqrt", 2, [](double a) { return 1 / std::sqrt(a); });
  add("aten.exp", 2, [](double a) { return std::exp(a); });
  add("aten.exp2", 2, [](double a) { return std::exp2(a); });
  add("aten.log", 2, [](double a) { return std::log(a); });
  add("aten.log1p", 2, [](double a) { return std::log1p(a); });
  add("aten.tanh", 2, [](double a) { return std::tanh(a); });
  add("aten.erf", 2, [](double a) { return std::erf(a); });
  add("aten.sin", 2, [](double a) { return std::sin(a); });
  add("aten.cos", 2, [](double a) { return std::cos(a); });
  add("aten.sigmoid", 4, [](double a) { return 1 / (1 + std::exp(-a)); });
  add("aten.silu", 4, [](double a) { return a / (1 + std::exp(-a)); });
  add("aten.gelu", 4, [](double a) { return 0.5 * a * std::erfc(-a * std::sqrt(0.5)); }, 5e-7, {0});
  add("aten.gelu", 8,
      [](double a) { return 0.5 * a * (1 + std::tanh(0.7978845608028654 * (a + 0.044715 * a * a * a))); },
      5e-7, {1});
}

TEST(PrebuiltPointwise, ScalarFormsTakeTheOperandFromTheAttribute) {
  for (const double scalar : {2.0, 3.0, -1.0, 0.0, 7.0}) {
    const auto s = static_cast<int64_t>(scalar);
    const auto add = [&](const char* op, auto f, auto g, bool to_bool = false, double ulps = 0) {
      Case c{op, 1, [=](D v) { return static_cast<double>(f(v[0], scalar)); },
             [=](I v) { return static_cast<int64_t>(g(v[0], s)); }};
      c.to_bool = to_bool;
      c.ulps = ulps;
      c.attributes = {bits(scalar)};
      check_all(c);
    };
    add(
        "aten.add.Scalar", [](double a, double b) { return a + b; },
        [](int64_t a, int64_t b) { return wrap(u(a) + u(b)); });
    add(
        "aten.sub.Scalar", [](double a, double b) { return a - b; },
        [](int64_t a, int64_t b) { return wrap(u(a) - u(b)); });
    add(
        "aten.mul.Scalar", [](double a, double b) { return a * b; },
        [](int64_t a, int64_t b) { return wrap(u(a) * u(b)); });
    add("aten.pow.Scalar", [](double a, double b) { return std::pow(a, b); }, pow_of, false, 2);
    const auto compare = [&](const char* op, auto f) { add(op, f, f, true); };
    compare("aten.eq.Scalar", [](auto a, auto b) { return a == b; });
    compare("aten.ne.Scalar", [](auto a, auto b) { return a != b; });
    compare("aten.lt.Scalar", [](auto a, auto b) { return a < b; });
    compare("aten.le.Scalar", [](auto a, auto b) { return a <= b; });
    compare("aten.gt.Scalar", [](auto a, auto b) { return a > b; });
    compare("aten.ge.Scalar", [](auto a, auto b) { return a >= b; });
    Case div{"aten.div.Scalar", 1, [=](D v) { return v[0] / scalar; }, {}};
    div.attributes = {bits(scalar)};
    check_all(div);
  }
}

TEST(PrebuiltPointwise, ClampKeepsNanAndTheUpperBoundWins) {
  const auto add = [](bool has_low, double low, bool has_high, double high) {
    Case c{"aten.clamp",
           1,
           [=](D v) {
             double x = v[0];
             if (has_low) x = max_nan(x, low);
             if (has_high) x = min_nan(x, high);
             return x;
           },
           {}};
    if (!std::isnan(low) && !std::isnan(high)) {
      c.of_integers = [=](I v) {
        int64_t x = v[0];
        if (has_low) x = std::max(x, static_cast<int64_t>(low));
        if (has_high) x = std::min(x, static_cast<int64_t>(high));
        return x;
      };
    }
    c.attributes = {has_low, bits(low), has_high, bits(high)};
    check_all(c);
  };
  add(true, -1, true, 2);
  add(true, 0, false, 0);
  add(false, 0, true, 1);
  add(true, 5, true, -5);
  add(true, NAN, true, 1);
}

TEST(PrebuiltPointwise, WhereMovesValuesUnchanged) {
  Random random(5);
  for (const Isa isa : isas())
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI64, DType::kI32,
                              DType::kI16, DType::kI8, DType::kU8, DType::kBool})
      for (const Sizes& sizes : shapes()) {
        const std::string name = "aten.where." + std::string(dtype_name(dtype));
        SCOPED_TRACE(describe(isa, name, sizes));
        Operand operands[] = {make_operand(DType::kBool, sizes, kLayouts[random() % 7], random),
                              make_operand(dtype, sizes, kLayouts[random() % 7], random),
                              make_operand(dtype, sizes, kLayouts[random() % 7], random)};
        std::vector<int64_t> integers = {static_cast<int64_t>(sizes.size())};
        integers.insert(integers.end(), sizes.begin(), sizes.end());
        std::vector<const void*> inputs;
        for (const Operand& o : operands) {
          integers.insert(integers.end(), o.strides.begin(), o.strides.end());
          inputs.push_back(o.buffer.data());
        }
        const int64_t n = product(sizes), bytes = dtype_size(dtype);
        const Guarded out =
            run_kernel(isa, name, static_cast<size_t>(n * bytes), inputs, integers, n, random);
        for (int64_t i = 0; i < n; ++i) {
          const bool first = get_integer(DType::kBool, operands[0].buffer.data(),
                                         offset_of(i, sizes, operands[0].strides)) != 0;
          const Operand& from = operands[first ? 1 : 2];
          ASSERT_EQ(std::memcmp(out.data() + i * bytes,
                                from.buffer.data() + offset_of(i, sizes, from.strides) * bytes,
                                static_cast<size_t>(bytes)),
                    0);
        }
      }
}

TEST(PrebuiltPointwise, TheResultMayReplaceAnOperand) {
  Random random(6);
  for (const Isa isa : isas())
    for (const char* name : {"aten.add.f32", "aten.mul.f16", "aten.exp.f32", "aten.maximum.i64"}) {
      const PrebuiltKernel* kernel = find_prebuilt(isa, name);
      ASSERT_NE(kernel, nullptr);
      const DType dtype = *parse_dtype(std::string(name).substr(std::string(name).rfind('.') + 1));
      constexpr int64_t kN = 1500;
      const Sizes sizes = {kN};
      const Operand a = make_operand(dtype, sizes, Layout::kDense, random);
      const Operand b = make_operand(dtype, sizes, Layout::kDense, random);
      const std::vector<int64_t> integers = {1, kN, 1, 1};
      Guarded fresh(a.buffer.size()), in_place(a.buffer.size());
      std::memcpy(in_place.data(), a.buffer.data(), a.buffer.size());
      void* apart[] = {fresh.data(), a.buffer.data(), b.buffer.data()};
      void* together[] = {in_place.data(), in_place.data(), b.buffer.data()};
      KernelArgs args{apart, integers.data()};
      kernel->function(&args, 0, kN, 0, 1, nullptr);
      args.buffers = together;
      kernel->function(&args, 0, kN, 0, 1, nullptr);
      EXPECT_EQ(std::memcmp(fresh.data(), in_place.data(), fresh.size()), 0) << describe(isa, name, sizes);
    }
}

}  // namespace
}  // namespace edge_infer::test
