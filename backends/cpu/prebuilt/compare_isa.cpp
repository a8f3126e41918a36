// Comparisons and their .Scalar forms, isnan, logical and bitwise ops, where.
#include "backends/cpu/prebuilt/args.h"
#include "backends/cpu/prebuilt/pointwise.h"
#include "backends/cpu/prebuilt/tables.h"

namespace edge_infer::EDGE_ISA {
namespace {

struct Eq {
  template <class T>
  static uint8_t apply(T a, T b) {
    return a == b;
  }
};
struct Ne {
  template <class T>
  static uint8_t apply(T a, T b) {
    return a != b;
  }
};
struct Lt {
  template <class T>
  static uint8_t apply(T a, T b) {
    return a < b;
  }
};
struct Le {
  template <class T>
  static uint8_t apply(T a, T b) {
    return a <= b;
  }
};
struct Gt {
  template <class T>
  static uint8_t apply(T a, T b) {
    return a > b;
  }
};
struct Ge {
  template <class T>
  static uint8_t apply(T a, T b) {
    return a >= b;
  }
};
struct IsNan {
  template <class T>
  static uint8_t apply(T a) {
    return a != a;
  }
};

struct LogicalAnd {
  template <class T>
  static uint8_t apply(T a, T b) {
    return static_cast<uint8_t>((a != 0) & (b != 0));
  }
};
struct LogicalOr {
  template <class T>
  static uint8_t apply(T a, T b) {
    return static_cast<uint8_t>((a != 0) | (b != 0));
  }
};
struct LogicalXor {
  template <class T>
  static uint8_t apply(T a, T b) {
    return static_cast<uint8_t>((a != 0) ^ (b != 0));
  }
};
struct LogicalNot {
  template <class T>
  static uint8_t apply(T a) {
    return a == 0;
  }
};
struct BitAnd {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct BitNot {
  template <class T>
  static T apply(T a) {
    return static_cast<T>(~a);
  }
};

// The values move as they are, so one loop serves all types of a size.
template <class T>
void where_chunk(void* out, const void* const* in, int64_t n, const int64_t*) {
  const uint8_t* condition = static_cast<const uint8_t*>(in[0]);
  const T* a = static_cast<const T*>(in[1]);
  const T* b = static_cast<const T*>(in[2]);
  T* to = static_cast<T*>(out);
  EDGE_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    const T x = a[i], y = b[i];
    to[i] = condition[i] != 0 ? x : y;
  }
}
template <class Bits>
constexpr PointwiseForm kWhereForm{
    &where_chunk<Bits>, 3, {Storage::k1, kStorageOf<Bits>, kStorageOf<Bits>}, kStorageOf<Bits>};
template <FixedString Op, class Bits, class... Ts>
consteval std::array<PrebuiltKernel, sizeof...(Ts)> where() {
  return {{{kernel_name<Op, Ts>, &pointwise_kernel<kWhereForm<Bits>>}...}};
}

constexpr auto kTable = concat(
    binary_test<"aten.eq", Eq, float, double, Half, BFloat, int64_t, int32_t, Bool>(),
    binary_test<"aten.ne", Ne, float, double, Half, BFloat, int64_t, int32_t, Bool>(),
    binary_test<"aten.lt", Lt, float, double, Half, BFloat, int64_t, int32_t, Bool>(),
    binary_test<"aten.le", Le, float, double, Half, BFloat, int64_t, int32_t, Bool>(),
    binary_test<"aten.gt", Gt, float, double, Half, BFloat, int64_t, int32_t, Bool>(),
    binary_test<"aten.ge", Ge, float, double, Half, BFloat, int64_t, int32_t, Bool>(),
    scalar_test<"aten.eq.Scalar", Eq, float, double, Half, BFloat, int64_t, int32_t, Bool>(),
    scalar_test<"aten.ne.Scalar", Ne, float, double, Half, BFloat, int64_t, int32_t, Bool>(),
    scalar_test<"aten.lt.Scalar", Lt, float, double, Half, BFloat, int64_t, int32_t, Bool>(),
    scalar_test<"aten.le.Scalar", Le, float, double, Half, BFloat, int64_t, int32_t, Bool>(),
    scalar_test<"aten.gt.Scalar", Gt, float, double, Half, BFloat, int64_t, int32_t, Bool>(),
    scalar_test<"aten.ge.Scalar", Ge, float, double, Half, BFloat, int64_t, int32_t, Bool>(),
    unary_test<"aten.isnan", IsNan, float, double, Half, BFloat, int64_t, int32_t, Bool>(),
    binary_test<"aten.logical_and", LogicalAnd, float, double, Half, BFloat, int64_t, int32_t, Bool>(),
    binary_test<"aten.logical_or", LogicalOr, float, double, Half, BFloat, int64_t, int32_t, Bool>(),
    binary_test<"aten.logical_xor", LogicalXor, float, double, Half, BFloat, int64_t, int32_t, Bool>(),
    unary_test<"aten.logical_not", LogicalNot, float, double, Half, BFloat, int64_t, int32_t, Bool>(),
    binary<"aten.bitwise_and", BitAnd, int64_t, int32_t>(), binary<"aten.bitwise_and", LogicalAnd, Bool>(),
    binary<"aten.bitwise_or", BitOr, int64_t, int32_t>(), binary<"aten.bitwise_or", LogicalOr, Bool>(),
    binary<"aten.bitwise_xor", BitXor, int64_t, int32_t>(), binary<"aten.bitwise_xor", LogicalXor, Bool>(),
    unary<"aten.bitwise_not", BitNot, int64_t, int32_t>(), unary<"aten.bitwise_not", LogicalNot, Bool>(),
    where<"aten.where", uint32_t, float, int32_t>(), where<"aten.where", uint64_t, double, int64_t>(),
    where<"aten.where", uint16_t, Half, BFloat, int16_t>(),
    where<"aten.where", uint8_t, Bool, uint8_t, int8_t>());

}  // namespace

std::span<const PrebuiltKernel> compare_table() {
  return kTable;
}

}  // namespace edge_infer::EDGE_ISA
