// A walk over a strided N-d operand in row-major order of its sizes.
#pragma once

#include <cstdint>

namespace edge_infer::EDGE_ISA {

constexpr int kMaxRank = 8;

// Element offsets of a strided operand, visited in row-major order. Dimensions of size 1 are dropped and
// dimensions that continue each other are merged, so a dense operand and a scalar have one dimension whatever
// their rank. No dimension may be empty. After the last element the walk is back at the first.
struct Walker {
  int64_t rank = 1;
  int64_t sizes[kMaxRank];
  int64_t strides[kMaxRank];
  int64_t index[kMaxRank];
  int64_t offset = 0;  // of the current element, in elements

  // `first`: flat number of the element to begin at.
  static Walker make(int64_t rank, const int64_t* sizes, const int64_t* strides, int64_t first);

  int64_t inner_size() const { return sizes[rank - 1]; }
  int64_t inner_stride() const { return strides[rank - 1]; }
  // Elements from the current one to the end of the innermost dimension.
  int64_t run() const { return sizes[rank - 1] - index[rank - 1]; }
  bool is_scalar() const { return rank == 1 && (strides[0] == 0 || sizes[0] == 1); }
  bool is_dense() const { return rank == 1 && strides[0] == 1; }

  void seek(int64_t flat);
  // Steps over n <= run() elements.
  void advance(int64_t n) {
    const int64_t last = rank - 1;
    index[last] += n;
    offset += n * strides[last];
    if (index[last] == sizes[last]) carry();
  }

  // Copies the next n elements, of 1, 2, 4 or 8 bytes, to `to`, contiguous.
  void pack(const void* base, int64_t element_bytes, void* to, int64_t n);
  // The reverse: spreads n contiguous elements.
  void unpack(const void* from, void* base, int64_t element_bytes, int64_t n);

 private:
  void carry();
  template <class T>
  void pack_as(const T* base, T* to, int64_t n);
  template <class T>
  void unpack_as(const T* from, T* base, int64_t n);
};

}  // namespace edge_infer::EDGE_ISA
