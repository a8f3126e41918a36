// D[m, n] = sum over k of a(m, k) * w[n, k], w packed as panels [N / GEMM_PANEL][K][GEMM_PANEL], columns
// beyond N zero. The sums are gemm_sweep.c's, a unit of its own; this is the part that knows the slots.
//
// Contract of the slots: SLOTS.md. Behind gemm_sweep.h this file compiles alone, with slots that store the
// sums.
#ifndef EDGE_PRELUDE
typedef float f32x16 __attribute__((ext_vector_type(16)));
#define INLINE static inline __attribute__((always_inline))
#ifndef GEMM_N
#define GEMM_N 384
#define GEMM_K 384
#define GEMM_PANEL 16
#define GEMM_HAS_BEFORE 0
#define GEMM_HAS_ROW 0
#define GEMM_K_BLOCK 0
#define GEMM_ROW_BLOCK 96
#define GEMM_TILE_M 12
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
INLINE void gemm_touch(const struct Ctx* c, int64_t m, int64_t n) {
  __builtin_prefetch(c->out + m * GEMM_N + n, 0, 2);
}
INLINE void gemm_before(const struct Ctx* c, int64_t m, int64_t r) {
  (void)c, (void)m, (void)r;
}
INLINE void gemm_row(const struct Ctx* c, int64_t m, int64_t r) {
  (void)c, (void)m, (void)r;
}
#endif

#define GEMM_WHOLE_ROWS (GEMM_HAS_BEFORE || GEMM_HAS_ROW)

struct gemm_block {
  const struct Ctx* c;
  int64_t m, rows;  // first row, how many
};

// Through the epilogue: here and not in the tiles, so that it is compiled once.
GEMM_SHARED void gemm_finish(const void* context, const float* sums, int64_t pitch, int64_t row, int64_t rows,
                             int64_t n, int64_t columns) {
  const struct gemm_block* block = (const struct gemm_block*)context;
  // A copy, so that its members stay in registers: stores of vectors may lie anywhere for all clang knows.
  const struct Ctx copy = *block->c, *c = &copy;
  const int64_t whole = columns / 16 * 16, m = block->m + row;
  // Lines of the next tile come into L2 while its sums are made: stores to lines that are far away would wait
  // for each other afterwards.
  const int64_t below = row + rows < block->rows ? row + rows : 0, n_ahead = below > 0 ? n : n + columns;
  const int64_t first = block->m + below,
                last = below + rows < block->rows ? first + rows : block->m + block->rows;
  for (int64_t j = 0; j < columns; j += GEMM_PANEL)
    for (int64_t i = first; i < last; i++)
      for (int64_t l = 0; l < GEMM_PANEL; l += 16) gemm_touch(c, i, n_ahead + j + l);
  for (int64_t i = 0; i < rows; i++) {
    const int64_t place = GEMM_WHOLE_ROWS ? row + i : 0;
    for (int64_t j = 0; j < whole; j += 16)
      gemm_epilogue(c, m + i, place, n + j, 16, *(const f32x16*)(sums + i * pitch + j));
    if (GEMM_N % 16 && whole < columns)
      gemm_epilogue(c, m + i, place, n + whole, columns - whole, *(const f32x16*)(sums + i * pitch + whole));
  }
}

// Rows go in equal blocks: what panels sweep over stays in L2, and a row part finds its rows there.
static void gemm(const struct Ctx* c, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
  const int64_t blocks = (m1 - m0 + GEMM_ROW_BLOCK - 1) / GEMM_ROW_BLOCK;
  if (blocks <= 0) return;
  const int64_t tiles = ((m1 - m0 + blocks - 1) / blocks + GEMM_TILE_M - 1) / GEMM_TILE_M;
  const int64_t height = tiles * GEMM_TILE_M < GEMM_ROW_BLOCK ? tiles * GEMM_TILE_M : GEMM_ROW_BLOCK;
  const int64_t last = GEMM_WHOLE_ROWS || n1 > GEMM_N ? GEMM_N : n1;
  struct gemm_block block = {c, m0, 0};
  const struct Ctx copy = *c;
  struct gemm_operands operands = {&block, gemm_a(c, m0, 0), 0, gemm_weight(c), GEMM_K, 0, (float*)scratch};
  operands.a_stride = gemm_a(c, 1, 1) - gemm_a(c, 0, 0);
  operands.part = GEMM_K_BLOCK == 0 ? GEMM_K : GEMM_K_BLOCK;
  for (; block.m < m1; block.m += height) {
    const int64_t rows = m1 - block.m < height ? m1 - block.m : height;
    if (GEMM_HAS_BEFORE)
      for (int64_t r = 0; r < rows; r++) gemm_before(&copy, block.m + r, r);
    operands.a = gemm_a(c, block.m, 0);
    block.rows = rows;
    gemm_sweep(&operands, rows, GEMM_WHOLE_ROWS ? 0 : n0, last);
    if (GEMM_HAS_ROW)
      for (int64_t r = 0; r < rows; r++) gemm_row(&copy, block.m + r, r);
  }
}

#ifndef EDGE_PRELUDE
void k(const struct Ctx* c, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
  gemm(c, m0, m1, n0, n1, scratch);
}
#endif
