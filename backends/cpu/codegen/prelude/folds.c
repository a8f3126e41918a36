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
