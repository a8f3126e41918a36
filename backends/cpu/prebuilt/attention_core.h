// softmax(q k^T * scale) v of up to 32 query rows of one head, over keys in blocks of 64 (class f32.k1.kb64):
// what varlen_attention and scaled_dot_product_attention share.
//
// Every row has its own running maximum, rescale and sum, and reads no other row's values, so a row's bits
// depend on its query and its keys alone, not on the block that it is computed in. Key blocks are counted
// from key 0.
#pragma once

#include "backends/cpu/prebuilt/gemm_tile.h"
#include "backends/cpu/prebuilt/transpose.h"
#include "backends/cpu/prebuilt/vmath.h"

namespace edge_infer::EDGE_ISA {

inline constexpr int64_t kKeyBlock = 64;
inline constexpr int64_t kQueryRows = 32;
// Floats of scratch for packed keys and values. A whole (sequence, head) that fits stays packed for all its
// query rows.
inline constexpr int64_t kPackedFloats = 160 * 1024;
inline constexpr float kMinusInfinity = -__builtin_inff();

struct AttentionScratch {
  float scores[kQueryRows * kKeyBlock];
  float lane_sums[kQueryRows * kLanes];  // running sums of exp: sixteen lanes a row
  float maximum[kQueryRows];
  float raised[kQueryRows];
  float sum_factor[kQueryRows];
  float rescale[kQueryRows];
  float packed[kPackedFloats];
};

// One head's keys and values.
struct KeysValues {
  const float* k;
  int64_t k_stride;  // floats between keys
  int64_t dim;       // of queries and keys
  const float* v;
  int64_t v_stride;
  int64_t value_dim;
  int64_t count;  // keys
};

EDGE_INLINE int64_t round_up(int64_t x, int64_t to) {
  return (x + to - 1) / to * to;
}
EDGE_INLINE int64_t packed_key_floats(const KeysValues& kv) {
  return kv.dim * kKeyBlock;
}
EDGE_INLINE int64_t packed_value_floats(const KeysValues& kv) {
  return round_up(kv.value_dim, kPanel) * kKeyBlock;
}
EDGE_INLINE int64_t key_blocks(const KeysValues& kv) {
  return (kv.count + kKeyBlock - 1) / kKeyBlock;
}
EDGE_INLINE bool fits_packed(const KeysValues& kv) {
  return key_blocks(kv) * (packed_key_floats(kv) + packed_value_floats(kv)) <= kPackedFloats;
}

// Dimensions [d0, d0 + depth) of a key block as [depth][64]; keys beyond the last are zero.
EDGE_NOINLINE void pack_keys(const KeysValues& kv, int64_t key, int64_t d0, int64_t depth, float* out) {
  const int64_t count = smaller(kKeyBlock, kv.count - key);
  if (count < kKeyBlock)
    for (int64_t d = 0; d < depth; ++d)
      for (int64_t i = count; i < kKeyBlock; ++i) out[d * kKeyBlock + i] = 0.0F;
  transpose(kv.k + key * kv.k_stride + d0, kv.k_stride, count, depth, out, kKeyBlock);
}

// Columns [column, column + kPanel) of a value block as [64][kPanel]; columns beyond the last are zero.
EDGE_INLINE void pack_value_panel(const KeysValues& kv, int64_t key, int64_t column, float* out) {
  const int64_t count = smaller(kKeyBlock, kv.count - key), columns = kv.value_dim - column;
  for (int64_t i = 0; i < count; ++i) {
    const float* row = kv.v + (key + i) * kv.v_stride + column;
    EDGE_UNROLL for (int j = 0; j < kPanelParts; ++j) store_part(
        out + i * kPanel + j * kPartLanes, load_part(row + j * kPartLanes, columns - j * kPartLanes));
  }
}
EDGE_NOINLINE void pack_values(const KeysValues& kv, int64_t key, float* out) {
  for (int64_t column = 0; column < kv.value_dim; column += kPanel)
    pack_value_panel(kv, key, column, out + column * kKeyBlock);
}

// Packs all blocks one after another, each keys then values. Only when fits_packed.
EDGE_INLINE void pack_all(const KeysValues& kv, AttentionScratch* s) {
  float* out = s->packed;
  for (int64_t key = 0; key < kv.count; key += kKeyBlock) {
    pack_keys(kv, key, 0, kv.dim, out);
    pack_values(kv, key, out + packed_key_floats(kv));
    out += packed_key_floats(kv) + packed_value_floats(kv);
  }
}

// scores[row][key] = q . k * scale: the chain ascends over the dimension, then one multiplication.
template <int MR>
EDGE_NOINLINE void score_tile(const Tile& tile, bool resume, bool last, float scale) {
  const f32p factor = splat_part(scale);
  run_tile<MR, 1, false>(
      tile,
      [resume](int, const float* c, int64_t)
          __attribute__((always_inline)) { return resume ? load_part(c) : f32p{}; },
      [last, factor](int, int, f32p value)
          __attribute__((always_inline)) { return last ? value * factor : value; });
}
EDGE_INLINE void scores(const float* q, int64_t q_stride, int64_t rows, const float* packed, int64_t depth,
                        int64_t count, bool resume, bool last, float scale, float* out) {
  for (int64_t n = 0; n < count; n += kPanel)
    for_row_tiles(rows, [&](int64_t m, int64_t height) __attribute__((always_inline)) {
      with_rows(height, [&]<int MR>() __attribute__((always_inline)) {
        const Tile tile = {q + m * q_stride,        q_stride,  packed + n, kKeyBlock, 0, depth,
                           out + m * kKeyBlock + n, kKeyBlock, kPanel};
        score_tile<MR>(tile, resume, last, scale);
      });
    });
}

// out = out * rescale[row] + p v: the chain ascends over the keys of the block.
template <int MR>
EDGE_NOINLINE void value_tile(const Tile& tile, const float* rescale) {
  run_tile<MR, 1, false>(
      tile,
      [rescale](int row, const float* c, int64_t lanes) __attribute__((always_inline)) {
        // The first block's rescale is 0, and what lies in the output then is not a number of ours.
        return rescale[row] == 0.0F ? f32p{} : load_part(c, lanes) * splat_part(rescale[row]);
      },
      [](int, int, f32p value) __attribute__((always_inline)) { return value; });
}
EDGE_INLINE void weighted_values(const float* p, int64_t rows, const float* panel, int64_t keys,
                                 const float* rescale, float* out, int64_t out_stride, int64_t columns) {
  for_row_tiles(rows, [&](int64_t m, int64_t height) __attribute__((always_inline)) {
    with_rows(height, [&]<int MR>() __attribute__((always_inline)) {
      const Tile tile = {p + m * kKeyBlock,    kKeyBlock,  panel,  kPanel, 0, keys,
                         out + m * out_stride, out_stride, columns};
      value_tile<MR>(tile, rescale + m);
    });
  });
}

// Sixteen scores of a row from `key` on, those from `count` on -inf.
EDGE_INLINE F32 load_scores(const float* row, int64_t key, int64_t count) {
  const F32 x = load(row + key);
  return count - key >= kLanes ? x : select(first_lanes(count - key), x, splat(kMinusInfinity));
}

EDGE_INLINE float largest_score(const float* row, int64_t count) {
  F32 top = splat(kMinusInfinity);
  for (int64_t j = 0; j < count; j += kLanes) top = max_or_second(top, load_scores(row, j, count));
  return fold_largest(top);
}

// From the largest score of the block in s->raised: the new maximum of sixteen rows, what exp subtracts, and
// the factors of what was summed before. Lane by lane: rows do not mix.
EDGE_INLINE void raise_maximum(AttentionScratch* s, int64_t row) {
  const F32 low = splat(kMinusInfinity);
  const F32 old = load(s->maximum + row), raised = load(s->raised + row);
  const F32 now = select(raised > old, raised, old);
  // Nothing but -inf so far: any number gives exp = 0.
  const F32 subtracted = select(now == low, zeros(), now);
  const F32 factor = exp_or_zero(old - subtracted);
  store(s->maximum + row, now);
  store(s->raised + row, subtracted);
  store(s->sum_factor + row, select(old == low, splat(1.0F), factor));
  // 0 also says that nothing of ours lies in the output yet.
  store(s->rescale + row, select(old == low, zeros(), factor));
}

// The first `count` scores become exp(score - maximum) and go into the row's sixteen running sums.
EDGE_INLINE void exponentiate(AttentionScratch* s, int64_t row, int64_t count) {
  float* score = s->scores + row * kKeyBlock;
  const F32 subtracted = splat(s->raised[row]);
  F32 sum = zeros();
  for (int64_t j = 0; j < count; j += kLanes) {
    const F32 weight = exp_or_zero(load_scores(score, j, count) - subtracted);
    store(score + j, weight);
    sum += weight;
  }
  float* sums = s->lane_sums + row * kLanes;
  store(sums, fma(load(sums), splat(s->sum_factor[row]), sum));
}

// Rows q[rows][dim] against all keys; `out` rows (value_dim floats) are written and used as accumulators.
// Causal: row i sees keys 0 .. first_row + i. Bias(row, key, scores of the row from key on, keys) may change
// scores. `packed`: pack_all was called for these keys.
template <class Bias>
EDGE_INLINE void attend(const KeysValues& kv, const float* q, int64_t q_stride, int64_t rows, float scale,
                        bool causal, int64_t first_row, bool packed, float* out, int64_t out_stride,
                        AttentionScratch* s, Bias bias) {
  for (int64_t i = 0; i < kQueryRows; ++i) s->maximum[i] = s->raised[i] = kMinusInfinity;
  for (int64_t i = 0; i < rows; ++i) store(s->lane_sums + i * kLanes, zeros());
  const int64_t visible = causal ? smaller(kv.count, first_row + rows) : kv.count;
  const int64_t block_floats = packed_key_floats(kv) + packed_value_floats(kv);
  for (int64_t key = 0; key < visible; key += kKeyBlock) {
    const int64_t count = smaller(kKeyBlock, visible - key);
    const float* block = s->packed + (packed ? key / kKeyBlock * block_floats : 0);
    if (packed) {
      scores(q, q_stride, rows, block, kv.dim, count, false, true, scale, s->scores);
    } else {
      constexpr int64_t kDepth = 512;
      for (int64_t d = 0; d < kv.dim; d += kDepth) {
        const int64_t depth = smaller(kDepth, kv.dim - d);
        pack_keys(kv, key, d, depth, s->packed);
        scores(q + d, q_stride, rows, s->packed, depth, count, d != 0, d + depth == kv.dim, scale, s->scores);
      }
    }
    // Keys that every row of the block sees; beyond them (causal) each row has its own number.
    const bool diagonal = causal && key + count > first_row + 1;
    const auto seen_keys = [=](int64_t row) __attribute__((always_inline)) {
      return diagonal ? larger<int64_t>(0, smaller(count, first_row + row + 1 - key)) : count;
    };
    for (int64_t i = 0; i < rows; ++i) {
      float* row = s->scores + i * kKeyBlock;
      const int64_t seen = seen_keys(i);
      bias(i, key, row, seen);
      s->raised[i] = largest_score(row, seen);
    }
    for (int64_t i = 0; i < rows; i += kLanes) raise_maximum(s, i);
    for (int64_t i = 0; i < rows; ++i) exponentiate(s, i, seen_keys(i));
    for (int64_t column = 0; column < kv.value_dim; column += kPanel) {
      const float* panel = block + packed_key_floats(kv) + column * kKeyBlock;
      if (!packed) {
        pack_value_panel(kv, key, column, s->packed);
        panel = s->packed;
      }
      const int64_t columns = kv.value_dim - column;
      if (!diagonal) {
        weighted_values(s->scores, rows, panel, count, s->rescale, out + column, out_stride, columns);
        continue;
      }
      // A hidden key has weight 0, and 0 times its value may still be NaN: rows stop at their own last key.
      for (int64_t i = 0; i < rows; ++i) {
        if (const int64_t seen = seen_keys(i); seen > 0)
          weighted_values(s->scores + i * kKeyBlock, 1, panel, seen, s->rescale + i,
                          out + i * out_stride + column, out_stride, columns);
      }
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    // 0: no key, or only keys at -inf. The output is zero then.
    const float total = fold_sum(load(s->lane_sums + i * kLanes));
    const F32 factor = splat(total == 0.0F ? 0.0F : 1.0F / total);
    float* o = out + i * out_stride;
    int64_t d = 0;
    if (total != 0.0F)
      for (; d + kLanes <= kv.value_dim; d += kLanes) store(o + d, load(o + d) * factor);
    for (; d < kv.value_dim; d += kLanes) {
      const int64_t n = smaller<int64_t>(kLanes, kv.value_dim - d);
      store(o + d, total == 0.0F ? zeros() : load(o + d, n) * factor, n);
    }
  }
}

}  // namespace edge_infer::EDGE_ISA
