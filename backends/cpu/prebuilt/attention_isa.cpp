// edge.varlen_attention.f32 on packed sequences and aten.scaled_dot_product_attention.f32 on dense tensors.
#include "backends/cpu/prebuilt/args.h"
#include "backends/cpu/prebuilt/attention_core.h"
#include "backends/cpu/prebuilt/registry.h"
#include "backends/cpu/prebuilt/tables.h"

namespace edge_infer::EDGE_ISA {
namespace {

// Rows of the domain are units {sequence, first row}, columns are heads.
void varlen_attention(const KernelArgs* args, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
  auto* s = static_cast<AttentionScratch*>(scratch);
  float* out = output<float>(args, 0);
  const float* q = input<float>(args, 1);
  const float* k = input<float>(args, 2);
  const float* v = input<float>(args, 3);
  const int32_t* cu = input<int32_t>(args, 4);
  const int32_t* units = input<int32_t>(args, 5);
  const int64_t heads = integer(args, 0), kv_heads = integer(args, 1), dim = integer(args, 2);
  const int64_t q_stride = integer(args, 3), k_stride = integer(args, 4), v_stride = integer(args, 5);
  const int64_t out_stride = integer(args, 6);
  const auto scale = static_cast<float>(real(args, 7));
  const bool causal = integer(args, 8) != 0;
  const int64_t block_rows = integer(args, 9);
  const int64_t group = heads / kv_heads;
  int64_t packed_sequence = -1, packed_head = -1;
  for (int64_t head = n0; head < n1; ++head) {
    const int64_t kv_head = head / group;
    for (int64_t unit = m0; unit < m1; ++unit) {
      const int64_t sequence = units[2 * unit], first = units[2 * unit + 1];
      const int64_t begin = cu[sequence], length = cu[sequence + 1] - begin;
      const KeysValues kv = {k + begin * k_stride + kv_head * dim,
                             k_stride,
                             dim,
                             v + begin * v_stride + kv_head * dim,
                             v_stride,
                             dim,
                             length};
      const bool fits = fits_packed(kv);
      if (fits && (sequence != packed_sequence || kv_head != packed_head)) {
        pack_all(kv, s);
        packed_sequence = sequence;
        packed_head = kv_head;
      }
      if (!fits) packed_sequence = -1;
      const int64_t end = smaller(length, first + block_rows);
      for (int64_t row = first; row < end; row += kQueryRows)
        attend(kv, q + (begin + row) * q_stride + head * dim, q_stride, smaller(kQueryRows, end - row), scale,
               causal, row, fits, out + (begin + row) * out_stride + head * dim, out_stride, s,
               [](int64_t, int64_t, float*, int64_t) __attribute__((always_inline)) {});
    }
  }
}

// Rows of the domain are (batch, head, query). A causal mask is aligned at the first query and key, as in
// ATen; a row that sees no key is zero.
void dense_attention(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void* scratch) {
  auto* s = static_cast<AttentionScratch*>(scratch);
  float* out = output<float>(args, 0);
  const float* q = input<float>(args, 1);
  const float* k = input<float>(args, 2);
  const float* v = input<float>(args, 3);
  const int64_t heads = integer(args, 1), kv_heads = integer(args, 2);
  const int64_t queries = integer(args, 3), keys = integer(args, 4), dim = integer(args, 5),
                value_dim = integer(args, 6);
  const auto scale = static_cast<float>(real(args, 7));
  const bool causal = integer(args, 8) != 0;
  const int64_t mask_type = args->buffers[4] == nullptr ? 0 : integer(args, 9);
  const int64_t* mask_strides = args->integers + 10;
  int64_t packed = -1;
  for (int64_t m = m0; m < m1;) {
    const int64_t pair = m / queries, row = m % queries;
    const int64_t batch = pair / heads, head = pair % heads;
    const int64_t kv_pair = batch * kv_heads + head / (heads / kv_heads);
    const KeysValues kv = {
        k + kv_pair * keys * dim, dim, dim, v + kv_pair * keys * value_dim, value_dim, value_dim, keys};
    const bool fits = fits_packed(kv);
    if (fits && kv_pair != packed) pack_all(kv, s);
    packed = fits ? kv_pair : -1;
    const int64_t rows = smaller(smaller(kQueryRows, queries - row), m1 - m);
    const int64_t mask_base = batch * mask_strides[0] + head * mask_strides[1];
    attend(kv, q + m * dim, dim, rows, scale, causal, row, fits, out + m * value_dim, value_dim, s,
           [&](int64_t i, int64_t key, float* scores, int64_t count) __attribute__((always_inline)) {
             if (mask_type == 0) return;
             const int64_t at = mask_base + (row + i) * mask_strides[2] + key * mask_strides[3];
             if (mask_type == 1) {
               const float* mask = input<float>(args, 4) + at;
               for (int64_t j = 0; j < count; ++j) scores[j] += mask[j * mask_strides[3]];
             } else {
               const uint8_t* mask = input<uint8_t>(args, 4) + at;
               for (int64_t j = 0; j < count; ++j)
                 if (mask[j * mask_strides[3]] == 0) scores[j] = kMinusInfinity;
             }
           });
    m += rows;
  }
}

constexpr PrebuiltKernel kTable[] = {
    {"edge.varlen_attention.f32", varlen_attention, sizeof(AttentionScratch)},
    {"aten.scaled_dot_product_attention.f32", dense_attention, sizeof(AttentionScratch)},
};

}  // namespace

std::span<const PrebuiltKernel> attention_table() {
  return kTable;
}

}  // namespace edge_infer::EDGE_ISA
