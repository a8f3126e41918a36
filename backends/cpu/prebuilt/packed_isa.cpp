// What packed sequences need besides attention: embedding rows, positions, pooling. `cu` are the i32 offsets
// [B + 1] of the sequences, ascending from 0; empty sequences are allowed.
#include "backends/cpu/prebuilt/args.h"
#include "backends/cpu/prebuilt/registry.h"
#include "backends/cpu/prebuilt/tables.h"

namespace edge_infer::EDGE_ISA {
namespace {

// Rows are ids. kWiden: 16-bit rows are widened to f32.
enum class Row { kCopy, kF16, kBF16 };

template <Row kRow, int kBytes>
EDGE_INLINE void gather_row(const uint8_t* table, uint8_t* out, int64_t id, int64_t at, int64_t n) {
  if constexpr (kRow == Row::kCopy) {
    __builtin_memcpy(out + at * n * kBytes, table + id * n * kBytes, static_cast<size_t>(n * kBytes));
  } else {
    const uint16_t* in = reinterpret_cast<const uint16_t*>(table) + id * n;
    float* o = reinterpret_cast<float*>(out) + at * n;
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      store(o + i, kRow == Row::kF16 ? load_f16(in + i) : load_bf16(in + i));
    if (i < n) {
      uint16_t lanes[kLanes] = {};
      for (int64_t l = 0; l < n - i; ++l) lanes[l] = in[i + l];
      store(o + i, kRow == Row::kF16 ? load_f16(lanes) : load_bf16(lanes), n - i);
    }
  }
}

template <Row kRow, int kBytes>
void embedding(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  auto* out = output<uint8_t>(args, 0);
  const auto* table = input<uint8_t>(args, 1);
  const int64_t n = integer(args, 0);
  if (integer(args, 2) != 0) {
    const int64_t* ids = input<int64_t>(args, 2);
    for (int64_t m = m0; m < m1; ++m) gather_row<kRow, kBytes>(table, out, ids[m], m, n);
  } else {
    const int32_t* ids = input<int32_t>(args, 2);
    for (int64_t m = m0; m < m1; ++m) gather_row<kRow, kBytes>(table, out, ids[m], m, n);
  }
}

// Rows are tokens: out[t] = t - cu[sequence of t].
void packed_positions(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  int32_t* out = output<int32_t>(args, 0);
  const int32_t* cu = input<int32_t>(args, 1);
  int64_t low = 0, high = integer(args, 1);  // the last sequence that begins at or before m0
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    if (cu[middle] <= m0)
      low = middle;
    else
      high = middle;
  }
  int64_t sequence = low;
  for (int64_t t = m0; t < m1; ++t) {
    while (cu[sequence + 1] <= t) ++sequence;
    out[t] = static_cast<int32_t>(t) - cu[sequence];
  }
}

enum Mode : int64_t {
  kMean = 0,
  kMax = 1,
  kCls = 2,
  kLast = 3,
  kSum = 4,
  kMeanSqrtLength = 5,
  kWeightedMean = 6
};
constexpr int64_t kBlockRows = 64;

// Sixteen columns of one sequence. Sums ascend within blocks of 64 rows counted from the first, then over the
// blocks.
template <bool kWeighted>
EDGE_INLINE F32 sum_column(const float* x, int64_t rows, int64_t stride, int64_t lanes) {
  F32 total = zeros();
  for (int64_t block = 0; block < rows; block += kBlockRows) {
    F32 sum = zeros();
    for (int64_t r = block; r < smaller(rows, block + kBlockRows); ++r) {
      const float* p = x + r * stride;
      const F32 value = lanes == kLanes ? load(p) : load(p, lanes);
      sum = kWeighted ? fma(value, splat(static_cast<float>(r + 1)), sum) : sum + value;
    }
    total += sum;
  }
  return total;
}

// Rows are sequences. The weighted mean weighs row i (from 0) by i + 1. An empty sequence gives zeros.
void segment_pool(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  float* out = output<float>(args, 0);
  const float* x = input<float>(args, 1);
  const int32_t* cu = input<int32_t>(args, 2);
  const int64_t width = integer(args, 0), mode = integer(args, 1);
  for (int64_t b = m0; b < m1; ++b) {
    const int64_t first = cu[b], rows = cu[b + 1] - first;
    const auto n = static_cast<double>(rows);
    float divisor = 1.0F;
    if (mode == kMean) divisor = static_cast<float>(n);
    if (mode == kMeanSqrtLength) divisor = static_cast<float>(__builtin_sqrt(n));
    if (mode == kWeightedMean) divisor = static_cast<float>(n * (n + 1) / 2);
    for (int64_t column = 0; column < width; column += kLanes) {
      const int64_t lanes = smaller<int64_t>(kLanes, width - column);
      const float* p = x + first * width + column;
      F32 result = zeros();
      if (rows > 0) switch (mode) {
          case kCls:
            result = load(p, lanes);
            break;
          case kLast:
            result = load(p + (rows - 1) * width, lanes);
            break;
          case kMax:
            result = load(p, lanes);
            for (int64_t r = 1; r < rows; ++r) result = max(result, load(p + r * width, lanes));
            break;
          case kWeightedMean:
            result = sum_column<true>(p, rows, width, lanes) / splat(divisor);
            break;
          case kSum:
            result = sum_column<false>(p, rows, width, lanes);
            break;
          default:
            result = sum_column<false>(p, rows, width, lanes) / splat(divisor);
            break;
        }
      store(out + b * width + column, result, lanes);
    }
  }
}

constexpr PrebuiltKernel kTable[] = {
    {"aten.embedding.f32", embedding<Row::kCopy, 4>},
    {"aten.embedding.f64", embedding<Row::kCopy, 8>},
    {"aten.embedding.f16", embedding<Row::kCopy, 2>},
    {"aten.embedding.bf16", embedding<Row::kCopy, 2>},
    {"aten.embedding.i64", embedding<Row::kCopy, 8>},
    {"aten.embedding.i32", embedding<Row::kCopy, 4>},
    {"aten.embedding.f16.f32", embedding<Row::kF16, 2>},
    {"aten.embedding.bf16.f32", embedding<Row::kBF16, 2>},
    {"edge.packed_positions.i32", packed_positions},
    {"edge.segment_pool.f32", segment_pool},
};

}  // namespace

std::span<const PrebuiltKernel> packed_table() {
  return kTable;
}

}  // namespace edge_infer::EDGE_ISA
