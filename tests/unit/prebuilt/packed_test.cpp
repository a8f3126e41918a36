// Embedding rows, positions and pooling of packed sequences; the registry of kernels.
#include <cmath>
#include <set>

#include "tests/unit/prebuilt/kernel_call.h"

namespace edge_infer {
namespace {

class Packed : public EveryIsa {};

TEST_P(Packed, embedding_copies_rows_of_every_width) {
  for (const auto& [name, bytes] :
       {std::pair{"aten.embedding.f32", 4}, {"aten.embedding.f64", 8}, {"aten.embedding.bf16", 2}})
    for (const int64_t wide_ids : {0, 1}) {
      Kernel kernel(isa(), name);
      const int64_t n = 13, rows = 9;
      Fenced<uint8_t> table(rows * n * bytes), out(6 * n * bytes);
      std::mt19937 random(1);
      for (uint8_t& x : table) x = static_cast<uint8_t>(random());
      auto narrow = fenced<int32_t>({0, 8, 3, 3, 1, 7});
      auto wide = fenced<int64_t>({0, 8, 3, 3, 1, 7});
      void* ids = wide_ids != 0 ? static_cast<void*>(wide.data()) : narrow.data();
      kernel({out.data(), table.data(), ids}, {n, rows, wide_ids}, 0, 2);
      kernel({out.data(), table.data(), ids}, {n, rows, wide_ids}, 2, 6);
      for (int64_t i = 0; i < 6; ++i)
        EXPECT_EQ(
            std::memcmp(&out[i * n * bytes], &table[narrow[i] * n * bytes], static_cast<size_t>(n * bytes)),
            0);
    }
}

TEST_P(Packed, embedding_widens_half_precision_exactly) {
  // All 65,536 values of each format, in rows of 37 that end in a masked vector.
  const int64_t n = 37, rows = (65536 + n - 1) / n;
  Fenced<uint16_t> table(rows * n);
  for (int64_t i = 0; i < rows * n; ++i) table[i] = static_cast<uint16_t>(i);
  Fenced<int32_t> ids(rows);
  for (int64_t i = 0; i < rows; ++i) ids[i] = static_cast<int32_t>(i);
  Fenced<float> out(rows * n);
  Kernel(isa(), "aten.embedding.bf16.f32")({out.data(), table.data(), ids.data()}, {n, rows, 0}, 0, rows);
  for (int64_t i = 0; i < rows * n; ++i)
    ASSERT_EQ(std::bit_cast<uint32_t>(out[i]), static_cast<uint32_t>(static_cast<uint16_t>(i)) << 16);
  Kernel(isa(), "aten.embedding.f16.f32")({out.data(), table.data(), ids.data()}, {n, rows, 0}, 0, rows);
  for (int64_t i = 0; i < rows * n; ++i) {
    const int h = static_cast<uint16_t>(i), exponent = (h >> 10) & 31, fraction = h & 1023;
    double want = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31) want = fraction == 0 ? INFINITY : NAN;
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(out[i])) << i;
    } else {
      ASSERT_EQ(out[i], static_cast<float>(h >> 15 != 0 ? -want : want)) << i;
      ASSERT_EQ(std::signbit(out[i]), h >> 15 != 0) << i;
    }
  }
}

TEST_P(Packed, positions_start_again_in_every_sequence) {
  Kernel kernel(isa(), "edge.packed_positions.i32");
  auto cu = fenced<int32_t>({0, 0, 3, 3, 3, 10, 11, 11});
  const int64_t tokens = 11, sequences = 7;
  const std::vector<int32_t> want = {0, 1, 2, 0, 1, 2, 3, 4, 5, 6, 0};
  for (int64_t m0 = 0; m0 <= tokens; ++m0)
    for (int64_t m1 = m0; m1 <= tokens; ++m1) {
      Fenced<int32_t> out(tokens);
      kernel({out.data(), cu.data()}, {tokens, sequences}, m0, m1);
      for (int64_t t = 0; t < tokens; ++t)
        ASSERT_EQ(out[t], t >= m0 && t < m1 ? want[static_cast<size_t>(t)] : -1)
            << "range " << m0 << ".." << m1;
    }
}

TEST_P(Packed, pooling_has_seven_modes) {
  Kernel kernel(isa(), "edge.segment_pool.f32");
  const int64_t width = 37;
  auto cu = fenced<int32_t>({0, 1, 1, 131, 331});  // 64-row blocks: one, none, three, four
  auto x = random_floats(331 * width, 1);
  for (int64_t mode = 0; mode < 7; ++mode) {
    Fenced<float> out(4 * width);
    kernel({out.data(), x.data(), cu.data()}, {width, mode}, 0, 1);
    kernel({out.data(), x.data(), cu.data()}, {width, mode}, 1, 4);
    for (int64_t b = 0; b < 4; ++b)
      for (int64_t c = 0; c < width; ++c) {
        const int64_t rows = cu[b + 1] - cu[b];
        double sum = 0, weighted = 0, weights = 0, top = -INFINITY;
        for (int64_t r = 0; r < rows; ++r) {
          const double value = x[(cu[b] + r) * width + c];
          sum += value;
          weighted += value * static_cast<double>(r + 1);
          weights += static_cast<double>(r + 1);
          top = std::max(top, value);
        }
        double want = 0;
        const auto n = static_cast<double>(rows);
        if (rows > 0) switch (mode) {
            case 0:
              want = sum / n;
              break;
            case 1:
              want = top;
              break;
            case 2:
              want = x[cu[b] * width + c];
              break;
            case 3:
              want = x[(cu[b + 1] - 1) * width + c];
              break;
            case 4:
              want = sum;
              break;
            case 5:
              want = sum / std::sqrt(n);
              break;
            default:
              want = weighted / weights;
              break;
          }
        ASSERT_NEAR(out[b * width + c], want, mode == 4 ? 2e-5 : 2e-6)
            << "mode " << mode << " sequence " << b;
      }
  }
}

TEST_P(Packed, pooling_sums_in_blocks_of_64_rows) {
  Kernel kernel(isa(), "edge.segment_pool.f32");
  auto cu = fenced<int32_t>({0, 200});
  auto x = random_floats(200, 3);
  Fenced<float> out(1);
  kernel({out.data(), x.data(), cu.data()}, {1, 4}, 0, 1);
  float total = 0;
  for (int64_t block = 0; block < 200; block += 64) {
    float sum = 0;
    for (int64_t r = block; r < std::min<int64_t>(200, block + 64); ++r) sum += x[r];
    total += sum;
  }
  EXPECT_EQ(out[0], total);
}

TEST_P(Packed, max_pooling_shows_nan) {
  Kernel kernel(isa(), "edge.segment_pool.f32");
  auto cu = fenced<int32_t>({0, 3});
  auto x = fenced<float>({NAN, 1, 1, NAN, 5, 2});
  Fenced<float> out(2);
  kernel({out.data(), x.data(), cu.data()}, {2, 1}, 0, 1);
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_TRUE(std::isnan(out[1]));
}

EDGE_EVERY_ISA(Packed);

TEST(Registry, has_the_same_kernels_in_every_instruction_set_and_no_name_twice) {
  std::set<std::string_view> portable;
  for (const PrebuiltKernel& kernel : prebuilt_kernels(Isa::kPortable)) {
    EXPECT_NE(kernel.function, nullptr) << kernel.name;
    EXPECT_TRUE(portable.insert(kernel.name).second) << kernel.name << " stands twice";
  }
  for (const Isa isa : isas_here()) {
    std::set<std::string_view> names;
    for (const PrebuiltKernel& kernel : prebuilt_kernels(isa)) {
      names.insert(kernel.name);
      EXPECT_EQ(find_prebuilt(isa, "prebuilt:" + std::string(kernel.name)), find_prebuilt(isa, kernel.name));
      EXPECT_EQ(find_prebuilt(isa, kernel.name)->function, kernel.function);
    }
    EXPECT_EQ(names, portable) << isa_name(isa);
  }
  EXPECT_EQ(find_prebuilt(Isa::kPortable, "aten.nothing.f32"), nullptr);
}

}  // namespace
}  // namespace edge_infer
