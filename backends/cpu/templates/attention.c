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
  p = (attention_vec)__builtin_ia32_scalefps512_mask(p, n, p, (unsigned short)-1, 4);
#else
  p *= (attention_vec)(((attention_int)shifted << 23) + 0x3f800000);
#endif
  return x < -126.0f ? (attention_vec)0.0f : p;
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

INLINE int64_t attention_least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// Scratch of a strip of vecs * ATTENTION_LANES queries; every line is one dimension or key of all queries.
struct attention_state {
  attention_vec top[2], subtracted[2], rescale[2], sum[2];
  attention_vec scores[ATTENTION_KEYS * 2];  // [key][vecs], then the weights
  attention_vec query[ATTENTION_DIM * 2];    // [dimension][vecs], times scale * log2(e)
  attention_vec result[ATTENTION_DIM * 2];   // [dimension][vecs]
};

// Scores of `rows` keys into out[rows][vecs]; the largest of each query into top.
INLINE void attention_scores(const float* key, const attention_vec* query, attention_vec* out,
                             attention_vec* top, const int rows, const int vecs) {
  attention_vec acc[ATTENTION_HEIGHT * 2];
  ATTENTION_UNROLL for (int i = 0; i < rows * vecs; i++) acc[i] = (attention_vec)0.0f;
  ATTENTION_ROLLED for (int64_t d = 0; d < ATTENTION_DIM; d++) {
    ATTENTION_UNROLL for (int i = 0; i < rows; i++) {
      const attention_vec x = key[i * ATTENTION_K_ROW + d];
      ATTENTION_UNROLL for (int j = 0; j < vecs; j++) acc[i * vecs + j] =
          attention_fma(x, query[d * vecs + j], acc[i * vecs + j]);
    }
  }
  ATTENTION_UNROLL for (int j = 0; j < vecs; j++) {
    attention_vec most = top[j];
    ATTENTION_UNROLL for (int i = 0; i < rows; i++) most = attention_max(acc[i * vecs + j], most);
    top[j] = most;
  }
  ATTENTION_UNROLL for (int i = 0; i < rows * vecs; i++) out[i] = acc[i];
}

// out[rows][vecs] = out * rescale + sum over `keys` of value[key][rows] * weight[key][vecs].
INLINE void attention_values(const float* value, const attention_vec* weight, int64_t keys,
                             const attention_vec* rescale, attention_vec* out, const int rows,
                             const int vecs) {
  attention_vec acc[ATTENTION_HEIGHT * 2];
  ATTENTION_UNROLL for (int i = 0; i < rows; i++) ATTENTION_UNROLL for (int j = 0; j < vecs; j++)
      acc[i * vecs + j] = out[i * vecs + j] * rescale[j];
  ATTENTION_ROLLED for (int64_t k = 0; k < keys; k++) {
    ATTENTION_UNROLL for (int i = 0; i < rows; i++) {
      const attention_vec x = value[i];
      ATTENTION_UNROLL for (int j = 0; j < vecs; j++) acc[i * vecs + j] =
          attention_fma(x, weight[j], acc[i * vecs + j]);
    }
    value += ATTENTION_V_ROW;
    weight += vecs;
  }
  ATTENTION_UNROLL for (int i = 0; i < rows * vecs; i++) out[i] = acc[i];
}

#define ATTENTION_TILE(rows, vecs)                                                                 \
  static __attribute__((noinline)) void attention_scores_##rows##_##vecs(                          \
      const float* key, const attention_vec* query, attention_vec* out, attention_vec* top) {      \
    attention_scores(key, query, out, top, rows, vecs);                                            \
  }                                                                                                \
  static __attribute__((noinline)) void attention_values_##rows##_##vecs(                          \
      const float* value, const attention_vec* weight, int64_t keys, const attention_vec* rescale, \
      attention_vec* out) {                                                                        \
    attention_values(value, weight, keys, rescale, out, rows, vecs);                               \
  }
#define ATTENTION_TILES(rows) ATTENTION_TILE(rows, 1) ATTENTION_TILE(rows, 2)
#define ATTENTION_CASE(rows, what, ...)           \
  case rows:                                      \
    if (vecs == 1)                                \
      attention_##what##_##rows##_1(__VA_ARGS__); \
    else                                          \
      attention_##what##_##rows##_2(__VA_ARGS__); \
    break;
#if ATTENTION_HEIGHT == 8
#define ATTENTION_TALLEST(what, ...) ATTENTION_CASE(7, what, __VA_ARGS__) ATTENTION_CASE(8, what, __VA_ARGS__)
ATTENTION_TILES(7)
ATTENTION_TILES(8)
#else
#define ATTENTION_TALLEST(what, ...)
#endif
ATTENTION_TILES(1)
ATTENTION_TILES(2)
ATTENTION_TILES(3)
ATTENTION_TILES(4)
ATTENTION_TILES(5)
ATTENTION_TILES(6)
#define ATTENTION_SWITCH(what, ...)    \
  ATTENTION_CASE(1, what, __VA_ARGS__) \
  ATTENTION_CASE(2, what, __VA_ARGS__) \
  ATTENTION_CASE(3, what, __VA_ARGS__) \
  ATTENTION_CASE(4, what, __VA_ARGS__) \
  ATTENTION_CASE(5, what, __VA_ARGS__) \
  ATTENTION_CASE(6, what, __VA_ARGS__) \
  ATTENTION_TALLEST(what, __VA_ARGS__)

#if ATTENTION_CAUSAL
// As attention_values for keys that only queries at or beyond them see: a hidden key has weight 0, and 0
// times its value may still be NaN, so lanes that do not see it are left alone. position[vecs]: of the
// queries, from the first key.
INLINE void attention_values_seen(const float* value, const attention_vec* weight, int64_t keys,
                                  const attention_vec* rescale, const attention_int* position,
                                  attention_vec* out, const int rows, const int vecs) {
  attention_vec acc[ATTENTION_HEIGHT * 2];
  ATTENTION_UNROLL for (int i = 0; i < rows; i++) ATTENTION_UNROLL for (int j = 0; j < vecs; j++)
      acc[i * vecs + j] = out[i * vecs + j] * rescale[j];
  ATTENTION_ROLLED for (int64_t k = 0; k < keys; k++) {
    ATTENTION_UNROLL for (int j = 0; j < vecs; j++) {
      const attention_int seen = position[j] >= (int)k;
      ATTENTION_UNROLL for (int i = 0; i < rows; i++) acc[i * vecs + j] =
          seen ? attention_fma((attention_vec)value[i], weight[j], acc[i * vecs + j]) : acc[i * vecs + j];
    }
    value += ATTENTION_V_ROW;
    weight += vecs;
  }
  ATTENTION_UNROLL for (int i = 0; i < rows * vecs; i++) out[i] = acc[i];
}
static __attribute__((noinline)) void attention_hidden_values(const float* value, const attention_vec* weight,
                                                              int64_t keys, const attention_vec* rescale,
                                                              const attention_int* position,
                                                              attention_vec* out, int64_t vecs) {
  for (int64_t d = 0; d < ATTENTION_DIM;) {
    if (vecs == 2 && ATTENTION_DIM - d >= 4) {
      attention_values_seen(value + d, weight, keys, rescale, position, out + d * 2, 4, 2);
      d += 4;
    } else if (vecs == 2) {
      attention_values_seen(value + d, weight, keys, rescale, position, out + d * 2, 1, 2);
      d++;
    } else if (ATTENTION_DIM - d >= 4) {
      attention_values_seen(value + d, weight, keys, rescale, position, out + d, 4, 1);
      d += 4;
    } else {
      attention_values_seen(value + d, weight, keys, rescale, position, out + d, 1, 1);
      d++;
    }
  }
}
#endif

// Query rows q[rows], rows beyond repeating the last, as lines times scale * log2(e).
INLINE void attention_load_queries(const float* q, int64_t rows, attention_vec* query, const int vecs) {
  const attention_vec scale = (float)((double)ATTENTION_SCALE * 1.4426950408889634);
  for (int j = 0; j < vecs; j++) {
    const float* row[ATTENTION_LANES];
    ATTENTION_UNROLL for (int l = 0; l < ATTENTION_LANES; l++) row[l] =
        q + attention_least(j * ATTENTION_LANES + l, rows - 1) * ATTENTION_Q_ROW;
    int64_t d = 0;
    ATTENTION_ROLLED for (; d + 4 <= ATTENTION_DIM; d += 4) {
      attention_vec x[4];
      ATTENTION_UNROLL for (int r = 0; r < 4; r++) {
        ATTENTION_UNROLL for (int g = 0; g < ATTENTION_LANES; g += 4) {
          const attention_quad part = *(const attention_quad_u*)(row[g + r] + d);
          ATTENTION_UNROLL for (int i = 0; i < 4; i++) x[r][g + i] = part[i];
        }
      }
      attention_transpose(x);
      ATTENTION_UNROLL for (int r = 0; r < 4; r++) query[(d + r) * vecs + j] = x[r] * scale;
    }
    for (; d < ATTENTION_DIM; d++) {
      attention_vec x;
      ATTENTION_UNROLL for (int l = 0; l < ATTENTION_LANES; l++) x[l] = row[l][d];
      query[d * vecs + j] = x * scale;
    }
  }
}

INLINE void attention_store_results(const struct attention_state* s, float* out, int64_t rows,
                                    const int vecs) {
  for (int j = 0; j < vecs; j++) {
    // 0: only keys at -inf. The result is zero then.
    const attention_vec total = s->sum[j];
    const attention_int none = total == 0.0f;
    const attention_vec factor = 1.0f / total;
    const int64_t count = attention_least(ATTENTION_LANES, rows - j * ATTENTION_LANES);
    float* to = out + (int64_t)j * ATTENTION_LANES * ATTENTION_OUT_ROW;
    int64_t d = 0;
    ATTENTION_ROLLED for (; d + 4 <= ATTENTION_DIM; d += 4) {
      attention_vec x[4];
      ATTENTION_UNROLL for (int r = 0; r < 4; r++) x[r] =
          none ? (attention_vec)0.0f : s->result[(d + r) * vecs + j] * factor;
      attention_transpose(x);
      ATTENTION_UNROLL for (int g = 0; g < ATTENTION_LANES; g += 4) {
        ATTENTION_UNROLL for (int r = 0; r < 4; r++) {
          attention_quad part;
          ATTENTION_UNROLL for (int i = 0; i < 4; i++) part[i] = x[r][g + i];
          if (g + r < count) *(attention_quad_u*)(to + (g + r) * ATTENTION_OUT_ROW + d) = part;
        }
      }
    }
    for (; d < ATTENTION_DIM; d++) {
      const attention_vec x = none ? (attention_vec)0.0f : s->result[d * vecs + j] * factor;
      ATTENTION_UNROLL for (int l = 0; l < ATTENTION_LANES; l++) if (l < count)
          to[l * ATTENTION_OUT_ROW + d] = x[l];
    }
  }
}

// Scores become weights 2^(score - subtracted); sums go on from the rescaled ones.
INLINE void attention_weights(struct attention_state* s, int64_t keys, const int vecs) {
  attention_vec sum[4][2];
  ATTENTION_UNROLL for (int i = 0; i < 4; i++) ATTENTION_UNROLL for (int j = 0; j < vecs; j++) sum[i][j] =
      (attention_vec)0.0f;
  attention_vec subtracted[2];
  ATTENTION_UNROLL for (int j = 0; j < vecs; j++) subtracted[j] = s->subtracted[j];
  int64_t k = 0;
  ATTENTION_ROLLED for (; k + 4 <= keys; k += 4) {
    ATTENTION_UNROLL for (int i = 0; i < 4; i++) ATTENTION_UNROLL for (int j = 0; j < vecs; j++) {
      const attention_vec w = attention_exp2(s->scores[(k + i) * vecs + j] - subtracted[j]);
      s->scores[(k + i) * vecs + j] = w;
      sum[i][j] += w;
    }
  }
  ATTENTION_UNROLL for (int i = 0; i < 3; i++) {
    if (k + i < keys) {
      ATTENTION_UNROLL for (int j = 0; j < vecs; j++) {
        const attention_vec w = attention_exp2(s->scores[(k + i) * vecs + j] - subtracted[j]);
        s->scores[(k + i) * vecs + j] = w;
        sum[i][j] += w;
      }
    }
  }
  ATTENTION_UNROLL for (int j = 0; j < vecs; j++) s->sum[j] =
      attention_fma(s->sum[j], s->rescale[j], (sum[0][j] + sum[1][j]) + (sum[2][j] + sum[3][j]));
}

// Query rows q[rows], the first at position `first` of its sequence, against `keys` keys.
INLINE void attention_strip(const float* q, const float* key, const float* value, int64_t keys, int64_t first,
                            int64_t rows, float* out, struct attention_state* s, const int vecs) {
  const attention_vec lowest = -__builtin_inff();
  attention_load_queries(q, rows, s->query, vecs);
  ATTENTION_UNROLL for (int j = 0; j < vecs; j++) s->top[j] = lowest, s->sum[j] = (attention_vec)0.0f;
  for (int64_t i = 0; i < ATTENTION_DIM * vecs; i++) s->result[i] = (attention_vec)0.0f;
  const int64_t visible = ATTENTION_CAUSAL ? attention_least(keys, first + rows) : keys;
  for (int64_t k0 = 0; k0 < visible; k0 += ATTENTION_KEYS) {
    const int64_t count = attention_least(ATTENTION_KEYS, visible - k0);
    attention_vec top[2];
    ATTENTION_UNROLL for (int j = 0; j < vecs; j++) top[j] = s->top[j];
    int64_t done = 0;
    for (int64_t tiles = (count + ATTENTION_HEIGHT - 1) / ATTENTION_HEIGHT; tiles > 0; tiles--) {
      const int64_t tall = (count - done + tiles - 1) / tiles;
      const float* from = key + (k0 + done) * ATTENTION_K_ROW;
      switch (tall) { ATTENTION_SWITCH(scores, from, s->query, s->scores + done * vecs, top) }
      done += tall;
    }
#if ATTENTION_CAUSAL
    const int hidden = k0 + count > first + 1;  // some query does not see all keys of the block
    attention_int position[2];
    if (hidden) {
      ATTENTION_UNROLL for (int j = 0; j < vecs; j++) {
        ATTENTION_UNROLL for (int l = 0; l < ATTENTION_LANES; l++) position[j][l] =
            (int)(first - k0) + j * ATTENTION_LANES + l;
        top[j] = s->top[j];
        for (int64_t k = 0; k < count; k++) {
          const attention_vec x = position[j] >= (int)k ? s->scores[k * vecs + j] : lowest;
          s->scores[k * vecs + j] = x;
          top[j] = attention_max(x, top[j]);
        }
      }
    }
#endif
    ATTENTION_UNROLL for (int j = 0; j < vecs; j++) {
      // Nothing but -inf so far: any number gives weights of 0.
      s->subtracted[j] = top[j] == lowest ? (attention_vec)0.0f : top[j];
      s->rescale[j] = attention_exp2(s->top[j] - s->subtracted[j]);
      s->top[j] = top[j];
    }
    attention_weights(s, count, vecs);
    const float* from = value + k0 * ATTENTION_V_ROW;
#if ATTENTION_CAUSAL
    if (hidden) {
      attention_hidden_values(from, s->scores, count, s->rescale, position, s->result, vecs);
      continue;
    }
#endif
    done = 0;
    for (int64_t tiles = (ATTENTION_DIM + ATTENTION_HEIGHT - 1) / ATTENTION_HEIGHT; tiles > 0; tiles--) {
      const int64_t tall = (ATTENTION_DIM - done + tiles - 1) / tiles;
      switch (tall) {
        ATTENTION_SWITCH(values, from + done, s->scores, count, s->rescale, s->result + done * vecs)
      }
      done += tall;
    }
  }
  attention_store_results(s, out, rows, vecs);
}

static __attribute__((noinline)) void attention_one(const float* q, const float* key, const float* value,
                                                    int64_t keys, int64_t first, int64_t rows, float* out,
                                                    struct attention_state* s) {
  attention_strip(q, key, value, keys, first, rows, out, s, 1);
}
static __attribute__((noinline)) void attention_two(const float* q, const float* key, const float* value,
                                                    int64_t keys, int64_t first, int64_t rows, float* out,
                                                    struct attention_state* s) {
  attention_strip(q, key, value, keys, first, rows, out, s, 2);
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
      (rows <= ATTENTION_LANES ? attention_one : attention_two)(q, key, value, keys, first, rows, out,
                                                                scratch);
    }
  }
}

#ifndef EDGE_PRELUDE
void k(const struct Ctx* c, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
  (void)n0, (void)n1;
  attention(c, m0, m1, scratch);
}
#endif
