#include "runtime/symbolic/sym_int.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace edge_infer {
namespace {

SymInt parsed(std::string_view text) {
  auto result = SymInt::parse(text);
  EXPECT_TRUE(result) << text << ": " << result.error().message;
  return result ? *result : SymInt(0);
}

std::string canonical(std::string_view text) {
  return parsed(text).str();
}

const std::vector<Symbol> kSymbols = {{"B", {1, 1024}, 1}, {"T", {1, 16384}, 128}, {"z", {0, 5}, 1}};

TEST(SymInt, prints_the_canonical_form) {
  const std::pair<const char*, const char*> cases[] = {
      {"0", "0"},
      {"-7", "-7"},
      {"B + 1", "B+1"},
      {"1 + B", "B+1"},
      {"T*B", "B*T"},
      {"T - T", "0"},
      {"2*T - 3*T", "-T"},
      {"(T+1)*(T-1)", "T*T-1"},
      {"(B+T)*4 - 4*B", "4*T"},
      {"T*0 + 3", "3"},
      {"--T", "T"},
      {"2 - -3", "5"},
      {"T + 2*T*B + 1 + B*T", "3*B*T+T+1"},
      {"8 // 3", "2"},
      {"-8 // 3", "-3"},
      {"8 % -3", "-1"},
      {"-8 % 3", "1"},
      {"T // 1", "T"},
      {"(4*T + 6) // 4", "T+1"},
      {"(4*T + B + 6) // 4", "T+(B+2)//4+1"},
      {"(2*T + 1) // 4", "T//2"},
      {"(T // 2) // 3", "T//6"},
      {"(T + 15) // 16 * 16", "16*((T+15)//16)"},
      {"B*T*384 // (B*T)", "384"},
      {"(B*T + 3*T) // T", "B+3"},
      {"T // T", "1"},
      {"5*T % 4", "T%4"},
      {"(T+5) % 4", "(T+1)%4"},
      {"2*T % 4", "2*(T%2)"},
      {"B*T % T", "0"},
      {"4*(T//4) + T%4", "T"},
      {"8*(T//4) + T%4", "T+4*(T//4)"},
      {"3*(T//6) + (T//2)%3", "T//2"},
      {"min(T, 4)", "min(4, T)"},
      {"min(T, T+1)", "T"},
      {"max(T, T+1, B)", "max(B, T+1)"},
      {"max(max(B, 2), max(T, 3))", "max(3, B, T)"},
      {"5 // 0", "5//0"},
      {"T // 0", "T//0"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(canonical(text), expected) << text;
}

TEST(SymInt, proves_equal_what_is_written_differently) {
  EXPECT_EQ(parsed("(T+B)*(T+B)"), parsed("T*T + 2*B*T + B*B"));
  EXPECT_EQ(parsed("max(T, B)"), parsed("max(B, T)"));
  EXPECT_EQ(parsed("(T+7)//8"), ceildiv(SymInt::symbol("T"), 8));
  EXPECT_FALSE(parsed("T") == parsed("B"));
  EXPECT_FALSE(parsed("T") == parsed("T+1"));
}

TEST(SymInt, keeps_what_would_overflow_apart_instead_of_wrapping) {
  const SymInt big = INT64_MAX;
  const SymInt sum = big + 1;
  EXPECT_FALSE(sum.constant());
  EXPECT_FALSE(sum.evaluate({}));
  EXPECT_EQ(parsed(sum.str()), sum);
  const SymInt product = SymInt(INT64_MAX) * SymInt::symbol("T") * SymInt(3);
  EXPECT_EQ(parsed(product.str()), product);
  EXPECT_EQ(*product.evaluate({{"T", 0}}), 0);
  EXPECT_EQ(product.evaluate({{"T", 1}}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(SymInt::symbol("T").evaluate({}));
  EXPECT_FALSE((SymInt::symbol("T") * SymInt::symbol("T")).evaluate({{"T", int64_t{1} << 32}}));
  EXPECT_FALSE((SymInt(INT64_MIN) - 1).evaluate({}));
  EXPECT_EQ(canonical("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(canonical("B*T + -9223372036854775808*T"), "B*T+(-9223372036854775808)*T");
}

TEST(SymInt, evaluates_like_python) {
  const std::map<std::string, int64_t, std::less<>> values = {{"T", 37}, {"B", 5}};
  EXPECT_EQ(*parsed("(T+15)//16*16 - T").evaluate(values), 11);
  EXPECT_EQ(*parsed("-T//4").evaluate(values), -10);
  EXPECT_EQ(*parsed("-(T//4)").evaluate(values), -9);
  EXPECT_EQ(*parsed("-T % 4").evaluate(values), 3);
  EXPECT_EQ(*parsed("min(T, B*7) + max(T, B)").evaluate(values), 72);
  const auto unknown = parsed("T + missing").evaluate(values);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("missing"), std::string::npos);
  EXPECT_NE(parsed("T // (B - 5)").evaluate(values).error().message.find("division by zero"),
            std::string::npos);
}

TEST(SymInt, bounds_hold_at_the_symbols_limits) {
  EXPECT_EQ(parsed("B*T+1").range(kSymbols), (SymRange{2, 1024 * 16384 + 1}));
  EXPECT_EQ(parsed("T%16").range(kSymbols), (SymRange{0, 15}));
  EXPECT_EQ(parsed("(T+15)//16").range(kSymbols), (SymRange{1, 1024}));
  EXPECT_EQ(parsed("-T").range(kSymbols), (SymRange{-16384, -1}));
  EXPECT_EQ(parsed("max(B, T)").range(kSymbols), (SymRange{1, 16384}));
  EXPECT_EQ(parsed("T - T//2").range(kSymbols), (SymRange{1, 8192}));
  EXPECT_EQ(parsed("(T+15)//16*16 - T").range(kSymbols), (SymRange{0, 15}));
  EXPECT_EQ(parsed("unknown").range(kSymbols), (SymRange{INT64_MIN, INT64_MAX}));
}

TEST(SymInt, refuses_what_is_no_expression) {
  for (const char* text : {"", "T +", "(T", "T)", "1 2", "min(T", "min T", "9223372036854775808", "*T",
                           "T // ", "T $ 2", "max()", "%x"})
    EXPECT_FALSE(SymInt::parse(text)) << text;
  EXPECT_FALSE(SymInt::parse(std::string(100000, '(')));
  EXPECT_FALSE(SymInt::parse(std::string(10000, '-') + "T"));
  EXPECT_EQ(SymInt::parse("T+ +").error().message,
            "size expression \"T+ +\": found \"+\" at position 3, expected a number or a name");
}

TEST(SymInt, bounds_the_expansion_of_nested_products) {
  std::string text = "a";
  for (int i = 0; i < 8; ++i) text = "((" + text + "+1)*(a+b+c+d+e+f+g)*(h+i+j+k+l+m+n))//q";
  EXPECT_EQ(SymInt::parse(text).error().code, ErrorCode::kResourceExhausted);
}

TEST(SymInt, substitutes_and_simplifies_again) {
  const SymInt e = parsed("T*B + T//4");
  EXPECT_EQ(e.substitute({{"T", SymInt(8)}}).str(), "8*B+2");
  EXPECT_EQ(e.substitute({{"T", SymInt::symbol("u") * 4}}).str(), "4*B*u+u");
  EXPECT_EQ(e.substitute({}), e);
  EXPECT_EQ(e.symbols(), (std::vector<std::string>{"B", "T"}));
}

// Random expressions: the canonical form has the value of what was built, its text parses back, its bounds
// hold, and the flat code agrees.
class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}
  int64_t pick(int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(random_); }

  // An expression and its value under `values`, computed beside it; nullopt where a division by zero occurs.
  std::pair<SymInt, std::optional<int64_t>> make(int depth, const std::vector<int64_t>& values) {
    if (depth == 0 || pick(0, 5) == 0) {
      if (pick(0, 2) == 0) {
        const int64_t c = pick(-6, 12);
        return {SymInt(c), c};
      }
      const auto i = static_cast<size_t>(pick(0, 2));
      return {SymInt::symbol(kSymbols[i].name), values[i]};
    }
    const auto [a, x] = make(depth - 1, values);
    const auto [b, y] = make(depth - 1, values);
    const bool valid = x && y;
    const int64_t xv = x.value_or(0), yv = y.value_or(0);
    switch (pick(0, 7)) {
      case 0:
      case 1:
        return {a + b, valid ? std::optional(xv + yv) : std::nullopt};
      case 2:
        return {a - b, valid ? std::optional(xv - yv) : std::nullopt};
      case 3:
        return {a * b, valid ? std::optional(xv * yv) : std::nullopt};
      case 4:
        return {floordiv(a, b), valid && yv != 0 ? std::optional(floor_quotient(xv, yv)) : std::nullopt};
      case 5:
        return {mod(a, b), valid && yv != 0 ? std::optional(xv - yv * floor_quotient(xv, yv)) : std::nullopt};
      case 6:
        return {min(a, b), valid ? std::optional(std::min(xv, yv)) : std::nullopt};
      default:
        return {max(a, b), valid ? std::optional(std::max(xv, yv)) : std::nullopt};
    }
  }

 private:
  static int64_t floor_quotient(int64_t a, int64_t b) {
    int64_t q = a / b;
    while (q * b > a && b > 0) --q;
    while (q * b < a && b < 0) --q;
    return q;
  }
  std::mt19937 random_;
};

TEST(SymInt, random_expressions_keep_their_value_text_and_bounds) {
  Generator generator(20260801);
  int checked = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::vector<int64_t> values = {generator.pick(1, 40), generator.pick(1, 40), generator.pick(0, 5)};
    const auto [e, expected] = generator.make(4, values);
    const std::string text = e.str();
    const auto again = SymInt::parse(text);
    ASSERT_TRUE(again) << text << ": " << again.error().message;
    ASSERT_EQ(again->str(), text);
    ASSERT_EQ(*again, e) << text;
    if (!expected) continue;
    const auto value = e.evaluate({{"B", values[0]}, {"T", values[1]}, {"z", values[2]}});
    ASSERT_TRUE(value) << text << ": " << value.error().message;
    ASSERT_EQ(*value, *expected) << text;
    const SymRange range = e.range(kSymbols);
    ASSERT_LE(range.lo, *value) << text;
    ASSERT_GE(range.hi, *value) << text;
    const auto code = SymCode::compile(e, kSymbols);
    ASSERT_TRUE(code) << text;
    ASSERT_EQ(code->evaluate(values), *value) << text;
    ++checked;
  }
  EXPECT_GT(checked, 2000);
}

// Bounds are found by way of multiples of the expression, which need not fit 64 bits where it does.
TEST(SymInt, bounds_hold_beside_huge_coefficients) {
  std::mt19937_64 random(7);
  const auto pick = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random);
  };
  const auto coefficient = [&] {
    const int64_t large = INT64_MAX / (int64_t{1} << pick(0, 20));
    const int64_t magnitude = pick(0, 1) == 0 ? pick(1, 9) : pick(large / 2, large);
    return pick(0, 1) == 0 ? magnitude : -magnitude;
  };
  int checked = 0;
  for (int round = 0; round < 20'000; ++round) {
    const SymInt e = parsed(fmt::format("{}*T + {}*((T + {}*B)//{}) + {}*B + {}", coefficient(),
                                        coefficient(), pick(-3, 3), pick(2, 9), pick(-9, 9), coefficient()));
    const auto value = e.evaluate({{"B", pick(1, 1024)}, {"T", pick(1, 16384)}});
    if (!value) continue;
    const SymRange range = e.range(kSymbols);
    ASSERT_LE(range.lo, *value) << e.str();
    ASSERT_GE(range.hi, *value) << e.str();
    ++checked;
  }
  EXPECT_GT(checked, 5000);
}

TEST(SymCode, reports_unknown_symbols_and_marks_overflow) {
  EXPECT_FALSE(SymCode::compile(parsed("Q+1"), kSymbols));
  const auto square = SymCode::compile(parsed("T*T"), kSymbols);
  ASSERT_TRUE(square);
  EXPECT_EQ(square->evaluate(std::vector<int64_t>{1, int64_t{1} << 40, 0}), INT64_MIN);
  const auto quotient = SymCode::compile(parsed("T//z"), kSymbols);
  EXPECT_EQ(quotient->evaluate(std::vector<int64_t>{1, 9, 0}), INT64_MIN);
  EXPECT_EQ(quotient->evaluate(std::vector<int64_t>{1, 9, 2}), 4);
}

}  // namespace
}  // namespace edge_infer
