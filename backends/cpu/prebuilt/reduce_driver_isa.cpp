// The driver of all reductions.
#include "backends/cpu/prebuilt/reduce.h"

namespace edge_infer::EDGE_ISA {

void run_reduce(const ReduceForm& form, const KernelArgs* args, int64_t m0, int64_t m1) {
  if (m0 >= m1) return;
  const int64_t kept_rank = args->integers[0];
  const int64_t* kept_sizes = args->integers + 1;
  const int64_t* reduced_head = kept_sizes + 2 * kept_rank;
  const int64_t reduced_rank = reduced_head[0];
  const int64_t* reduced_sizes = reduced_head + 1;
  const int64_t* attributes = reduced_sizes + 2 * reduced_rank;
  int64_t count = 1;
  for (int64_t d = 0; d < reduced_rank; ++d) count *= reduced_sizes[d];

  Walker kept = Walker::make(kept_rank, kept_sizes, kept_sizes + kept_rank, m0);
  Walker reduced;
  if (count > 0) reduced = Walker::make(reduced_rank, reduced_sizes, reduced_sizes + reduced_rank, 0);
  // Columns read whole cache lines where rows would read one element of each.
  const bool columns =
      count > 0 && kept.inner_stride() == 1 && kept.inner_size() > 1 && reduced.inner_stride() != 1;
  char* out = output<char>(args, 0) + m0 * form.out_bytes;
  int64_t offsets[kBlock];
  for (int64_t left = m1 - m0; left > 0;) {
    int64_t width = smaller(left, kBlock);
    if (columns) {
      width = smaller(width, kept.run());
      offsets[0] = kept.offset;
      kept.advance(width);
    } else {
      for (int64_t c = 0; c < width; ++c) {
        offsets[c] = kept.offset;
        kept.advance(1);
      }
    }
    form.reduce({input<char>(args, 1), width, offsets, columns, count, &reduced}, attributes, out);
    out += width * form.out_bytes;
    left -= width;
  }
}

void accumulate_row(const ReduceBlock& block, int64_t kept, int64_t element_bytes, RowUpdate update,
                    void* lanes, const void* parameter) {
  const char* row = block.base + block.offsets[kept] * element_bytes;
  if (block.reduced->is_dense()) return update(lanes, row, block.count, parameter);
  constexpr int64_t kPiece = 512;
  alignas(64) char packed[kPiece * 8];
  Walker walker = *block.reduced;
  for (int64_t left = block.count; left > 0;) {
    const int64_t n = smaller(left, kPiece);
    walker.pack(row, element_bytes, packed, n);
    update(lanes, packed, n, parameter);
    left -= n;
  }
}

void accumulate_columns(const ReduceBlock& block, int64_t element_bytes, ColumnUpdate update, void* lanes,
                        const void* parameters) {
  Walker walker = *block.reduced;
  for (int64_t done = 0; done < block.count;) {
    const int64_t n = walker.run();
    const char* x = block.base + (block.offsets[0] + walker.offset) * element_bytes;
    update(lanes, {x, walker.inner_stride(), n, block.width, done}, parameters);
    walker.advance(n);
    done += n;
  }
}

}  // namespace edge_infer::EDGE_ISA
