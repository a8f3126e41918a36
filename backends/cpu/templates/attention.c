// softmax(q k^T * scale) v of packed sequences. A unit is up to ATTENTION_BLOCK_ROWS query rows of one
// sequence; the heads * units work items of a sequence are counted head by head. The list has all units of
// each sequence.
//
// Queries lie across the lanes: scores, weights and results are computed transposed, so that an element of a
// key or value meets a register of queries and the softmax of a row is vertical arithmetic of one lane.
// Lanes never meet.
//
// Class f32.k1.kb72: keys go in blocks of 72 from key 0. A query has a reference that its scores are counted
// from (chains of fma over the dimension): the largest score of the first block, until a block's weights add
// up to more than ATTENTION_ENOUGH, which raises it to the largest score of that block. A block's sum of
// weights is one chain; results are chains of fma over all keys, rescaled where the reference is raised.
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
#define ATTENTION_NOINLINE static __attribute__((noinline))
#define ATTENTION_KEYS 72         // of a block: part of the class, a multiple of every height
#define ATTENTION_ENOUGH 0x1p16f  // so is this

// Keys of one head that stay packed for all query rows of the range: half of an L2 cache with their values.
// attention_scratch_bytes() knows the same numbers.
#define ATTENTION_BLOCKS (32768 / ATTENTION_DIM / ATTENTION_KEYS)
#define ATTENTION_RESIDENT ((ATTENTION_BLOCKS > 0 ? ATTENTION_BLOCKS : 1) * ATTENTION_KEYS)

// One register of queries; the patterns interleave two registers inside of each 128 bits.
#if defined(__AVX512F__)
#define ATTENTION_LANES 16
#define ATTENTION_HEIGHT 8
#define ATTENTION_EACH(f, x) f(0, x) f(1, x) f(2, x) f(3, x) f(4, x) f(5, x) f(6, x) f(7, x)
#define ATTENTION_PATTERN(a, b, c, d) \
  a, b, c, d, a + 4, b + 4, c + 4, d + 4, a + 8, b + 8, c + 8, d + 8, a + 12, b + 12, c + 12, d + 12
#elif defined(__AVX2__)
#define ATTENTION_LANES 8
#define ATTENTION_HEIGHT 6
#define ATTENTION_EACH(f, x) f(0, x) f(1, x) f(2, x) f(3, x) f(4, x) f(5, x)
#define ATTENTION_PATTERN(a, b, c, d) a, b, c, d, a + 4, b + 4, c + 4, d + 4
#else
#define ATTENTION_LANES 4
#define ATTENTION_HEIGHT 6
#define ATTENTION_EACH(f, x) f(0, x) f(1, x) f(2, x) f(3, x) f(4, x) f(5, x)
#define ATTENTION_PATTERN(a, b, c, d) a, b, c, d
#endif
typedef float attention_vec __attribute__((ext_vector_type(ATTENTION_LANES)));
typedef attention_vec attention_vec_u __attribute__((aligned(4)));
typedef int attention_int __attribute__((ext_vector_type(ATTENTION_LANES)));
typedef float attention_quad __attribute__((ext_vector_type(4)));
typedef attention_quad attention_quad_u __attribute__((aligned(4)));

#if defined(__FMA__) || defined(__AVX512F__)
#define ATTENTION_FMA(a, b, c) __builtin_elementwise_fma(a, b, c)
#else
#define ATTENTION_FMA(a, b, c) ((a) * (b) + (c))
#endif

// 2^x within 2.5 ulp, more than ATTENTION_ENOUGH from 127 on, 0 below 2^-126, NaN for NaN.
INLINE attention_vec attention_exp2(attention_vec x) {
#if defined(__AVX512DQ__)
  // x less its floor, which scalef adds again. Results below 2^-126 are flushed by the control register.
  const attention_vec r = (attention_vec)__builtin_ia32_reduceps512_mask(x, 1, x, (unsigned short)-1, 4);
  attention_vec p = ATTENTION_FMA((attention_vec)0x1.e974fep-10f, r, (attention_vec)0x1.277854p-7f);
  p = ATTENTION_FMA(p, r, (attention_vec)0x1.c91ce6p-5f);
  p = ATTENTION_FMA(p, r, (attention_vec)0x1.ebdb56p-3f);
  p = ATTENTION_FMA(p, r, (attention_vec)0x1.62e4bap-1f);
  p = ATTENTION_FMA(p, r, (attention_vec)1.0f);
  return (attention_vec)__builtin_ia32_scalefps512_mask(p, x, x, (unsigned short)-1, 4);
#else
  x = x > 127.0f ? (attention_vec)127.0f : x;
  const attention_vec magic = 12582912.0f;  // adding it rounds to a whole number, in the low bits of the sum
  const attention_vec shifted = x + magic, n = shifted - magic, r = x - n;
  attention_vec p = ATTENTION_FMA((attention_vec)0x1.5ab438p-10f, r, (attention_vec)0x1.3ceca0p-7f);
  p = ATTENTION_FMA(p, r, (attention_vec)0x1.c6baa2p-5f);
  p = ATTENTION_FMA(p, r, (attention_vec)0x1.ebf9b4p-3f);
  p = ATTENTION_FMA(p, r, (attention_vec)0x1.62e424p-1f);
  p = ATTENTION_FMA(p, r, (attention_vec)1.0f);
  p *= (attention_vec)(((attention_int)shifted << 23) + 0x3f800000);
  return x < -126.0f ? (attention_vec)0.0f : p;
#endif
}

// Rows of four registers become columns, within each 128 bits.
INLINE void attention_turn(attention_vec x[4]) {
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

// Four floats each of rows 0, 4, ... side by side.
INLINE attention_vec attention_join(const float* from, int64_t stride) {
#define ATTENTION_QUAD(i) (*(const attention_quad_u*)(from + 4 * (i) * stride))
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

// to[c][r] = from[r][c] * scale, for a multiple of ATTENTION_LANES rows and of four columns.
ATTENTION_NOINLINE void attention_transpose(const float* from, int64_t stride, int64_t rows, int64_t columns,
                                            float* to, int64_t to_stride, float scale) {
  ATTENTION_ROLLED for (int64_t r = 0; r < rows; r += ATTENTION_LANES) {
    ATTENTION_ROLLED for (int64_t c = 0; c < columns; c += 4) {
      const float* at = from + r * stride + c;
      attention_vec x[4] = {attention_join(at, stride), attention_join(at + stride, stride),
                            attention_join(at + 2 * stride, stride), attention_join(at + 3 * stride, stride)};
      attention_turn(x);
      float* out = to + c * to_stride + r;
      *(attention_vec*)out = x[0] * scale;
      *(attention_vec*)(out + to_stride) = x[1] * scale;
      *(attention_vec*)(out + 2 * to_stride) = x[2] * scale;
      *(attention_vec*)(out + 3 * to_stride) = x[3] * scale;
    }
  }
}

INLINE int64_t attention_least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// Tiles of `rows` rows.
INLINE int64_t attention_tiles(int64_t rows) {
  return (rows + ATTENTION_HEIGHT - 1) / ATTENTION_HEIGHT;
}

#define ATTENTION_STRIP (2 * ATTENTION_LANES)
#define ATTENTION_PITCH ((ATTENTION_DIM + ATTENTION_LANES - 1) / ATTENTION_LANES * ATTENTION_LANES)
// Values and results have whole tiles of dimensions; what lies beyond the last one is not used.
#define ATTENTION_TILES ((ATTENTION_DIM + ATTENTION_HEIGHT - 1) / ATTENTION_HEIGHT)
#define ATTENTION_VALUE (ATTENTION_TILES * ATTENTION_HEIGHT)

// Keys of a block, transposed, in whole registers.
#define ATTENTION_KEY_PITCH ((ATTENTION_KEYS + ATTENTION_LANES - 1) / ATTENTION_LANES * ATTENTION_LANES)
#define ATTENTION_KEY_BLOCK (ATTENTION_KEY_PITCH * ATTENTION_DIM)

// Rows of two tensors to bring into L2, one of each in a tile: no hardware prefetcher follows rows that lie
// pages apart, and many at once would wait for each other.
struct attention_fetch {
  const float* row[2];
  int64_t stride[2];
  int64_t rows;
};
ATTENTION_NOINLINE void attention_fetch_row(struct attention_fetch* f) {
  f->rows--;
  ATTENTION_ROLLED for (int64_t i = 0; i < 2; i++) {
    for (int64_t d = 0; d < ATTENTION_DIM; d += 16) __builtin_prefetch(f->row[i] + d, 0, 2);
    f->row[i] += f->stride[i];
  }
}

// Of a strip of up to 2 * ATTENTION_LANES queries: every line is one dimension or key of all of them.
struct attention_state {
  attention_vec zero[2], reference[2];
  attention_vec sum[2];        // of weights before this block
  attention_vec block_sum[2];  // of weights of this block; infinity before the first
  struct attention_fetch inputs, outputs;
#if ATTENTION_CAUSAL
  attention_int position[2];  // of the queries, counted from the first key of the block
#endif
  attention_vec scores[ATTENTION_KEYS * 2];                        // [key][2], then the weights
  attention_vec query[ATTENTION_PITCH * 2];                        // [dimension][2], times scale * log2(e)
  attention_vec result[(ATTENTION_PITCH + ATTENTION_HEIGHT) * 2];  // [dimension][2]
  float rows[ATTENTION_STRIP * ATTENTION_PITCH];                   // [query][dimension], before and after
  float keys[ATTENTION_RESIDENT / ATTENTION_KEYS * ATTENTION_KEY_BLOCK];  // [block][dimension][key]
  float values[ATTENTION_RESIDENT * ATTENTION_VALUE];
};
#ifdef ATTENTION_SCRATCH_BYTES
_Static_assert(sizeof(struct attention_state) <= ATTENTION_SCRATCH_BYTES, "attention_scratch_bytes()");
#endif

// out[tiles * height][2] = init + the sum over n of x[n][tiles * height] * factor[n][2], where rows of x are
// `along` apart.
struct attention_product {
  const float* x;
  int64_t along, end;  // end = n * along
  const attention_vec *factor, *init;
  int64_t init_step;  // from one row to the next
  attention_vec* out;
  struct attention_fetch* fetch;
};
// Written out: clang takes longer over loops that it has to unroll.
#define ATTENTION_BEGIN(i, vecs)      \
  attention_vec a##i = init[0], b##i; \
  if ((vecs) == 2) b##i = init[1];    \
  init += step;
#define ATTENTION_ADD(i, vecs)                               \
  {                                                          \
    const attention_vec element = at[i];                     \
    a##i = ATTENTION_FMA(element, a, a##i);                  \
    if ((vecs) == 2) b##i = ATTENTION_FMA(element, b, b##i); \
  }
#define ATTENTION_END(i, vecs) \
  out[i * 2] = a##i;           \
  if ((vecs) == 2) out[i * 2 + 1] = b##i;
#define ATTENTION_STEP(vecs)                                            \
  {                                                                     \
    const attention_vec a = factor[0], b = (vecs) == 2 ? factor[1] : a; \
    factor += 2;                                                        \
    ATTENTION_EACH(ATTENTION_ADD, vecs)                                 \
    at += along;                                                        \
  }
// Two steps at a time on avx512, where what counts them takes ports of the multiplications.
#define ATTENTION_PRODUCT(name, vecs)                                              \
  ATTENTION_NOINLINE void name(const struct attention_product* p, int64_t tiles) { \
    const float* x = p->x;                                                         \
    const attention_vec* init = p->init;                                           \
    attention_vec* out = p->out;                                                   \
    const int64_t along = p->along, step = p->init_step;                           \
    ATTENTION_ROLLED do {                                                          \
      if (p->fetch->rows > 0) attention_fetch_row(p->fetch);                       \
      const attention_vec* factor = p->factor;                                     \
      const float *at = x, *end = x + p->end;                                      \
      ATTENTION_EACH(ATTENTION_BEGIN, vecs)                                        \
      if ((vecs) * ATTENTION_LANES == 32) {                                        \
        ATTENTION_ROLLED while (end - at > along) {                                \
          ATTENTION_STEP(vecs);                                                    \
          ATTENTION_STEP(vecs);                                                    \
        }                                                                          \
      }                                                                            \
      ATTENTION_ROLLED while (at != end) ATTENTION_STEP(vecs);                     \
      ATTENTION_EACH(ATTENTION_END, vecs)                                          \
      x += ATTENTION_HEIGHT;                                                       \
      out += ATTENTION_HEIGHT * 2;                                                 \
    }                                                                              \
    while (--tiles);                                                               \
  }
ATTENTION_PRODUCT(attention_product_1, 1)
ATTENTION_PRODUCT(attention_product_2, 2)

INLINE void attention_multiply(const struct attention_product* p, int64_t tiles, int64_t vecs) {
  if (vecs == 1)
    attention_product_1(p, tiles);
  else
    attention_product_2(p, tiles);
}

// Scores become weights, which are added up.
ATTENTION_NOINLINE void attention_weights(struct attention_state* s, int64_t keys) {
  const attention_vec reference = s->reference[0], reference2 = s->reference[1];
  attention_vec sum = 0.0f, sum2 = 0.0f, *at = s->scores;
  ATTENTION_ROLLED for (; keys > 0; keys--) {
    const attention_vec w = attention_exp2(at[0] - reference), w2 = attention_exp2(at[1] - reference2);
    at[0] = w, at[1] = w2;
    sum += w, sum2 += w2;
    at += 2;
  }
  s->block_sum[0] = sum, s->block_sum[1] = sum2;
}

// Lines of ATTENTION_DIM of a strip times a factor a query.
ATTENTION_NOINLINE void attention_scale(attention_vec* line, attention_vec a, attention_vec b) {
  ATTENTION_ROLLED for (int64_t d = 0; d < ATTENTION_DIM; d++) {
    line[0] *= a;
    line[1] *= b;
    line += 2;
  }
}

// Lanes whose reference does not fit the block: too much weight, or none so far.
INLINE attention_int attention_misfit(const struct attention_state* s, int j) {
  return ~(s->block_sum[j] <= ATTENTION_ENOUGH) | ~(s->sum[j] + s->block_sum[j] >= 0.5f);
}

INLINE int attention_fits(const struct attention_state* s, int64_t vecs) {
  attention_int misfit = attention_misfit(s, 0);
  if (vecs == 2) misfit |= attention_misfit(s, 1);
  return !__builtin_reduce_or(misfit);
}

// Raises the references of lanes that do not fit to their largest score; the others keep all bits. `rows`:
// the keys of whole tiles, of which those beyond the last repeat it or are hidden. `started`: there are
// results.
#define ATTENTION_RAISE(top, x) top = (x) > top ? (x) : top
ATTENTION_NOINLINE void attention_raise(struct attention_state* s, int64_t rows, int started) {
  attention_vec a = -__builtin_inff(), b = a, c = a, d = a;
  const attention_vec *x = s->scores, *end = x + rows * 2;
  ATTENTION_ROLLED for (; x != end; x += 4) {
    ATTENTION_RAISE(a, x[0]);
    ATTENTION_RAISE(b, x[1]);
    ATTENTION_RAISE(c, x[2]);
    ATTENTION_RAISE(d, x[3]);
  }
  ATTENTION_RAISE(a, c);
  ATTENTION_RAISE(b, d);
  attention_vec top[2] = {a, b}, rescale[2];
  ATTENTION_ROLLED for (int j = 0; j < 2; j++) {
    // Nothing but -inf so far: any reference gives weights of 0.
    const attention_int moves = attention_misfit(s, j) & (top[j] > -__builtin_inff());
    const attention_vec old = s->reference[j], now = moves ? top[j] : old;
    rescale[j] = s->sum[j] == 0.0f ? (attention_vec)0.0f : attention_exp2(old - now);
    s->reference[j] = now;
    s->sum[j] *= rescale[j];
  }
  if (started) attention_scale(s->result, rescale[0], rescale[1]);
}

// Copies rows of ATTENTION_DIM; rows from `rows` to `all` repeat the last one.
ATTENTION_NOINLINE void attention_copy(const float* from, int64_t stride, int64_t rows, float* to,
                                       int64_t to_stride, int64_t all) {
  ATTENTION_ROLLED for (; all > 0; all--) {
    ATTENTION_UNROLL for (int d = 0; d < ATTENTION_DIM / ATTENTION_LANES * ATTENTION_LANES;
                          d += ATTENTION_LANES) {
      *(attention_vec_u*)(to + d) = *(const attention_vec_u*)(from + d);
    }
#if ATTENTION_DIM % ATTENTION_LANES != 0
    ATTENTION_ROLLED for (int d = ATTENTION_DIM / ATTENTION_LANES * ATTENTION_LANES; d < ATTENTION_DIM; d++)
        to[d] = from[d];
#endif
    rows--;
    from += rows > 0 ? stride : 0;
    to += to_stride;
  }
}

#if ATTENTION_CAUSAL
// Adds the values of keys from `from` on, which only queries at or beyond them see: a hidden key has weight
// 0, and 0 times its value may still be NaN, so lanes that do not see it are left alone. `none`: there are no
// results yet.
ATTENTION_NOINLINE void attention_values_seen(struct attention_state* s, const float* value, int64_t from,
                                              int64_t keys, int none) {
  if (none) {
    ATTENTION_ROLLED for (int64_t i = 0; i < ATTENTION_DIM * 2; i++) s->result[i] = (attention_vec)0.0f;
  }
  ATTENTION_ROLLED for (int64_t k = from; k < keys; k++) {
    const attention_int a = s->position[0] >= (int)k, b = s->position[1] >= (int)k;
    const attention_vec x = s->scores[k * 2], y = s->scores[k * 2 + 1];
    attention_vec* out = s->result;
    ATTENTION_ROLLED for (int64_t d = 0; d < ATTENTION_DIM; d++) {
      const attention_vec element = value[k * ATTENTION_VALUE + d];
      out[0] = a ? ATTENTION_FMA(element, x, out[0]) : out[0];
      out[1] = b ? ATTENTION_FMA(element, y, out[1]) : out[1];
      out += 2;
    }
  }
}

// Scores of keys that a query does not see become -inf.
ATTENTION_NOINLINE void attention_hide(struct attention_state* s, int64_t first, int64_t rows) {
  ATTENTION_ROLLED for (int64_t j = 0; j < 2; j++) {
    attention_int position;
    ATTENTION_UNROLL for (int l = 0; l < ATTENTION_LANES; l++) position[l] = l;
    position += (int)(first + j * ATTENTION_LANES);
    s->position[j] = position;
    ATTENTION_ROLLED for (int64_t k = 0; k < rows; k++) {
      attention_vec* x = s->scores + k * 2 + j;
      *x = position >= (int)k ? *x : (attention_vec)-__builtin_inff();
    }
  }
}
#endif

// Keys and values of one head; `packed`: they lie in the state, all of them.
struct attention_head {
  const float *key, *value;
  int64_t keys;
  int packed;
};

// Keys and values from key `from` on; whole tiles of keys, of which those beyond the last repeat it.
ATTENTION_NOINLINE void attention_pack(const struct attention_head* h, int64_t from, int64_t keys,
                                       struct attention_state* s) {
  float* block = s->keys;
  for (int64_t k = 0; k < keys; k += ATTENTION_KEYS) {
    const int64_t count = attention_least(ATTENTION_KEYS, keys - k);
    for (int64_t i = 0; i < attention_tiles(count) * ATTENTION_HEIGHT; i += ATTENTION_LANES) {
      const int64_t at = attention_least(i, count - 1);
      attention_copy(h->key + (from + k + at) * ATTENTION_K_ROW, ATTENTION_K_ROW,
                     attention_least(ATTENTION_LANES, count - at), s->rows, ATTENTION_PITCH, ATTENTION_LANES);
      attention_transpose(s->rows, ATTENTION_PITCH, ATTENTION_LANES, ATTENTION_DIM, block + i,
                          ATTENTION_KEY_PITCH, 1.0f);
    }
    block += ATTENTION_KEY_BLOCK;
  }
  attention_copy(h->value + from * ATTENTION_V_ROW, ATTENTION_V_ROW, keys, s->values, ATTENTION_VALUE, keys);
}

// Query rows q[rows], the first at position `first` of its sequence.
ATTENTION_NOINLINE void attention_strip(const float* q, const struct attention_head* h, int64_t first,
                                        int64_t rows, float* out, struct attention_state* s) {
  const int64_t vecs = rows <= ATTENTION_LANES ? 1 : 2;
  attention_copy(q, ATTENTION_Q_ROW, rows, s->rows, ATTENTION_PITCH, vecs * ATTENTION_LANES);
  attention_transpose(s->rows, ATTENTION_PITCH, vecs * ATTENTION_LANES, ATTENTION_DIM, (float*)s->query,
                      ATTENTION_STRIP, (float)((double)ATTENTION_SCALE * 1.4426950408889634));
  s->zero[0] = s->zero[1] = s->reference[0] = s->reference[1] = s->sum[0] = s->sum[1] = (attention_vec)0.0f;
  s->block_sum[0] = s->block_sum[1] = __builtin_inff();
  // What the next head reads, and what this strip writes. Short sequences are in a cache anyway.
  const int64_t fetch = h->keys > 2 * ATTENTION_KEYS ? rows : 0;
  s->inputs = (struct attention_fetch){
      {h->key + first * ATTENTION_K_ROW + ATTENTION_DIM, h->value + first * ATTENTION_V_ROW + ATTENTION_DIM},
      {ATTENTION_K_ROW, ATTENTION_V_ROW},
      fetch};
  s->outputs =
      (struct attention_fetch){{q + ATTENTION_DIM, out}, {ATTENTION_Q_ROW, ATTENTION_OUT_ROW}, fetch};
  const int64_t visible = ATTENTION_CAUSAL ? attention_least(h->keys, first + rows) : h->keys;
  for (int64_t k = 0; k < visible; k += ATTENTION_KEYS) {
    const int64_t count = attention_least(ATTENTION_KEYS, visible - k);
    const int64_t tiles = attention_tiles(count);
    const float* value = s->values + h->packed * k * ATTENTION_VALUE;
    if (!h->packed) attention_pack(h, k, count, s);
#if ATTENTION_CAUSAL
    const int hidden = k + tiles * ATTENTION_HEIGHT > first + 1;  // some query does not see all these keys
    const int64_t seen = attention_least(count, first + 1 - k), all = seen > 0 ? seen : 0;
#else
    const int64_t all = count;  // keys that all queries see
#endif
    const struct attention_product scores = {s->keys + h->packed * (k / ATTENTION_KEYS) * ATTENTION_KEY_BLOCK,
                                             ATTENTION_KEY_PITCH,
                                             ATTENTION_KEY_BLOCK,
                                             s->query,
                                             s->zero,
                                             0,
                                             s->scores,
                                             &s->inputs};
    const struct attention_product values = {value,
                                             ATTENTION_VALUE,
                                             all * ATTENTION_VALUE,
                                             s->scores,
                                             k == 0 ? s->zero : s->result,
                                             k == 0 ? 0 : 2,
                                             s->result,
                                             &s->outputs};
    // A block that finds references too low is computed again.
    for (int raise = k == 0;; raise = 1) {
      attention_multiply(&scores, tiles, vecs);
#if ATTENTION_CAUSAL
      if (hidden) attention_hide(s, first - k, tiles * ATTENTION_HEIGHT);
#endif
      if (raise) attention_raise(s, tiles * ATTENTION_HEIGHT, k > 0);
      attention_weights(s, count);
      if (raise || attention_fits(s, vecs)) break;
    }
    if (all > 0) attention_multiply(&values, ATTENTION_TILES, vecs);
#if ATTENTION_CAUSAL
    if (all < count) attention_values_seen(s, value, all, count, k + all == 0);
#endif
    s->sum[0] += s->block_sum[0], s->sum[1] += s->block_sum[1];
  }
  // A sum of 0: only keys at -inf. The result is zero then.
  const attention_vec *sum = s->sum, none = 0.0f;
  attention_scale(s->result, sum[0] == 0.0f ? none : 1.0f / sum[0], sum[1] == 0.0f ? none : 1.0f / sum[1]);
  attention_transpose((float*)s->result, ATTENTION_STRIP, ATTENTION_PITCH, rows, s->rows, ATTENTION_PITCH,
                      1.0f);
  attention_copy(s->rows, ATTENTION_PITCH, rows, out, ATTENTION_OUT_ROW, rows);
}

// The items of a sequence are taken head by head, so that keys and values are packed once for all its units.
static __attribute__((noinline, optnone)) void attention(const struct Ctx* c, int64_t m0, int64_t m1,
                                                         void* scratch) {
  const int32_t *cu = attention_cu(c), *units = attention_units(c);
  struct attention_state* s = scratch;
#if defined(__SSE__)
  // Numbers below 2^-126 become 0: they would take a hundred times as long.
  const unsigned control = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(control | 0x8040);
#endif
  for (int64_t m = m0; m < m1;) {
    const int32_t* unit = units + m / ATTENTION_HEADS * 2;
    const int64_t begin = cu[unit[0]];
    struct attention_head h;
    h.key = 0;
    h.keys = cu[unit[0] + 1] - begin;
    h.packed = h.keys <= ATTENTION_RESIDENT;
    const int64_t count = (h.keys + ATTENTION_BLOCK_ROWS - 1) / ATTENTION_BLOCK_ROWS;
    const int64_t base = (m / ATTENTION_HEADS - unit[1] / ATTENTION_BLOCK_ROWS) * ATTENTION_HEADS;
    const int64_t end = attention_least(m1, base + count * ATTENTION_HEADS);
    for (; m < end; m++) {
      const int64_t head = (m - base) / count, kv_head = head / (ATTENTION_HEADS / ATTENTION_KV_HEADS);
      const float* key = attention_k(c) + begin * ATTENTION_K_ROW + kv_head * ATTENTION_DIM;
      if (key != h.key) {
        h.key = key;
        h.value = attention_v(c) + begin * ATTENTION_V_ROW + kv_head * ATTENTION_DIM;
        if (h.packed) attention_pack(&h, 0, h.keys, s);
      }
      int64_t first = (m - base) % count * ATTENTION_BLOCK_ROWS;
      const int64_t last = attention_least(h.keys, first + ATTENTION_BLOCK_ROWS);
      for (; first < last; first += ATTENTION_STRIP) {
        attention_strip(attention_q(c) + (begin + first) * ATTENTION_Q_ROW + head * ATTENTION_DIM, &h, first,
                        attention_least(ATTENTION_STRIP, last - first),
                        attention_out(c) + (begin + first) * ATTENTION_OUT_ROW + head * ATTENTION_DIM, s);
      }
    }
  }
#if defined(__SSE__)
  __builtin_ia32_ldmxcsr(control);
#endif
}

#ifndef EDGE_PRELUDE
void k(const struct Ctx* c, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
  (void)n0, (void)n1;
  attention(c, m0, m1, scratch);
}
#endif
