// Reductions, arg-reductions and cumsum: the order of f32 sums is checked to the bit, the rest against
// double.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/unit/prebuilt_generic/harness.h"

namespace edge_infer::test {
namespace {

struct Problem {
  DType dtype;
  Sizes kept, kept_strides, reduced, reduced_strides;
  Guarded buffer;
  int64_t rows() const { return product(kept); }
  int64_t count() const { return product(reduced); }
  int64_t at(int64_t row, int64_t i) const {
    return offset_of(row, kept, kept_strides) + offset_of(i, reduced, reduced_strides);
  }
  std::vector<int64_t> integers(std::vector<int64_t> attributes = {}) const {
    std::vector<int64_t> all = {static_cast<int64_t>(kept.size())};
    for (const Sizes* part : {&kept, &kept_strides}) all.insert(all.end(), part->begin(), part->end());
    all.push_back(static_cast<int64_t>(reduced.size()));
    for (const Sizes* part : {&reduced, &reduced_strides}) all.insert(all.end(), part->begin(), part->end());
    all.insert(all.end(), attributes.begin(), attributes.end());
    return all;
  }
};

// The dimensions in `mask` of a dense (or transposed) tensor are reduced.
Problem make_problem(DType dtype, const Sizes& sizes, uint64_t mask, bool reversed, bool specials,
                     Random& random) {
  const Operand operand = make_operand(dtype, sizes, reversed ? Layout::kReversed : Layout::kDense, random);
  Problem p{dtype, {}, {}, {}, {}, Guarded(operand.buffer.size())};
  fill_random(dtype, p.buffer.data(), product(sizes), random, specials);
  for (size_t d = 0; d < sizes.size(); ++d) {
    const bool reduce = (mask >> d & 1) != 0;
    (reduce ? p.reduced : p.kept).push_back(sizes[d]);
    (reduce ? p.reduced_strides : p.kept_strides).push_back(operand.strides[d]);
  }
  return p;
}

// Every subset of dimensions of a few shapes, in both orders of memory.
template <typename F>
void for_each_problem(DType dtype, bool specials, bool allow_empty, F f) {
  Random random(static_cast<uint64_t>(dtype) + 17);
  const std::vector<Sizes> all = {
      {},       {1},        {37},          {1000},        {0},
      {3, 0},   {0, 3},     {33, 70},      {70, 5},       {5, 1300},
      {300, 2}, {4, 33, 9}, {3, 17, 2, 5}, {2, 65, 3, 4}, {2, 1, 3, 2, 2, 1, 3, 2}};
  for (const Isa isa : isas())
    for (const Sizes& sizes : all)
      for (uint64_t mask = 0; mask < uint64_t{1} << sizes.size(); ++mask) {
        if (sizes.size() > 4 && random() % 8 != 0) continue;
        const Problem p = make_problem(dtype, sizes, mask, random() % 2 == 0, specials, random);
        if (p.count() == 0 && !allow_empty) continue;
        SCOPED_TRACE(describe(isa, "mask " + std::to_string(mask), sizes));
        f(isa, p, random);
        if (::testing::Test::HasFailure()) return;
      }
}

std::string named(const char* op, DType dtype) {
  return std::string(op) + "." + std::string(dtype_name(dtype));
}

// The order that the class fixes: lane i mod 16, folded by halves.
template <typename Step, typename Fold>
float in_lanes(const Problem& p, int64_t row, float init, Step step, Fold fold) {
  float lanes[16];
  std::fill(std::begin(lanes), std::end(lanes), init);
  for (int64_t i = 0; i < p.count(); ++i)
    lanes[i % 16] =
        step(lanes[i % 16], static_cast<float>(get_double(DType::kF32, p.buffer.data(), p.at(row, i))));
  for (int half = 8; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lanes[l] = fold(lanes[l], lanes[l + half]);
  return lanes[0];
}
float sum_in_lanes(const Problem& p, int64_t row) {
  return in_lanes(p, row, 0, [](float a, float x) { return a + x; }, [](float a, float b) { return a + b; });
}

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b;
}

TEST(PrebuiltReduction, SumsOfF32HaveTheOrderOfTheClass) {
  for_each_problem(DType::kF32, false, true, [](Isa isa, const Problem& p, Random& random) {
    const auto bytes = static_cast<size_t>(p.rows() * 4);
    const Guarded sum =
        run_kernel(isa, "aten.sum.f32", bytes, {p.buffer.data()}, p.integers(), p.rows(), random);
    const Guarded mean =
        run_kernel(isa, "aten.mean.f32", bytes, {p.buffer.data()}, p.integers(), p.rows(), random);
    const Guarded var =
        run_kernel(isa, "aten.var.f32", bytes, {p.buffer.data()}, p.integers({bits(1)}), p.rows(), random);
    const Guarded product =
        run_kernel(isa, "aten.prod.f32", bytes, {p.buffer.data()}, p.integers(), p.rows(), random);
    for (int64_t r = 0; r < p.rows(); ++r) {
      const float total = sum_in_lanes(p, r), n = static_cast<float>(p.count()), middle = total / n;
      ASSERT_EQ(get_double(DType::kF32, sum.data(), r), total);
      ASSERT_TRUE(same(get_double(DType::kF32, mean.data(), r), middle));
      const float squares = in_lanes(
          p, r, 0, [&](float a, float x) { return a + (x - middle) * (x - middle); },
          [](float a, float b) { return a + b; });
      ASSERT_TRUE(same(get_double(DType::kF32, var.data(), r), squares / std::max(n - 1, 0.0F)));
      const float factor =
          in_lanes(p, r, 1, [](float a, float x) { return a * x; }, [](float a, float b) { return a * b; });
      ASSERT_TRUE(same(get_double(DType::kF32, product.data(), r), factor));
    }
  });
}

TEST(PrebuiltReduction, SumsOfF64AndIntegersAscend) {
  for_each_problem(DType::kF64, false, true, [](Isa isa, const Problem& p, Random& random) {
    const auto bytes = static_cast<size_t>(p.rows() * 8);
    const Guarded sum =
        run_kernel(isa, "aten.sum.f64", bytes, {p.buffer.data()}, p.integers(), p.rows(), random);
    const Guarded product =
        run_kernel(isa, "aten.prod.f64", bytes, {p.buffer.data()}, p.integers(), p.rows(), random);
    for (int64_t r = 0; r < p.rows(); ++r) {
      double total = 0, factor = 1;
      for (int64_t i = 0; i < p.count(); ++i) {
        total += get_double(DType::kF64, p.buffer.data(), p.at(r, i));
        factor *= get_double(DType::kF64, p.buffer.data(), p.at(r, i));
      }
      ASSERT_EQ(get_double(DType::kF64, sum.data(), r), total);
      ASSERT_EQ(get_double(DType::kF64, product.data(), r), factor);
    }
  });
  for (const DType dtype : {DType::kI64, DType::kI32, DType::kBool})
    for_each_problem(dtype, true, true, [dtype](Isa isa, const Problem& p, Random& random) {
      const auto bytes = static_cast<size_t>(p.rows() * 8);
      const Guarded sum =
          run_kernel(isa, named("aten.sum", dtype), bytes, {p.buffer.data()}, p.integers(), p.rows(), random);
      const Guarded product = run_kernel(isa, named("aten.prod", dtype), bytes, {p.buffer.data()},
                                         p.integers(), p.rows(), random);
      for (int64_t r = 0; r < p.rows(); ++r) {
        uint64_t total = 0, factor = 1;
        for (int64_t i = 0; i < p.count(); ++i) {
          const auto x = static_cast<uint64_t>(get_integer(dtype, p.buffer.data(), p.at(r, i)));
          total += x;
          factor *= x;
        }
        ASSERT_EQ(static_cast<uint64_t>(get_integer(DType::kI64, sum.data(), r)), total);
        ASSERT_EQ(static_cast<uint64_t>(get_integer(DType::kI64, product.data(), r)), factor);
      }
    });
}

TEST(PrebuiltReduction, ExtremesPropagateNanAndTheFirstOneWins) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kI64, DType::kI32})
    for_each_problem(dtype, true, false, [dtype](Isa isa, const Problem& p, Random& random) {
      for (const bool greatest : {true, false}) {
        const Guarded value = run_kernel(isa, named(greatest ? "aten.amax" : "aten.amin", dtype),
                                         static_cast<size_t>(p.rows() * dtype_size(dtype)), {p.buffer.data()},
                                         p.integers(), p.rows(), random);
        const Guarded index =
            run_kernel(isa, named(greatest ? "aten.argmax" : "aten.argmin", dtype),
                       static_cast<size_t>(p.rows() * 8), {p.buffer.data()}, p.integers(), p.rows(), random);
        for (int64_t r = 0; r < p.rows(); ++r) {
          int64_t best = 0;
          for (int64_t i = 1; i < p.count(); ++i) {
            if (is_floating(dtype)) {
              const double x = get_double(dtype, p.buffer.data(), p.at(r, i));
              const double y = get_double(dtype, p.buffer.data(), p.at(r, best));
              if (!std::isnan(y) && (std::isnan(x) || (greatest ? x > y : x < y))) best = i;
            } else {
              const int64_t x = get_integer(dtype, p.buffer.data(), p.at(r, i));
              const int64_t y = get_integer(dtype, p.buffer.data(), p.at(r, best));
              if (greatest ? x > y : x < y) best = i;
            }
          }
          ASSERT_EQ(get_integer(DType::kI64, index.data(), r), best);
          ASSERT_TRUE(
              same(get_double(dtype, value.data(), r), get_double(dtype, p.buffer.data(), p.at(r, best))));
          if (!is_floating(dtype)) {
            ASSERT_EQ(get_integer(dtype, value.data(), r),
                      get_integer(dtype, p.buffer.data(), p.at(r, best)));
          }
        }
      }
    });
}

TEST(PrebuiltReduction, AnyAndAllTakeNanAsTrue) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kI64, DType::kI32, DType::kBool})
    for_each_problem(dtype, true, true, [dtype](Isa isa, const Problem& p, Random& random) {
      const auto bytes = static_cast<size_t>(p.rows());
      const Guarded any =
          run_kernel(isa, named("aten.any", dtype), bytes, {p.buffer.data()}, p.integers(), p.rows(), random);
      const Guarded all =
          run_kernel(isa, named("aten.all", dtype), bytes, {p.buffer.data()}, p.integers(), p.rows(), random);
      for (int64_t r = 0; r < p.rows(); ++r) {
        int64_t trues = 0;
        for (int64_t i = 0; i < p.count(); ++i)
          trues += is_floating(dtype) ? get_double(dtype, p.buffer.data(), p.at(r, i)) != 0
                                      : get_integer(dtype, p.buffer.data(), p.at(r, i)) != 0;
        ASSERT_EQ(get_integer(DType::kBool, any.data(), r), trues > 0);
        ASSERT_EQ(get_integer(DType::kBool, all.data(), r), trues == p.count());
      }
    });
}

TEST(PrebuiltReduction, NormsOfAnyOrder) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::kF32, DType::kF64})
    for (const double order : {2.0, 1.0, 0.0, kInf, -kInf, 3.0, 0.5})
      for_each_problem(dtype, false, false, [&](Isa isa, const Problem& p, Random& random) {
        const Guarded out = run_kernel(isa, named("aten.linalg_vector_norm", dtype),
                                       static_cast<size_t>(p.rows() * dtype_size(dtype)), {p.buffer.data()},
                                       p.integers({bits(order)}), p.rows(), random);
        for (int64_t r = 0; r < p.rows(); ++r) {
          double total = order == -kInf ? kInf : 0;
          for (int64_t i = 0; i < p.count(); ++i) {
            const double x = std::fabs(get_double(dtype, p.buffer.data(), p.at(r, i)));
            if (order == kInf)
              total = std::max(total, x);
            else if (order == -kInf)
              total = std::min(total, x);
            else if (order == 0)
              total += x != 0;
            else
              total += std::pow(x, order);
          }
          if (std::isfinite(order) && order != 0) total = std::pow(total, 1 / order);
          const double bound = dtype == DType::kF32 ? 3e-6 : 1e-13;
          ASSERT_NEAR(get_double(dtype, out.data(), r), total, std::fabs(total) * bound) << "order " << order;
        }
      });
}

TEST(PrebuiltReduction, VarianceIsTwoSweeps) {
  // A large mean would ruin E[x^2] - E[x]^2.
  for (const Isa isa : isas())
    for (const bool columns : {false, true}) {
      constexpr int64_t kN = 4096, kRows = 3;
      Guarded in(kN * kRows * 4);
      for (int64_t i = 0; i < kN * kRows; ++i) {
        const int64_t element = columns ? i / kRows : i % kN;
        set_double(DType::kF32, in.data(), i, 10000 + (element % 2 == 0 ? 0.5 : -0.5));
      }
      const std::vector<int64_t> integers = columns ? std::vector<int64_t>{1, kRows, 1, 1, kN, kRows, bits(0)}
                                                    : std::vector<int64_t>{1, kRows, kN, 1, kN, 1, bits(0)};
      Random random(1);
      const Guarded out = run_kernel(isa, "aten.var.f32", kRows * 4, {in.data()}, integers, kRows, random);
      for (int64_t r = 0; r < kRows; ++r) EXPECT_NEAR(get_double(DType::kF32, out.data(), r), 0.25, 1e-4);
    }
}

TEST(PrebuiltScan, CumsumAscendsAlongItsDimension) {
  Random random(9);
  for (const Isa isa : isas())
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kI64, DType::kI32, DType::kBool})
      for (const auto& [outer, length, inner] : std::vector<std::array<int64_t, 3>>{
               {1, 1, 1}, {1, 700, 1}, {5, 33, 1}, {3, 20, 70}, {2, 5, 3}, {4, 0, 3}, {0, 3, 2}}) {
        const int64_t n = outer * length * inner;
        const DType to = is_floating(dtype) ? dtype : DType::kI64;
        const Operand in = make_operand(dtype, {n}, Layout::kDense, random);
        const Guarded out =
            run_kernel(isa, named("aten.cumsum", dtype), static_cast<size_t>(n * dtype_size(to)),
                       {in.buffer.data()}, {outer, length, inner}, outer * inner, random, false);
        for (int64_t o = 0; o < outer; ++o)
          for (int64_t c = 0; c < inner; ++c) {
            double sum = 0;
            uint64_t whole = 0;
            for (int64_t t = 0; t < length; ++t) {
              const int64_t at = (o * length + t) * inner + c;
              if (is_floating(dtype)) {
                sum += get_double(dtype, in.buffer.data(), at);
                if (dtype == DType::kF32) sum = static_cast<float>(sum);
                ASSERT_TRUE(same(get_double(to, out.data(), at), sum))
                    << describe(isa, named("cumsum", dtype), {outer, length, inner});
              } else {
                whole += static_cast<uint64_t>(get_integer(dtype, in.buffer.data(), at));
                ASSERT_EQ(static_cast<uint64_t>(get_integer(to, out.data(), at)), whole);
              }
            }
          }
      }
}

}  // namespace
}  // namespace edge_infer::test
