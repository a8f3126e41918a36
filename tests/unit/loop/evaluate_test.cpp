// Each hand-written nest against a direct computation.
#include "compiler/loop/evaluate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "compiler/graph/parse.h"
#include "compiler/loop/parse.h"
#include "compiler/loop/print.h"
#include "tests/unit/loop/nests.h"

namespace edge_infer::loop {
namespace {

using Numbers = std::vector<double>;

HostTensor tensor(DType dtype, std::vector<int64_t> sizes, const Numbers& values = {}) {
  auto made = make_host_tensor(dtype, std::move(sizes));
  EXPECT_TRUE(made);
  if (!values.empty()) made->store(values);
  return *std::move(made);
}
HostTensor random_tensor(DType dtype, std::vector<int64_t> sizes, unsigned seed) {
  HostTensor made = tensor(dtype, std::move(sizes));
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Numbers values(static_cast<size_t>(made.elements()));
  for (double& value : values) value = normal(random);
  made.store(values);
  return made;
}

Status run(const char* text, std::vector<int64_t> symbols, std::vector<HostTensor>& tensors) {
  const auto nest = parse_nest(text);
  if (!nest) return std::unexpected(nest.error());
  std::vector<HostTensor*> buffers;
  for (HostTensor& t : tensors) buffers.push_back(&t);
  return evaluate(*nest, symbols, buffers);
}

void expect_near(const HostTensor& found, const Numbers& expected, double tolerance = 1e-6) {
  const Numbers values = found.to_doubles();
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], tolerance * (1 + std::fabs(expected[i]))) << "element " << i;
}

// (x - mean) / sqrt(variance + eps)
void normalize(double* row, size_t count, double eps) {
  double mean = 0, variance = 0;
  for (size_t i = 0; i < count; ++i) mean += row[i] / static_cast<double>(count);
  for (size_t i = 0; i < count; ++i)
    variance += (row[i] - mean) * (row[i] - mean) / static_cast<double>(count);
  for (size_t i = 0; i < count; ++i) row[i] = (row[i] - mean) / std::sqrt(variance + eps);
}

TEST(LoopEvaluate, layer_norm) {
  std::vector<HostTensor> t{random_tensor(DType::kF32, {5, 8}, 1), random_tensor(DType::kF32, {8}, 2),
                            random_tensor(DType::kF32, {8}, 3), tensor(DType::kF32, {5, 8})};
  ASSERT_TRUE(run(kLayerNorm, {5}, t));
  Numbers x = t[0].to_doubles();
  const Numbers gain = t[1].to_doubles(), shift = t[2].to_doubles();
  for (size_t m = 0; m < 5; ++m) {
    normalize(&x[8 * m], 8, 1e-5);
    for (size_t n = 0; n < 8; ++n) x[8 * m + n] = x[8 * m + n] * gain[n] + shift[n];
  }
  expect_near(t[3], x);
}

TEST(LoopEvaluate, gemm_bias_residual_layer_norm) {
  std::vector<HostTensor> t{random_tensor(DType::kF32, {3, 6}, 1), random_tensor(DType::kF32, {8, 6}, 2),
                            random_tensor(DType::kF32, {8}, 3), random_tensor(DType::kF32, {3, 8}, 4),
                            tensor(DType::kF32, {3, 8})};
  ASSERT_TRUE(run(kGemmRow, {3}, t));
  const Numbers a = t[0].to_doubles(), w = t[1].to_doubles(), bias = t[2].to_doubles();
  Numbers y = t[3].to_doubles();
  for (size_t m = 0; m < 3; ++m) {
    for (size_t n = 0; n < 8; ++n) {
      y[8 * m + n] += bias[n];
      for (size_t k = 0; k < 6; ++k) y[8 * m + n] += a[6 * m + k] * w[6 * n + k];
    }
    normalize(&y[8 * m], 8, 1e-12);
  }
  expect_near(t[4], y, 1e-5);
}

TEST(LoopEvaluate, causal_grouped_attention_over_packed_sequences) {
  // Sequences of 3 and 2 rows in units of 2 rows.
  std::vector<HostTensor> t{random_tensor(DType::kF32, {5, 10}, 9), tensor(DType::kI32, {3}, {0, 3, 5}),
                            tensor(DType::kI32, {3, 2}, {0, 0, 0, 2, 1, 0}), tensor(DType::kF32, {5, 6})};
  const Status status = run(kAttention, {5, 2, 3}, t);
  ASSERT_TRUE(status) << status.error().message;
  const Numbers x = t[0].to_doubles();
  Numbers expected(30);
  for (size_t row = 0; row < 5; ++row)
    for (size_t head = 0; head < 3; ++head) {
      double sum = 0;
      for (size_t key = row < 3 ? 0 : 3; key <= row; ++key) {
        const double dot =
            x[10 * row + 2 * head] * x[10 * key + 6] + x[10 * row + 2 * head + 1] * x[10 * key + 7];
        const double weight = std::exp(0.7 * dot);
        sum += weight;
        for (size_t d = 0; d < 2; ++d) expected[6 * row + 2 * head + d] += weight * x[10 * key + 8 + d];
      }
      for (size_t d = 0; d < 2; ++d) expected[6 * row + 2 * head + d] /= sum;
    }
  expect_near(t[3], expected);

  t[2].store(Numbers{0, 0, 0, 2, 2, 0});
  EXPECT_NE(run(kAttention, {5, 2, 3}, t).error().message.find("unit 2 is of sequence 2"), std::string::npos);
  t[2].store(Numbers{0, 0, 0, 2, 1, 0});
  t[1].store(Numbers{0, 3, 6});
  EXPECT_NE(run(kAttention, {5, 2, 3}, t).error().message.find("expected rows within the 5"),
            std::string::npos);
}

TEST(LoopEvaluate, gather_checks_its_indices) {
  std::vector<HostTensor> t{tensor(DType::kI64, {3}, {9, 0, 4}), random_tensor(DType::kF32, {10, 4}, 5),
                            random_tensor(DType::kF32, {4}, 6), tensor(DType::kF32, {3, 4})};
  ASSERT_TRUE(run(kEmbedding, {3}, t));
  const Numbers table = t[1].to_doubles(), bias = t[2].to_doubles();
  Numbers expected;
  for (const size_t id : {9U, 0U, 4U})
    for (size_t n = 0; n < 4; ++n) expected.push_back(table[4 * id + n] + bias[n]);
  for (size_t m = 0; m < 3; ++m) normalize(&expected[4 * m], 4, 1e-12);
  expect_near(t[3], expected, 1e-5);
  t[0].store(Numbers{9, 10, 4});
  const Status status = run(kEmbedding, {3}, t);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "nest embed: load of b1[40], expected an index below 40");
}

TEST(LoopEvaluate, segment_mean_and_normalization) {
  std::vector<HostTensor> t{random_tensor(DType::kF32, {70, 3}, 7), tensor(DType::kI32, {3}, {0, 1, 70}),
                            tensor(DType::kF32, {2, 3})};
  ASSERT_TRUE(run(kPool, {2, 70}, t));
  const Numbers x = t[0].to_doubles();
  Numbers expected(6);
  for (size_t row = 0; row < 70; ++row)
    for (size_t n = 0; n < 3; ++n) expected[(row < 1 ? 0 : 3) + n] += x[3 * row + n] / (row < 1 ? 1 : 69);
  for (size_t b = 0; b < 2; ++b) {
    const double norm = std::hypot(expected[3 * b], expected[3 * b + 1], expected[3 * b + 2]);
    for (size_t n = 0; n < 3; ++n) expected[3 * b + n] /= norm;
  }
  expect_near(t[2], expected, 1e-5);
}

TEST(LoopEvaluate, column_sums_and_lowest_argmax) {
  std::vector<HostTensor> t{tensor(DType::kF32, {3, 5}, {1, 7, 3, 4, 5, 6, 7, NAN, 9, 10, 6, 0, NAN, 9, 15}),
                            tensor(DType::kF32, {5}), tensor(DType::kI64, {5})};
  ASSERT_TRUE(run(kColumns, {3}, t));
  const Numbers sums = t[1].to_doubles();
  EXPECT_EQ(sums[0], 13);
  EXPECT_EQ(sums[1], 14);
  EXPECT_TRUE(std::isnan(sums[2]));
  EXPECT_EQ(t[2].to_integers(), (std::vector<int64_t>{1, 0, 1, 1, 2}));
}

TEST(LoopEvaluate, integers_and_bools) {
  const std::vector<int64_t> x = {-9, -1, 0, 3, 4, INT32_MAX, INT32_MIN};
  const auto count = static_cast<int64_t>(x.size());
  std::vector<HostTensor> t{
      tensor(DType::kI32, {count}),  tensor(DType::kI8, {count}, {100, -100, 1, 2, 3, 64, -64}),
      tensor(DType::kI32, {count}),  tensor(DType::kI8, {count}),
      tensor(DType::kBool, {count}), tensor(DType::kI64, {count})};
  t[0].store(x);
  const Status status = run(kIntegers, {count}, t);
  ASSERT_TRUE(status) << status.error().message;
  std::vector<int64_t> arithmetic, truth, shifted;
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t negative = static_cast<int32_t>(-x[i]);  // of INT32_MIN: itself
    const auto quotient = static_cast<int64_t>(std::floor(static_cast<double>(negative) / 4));
    const int64_t remainder = ((x[i] % 7) + 7) % 7;
    arithmetic.push_back(static_cast<int32_t>(static_cast<uint32_t>(remainder * 3 - quotient + x[i] / 3)));
    truth.push_back(x[i] >= 0 ? 1 : 0);
    shifted.push_back(x[i] > 3 ? x[i] * 4 : static_cast<int64_t>(2 * i) - (x[i] != 0 ? 1 : 0));
  }
  EXPECT_EQ(t[2].to_integers(), arithmetic);
  EXPECT_EQ(t[3].to_integers(), (std::vector<int64_t>{-56, 56, 2, 4, 6, -128, -128}));
  EXPECT_EQ(t[4].to_integers(), truth);
  EXPECT_EQ(t[5].to_integers(), shifted);
}

TEST(LoopEvaluate, predicates_guard_loads_and_stores) {
  std::vector<HostTensor> t{tensor(DType::kF32, {3}, {0x1p70, 2, 3}), tensor(DType::kF32, {3}),
                            tensor(DType::kF32, {3}, {42, 0, 0})};
  const Status status = run(kGuarded, {3}, t);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(t[1].to_doubles(), (Numbers{-1, 0x1p70, 2}));
  EXPECT_EQ(t[2].to_doubles(), (Numbers{42, 0x1.8p-70, -1.5})) << "what is not stored stays";
}

TEST(LoopEvaluate, halves_round_at_the_store) {
  std::vector<HostTensor> t{tensor(DType::kBF16, {2}, {1.5, 3}),
                            tensor(DType::kF16, {2}, {1.0009765625, 70000}), tensor(DType::kBF16, {2}),
                            tensor(DType::kF16, {2})};
  ASSERT_TRUE(run(kHalf, {2}, t));
  const double product = 1.5 * 1.0009765625;
  EXPECT_EQ(t[2].to_doubles()[0], round_to(DType::kBF16, product));
  EXPECT_EQ(t[3].to_doubles()[0], round_to(DType::kF16, product + 1.0 / 3));
  EXPECT_TRUE(std::isinf(t[2].to_doubles()[1])) << "70000 is an infinity in f16";
}

// One value from `text` over b0 of eight numbers.
Result<double> reduced(const std::string& text, const Numbers& values) {
  std::vector<HostTensor> t{tensor(DType::kF64, {8}, values), tensor(DType::kF64, {1})};
  const std::string nest = "nest class c (b0: in f64[8], b1: out f64[1]) { for m:1 work { " + text + " } }";
  if (const Status status = run(nest.c_str(), {}, t); !status) return std::unexpected(status.error());
  return t[1].to_doubles()[0];
}

TEST(LoopEvaluate, reductions) {
  const Numbers x = {3, -1, 4, 1, -5, 9, 2, 6}, with_nan = {3, NAN, 4, 1, -5, 9, 2, 6};
  EXPECT_EQ(*reduced("%v0 = reduce sum(b0[4*i+j]) over i:2, j:4 b1[0] = %v0", x), 19);
  EXPECT_EQ(*reduced("%v0 = reduce prod(b0[i]) over i:1..4 b1[0] = %v0", x), -4);
  EXPECT_EQ(*reduced("%v0 = reduce max(b0[i]) over i:8 b1[0] = %v0", x), 9);
  EXPECT_TRUE(std::isnan(*reduced("%v0 = reduce min(b0[i]) over i:8 b1[0] = %v0", with_nan)));
  EXPECT_EQ(*reduced("%v0 = reduce max(b0[i]) over i:0 b1[0] = %v0", x), -HUGE_VAL);
  EXPECT_EQ(*reduced("%v0 = reduce argmin(b0[4*i+j]) over i:2, j:4 b1[0] = f64(%v0)", x), 4);
  EXPECT_EQ(*reduced("%v0 = reduce argmin(b0[i]) over i:8 b1[0] = f64(%v0)", with_nan), 1);
  EXPECT_EQ(*reduced("%v0 = reduce any(b0[i] > 8:f64) over i:8 b1[0] = f64(%v0)", x), 1);
  EXPECT_EQ(*reduced("%v0 = reduce all(b0[i] > 8:f64) over i:8 b1[0] = f64(%v0)", x), 0);
  EXPECT_EQ(*reduced("%v0, %v1 = reduce moments(b0[i]) over i:2 b1[0] = %v1", x), 8);
  EXPECT_FALSE(reduced("%v0 = reduce argmax(b0[i]) over i:0 b1[0] = f64(%v0)", x));
}

TEST(LoopEvaluate, what_has_no_meaning_is_an_error) {
  const Numbers x(8, 1.0);
  EXPECT_NE(reduced("local c0: f64[4] b1[0] = c0[1]", x).error().message.find("not written yet"),
            std::string::npos);
  EXPECT_NE(reduced("%v0 = i32(b0[0]) / 0:i32 b1[0] = f64(%v0)", x).error().message.find("by zero"),
            std::string::npos);
  EXPECT_NE(reduced("%v0 = i64(b0[0]) * 8:i64 b1[0] = b0[v0]", x).error().message.find("load of b0[8]"),
            std::string::npos);
  std::vector<HostTensor> t{tensor(DType::kF32, {4, 8}), tensor(DType::kF32, {8}), tensor(DType::kF32, {8}),
                            tensor(DType::kF32, {5, 8})};
  EXPECT_NE(run(kLayerNorm, {5}, t).error().message.find("b0 is f32[4, 8], expected f32[T, 8] = 40 elements"),
            std::string::npos);
  EXPECT_NE(run(kLayerNorm, {0}, t).error().message.find("symbol T is 0, expected 1..1024"),
            std::string::npos);
}

TEST(LoopEvaluate, a_million_iterations_take_about_a_second) {
  std::vector<HostTensor> t{tensor(DType::kF32, {1000, 1000}), tensor(DType::kF32, {1000, 1000})};
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(run(
      "nest class c (b0: in f32[1000, 1000], b1: out f32[1000, 1000]) { for m:1000 work { for n:1000 lane "
      "{ b1[1000*m+n] = exp(b0[m+1000*n]) * 2 + b0[1000*m+n] } } }",
      {}, t));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  RecordProperty("milliseconds", static_cast<int>(seconds.count() * 1000));
  EXPECT_EQ(t[1].to_doubles()[999999], 2);
  EXPECT_LT(seconds.count(), 20) << "loaded or sanitized machines are slower";
}

TEST(LoopEvaluate, programs_run_nests_and_prebuilt_steps) {
  const auto graph = parse_graph(R"(const $w: f32[2, 3]
const $u: f32[1, 3]
graph @g(%x: f32[T, 3], %cu: i32[B+1]) symbols(T in 1..64 hint 4, B in 1..8 hint 2) {
  %y = aten.relu(%x) : f32[T, 3]
  %z = aten.linear(%y, $w, none) : f32[T, 2]
  return %z
}
)");
  ASSERT_TRUE(graph) << graph.error().message;
  const ValueId x = *graph->find("x"), y = *graph->find("y"), z = *graph->find("z"), cu = *graph->find("cu");
  const SymInt rows = SymInt::symbol("T"), units = SymInt::symbol("U");
  LoopProgram program;
  program.name = "p";
  program.accumulation_class = "f32.k1";
  program.symbols = graph->symbols();
  program.symbols.push_back({"U", {0, 64}, 2});
  program.buffers = {
      {.role = Role::kInput, .sizes = {rows, 3}, .value = x},
      {.role = Role::kTemp, .sizes = {rows * SymInt(3)}, .value = y},
      {.role = Role::kConstant,
       .sizes = {3, 3},
       .packed = true,
       .sources = {*graph->find_constant("w"), *graph->find_constant("u")}},
      {.role = Role::kOutput, .sizes = {rows, 2}, .value = z},
      {.role = Role::kUnits,
       .dtype = DType::kI32,
       .sizes = {units, 2},
       .value = cu,
       .block_rows = 2,
       .count = "U"},
      {.role = Role::kTemp, .sizes = {units}},
  };
  program.nests.push_back(
      *parse_nest("nest @gemm class f32.k1 symbols(R in 1..64 hint 4) (b0: in f32[R, 3], b1: packed f32[3, "
                  "3], b2: out f32[R, 2]) "
                  "{ for m:R work { gemm %v0 over n:3, k:3 a(b0[3*m+k]) w(b1) { b2[2*m+n] = %v0 if "
                  "size(n):i64 < 2:i64 } } }"));
  program.nests.push_back(
      *parse_nest("nest @units class f32.k1 symbols(U in 0..64 hint 2) (b0: index i32[U, 2], b1: out f32[U]) "
                  "{ for m:U work { b1[m] = f32(b0[2*m+1]) } }"));
  program.steps = {{.nest = -1, .buffers = {0, 1}, .nodes = {0}},
                   {.nest = 1, .buffers = {4, 5}, .symbols = {units}},
                   {.nest = 0, .buffers = {1, 2, 3}, .symbols = {rows}, .nodes = {1}}};
  program.unfused = {{0, 1, "not profitable"}};
  const TensorMap constants{{"w", random_tensor(DType::kF32, {2, 3}, 1)},
                            {"u", random_tensor(DType::kF32, {1, 3}, 2)}};
  const std::vector<HostTensor> inputs{random_tensor(DType::kF32, {5, 3}, 3),
                                       tensor(DType::kI32, {3}, {0, 2, 5})};
  const auto found = evaluate(program, *graph, inputs, constants);
  ASSERT_TRUE(found) << found.error().message;
  const auto expected = edge_infer::evaluate(*graph, inputs, constants);
  ASSERT_TRUE(expected);
  expect_near((*found)[0], (*expected)[0].to_doubles());

  const std::string text = print_loops(program, *graph);
  for (const char* line :
       {"program @p class f32.k1 symbols(T in 1..64 hint 4, B in 1..8 hint 2, U in 0..64 hint 2) {\n",
        "  b2: const packed f32[3, 3] = $w, $u\n", "  b4: units i32[U, 2] of %cu by 2 count U\n",
        "  s0: prebuilt aten.relu(b0 -> b1)  // %y=aten.relu\n",
        "  s2: @gemm(b1, b2, b3) with R = T  // %z=aten.linear\n",
        "  unfused %y=aten.relu -> %z=aten.linear: not profitable\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;

  program.steps[2].buffers = {1, 2};
  EXPECT_FALSE(evaluate(program, *graph, inputs, constants));
  program.steps.clear();
  program.buffers[3].role = Role::kTemp;
  program.buffers[3].value = y;
  EXPECT_FALSE(evaluate(program, *graph, inputs, constants)) << "no buffer holds the output";
}

}  // namespace
}  // namespace edge_infer::loop
