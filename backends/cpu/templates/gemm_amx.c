// D[m, n] = sum over k of a(m, k) * w[n, k], a and w bf16, sums f32, on the matrix unit (AMX).
// Weights: [ceil(N / 32)][ceil(K / 32)][2][16][64 bytes], two operand tiles of 16 columns a step of 32 k,
// pairs of k interleaved; zeros beyond N and K. Rows of A are copied into tiles of 16 rows x 32 k in scratch.
//
// Class bf16.amx32: ascending k, one tile instruction a step of 32: an element depends on its row and column
// alone, never on the ranges or on the rows beside it.
//
// The epilogue of a block of 32 x 32 runs inside the k loop of the next one: the matrix unit and the vector
// units then work at the same time.
//
// Contract of the slots: SLOTS.md. This file compiles alone, with slots that store the sums.
#ifndef EDGE_PRELUDE
typedef long int64_t;
typedef unsigned short uint16_t;
typedef float f32x16 __attribute__((ext_vector_type(16)));
#define INLINE static inline __attribute__((always_inline))
#ifndef GEMM_N
#define GEMM_N 384
#define GEMM_K 384
#define GEMM_HAS_BEFORE 0
#define GEMM_HAS_ROW 0
#define GEMM_WHOLE_ROWS 0
#define GEMM_ROW_BLOCK 128
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

#define GEMM_ROLLED _Pragma("clang loop unroll(disable)")
// Steps of k, and bytes of one tile and of the steps of one panel or of sixteen rows.
#define GEMM_STEPS ((GEMM_K + 31) / 32)
#define GEMM_TILE_BYTES 1024
#define GEMM_PANEL_BYTES (GEMM_STEPS * 2 * GEMM_TILE_BYTES)
#define GEMM_STRIP_BYTES (GEMM_STEPS * GEMM_TILE_BYTES)
#define GEMM_SUMS_BYTES 4096
// Rows of the waiting block that one step finishes: all 32 within the steps of the next block.
#define GEMM_LATE_ROWS ((32 + GEMM_STEPS - 1) / GEMM_STEPS)

// Eight tiles of 16 rows x 64 bytes. 0 to 3: sums; 4, 5: rows; 6, 7: columns.
static const struct {
  unsigned char palette, start, reserved[14];
  uint16_t row_bytes[16];
  unsigned char rows[16];
} gemm_tiles = {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};

typedef uint16_t gemm_line __attribute__((ext_vector_type(32)));
typedef gemm_line gemm_line_anywhere __attribute__((aligned(2)));

// Row r of the block into its place in the tiles.
INLINE void gemm_place_row(const uint16_t* from, char* tiles, int64_t r) {
  char* to = tiles + (r >> 4) * GEMM_STRIP_BYTES + (r & 15) * 64;
  GEMM_ROLLED for (int64_t s = 0; s < GEMM_K / 32; s++) {
    *(gemm_line*)to = *(const gemm_line_anywhere*)(from + 32 * s);
    to += GEMM_TILE_BYTES;
  }
  if (GEMM_K % 32) {
    *(gemm_line*)to = (gemm_line)0;
    GEMM_ROLLED for (int64_t k = 0; k < GEMM_K % 32; k++)((uint16_t*)to)[k] = from[GEMM_K / 32 * 32 + k];
  }
}

// A finished block whose sums wait for the epilogue.
struct gemm_late {
  const float* sums;
  int64_t m, r, n, columns;
  int64_t done, rows;
};

// The next `count` rows of it. Not inlined, so that the epilogue is compiled once; it leaves the tiles alone.
static __attribute__((noinline)) void gemm_finish(const struct Ctx* c, struct gemm_late* late,
                                                  int64_t count) {
  const int64_t whole = late->columns / 16 * 16, end = late->done + count;
  const int64_t last = end < late->rows ? end : late->rows;
  for (int64_t i = late->done; i < last; i++) {
    const int64_t place = GEMM_WHOLE_ROWS ? late->r + i : 0;
    for (int64_t j = 0; j < whole; j += 16)
      gemm_epilogue(c, late->m + i, place, late->n + j, 16, *(const f32x16*)(late->sums + i * 32 + j));
    if (GEMM_N % 16 && whole < late->columns)
      gemm_epilogue(c, late->m + i, place, late->n + whole, late->columns - whole,
                    *(const f32x16*)(late->sums + i * 32 + whole));
  }
  late->done = last;
}

// 32 rows x 32 columns into sums[32][32].
static __attribute__((noinline)) void gemm_block_32(const struct Ctx* c, const char* a, const char* w,
                                                    float* sums, struct gemm_late* late) {
  __builtin_ia32_tilezero(0);
  __builtin_ia32_tilezero(1);
  __builtin_ia32_tilezero(2);
  __builtin_ia32_tilezero(3);
  GEMM_ROLLED for (int64_t s = 0; s < GEMM_STEPS; s++) {
    __builtin_ia32_tileloadd64(4, a, 64);
    __builtin_ia32_tileloadd64(6, w, 64);
    __builtin_ia32_tdpbf16ps(0, 4, 6);
    __builtin_ia32_tileloadd64(7, w + GEMM_TILE_BYTES, 64);
    __builtin_ia32_tdpbf16ps(1, 4, 7);
    __builtin_ia32_tileloadd64(5, a + GEMM_STRIP_BYTES, 64);
    __builtin_ia32_tdpbf16ps(2, 5, 6);
    __builtin_ia32_tdpbf16ps(3, 5, 7);
    a += GEMM_TILE_BYTES;
    w += 2 * GEMM_TILE_BYTES;
    if (late->done < late->rows) gemm_finish(c, late, GEMM_LATE_ROWS);
  }
  __builtin_ia32_tilestored64(0, sums, 128);
  __builtin_ia32_tilestored64(1, sums + 16, 128);
  __builtin_ia32_tilestored64(2, sums + 512, 128);
  __builtin_ia32_tilestored64(3, sums + 528, 128);
}

// Sixteen rows, where there are no more.
static __attribute__((noinline)) void gemm_block_16(const struct Ctx* c, const char* a, const char* w,
                                                    float* sums, struct gemm_late* late) {
  __builtin_ia32_tilezero(0);
  __builtin_ia32_tilezero(1);
  GEMM_ROLLED for (int64_t s = 0; s < GEMM_STEPS; s++) {
    __builtin_ia32_tileloadd64(4, a, 64);
    __builtin_ia32_tileloadd64(6, w, 64);
    __builtin_ia32_tdpbf16ps(0, 4, 6);
    __builtin_ia32_tileloadd64(7, w + GEMM_TILE_BYTES, 64);
    __builtin_ia32_tdpbf16ps(1, 4, 7);
    a += GEMM_TILE_BYTES;
    w += 2 * GEMM_TILE_BYTES;
    if (late->done < late->rows) gemm_finish(c, late, GEMM_LATE_ROWS);
  }
  __builtin_ia32_tilestored64(0, sums, 128);
  __builtin_ia32_tilestored64(1, sums + 16, 128);
}

// Rows [m, m + rows) of a block and columns [n, n1): panels outside, so that a panel is read from afar once.
INLINE void gemm_sweep(const struct Ctx* c, int64_t m, int64_t rows, int64_t n, int64_t n1, char* scratch) {
  const char* tiles = scratch + 2 * GEMM_SUMS_BYTES;
  const char* weight = (const char*)gemm_weight(c) + n / 32 * GEMM_PANEL_BYTES;
  struct gemm_late late = {.done = 0, .rows = 0};
  int64_t turn = 0;
  for (; n < n1; n += 32) {
    for (int64_t r = 0; r < rows; r += 32) {
      float* sums = (float*)(scratch + turn * GEMM_SUMS_BYTES);
      const char* a = tiles + (r >> 4) * GEMM_STRIP_BYTES;
      const int64_t left = rows - r;
      if (left > 16)
        gemm_block_32(c, a, weight, sums, &late);
      else
        gemm_block_16(c, a, weight, sums, &late);
      late.sums = sums;
      late.m = m + r;
      late.r = r;
      late.n = n;
      late.columns = n1 - n < 32 ? n1 - n : 32;
      late.done = 0;
      late.rows = left < 32 ? left : 32;
      turn ^= 1;
    }
    weight += GEMM_PANEL_BYTES;
  }
  gemm_finish(c, &late, 32);
}

// Rows go in equal blocks: their tiles stay in L2 while panels sweep over them, and a row part finds its rows
// there.
static void gemm(const struct Ctx* c, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
  const int64_t blocks = (m1 - m0 + GEMM_ROW_BLOCK - 1) / GEMM_ROW_BLOCK;
  if (blocks <= 0) return;
  const int64_t block = ((m1 - m0 + blocks - 1) / blocks + 31) / 32 * 32;
  const int64_t first = GEMM_WHOLE_ROWS ? 0 : n0;
  const int64_t last = GEMM_WHOLE_ROWS || n1 > GEMM_N ? GEMM_N : n1;
  char* tiles = (char*)scratch + 2 * GEMM_SUMS_BYTES;
  __builtin_ia32_tile_loadconfig(&gemm_tiles);
  for (int64_t m = m0; m < m1; m += block) {
    const int64_t rows = m1 - m < block ? m1 - m : block;
    for (int64_t r = 0; r < rows; r++) {
      if (GEMM_HAS_BEFORE) gemm_before(c, m + r, r);
      gemm_place_row(gemm_a(c, m + r, r), tiles, r);
    }
    gemm_sweep(c, m, rows, first, last, (char*)scratch);
    if (GEMM_HAS_ROW)
      for (int64_t r = 0; r < rows; r++) gemm_row(c, m + r, r);
  }
  __builtin_ia32_tilerelease();
}

#ifndef EDGE_PRELUDE
void k(const struct Ctx* c, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
  gemm(c, m0, m1, n0, n1, scratch);
}
#endif
