// aten.index_select and aten.gather along a dimension, by element size. Indices are checked where the batch
// is made; one that is out of range all the same reads the nearest element in range (0 where the dimension is
// empty), never memory outside of the operand.
#include <cstring>

#include "backends/cpu/prebuilt/args.h"
#include "backends/cpu/prebuilt/element.h"
#include "backends/cpu/prebuilt/strided.h"
#include "backends/cpu/prebuilt/tables.h"

namespace edge_infer::EDGE_ISA {
namespace {

struct Indices {
  const void* data;
  bool wide;
  int64_t length;  // of the indexed dimension, > 0

  EDGE_INLINE int64_t clamp(int64_t i, int64_t length) { return i < 0 ? 0 : i >= length ? length - 1 : i; }
  int64_t operator[](int64_t i) const {
    return wide ? clamp(static_cast<const int64_t*>(data)[i], length)
                : clamp(static_cast<const int32_t*>(data)[i], length);
  }
};

// integers: outer, in length, out length, inner, index is i64. Rows are (outer, position in the index).
template <class T>
void index_select(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  const int64_t in_length = integer(args, 1), out_length = integer(args, 2), inner = integer(args, 3);
  const Indices indices{args->buffers[2], integer(args, 4) != 0, in_length};
  const T* from = input<T>(args, 1);
  T* to = output<T>(args, 0) + m0 * inner;
  const size_t bytes = static_cast<size_t>(inner) * sizeof(T);
  if (m0 >= m1) return;
  if (in_length == 0) {
    std::memset(to, 0, static_cast<size_t>(m1 - m0) * bytes);
    return;
  }
  int64_t outer = m0 / out_length, position = m0 % out_length;
  for (int64_t m = m0; m < m1; ++m, to += inner) {
    const T* row = from + (outer * in_length + indices[position]) * inner;
    if (inner == 1)
      *to = *row;
    else
      std::memcpy(to, row, bytes);
    if (++position == out_length) {
      position = 0;
      ++outer;
    }
  }
}

// integers: rank, out sizes, in strides, dim, in length, index is i64. The index has the output's sizes,
// dense.
template <class T>
void gather(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  if (m0 >= m1) return;
  const int64_t rank = args->integers[0];
  const int64_t* sizes = args->integers + 1;
  const int64_t* rest = sizes + 2 * rank;
  const int64_t dim = rest[0], in_length = rest[1];
  const Indices indices{args->buffers[2], rest[2] != 0, in_length};
  const T* from = input<T>(args, 1);
  T* to = output<T>(args, 0);
  if (in_length == 0) {
    std::memset(to + m0, 0, static_cast<size_t>(m1 - m0) * sizeof(T));
    return;
  }
  // The walk gives the offset of the other dimensions; the index moves along its own.
  int64_t strides[kMaxRank];
  for (int64_t d = 0; d < rank; ++d) strides[d] = sizes[rank + d];
  int64_t step = 0;
  if (rank > 0) {
    step = strides[dim];
    strides[dim] = 0;
  }
  Walker walker = Walker::make(rank, sizes, strides, m0);
  for (int64_t m = m0; m < m1;) {
    const int64_t n = smaller(m1 - m, walker.run());
    const T* base = from + walker.offset;
    const int64_t stride = walker.inner_stride();
    for (int64_t i = 0; i < n; ++i) to[m + i] = base[i * stride + indices[m + i] * step];
    walker.advance(n);
    m += n;
  }
}

constexpr std::array<PrebuiltKernel, 8> kTable = {{{"aten.index_select.b1", &index_select<uint8_t>},
                                                   {"aten.index_select.b2", &index_select<uint16_t>},
                                                   {"aten.index_select.b4", &index_select<uint32_t>},
                                                   {"aten.index_select.b8", &index_select<uint64_t>},
                                                   {"aten.gather.b1", &gather<uint8_t>},
                                                   {"aten.gather.b2", &gather<uint16_t>},
                                                   {"aten.gather.b4", &gather<uint32_t>},
                                                   {"aten.gather.b8", &gather<uint64_t>}}};

}  // namespace

std::span<const PrebuiltKernel> index_table() {
  return kTable;
}

}  // namespace edge_infer::EDGE_ISA
