// D[m, n] = sum over k of a(m, k) * w[n, k], w packed as panels [N / GEMM_PANEL][K][GEMM_PANEL], columns
// beyond N zero.
//
// Class f32.k1: every element is one chain of fma over ascending k that begins at 0. A tile's height and
// width, the ranges and the parts of k (sums pass through memory unchanged) decide when an element is
// computed, never how.
//
// Contract of the slots: SLOTS.md. This file compiles alone, with slots that store the sums.
#ifndef EDGE_PRELUDE
typedef long int64_t;
typedef float f32x16 __attribute__((ext_vector_type(16)));
#define INLINE static inline __attribute__((always_inline))
#ifndef GEMM_N
#define GEMM_N 384
#define GEMM_K 384
#define GEMM_HAS_BEFORE 0
#define GEMM_HAS_ROW 0
#define GEMM_K_BLOCK 0
#define GEMM_ROW_BLOCK 96
#ifdef __AVX512F__
#define GEMM_PANEL 32
#define GEMM_TILE_M 12
#else
#define GEMM_PANEL 16
#define GEMM_TILE_M 6
#endif
#endif
struct Ctx {
  const float *a, *w;
  float* out;
};
INLINE const float* gemm_weight(const struct Ctx* c) {
  return c->w;
}
INLINE const float* gemm_a(const struct Ctx* c, int64_t m, int64_t r) {
  (void)r;
  return c->a + m * GEMM_K;
}
INLINE void gemm_epilogue(const struct Ctx* c, int64_t m, int64_t r, int64_t n, int64_t lanes, f32x16 acc) {
  typedef f32x16 unaligned __attribute__((aligned(4)));
  (void)r;
  float* out = c->out + m * GEMM_N + n;
  if (lanes == 16)
    *(unaligned*)out = acc;
  else
    for (int l = 0; l < 16; l++)
      if (l < lanes) out[l] = acc[l];
}
INLINE void gemm_before(const struct Ctx* c, int64_t m, int64_t r) {
  (void)c, (void)m, (void)r;
}
INLINE void gemm_row(const struct Ctx* c, int64_t m, int64_t r) {
  (void)c, (void)m, (void)r;
}
#endif

// One register: the widest that the target multiplies at full rate.
#if defined(__AVX512F__)
#define GEMM_LANES 16
#elif defined(__AVX2__)
#define GEMM_LANES 8
#else
#define GEMM_LANES 4
#endif
// A line of a panel. Clang splits it into registers at the end: that compiles faster than registers from the
// beginning.
typedef float gemm_vec __attribute__((ext_vector_type(GEMM_PANEL)));
#define GEMM_ROLLED _Pragma("clang loop unroll(disable)")
// Rows of a panel that tiles of a small product fetch ahead: covers the latency of L3, and at the end of a
// panel reaches into the next one.
#define GEMM_AHEAD 48
#define GEMM_WHOLE_ROWS (GEMM_HAS_BEFORE || GEMM_HAS_ROW)

// Tiles are GEMM_TILE_M or GEMM_LOW rows by one panel, for few rows also less by two or four panels, so that
// eight chains hide the latency of fma. Every height is code to compile, so there are few: rows that are left
// over are covered by tiles that begin among rows of the tile before.
#if GEMM_LANES == 16
#define GEMM_LOW 8
#define GEMM_BY_2 4
#elif GEMM_LANES == 8
#define GEMM_LOW 4
#define GEMM_BY_2 2
#else
#define GEMM_LOW 0
#define GEMM_BY_2 1
#endif
// Floats that one tile's sums take, whatever its shape.
#define GEMM_SUMS (GEMM_TILE_M * GEMM_PANEL)

INLINE gemm_vec gemm_fma(float a, gemm_vec b, gemm_vec c) {
#if defined(__FMA__) || defined(__AVX512F__)
  return __builtin_elementwise_fma((gemm_vec)a, b, c);
#else
  return (gemm_vec)a * b + c;
#endif
}

struct gemm_step {
  const struct Ctx* c;
  const float* a;        // first row at its first k
  const float* w;        // first panel at the same k
  int64_t panel_stride;  // floats between panels; 0: there is one panel only, and the others of the tile
                         // repeat it
  int64_t depth;         // of k
  const float* ahead;    // what is fetched into L2 meanwhile: a line or two each k, `advance` floats further
  int64_t advance;
};

// A constant where the slot's expression is one.
INLINE int64_t gemm_a_stride(const struct Ctx* c) {
  return gemm_a(c, 1, 1) - gemm_a(c, 0, 0);
}

// Written out, as loops to unroll cost several times the compile time.
#define GEMM_ROWS_1(x) x(0)
#define GEMM_ROWS_2(x) GEMM_ROWS_1(x) x(1)
#define GEMM_ROWS_3(x) GEMM_ROWS_2(x) x(2)
#define GEMM_ROWS_4(x) GEMM_ROWS_3(x) x(3)
#define GEMM_ROWS_6(x) GEMM_ROWS_4(x) x(4) x(5)
#define GEMM_ROWS_8(x) GEMM_ROWS_6(x) x(6) x(7)
#define GEMM_ROWS_12(x) GEMM_ROWS_8(x) x(8) x(9) x(10) x(11)

#define GEMM_FETCH(p) __builtin_prefetch(ahead + (p) * panel_stride, 0, 2);
#define GEMM_LINE(p) const gemm_vec line##p = *(const gemm_vec*)(w + (p) * panel_stride);
#if GEMM_PANEL == 32
#define GEMM_FETCH_LINE(p) GEMM_FETCH(p) __builtin_prefetch(ahead + (p) * panel_stride + 16, 0, 2);
#else
#define GEMM_FETCH_LINE(p) GEMM_FETCH(p)
#endif
// The first sum of a row: parts of k before this one left theirs in memory.
#if GEMM_K_BLOCK
#define GEMM_BEGIN(place) at[place]
#else
#define GEMM_BEGIN(place) (gemm_vec)0.0f
#endif

#define GEMM_BEGIN_1(i) gemm_vec s##i##_0 = GEMM_BEGIN(i);
#define GEMM_BEGIN_2(i) gemm_vec s##i##_0 = GEMM_BEGIN(2 * i), s##i##_1 = GEMM_BEGIN(2 * i + 1);
#define GEMM_BEGIN_4(i)                                                                                      \
  gemm_vec s##i##_0 = GEMM_BEGIN(4 * i), s##i##_1 = GEMM_BEGIN(4 * i + 1), s##i##_2 = GEMM_BEGIN(4 * i + 2), \
           s##i##_3 = GEMM_BEGIN(4 * i + 3);
#define GEMM_LINES_1 GEMM_LINE(0) GEMM_FETCH_LINE(0)
#define GEMM_LINES_2 GEMM_LINES_1 GEMM_LINE(1) GEMM_FETCH_LINE(1)
#define GEMM_LINES_4 GEMM_LINES_2 GEMM_LINE(2) GEMM_FETCH_LINE(2) GEMM_LINE(3) GEMM_FETCH_LINE(3)
#define GEMM_ADD(i, p) s##i##_##p = gemm_fma(x##i, line##p, s##i##_##p);
#define GEMM_ADD_1(i)                 \
  const float x##i = a[i * a_stride]; \
  GEMM_ADD(i, 0)
#define GEMM_ADD_2(i) GEMM_ADD_1(i) GEMM_ADD(i, 1)
#define GEMM_ADD_4(i) GEMM_ADD_2(i) GEMM_ADD(i, 2) GEMM_ADD(i, 3)
#define GEMM_END_1(i) at[i] = s##i##_0;
#define GEMM_END_2(i) at[2 * i] = s##i##_0, at[2 * i + 1] = s##i##_1;
#define GEMM_END_4(i) \
  at[4 * i] = s##i##_0, at[4 * i + 1] = s##i##_1, at[4 * i + 2] = s##i##_2, at[4 * i + 3] = s##i##_3;

// The sums of `rows` rows and `panels` panels into sums[rows][panels * GEMM_PANEL].
#define GEMM_TILE(rows, panels)                                                                    \
  static __attribute__((noinline)) void gemm_tile_##rows(const struct gemm_step* s, float* sums) { \
    const int64_t a_stride = gemm_a_stride(s->c), panel_stride = s->panel_stride;                  \
    const int64_t advance = s->advance;                                                            \
    const float *a = s->a, *w = s->w, *ahead = s->ahead;                                           \
    gemm_vec* at = (gemm_vec*)sums;                                                                \
    (void)panel_stride;                                                                            \
    GEMM_ROWS_##rows(GEMM_BEGIN_##panels);                                                         \
    GEMM_ROLLED for (int64_t k = s->depth; k > 0; k--) {                                           \
      GEMM_LINES_##panels;                                                                         \
      GEMM_ROWS_##rows(GEMM_ADD_##panels);                                                         \
      a++;                                                                                         \
      w += GEMM_PANEL;                                                                             \
      ahead += advance;                                                                            \
    }                                                                                              \
    GEMM_ROWS_##rows(GEMM_END_##panels);                                                           \
  }

#if GEMM_LANES == 16
GEMM_TILE(12, 1)
GEMM_TILE(8, 1)
GEMM_TILE(4, 2)
GEMM_TILE(2, 4)
GEMM_TILE(1, 4)
#elif GEMM_LANES == 8
GEMM_TILE(6, 1)
GEMM_TILE(4, 1)
GEMM_TILE(2, 2)
GEMM_TILE(1, 4)
#else
GEMM_TILE(3, 1)
GEMM_TILE(1, 2)
#endif

INLINE void gemm_run_tile(const struct gemm_step* s, float* sums, int64_t height) {
#if GEMM_LANES == 16
  switch (height) {
    case 12:
      gemm_tile_12(s, sums);
      return;
    case 8:
      gemm_tile_8(s, sums);
      return;
    case 4:
      gemm_tile_4(s, sums);
      return;
    case 2:
      gemm_tile_2(s, sums);
      return;
  }
#elif GEMM_LANES == 8
  switch (height) {
    case 6:
      gemm_tile_6(s, sums);
      return;
    case 4:
      gemm_tile_4(s, sums);
      return;
    case 2:
      gemm_tile_2(s, sums);
      return;
  }
#else
  if (height == 3) {
    gemm_tile_3(s, sums);
    return;
  }
#endif
  gemm_tile_1(s, sums);
}

// Panels of a tile of this height.
INLINE int64_t gemm_panels(int64_t height) {
  return height > GEMM_BY_2 ? 1 : height == GEMM_BY_2 ? 2 : 4;
}
// The tallest tile of at most so many rows, less than GEMM_TILE_M.
INLINE int64_t gemm_most(int64_t rows) {
#if GEMM_LANES == 16
  return rows >= 8 ? 8 : rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
#elif GEMM_LANES == 8
  return rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
#else
  (void)rows;
  return 1;
#endif
}

// Finished sums, `pitch` floats a row, through the epilogue: here and not in the tiles, so that it is
// compiled once.
static __attribute__((noinline)) void gemm_finish(const struct Ctx* c, const float* sums, int64_t pitch,
                                                  int64_t m, int64_t r, int64_t rows, int64_t n,
                                                  int64_t columns) {
  const int64_t whole = columns / 16 * 16;
  for (int64_t i = 0; i < rows; i++) {
    const int64_t place = GEMM_WHOLE_ROWS ? r + i : 0;
    for (int64_t j = 0; j < whole; j += 16)
      gemm_epilogue(c, m + i, place, n + j, 16, *(const f32x16*)(sums + i * pitch + j));
    if (GEMM_N % 16 && whole < columns)
      gemm_epilogue(c, m + i, place, n + whole, columns - whole, *(const f32x16*)(sums + i * pitch + whole));
  }
}

INLINE int64_t gemm_least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// Rows as `first` tiles of one height and `second` of another.
struct gemm_plan {
  int64_t first, first_height, second, second_height;
};
INLINE struct gemm_plan gemm_plan_rows(int64_t rows) {
  const int64_t whole = rows / GEMM_TILE_M, left = rows % GEMM_TILE_M;
  if (whole == 0) {
    const int64_t height = gemm_most(rows), rest = rows - height;
    // The least tile that covers the rest.
    const int64_t least = rest == 0 ? 1 : gemm_most(2 * rest - 1);
    return (struct gemm_plan){1, height, rest > 0, least < rest ? height : least};
  }
  if (left > GEMM_LOW) return (struct gemm_plan){whole + 1, GEMM_TILE_M, 0, 1};
  if (left == 0) return (struct gemm_plan){whole, GEMM_TILE_M, 0, 1};
  // Two low ones instead of a whole and a low one.
  const int64_t lower = GEMM_TILE_M + left <= 2 * GEMM_LOW;
  return (struct gemm_plan){whole - lower, GEMM_TILE_M, 1 + lower, GEMM_LOW};
}

// Rows [m, m + rows), columns [n, n1): panels outside, so that a panel is read from afar once and from L2 for
// the other tiles.
INLINE void gemm_sweep(const struct Ctx* c, int64_t m, int64_t r, int64_t rows, int64_t n, int64_t n1,
                       float* sums) {
  const struct gemm_plan plan = gemm_plan_rows(rows);
  const int64_t tiles = plan.first + plan.second, small = rows < GEMM_TILE_M;
  const float* a = gemm_a(c, m, r);
  const int64_t a_stride = gemm_a_stride(c);
  const float* weight = gemm_weight(c);
  const int64_t part = GEMM_K_BLOCK == 0 || small ? GEMM_K : GEMM_K_BLOCK;
  const int64_t abreast = gemm_panels(plan.second > 0 ? plan.second_height : plan.first_height);
  for (; n < n1; n += abreast * GEMM_PANEL) {
    const int64_t panels = gemm_least(abreast, (n1 - n + GEMM_PANEL - 1) / GEMM_PANEL);
    for (int64_t k = 0; k < GEMM_K; k += part) {
      int64_t done = 0;
      for (int64_t tile = 0; tile < tiles; tile++) {
        const int64_t height = tile < plan.first ? plan.first_height : plan.second_height;
        const int64_t begin = gemm_least(done, rows - height);
        const int64_t wide = gemm_panels(height);
        for (int64_t p = 0, together; p < panels; p += together) {
          together = panels - p < wide ? 1 : wide;
          const float* w = weight + (n + p * GEMM_PANEL) * GEMM_K + k * GEMM_PANEL;
          struct gemm_step step = {c,
                                   a + begin * a_stride + k,
                                   w,
                                   together > 1 ? GEMM_K * GEMM_PANEL : 0,
                                   gemm_least(part, GEMM_K - k),
                                   w + GEMM_AHEAD * GEMM_PANEL,
                                   GEMM_PANEL};
          if (!small && tiles > 1) {
            // The first tiles share the next panel.
            const int64_t share = tile < GEMM_PANEL / 16;
            step.ahead = share ? w + GEMM_K * GEMM_PANEL + tile * step.depth * 16 : w;
            step.advance = share ? 16 : 0;
          }
          float* at = sums + (part < GEMM_K ? tile : 0) * GEMM_SUMS;
#if GEMM_K_BLOCK
          if (k == 0)
            for (int64_t i = 0; i < GEMM_SUMS; i++) at[i] = 0.0f;
#endif
          gemm_run_tile(&step, at, height);
          if (k + part >= GEMM_K) {
            const int64_t pitch = wide * GEMM_PANEL, column = n + p * GEMM_PANEL;
            gemm_finish(c, at + (done - begin) * pitch, pitch, m + done, r + done, begin + height - done,
                        column, gemm_least(together * GEMM_PANEL, n1 - column));
          }
        }
        done = begin + height;
      }
    }
  }
}

// Rows go in equal blocks: what panels sweep over stays in L2, and a row part finds its rows there.
static void gemm(const struct Ctx* c, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
  const int64_t blocks = (m1 - m0 + GEMM_ROW_BLOCK - 1) / GEMM_ROW_BLOCK;
  if (blocks <= 0) return;
  const int64_t tiles = ((m1 - m0 + blocks - 1) / blocks + GEMM_TILE_M - 1) / GEMM_TILE_M;
  const int64_t block = gemm_least(tiles * GEMM_TILE_M, GEMM_ROW_BLOCK);
  const int64_t first = GEMM_WHOLE_ROWS ? 0 : n0, last = GEMM_WHOLE_ROWS ? GEMM_N : gemm_least(n1, GEMM_N);
  for (int64_t m = m0; m < m1; m += block) {
    const int64_t rows = gemm_least(block, m1 - m);
    if (GEMM_HAS_BEFORE)
      for (int64_t r = 0; r < rows; r++) gemm_before(c, m + r, r);
    gemm_sweep(c, m, 0, rows, first, last, (float*)scratch);
    if (GEMM_HAS_ROW)
      for (int64_t r = 0; r < rows; r++) gemm_row(c, m + r, r);
  }
}

#ifndef EDGE_PRELUDE
void k(const struct Ctx* c, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
  gemm(c, m0, m1, n0, n1, scratch);
}
#endif
