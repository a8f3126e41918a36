// What generated kernels are made of, in segments: a line `//@ NAME...` begins one, which defines these
// names. A kernel's text gets the segments whose names it uses, and theirs, in this order; the part above the
// first segment always stands. Sixteen lanes on every instruction set; fused arithmetic only where fma is
// written (the compiler contracts nothing). Scalars of 16-bit floats do not exist: f16 and bf16 are held as
// float. bool in vectors is an i32 mask of 0 and -1.
#define EDGE_PRELUDE 1
#pragma clang diagnostic ignored "-Wpsabi"
#pragma clang diagnostic ignored "-Wunused-function"
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
#define VECTOR(type) type __attribute__((ext_vector_type(16)))
typedef VECTOR(float) f32x16;
typedef VECTOR(double) f64x16;
typedef VECTOR(int32_t) i32x16;
typedef VECTOR(int64_t) i64x16;
typedef VECTOR(uint32_t) u32x16;
typedef VECTOR(uint64_t) u64x16;
typedef VECTOR(int16_t) i16x16;
typedef VECTOR(uint16_t) u16x16;
typedef VECTOR(int8_t) i8x16;
typedef VECTOR(uint8_t) u8x16;
typedef i32x16 b32x16;
#define INLINE static inline __attribute__((always_inline))
#define CONVERT __builtin_convertvector
struct KernelArgs {
  void* const* buffers;
  const int64_t* integers;
};

//@ splat_f32 splat_f64 splat_i32 splat_i64 splat_b32
INLINE f32x16 splat_f32(float x) {
  return (f32x16)x;
}
INLINE f64x16 splat_f64(double x) {
  return (f64x16)x;
}
INLINE i32x16 splat_i32(int32_t x) {
  return (i32x16)x;
}
INLINE i64x16 splat_i64(int64_t x) {
  return (i64x16)x;
}
INLINE b32x16 splat_b32(int32_t x) {
  return (i32x16)(x ? -1 : 0);
}

//@ first_f32 first_f64 first_i32 first_i64 first_b32
INLINE float first_f32(f32x16 x) {
  return x[0];
}
INLINE double first_f64(f64x16 x) {
  return x[0];
}
INLINE int32_t first_i32(i32x16 x) {
  return x[0];
}
INLINE int64_t first_i64(i64x16 x) {
  return x[0];
}
INLINE int32_t first_b32(b32x16 x) {
  return x[0] != 0;
}

//@ iota_i32
INLINE i32x16 iota_i32(void) {
  return (i32x16){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
}

//@ iota_i64
INLINE i64x16 iota_i64(void) {
  return (i64x16){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
}

//@ below
// Lanes 0..n-1.
INLINE b32x16 below(int64_t n) {
  return iota_i32() < splat_i32((int32_t)n);
}

//@ wide_mask
INLINE i64x16 wide_mask(b32x16 m) {
  return CONVERT(m, i64x16);
}

//@ narrow_mask
INLINE b32x16 narrow_mask(i64x16 m) {
  return CONVERT(m, i32x16);
}

//@ select_f32
INLINE f32x16 select_f32(b32x16 m, f32x16 a, f32x16 b) {
  return m ? a : b;
}

//@ select_i32
INLINE i32x16 select_i32(b32x16 m, i32x16 a, i32x16 b) {
  return m ? a : b;
}

//@ select_b32
INLINE b32x16 select_b32(b32x16 m, b32x16 a, b32x16 b) {
  return m ? a : b;
}

//@ select_f64
INLINE f64x16 select_f64(b32x16 m, f64x16 a, f64x16 b) {
  return wide_mask(m) ? a : b;
}

//@ select_i64
INLINE i64x16 select_i64(b32x16 m, i64x16 a, i64x16 b) {
  return wide_mask(m) ? a : b;
}

//@ bits_f32
INLINE i32x16 bits_f32(f32x16 x) {
  return (i32x16)x;
}

//@ float_of
INLINE f32x16 float_of(i32x16 x) {
  return (f32x16)x;
}

//@ fma_f32
INLINE f32x16 fma_f32(f32x16 a, f32x16 b, f32x16 c) {
#ifdef __FMA__
  return __builtin_elementwise_fma(a, b, c);
#else
  return a * b + c;
#endif
}

//@ fma_f64
INLINE f64x16 fma_f64(f64x16 a, f64x16 b, f64x16 c) {
#ifdef __FMA__
  return __builtin_elementwise_fma(a, b, c);
#else
  return a * b + c;
#endif
}

//@ abs_f32
// Builtins here and in copysign: masks of bits, written out, are miscompiled by clang 19 for AVX-512 where it
// knows bits of the operand (a select of constants, say).
INLINE f32x16 abs_f32(f32x16 x) {
  return __builtin_elementwise_abs(x);
}

//@ abs_f64
INLINE f64x16 abs_f64(f64x16 x) {
  return __builtin_elementwise_abs(x);
}

//@ copysign_f32
INLINE f32x16 copysign_f32(f32x16 magnitude, f32x16 sign) {
  return __builtin_elementwise_copysign(magnitude, sign);
}

//@ copysign_f64
INLINE f64x16 copysign_f64(f64x16 magnitude, f64x16 sign) {
  return __builtin_elementwise_copysign(magnitude, sign);
}

//@ neg_i32
INLINE i32x16 neg_i32(i32x16 x) {
  return 0 - x;
}

//@ neg_i64
INLINE i64x16 neg_i64(i64x16 x) {
  return 0 - x;
}

//@ abs_i32
INLINE i32x16 abs_i32(i32x16 x) {
  return select_i32(x < 0, 0 - x, x);
}

//@ abs_i64
INLINE i64x16 abs_i64(i64x16 x) {
  return x < 0 ? 0 - x : x;
}

//@ wrap_i16
INLINE i32x16 wrap_i16(i32x16 x) {
  return (x << 16) >> 16;
}

//@ wrap_i8
INLINE i32x16 wrap_i8(i32x16 x) {
  return (x << 24) >> 24;
}

//@ wrap_u8
INLINE i32x16 wrap_u8(i32x16 x) {
  return x & 255;
}

//@ isnan_f32
INLINE b32x16 isnan_f32(f32x16 x) {
  return x != x;
}

//@ isnan_f64
INLINE b32x16 isnan_f64(f64x16 x) {
  return narrow_mask(x != x);
}

//@ max_f32
// NaN where either is NaN.
INLINE f32x16 max_f32(f32x16 a, f32x16 b) {
  const f32x16 larger = a > b ? a : b;
  return a != a ? a : larger;
}

//@ min_f32
INLINE f32x16 min_f32(f32x16 a, f32x16 b) {
  const f32x16 smaller = a < b ? a : b;
  return a != a ? a : smaller;
}

//@ max_f64
INLINE f64x16 max_f64(f64x16 a, f64x16 b) {
  const f64x16 larger = a > b ? a : b;
  return a != a ? a : larger;
}

//@ min_f64
INLINE f64x16 min_f64(f64x16 a, f64x16 b) {
  const f64x16 smaller = a < b ? a : b;
  return a != a ? a : smaller;
}

//@ max_i32
INLINE i32x16 max_i32(i32x16 a, i32x16 b) {
  return select_i32(a > b, a, b);
}

//@ min_i32
INLINE i32x16 min_i32(i32x16 a, i32x16 b) {
  return select_i32(a < b, a, b);
}

//@ max_i64
INLINE i64x16 max_i64(i64x16 a, i64x16 b) {
  return a > b ? a : b;
}

//@ min_i64
INLINE i64x16 min_i64(i64x16 a, i64x16 b) {
  return a < b ? a : b;
}

//@ sqrt_f32
INLINE f32x16 sqrt_f32(f32x16 x) {
  return __builtin_elementwise_sqrt(x);
}

//@ sqrt_f64
INLINE f64x16 sqrt_f64(f64x16 x) {
  return __builtin_elementwise_sqrt(x);
}

//@ rsqrt_f32
INLINE f32x16 rsqrt_f32(f32x16 x) {
  return splat_f32(1.0f) / sqrt_f32(x);
}

//@ rsqrt_f64
INLINE f64x16 rsqrt_f64(f64x16 x) {
  return splat_f64(1.0) / sqrt_f64(x);
}

//@ rcp_f32
INLINE f32x16 rcp_f32(f32x16 x) {
  return splat_f32(1.0f) / x;
}

//@ rcp_f64
INLINE f64x16 rcp_f64(f64x16 x) {
  return splat_f64(1.0) / x;
}

//@ round_f32
// Halves to even. Large values (and NaN) are whole already; the sign survives, so that -0.5 gives -0.
INLINE f32x16 round_f32(f32x16 x) {
#ifdef __SSE4_1__
  return __builtin_elementwise_roundeven(x);
#else
  const f32x16 a = abs_f32(x), magic = splat_f32(0x1p23f);
  return a < magic ? copysign_f32((a + magic) - magic, x) : x;
#endif
}

//@ round_f64
INLINE f64x16 round_f64(f64x16 x) {
#ifdef __SSE4_1__
  return __builtin_elementwise_roundeven(x);
#else
  const f64x16 a = abs_f64(x), magic = splat_f64(0x1p52);
  return a < magic ? copysign_f64((a + magic) - magic, x) : x;
#endif
}

//@ floor_f32
INLINE f32x16 floor_f32(f32x16 x) {
#ifdef __SSE4_1__
  return __builtin_elementwise_floor(x);
#else
  const f32x16 r = round_f32(x);
  return r > x ? r - splat_f32(1.0f) : r;
#endif
}

//@ floor_f64
INLINE f64x16 floor_f64(f64x16 x) {
#ifdef __SSE4_1__
  return __builtin_elementwise_floor(x);
#else
  const f64x16 r = round_f64(x);
  return r > x ? r - splat_f64(1.0) : r;
#endif
}

//@ ceil_f32
INLINE f32x16 ceil_f32(f32x16 x) {
  return -floor_f32(-x);
}

//@ ceil_f64
INLINE f64x16 ceil_f64(f64x16 x) {
  return -floor_f64(-x);
}

//@ trunc_f64
INLINE f64x16 trunc_f64(f64x16 x) {
  return copysign_f64(floor_f64(abs_f64(x)), x);
}

//@ i32_from_f32
// Towards zero, saturating, NaN 0; no lane is converted that does not fit.
INLINE i32x16 i32_from_f32(f32x16 x) {
  const b32x16 high = x >= splat_f32(0x1p31f), inside = (x > splat_f32(-0x1p31f)) & ~high;
  const i32x16 whole = CONVERT(inside ? x : splat_f32(0.0f), i32x16);
  const i32x16 low = x <= splat_f32(-0x1p31f) ? splat_i32((int32_t)0x80000000u) : whole;
  return high ? splat_i32(0x7fffffff) : low;
}

//@ i32_from_f64
INLINE i32x16 i32_from_f64(f64x16 x) {
  x = x == x ? x : splat_f64(0.0);
  x = x > splat_f64(0x1.fffffffcp30) ? splat_f64(0x1.fffffffcp30) : x;
  x = x < splat_f64(-0x1p31) ? splat_f64(-0x1p31) : x;
  return CONVERT(x, i32x16);
}

//@ i64_from_f64
INLINE i64x16 i64_from_f64(f64x16 x) {
  const i64x16 high = x >= splat_f64(0x1p63), inside = (x > splat_f64(-0x1p63)) & ~high;
  const i64x16 whole = CONVERT(inside ? x : splat_f64(0.0), i64x16);
  const i64x16 low = x <= splat_f64(-0x1p63) ? splat_i64((int64_t)0x8000000000000000u) : whole;
  return high ? splat_i64(0x7fffffffffffffff) : low;
}

//@ i64_from_f32
INLINE i64x16 i64_from_f32(f32x16 x) {
  return i64_from_f64(CONVERT(x, f64x16));
}

//@ clamp_i32
INLINE i32x16 clamp_i32(i32x16 x, int32_t low, int32_t high) {
  return min_i32(max_i32(x, splat_i32(low)), splat_i32(high));
}

//@ f32_from_f64
INLINE f32x16 f32_from_f64(f64x16 x) {
  return CONVERT(x, f32x16);
}

//@ odd_f32_from_f64
// Rounded to odd, so that rounding once more to 16 bits is as rounding once.
INLINE f32x16 odd_f32_from_f64(f64x16 x) {
  const f32x16 near = CONVERT(x, f32x16);
  const f64x16 back = CONVERT(near, f64x16);
  const b32x16 inexact = narrow_mask((back != x) & (x == x)), above = narrow_mask(abs_f64(back) > abs_f64(x));
  const i32x16 truncated = bits_f32(near) + above;
  return inexact ? float_of(truncated | 1) : near;
}

//@ f64_from_f32
INLINE f64x16 f64_from_f32(f32x16 x) {
  return CONVERT(x, f64x16);
}

//@ f32_from_i32
INLINE f32x16 f32_from_i32(i32x16 x) {
  return CONVERT(x, f32x16);
}

//@ f64_from_i32
INLINE f64x16 f64_from_i32(i32x16 x) {
  return CONVERT(x, f64x16);
}

//@ f32_from_i64
INLINE f32x16 f32_from_i64(i64x16 x) {
  return CONVERT(x, f32x16);
}

//@ f64_from_i64
INLINE f64x16 f64_from_i64(i64x16 x) {
  return CONVERT(x, f64x16);
}

//@ i64_from_i32
INLINE i64x16 i64_from_i32(i32x16 x) {
  return CONVERT(x, i64x16);
}

//@ i32_from_i64
INLINE i32x16 i32_from_i64(i64x16 x) {
  return CONVERT(x, i32x16);
}

//@ widen_bf16
INLINE f32x16 widen_bf16(u16x16 h) {
  return (f32x16)(CONVERT(h, u32x16) << 16);
}

//@ narrow_bf16
// Nearest even; NaN stays NaN (quiet).
INLINE u16x16 narrow_bf16(f32x16 x) {
  const u32x16 u = (u32x16)x;
  const u32x16 rounded = u + 0x7fffu + ((u >> 16) & 1u);
  const u32x16 chosen = x != x ? (u | 0x400000u) : rounded;
  return CONVERT(chosen >> 16, u16x16);
}

//@ widen_f16
INLINE f32x16 widen_f16(u16x16 h) {
#ifdef __F16C__
  typedef VECTOR(_Float16) f16x16;
  return CONVERT((f16x16)h, f32x16);
#else
  // A multiplication rebases the exponent, subnormals included; infinity and NaN are set apart.
  const u32x16 u = CONVERT(h, u32x16);
  const f32x16 rebased = (f32x16)((u & 0x7fffu) << 13) * splat_f32(0x1p112f);
  const u32x16 special = (u & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;
  return (f32x16)((u32x16)rebased | special | ((u & 0x8000u) << 16));
#endif
}

//@ narrow_f16
// Nearest even.
INLINE u16x16 narrow_f16(f32x16 x) {
#ifdef __F16C__
  typedef VECTOR(_Float16) f16x16;
  return (u16x16)CONVERT(x, f16x16);
#else
  const u32x16 u = (u32x16)x, sign = (u >> 16) & 0x8000u, magnitude = u & 0x7fffffffu;
  const u32x16 normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Adding 0.5 puts the rounded units of 2^-24 into the low bits.
  const u32x16 small = (u32x16)((f32x16)magnitude + splat_f32(0.5f)) - 0x3f000000u;
  u32x16 h = magnitude >= 0x38800000u ? normal : small;
  h = magnitude >= 0x477ff000u ? (u32x16)0x7c00u : h;
  h = magnitude > 0x7f800000u ? (0x7e00u | ((magnitude >> 13) & 0x3ffu)) : h;
  return CONVERT(h | sign, u16x16);
#endif
}

//@ round_to_bf16
INLINE f32x16 round_to_bf16(f32x16 x) {
  return widen_bf16(narrow_bf16(x));
}

//@ round_to_f16
INLINE f32x16 round_to_f16(f32x16 x) {
  return widen_f16(narrow_f16(x));
}

//@ SAME
#define SAME(x) (x)

//@ DEFINE_LOAD
#define DEFINE_LOAD(D, memory, lanes, value, widen)                   \
  INLINE value load_##D(const memory* p) {                            \
    typedef lanes unaligned __attribute__((aligned(sizeof(memory)))); \
    return widen(*(const unaligned*)p);                               \
  }

//@ DEFINE_LOAD_N
// n in 0..15; nothing behind lane n-1 is read, other lanes are 0.
#define DEFINE_LOAD_N(D, memory, lanes, value, widen)   \
  INLINE value load_n_##D(const memory* p, int64_t n) { \
    lanes x = (lanes)(memory)0;                         \
    for (int64_t l = 0; l < n; ++l) x[l] = p[l];        \
    return widen(x);                                    \
  }

//@ DEFINE_LOAD_IF
// Lanes outside of the mask are 0 and not read.
#define DEFINE_LOAD_IF(D, memory, lanes, value, widen)  \
  INLINE value load_if_##D(const memory* p, b32x16 m) { \
    lanes x = (lanes)(memory)0;                         \
    for (int l = 0; l < 16; ++l)                        \
      if (m[l]) x[l] = p[l];                            \
    return widen(x);                                    \
  }

//@ DEFINE_STORE
#define DEFINE_STORE(D, memory, lanes, value, narrow)                 \
  INLINE void store_##D(memory* p, value x) {                         \
    typedef lanes unaligned __attribute__((aligned(sizeof(memory)))); \
    *(unaligned*)p = narrow(x);                                       \
  }

//@ DEFINE_STORE_N
#define DEFINE_STORE_N(D, memory, lanes, value, narrow)    \
  INLINE void store_n_##D(memory* p, value x, int64_t n) { \
    const lanes y = narrow(x);                             \
    for (int64_t l = 0; l < n; ++l) p[l] = y[l];           \
  }

//@ DEFINE_STORE_IF
#define DEFINE_STORE_IF(D, memory, lanes, value, narrow)   \
  INLINE void store_if_##D(memory* p, value x, b32x16 m) { \
    const lanes y = narrow(x);                             \
    for (int l = 0; l < 16; ++l)                           \
      if (m[l]) p[l] = y[l];                               \
  }

//@ widen_bool
INLINE b32x16 widen_bool(u8x16 x) {
  return CONVERT(x, i32x16) != 0;
}

//@ narrow_bool
INLINE u8x16 narrow_bool(b32x16 x) {
  return CONVERT(x, u8x16) & (uint8_t)1;
}

//@ widen_i16
INLINE i32x16 widen_i16(i16x16 x) {
  return CONVERT(x, i32x16);
}

//@ widen_i8
INLINE i32x16 widen_i8(i8x16 x) {
  return CONVERT(x, i32x16);
}

//@ widen_u8
INLINE i32x16 widen_u8(u8x16 x) {
  return CONVERT(x, i32x16);
}

//@ narrow_i16
INLINE i16x16 narrow_i16(i32x16 x) {
  return CONVERT(x, i16x16);
}

//@ narrow_i8
INLINE i8x16 narrow_i8(i32x16 x) {
  return CONVERT(x, i8x16);
}

//@ narrow_u8
INLINE u8x16 narrow_u8(i32x16 x) {
  return CONVERT(x, u8x16);
}

//@ LANE_BITS LOW_BITS f32z
// A vector mask as the bits that AVX-512 takes.
#ifdef __AVX512DQ__
#define LANE_BITS(m) ((uint16_t)__builtin_ia32_cvtd2mask512((__attribute__((__vector_size__(64))) int)(m)))
#define LOW_BITS(n) ((uint16_t)((1u << (n)) - 1u))
typedef float f32z __attribute__((__vector_size__(64)));
#endif

//@ load_f32
DEFINE_LOAD(f32, float, f32x16, f32x16, SAME)

//@ load_n_f32
#ifdef __AVX512DQ__
INLINE f32x16 load_n_f32(const float* p, int64_t n) {
  return (f32x16)__builtin_ia32_loadups512_mask((const float*)p, (f32z)splat_f32(0.0f), LOW_BITS(n));
}
#else
DEFINE_LOAD_N(f32, float, f32x16, f32x16, SAME)
#endif

//@ load_if_f32
#ifdef __AVX512DQ__
INLINE f32x16 load_if_f32(const float* p, b32x16 m) {
  return (f32x16)__builtin_ia32_loadups512_mask((const float*)p, (f32z)splat_f32(0.0f), LANE_BITS(m));
}
#else
DEFINE_LOAD_IF(f32, float, f32x16, f32x16, SAME)
#endif

//@ store_f32
DEFINE_STORE(f32, float, f32x16, f32x16, SAME)

//@ store_n_f32
#ifdef __AVX512DQ__
INLINE void store_n_f32(float* p, f32x16 x, int64_t n) {
  __builtin_ia32_storeups512_mask((float*)p, (f32z)x, LOW_BITS(n));
}
#else
DEFINE_STORE_N(f32, float, f32x16, f32x16, SAME)
#endif

//@ store_if_f32
#ifdef __AVX512DQ__
INLINE void store_if_f32(float* p, f32x16 x, b32x16 m) {
  __builtin_ia32_storeups512_mask((float*)p, (f32z)x, LANE_BITS(m));
}
#else
DEFINE_STORE_IF(f32, float, f32x16, f32x16, SAME)
#endif

//@ load_f64
DEFINE_LOAD(f64, double, f64x16, f64x16, SAME)

//@ load_n_f64
DEFINE_LOAD_N(f64, double, f64x16, f64x16, SAME)

//@ load_if_f64
DEFINE_LOAD_IF(f64, double, f64x16, f64x16, SAME)

//@ store_f64
DEFINE_STORE(f64, double, f64x16, f64x16, SAME)

//@ store_n_f64
DEFINE_STORE_N(f64, double, f64x16, f64x16, SAME)

//@ store_if_f64
DEFINE_STORE_IF(f64, double, f64x16, f64x16, SAME)

//@ load_i32
DEFINE_LOAD(i32, int32_t, i32x16, i32x16, SAME)

//@ load_n_i32
#ifdef __AVX512DQ__
INLINE i32x16 load_n_i32(const int32_t* p, int64_t n) {
  return (i32x16)__builtin_ia32_loadups512_mask((const float*)p, (f32z)splat_f32(0.0f), LOW_BITS(n));
}
#else
DEFINE_LOAD_N(i32, int32_t, i32x16, i32x16, SAME)
#endif

//@ load_if_i32
#ifdef __AVX512DQ__
INLINE i32x16 load_if_i32(const int32_t* p, b32x16 m) {
  return (i32x16)__builtin_ia32_loadups512_mask((const float*)p, (f32z)splat_f32(0.0f), LANE_BITS(m));
}
#else
DEFINE_LOAD_IF(i32, int32_t, i32x16, i32x16, SAME)
#endif

//@ store_i32
DEFINE_STORE(i32, int32_t, i32x16, i32x16, SAME)

//@ store_n_i32
#ifdef __AVX512DQ__
INLINE void store_n_i32(int32_t* p, i32x16 x, int64_t n) {
  __builtin_ia32_storeups512_mask((float*)p, (f32z)x, LOW_BITS(n));
}
#else
DEFINE_STORE_N(i32, int32_t, i32x16, i32x16, SAME)
#endif

//@ store_if_i32
#ifdef __AVX512DQ__
INLINE void store_if_i32(int32_t* p, i32x16 x, b32x16 m) {
  __builtin_ia32_storeups512_mask((float*)p, (f32z)x, LANE_BITS(m));
}
#else
DEFINE_STORE_IF(i32, int32_t, i32x16, i32x16, SAME)
#endif

//@ load_i64
DEFINE_LOAD(i64, int64_t, i64x16, i64x16, SAME)

//@ load_n_i64
DEFINE_LOAD_N(i64, int64_t, i64x16, i64x16, SAME)

//@ load_if_i64
DEFINE_LOAD_IF(i64, int64_t, i64x16, i64x16, SAME)

//@ store_i64
DEFINE_STORE(i64, int64_t, i64x16, i64x16, SAME)

//@ store_n_i64
DEFINE_STORE_N(i64, int64_t, i64x16, i64x16, SAME)

//@ store_if_i64
DEFINE_STORE_IF(i64, int64_t, i64x16, i64x16, SAME)

//@ load_f16
DEFINE_LOAD(f16, uint16_t, u16x16, f32x16, widen_f16)

//@ load_n_f16
DEFINE_LOAD_N(f16, uint16_t, u16x16, f32x16, widen_f16)

//@ load_if_f16
DEFINE_LOAD_IF(f16, uint16_t, u16x16, f32x16, widen_f16)

//@ store_f16
DEFINE_STORE(f16, uint16_t, u16x16, f32x16, narrow_f16)

//@ store_n_f16
DEFINE_STORE_N(f16, uint16_t, u16x16, f32x16, narrow_f16)

//@ store_if_f16
DEFINE_STORE_IF(f16, uint16_t, u16x16, f32x16, narrow_f16)

//@ load_bf16
DEFINE_LOAD(bf16, uint16_t, u16x16, f32x16, widen_bf16)

//@ load_n_bf16
DEFINE_LOAD_N(bf16, uint16_t, u16x16, f32x16, widen_bf16)

//@ load_if_bf16
DEFINE_LOAD_IF(bf16, uint16_t, u16x16, f32x16, widen_bf16)

//@ store_bf16
DEFINE_STORE(bf16, uint16_t, u16x16, f32x16, narrow_bf16)

//@ store_n_bf16
DEFINE_STORE_N(bf16, uint16_t, u16x16, f32x16, narrow_bf16)

//@ store_if_bf16
DEFINE_STORE_IF(bf16, uint16_t, u16x16, f32x16, narrow_bf16)

//@ load_i16
DEFINE_LOAD(i16, int16_t, i16x16, i32x16, widen_i16)

//@ load_n_i16
DEFINE_LOAD_N(i16, int16_t, i16x16, i32x16, widen_i16)

//@ load_if_i16
DEFINE_LOAD_IF(i16, int16_t, i16x16, i32x16, widen_i16)

//@ store_i16
DEFINE_STORE(i16, int16_t, i16x16, i32x16, narrow_i16)

//@ store_n_i16
DEFINE_STORE_N(i16, int16_t, i16x16, i32x16, narrow_i16)

//@ store_if_i16
DEFINE_STORE_IF(i16, int16_t, i16x16, i32x16, narrow_i16)

//@ load_i8
DEFINE_LOAD(i8, int8_t, i8x16, i32x16, widen_i8)

//@ load_n_i8
DEFINE_LOAD_N(i8, int8_t, i8x16, i32x16, widen_i8)

//@ load_if_i8
DEFINE_LOAD_IF(i8, int8_t, i8x16, i32x16, widen_i8)

//@ store_i8
DEFINE_STORE(i8, int8_t, i8x16, i32x16, narrow_i8)

//@ store_n_i8
DEFINE_STORE_N(i8, int8_t, i8x16, i32x16, narrow_i8)

//@ store_if_i8
DEFINE_STORE_IF(i8, int8_t, i8x16, i32x16, narrow_i8)

//@ load_u8
DEFINE_LOAD(u8, uint8_t, u8x16, i32x16, widen_u8)

//@ load_n_u8
DEFINE_LOAD_N(u8, uint8_t, u8x16, i32x16, widen_u8)

//@ load_if_u8
DEFINE_LOAD_IF(u8, uint8_t, u8x16, i32x16, widen_u8)

//@ store_u8
DEFINE_STORE(u8, uint8_t, u8x16, i32x16, narrow_u8)

//@ store_n_u8
DEFINE_STORE_N(u8, uint8_t, u8x16, i32x16, narrow_u8)

//@ store_if_u8
DEFINE_STORE_IF(u8, uint8_t, u8x16, i32x16, narrow_u8)

//@ load_bool
DEFINE_LOAD(bool, uint8_t, u8x16, b32x16, widen_bool)

//@ load_n_bool
DEFINE_LOAD_N(bool, uint8_t, u8x16, b32x16, widen_bool)

//@ load_if_bool
DEFINE_LOAD_IF(bool, uint8_t, u8x16, b32x16, widen_bool)

//@ store_bool
DEFINE_STORE(bool, uint8_t, u8x16, b32x16, narrow_bool)

//@ store_n_bool
DEFINE_STORE_N(bool, uint8_t, u8x16, b32x16, narrow_bool)

//@ store_if_bool
DEFINE_STORE_IF(bool, uint8_t, u8x16, b32x16, narrow_bool)

//@ load1_f32
INLINE float load1_f32(const float* p) {
  return *p;
}

//@ store1_f32
INLINE void store1_f32(float* p, float x) {
  *p = (float)x;
}

//@ load1_f64
INLINE double load1_f64(const double* p) {
  return *p;
}

//@ store1_f64
INLINE void store1_f64(double* p, double x) {
  *p = (double)x;
}

//@ load1_i32
INLINE int32_t load1_i32(const int32_t* p) {
  return *p;
}

//@ store1_i32
INLINE void store1_i32(int32_t* p, int32_t x) {
  *p = (int32_t)x;
}

//@ load1_i64
INLINE int64_t load1_i64(const int64_t* p) {
  return *p;
}

//@ store1_i64
INLINE void store1_i64(int64_t* p, int64_t x) {
  *p = (int64_t)x;
}

//@ load1_f16
INLINE float load1_f16(const uint16_t* p) {
  return widen_f16((u16x16)*p)[0];
}

//@ store1_f16
INLINE void store1_f16(uint16_t* p, float x) {
  *p = narrow_f16(splat_f32(x))[0];
}

//@ load1_bf16
INLINE float load1_bf16(const uint16_t* p) {
  return widen_bf16((u16x16)*p)[0];
}

//@ store1_bf16
INLINE void store1_bf16(uint16_t* p, float x) {
  *p = narrow_bf16(splat_f32(x))[0];
}

//@ load1_i16
INLINE int32_t load1_i16(const int16_t* p) {
  return *p;
}

//@ store1_i16
INLINE void store1_i16(int16_t* p, int32_t x) {
  *p = (int16_t)x;
}

//@ load1_i8
INLINE int32_t load1_i8(const int8_t* p) {
  return *p;
}

//@ store1_i8
INLINE void store1_i8(int8_t* p, int32_t x) {
  *p = (int8_t)x;
}

//@ load1_u8
INLINE int32_t load1_u8(const uint8_t* p) {
  return *p;
}

//@ store1_u8
INLINE void store1_u8(uint8_t* p, int32_t x) {
  *p = (uint8_t)x;
}

//@ load1_bool
INLINE int32_t load1_bool(const uint8_t* p) {
  return *p != 0;
}

//@ store1_bool
INLINE void store1_bool(uint8_t* p, int32_t x) {
  *p = x != 0;
}

//@ DEFINE_FOLD
// Lanes folded by halves: i and i+8, then i and i+4, ...
#define DEFINE_FOLD(name, lanes, scalar, op)                                                        \
  INLINE scalar name(lanes x) {                                                                     \
    x = op(x, __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)); \
    x = op(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11)); \
    x = op(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)); \
    x = op(x, __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)); \
    return x[0];                                                                                    \
  }

//@ PLUS
#define PLUS(a, b) ((a) + (b))

//@ TIMES
#define TIMES(a, b) ((a) * (b))

//@ EITHER
#define EITHER(a, b) ((a) | (b))

//@ BOTH
#define BOTH(a, b) ((a) & (b))

//@ fold_any
DEFINE_FOLD(fold_any_bits, b32x16, int32_t, EITHER)
INLINE int32_t fold_any(b32x16 x) {
  return fold_any_bits(x) != 0;
}

//@ fold_all
DEFINE_FOLD(fold_all_bits, b32x16, int32_t, BOTH)
INLINE int32_t fold_all(b32x16 x) {
  return fold_all_bits(x) != 0;
}

//@ fold_sum_f32
DEFINE_FOLD(fold_sum_f32, f32x16, float, PLUS)

//@ fold_prod_f32
DEFINE_FOLD(fold_prod_f32, f32x16, float, TIMES)

//@ fold_max_f32
DEFINE_FOLD(fold_max_f32, f32x16, float, max_f32)

//@ fold_min_f32
DEFINE_FOLD(fold_min_f32, f32x16, float, min_f32)

//@ fold_sum_f64
DEFINE_FOLD(fold_sum_f64, f64x16, double, PLUS)

//@ fold_prod_f64
DEFINE_FOLD(fold_prod_f64, f64x16, double, TIMES)

//@ fold_max_f64
DEFINE_FOLD(fold_max_f64, f64x16, double, max_f64)

//@ fold_min_f64
DEFINE_FOLD(fold_min_f64, f64x16, double, min_f64)

//@ fold_sum_i32
DEFINE_FOLD(fold_sum_i32, i32x16, int32_t, PLUS)

//@ fold_prod_i32
DEFINE_FOLD(fold_prod_i32, i32x16, int32_t, TIMES)

//@ fold_max_i32
DEFINE_FOLD(fold_max_i32, i32x16, int32_t, max_i32)

//@ fold_min_i32
DEFINE_FOLD(fold_min_i32, i32x16, int32_t, min_i32)

//@ fold_sum_i64
DEFINE_FOLD(fold_sum_i64, i64x16, int64_t, PLUS)

//@ fold_prod_i64
DEFINE_FOLD(fold_prod_i64, i64x16, int64_t, TIMES)

//@ fold_max_i64
DEFINE_FOLD(fold_max_i64, i64x16, int64_t, max_i64)

//@ fold_min_i64
DEFINE_FOLD(fold_min_i64, i64x16, int64_t, min_i64)

//@ DEFINE_FOLD_ARG
// The index of the extreme of sixteen candidates; NaN is the extreme, the lowest index wins, lanes of index
// -1 have none.
#define DEFINE_FOLD_ARG(name, lanes, scalar, compare)                                                     \
  INLINE int64_t name(lanes best, i64x16 index) {                                                         \
    int64_t chosen = -1;                                                                                  \
    scalar value = 0;                                                                                     \
    for (int l = 0; l < 16; ++l) {                                                                        \
      const scalar x = best[l];                                                                           \
      const int equal = x == value || (x != x && value != value);                                         \
      const int better = (x compare value || (x != x && value == value)) || (equal && index[l] < chosen); \
      if (index[l] >= 0 && (chosen < 0 || better)) {                                                      \
        chosen = index[l];                                                                                \
        value = x;                                                                                        \
      }                                                                                                   \
    }                                                                                                     \
    return chosen < 0 ? 0 : chosen;                                                                       \
  }

//@ fold_argmax_f32
DEFINE_FOLD_ARG(fold_argmax_f32, f32x16, float, >)

//@ better_argmax_f32
INLINE b32x16 better_argmax_f32(f32x16 x, f32x16 best) {
  return ((x > best) | ((x != x) & (best == best)));
}

//@ fold_argmin_f32
DEFINE_FOLD_ARG(fold_argmin_f32, f32x16, float, <)

//@ better_argmin_f32
INLINE b32x16 better_argmin_f32(f32x16 x, f32x16 best) {
  return ((x < best) | ((x != x) & (best == best)));
}

//@ fold_argmax_f64
DEFINE_FOLD_ARG(fold_argmax_f64, f64x16, double, >)

//@ better_argmax_f64
INLINE b32x16 better_argmax_f64(f64x16 x, f64x16 best) {
  return narrow_mask((x > best) | ((x != x) & (best == best)));
}

//@ fold_argmin_f64
DEFINE_FOLD_ARG(fold_argmin_f64, f64x16, double, <)

//@ better_argmin_f64
INLINE b32x16 better_argmin_f64(f64x16 x, f64x16 best) {
  return narrow_mask((x < best) | ((x != x) & (best == best)));
}

//@ fold_argmax_i32
DEFINE_FOLD_ARG(fold_argmax_i32, i32x16, int32_t, >)

//@ better_argmax_i32
INLINE b32x16 better_argmax_i32(i32x16 x, i32x16 best) {
  return (x > best);
}

//@ fold_argmin_i32
DEFINE_FOLD_ARG(fold_argmin_i32, i32x16, int32_t, <)

//@ better_argmin_i32
INLINE b32x16 better_argmin_i32(i32x16 x, i32x16 best) {
  return (x < best);
}

//@ fold_argmax_i64
DEFINE_FOLD_ARG(fold_argmax_i64, i64x16, int64_t, >)

//@ better_argmax_i64
INLINE b32x16 better_argmax_i64(i64x16 x, i64x16 best) {
  return narrow_mask(x > best);
}

//@ fold_argmin_i64
DEFINE_FOLD_ARG(fold_argmin_i64, i64x16, int64_t, <)

//@ better_argmin_i64
INLINE b32x16 better_argmin_i64(i64x16 x, i64x16 best) {
  return narrow_mask(x < best);
}

//@ udiv
// Of operands that are known not to be negative.
INLINE int64_t udiv(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a / (uint64_t)b);
}

//@ umod
INLINE int64_t umod(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a % (uint64_t)b);
}

//@ div1_i64
// Truncating; by zero 0, wrapping.
INLINE int64_t div1_i64(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

//@ mod1_i64
INLINE int64_t mod1_i64(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

//@ floordiv1_i64
INLINE int64_t floordiv1_i64(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

//@ min1_i64
INLINE int64_t min1_i64(int64_t a, int64_t b) {
  return a < b ? a : b;
}

//@ max1_i64
INLINE int64_t max1_i64(int64_t a, int64_t b) {
  return a > b ? a : b;
}

//@ pow1_i64
// Wrapping; negative exponents give 1, -1 or 0.
INLINE int64_t pow1_i64(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? ((exponent & 1) != 0 ? -1 : 1) : 0;
  uint64_t result = 1, power = (uint64_t)base;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result *= power;
    power *= power;
  }
  return (int64_t)result;
}

//@ DEFINE_LANEWISE
#define DEFINE_LANEWISE(name, lanes, one)                \
  INLINE lanes name(lanes a, lanes b) {                  \
    for (int l = 0; l < 16; ++l) a[l] = one(a[l], b[l]); \
    return a;                                            \
  }

//@ div_i64
DEFINE_LANEWISE(div_i64, i64x16, div1_i64)

//@ floordiv_i64
DEFINE_LANEWISE(floordiv_i64, i64x16, floordiv1_i64)

//@ mod_i64
DEFINE_LANEWISE(mod_i64, i64x16, mod1_i64)

//@ pow_i64
DEFINE_LANEWISE(pow_i64, i64x16, pow1_i64)

//@ pow_i32
INLINE i32x16 pow_i32(i32x16 a, i32x16 b) {
  return CONVERT(pow_i64(CONVERT(a, i64x16), CONVERT(b, i64x16)), i32x16);
}

//@ div_i32
// A quotient of doubles is exact enough for 32 bits. By zero 0.
INLINE i32x16 div_i32(i32x16 a, i32x16 b) {
  const i32x16 safe = ((b == 0) | (b == -1)) ? splat_i32(1) : b;
  const i32x16 q = CONVERT(CONVERT(a, f64x16) / CONVERT(safe, f64x16), i32x16);
  return b == 0 ? splat_i32(0) : b == -1 ? 0 - a : q;
}

//@ floordiv_i32
INLINE i32x16 floordiv_i32(i32x16 a, i32x16 b) {
  const i32x16 safe = ((b == 0) | (b == -1)) ? splat_i32(1) : b;
  const i32x16 q = CONVERT(floor_f64(CONVERT(a, f64x16) / CONVERT(safe, f64x16)), i32x16);
  return b == 0 ? splat_i32(0) : b == -1 ? 0 - a : q;
}

//@ mod_i32
INLINE i32x16 mod_i32(i32x16 a, i32x16 b) {
  return b == 0 ? splat_i32(0) : a - floordiv_i32(a, b) * b;
}

//@ shl_i32
// Shifts by less than 0 or by the type's width and more give 0, or the sign.
INLINE i32x16 shl_i32(i32x16 a, i32x16 by, int32_t width) {
  return ((by >= 0) & (by < width)) ? a << (by & 31) : splat_i32(0);
}

//@ shr_i32
INLINE i32x16 shr_i32(i32x16 a, i32x16 by, int32_t width) {
  return ((by >= 0) & (by < width)) ? a >> (by & 31) : a >> 31;
}

//@ shl_i64
INLINE i64x16 shl_i64(i64x16 a, i64x16 by, int32_t width) {
  return ((by >= 0) & (by < (int64_t)width)) ? a << (by & 63) : splat_i64(0);
}

//@ shr_i64
INLINE i64x16 shr_i64(i64x16 a, i64x16 by, int32_t width) {
  return ((by >= 0) & (by < (int64_t)width)) ? a >> (by & 63) : a >> 63;
}

//@ expm1_reduced
// e^r - 1 for |r| <= 0.35: r + r^2 P(r), minimax of degree 4.
INLINE f32x16 expm1_reduced(f32x16 r) {
  f32x16 p = splat_f32(0x1.6bebeep-10f);
  p = fma_f32(p, r, splat_f32(0x1.1227f6p-7f));
  p = fma_f32(p, r, splat_f32(0x1.555674p-5f));
  p = fma_f32(p, r, splat_f32(0x1.5554b0p-3f));
  p = fma_f32(p, r, splat_f32(0x1.fffffep-2f));
  return fma_f32(p, r * r, r);
}

//@ power_of_two
// 2^n for whole n in -126..127.
INLINE f32x16 power_of_two(i32x16 n) {
  return float_of((n + 127) << 23);
}

//@ exp_f32
// Within 1.5 ulp where the result is normal; below, two roundings. Lanes that vanish are computed on 0:
// subnormal intermediates are slow.
INLINE f32x16 exp_f32(f32x16 x) {
  const b32x16 vanishes = x < splat_f32(-104.0f);
  const f32x16 bounded = vanishes ? splat_f32(0.0f) : x > splat_f32(89.0f) ? splat_f32(89.0f) : x;
  const f32x16 number = bounded == bounded ? bounded : splat_f32(0.0f);
  const f32x16 magic = splat_f32(0x1.8p23f);
  const f32x16 shifted = fma_f32(number, splat_f32(0x1.715476p+0f), magic);
  const f32x16 n = shifted - magic;
  const f32x16 r = fma_f32(n, splat_f32(-0x1.7f7d1cp-20f), fma_f32(n, splat_f32(-0x1.62e4p-1f), number));
  const i32x16 whole = bits_f32(shifted) - bits_f32(magic), half = whole >> 1;
  const f32x16 y = (expm1_reduced(r) + splat_f32(1.0f)) * power_of_two(half) * power_of_two(whole - half);
  return vanishes ? splat_f32(0.0f) : x == x ? y : x;
}

//@ exp2_f32
// Within 1.5 ulp where the result is normal.
INLINE f32x16 exp2_f32(f32x16 x) {
  const b32x16 vanishes = x < splat_f32(-150.0f);
  const f32x16 bounded = vanishes ? splat_f32(0.0f) : x > splat_f32(129.0f) ? splat_f32(129.0f) : x;
  const f32x16 number = bounded == bounded ? bounded : splat_f32(0.0f);
  const f32x16 n = round_f32(number), r = number - n;
  const i32x16 whole = CONVERT(n, i32x16), half = whole >> 1;
  f32x16 p = splat_f32(0x1.41fbbap-13f);
  p = fma_f32(p, r, splat_f32(0x1.5f3e54p-10f));
  p = fma_f32(p, r, splat_f32(0x1.3b2d4cp-7f));
  p = fma_f32(p, r, splat_f32(0x1.c6aee8p-5f));
  p = fma_f32(p, r, splat_f32(0x1.ebfbdcp-3f));
  p = fma_f32(p, r, splat_f32(0x1.62e430p-1f));
  const f32x16 y = fma_f32(p, r, splat_f32(1.0f)) * power_of_two(half) * power_of_two(whole - half);
  return vanishes ? splat_f32(0.0f) : x == x ? y : x;
}

//@ pick_f32 TABLE_8
// Which of eight floats, by the three low bits of each lane.
#if defined(__AVX512F__)
#define TABLE_8(a, b, c, d, e, f, g, h) ((f32x16){a, b, c, d, e, f, g, h, a, b, c, d, e, f, g, h})
INLINE f32x16 pick_f32(f32x16 table, i32x16 index) {
  return __builtin_ia32_permvarsf512(table, index);
}
#elif defined(__AVX2__)
typedef float f32x8 __attribute__((ext_vector_type(8)));
#define TABLE_8(a, b, c, d, e, f, g, h) ((f32x8){a, b, c, d, e, f, g, h})
INLINE f32x16 pick_f32(f32x8 table, i32x16 index) {
  const f32x8 low = __builtin_ia32_permvarsf256(table, index.lo);
  const f32x8 high = __builtin_ia32_permvarsf256(table, index.hi);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
#endif

//@ erf_f32
#if defined(__AVX2__)
// Within 1 ulp: a polynomial a piece, of the distance to the piece's middle i * 0x1.0e574p-1. The width is
// one for which the erf of each middle is nearly a float. In piece 0 the polynomial adds to the distance
// itself, so that small results keep their digits; there the distance is the larger of the two.
INLINE f32x16 erf_f32(f32x16 x) {
  const f32x16 size = abs_f32(x), t = size > splat_f32(0x1.fadep+1f) ? splat_f32(0x1.fadep+1f) : size;
  const f32x16 magic = splat_f32(0x1.8p23f), shifted = fma_f32(t, splat_f32(0x1.e4d7p+0f), magic);
  const f32x16 r = fma_f32(shifted - magic, splat_f32(-0x1.0e574p-1f), t);
  const i32x16 i = bits_f32(shifted);
  f32x16 p = pick_f32(TABLE_8(-0x1.47eb48p-6f, -0x1.8800f8p-5f, 0x1.27a156p-7f, 0x1.07767cp-6f,
                              -0x1.dc2186p-10f, -0x1.1f4a8cp-9f, -0x1.3c8718p-11f, 0x1.2c65c4p-11f),
                      i);
  p = fma_f32(p, r,
              pick_f32(TABLE_8(0x1.e5467ep-4f, -0x1.9969f4p-14f, -0x1.0ae4c6p-4f, -0x1.adc0f6p-8f,
                               0x1.97c736p-7f, 0x1.0bfbb4p-8f, 0x1.ff5766p-12f, 0x1.d8a444p-16f),
                       i));
  p = fma_f32(p, r,
              pick_f32(TABLE_8(-0x1.7af9c8p-11f, 0x1.77d2dep-3f, 0x1.9b181cp-5f, -0x1.90aa8ap-5f,
                               -0x1.bc9d46p-6f, -0x1.4e598ap-8f, -0x1.b92218p-12f, -0x1.5a9fe6p-14f),
                       i));
  p = fma_f32(p, r,
              pick_f32(TABLE_8(-0x1.811cc2p-2f, -0x1.01f04cp-3f, 0x1.369f16p-3f, 0x1.f79d9cp-4f,
                               0x1.1a0a7ap-5f, 0x1.2ba43ap-8f, 0x1.48fc0cp-12f, 0x1.8177d6p-17f),
                       i));
  p = fma_f32(p, r,
              pick_f32(TABLE_8(-0x1.7343e6p-21f, -0x1.cda7eep-2f, -0x1.900caap-2f, -0x1.29bdacp-3f,
                               -0x1.c32bc4p-6f, -0x1.6ef7fep-9f, -0x1.49935ap-13f, -0x1.af6facp-19f),
                       i));
  p = fma_f32(p, r,
              pick_f32(TABLE_8(0x1.06eba8p-3f, 0x1.b52a86p-1f, 0x1.7ad3bp-2f, 0x1.77edf2p-4f, 0x1.ab36fcp-7f,
                               0x1.15fd74p-10f, 0x1.9e4c48p-15f, 0x1.619d3ap-20f),
                       i));
  const f32x16 middle = pick_f32(TABLE_8(0.0f, 0x1.16eb9ap-1f, 0x1.bab6fp-1f, 0x1.f32898p-1f, 0x1.fe8e94p-1f,
                                         0x1.ffe742p-1f, 0x1.ffff06p-1f, 0x1.fffffap-1f),
                                 i);
  return copysign_f32(fma_f32(p, r, middle > r ? middle : r), x);
}
#else
// Within 1.5 ulp: x + x P(x^2) below 0.875, else 1 - 2^Q(|x|).
INLINE f32x16 erf_f32(f32x16 x) {
  const f32x16 t = abs_f32(x), s = x * x;
  f32x16 small = splat_f32(-0x1.453aa6p-11f);
  small = fma_f32(small, s, splat_f32(0x1.49c9fcp-8f));
  small = fma_f32(small, s, splat_f32(-0x1.b6f38ap-6f));
  small = fma_f32(small, s, splat_f32(0x1.ce211ep-4f));
  small = fma_f32(small, s, splat_f32(-0x1.81270cp-2f));
  small = fma_f32(small, s, splat_f32(0x1.06eba6p-3f));
  small = fma_f32(small, x, x);
  const f32x16 v = t < splat_f32(4.0f) ? t : splat_f32(4.0f);
  f32x16 q = splat_f32(0x1.30105ap-12f);
  q = fma_f32(q, v, splat_f32(-0x1.245f58p-8f));
  q = fma_f32(q, v, splat_f32(0x1.08f99ep-5f));
  q = fma_f32(q, v, splat_f32(-0x1.344018p-3f));
  q = fma_f32(q, v, splat_f32(-0x1.d6550ap-1f));
  q = fma_f32(q, v, splat_f32(-0x1.a094a2p+0f));
  q = fma_f32(q, v, splat_f32(-0x1.941cd2p-13f));
  const f32x16 magic = splat_f32(0x1.8p23f), shifted = q + magic, r = q - (shifted - magic);
  f32x16 p = splat_f32(0x1.5bba0ep-10f);
  p = fma_f32(p, r, splat_f32(0x1.3cea88p-7f));
  p = fma_f32(p, r, splat_f32(0x1.c6b752p-5f));
  p = fma_f32(p, r, splat_f32(0x1.ebf9bcp-3f));
  p = fma_f32(p, r, splat_f32(0x1.62e42ap-1f));
  const f32x16 power = float_of(bits_f32(fma_f32(p, r, splat_f32(1.0f))) + (bits_f32(shifted) << 23));
  const f32x16 large = copysign_f32(splat_f32(1.0f) - power, x);
  return t >= splat_f32(0.875f) ? large : small;
}
#endif

//@ tanh_f32
// Within 2 ulp: x + x^3 P(x^2) below 0.5, else (e^2x - 1) / (e^2x + 1), the difference without cancellation.
INLINE f32x16 tanh_f32(f32x16 x) {
  const f32x16 t = abs_f32(x), v = t < splat_f32(10.0f) ? t : splat_f32(10.0f), y = v + v, z = v * v;
  f32x16 p = splat_f32(0x1.1a7bfep-6f);
  p = fma_f32(p, z, splat_f32(-0x1.b28c72p-5f));
  p = fma_f32(p, z, splat_f32(0x1.10e9fcp-3f));
  p = fma_f32(p, z, splat_f32(-0x1.5554d6p-2f));
  const f32x16 small = fma_f32(p * z, x, x);
  const f32x16 magic = splat_f32(0x1.8p23f);
  const f32x16 shifted = fma_f32(y, splat_f32(0x1.715476p+0f), magic);
  const f32x16 n = shifted - magic;
  const f32x16 r = fma_f32(n, splat_f32(-0x1.7f7d1cp-20f), fma_f32(n, splat_f32(-0x1.62e4p-1f), y));
  const f32x16 scale = power_of_two(bits_f32(shifted) - bits_f32(magic));
  const f32x16 em = fma_f32(scale, expm1_reduced(r), scale - splat_f32(1.0f));
  const f32x16 large = em / (em + splat_f32(2.0f));
  const f32x16 number = copysign_f32(t < splat_f32(0.5f) ? small : large, x);
  return x == x ? number : x;
}

//@ split_log_f32
// x = (1 + f) 2^e with 1 + f in [sqrt(1/2), sqrt(2)), for positive x, subnormal ones included.
INLINE f32x16 split_log_f32(f32x16 x, f32x16* e) {
  const b32x16 tiny = x < splat_f32(0x1p-126f);
  const f32x16 scaled = tiny ? x * splat_f32(0x1p25f) : x;
  const i32x16 moved = bits_f32(scaled) + (0x3f800000 - 0x3f3504f3);
  *e = CONVERT((moved >> 23) - 127 - (tiny & 25), f32x16);
  return float_of((moved & 0x7fffff) + 0x3f3504f3) - splat_f32(1.0f);
}

//@ log_of_parts
// log((1 + f) 2^e) + c: with s = f / (2 + f), log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)).
INLINE f32x16 log_of_parts(f32x16 f, f32x16 e, f32x16 c) {
  const f32x16 s = f / (splat_f32(2.0f) + f), z = s * s, w = z * z, half = splat_f32(0.5f) * f * f;
  const f32x16 odd = z * fma_f32(w, splat_f32(0x1.23d3dcp-2f), splat_f32(0x1.555554p-1f));
  const f32x16 even = w * fma_f32(w, splat_f32(0x1.f13c4cp-3f), splat_f32(0x1.999c26p-2f));
  const f32x16 low = fma_f32(s, half + (odd + even), fma_f32(e, splat_f32(0x1.7f7d1cp-20f), c)) - half;
  return fma_f32(e, splat_f32(0x1.62e4p-1f), low + f);
}

//@ log_f32
// Within 1.5 ulp.
INLINE f32x16 log_f32(f32x16 x) {
  f32x16 e;
  const f32x16 f = split_log_f32(x, &e), y = log_of_parts(f, e, splat_f32(0.0f));
  const f32x16 infinity = splat_f32(__builtin_inff());
  const f32x16 finite = x < infinity ? y : x;
  const f32x16 positive = x == splat_f32(0.0f) ? -infinity : finite;
  return x < splat_f32(0.0f) ? splat_f32(__builtin_nanf("")) : x == x ? positive : x;
}

//@ log1p_f32
// Within 2 ulp: the logarithm of u = 1 + x, corrected by what rounding u dropped.
INLINE f32x16 log1p_f32(f32x16 x) {
  const f32x16 one = splat_f32(1.0f), u = one + x;
  f32x16 e;
  f32x16 f = split_log_f32(u, &e);
  const f32x16 lost = (x > one ? one - (u - x) : x - (u - one)) / u;
  const b32x16 near = (x > splat_f32(-0.29f)) & (x < splat_f32(0.41f));
  f = near ? x : f;
  e = near ? splat_f32(0.0f) : e;
  const f32x16 y = log_of_parts(f, e, near ? splat_f32(0.0f) : lost);
  const f32x16 infinity = splat_f32(__builtin_inff());
  const f32x16 finite = x < infinity ? y : x;
  const f32x16 above = x == -one ? -infinity : finite;
  const f32x16 inside = x < -one ? splat_f32(__builtin_nanf("")) : above;
  return ((x == splat_f32(0.0f)) | (x != x)) ? x : inside;
}

//@ expm1_reduced_f64
// e^r - 1 for |r| <= 0.35: Taylor.
INLINE f64x16 expm1_reduced_f64(f64x16 r) {
  f64x16 p = splat_f64(0x1.93974a8c07c9dp-37);
  p = fma_f64(p, r, splat_f64(0x1.6124613a86d09p-33));
  p = fma_f64(p, r, splat_f64(0x1.1eed8eff8d898p-29));
  p = fma_f64(p, r, splat_f64(0x1.ae64567f544e4p-26));
  p = fma_f64(p, r, splat_f64(0x1.27e4fb7789f5cp-22));
  p = fma_f64(p, r, splat_f64(0x1.71de3a556c734p-19));
  p = fma_f64(p, r, splat_f64(0x1.a01a01a01a01ap-16));
  p = fma_f64(p, r, splat_f64(0x1.a01a01a01a01ap-13));
  p = fma_f64(p, r, splat_f64(0x1.6c16c16c16c17p-10));
  p = fma_f64(p, r, splat_f64(0x1.1111111111111p-7));
  p = fma_f64(p, r, splat_f64(0x1.5555555555555p-5));
  p = fma_f64(p, r, splat_f64(0x1.5555555555555p-3));
  p = fma_f64(p, r, splat_f64(0x1.0000000000000p-1));
  return fma_f64(p, r * r, r);
}

//@ power_of_two_f64
// 2^n for whole n in -1022..1023.
INLINE f64x16 power_of_two_f64(f64x16 n) {
  return (f64x16)((CONVERT(n, i64x16) + 1023) << 52);
}

//@ scaled_f64
INLINE f64x16 scaled_f64(f64x16 y, f64x16 n) {
  const f64x16 half = floor_f64(n * splat_f64(0.5));
  return y * power_of_two_f64(half) * power_of_two_f64(n - half);
}

//@ exp_f64
INLINE f64x16 exp_f64(f64x16 x) {
  const f64x16 low = x > splat_f64(-760.0) ? x : splat_f64(-760.0),
               v = low < splat_f64(720.0) ? low : splat_f64(720.0);
  const f64x16 n = round_f64(v * splat_f64(0x1.71547652b82fep+0));
  const f64x16 r = fma_f64(n, splat_f64(-0x1.a39ef35793c76p-33), fma_f64(n, splat_f64(-0x1.62e42feep-1), v));
  const f64x16 y = scaled_f64(expm1_reduced_f64(r) + splat_f64(1.0), n);
  return x == x ? y : x;
}

//@ exp2_f64
INLINE f64x16 exp2_f64(f64x16 x) {
  const f64x16 low = x > splat_f64(-1090.0) ? x : splat_f64(-1090.0),
               v = low < splat_f64(1040.0) ? low : splat_f64(1040.0);
  const f64x16 n = round_f64(v), r = (v - n) * splat_f64(0x1.62e42fefa39efp-1);
  const f64x16 y = scaled_f64(expm1_reduced_f64(r) + splat_f64(1.0), n);
  return x == x ? y : x;
}

//@ tanh_f64
INLINE f64x16 tanh_f64(f64x16 x) {
  const f64x16 t = abs_f64(x), v = t < splat_f64(20.0) ? t : splat_f64(20.0), y = v + v;
  const f64x16 bounded = y < splat_f64(0.35) ? y : splat_f64(0.0);
  const f64x16 em = y < splat_f64(0.35) ? expm1_reduced_f64(bounded) : exp_f64(y) - splat_f64(1.0);
  const f64x16 result = copysign_f64(em / (em + splat_f64(2.0)), x);
  return x == x ? result : x;
}

//@ log_f64
// 2 atanh(f / (2 + f)) of the mantissa.
INLINE f64x16 log_f64(f64x16 x) {
  const i64x16 tiny = x < splat_f64(0x1p-1022);
  const f64x16 scaled = tiny ? x * splat_f64(0x1p54) : x;
  const i64x16 root = splat_i64(0x3fe6a09e667f3bcd),
               moved = (i64x16)scaled + (splat_i64(0x3ff0000000000000) - root);
  const f64x16 e = CONVERT((moved >> 52) - 1023 - (tiny & 54), f64x16);
  const f64x16 f = (f64x16)((moved & 0xfffffffffffff) + root) - splat_f64(1.0);
  const f64x16 s = f / (splat_f64(2.0) + f), z = s * s, half = splat_f64(0.5) * f * f;
  f64x16 p = splat_f64(0x1.2f684bda12f68p-4);
  p = fma_f64(p, z, splat_f64(0x1.47ae147ae147bp-4));
  p = fma_f64(p, z, splat_f64(0x1.642c8590b2164p-4));
  p = fma_f64(p, z, splat_f64(0x1.8618618618618p-4));
  p = fma_f64(p, z, splat_f64(0x1.af286bca1af28p-4));
  p = fma_f64(p, z, splat_f64(0x1.e1e1e1e1e1e1ep-4));
  p = fma_f64(p, z, splat_f64(0x1.1111111111111p-3));
  p = fma_f64(p, z, splat_f64(0x1.3b13b13b13b14p-3));
  p = fma_f64(p, z, splat_f64(0x1.745d1745d1746p-3));
  p = fma_f64(p, z, splat_f64(0x1.c71c71c71c71cp-3));
  p = fma_f64(p, z, splat_f64(0x1.2492492492492p-2));
  p = fma_f64(p, z, splat_f64(0x1.999999999999ap-2));
  p = fma_f64(p, z, splat_f64(0x1.5555555555555p-1));
  const f64x16 low = fma_f64(s, fma_f64(p, z, half), e * splat_f64(0x1.a39ef35793c76p-33)) - half;
  const f64x16 y = fma_f64(e, splat_f64(0x1.62e42feep-1), low + f);
  const f64x16 infinity = splat_f64(__builtin_inf());
  const f64x16 finite = x < infinity ? y : x;
  const f64x16 positive = x == splat_f64(0.0) ? -infinity : finite;
  return x < splat_f64(0.0) ? splat_f64(__builtin_nan("")) : x == x ? positive : x;
}

//@ log1p_f64
INLINE f64x16 log1p_f64(f64x16 x) {
  const f64x16 one = splat_f64(1.0), u = one + x;
  const f64x16 lost = (x > one ? one - (u - x) : x - (u - one)) / u;
  const f64x16 infinity = splat_f64(__builtin_inf());
  const f64x16 y = log_f64(u) + (((x > -one) & (x < infinity)) ? lost : splat_f64(0.0));
  return ((x == splat_f64(0.0)) | (x != x)) ? x : y;
}

//@ erf_f64
// 2/sqrt(pi) e^(-x^2) times a series of positive terms.
INLINE f64x16 erf_f64(f64x16 x) {
  const f64x16 t = abs_f64(x), v = t < splat_f64(6.0) ? t : splat_f64(6.0), z = v * v;
  f64x16 sum = splat_f64(0.0);
  for (int k = 130; k >= 0; --k) sum = fma_f64(sum, z * splat_f64(2.0 / (2.0 * k + 3.0)), splat_f64(1.0));
  const f64x16 y = splat_f64(0x1.20dd750429b6dp+0) * v * exp_f64(-z) * sum;
  const f64x16 result = copysign_f64(v < splat_f64(6.0) ? y : splat_f64(1.0), x);
  return x == x ? result : x;
}

//@ reduce_far
// x as a multiple of pi/2, for finite x >= 2^20: the rest in [-pi/4, pi/4], the whole multiple modulo 4
// (Payne and Hanek). The bits of 2/pi whose products are multiples of 4 are skipped; the 192 bits behind them
// are taken.
static const uint64_t two_over_pi[21] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
    0xa9e391615ee61b08,
};
INLINE double reduce_far(double x, int64_t* quadrant) {
  union {
    double number;
    uint64_t bits;
  } u = {x};
  const int64_t exponent = (int64_t)((u.bits >> 52) & 0x7ff) - 1075;
  const uint64_t mantissa = (u.bits & 0xfffffffffffff) | 0x10000000000000;
  const int64_t skipped = exponent > 2 ? exponent - 2 : 0, shift = skipped & 63;
  const uint64_t* p = two_over_pi + (skipped >> 6);
  uint64_t w[3];
  for (int i = 0; i < 3; ++i) w[i] = shift == 0 ? p[i] : (p[i] << shift) | (p[i + 1] >> (64 - shift));
  const unsigned __int128 low = (unsigned __int128)mantissa * w[2];
  const unsigned __int128 middle = (unsigned __int128)mantissa * w[1] + (uint64_t)(low >> 64);
  const unsigned __int128 high = (unsigned __int128)mantissa * w[0] + (uint64_t)(middle >> 64);
  // The product is x (2/pi) in units of 2^(exponent - skipped - 192); what is kept begins with the multiple's
  // two bits.
  unsigned __int128 top = ((unsigned __int128)(uint64_t)high << 64) | (uint64_t)middle;
  uint64_t rest = (uint64_t)low;
  const int64_t right = 2 - (exponent - skipped);
  if (right > 0) {
    rest = (rest >> right) | ((uint64_t)top << (64 - right));
    top = (top >> right) | ((unsigned __int128)(uint64_t)(high >> 64) << (128 - right));
  }
  int64_t q = (int64_t)(uint64_t)(top >> 126);
  unsigned __int128 fraction = (top << 2) | (rest >> 62);
  const int negative = (int)(fraction >> 127);
  if (negative) {
    q += 1;
    fraction = 0 - fraction;
  }
  *quadrant = q & 3;
  if (fraction == 0) return 0.0;
  const uint64_t upper = (uint64_t)(fraction >> 64);
  const int zeros = upper != 0 ? __builtin_clzll(upper) : 64 + __builtin_clzll((uint64_t)fraction);
  union {
    uint64_t bits;
    double number;
  } scale = {(uint64_t)(1023 - 64 - zeros) << 52};
  const double r = (double)(int64_t)((uint64_t)((fraction << zeros) >> 64) >> 1) * 2.0 * scale.number *
                   0x1.921fb54442d18p+0;
  return negative ? -r : r;
}

//@ sine_f64
// sin(x), or cos(x) with shift 1: x less a multiple of pi/2 in three parts (by reduce_far from 2^20 on), then
// Taylor.
INLINE f64x16 sine_f64(f64x16 x, int64_t shift) {
  const f64x16 a = abs_f64(x);
  const f64x16 v = a < splat_f64(0x1p20) ? a : splat_f64(0.0);
  f64x16 n = round_f64(v * splat_f64(0x1.45f306dc9c883p-1));
  f64x16 r = v - n * splat_f64(0x1.921fb544p+0);
  r = (r - n * splat_f64(0x1.0b4611a6p-34)) - n * splat_f64(0x1.3198a2e037073p-69);
  if (fold_any(narrow_mask(~(a < splat_f64(0x1p20))))) {
    for (int l = 0; l < 16; ++l) {
      if (a[l] >= 0x1p20 && a[l] < __builtin_inf()) {
        int64_t quadrant;
        r[l] = reduce_far(a[l], &quadrant);
        n[l] = (double)quadrant;
      }
    }
  }
  const i64x16 q = CONVERT(n, i64x16) + splat_i64(shift);
  const f64x16 z = r * r;
  f64x16 s = splat_f64(-0x1.2f49b46814157p-57);
  s = fma_f64(s, z, splat_f64(0x1.952c77030ad4ap-49));
  s = fma_f64(s, z, splat_f64(-0x1.ae7f3e733b81fp-41));
  s = fma_f64(s, z, splat_f64(0x1.6124613a86d09p-33));
  s = fma_f64(s, z, splat_f64(-0x1.ae64567f544e4p-26));
  s = fma_f64(s, z, splat_f64(0x1.71de3a556c734p-19));
  s = fma_f64(s, z, splat_f64(-0x1.a01a01a01a01ap-13));
  s = fma_f64(s, z, splat_f64(0x1.1111111111111p-7));
  s = fma_f64(s, z, splat_f64(-0x1.5555555555555p-3));
  s = fma_f64(s * z, r, r);
  f64x16 c = splat_f64(0x1.e542ba4020225p-62);
  c = fma_f64(c, z, splat_f64(-0x1.6827863b97d97p-53));
  c = fma_f64(c, z, splat_f64(0x1.ae7f3e733b81fp-45));
  c = fma_f64(c, z, splat_f64(-0x1.93974a8c07c9dp-37));
  c = fma_f64(c, z, splat_f64(0x1.1eed8eff8d898p-29));
  c = fma_f64(c, z, splat_f64(-0x1.27e4fb7789f5cp-22));
  c = fma_f64(c, z, splat_f64(0x1.a01a01a01a01ap-16));
  c = fma_f64(c, z, splat_f64(-0x1.6c16c16c16c17p-10));
  c = fma_f64(c, z, splat_f64(0x1.5555555555555p-5));
  c = fma_f64(c * z, z, fma_f64(splat_f64(-0.5), z, splat_f64(1.0)));
  const f64x16 chosen = (q & 1) != 0 ? c : s;
  const i64x16 turned = (i64x16)chosen ^ ((q & 2) << 62);
  // The sine is odd, the cosine even; infinities give NaN.
  const i64x16 odd = shift == 0 ? ((i64x16)x & splat_i64((int64_t)0x8000000000000000u)) : splat_i64(0);
  return a < splat_f64(__builtin_inf()) ? (f64x16)(turned ^ odd) : x - x;
}

//@ sin_f64
INLINE f64x16 sin_f64(f64x16 x) {
  return sine_f64(x, 0);
}

//@ cos_f64
INLINE f64x16 cos_f64(f64x16 x) {
  return sine_f64(x, 1);
}

//@ sin_f32
INLINE f32x16 sin_f32(f32x16 x) {
  return CONVERT(sine_f64(CONVERT(x, f64x16), 0), f32x16);
}

//@ cos_f32
INLINE f32x16 cos_f32(f32x16 x) {
  return CONVERT(sine_f64(CONVERT(x, f64x16), 1), f32x16);
}

//@ atan2_f64
INLINE f64x16 atan2_f64(f64x16 y, f64x16 x) {
  const f64x16 ay = abs_f64(y), ax = abs_f64(x), zero = splat_f64(0.0), one = splat_f64(1.0);
  const i64x16 swapped = ay > ax;
  const f64x16 large = swapped ? ay : ax, small = swapped ? ax : ay;
  const f64x16 ratio = small / large;
  const i64x16 both = (ax == ay) & (ax == splat_f64(__builtin_inf()));
  const f64x16 t = large == zero ? zero : both ? one : ratio;
  const i64x16 turned = t > splat_f64(0x1.a827999fcef32p-2);
  const f64x16 w = turned ? (t - one) / (t + one) : t, z = w * w;
  f64x16 p = splat_f64(-0x1.5c9882b931057p-6);
  p = fma_f64(p, z, splat_f64(0x1.6c16c16c16c17p-6));
  p = fma_f64(p, z, splat_f64(-0x1.7d05f417d05f4p-6));
  p = fma_f64(p, z, splat_f64(0x1.8f9c18f9c18fap-6));
  p = fma_f64(p, z, splat_f64(-0x1.a41a41a41a41ap-6));
  p = fma_f64(p, z, splat_f64(0x1.bacf914c1bad0p-6));
  p = fma_f64(p, z, splat_f64(-0x1.d41d41d41d41dp-6));
  p = fma_f64(p, z, splat_f64(0x1.f07c1f07c1f08p-6));
  p = fma_f64(p, z, splat_f64(-0x1.0842108421084p-5));
  p = fma_f64(p, z, splat_f64(0x1.1a7b9611a7b96p-5));
  p = fma_f64(p, z, splat_f64(-0x1.2f684bda12f68p-5));
  p = fma_f64(p, z, splat_f64(0x1.47ae147ae147bp-5));
  p = fma_f64(p, z, splat_f64(-0x1.642c8590b2164p-5));
  p = fma_f64(p, z, splat_f64(0x1.8618618618618p-5));
  p = fma_f64(p, z, splat_f64(-0x1.af286bca1af28p-5));
  p = fma_f64(p, z, splat_f64(0x1.e1e1e1e1e1e1ep-5));
  p = fma_f64(p, z, splat_f64(-0x1.1111111111111p-4));
  p = fma_f64(p, z, splat_f64(0x1.3b13b13b13b14p-4));
  p = fma_f64(p, z, splat_f64(-0x1.745d1745d1746p-4));
  p = fma_f64(p, z, splat_f64(0x1.c71c71c71c71cp-4));
  p = fma_f64(p, z, splat_f64(-0x1.2492492492492p-3));
  p = fma_f64(p, z, splat_f64(0x1.999999999999ap-3));
  p = fma_f64(p, z, splat_f64(-0x1.5555555555555p-2));
  const f64x16 angle = fma_f64(p * z, w, w) + (turned ? splat_f64(0x1.921fb54442d18p-1) : zero);
  const f64x16 first = swapped ? splat_f64(0x1.921fb54442d18p+0) - angle : angle;
  const f64x16 half = (i64x16)x < 0 ? splat_f64(0x1.921fb54442d18p+1) - first : first;
  return ((x != x) | (y != y)) ? x + y : copysign_f64(half, y);
}

//@ atan2_f32
INLINE f32x16 atan2_f32(f32x16 y, f32x16 x) {
  return CONVERT(atan2_f64(CONVERT(y, f64x16), CONVERT(x, f64x16)), f32x16);
}

//@ pow_f64
// e^(y log|x|) with C's signs and special values; relative error about |y log x| 2^-52.
INLINE f64x16 pow_f64(f64x16 x, f64x16 y) {
  const f64x16 one = splat_f64(1.0), zero = splat_f64(0.0), infinity = splat_f64(__builtin_inf());
  const f64x16 ax = abs_f64(x);
  const i64x16 whole = floor_f64(y) == y, odd = whole & (floor_f64(y * splat_f64(0.5)) != y * splat_f64(0.5));
  const f64x16 product = y * log_f64(ax);
  const f64x16 magnitude = exp_f64(ax == one ? zero : product);
  const i64x16 negative = (i64x16)x < 0;
  const f64x16 flipped = (negative & odd) ? -magnitude : magnitude;
  const i64x16 outside = (x < zero) & ~whole & (ax < infinity) & (abs_f64(y) < infinity);
  const f64x16 r = outside ? splat_f64(__builtin_nan("")) : flipped;
  const f64x16 number = ((x != x) | (y != y)) ? x + y : r;
  return ((y == zero) | (x == one)) ? one : number;
}

//@ pow_f32
INLINE f32x16 pow_f32(f32x16 x, f32x16 y) {
  return CONVERT(pow_f64(CONVERT(x, f64x16), CONVERT(y, f64x16)), f32x16);
}

//@ fmod1_f64
// The remainder of truncating division, exact: mantissas are reduced bit by bit.
INLINE double fmod1_f64(double x, double y) {
  union {
    double number;
    uint64_t bits;
  } ux = {x}, uy = {y};
  const uint64_t sign = ux.bits & 0x8000000000000000u;
  uint64_t a = ux.bits ^ sign, b = uy.bits & 0x7fffffffffffffff;
  if (b == 0 || b > 0x7ff0000000000000 || a >= 0x7ff0000000000000) return (x - x) / (y - y);
  if (a < b) return x;
  int64_t ea = (int64_t)(a >> 52), eb = (int64_t)(b >> 52);
  a = ea != 0 ? (a & 0xfffffffffffff) | 0x10000000000000 : a << 1;
  b = eb != 0 ? (b & 0xfffffffffffff) | 0x10000000000000 : b << 1;
  for (; ea > eb; --ea) {
    if (a >= b) a -= b;
    a <<= 1;
  }
  if (a >= b) a -= b;
  if (a == 0) return x * 0.0;
  while (a < 0x10000000000000) {
    a <<= 1;
    --ea;
  }
  ux.bits = sign | (ea > 0 ? (a & 0xfffffffffffff) | ((uint64_t)ea << 52) : a >> (1 - ea));
  return ux.number;
}

//@ mod1_f64
INLINE double mod1_f64(double x, double y) {
  const double r = fmod1_f64(x, y);
  return r != 0.0 && (r < 0.0) != (y < 0.0) ? r + y : r;
}

//@ mod_f64
DEFINE_LANEWISE(mod_f64, f64x16, mod1_f64)

//@ mod_f32
// In double, where quotient times divisor is exact up to 2^28.
INLINE f32x16 mod_f32(f32x16 x, f32x16 y) {
  const f64x16 a = CONVERT(x, f64x16), b = CONVERT(y, f64x16), q = floor_f64(a / b);
  const f64x16 near = a - q * b;
  const i64x16 simple = (abs_f64(q) < splat_f64(0x1p28)) & (abs_f64(b) < splat_f64(__builtin_inf()));
  f32x16 r = CONVERT(near, f32x16);
  if (fold_any(narrow_mask(~simple)))
    for (int l = 0; l < 16; ++l)
      if (!simple[l]) r[l] = (float)mod1_f64(a[l], b[l]);
  return r;
}

//@ floordiv_f64
INLINE f64x16 floordiv_f64(f64x16 a, f64x16 b) {
  return floor_f64(a / b);
}

//@ floordiv_f32
INLINE f32x16 floordiv_f32(f32x16 a, f32x16 b) {
  return CONVERT(floor_f64(CONVERT(a, f64x16) / CONVERT(b, f64x16)), f32x16);
}
