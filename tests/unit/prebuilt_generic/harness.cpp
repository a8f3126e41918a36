#include "tests/unit/prebuilt_generic/harness.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace edge_infer::test {
namespace {

constexpr size_t kZone = 256;
constexpr std::byte kPoison{0x5c};

float half_to_float(uint16_t h) {
  const int exponent = (h >> 10) & 31, mantissa = h & 1023;
  const float sign = (h & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 31) return mantissa != 0 ? std::numeric_limits<float>::quiet_NaN() : sign * HUGE_VALF;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

// Rounds to `digits` binary digits with the least exponent of the type, ties to even, by division.
double round_digits(double x, int digits, int least_exponent) {
  if (x == 0 || !std::isfinite(x)) return x;
  int e = 0;
  std::frexp(x, &e);
  const int ulp = std::max(e - digits, least_exponent);
  return std::ldexp(std::nearbyint(std::ldexp(x, -ulp)), ulp);
}

uint16_t double_to_half(double x) {
  if (std::isnan(x)) return 0x7e00;
  const auto sign = static_cast<uint16_t>(std::signbit(x) ? 0x8000 : 0);
  const double r = std::fabs(round_digits(x, 11, -24));
  if (r > 65504) return sign | 0x7c00;
  if (r < std::ldexp(1.0, -14)) return static_cast<uint16_t>(sign | static_cast<int>(std::ldexp(r, 24)));
  int e = 0;
  const double m = std::frexp(r, &e);  // r = m 2^e, m in [0.5, 1)
  return static_cast<uint16_t>(sign | ((e + 14) << 10) | (static_cast<int>(std::ldexp(m, 11)) - 1024));
}

uint16_t double_to_bfloat(double x) {
  if (std::isnan(x)) return 0x7fc0;
  const auto r = static_cast<float>(round_digits(x, 8, -133));
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(r) >> 16);
}

template <typename T>
T load(const std::byte* data, int64_t i) {
  T x;
  std::memcpy(&x, data + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return x;
}
template <typename T>
void save(std::byte* data, int64_t i, T x) {
  std::memcpy(data + i * static_cast<int64_t>(sizeof(T)), &x, sizeof(T));
}

}  // namespace

Guarded::Guarded(size_t bytes, std::byte fill) : bytes_(bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  map_bytes_ = (bytes + kZone + page - 1) / page * page + page;
  void* map = mmap(nullptr, map_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) std::abort();
  map_ = static_cast<std::byte*>(map);
  std::byte* end = map_ + map_bytes_ - page;
  mprotect(end, page, PROT_NONE);
  data_ = end - bytes;
  std::memset(data_ - kZone, static_cast<int>(kPoison), kZone);
  if (bytes > 0) std::memset(data_, static_cast<int>(fill), bytes);
}
Guarded::Guarded(Guarded&& other) noexcept
    : map_(std::exchange(other.map_, nullptr)),
      data_(other.data_),
      map_bytes_(other.map_bytes_),
      bytes_(other.bytes_) {}
Guarded::~Guarded() {
  if (map_ != nullptr) munmap(map_, map_bytes_);
}
bool Guarded::zone_in_front_is_intact() const {
  for (size_t i = 1; i <= kZone; ++i)
    if (*(data_ - i) != kPoison) return false;
  return true;
}

double get_double(DType dtype, const std::byte* data, int64_t i) {
  switch (dtype) {
    case DType::kF32:
      return load<float>(data, i);
    case DType::kF64:
      return load<double>(data, i);
    case DType::kF16:
      return half_to_float(load<uint16_t>(data, i));
    case DType::kBF16:
      return std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(data, i)) << 16);
    default:
      return static_cast<double>(get_integer(dtype, data, i));
  }
}
int64_t get_integer(DType dtype, const std::byte* data, int64_t i) {
  switch (dtype) {
    case DType::kI64:
      return load<int64_t>(data, i);
    case DType::kI32:
      return load<int32_t>(data, i);
    case DType::kI16:
      return load<int16_t>(data, i);
    case DType::kI8:
      return load<int8_t>(data, i);
    default:
      return load<uint8_t>(data, i);
  }
}
void set_double(DType dtype, std::byte* data, int64_t i, double value) {
  switch (dtype) {
    case DType::kF32:
      return save(data, i, static_cast<float>(value));
    case DType::kF64:
      return save(data, i, value);
    case DType::kF16:
      return save(data, i, double_to_half(value));
    case DType::kBF16:
      return save(data, i, double_to_bfloat(value));
    default:
      return set_integer(dtype, data, i, static_cast<int64_t>(value));
  }
}
void set_integer(DType dtype, std::byte* data, int64_t i, int64_t value) {
  switch (dtype) {
    case DType::kI64:
      return save(data, i, value);
    case DType::kI32:
      return save(data, i, static_cast<int32_t>(value));
    case DType::kI16:
      return save(data, i, static_cast<int16_t>(value));
    case DType::kI8:
      return save(data, i, static_cast<int8_t>(value));
    case DType::kBool:
      return save(data, i, static_cast<uint8_t>(value != 0));
    case DType::kU8:
      return save(data, i, static_cast<uint8_t>(value));
    default:
      return set_double(dtype, data, i, static_cast<double>(value));
  }
}

int64_t product(const Sizes& sizes) {
  int64_t p = 1;
  for (const int64_t s : sizes) p *= s;
  return p;
}
Sizes dense_strides(const Sizes& sizes) {
  Sizes strides(sizes.size());
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= sizes[d];
  }
  return strides;
}
int64_t offset_of(int64_t flat, const Sizes& sizes, const Sizes& strides) {
  int64_t offset = 0;
  for (size_t d = sizes.size(); d-- > 0;) {
    offset += flat % sizes[d] * strides[d];
    flat /= sizes[d];
  }
  return offset;
}

Operand make_operand(DType dtype, const Sizes& sizes, Layout layout, Random& random) {
  Sizes strides = dense_strides(sizes);
  const auto drop = [&](auto keep) {
    int64_t stride = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
      strides[d] = keep(d) ? stride : 0;
      if (keep(d)) stride *= sizes[d];
    }
  };
  const uint64_t some = random();
  switch (layout) {
    case Layout::kDense:
      break;
    case Layout::kReversed: {
      int64_t stride = 1;
      for (size_t d = 0; d < sizes.size(); ++d) {
        strides[d] = stride;
        stride *= sizes[d];
      }
      break;
    }
    case Layout::kGapped:
      for (int64_t& s : strides) s *= 3;
      break;
    case Layout::kBroadcastInner:
      drop([&](size_t d) { return d + 1 < sizes.size(); });
      break;
    case Layout::kBroadcastOuter:
      drop([&](size_t d) { return d > 0; });
      break;
    case Layout::kBroadcastSome:
      drop([&](size_t d) { return (some >> d & 1) != 0; });
      break;
    case Layout::kScalar:
      drop([](size_t) { return false; });
      break;
  }
  int64_t elements = product(sizes) == 0 ? 0 : 1;
  for (size_t d = 0; d < sizes.size() && elements > 0; ++d) elements += (sizes[d] - 1) * strides[d];
  Operand operand{dtype, strides, Guarded(static_cast<size_t>(elements * dtype_size(dtype)))};
  fill_random(dtype, operand.buffer.data(), elements, random);
  return operand;
}

void fill_random(DType dtype, std::byte* data, int64_t elements, Random& random, bool specials) {
  std::normal_distribution<double> normal(0, 3);
  for (int64_t i = 0; i < elements; ++i) {
    const uint64_t pick = specials ? random() % 40 : 39;
    if (is_floating(dtype)) {
      constexpr double kInf = std::numeric_limits<double>::infinity();
      const double value = pick == 0   ? 0.0
                           : pick == 1 ? -0.0
                           : pick == 2 ? kInf
                           : pick == 3 ? -kInf
                           : pick == 4 ? std::numeric_limits<double>::quiet_NaN()
                           : pick == 5 ? 2.5
                           : pick == 6 ? -0.5
                           : pick == 7 ? 1e-41
                                       : normal(random);
      set_double(dtype, data, i, value);
    } else {
      const int64_t width = dtype_size(dtype) * 8;
      const int64_t most = dtype == DType::kBool ? 1
                           : dtype == DType::kU8 ? 255
                                                 : static_cast<int64_t>(~uint64_t{0} >> (65 - width));
      const bool is_signed = dtype != DType::kBool && dtype != DType::kU8;
      const int64_t value = pick == 0   ? most
                            : pick == 1 ? (is_signed ? -most - 1 : 0)
                            : pick == 2 ? (is_signed ? -1 : 1)
                                        : static_cast<int64_t>(random() % 19) - (is_signed ? 9 : 0);
      set_integer(dtype, data, i, value);
    }
  }
}

const std::vector<Sizes>& shapes() {
  static const std::vector<Sizes> all = {{},
                                         {1},
                                         {7},
                                         {16},
                                         {33},
                                         {1031},
                                         {0},
                                         {3, 0, 5},
                                         {5, 1},
                                         {1, 5},
                                         {3, 130},
                                         {9, 64},
                                         {67, 3},
                                         {4, 7, 5},
                                         {2, 33, 65},
                                         {3, 1, 4, 1, 5},
                                         {2, 3, 4, 5, 2},
                                         {2, 1, 3, 2, 2, 3},
                                         {2, 2, 2, 2, 3, 2, 2},
                                         {2, 1, 2, 3, 1, 2, 2, 3},
                                         {1, 1, 1, 1, 1, 1, 1, 1}};
  return all;
}

Guarded run_kernel(Isa isa, const std::string& name, size_t out_bytes, const std::vector<const void*>& inputs,
                   const std::vector<int64_t>& integers, int64_t rows, Random& random, bool rows_in_order) {
  const PrebuiltKernel* kernel = find_prebuilt(isa, name);
  Guarded whole(out_bytes);
  if (kernel == nullptr) {
    ADD_FAILURE() << "no kernel " << name;
    return whole;
  }
  const auto call = [&](Guarded& out, int64_t m0, int64_t m1) {
    std::vector<void*> buffers = {out.data()};
    for (const void* input : inputs) buffers.push_back(const_cast<void*>(input));
    const KernelArgs args{buffers.data(), integers.data()};
    alignas(64) std::byte scratch[64];
    kernel->function(&args, m0, m1, 0, 1, scratch);
  };
  call(whole, 0, rows);
  EXPECT_TRUE(whole.zone_in_front_is_intact()) << name;

  Guarded pieces(out_bytes, std::byte{0x3b});
  std::vector<int64_t> cuts = {0, rows};
  for (int i = 0; i < 4 && rows > 0; ++i)
    cuts.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(rows + 1)));
  std::sort(cuts.begin(), cuts.end());
  // In any order: here from the last one.
  for (size_t i = cuts.size() - 1; i > 0; --i) call(pieces, cuts[i - 1], cuts[i]);
  EXPECT_TRUE(out_bytes == 0 || std::memcmp(whole.data(), pieces.data(), out_bytes) == 0)
      << name << " depends on its range";

  if (rows_in_order && rows > 0 && out_bytes % static_cast<size_t>(rows) == 0) {
    Guarded part(out_bytes, std::byte{0x3b});
    const int64_t m0 = cuts[1], m1 = cuts[cuts.size() - 2];
    call(part, m0, m1);
    const auto row_bytes = static_cast<int64_t>(out_bytes) / rows;
    for (int64_t i = 0; i < static_cast<int64_t>(out_bytes); ++i)
      if ((i < m0 * row_bytes || i >= m1 * row_bytes) && part.data()[i] != std::byte{0x3b}) {
        ADD_FAILURE() << name << " writes outside of its range";
        break;
      }
  }
  return whole;
}

std::vector<Isa> isas() {
  std::vector<Isa> result;
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512})
    if (isa_runs_here(isa)) result.push_back(isa);
  return result;
}
int64_t bits(double value) {
  return std::bit_cast<int64_t>(value);
}

std::string describe(Isa isa, const std::string& name, const Sizes& sizes) {
  std::string text = name + " [";
  for (const int64_t s : sizes) text += std::to_string(s) + ",";
  return text + "] on " + std::string(isa_name(isa));
}

}  // namespace edge_infer::test
