// Casts between all element types, fills and ranges.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/unit/prebuilt_generic/harness.h"

namespace edge_infer::test {
namespace {

constexpr std::array kTypes = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI64,
                               DType::kI32, DType::kI16, DType::kI8,  DType::kU8,   DType::kBool};

std::string name_of(DType t) {
  return std::string(dtype_name(t));
}

// Range of an integer type.
int64_t least(DType t) {
  if (t == DType::kU8) return 0;
  return t == DType::kI64 ? INT64_MIN : -(int64_t{1} << (dtype_size(t) * 8 - 1));
}
int64_t most(DType t) {
  if (t == DType::kU8) return 255;
  return t == DType::kI64 ? INT64_MAX : (int64_t{1} << (dtype_size(t) * 8 - 1)) - 1;
}

int64_t saturated(DType to, double x) {
  if (std::isnan(x)) return 0;
  if (x <= static_cast<double>(least(to))) return least(to);
  if (x >= static_cast<double>(most(to))) return most(to);
  return static_cast<int64_t>(x);
}

// Writes the expected element.
void expect_into(DType from, const std::byte* x, int64_t i, DType to, std::byte* out) {
  if (to == DType::kBool) {
    const bool truth = is_floating(from) ? get_double(from, x, i) != 0 : get_integer(from, x, i) != 0;
    return set_integer(to, out, 0, truth);
  }
  if (is_floating(from) && is_floating(to)) {
    double value = get_double(from, x, i);
    if (from == DType::kF64 && to != DType::kF64) value = static_cast<float>(value);
    return set_double(to, out, 0, value);
  }
  if (is_floating(from)) return set_integer(to, out, 0, saturated(to, get_double(from, x, i)));
  const int64_t value = get_integer(from, x, i);
  if (to == DType::kF32 || to == DType::kF16 || to == DType::kBF16)
    return set_double(to, out, 0, static_cast<float>(value));
  if (to == DType::kF64) return set_double(to, out, 0, static_cast<double>(value));
  set_integer(to, out, 0, value);
}

TEST(PrebuiltCast, EveryPairOfTypesInEveryLayout) {
  Random random(1);
  for (const Isa isa : isas())
    for (const DType from : kTypes)
      for (const DType to : kTypes)
        for (const Sizes& sizes : shapes()) {
          const std::string name = "edge.cast." + name_of(from) + "." + name_of(to);
          SCOPED_TRACE(describe(isa, name, sizes));
          const Operand in = make_operand(from, sizes, kLayouts[random() % 7], random);
          std::vector<int64_t> integers = {static_cast<int64_t>(sizes.size())};
          integers.insert(integers.end(), sizes.begin(), sizes.end());
          integers.insert(integers.end(), in.strides.begin(), in.strides.end());
          const int64_t n = product(sizes), bytes = dtype_size(to);
          const Guarded out =
              run_kernel(isa, name, static_cast<size_t>(n * bytes), {in.buffer.data()}, integers, n, random);
          for (int64_t i = 0; i < n; ++i) {
            std::byte want[8];
            const int64_t at = offset_of(i, sizes, in.strides);
            expect_into(from, in.buffer.data(), at, to, want);
            if (is_floating(to) && std::isnan(get_double(to, want, 0))) {
              ASSERT_TRUE(std::isnan(get_double(to, out.data(), i)));
            } else {
              ASSERT_EQ(std::memcmp(out.data() + i * bytes, want, static_cast<size_t>(bytes)), 0)
                  << get_double(from, in.buffer.data(), at) << " gave " << get_double(to, out.data(), i);
            }
          }
        }
}

// Casts `values` of `from` and returns them as doubles.
std::vector<double> cast(Isa isa, DType from, DType to, const std::vector<double>& values) {
  const auto n = static_cast<int64_t>(values.size());
  Guarded in(static_cast<size_t>(n * dtype_size(from))), out(static_cast<size_t>(n * dtype_size(to)));
  for (int64_t i = 0; i < n; ++i) set_double(from, in.data(), i, values[static_cast<size_t>(i)]);
  const PrebuiltKernel* kernel = find_prebuilt(isa, "edge.cast." + name_of(from) + "." + name_of(to));
  void* buffers[] = {out.data(), in.data()};
  const std::vector<int64_t> integers = {1, n, 1};
  const KernelArgs args{buffers, integers.data()};
  kernel->function(&args, 0, n, 0, 1, nullptr);
  std::vector<double> result;
  for (int64_t i = 0; i < n; ++i) result.push_back(get_double(to, out.data(), i));
  return result;
}

TEST(PrebuiltCast, FloatsToIntegersSaturateAndNanIsZero) {
  const double kInf = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {1e30,          -1e30, kInf, -kInf, NAN, 2147483648.0,
                                      -2147483648.0, 2.9,   -2.9, 255.5, -0.5};
  for (const Isa isa : isas())
    for (const DType from : {DType::kF32, DType::kF64}) {
      EXPECT_EQ(cast(isa, from, DType::kI32, values),
                (std::vector<double>{INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 0, INT32_MAX, INT32_MIN, 2,
                                     -2, 255, 0}));
      EXPECT_EQ(cast(isa, from, DType::kU8, values),
                (std::vector<double>{255, 0, 255, 0, 0, 255, 0, 2, 0, 255, 0}));
      const double top = static_cast<double>(INT64_MAX);
      EXPECT_EQ(cast(isa, from, DType::kI64, values),
                (std::vector<double>{top, -top, top, -top, 0, 2147483648.0, -2147483648.0, 2, -2, 255, 0}));
    }
}

TEST(PrebuiltCast, AllHalvesSurviveTheWayToF32AndBack) {
  for (const Isa isa : isas())
    for (const DType type : {DType::kF16, DType::kBF16}) {
      constexpr int64_t kN = 65536;
      Guarded in(kN * 2), middle(kN * 4), out(kN * 2);
      for (int64_t i = 0; i < kN; ++i) {
        const auto pattern = static_cast<uint16_t>(i);
        std::memcpy(in.data() + 2 * i, &pattern, 2);
      }
      const std::vector<int64_t> integers = {1, kN, 1};
      void* there[] = {middle.data(), in.data()};
      void* back[] = {out.data(), middle.data()};
      KernelArgs args{there, integers.data()};
      find_prebuilt(isa, "edge.cast." + name_of(type) + ".f32")->function(&args, 0, kN, 0, 1, nullptr);
      args.buffers = back;
      find_prebuilt(isa, "edge.cast.f32." + name_of(type))->function(&args, 0, kN, 0, 1, nullptr);
      for (int64_t i = 0; i < kN; ++i) {
        const double want = get_double(type, in.data(), i), wide = get_double(DType::kF32, middle.data(), i);
        if (std::isnan(want)) {
          ASSERT_TRUE(std::isnan(wide) && std::isnan(get_double(type, out.data(), i))) << i;
        } else {
          ASSERT_EQ(wide, want) << i;
          ASSERT_EQ(std::memcmp(out.data() + 2 * i, in.data() + 2 * i, 2), 0) << i;
        }
      }
    }
}

TEST(PrebuiltCast, NarrowingRoundsToNearestEven) {
  // Between neighbours of f16 and bf16: halfway, and a little to either side.
  std::vector<double> values = {65519.9, 65520.0, 2.98e-8, 2.99e-8, 5.96e-8, 3.3e38, 3.4e38, 1e-40};
  for (double x = 1; x < 1.02; x += 1.0 / 8192) values.push_back(x);
  for (double x = 6e-5; x < 6.2e-5; x += 1e-8) values.push_back(-x);
  for (double& x : values) x = static_cast<float>(x);
  for (const Isa isa : isas())
    for (const DType type : {DType::kF16, DType::kBF16}) {
      const std::vector<double> got = cast(isa, DType::kF32, type, values);
      for (size_t i = 0; i < values.size(); ++i) {
        std::byte want[2];
        set_double(type, want, 0, values[i]);
        ASSERT_EQ(got[i], get_double(type, want, 0)) << values[i] << " to " << dtype_name(type);
      }
    }
}

TEST(PrebuiltFill, FullAndArangeOfEveryType) {
  Random random(2);
  for (const Isa isa : isas())
    for (const DType type : kTypes)
      for (const int64_t n : {0, 1, 33, 1000}) {
        const bool is_float = is_floating(type);
        const Guarded full =
            run_kernel(isa, "aten.full." + name_of(type), static_cast<size_t>(n * dtype_size(type)), {},
                       {is_float ? bits(1.25) : 7}, n, random);
        const bool has_range = type != DType::kBool;
        const Guarded range =
            has_range
                ? run_kernel(isa, "aten.arange." + name_of(type), static_cast<size_t>(n * dtype_size(type)),
                             {}, {is_float ? bits(-2) : -2, is_float ? bits(0.5) : 3}, n, random)
                : Guarded(0);
        for (int64_t i = 0; i < n; ++i) {
          std::byte want[8];
          if (is_float) {
            ASSERT_EQ(get_double(type, full.data(), i), 1.25);
            set_double(type, want, 0, static_cast<float>(-2 + 0.5 * static_cast<double>(i)));
            ASSERT_EQ(get_double(type, range.data(), i), get_double(type, want, 0));
          } else {
            ASSERT_EQ(get_integer(type, full.data(), i), type == DType::kBool ? 1 : 7);
            set_integer(type, want, 0, -2 + 3 * i);
            if (has_range) {
              ASSERT_EQ(get_integer(type, range.data(), i), get_integer(type, want, 0));
            }
          }
        }
      }
}

}  // namespace
}  // namespace edge_infer::test
