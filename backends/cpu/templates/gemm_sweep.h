// What a GEMM kernel and gemm_sweep.c, the unit that its sums come from, know of each other. Text like the
// templates: both units begin with it.
typedef long int64_t;
#define GEMM_INLINE static inline __attribute__((always_inline))
#define GEMM_SHARED __attribute__((visibility("hidden"), noinline))

// A block of rows times the whole weight.
struct gemm_operands {
  const void* context;  // what gemm_finish gets
  const float* a;       // row 0 of the block at k 0
  int64_t a_stride;     // floats from row to row
  const float* w;       // panels [N / GEMM_PANEL][depth][GEMM_PANEL], columns beyond N zero
  int64_t depth;        // of k
  int64_t part;         // of k that tiles of one panel go through before the next; depth: all
  float* sums;          // scratch: those of one tile, or of every tile of the block where part < depth
};

// Rows [0, rows) of the block, columns [n, n1), each element once through gemm_finish.
GEMM_SHARED void gemm_sweep(const struct gemm_operands* o, int64_t rows, int64_t n, int64_t n1);

// By the kernel. Finished sums of rows [row, row + rows) of the block, `pitch` floats a row.
GEMM_SHARED void gemm_finish(const void* context, const float* sums, int64_t pitch, int64_t row, int64_t rows,
                             int64_t n, int64_t columns);
