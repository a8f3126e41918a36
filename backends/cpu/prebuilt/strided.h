// A walk over a strided N-d operand in row-major order of its sizes.
#pragma once

#include <cstdint>
#include <cstring>

#include "backends/cpu/prebuilt/element.h"

namespace edge_infer::EDGE_ISA {
namespace {

constexpr int kMaxRank = 8;

// Element offsets of a strided operand, visited in row-major order. Dimensions of size 1 are dropped and
// dimensions that continue each other are merged, so a dense operand and a scalar have one dimension whatever
// their rank. No dimension may be empty once the walk begins.
struct Walker {
  int64_t rank = 1;
  int64_t sizes[kMaxRank];
  int64_t strides[kMaxRank];
  int64_t index[kMaxRank];
  int64_t offset = 0;  // of the current element, in elements

  // `first`: flat number of the element to begin at.
  static Walker make(int64_t rank, const int64_t* sizes, const int64_t* strides, int64_t first) {
    Walker w;
    // Built innermost first, then reversed.
    int64_t count = 0;
    for (int64_t d = rank - 1; d >= 0; --d) {
      if (sizes[d] == 1) continue;
      if (count > 0 && strides[d] == w.strides[count - 1] * w.sizes[count - 1]) {
        w.sizes[count - 1] *= sizes[d];
      } else {
        w.sizes[count] = sizes[d];
        w.strides[count] = strides[d];
        ++count;
      }
    }
    if (count == 0) {
      w.sizes[0] = 1;
      w.strides[0] = 0;
      count = 1;
    }
    w.rank = count;
    for (int64_t i = 0, j = count - 1; i < j; ++i, --j) {
      const int64_t size = w.sizes[i], stride = w.strides[i];
      w.sizes[i] = w.sizes[j];
      w.strides[i] = w.strides[j];
      w.sizes[j] = size;
      w.strides[j] = stride;
    }
    w.seek(first);
    return w;
  }

  void seek(int64_t flat) {
    offset = 0;
    for (int64_t d = rank - 1; d >= 0; --d) {
      index[d] = flat % sizes[d];
      flat /= sizes[d];
      offset += index[d] * strides[d];
    }
  }

  int64_t inner_size() const { return sizes[rank - 1]; }
  int64_t inner_stride() const { return strides[rank - 1]; }
  // Elements from the current one to the end of the innermost dimension.
  int64_t run() const { return sizes[rank - 1] - index[rank - 1]; }
  bool is_scalar() const { return rank == 1 && (strides[0] == 0 || sizes[0] == 1); }
  bool is_dense() const { return rank == 1 && strides[0] == 1; }

  // Steps over n <= run() elements.
  void advance(int64_t n) {
    const int64_t last = rank - 1;
    index[last] += n;
    offset += n * strides[last];
    if (index[last] < sizes[last]) return;
    int64_t d = last;
    while (index[d] == sizes[d]) {
      offset -= index[d] * strides[d];
      index[d] = 0;
      if (d == 0) return;
      --d;
      ++index[d];
      offset += strides[d];
    }
  }

  // Copies the next n elements to `to`, contiguous.
  template <class T>
  void pack(const T* base, T* to, int64_t n) {
    while (n > 0) {
      const int64_t left = run();
      const int64_t count = n < left ? n : left;
      const T* from = base + offset;
      const int64_t stride = inner_stride();
      if (stride == 1 && count >= 32) {
        std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
      } else if (stride == 0) {
        const T value = *from;
        for (int64_t i = 0; i < count; ++i) to[i] = value;
      } else {
        for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
      }
      advance(count);
      to += count;
      n -= count;
    }
  }

  // The reverse: spreads the next n elements of `from`, contiguous.
  template <class T>
  void unpack(const T* from, T* base, int64_t n) {
    while (n > 0) {
      const int64_t left = run();
      const int64_t count = n < left ? n : left;
      T* to = base + offset;
      const int64_t stride = inner_stride();
      if (stride == 1 && count >= 32)
        std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
      else
        for (int64_t i = 0; i < count; ++i) to[i * stride] = from[i];
      advance(count);
      from += count;
      n -= count;
    }
  }
};

}  // namespace
}  // namespace edge_infer::EDGE_ISA
