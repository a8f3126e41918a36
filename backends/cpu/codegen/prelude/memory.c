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
