// The sums of an f32 product: in which tiles, and in which order over panels. A unit of its own behind
// gemm_sweep.h: no kernel's constants stand here, so that kernels which are compiled together share one
// compilation of it.
//
// Class f32.k1: every element is one chain of fma over ascending k that begins at 0. A tile's height and
// width, the ranges and the parts of k (sums pass through memory unchanged) decide when an element is
// computed, never how.
// GEMM_PANEL columns are a panel. Tiles are GEMM_TALL or GEMM_LOW rows by one panel, for few rows also less
// by two or four panels, so that eight chains hide the latency of fma. Every height is code to compile, so
// there are few: rows that are left over are covered by tiles that begin among rows of the tile before.
#if defined(__AVX512F__)
#define GEMM_PANEL 32
#define GEMM_TALL 12
#define GEMM_LOW 8
#define GEMM_BY_2 4
#elif defined(__AVX2__)
#define GEMM_PANEL 16
#define GEMM_TALL 6
#define GEMM_LOW 4
#define GEMM_BY_2 2
#else
#define GEMM_PANEL 16
#define GEMM_TALL 3
#define GEMM_LOW 0
#define GEMM_BY_2 1
#endif
// Floats that one tile's sums take, whatever its shape.
#define GEMM_SUMS (GEMM_TALL * GEMM_PANEL)
// Rows of a panel that tiles of a small product fetch ahead: covers the latency of L3, and at the end of a
// panel reaches into the next one.
#define GEMM_AHEAD 48

// A line of a panel. Clang splits it into registers at the end: that compiles faster than registers from the
// beginning.
typedef float gemm_vec __attribute__((ext_vector_type(GEMM_PANEL)));

// A macro, as clang hands vectors of more than one register to functions through memory.
#if defined(__FMA__) || defined(__AVX512F__)
#define GEMM_FMA(a, b, c) __builtin_elementwise_fma((gemm_vec)a, b, c)
#else
#define GEMM_FMA(a, b, c) (gemm_vec) a* b + c
#endif

struct gemm_step {
  const float* a[GEMM_TALL];  // rows at their first k
  const float* w;             // first panel at the same k
  int64_t panel_stride;       // floats between panels; 0: there is one panel only, and the others of the
                              // tile repeat it
  int64_t depth;              // of k
  int64_t first;              // whether the chains begin here; else they go on from what the sums hold
  const float* ahead;         // what is fetched into L2 meanwhile: a line or two each k, `advance` floats
                              // further
  int64_t advance;
};

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

#define GEMM_SUMS_1(i) gemm_vec s##i##_0 = 0.0f;
#define GEMM_SUMS_2(i) gemm_vec s##i##_0 = 0.0f, s##i##_1 = 0.0f;
#define GEMM_SUMS_4(i) gemm_vec s##i##_0 = 0.0f, s##i##_1 = 0.0f, s##i##_2 = 0.0f, s##i##_3 = 0.0f;
#define GEMM_BEGIN_1(i) s##i##_0 = at[i];
#define GEMM_BEGIN_2(i) s##i##_0 = at[2 * i], s##i##_1 = at[2 * i + 1];
#define GEMM_BEGIN_4(i) \
  s##i##_0 = at[4 * i], s##i##_1 = at[4 * i + 1], s##i##_2 = at[4 * i + 2], s##i##_3 = at[4 * i + 3];
#define GEMM_LINES_1 GEMM_LINE(0)
#define GEMM_LINES_2 GEMM_LINES_1 GEMM_LINE(1)
#define GEMM_LINES_4 GEMM_LINES_2 GEMM_LINE(2) GEMM_LINE(3)
#define GEMM_FETCH_1 GEMM_FETCH_LINE(0)
#define GEMM_FETCH_2 GEMM_FETCH_1 GEMM_FETCH_LINE(1)
#define GEMM_FETCH_4 GEMM_FETCH_2 GEMM_FETCH_LINE(2) GEMM_FETCH_LINE(3)
#define GEMM_ADD(i, p) s##i##_##p = GEMM_FMA(x##i, line##p, s##i##_##p);
#define GEMM_ROW(i) const float* a##i = s->a[i];
#define GEMM_ADD_1(i)         \
  const float x##i = a##i[k]; \
  GEMM_ADD(i, 0)
#define GEMM_ADD_2(i) GEMM_ADD_1(i) GEMM_ADD(i, 1)
#define GEMM_ADD_4(i) GEMM_ADD_2(i) GEMM_ADD(i, 2) GEMM_ADD(i, 3)
#define GEMM_END_1(i) at[i] = s##i##_0;
#define GEMM_END_2(i) at[2 * i] = s##i##_0, at[2 * i + 1] = s##i##_1;
#define GEMM_END_4(i) \
  at[4 * i] = s##i##_0, at[4 * i + 1] = s##i##_1, at[4 * i + 2] = s##i##_2, at[4 * i + 3] = s##i##_3;

#define GEMM_STEP(rows, panels, j)            \
  {                                           \
    const int64_t k = step + (j);             \
    const float* w = line + (j) * GEMM_PANEL; \
    GEMM_LINES_##panels;                      \
    GEMM_ROWS_##rows(GEMM_ADD_##panels);      \
  }
#define GEMM_STEPS_1(rows, panels) GEMM_STEP(rows, panels, 0)
#define GEMM_STEPS_2(rows, panels) GEMM_STEPS_1(rows, panels) GEMM_STEP(rows, panels, 1)
#define GEMM_STEPS_4(rows, panels) \
  GEMM_STEPS_2(rows, panels) GEMM_STEP(rows, panels, 2) GEMM_STEP(rows, panels, 3)
#define GEMM_STEPS_8(rows, panels) \
  GEMM_STEPS_4(rows, panels)       \
  GEMM_STEP(rows, panels, 4) GEMM_STEP(rows, panels, 5) GEMM_STEP(rows, panels, 6) GEMM_STEP(rows, panels, 7)
#define GEMM_LOOP(rows, panels, steps)                                                 \
  _Pragma("clang loop unroll(disable)") for (; step + steps <= depth; step += steps) { \
    GEMM_FETCH_##panels;                                                               \
    GEMM_STEPS_##steps(rows, panels);                                                  \
    line += steps * GEMM_PANEL;                                                        \
    ahead += steps * advance;                                                          \
  }

// The sums of `rows` rows and `panels` panels into sums[rows][panels * GEMM_PANEL]. Steps go together where
// most of the time is spent: what counts them takes ports of the multiplications, fetches those of loads.
#define GEMM_TILE(rows, panels, loops)                                                             \
  static __attribute__((noinline)) void gemm_tile_##rows(const struct gemm_step* s, float* sums) { \
    const int64_t panel_stride = s->panel_stride, advance = s->advance, depth = s->depth;          \
    const float *line = s->w, *ahead = s->ahead;                                                   \
    gemm_vec* at = (gemm_vec*)sums;                                                                \
    int64_t step = 0;                                                                              \
    (void)panel_stride;                                                                            \
    GEMM_ROWS_##rows(GEMM_ROW);                                                                    \
    GEMM_ROWS_##rows(GEMM_SUMS_##panels);                                                          \
    if (!s->first) {                                                                               \
      GEMM_ROWS_##rows(GEMM_BEGIN_##panels);                                                       \
    }                                                                                              \
    loops(rows, panels);                                                                           \
    GEMM_ROWS_##rows(GEMM_END_##panels);                                                           \
  }
#define GEMM_SINGLE(rows, panels) GEMM_LOOP(rows, panels, 1)
// Where the share of the next panel allows one fetch for all of them.
#define GEMM_TOGETHER(steps, rows, panels)                          \
  if (steps * advance <= GEMM_PANEL) GEMM_LOOP(rows, panels, steps) \
  GEMM_LOOP(rows, panels, 1)
#define GEMM_PAIRS(rows, panels) GEMM_TOGETHER(2, rows, panels)
#define GEMM_EIGHTS(rows, panels) GEMM_TOGETHER(8, rows, panels)

#if defined(__AVX512F__)
GEMM_TILE(12, 1, GEMM_PAIRS)
GEMM_TILE(8, 1, GEMM_SINGLE)
GEMM_TILE(4, 2, GEMM_SINGLE)
GEMM_TILE(2, 4, GEMM_SINGLE)
GEMM_TILE(1, 4, GEMM_SINGLE)
#define GEMM_EACH_HEIGHT(x) x(12) x(8) x(4) x(2)
#elif defined(__AVX2__)
GEMM_TILE(6, 1, GEMM_EIGHTS)
GEMM_TILE(4, 1, GEMM_SINGLE)
GEMM_TILE(2, 2, GEMM_SINGLE)
GEMM_TILE(1, 4, GEMM_SINGLE)
#define GEMM_EACH_HEIGHT(x) x(6) x(4) x(2)
#else
GEMM_TILE(3, 1, GEMM_SINGLE)
GEMM_TILE(1, 2, GEMM_SINGLE)
#define GEMM_EACH_HEIGHT(x) x(3)
#endif

GEMM_INLINE void gemm_run_tile(const struct gemm_step* s, float* sums, int64_t height) {
#define GEMM_IF_HEIGHT(rows) \
  if (height == rows) return gemm_tile_##rows(s, sums);
  GEMM_EACH_HEIGHT(GEMM_IF_HEIGHT)
  gemm_tile_1(s, sums);
}

// Panels of a tile of this height.
GEMM_INLINE int64_t gemm_panels(int64_t height) {
  return height > GEMM_BY_2 ? 1 : height == GEMM_BY_2 ? 2 : 4;
}
// The tallest tile of at most so many rows.
GEMM_INLINE int64_t gemm_most(int64_t rows) {
#define GEMM_IF_MOST(height) \
  if (rows >= height) return height;
  GEMM_EACH_HEIGHT(GEMM_IF_MOST)
  return 1;
}
GEMM_INLINE int64_t gemm_least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// Rows as `first` tiles of one height and `second` of another.
struct gemm_plan {
  int64_t first, first_height, second, second_height;
};
GEMM_INLINE struct gemm_plan gemm_plan_rows(int64_t rows) {
  const int64_t whole = rows / GEMM_TALL, left = rows % GEMM_TALL;
  if (whole == 0) {
    const int64_t height = gemm_most(rows), rest = rows - height;
    // The least tile that covers the rest.
    const int64_t least = rest == 0 ? 1 : gemm_most(2 * rest - 1);
    return (struct gemm_plan){1, height, rest > 0, least < rest ? height : least};
  }
  if (left > GEMM_LOW) return (struct gemm_plan){whole + 1, GEMM_TALL, 0, 1};
  if (left == 0) return (struct gemm_plan){whole, GEMM_TALL, 0, 1};
  // Two low ones instead of a whole and a low one.
  const int64_t lower = GEMM_TALL + left <= 2 * GEMM_LOW;
  return (struct gemm_plan){whole - lower, GEMM_TALL, 1 + lower, GEMM_LOW};
}

// Panels outside, so that a panel is read from afar once and from L2 for the other tiles.
GEMM_SHARED void gemm_sweep(const struct gemm_operands* o, int64_t rows, int64_t n, int64_t n1) {
  const struct gemm_plan plan = gemm_plan_rows(rows);
  const int64_t tiles = plan.first + plan.second, small = rows < GEMM_TALL;
  const int64_t part = small ? o->depth : o->part, panel_floats = o->depth * GEMM_PANEL;
  const int64_t abreast = gemm_panels(plan.second > 0 ? plan.second_height : plan.first_height);
  struct gemm_step step;
  for (; n < n1; n += abreast * GEMM_PANEL) {
    const int64_t panels = gemm_least(abreast, (n1 - n + GEMM_PANEL - 1) / GEMM_PANEL);
    for (int64_t k = 0; k < o->depth; k += part) {
      step.depth = gemm_least(part, o->depth - k);
      step.first = k == 0;
      int64_t done = 0;
      for (int64_t tile = 0; tile < tiles; tile++) {
        const int64_t height = tile < plan.first ? plan.first_height : plan.second_height;
        const int64_t begin = gemm_least(done, rows - height);
        const int64_t wide = gemm_panels(height);
        const float* a = o->a + begin * o->a_stride + k;
        for (int64_t i = 0; i < height; i++) step.a[i] = a + i * o->a_stride;
        for (int64_t p = 0, together; p < panels; p += together) {
          together = panels - p < wide ? 1 : wide;
          const int64_t column = n + p * GEMM_PANEL;
          step.w = o->w + column * o->depth + k * GEMM_PANEL;
          step.panel_stride = together > 1 ? panel_floats : 0;
          step.ahead = step.w + GEMM_AHEAD * GEMM_PANEL;
          step.advance = GEMM_PANEL;
          if (!small && tiles > 1) {
            // Each tile its share of the next panel.
            step.advance = (GEMM_PANEL + tiles - 1) / tiles;
            step.ahead = step.w + panel_floats + tile * step.depth * step.advance;
          }
          float* at = o->sums + (part < o->depth ? tile : 0) * GEMM_SUMS;
          gemm_run_tile(&step, at, height);
          if (k + part >= o->depth) {
            const int64_t pitch = wide * GEMM_PANEL;
            gemm_finish(o->context, at + (done - begin) * pitch, pitch, done, begin + height - done, column,
                        gemm_least(together * GEMM_PANEL, n1 - column));
          }
        }
        done = begin + height;
      }
    }
  }
}
