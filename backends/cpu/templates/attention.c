// softmax(q k^T * scale) v of packed sequences; work item m = unit * heads + head, a unit being up to
// ATTENTION_BLOCK_ROWS query rows of one sequence.
//
// Queries lie across the lanes: scores, weights and results are computed transposed, so that keys and values
// are read where they are, an element at a time, and the softmax of a row is vertical arithmetic of one lane.
// Lanes never meet.
//
// Class f32.k1.kb64: scores are chains of fma over the dimension; keys go in blocks of 64 from key 0 with a
// running maximum; a block's sum of weights is four chains (key mod 4) added pairwise; results are chains of
// fma over the keys of a block, begun from the rescaled result of the blocks before.
//
// Contract of the slots: SLOTS.md. This file compiles alone.
#ifndef EDGE_PRELUDE
typedef int int32_t;
typedef long int64_t;
#define INLINE static inline __attribute__((always_inline))
#define ATTENTION_HEADS 12
#define ATTENTION_KV_HEADS 12
#define ATTENTION_DIM 32
#define ATTENTION_BLOCK_ROWS 32
#define ATTENTION_SCALE 0x1.6a09e6p-3f
#define ATTENTION_CAUSAL 0
#define ATTENTION_Q_ROW 1152
#define ATTENTION_K_ROW 1152
#define ATTENTION_V_ROW 1152
#define ATTENTION_OUT_ROW 384
struct Ctx {
  const float *q, *k, *v;
  float* out;
  const int32_t *cu, *units;
};
INLINE const float* attention_q(const struct Ctx* c) {
  return c->q;
}
INLINE const float* attention_k(const struct Ctx* c) {
  return c->k;
}
INLINE const float* attention_v(const struct Ctx* c) {
  return c->v;
}
INLINE float* attention_out(const struct Ctx* c) {
  return c->out;
}
INLINE const int32_t* attention_cu(const struct Ctx* c) {
  return c->cu;
}
INLINE const int32_t* attention_units(const struct Ctx* c) {
  return c->units;
}
#endif

#define ATTENTION_UNROLL _Pragma("clang loop unroll(full)")
#define ATTENTION_ROLLED _Pragma("clang loop unroll(disable)")
#define ATTENTION_KEYS 64  // of a block: part of the class

// One register of queries; the patterns interleave two registers inside of each 128 bits.
#if defined(__AVX512F__)
#define ATTENTION_LANES 16
#define ATTENTION_HEIGHT 8
#define ATTENTION_PATTERN(a, b, c, d) \
  a, b, c, d, a + 4, b + 4, c + 4, d + 4, a + 8, b + 8, c + 8, d + 8, a + 12, b + 12, c + 12, d + 12
#elif defined(__AVX2__)
#define ATTENTION_LANES 8
#define ATTENTION_HEIGHT 6
#define ATTENTION_PATTERN(a, b, c, d) a, b, c, d, a + 4, b + 4, c + 4, d + 4
#else
#define ATTENTION_LANES 4
#define ATTENTION_HEIGHT 6
#define ATTENTION_PATTERN(a, b, c, d) a, b, c, d
#endif
typedef float attention_vec __attribute__((ext_vector_type(ATTENTION_LANES)));
typedef attention_vec attention_vec_u __attribute__((aligned(4)));
typedef int attention_int __attribute__((ext_vector_type(ATTENTION_LANES)));
typedef float attention_quad __attribute__((ext_vector_type(4)));
typedef attention_quad attention_quad_u __attribute__((aligned(4)));

INLINE attention_vec attention_fma(attention_vec a, attention_vec b, attention_vec c) {
#if defined(__FMA__) || defined(__AVX512F__)
  return __builtin_elementwise_fma(a, b, c);
#else
  return a * b + c;
#endif
}

// The larger; b where one of them is NaN.
INLINE attention_vec attention_max(attention_vec a, attention_vec b) {
  return a > b ? a : b;
}

// 2^x for x <= 0 within 2 ulp, 0 below 2^-126, NaN for NaN.
INLINE attention_vec attention_exp2(attention_vec x) {
  const attention_vec magic = 12582912.0f;  // adding it rounds to a whole number, in the low bits of the sum
  const attention_vec shifted = x + magic, n = shifted - magic, r = x - n;
  attention_vec p = attention_fma((attention_vec)0x1.5ab438p-10f, r, (attention_vec)0x1.3ceca0p-7f);
  p = attention_fma(p, r, (attention_vec)0x1.c6baa2p-5f);
  p = attention_fma(p, r, (attention_vec)0x1.ebf9b4p-3f);
  p = attention_fma(p, r, (attention_vec)0x1.62e424p-1f);
  p = attention_fma(p, r, (attention_vec)1.0f);
#if ATTENTION_LANES == 16
  // Not less than: lanes of NaN are computed.
  const unsigned short some =
      __builtin_ia32_cmpps512_mask(x, (attention_vec)-126.0f, 0x15, (unsigned short)-1, 4);
  return (attention_vec)__builtin_ia32_scalefps512_mask(p, n, (attention_vec)0.0f, some, 4);
#else
  p *= (attention_vec)(((attention_int)shifted << 23) + 0x3f800000);
  return x < -126.0f ? (attention_vec)0.0f : p;
#endif
}

// Rows of four registers become columns, within each 128 bits.
INLINE void attention_transpose(attention_vec x[4]) {
  const attention_vec low01 =
      __builtin_shufflevector(x[0], x[1], ATTENTION_PATTERN(0, ATTENTION_LANES, 1, ATTENTION_LANES + 1));
  const attention_vec high01 =
      __builtin_shufflevector(x[0], x[1], ATTENTION_PATTERN(2, ATTENTION_LANES + 2, 3, ATTENTION_LANES + 3));
  const attention_vec low23 =
      __builtin_shufflevector(x[2], x[3], ATTENTION_PATTERN(0, ATTENTION_LANES, 1, ATTENTION_LANES + 1));
  const attention_vec high23 =
      __builtin_shufflevector(x[2], x[3], ATTENTION_PATTERN(2, ATTENTION_LANES + 2, 3, ATTENTION_LANES + 3));
  x[0] = __builtin_shufflevector(low01, low23, ATTENTION_PATTERN(0, 1, ATTENTION_LANES, ATTENTION_LANES + 1));
  x[1] = __builtin_shufflevector(low01, low23,
                                 ATTENTION_PATTERN(2, 3, ATTENTION_LANES + 2, ATTENTION_LANES + 3));
  x[2] =
      __builtin_shufflevector(high01, high23, ATTENTION_PATTERN(0, 1, ATTENTION_LANES, ATTENTION_LANES + 1));
  x[3] = __builtin_shufflevector(high01, high23,
                                 ATTENTION_PATTERN(2, 3, ATTENTION_LANES + 2, ATTENTION_LANES + 3));
}

// Four floats each of rows r, r + 4, ... side by side.
INLINE attention_vec attention_join(const float* const* row, int64_t at) {
#define ATTENTION_QUAD(i) (*(const attention_quad_u*)(row[4 * (i)] + at))
#if ATTENTION_LANES == 4
  return ATTENTION_QUAD(0);
#else
  typedef float eight __attribute__((ext_vector_type(8)));
  const eight low = __builtin_shufflevector(ATTENTION_QUAD(0), ATTENTION_QUAD(1), 0, 1, 2, 3, 4, 5, 6, 7);
#if ATTENTION_LANES == 8
  return low;
#else
  const eight high = __builtin_shufflevector(ATTENTION_QUAD(2), ATTENTION_QUAD(3), 0, 1, 2, 3, 4, 5, 6, 7);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#endif
#endif
}

// The reverse, into rows `stride` apart, of which there are `rows`.
INLINE void attention_part(attention_vec x, float* to, int64_t stride, int64_t rows){
#define ATTENTION_PART(i)                         \
  if (4 * (i) < rows)                             \
    *(attention_quad_u*)(to + 4 * (i) * stride) = \
        __builtin_shufflevector(x, x, 4 * (i), 4 * (i) + 1, 4 * (i) + 2, 4 * (i) + 3);
    ATTENTION_PART(0)
#if ATTENTION_LANES > 4
        ATTENTION_PART(1)
#endif
#if ATTENTION_LANES > 8
            ATTENTION_PART(2) ATTENTION_PART(3)
#endif
}

INLINE int64_t attention_least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// Of a strip of up to 2 * ATTENTION_LANES queries: every line is one dimension or key of all of them.
struct attention_state {
  attention_vec top[2];         // largest score so far
  attention_vec raised[2];      // the same, with the keys of this block
  attention_vec subtracted[2];  // from scores before they become weights
  attention_vec rescale[2];     // of what was summed before this block
  attention_vec sum[2];         // of weights
#if ATTENTION_CAUSAL
  attention_int position[2];  // of the queries, counted from the first key of the block
#endif
  attention_vec scores[ATTENTION_KEYS * 2];  // [key][2], then the weights
  attention_vec query[ATTENTION_DIM * 2];    // [dimension][2], times scale * log2(e)
  attention_vec result[ATTENTION_DIM * 2];   // [dimension][2]
  // Values of a block: rows of a merged buffer lie pages apart and may share a few sets of L1.
  float values[ATTENTION_KEYS * ATTENTION_DIM];
};

// Scores of `rows` keys and `vecs` registers of queries into out[rows][2]; the largest of each query into
// top.
INLINE void attention_scores(const float* key, const attention_vec* query, attention_vec* out,
                             attention_vec* top, const int rows, const int vecs) {
  attention_vec acc[ATTENTION_HEIGHT][2];
  // The next keys: no hardware prefetcher follows rows that lie pages apart.
  ATTENTION_UNROLL for (int i = 0; i < rows; i++) {
    ATTENTION_UNROLL for (int d = 0; d < ATTENTION_DIM; d += 16) {
      __builtin_prefetch(key + (rows + i) * ATTENTION_K_ROW + d);
    }
  }
  ATTENTION_UNROLL for (int i = 0; i < rows; i++) acc[i][0] = acc[i][1] = (attention_vec)0.0f;
  ATTENTION_ROLLED for (int64_t d = 0; d < ATTENTION_DIM; d++) {
    const attention_vec a = query[d * 2], b = query[d * 2 + 1];
    ATTENTION_UNROLL for (int i = 0; i < rows; i++) {
      const attention_vec x = key[i * ATTENTION_K_ROW + d];
      acc[i][0] = attention_fma(x, a, acc[i][0]);
      if (vecs == 2) acc[i][1] = attention_fma(x, b, acc[i][1]);
    }
  }
  attention_vec most[2] = {top[0], top[1]};
  ATTENTION_UNROLL for (int i = 0; i < rows; i++) {
    out[i * 2] = acc[i][0];
    most[0] = attention_max(acc[i][0], most[0]);
    if (vecs == 2) {
      out[i * 2 + 1] = acc[i][1];
      most[1] = attention_max(acc[i][1], most[1]);
    }
  }
  top[0] = most[0], top[1] = most[1];
}

// out[rows][2] = out * rescale + sum over `keys` of value[key][rows] * weight[key][2].
INLINE void attention_values(const float* value, const attention_vec* weight, int64_t keys,
                             const attention_vec* rescale, attention_vec* out, const int rows,
                             const int vecs) {
  attention_vec acc[ATTENTION_HEIGHT][2];
  ATTENTION_UNROLL for (int i = 0; i < rows; i++) {
    acc[i][0] = out[i * 2] * rescale[0];
    if (vecs == 2) acc[i][1] = out[i * 2 + 1] * rescale[1];
  }
  ATTENTION_ROLLED for (int64_t k = keys; k > 0; k--) {
    const attention_vec a = weight[0], b = weight[1];
    ATTENTION_UNROLL for (int i = 0; i < rows; i++) {
      const attention_vec x = value[i];
      acc[i][0] = attention_fma(x, a, acc[i][0]);
      if (vecs == 2) acc[i][1] = attention_fma(x, b, acc[i][1]);
    }
    value += ATTENTION_DIM;
    weight += 2;
  }
  ATTENTION_UNROLL for (int i = 0; i < rows; i++) {
    out[i * 2] = acc[i][0];
    if (vecs == 2) out[i * 2 + 1] = acc[i][1];
  }
}

// Keys in tiles of ATTENTION_HEIGHT, the rest in 4, 2, 1: that is few functions to compile.
#define ATTENTION_SCORES(rows)                                                                               \
  static __attribute__((noinline)) void attention_scores_##rows(const float* key, struct attention_state* s, \
                                                                int64_t at, int64_t vecs) {                  \
    if (vecs == 1)                                                                                           \
      attention_scores(key + at * ATTENTION_K_ROW, s->query, s->scores + at * 2, s->raised, rows, 1);        \
    else                                                                                                     \
      attention_scores(key + at * ATTENTION_K_ROW, s->query, s->scores + at * 2, s->raised, rows, 2);        \
  }
ATTENTION_SCORES(1)
ATTENTION_SCORES(2)
ATTENTION_SCORES(4)
#if ATTENTION_HEIGHT == 8
ATTENTION_SCORES(8)
#else
ATTENTION_SCORES(6)
#endif

INLINE void attention_all_scores(const float* key, int64_t keys, struct attention_state* s, int64_t vecs) {
  int64_t k = 0;
  for (; k + ATTENTION_HEIGHT <= keys; k += ATTENTION_HEIGHT) {
#if ATTENTION_HEIGHT == 8
    attention_scores_8(key, s, k, vecs);
#else
    attention_scores_6(key, s, k, vecs);
#endif
  }
  if (k + 4 <= keys) {
    attention_scores_4(key, s, k, vecs);
    k += 4;
  }
  if (k + 2 <= keys) {
    attention_scores_2(key, s, k, vecs);
    k += 2;
  }
  if (k < keys) attention_scores_1(key, s, k, vecs);
}

// Dimensions in tiles that differ by at most one.
#define ATTENTION_TILES ((ATTENTION_DIM + ATTENTION_HEIGHT - 1) / ATTENTION_HEIGHT)
#define ATTENTION_TALL ((ATTENTION_DIM + ATTENTION_TILES - 1) / ATTENTION_TILES)
#define ATTENTION_TALL_TILES (ATTENTION_DIM - ATTENTION_TILES * (ATTENTION_TALL - 1))
static __attribute__((noinline)) void attention_all_values(struct attention_state* s, int64_t keys,
                                                           int64_t vecs) {
  const float* value = s->values;
  attention_vec* out = s->result;
  for (int64_t tile = 0; tile < ATTENTION_TILES; tile++) {
    if (ATTENTION_TALL_TILES == ATTENTION_TILES || tile < ATTENTION_TALL_TILES) {
      if (vecs == 1)
        attention_values(value, s->scores, keys, s->rescale, out, ATTENTION_TALL, 1);
      else
        attention_values(value, s->scores, keys, s->rescale, out, ATTENTION_TALL, 2);
      value += ATTENTION_TALL;
      out += ATTENTION_TALL * 2;
    } else {
      if (vecs == 1)
        attention_values(value, s->scores, keys, s->rescale, out, ATTENTION_TALL - 1, 1);
      else
        attention_values(value, s->scores, keys, s->rescale, out, ATTENTION_TALL - 1, 2);
      value += ATTENTION_TALL - 1;
      out += (ATTENTION_TALL - 1) * 2;
    }
  }
}

INLINE void attention_pack_values(const float* value, int64_t keys, float* values) {
  ATTENTION_ROLLED for (int64_t k = 0; k < keys; k++) {
    int64_t d = 0;
    for (; d + ATTENTION_LANES <= ATTENTION_DIM; d += ATTENTION_LANES)
      *(attention_vec_u*)(values + d) = *(const attention_vec_u*)(value + d);
    for (; d < ATTENTION_DIM; d++) values[d] = value[d];
    value += ATTENTION_V_ROW;
    values += ATTENTION_DIM;
  }
}

#if ATTENTION_CAUSAL
// As attention_values for keys that only queries at or beyond them see: a hidden key has weight 0, and 0
// times its value may still be NaN, so lanes that do not see it are left alone.
INLINE void attention_values_seen(const float* value, const struct attention_state* s, int64_t keys,
                                  attention_vec* out, const int rows) {
  attention_vec acc[4][2];
  ATTENTION_UNROLL for (int i = 0; i < rows; i++) {
    acc[i][0] = out[i * 2] * s->rescale[0];
    acc[i][1] = out[i * 2 + 1] * s->rescale[1];
  }
  ATTENTION_ROLLED for (int64_t k = 0; k < keys; k++) {
    const attention_int a = s->position[0] >= (int)k, b = s->position[1] >= (int)k;
    ATTENTION_UNROLL for (int i = 0; i < rows; i++) {
      const attention_vec x = value[i];
      acc[i][0] = a ? attention_fma(x, s->scores[k * 2], acc[i][0]) : acc[i][0];
      acc[i][1] = b ? attention_fma(x, s->scores[k * 2 + 1], acc[i][1]) : acc[i][1];
    }
    value += ATTENTION_DIM;
  }
  ATTENTION_UNROLL for (int i = 0; i < rows; i++) {
    out[i * 2] = acc[i][0];
    out[i * 2 + 1] = acc[i][1];
  }
}
static __attribute__((noinline)) void attention_all_values_seen(struct attention_state* s, int64_t keys) {
  int64_t d = 0;
  for (; d + 4 <= ATTENTION_DIM; d += 4) attention_values_seen(s->values + d, s, keys, s->result + d * 2, 4);
  for (; d < ATTENTION_DIM; d++) attention_values_seen(s->values + d, s, keys, s->result + d * 2, 1);
}

// Scores of keys that a query does not see become -inf; the largest of the others go into raised.
static __attribute__((noinline)) void attention_hide(struct attention_state* s, int64_t first, int64_t keys) {
  for (int64_t j = 0; j < 2; j++) {
    attention_int position;
    ATTENTION_UNROLL for (int l = 0; l < ATTENTION_LANES; l++) position[l] =
        (int)(first + j * ATTENTION_LANES) + l;
    s->position[j] = position;
    attention_vec most = s->top[j];
    for (int64_t k = 0; k < keys; k++) {
      const attention_vec x = position >= (int)k ? s->scores[k * 2 + j] : (attention_vec)-__builtin_inff();
      s->scores[k * 2 + j] = x;
      most = attention_max(x, most);
    }
    s->raised[j] = most;
  }
}
#endif

// Query rows q[rows], rows beyond repeating the last.
INLINE void attention_load_queries(const float* q, int64_t rows, struct attention_state* s, int64_t vecs) {
  const attention_vec scale = (float)((double)ATTENTION_SCALE * 1.4426950408889634);
  for (int64_t j = 0; j < vecs; j++) {
    const float* row[ATTENTION_LANES];
    for (int64_t l = 0; l < ATTENTION_LANES; l++)
      row[l] = q + attention_least(j * ATTENTION_LANES + l, rows - 1) * ATTENTION_Q_ROW;
    int64_t d = 0;
    ATTENTION_ROLLED for (; d + 4 <= ATTENTION_DIM; d += 4) {
      attention_vec x[4];
      ATTENTION_UNROLL for (int r = 0; r < 4; r++) x[r] = attention_join(row + r, d);
      attention_transpose(x);
      ATTENTION_UNROLL for (int r = 0; r < 4; r++) s->query[(d + r) * 2 + j] = x[r] * scale;
    }
    for (; d < ATTENTION_DIM; d++) {
      attention_vec x;
      ATTENTION_UNROLL for (int l = 0; l < ATTENTION_LANES; l++) x[l] = row[l][d];
      s->query[d * 2 + j] = x * scale;
    }
  }
}

INLINE void attention_store_results(const struct attention_state* s, float* out, int64_t rows, int64_t vecs) {
  for (int64_t j = 0; j < vecs; j++) {
    // 0: only keys at -inf. The result is zero then.
    const attention_vec total = s->sum[j], factor = 1.0f / total;
    const attention_int none = total == 0.0f;
    const int64_t count = rows - j * ATTENTION_LANES;
    float* to = out + j * ATTENTION_LANES * ATTENTION_OUT_ROW;
    int64_t d = 0;
    ATTENTION_ROLLED for (; d + 4 <= ATTENTION_DIM; d += 4) {
      attention_vec x[4];
      ATTENTION_UNROLL for (int r = 0; r < 4; r++) {
        x[r] = none ? (attention_vec)0.0f : s->result[(d + r) * 2 + j] * factor;
      }
      attention_transpose(x);
      ATTENTION_UNROLL for (int r = 0; r < 4; r++) {
        attention_part(x[r], to + r * ATTENTION_OUT_ROW + d, ATTENTION_OUT_ROW, count - r);
      }
    }
    for (; d < ATTENTION_DIM; d++) {
      const attention_vec x = none ? (attention_vec)0.0f : s->result[d * 2 + j] * factor;
      ATTENTION_UNROLL for (int l = 0; l < ATTENTION_LANES; l++) {
        if (l < count) to[l * ATTENTION_OUT_ROW + d] = x[l];
      }
    }
  }
}

// Scores become weights; the new maximum rescales what was summed before.
INLINE void attention_weights(struct attention_state* s, int64_t keys, int64_t vecs) {
  for (int64_t j = 0; j < vecs; j++) {
    const attention_vec raised = s->raised[j];
    // Nothing but -inf so far: any number gives weights of 0.
    const attention_vec subtracted = raised == -__builtin_inff() ? (attention_vec)0.0f : raised;
    const attention_vec rescale = attention_exp2(s->top[j] - subtracted);
    s->top[j] = raised;
    s->rescale[j] = rescale;
    attention_vec sum[4];
    ATTENTION_UNROLL for (int i = 0; i < 4; i++) sum[i] = (attention_vec)0.0f;
    attention_vec* at = s->scores + j;
    int64_t left = keys;
    ATTENTION_ROLLED for (; left >= 4; left -= 4) {
      ATTENTION_UNROLL for (int i = 0; i < 4; i++) {
        const attention_vec w = attention_exp2(at[i * 2] - subtracted);
        at[i * 2] = w;
        sum[i] += w;
      }
      at += 8;
    }
    ATTENTION_UNROLL for (int i = 0; i < 3; i++) {
      if (i < left) {
        const attention_vec w = attention_exp2(at[i * 2] - subtracted);
        at[i * 2] = w;
        sum[i] += w;
      }
    }
    s->sum[j] = attention_fma(s->sum[j], rescale, (sum[0] + sum[1]) + (sum[2] + sum[3]));
  }
}

// Query rows q[rows], the first at position `first` of its sequence, against `keys` keys.
INLINE void attention_strip(const float* q, const float* key, const float* value, int64_t keys, int64_t first,
                            int64_t rows, float* out, struct attention_state* s) {
  const int64_t vecs = rows <= ATTENTION_LANES ? 1 : 2;
  attention_load_queries(q, rows, s, vecs);
  // Both registers, used or not: what lay in scratch could be slow to compute on.
  ATTENTION_UNROLL for (int j = 0; j < 2; j++) {
    s->top[j] = -__builtin_inff();
    s->rescale[j] = s->sum[j] = (attention_vec)0.0f;
  }
  ATTENTION_ROLLED for (int64_t i = 0; i < ATTENTION_DIM * 2; i++) s->result[i] = (attention_vec)0.0f;
  const int64_t visible = ATTENTION_CAUSAL ? attention_least(keys, first + rows) : keys;
  for (int64_t k = 0; k < visible; k += ATTENTION_KEYS) {
    const int64_t count = attention_least(ATTENTION_KEYS, visible - k);
    s->raised[0] = s->top[0], s->raised[1] = s->top[1];
    attention_all_scores(key + k * ATTENTION_K_ROW, count, s, vecs);
#if ATTENTION_CAUSAL
    const int hidden = k + count > first + 1;  // some query does not see all keys of the block
    if (hidden) attention_hide(s, first - k, count);
#endif
    attention_weights(s, count, vecs);
    attention_pack_values(value + k * ATTENTION_V_ROW, count, s->values);
#if ATTENTION_CAUSAL
    if (hidden) {
      attention_all_values_seen(s, count);
      continue;
    }
#endif
    attention_all_values(s, count, vecs);
  }
  attention_store_results(s, out, rows, vecs);
}

static void attention(const struct Ctx* c, int64_t m0, int64_t m1, void* scratch) {
  const int32_t *cu = attention_cu(c), *units = attention_units(c);
  for (int64_t m = m0; m < m1; m++) {
    const int64_t unit = m / ATTENTION_HEADS, head = m % ATTENTION_HEADS;
    const int64_t kv_head = head / (ATTENTION_HEADS / ATTENTION_KV_HEADS);
    const int64_t sequence = units[unit * 2], begin = cu[sequence], keys = cu[sequence + 1] - begin;
    const int64_t end = attention_least(keys, units[unit * 2 + 1] + ATTENTION_BLOCK_ROWS);
    const float* key = attention_k(c) + begin * ATTENTION_K_ROW + kv_head * ATTENTION_DIM;
    const float* value = attention_v(c) + begin * ATTENTION_V_ROW + kv_head * ATTENTION_DIM;
    for (int64_t first = units[unit * 2 + 1]; first < end; first += 2 * ATTENTION_LANES) {
      const int64_t rows = attention_least(2 * ATTENTION_LANES, end - first);
      const float* q = attention_q(c) + (begin + first) * ATTENTION_Q_ROW + head * ATTENTION_DIM;
      float* out = attention_out(c) + (begin + first) * ATTENTION_OUT_ROW + head * ATTENTION_DIM;
      attention_strip(q, key, value, keys, first, rows, out, scratch);
    }
  }
}

#ifndef EDGE_PRELUDE
void k(const struct Ctx* c, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
  (void)n0, (void)n1;
  attention(c, m0, m1, scratch);
}
#endif
