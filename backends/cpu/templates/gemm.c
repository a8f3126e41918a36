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
#define GEMM_TILE_N 32
#else
#define GEMM_PANEL 16
#define GEMM_TILE_M 6
#define GEMM_TILE_N 16
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
#define GEMM_UNROLL _Pragma("clang loop unroll(full)")
#define GEMM_ROLLED _Pragma("clang loop unroll(disable)")
// Rows of a panel that are fetched ahead: covers the latency of L3, and at the end of a panel reaches into
// the next one.
#define GEMM_AHEAD 32
// Lines of sums that a tile may hold without spilling.
#define GEMM_ACCUMULATORS (GEMM_LANES == 16 ? 12 : GEMM_LANES == 8 ? 6 : 3)
// Floats that one tile's sums take, whatever its shape.
#define GEMM_SUMS (GEMM_ACCUMULATORS * GEMM_PANEL)
#define GEMM_TILE_PANELS (GEMM_TILE_N / GEMM_PANEL)
// Panels side by side in the only tile of so few rows: eight chains hide the latency of fma.
#define GEMM_WIDE_4(rows) ((rows) <= (GEMM_LANES == 16 ? 2 : GEMM_LANES == 8 ? 1 : 0))
// Less than the heights of a sweep of several tiles, which keep to GEMM_TILE_PANELS.
#define GEMM_WIDE_2(rows) ((rows) <= (GEMM_LANES == 16 ? 5 : GEMM_LANES == 8 ? 2 : 1))
#define GEMM_PANELS(rows) \
  (GEMM_TILE_PANELS > 1 && (rows) > 2 ? GEMM_TILE_PANELS : GEMM_WIDE_4(rows) ? 4 : GEMM_WIDE_2(rows) ? 2 : 1)
#define GEMM_WHOLE_ROWS (GEMM_HAS_BEFORE || GEMM_HAS_ROW)

INLINE gemm_vec gemm_fma(float a, gemm_vec b, gemm_vec c) {
#if defined(__FMA__) || defined(__AVX512F__)
  return __builtin_elementwise_fma((gemm_vec)a, b, c);
#else
  return (gemm_vec)a * b + c;
#endif
}

struct gemm_step {
  const float* a;        // first row at its first k
  int64_t a_stride;      // floats between rows
  const float* w;        // first panel at the same k
  int64_t panel_stride;  // floats between panels; 0: there is one panel only, and the others of the tile
                         // repeat it
  int64_t depth;         // of k
  int64_t resume;        // sums holds those of the parts of k before
};

// The sums of `rows` rows and `panels` panels into sums[rows][panels * GEMM_PANEL].
INLINE void gemm_tile(const struct gemm_step* s, float* sums, const int rows, const int panels) {
  const float* a = s->a;
  const float* w = s->w;
  const int64_t a_stride = s->a_stride, panel_stride = s->panel_stride;
  gemm_vec acc[GEMM_ACCUMULATORS];
  gemm_vec* at = (gemm_vec*)sums;
  GEMM_UNROLL for (int i = 0; i < rows * panels; i++) acc[i] = (gemm_vec)0.0f;
  if (GEMM_K_BLOCK && s->resume) {
    GEMM_UNROLL for (int i = 0; i < rows * panels; i++) acc[i] = at[i];
  }
  GEMM_ROLLED for (int64_t k = s->depth; k > 0; k--) {
    gemm_vec line[4];
    GEMM_UNROLL for (int p = 0; p < panels; p++) {
      const float* from = w + p * panel_stride;
      line[p] = *(const gemm_vec*)from;
      GEMM_UNROLL for (int j = 0; j < GEMM_PANEL; j += 16)
          __builtin_prefetch(from + GEMM_AHEAD * GEMM_PANEL + j);
    }
    GEMM_UNROLL for (int i = 0; i < rows; i++) {
      const float x = a[i * a_stride];
      GEMM_UNROLL for (int p = 0; p < panels; p++) acc[i * panels + p] =
          gemm_fma(x, line[p], acc[i * panels + p]);
    }
    a++;
    w += GEMM_PANEL;
  }
  GEMM_UNROLL for (int i = 0; i < rows * panels; i++) at[i] = acc[i];
}

#define GEMM_TILE(rows)                                                                            \
  static __attribute__((noinline)) void gemm_tile_##rows(const struct gemm_step* s, float* sums) { \
    gemm_tile(s, sums, rows, GEMM_PANELS(rows));                                                   \
  }
GEMM_TILE(1)
GEMM_TILE(2)
GEMM_TILE(3)
#if GEMM_TILE_M > 3
GEMM_TILE(4)
GEMM_TILE(5)
GEMM_TILE(6)
#endif
#if GEMM_TILE_M > 6
GEMM_TILE(7)
GEMM_TILE(8)
#endif
#if GEMM_TILE_M > 8
GEMM_TILE(9)
GEMM_TILE(10)
GEMM_TILE(11)
GEMM_TILE(12)
#endif

INLINE void gemm_run_tile(const struct gemm_step* s, float* sums, int64_t rows) {
  switch (rows) {
    case 1:
      gemm_tile_1(s, sums);
      return;
    case 2:
      gemm_tile_2(s, sums);
      return;
    case 3:
      gemm_tile_3(s, sums);
      return;
#if GEMM_TILE_M > 3
    case 4:
      gemm_tile_4(s, sums);
      return;
    case 5:
      gemm_tile_5(s, sums);
      return;
    case 6:
      gemm_tile_6(s, sums);
      return;
#endif
#if GEMM_TILE_M > 6
    case 7:
      gemm_tile_7(s, sums);
      return;
    case 8:
      gemm_tile_8(s, sums);
      return;
#endif
#if GEMM_TILE_M > 8
    case 9:
      gemm_tile_9(s, sums);
      return;
    case 10:
      gemm_tile_10(s, sums);
      return;
    case 11:
      gemm_tile_11(s, sums);
      return;
    case 12:
      gemm_tile_12(s, sums);
      return;
#endif
  }
}

INLINE int64_t gemm_panels(int64_t rows) {
  return GEMM_PANELS(rows);
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

// Rows [m, m + rows) in `tiles` tiles that differ by at most one row, since short tiles cannot hide the
// latency of fma, and columns [n, n1): panels outside, so that a panel is read from afar once and from L2 for
// the other tiles.
INLINE void gemm_sweep(const struct Ctx* c, int64_t m, int64_t r, int64_t rows, int64_t n, int64_t n1,
                       float* sums) {
  const int64_t tiles = (rows + GEMM_TILE_M - 1) / GEMM_TILE_M;
  const float* a = gemm_a(c, m, r);
  const int64_t a_stride = gemm_a(c, m + 1, r + 1) - a;
  const float* weight = gemm_weight(c);
  const int64_t part = GEMM_K_BLOCK == 0 || tiles == 1 ? GEMM_K : GEMM_K_BLOCK;
  // One width for all tiles of the sweep; tiles that were made for more panels repeat the one they get.
  const int64_t abreast = tiles == 1 ? gemm_panels(rows) : GEMM_TILE_PANELS;
  while (n < n1) {
    const int64_t panels = n1 - n > (abreast - 1) * GEMM_PANEL ? abreast : 1;
    const int64_t columns = gemm_least(panels * GEMM_PANEL, n1 - n);
    for (int64_t k = 0; k < GEMM_K; k += part) {
      int64_t first = 0;
      for (int64_t left = tiles; left > 0; left--) {
        const int64_t count = (rows - first + left - 1) / left;
        const struct gemm_step step = {a + first * a_stride + k,
                                       a_stride,
                                       weight + n * GEMM_K + k * GEMM_PANEL,
                                       panels > 1 ? GEMM_K * GEMM_PANEL : 0,
                                       gemm_least(part, GEMM_K - k),
                                       k};
        float* at = sums + (part < GEMM_K ? left - 1 : 0) * GEMM_SUMS;
        gemm_run_tile(&step, at, count);
        if (k + part >= GEMM_K) {
          gemm_finish(c, at, gemm_panels(count) * GEMM_PANEL, m + first, r + first, count, n, columns);
        }
        first += count;
      }
    }
    n += columns;
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
