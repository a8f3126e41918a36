// The driver of all pointwise kernels.
#include <cstring>

#include "backends/cpu/prebuilt/pointwise.h"
#include "backends/cpu/prebuilt/strided.h"

namespace edge_infer::EDGE_ISA {
namespace {

// Elements a chunk where an operand has to be packed: three operands of 8 bytes stay in L1.
constexpr int64_t kChunkElements = 512;
// A contiguous innermost dimension at least this long is read in place, a shorter one is packed.
constexpr int64_t kDirectRun = 64;

template <class T>
void splat_as(void* to, const void* value, int64_t n) {
  T x;
  std::memcpy(&x, value, sizeof(T));
  for (int64_t i = 0; i < n; ++i) static_cast<T*>(to)[i] = x;
}
void splat_bytes(void* to, const void* value, int64_t bytes, int64_t n) {
  switch (bytes) {
    case 1:
      return splat_as<uint8_t>(to, value, n);
    case 2:
      return splat_as<uint16_t>(to, value, n);
    case 4:
      return splat_as<uint32_t>(to, value, n);
    default:
      return splat_as<uint64_t>(to, value, n);
  }
}

bool widens(Storage s) {
  return s == Storage::kHalf || s == Storage::kBFloat;
}

void widen_storage(Storage s, const void* from, void* to, int64_t n) {
  if (s == Storage::kHalf) return widen_all(static_cast<const Half*>(from), static_cast<float*>(to), n);
  widen_all(static_cast<const BFloat*>(from), static_cast<float*>(to), n);
}

// One operand on its way to the chunk function.
struct Operand {
  const char* base;
  Storage storage;
  bool in_place;  // read where it lies, one run of the innermost dimension at a time
  bool fixed;     // the buffer holds the same value in every chunk
  Walker walker;
};

}  // namespace

void run_pointwise(const PointwiseForm& form, const KernelArgs* args, int64_t m0, int64_t m1) {
  if (m0 >= m1) return;
  const int64_t rank = args->integers[0];
  const int64_t* sizes = args->integers + 1;
  const int64_t* attributes = sizes + rank * (1 + form.inputs);
  const int64_t out_bytes = storage_bytes(form.out);
  char* out = static_cast<char*>(args->buffers[0]) + m0 * out_bytes;

  alignas(64) char packed[kMaxInputs][kChunkElements * 8];
  alignas(64) char narrow[kChunkElements * 2];
  alignas(64) float result[kChunkElements];
  Operand operands[kMaxInputs];
  const void* in[kMaxInputs];
  int64_t limit = widens(form.out) ? kChunkElements : m1 - m0;
  const int64_t first_count = m1 - m0 < kChunkElements ? m1 - m0 : kChunkElements;

  for (int k = 0; k < form.inputs; ++k) {
    Operand& operand = operands[k];
    operand.base = static_cast<const char*>(args->buffers[1 + k]);
    operand.storage = form.in[k];
    operand.walker = Walker::make(rank, sizes, sizes + rank * (1 + k), m0);
    const Walker& walker = operand.walker;
    const int64_t bytes = storage_bytes(operand.storage);
    operand.fixed = walker.is_scalar();
    operand.in_place = !operand.fixed && walker.inner_stride() == 1 &&
                       (walker.rank == 1 || walker.inner_size() >= kDirectRun);
    if (!operand.in_place || widens(operand.storage)) limit = smaller(limit, kChunkElements);
    if (operand.fixed) {
      if (widens(operand.storage)) {
        float value;
        widen_storage(operand.storage, operand.base, &value, 1);
        splat_bytes(packed[k], &value, 4, first_count);
      } else {
        splat_bytes(packed[k], operand.base, bytes, first_count);
      }
      in[k] = packed[k];
    }
  }
  if (form.scalar != nullptr) {
    alignas(8) char value[8];
    form.scalar(value, __builtin_bit_cast(double, attributes[0]));
    splat_bytes(packed[form.inputs], value, form.scalar_bytes, first_count);
    in[form.inputs] = packed[form.inputs];
    limit = smaller(limit, kChunkElements);
  }

  for (int64_t left = m1 - m0; left > 0;) {
    int64_t n = smaller(left, limit);
    for (int k = 0; k < form.inputs; ++k)
      if (operands[k].in_place) n = smaller(n, operands[k].walker.run());
    for (int k = 0; k < form.inputs; ++k) {
      Operand& operand = operands[k];
      if (operand.fixed) continue;
      const int64_t bytes = storage_bytes(operand.storage);
      if (operand.in_place) {
        in[k] = operand.base + operand.walker.offset * bytes;
        operand.walker.advance(n);
        if (!widens(operand.storage)) continue;
      } else {
        void* to = widens(operand.storage) ? narrow : packed[k];
        operand.walker.pack(operand.base, bytes, to, n);
        in[k] = to;
      }
      if (widens(operand.storage)) {
        widen_storage(operand.storage, in[k], packed[k], n);
        in[k] = packed[k];
      }
    }
    if (widens(form.out)) {
      form.chunk(result, in, n, attributes);
      if (form.out == Storage::kHalf)
        narrow_all(result, reinterpret_cast<Half*>(out), n);
      else
        narrow_all(result, reinterpret_cast<BFloat*>(out), n);
    } else {
      form.chunk(out, in, n, attributes);
    }
    out += n * out_bytes;
    left -= n;
  }
}

}  // namespace edge_infer::EDGE_ISA
