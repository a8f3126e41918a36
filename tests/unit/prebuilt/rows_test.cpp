// LayerNorm, RMSNorm, softmax, GELU: against double, and each row's bits alone, in any split and in any
// company.
#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/unit/prebuilt/kernel_call.h"

namespace edge_infer {
namespace {

class Rows : public EveryIsa {};

// Runs all rows at once and then row by row: the bits must be equal, and rows outside a range untouched.
void expect_rows_independent(Kernel& kernel, const std::function<std::vector<void*>(float*)>& buffers,
                             const std::vector<int64_t>& integers, int64_t rows, int64_t out_size) {
  Fenced<float> whole(out_size), single(out_size), nothing(out_size);
  kernel(buffers(whole.data()), integers, 0, rows);
  for (int64_t m = rows - 1; m >= 0; --m) kernel(buffers(single.data()), integers, m, m + 1);
  EXPECT_EQ(first_difference<float>(whole.copy(), single.copy()), "");
  kernel(buffers(nothing.data()), integers, rows / 2, rows / 2);
  for (const float x : nothing.copy())
    ASSERT_EQ(std::bit_cast<uint32_t>(x), 0xffffffffU) << "an empty range wrote";
}

TEST_P(Rows, layer_norm_is_two_sweeps) {
  Kernel kernel(isa(), "aten.layer_norm.f32");
  for (const int64_t n : {1, 7, 16, 17, 384, 385, 1000})
    for (const int form : {0, 1, 2}) {  // gamma and beta, gamma, neither
      const int64_t rows = 11;
      auto x = random_floats(rows * n, 1, 3), gamma = random_floats(n, 2, 2), beta = random_floats(n, 3);
      // A mean far from 0: E[x^2] - E[x]^2 would lose it all.
      for (int64_t i = 0; i < n; ++i) x[4 * n + i] = x[4 * n + i] * 0.01F + 1000.0F;
      const double eps = 1e-5;
      const std::vector<int64_t> integers = {n, as_integer(eps)};
      const auto buffers = [&](float* out) {
        return std::vector<void*>{out, x.data(), form < 2 ? gamma.data() : nullptr,
                                  form < 1 ? beta.data() : nullptr};
      };
      Fenced<float> out(rows * n);
      kernel(buffers(out.data()), integers, 0, rows);
      for (int64_t m = 0; m < rows; ++m) {
        double mean = 0, square = 0;
        for (int64_t i = 0; i < n; ++i) mean += static_cast<double>(x[m * n + i]) / static_cast<double>(n);
        for (int64_t i = 0; i < n; ++i)
          square += std::pow(static_cast<double>(x[m * n + i]) - mean, 2) / static_cast<double>(n);
        for (int64_t i = 0; i < n; ++i) {
          double want = (static_cast<double>(x[m * n + i]) - mean) / std::sqrt(square + eps);
          if (form < 2) want *= static_cast<double>(gamma[i]);
          if (form < 1) want += static_cast<double>(beta[i]);
          // Row 4: one ulp of 1000 is 6e-5, of a spread of 0.02.
          ASSERT_NEAR(out[m * n + i], want, m == 4 ? 2e-2 : 4e-6)
              << "n " << n << " row " << m << " column " << i;
        }
      }
      expect_rows_independent(kernel, buffers, integers, rows, rows * n);
    }
}

TEST_P(Rows, rms_norm_divides_by_the_root_of_the_mean_square) {
  Kernel kernel(isa(), "edge.rms_norm.f32");
  for (const int64_t n : {1, 5, 64, 250}) {
    const int64_t rows = 9;
    auto x = random_floats(rows * n, 1, 3), gamma = random_floats(n, 2, 2);
    const std::vector<int64_t> integers = {n, as_integer(1e-6)};
    const auto buffers = [&](float* out) {
      return std::vector<void*>{out, x.data(), n == 5 ? nullptr : gamma.data()};
    };
    Fenced<float> out(rows * n);
    kernel(buffers(out.data()), integers, 0, rows);
    for (int64_t m = 0; m < rows; ++m) {
      double square = 0;
      for (int64_t i = 0; i < n; ++i)
        square += std::pow(static_cast<double>(x[m * n + i]), 2) / static_cast<double>(n);
      for (int64_t i = 0; i < n; ++i)
        ASSERT_NEAR(out[m * n + i],
                    static_cast<double>(x[m * n + i]) / std::sqrt(square + 1e-6) *
                        (n == 5 ? 1.0 : static_cast<double>(gamma[i])),
                    3e-6);
    }
    expect_rows_independent(kernel, buffers, integers, rows, rows * n);
  }
}

TEST_P(Rows, softmax_and_its_logarithm_along_any_dimension) {
  for (const bool log : {false, true}) {
    Kernel kernel(isa(), log ? "aten.log_softmax.f32" : "aten.softmax.f32");
    for (const auto& [outer, length, inner] : {std::tuple<int64_t, int64_t, int64_t>{7, 1, 1},
                                               {5, 17, 1},
                                               {3, 200, 1},
                                               {2, 5, 3},
                                               {3, 40, 19},
                                               {1, 100, 33}}) {
      const int64_t rows = outer * inner, size = rows * length;
      auto x = random_floats(size, 1, 20);
      const std::vector<int64_t> integers = {outer, length, inner};
      const auto buffers = [&](float* out) { return std::vector<void*>{out, x.data()}; };
      Fenced<float> out(size);
      kernel(buffers(out.data()), integers, 0, rows);
      for (int64_t row = 0; row < rows; ++row) {
        const auto at = [&](int64_t i) { return (row / inner * length + i) * inner + row % inner; };
        double top = -INFINITY, total = 0;
        for (int64_t i = 0; i < length; ++i) top = std::max(top, static_cast<double>(x[at(i)]));
        for (int64_t i = 0; i < length; ++i) total += std::exp(static_cast<double>(x[at(i)]) - top);
        for (int64_t i = 0; i < length; ++i) {
          const double shifted = static_cast<double>(x[at(i)]) - top;
          ASSERT_NEAR(out[at(i)], log ? shifted - std::log(total) : std::exp(shifted) / total,
                      log ? 5e-6 : 3e-7);
        }
      }
      // The same rows laid out along the last dimension have the same bits.
      Fenced<float> turned(size), turned_out(size);
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t i = 0; i < length; ++i)
          turned[row * length + i] = x[(row / inner * length + i) * inner + row % inner];
      kernel({turned_out.data(), turned.data()}, {rows, length, 1}, 0, rows);
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t i = 0; i < length; ++i)
          ASSERT_EQ(turned_out[row * length + i], out[(row / inner * length + i) * inner + row % inner]);
      expect_rows_independent(kernel, buffers, integers, rows, size);
    }
  }
}

TEST_P(Rows, softmax_shows_nan_in_its_own_row_only) {
  Kernel kernel(isa(), "aten.softmax.f32");
  for (const int64_t inner : {1, 3}) {
    auto x = random_floats(4 * 30 * inner, 1);
    x[(30 + 20) * inner] = NAN;
    Fenced<float> out(4 * 30 * inner);
    kernel({out.data(), x.data()}, {4, 30, inner}, 0, 4 * inner);
    for (int64_t o = 0; o < 4; ++o)
      for (int64_t i = 0; i < 30; ++i)
        for (int64_t j = 0; j < inner; ++j)
          ASSERT_EQ(std::isnan(out[(o * 30 + i) * inner + j]), o == 1 && j == 0) << o << " " << i << " " << j;
  }
}

TEST_P(Rows, gelu_reads_through_strides_and_keeps_its_two_forms_apart) {
  Kernel kernel(isa(), "aten.gelu.f32");
  const int64_t a = 3, b = 5, c = 37;
  auto x = random_floats(2 * a * b * c, 1, 6);
  for (const int64_t approximate : {0, 1})
    for (const auto& strides : {std::vector<int64_t>{b * c, c, 1}, {1, a, a * b}, {0, 2 * c, 2}}) {
      std::vector<int64_t> integers = {3, a, b, c, strides[0], strides[1], strides[2], approximate};
      Fenced<float> out(a * b * c);
      kernel({out.data(), x.data()}, integers, 0, 100);
      kernel({out.data(), x.data()}, integers, 100, a * b * c);
      for (int64_t i = 0; i < a * b * c; ++i) {
        const double in = x[i / (b * c) * strides[0] + i / c % b * strides[1] + i % c * strides[2]];
        const double want =
            approximate == 0
                ? in * 0.5 * std::erfc(-in * M_SQRT1_2)
                : 0.5 * in * (1 + std::tanh(std::sqrt(2 / M_PI) * (in + 0.044715 * in * in * in)));
        ASSERT_NEAR(out[i], want, approximate == 0 ? 5e-7 : 1e-6) << in;
      }
    }
}

EDGE_EVERY_ISA(Rows);

}  // namespace
}  // namespace edge_infer
