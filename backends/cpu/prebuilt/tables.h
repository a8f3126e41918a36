// The kernel tables of each *_isa.cpp, once an instruction set. A file `linear_isa.cpp` defines
//   namespace edge_infer::EDGE_ISA { std::span<const PrebuiltKernel> linear_table() { ... } }
// and stands in EDGE_PREBUILT_TABLES below. This list is the registration; nothing registers itself.
#pragma once

#include <span>

#include "backends/cpu/prebuilt/registry.h"

#define EDGE_PREBUILT_TABLES(X) \
  X(arithmetic)                 \
  X(attention)                  \
  X(cast)                       \
  X(compare)                    \
  X(copy)                       \
  X(gelu)                       \
  X(index)                      \
  X(linear)                     \
  X(math)                       \
  X(matmul)                     \
  X(norm)                       \
  X(pack)                       \
  X(packed)                     \
  X(peak)                       \
  X(product)                    \
  X(reduce)                     \
  X(scan)                       \
  X(softmax)

#define EDGE_DECLARE_TABLE(file) std::span<const PrebuiltKernel> file##_table();
namespace edge_infer::portable {
EDGE_PREBUILT_TABLES(EDGE_DECLARE_TABLE)
}
#if defined(__x86_64__)
namespace edge_infer::avx2 {
EDGE_PREBUILT_TABLES(EDGE_DECLARE_TABLE)
}
namespace edge_infer::avx512 {
EDGE_PREBUILT_TABLES(EDGE_DECLARE_TABLE)
}
#endif
#undef EDGE_DECLARE_TABLE
