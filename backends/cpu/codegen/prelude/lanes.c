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
