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
