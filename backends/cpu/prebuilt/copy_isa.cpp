// Data movement by element size: edge.copy (strided to dense), edge.copy_into (dense to strided), aten.full,
// aten.arange.
#include "backends/cpu/prebuilt/args.h"
#include "backends/cpu/prebuilt/convert.h"
#include "backends/cpu/prebuilt/strided.h"
#include "backends/cpu/prebuilt/tables.h"

namespace edge_infer::EDGE_ISA {
namespace {

// to[r][c] = from[r + c * stride] for whole rows of `columns`: reads 16 neighbours, writes 16 ascending
// streams.
template <class T>
void transpose_rows(const T* from, T* to, int64_t rows, int64_t columns, int64_t stride) {
  constexpr int64_t kRows = 16;
  int64_t r = 0;
  for (; r + kRows <= rows; r += kRows)
    for (int64_t c = 0; c < columns; ++c)
      for (int64_t k = 0; k < kRows; ++k) to[(r + k) * columns + c] = from[r + k + c * stride];
  for (; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) to[r * columns + c] = from[r + c * stride];
}

template <class T>
void copy(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  if (m0 >= m1) return;
  const int64_t rank = args->integers[0];
  const int64_t* sizes = args->integers + 1;
  const int64_t* strides = sizes + rank;
  const T* from = input<T>(args, 1) + strides[rank];
  T* to = output<T>(args, 0);
  Walker walker = Walker::make(rank, sizes, strides, m0);
  const int64_t last = walker.rank - 1;
  const bool transposed = last > 0 && walker.strides[last - 1] == 1 && walker.inner_stride() > 1;
  if (!transposed) {
    walker.pack(from, sizeof(T), to + m0, m1 - m0);
    return;
  }
  const int64_t columns = walker.inner_size();
  for (int64_t at = m0; at < m1;) {
    const int64_t rows = smaller((m1 - at) / columns, walker.sizes[last - 1] - walker.index[last - 1]);
    if (walker.index[last] == 0 && rows > 0) {
      transpose_rows(from + walker.offset, to + at, rows, columns, walker.inner_stride());
      at += rows * columns;
      if (at < m1) walker.seek(at);
    } else {
      const int64_t n = smaller(m1 - at, walker.run());
      walker.pack(from, sizeof(T), to + at, n);
      at += n;
    }
  }
}

template <class T>
void copy_into(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  if (m0 >= m1) return;
  const int64_t rank = args->integers[0];
  const int64_t* sizes = args->integers + 1;
  const int64_t* strides = sizes + rank;
  Walker walker = Walker::make(rank, sizes, strides, m0);
  walker.unpack(input<T>(args, 1) + m0, output<T>(args, 0) + strides[rank], sizeof(T), m1 - m0);
}

// The value as a double (float types) or an integer.
template <class T>
T element_from_double(double x) {
  if constexpr (kElementName<T> == "f16")
    return narrow_half(static_cast<float>(x));
  else if constexpr (kElementName<T> == "bf16")
    return narrow_bfloat(static_cast<float>(x));
  else
    return static_cast<T>(x);
}
template <class T>
inline constexpr bool kTakesDouble = kIsFloat<Compute<T>>;

template <class T>
void full(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  T value;
  if constexpr (kTakesDouble<T>)
    value = element_from_double<T>(real(args, 0));
  else if constexpr (kElementName<T> == "bool")
    value = {integer(args, 0) != 0};
  else
    value = static_cast<T>(integer(args, 0));
  T* to = output<T>(args, 0);
  for (int64_t i = m0; i < m1; ++i) to[i] = value;
}

// start + i * step, in double for float types; integers wrap.
template <class T>
void arange(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  T* to = output<T>(args, 0);
  if constexpr (kTakesDouble<T>) {
    const double start = real(args, 0), step = real(args, 1);
    for (int64_t i = m0; i < m1; ++i) to[i] = element_from_double<T>(start + static_cast<double>(i) * step);
  } else {
    const uint64_t start = static_cast<uint64_t>(integer(args, 0)),
                   step = static_cast<uint64_t>(integer(args, 1));
    for (int64_t i = m0; i < m1; ++i) to[i] = static_cast<T>(start + static_cast<uint64_t>(i) * step);
  }
}

template <class... Ts>
consteval std::array<PrebuiltKernel, sizeof...(Ts)> fills() {
  return {{{kernel_name<"aten.full", Ts>, &full<Ts>}...}};
}
template <class... Ts>
consteval std::array<PrebuiltKernel, sizeof...(Ts)> aranges() {
  return {{{kernel_name<"aten.arange", Ts>, &arange<Ts>}...}};
}
constexpr std::array<PrebuiltKernel, 8> kCopies = {{{"edge.copy.b1", &copy<uint8_t>},
                                                    {"edge.copy.b2", &copy<uint16_t>},
                                                    {"edge.copy.b4", &copy<uint32_t>},
                                                    {"edge.copy.b8", &copy<uint64_t>},
                                                    {"edge.copy_into.b1", &copy_into<uint8_t>},
                                                    {"edge.copy_into.b2", &copy_into<uint16_t>},
                                                    {"edge.copy_into.b4", &copy_into<uint32_t>},
                                                    {"edge.copy_into.b8", &copy_into<uint64_t>}}};
constexpr auto kTable =
    concat(kCopies, fills<float, double, Half, BFloat, int64_t, int32_t, int16_t, int8_t, uint8_t, Bool>(),
           aranges<float, double, Half, BFloat, int64_t, int32_t, int16_t, int8_t, uint8_t>());

}  // namespace

std::span<const PrebuiltKernel> copy_table() {
  return kTable;
}

}  // namespace edge_infer::EDGE_ISA
