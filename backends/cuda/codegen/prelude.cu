// Prelude of generated kernels: header-free types, and what the kernel below uses.
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

//@ TMap
struct alignas(64) TMap {
  u64 v[16];
};

//@ launch_dependents
inline void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;"); }

//@ wait_for_producers
inline void wait_for_producers() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

//@ f32_from_f16
inline float f32_from_f16(u16 h) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
  return x;
}

//@ f16_from_f32
inline u16 f16_from_f32(float x) {
  u16 h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
}

//@ f32_from_bf16
inline float f32_from_bf16(u16 h) { return __uint_as_float((u32)h << 16); }

//@ bf16_from_f32
inline u16 bf16_from_f32(float x) {
  u16 h;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
}

//@ round_to_f16
inline float round_to_f16(float x) { return f32_from_f16(f16_from_f32(x)); }

//@ round_to_bf16
inline float round_to_bf16(float x) { return f32_from_bf16(bf16_from_f32(x)); }

//@ odd_f32_from_f64
// What float cannot hold exactly is rounded to odd, so that rounding once more rounds once.
inline float odd_f32_from_f64(double x) {
  const float r = __double2float_rz(x);
  return (double)r == x || x != x ? r : __uint_as_float(__float_as_uint(r) | 1);
}

//@ is_nan
template <class T>
inline bool is_nan(T x) {
  return x != x;
}

//@ i32_from_f32
// Towards zero, saturating, NaN 0.
inline i32 i32_from_f32(float x) { return x != x ? 0 : __float2int_rz(x); }

//@ i32_from_f64
inline i32 i32_from_f64(double x) { return x != x ? 0 : __double2int_rz(x); }

//@ i64_from_f32
inline i64 i64_from_f32(float x) { return x != x ? 0 : __float2ll_rz(x); }

//@ i64_from_f64
inline i64 i64_from_f64(double x) { return x != x ? 0 : __double2ll_rz(x); }

//@ clamp_i32
inline i32 clamp_i32(i32 x, i32 low, i32 high) { return x < low ? low : x > high ? high : x; }

//@ min_of
// The other operand's NaN as well as the first one's.
template <class T>
inline T min_of(T a, T b) {
  return a != a || a < b ? a : b;
}

//@ max_of
template <class T>
inline T max_of(T a, T b) {
  return a != a || a > b ? a : b;
}

//@ min1_i64
inline i64 min1_i64(i64 a, i64 b) { return a < b ? a : b; }

//@ max1_i64
inline i64 max1_i64(i64 a, i64 b) { return a > b ? a : b; }

//@ udiv
inline i64 udiv(i64 a, i64 b) { return (i64)((u64)a / (u64)b); }

//@ umod
inline i64 umod(i64 a, i64 b) { return (i64)((u64)a % (u64)b); }

//@ udiv32
inline i64 udiv32(i64 a, i64 b) { return (i64)((u32)a / (u32)b); }

//@ umod32
inline i64 umod32(i64 a, i64 b) { return (i64)((u32)a % (u32)b); }

//@ div_int
// Truncates; -1 by itself, because the least number has no opposite.
template <class T>
inline T div_int(T a, T b) {
  return b == -1 ? (T)(0 - (u64)a) : b == 0 ? 0 : a / b;
}

//@ mod_int
// With the divisor's sign.
template <class T>
inline T mod_int(T a, T b) {
  if (b == -1 || b == 0) return 0;
  const T r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

//@ floordiv_int
template <class T>
inline T floordiv_int(T a, T b) {
  if (b == -1 || b == 0) return div_int(a, b);
  const T q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

//@ floordiv1_i64
inline i64 floordiv1_i64(i64 a, i64 b) { return floordiv_int<i64>(a, b); }

//@ mod1_i64
inline i64 mod1_i64(i64 a, i64 b) { return mod_int<i64>(a, b); }

//@ pow_int
// Wraps; negative exponents as ATen: 0, but for bases 1 and -1.
template <class T>
inline T pow_int(T a, T b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
  u64 result = 1, base = (u64)a;
  for (u64 e = (u64)b; e != 0; e >>= 1) {
    if (e & 1) result *= base;
    base *= base;
  }
  return (T)result;
}

//@ shl_int
template <class T>
inline T shl_int(T a, T by, i32 width) {
  return by < 0 || by >= width ? 0 : (T)((u64)a << by);
}

//@ shr_int
template <class T>
inline T shr_int(T a, T by, i32 width) {
  return by < 0 || by >= width ? (a < 0 ? -1 : 0) : a >> by;
}

//@ mod_f32
// With the divisor's sign, as torch.remainder.
inline float mod_f32(float a, float b) {
  const float r = fmodf(a, b);
  return r != 0.0f && (r < 0.0f) != (b < 0.0f) ? r + b : r;
}

//@ mod_f64
inline double mod_f64(double a, double b) {
  const double r = fmod(a, b);
  return r != 0.0 && (r < 0.0) != (b < 0.0) ? r + b : r;
}

//@ Pack
// V elements that move together, 16 bytes at a time.
template <class T, i32 V>
struct alignas(sizeof(T) * V < 16 ? sizeof(T) * V : 16) Pack {
  T v[V];
};

//@ load_vector
template <i32 V, class T>
inline Pack<T, V> load_vector(const T* p) {
  return *reinterpret_cast<const Pack<T, V>*>(p);
}

//@ store_vector
template <i32 V, class T>
inline void store_vector(T* p, const Pack<T, V>& x) {
  *reinterpret_cast<Pack<T, V>*>(p) = x;
}

//@ Sum
struct Sum {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};

//@ Prod
struct Prod {
  template <class T>
  T operator()(T a, T b) const {
    return a * b;
  }
};

//@ Max
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return max_of(a, b);
  }
};

//@ Min
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return min_of(a, b);
  }
};

//@ shuffle
template <class T>
inline T shuffle(T x, i32 distance) {
  return __shfl_xor_sync(0xffffffffu, x, distance);
}

//@ Best
// A value and where it stands; -1: nowhere yet.
template <class T>
struct Best {
  T value;
  i64 at;
};
template <class T>
inline Best<T> shuffle(Best<T> x, i32 distance) {
  return {shuffle(x.value, distance), shuffle(x.at, distance)};
}

//@ ArgMax
// The greatest, NaN above all; the lowest index of equals.
struct ArgMax {
  template <class T>
  bool beats(T a, T b) const {
    return a > b || (a != a && b == b);
  }
  template <class T>
  Best<T> operator()(Best<T> a, Best<T> b) const {
    if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;
    if (beats(a.value, b.value)) return a;
    return beats(b.value, a.value) || b.at < a.at ? b : a;
  }
};

//@ ArgMin
struct ArgMin {
  template <class T>
  bool beats(T a, T b) const {
    return a < b || (a != a && b == b);
  }
  template <class T>
  Best<T> operator()(Best<T> a, Best<T> b) const {
    if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;
    if (beats(a.value, b.value)) return a;
    return beats(b.value, a.value) || b.at < a.at ? b : a;
  }
};

//@ warp_reduce
// Of 32 threads, by halves; all get the result.
template <class Op, class T>
inline T warp_reduce(T x, Op op) {
#pragma unroll
  for (i32 distance = 16; distance > 0; distance >>= 1) x = op(x, shuffle(x, distance));
  return x;
}

//@ block_reduce
// Of all W warps of a CTA: within the warps, then the warps in order; all threads get the result.
template <i32 W, class Op, class T>
inline T block_reduce(T x, Op op) {
  __shared__ T parts[W];
  x = warp_reduce(x, op);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  x = parts[0];
#pragma unroll
  for (i32 w = 1; w < W; ++w) x = op(x, parts[w]);
  return x;
}
