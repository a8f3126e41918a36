// aten.matmul of f64, i64 and i32, strided operands: the conventions of aten.matmul.f32. Each element is one
// ascending chain over k, products and sums rounded (integers wrap). These types serve the graph's arithmetic
// around a model, not its layers: the loop is plain, and fast where b's columns are contiguous.
#include "backends/cpu/prebuilt/args.h"
#include "backends/cpu/prebuilt/element.h"
#include "backends/cpu/prebuilt/tables.h"

namespace edge_infer::EDGE_ISA {
namespace {

template <class T>
struct WrapOf {
  using type = T;
};
template <>
struct WrapOf<int32_t> {
  using type = uint32_t;
};
template <>
struct WrapOf<int64_t> {
  using type = uint64_t;
};

// integers: batch rank, batch sizes, batch strides of a, of b, M, N, K, a row and column stride, b row and
// column stride. Rows are (batch, m) pairs.
template <class T>
void product(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  using Wrap = typename WrapOf<T>::type;
  const int64_t batch_rank = args->integers[0];
  const int64_t* batch_sizes = args->integers + 1;
  const int64_t* a_batch = batch_sizes + batch_rank;
  const int64_t* b_batch = a_batch + batch_rank;
  const int64_t* rest = b_batch + batch_rank;
  const int64_t rows = rest[0], columns = rest[1], depth = rest[2];
  const int64_t a_row = rest[3], a_column = rest[4], b_row = rest[5], b_column = rest[6];
  for (int64_t m = m0; m < m1; ++m) {
    int64_t batch = m / rows, a_offset = m % rows * a_row, b_offset = 0;
    for (int64_t d = batch_rank - 1; d >= 0; --d) {
      const int64_t i = batch % batch_sizes[d];
      batch /= batch_sizes[d];
      a_offset += i * a_batch[d];
      b_offset += i * b_batch[d];
    }
    const T* a = input<T>(args, 1) + a_offset;
    const T* b = input<T>(args, 2) + b_offset;
    T* out = output<T>(args, 0) + m * columns;
    for (int64_t n = 0; n < columns; ++n) out[n] = 0;
    for (int64_t k = 0; k < depth; ++k) {
      const Wrap x = static_cast<Wrap>(a[k * a_column]);
      const T* row = b + k * b_row;
      if (b_column == 1) {
        EDGE_IVDEP
        for (int64_t n = 0; n < columns; ++n)
          out[n] = static_cast<T>(static_cast<Wrap>(out[n]) + x * static_cast<Wrap>(row[n]));
      } else {
        for (int64_t n = 0; n < columns; ++n)
          out[n] = static_cast<T>(static_cast<Wrap>(out[n]) + x * static_cast<Wrap>(row[n * b_column]));
      }
    }
  }
}

constexpr std::array<PrebuiltKernel, 3> kTable = {{{"aten.matmul.f64", &product<double>},
                                                   {"aten.matmul.i64", &product<int64_t>},
                                                   {"aten.matmul.i32", &product<int32_t>}}};

}  // namespace

std::span<const PrebuiltKernel> product_table() {
  return kTable;
}

}  // namespace edge_infer::EDGE_ISA
