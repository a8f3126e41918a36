// D[m, n] = sum over k of a(m, k) * w[n, k], a and w bf16, sums f32, in vectors.
// Weights: [ceil(N / P)][ceil(K / 2)][P][2], P = GEMM_PANEL columns a panel, pairs of k together; zeros
// beyond N and K. Rows of A are copied into scratch, widened unless pairs are multiplied as they are.
//
// Class bf16.f32 (GEMM_PAIRS 0): a chain of fma over ascending k that begins at 0; products of bf16 are exact
// in f32, so that multiplying and adding apart gives the same bits. Class bf16.dp2 (GEMM_PAIRS 1): the pair
// product of AVX512-BF16, ascending pairs.
//
// Contract of the slots: SLOTS.md. This file compiles alone, with slots that store the sums.
#ifndef EDGE_PRELUDE
typedef long int64_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef float f32x16 __attribute__((ext_vector_type(16)));
#define INLINE static inline __attribute__((always_inline))
#ifndef GEMM_N
#define GEMM_N 384
#define GEMM_K 384
#define GEMM_HAS_BEFORE 0
#define GEMM_HAS_ROW 0
#define GEMM_WHOLE_ROWS 0
#define GEMM_ROW_BLOCK 96
#define GEMM_PAIRS 0
#ifdef __AVX512F__
#define GEMM_PANEL 32
#define GEMM_TILE_M 12
#else
#define GEMM_PANEL 16
#define GEMM_TILE_M 3
#endif
#endif
struct Ctx {
  const uint16_t *a, *w;
  float* out;
};
INLINE const uint16_t* gemm_weight(const struct Ctx* c) {
  return c->w;
}
INLINE const uint16_t* gemm_a(const struct Ctx* c, int64_t m, int64_t r) {
  (void)r;
  return c->a + m * GEMM_K;
}
INLINE void gemm_epilogue(const struct Ctx* c, int64_t m, int64_t r, int64_t n, int64_t lanes, f32x16 acc) {
  (void)r;
  for (int l = 0; l < 16; l++)
    if (l < lanes) c->out[m * GEMM_N + n + l] = acc[l];
}
INLINE void gemm_before(const struct Ctx* c, int64_t m, int64_t r) {
  (void)c, (void)m, (void)r;
}
INLINE void gemm_row(const struct Ctx* c, int64_t m, int64_t r) {
  (void)c, (void)m, (void)r;
}
#endif

typedef uint32_t gemm_words __attribute__((ext_vector_type(GEMM_PANEL)));
typedef float gemm_vec __attribute__((ext_vector_type(GEMM_PANEL)));
#define GEMM_UNROLL _Pragma("clang loop unroll(full)")
#define GEMM_ROLLED _Pragma("clang loop unroll(disable)")
#define GEMM_K_PAIRS ((GEMM_K + 1) / 2)
// Of a row in scratch: floats, or pairs.
#define GEMM_ROW_WORDS (((GEMM_PAIRS ? GEMM_K_PAIRS : 2 * GEMM_K_PAIRS) + 15) / 16 * 16)
// Heights of tiles; rows beyond the block's are computed and left.
#define GEMM_SHORT_M (GEMM_TILE_M / 3)
#define GEMM_SUMS (GEMM_TILE_M * GEMM_PANEL)

#if GEMM_PAIRS
typedef __bf16 gemm_pairs __attribute__((vector_size(64)));
typedef float gemm_register __attribute__((vector_size(64)));
INLINE gemm_vec gemm_dot(gemm_vec acc, uint32_t a, gemm_words w) {
  // A panel is two registers.
  union {
    gemm_vec whole;
    gemm_register half[2];
  } sum = {.whole = acc};
  union {
    gemm_words whole;
    gemm_pairs half[2];
  } columns = {.whole = w};
  typedef uint32_t words __attribute__((vector_size(64)));
  const gemm_pairs row = (gemm_pairs)((words){} + a);
  sum.half[0] = __builtin_ia32_dpbf16ps_512(sum.half[0], row, columns.half[0]);
  sum.half[1] = __builtin_ia32_dpbf16ps_512(sum.half[1], row, columns.half[1]);
  return sum.whole;
}
#else
INLINE gemm_vec gemm_fma(float a, gemm_vec b, gemm_vec c) {
#if defined(__FMA__) || defined(__AVX512F__)
  return __builtin_elementwise_fma((gemm_vec)a, b, c);
#else
  return (gemm_vec)a * b + c;
#endif
}
#endif

// Row r of the block into its place in scratch.
INLINE void gemm_place_row(const uint16_t* from, uint32_t* rows, int64_t r) {
  uint32_t* to = rows + r * GEMM_ROW_WORDS;
#if GEMM_PAIRS
  GEMM_ROLLED for (int64_t p = 0; p < GEMM_K / 2; p++) to[p] = from[2 * p] | (uint32_t)from[2 * p + 1] << 16;
  if (GEMM_K % 2) to[GEMM_K / 2] = from[GEMM_K - 1];
#else
  typedef uint16_t halves __attribute__((ext_vector_type(16)));
  typedef halves halves_anywhere __attribute__((aligned(2)));
  typedef uint32_t words __attribute__((ext_vector_type(16)));
  GEMM_ROLLED for (int64_t k = 0; k < GEMM_K / 16 * 16; k += 16) * (words*)(to + k) =
      __builtin_convertvector((halves) * (const halves_anywhere*)(from + k), words) << 16;
  GEMM_ROLLED for (int64_t k = GEMM_K / 16 * 16; k < GEMM_K; k++) to[k] = (uint32_t)from[k] << 16;
  if (GEMM_K % 2) to[GEMM_K] = 0;
#endif
}

// The sums of `height` rows and one panel into sums[height][GEMM_PANEL].
INLINE void gemm_tile(const uint32_t* a, const uint32_t* w, float* sums, const int height) {
  gemm_vec acc[GEMM_TILE_M];
  GEMM_UNROLL for (int i = 0; i < height; i++) acc[i] = (gemm_vec)0.0f;
  GEMM_ROLLED for (int64_t p = 0; p < GEMM_K_PAIRS; p++) {
    const gemm_words pairs = *(const gemm_words*)w;
#if GEMM_PAIRS
    GEMM_UNROLL for (int i = 0; i < height; i++) acc[i] = gemm_dot(acc[i], a[i * GEMM_ROW_WORDS], pairs);
    a++;
#else
    const gemm_vec even = (gemm_vec)(pairs << 16), odd = (gemm_vec)(pairs & 0xffff0000u);
    const float* row = (const float*)a;
    GEMM_UNROLL for (int i = 0; i < height; i++) acc[i] = gemm_fma(row[i * GEMM_ROW_WORDS], even, acc[i]);
    GEMM_UNROLL for (int i = 0; i < height; i++) acc[i] = gemm_fma(row[i * GEMM_ROW_WORDS + 1], odd, acc[i]);
    a += 2;
#endif
    w += GEMM_PANEL;
  }
  GEMM_UNROLL for (int i = 0; i < height; i++)((gemm_vec*)sums)[i] = acc[i];
}
static __attribute__((noinline)) void gemm_tile_tall(const uint32_t* a, const uint32_t* w, float* sums) {
  gemm_tile(a, w, sums, GEMM_TILE_M);
}
static __attribute__((noinline)) void gemm_tile_short(const uint32_t* a, const uint32_t* w, float* sums) {
  gemm_tile(a, w, sums, GEMM_SHORT_M);
}

static __attribute__((noinline)) void gemm_finish(const struct Ctx* c, const float* sums, int64_t m,
                                                  int64_t r, int64_t rows, int64_t n, int64_t columns) {
  const int64_t whole = columns / 16 * 16;
  for (int64_t i = 0; i < rows; i++) {
    const int64_t place = GEMM_WHOLE_ROWS ? r + i : 0;
    for (int64_t j = 0; j < whole; j += 16)
      gemm_epilogue(c, m + i, place, n + j, 16, *(const f32x16*)(sums + i * GEMM_PANEL + j));
    if (GEMM_N % 16 && whole < columns)
      gemm_epilogue(c, m + i, place, n + whole, columns - whole,
                    *(const f32x16*)(sums + i * GEMM_PANEL + whole));
  }
}

// Rows [m, m + rows) of a block and columns [n, n1): panels outside, so that a panel is read from afar once.
INLINE void gemm_sweep(const struct Ctx* c, int64_t m, int64_t rows, int64_t n, int64_t n1, float* sums,
                       const uint32_t* a) {
  const uint32_t* weight = (const uint32_t*)gemm_weight(c) + n * GEMM_K_PAIRS;
  for (; n < n1; n += GEMM_PANEL) {
    const int64_t columns = n1 - n < GEMM_PANEL ? n1 - n : GEMM_PANEL;
    for (int64_t r = 0; r < rows;) {
      int64_t height = GEMM_TILE_M;
      if (rows - r > GEMM_TILE_M - GEMM_SHORT_M) {
        gemm_tile_tall(a + r * GEMM_ROW_WORDS, weight, sums);
      } else {
        height = GEMM_SHORT_M;
        gemm_tile_short(a + r * GEMM_ROW_WORDS, weight, sums);
      }
      if (height > rows - r) height = rows - r;
      gemm_finish(c, sums, m + r, r, height, n, columns);
      r += height;
    }
    weight += GEMM_K_PAIRS * GEMM_PANEL;
  }
}

// Rows go in equal blocks: what panels sweep over stays in L2, and a row part finds its rows there.
static void gemm(const struct Ctx* c, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
  const int64_t blocks = (m1 - m0 + GEMM_ROW_BLOCK - 1) / GEMM_ROW_BLOCK;
  if (blocks <= 0) return;
  const int64_t tiles = ((m1 - m0 + blocks - 1) / blocks + GEMM_TILE_M - 1) / GEMM_TILE_M;
  const int64_t block = tiles * GEMM_TILE_M < GEMM_ROW_BLOCK ? tiles * GEMM_TILE_M : GEMM_ROW_BLOCK;
  const int64_t first = GEMM_WHOLE_ROWS ? 0 : n0;
  const int64_t last = GEMM_WHOLE_ROWS || n1 > GEMM_N ? GEMM_N : n1;
  float* sums = (float*)scratch;
  uint32_t* place = (uint32_t*)(sums + GEMM_SUMS);
  for (int64_t m = m0; m < m1; m += block) {
    const int64_t rows = m1 - m < block ? m1 - m : block;
    for (int64_t r = 0; r < rows; r++) {
      if (GEMM_HAS_BEFORE) gemm_before(c, m + r, r);
      gemm_place_row(gemm_a(c, m + r, r), place, r);
    }
    gemm_sweep(c, m, rows, first, last, sums, place);
    if (GEMM_HAS_ROW)
      for (int64_t r = 0; r < rows; r++) gemm_row(c, m + r, r);
  }
}

#ifndef EDGE_PRELUDE
void k(const struct Ctx* c, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
  gemm(c, m0, m1, n0, n1, scratch);
}
#endif
