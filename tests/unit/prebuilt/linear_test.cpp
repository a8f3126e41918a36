// aten.linear and its packed format, and aten.matmul: every element must be the class's chain of fma, bit for
// bit.
#include "backends/cpu/device.h"
#include "tests/unit/prebuilt/kernel_call.h"

namespace edge_infer {
namespace {

class Linear : public EveryIsa {
 protected:
  Fenced<float> packed(const Fenced<float>& w, int64_t n, int64_t k) {
    const CpuDevice device(isa());
    const auto bytes = device.packed_bytes(device.target().packed_linear_format, n, k);
    EXPECT_TRUE(bytes);
    Fenced<float> out(static_cast<int64_t>(*bytes / sizeof(float)));
    const Device::Rows rows[] = {{&w[0], n}};
    EXPECT_TRUE(device.pack(device.target().packed_linear_format, rows, k,
                            std::as_writable_bytes(std::span(out.data(), out.size()))));
    return out;
  }
  std::vector<float> expected(const Fenced<float>& x, const Fenced<float>& w, const float* bias, int64_t m,
                              int64_t n, int64_t k) {
    std::vector<float> out(static_cast<size_t>(m * n));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (int64_t l = 0; l < k; ++l) sum = fused(x[i * k + l], w[j * k + l], sum);
        out[static_cast<size_t>(i * n + j)] = bias == nullptr ? sum : sum + bias[j];
      }
    return out;
  }
};

TEST_P(Linear, is_the_chain_of_fma_for_every_number_of_rows) {
  Kernel kernel(isa(), "aten.linear.f32");
  for (const auto& [n, k] : {std::pair{1, 1}, {5, 7}, {31, 33}, {48, 64}, {130, 50}, {97, 20}}) {
    const auto w = random_floats(n * k, 1);
    auto packed_w = packed(w, n, k);
    auto bias = random_floats(n, 2);
    for (int64_t m = 1; m <= 40; ++m) {
      auto x = random_floats(m * k, static_cast<uint32_t>(m));
      Fenced<float> out(m * n);
      const bool with_bias = m % 3 != 0;
      kernel({out.data(), x.data(), packed_w.data(), with_bias ? bias.data() : nullptr}, {n, k}, 0, m, 0, n);
      const auto want = expected(x, w, with_bias ? bias.data() : nullptr, m, n, k);
      ASSERT_EQ(first_difference<float>(out.copy(), want), "") << "M " << m << " N " << n << " K " << k;
    }
  }
}

TEST_P(Linear, is_the_same_chain_where_k_and_rows_are_blocked) {
  Kernel kernel(isa(), "aten.linear.f32");
  const int64_t m = 131, n = 70, k = 4100;
  const auto w = random_floats(n * k, 1);
  auto packed_w = packed(w, n, k);
  auto x = random_floats(m * k, 2), bias = random_floats(n, 3);
  Fenced<float> out(m * n);
  kernel({out.data(), x.data(), packed_w.data(), bias.data()}, {n, k}, 0, m, 0, n);
  EXPECT_EQ(first_difference<float>(out.copy(), expected(x, w, bias.data(), m, n, k)), "");
}

TEST_P(Linear, writes_exactly_its_range_and_the_same_bits_from_any_split) {
  Kernel kernel(isa(), "aten.linear.f32");
  const int64_t m = 67, n = 5 * 32 + 9, k = 45;
  const auto w = random_floats(n * k, 1);
  auto packed_w = packed(w, n, k);
  auto x = random_floats(m * k, 2), bias = random_floats(n, 3);
  Fenced<float> whole(m * n);
  kernel({whole.data(), x.data(), packed_w.data(), bias.data()}, {n, k}, 0, m, 0, n);
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    Fenced<float> out(m * n);
    const int64_t m0 = random() % 60, m1 = m0 + 1 + random() % static_cast<unsigned>(m - m0);
    const int64_t panels = (n + panel() - 1) / panel();
    const int64_t p0 = random() % static_cast<unsigned>(panels),
                  p1 = p0 + 1 + random() % static_cast<unsigned>(panels - p0);
    const int64_t n0 = p0 * panel(), n1 = std::min(n, p1 * panel());
    kernel({out.data(), x.data(), packed_w.data(), bias.data()}, {n, k}, m0, std::min(m1, m), n0, n1);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const bool inside = i >= m0 && i < m1 && j >= n0 && j < n1;
        const auto bits = std::bit_cast<uint32_t>(out[i * n + j]);
        ASSERT_EQ(bits, inside ? std::bit_cast<uint32_t>(whole[i * n + j]) : 0xffffffffU) << i << ", " << j;
      }
  }
}

TEST_P(Linear, keeps_a_rows_nan_to_itself) {
  Kernel kernel(isa(), "aten.linear.f32");
  const int64_t m = 25, n = 40, k = 30;
  const auto w = random_floats(n * k, 1);
  auto packed_w = packed(w, n, k);
  auto x = random_floats(m * k, 2);
  for (int64_t l = 0; l < k; ++l) x[3 * k + l] = NAN, x[24 * k + l] = INFINITY;
  Fenced<float> out(m * n);
  kernel({out.data(), x.data(), packed_w.data(), nullptr}, {n, k}, 0, m, 0, n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      EXPECT_EQ(std::isfinite(out[i * n + j]), i != 3 && i != 24) << i << ", " << j;
}

TEST_P(Linear, without_k_is_the_bias) {
  Kernel kernel(isa(), "aten.linear.f32");
  Fenced<float> x(0), w(0), out(6);
  auto bias = fenced<float>({1, 2, 3});
  kernel({out.data(), x.data(), w.data(), bias.data()}, {3, 0}, 0, 2, 0, 3);
  EXPECT_EQ(out.copy(), (std::vector<float>{1, 2, 3, 1, 2, 3}));
}

TEST_P(Linear, packs_sources_one_after_another_and_unpacks_them) {
  const CpuDevice device(isa());
  const std::string format = device.target().packed_linear_format;
  const int64_t k = 37;
  const auto a = random_floats(21 * k, 1), b = random_floats(1 * k, 2), c = random_floats(50 * k, 3);
  const Device::Rows rows[] = {{&a[0], 21}, {&b[0], 1}, {&c[0], 50}};
  const auto bytes = device.packed_bytes(format, 72, k);
  ASSERT_TRUE(bytes);
  Fenced<float> out(static_cast<int64_t>(*bytes / 4));
  ASSERT_TRUE(device.pack(format, rows, k, std::as_writable_bytes(std::span(out.data(), out.size()))));
  Fenced<float> back(72 * k);
  Kernel(isa(), "edge.unpack_linear.f32")({back.data(), out.data()}, {k}, 0, 72);
  std::vector<float> want;
  for (const auto* source : {&a, &b, &c})
    for (const float x : source->copy()) want.push_back(x);
  EXPECT_EQ(first_difference<float>(back.copy(), want), "");
  const int64_t padded = static_cast<int64_t>(*bytes / 4) / k;
  for (int64_t row = 72; row < padded; ++row)
    for (int64_t i = 0; i < k; ++i)
      ASSERT_EQ(out[row / panel() * panel() * k + i * panel() + row % panel()], 0.0F) << "pad column " << row;
}

TEST_P(Linear, device_refuses_what_it_cannot_pack) {
  const CpuDevice device(isa());
  const std::string format = device.target().packed_linear_format;
  EXPECT_EQ(device.packed_bytes("nk.f32.p7", 4, 4).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(device.packed_bytes(format, -1, 4).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(device.packed_bytes(format, INT64_MAX, 4).error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(device.packed_bytes(format, INT64_MAX / 64, 64).error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(*device.packed_bytes(format, 0, 4), 0U);
  float small[4] = {};
  const Device::Rows rows[] = {{small, 1}};
  EXPECT_EQ(device.pack(format, rows, 4, std::as_writable_bytes(std::span(small))).error().code,
            ErrorCode::kInvalidArgument);
  const auto missing = device.load_kernel("prebuilt:aten.nothing.f32");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message.find("aten.nothing.f32"), std::string::npos);
  EXPECT_TRUE(device.load_kernel("prebuilt:aten.linear.f32"));
}

EDGE_EVERY_ISA(Linear);

class Matmul : public EveryIsa {};

struct Strides {
  int64_t row, column;
};

TEST_P(Matmul, is_the_chain_of_fma_through_any_strides) {
  Kernel kernel(isa(), "aten.matmul.f32");
  for (const auto& [m, n, k] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1}, {3, 5, 7}, {13, 33, 40}, {29, 70, 300}, {7, 32, 513}})
    for (int a_form = 0; a_form < 3; ++a_form)
      for (int b_form = 0; b_form < 3; ++b_form) {
        // Row-major, column-major, and every second element of row-major.
        const auto strides = [](int form, int64_t rows, int64_t columns) {
          return form == 0 ? Strides{columns, 1} : form == 1 ? Strides{1, rows} : Strides{2 * columns, 2};
        };
        const Strides sa = strides(a_form, m, k), sb = strides(b_form, k, n);
        const int64_t batches[] = {2, 3};
        const int64_t a_size = m * k * (a_form == 2 ? 2 : 1), b_size = k * n * (b_form == 2 ? 2 : 1);
        auto a = random_floats(6 * a_size, 1),
             b = random_floats(3 * b_size, 2);  // b is broadcast over the first dimension
        Fenced<float> out(6 * m * n);
        const std::vector<int64_t> integers = {2,      batches[0], batches[1], 3 * a_size, a_size,
                                               0,      b_size,     m,          n,          k,
                                               sa.row, sa.column,  sb.row,     sb.column};
        // Two ranges that cut a batch in the middle.
        const int64_t cut = m + m / 2;
        kernel({out.data(), a.data(), b.data()}, integers, 0, cut);
        kernel({out.data(), a.data(), b.data()}, integers, cut, 6 * m);
        for (int64_t batch = 0; batch < 6; ++batch)
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
              float sum = 0;
              for (int64_t l = 0; l < k; ++l)
                sum = fused(a[batch * a_size + i * sa.row + l * sa.column],
                            b[batch % 3 * b_size + l * sb.row + j * sb.column], sum);
              ASSERT_EQ(std::bit_cast<uint32_t>(out[(batch * m + i) * n + j]), std::bit_cast<uint32_t>(sum))
                  << m << " x " << k << " x " << n << ", forms " << a_form << b_form << " at " << batch << ","
                  << i << "," << j;
            }
      }
}

EDGE_EVERY_ISA(Matmul);

}  // namespace
}  // namespace edge_infer
