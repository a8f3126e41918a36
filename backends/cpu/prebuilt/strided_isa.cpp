#include <cstring>

#include "backends/cpu/prebuilt/strided.h"

namespace edge_infer::EDGE_ISA {

Walker Walker::make(int64_t rank, const int64_t* sizes, const int64_t* strides, int64_t first) {
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
    w.strides[0] = 1;
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

void Walker::seek(int64_t flat) {
  offset = 0;
  for (int64_t d = rank - 1; d >= 0; --d) {
    index[d] = flat % sizes[d];
    flat /= sizes[d];
    offset += index[d] * strides[d];
  }
}

void Walker::carry() {
  for (int64_t d = rank - 1; index[d] == sizes[d]; --d) {
    offset -= index[d] * strides[d];
    index[d] = 0;
    if (d == 0) return;
    ++index[d - 1];
    offset += strides[d - 1];
  }
}

template <class T>
void Walker::pack_as(const T* base, T* to, int64_t n) {
  while (n > 0) {
    const int64_t count = n < run() ? n : run();
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

template <class T>
void Walker::unpack_as(const T* from, T* base, int64_t n) {
  while (n > 0) {
    const int64_t count = n < run() ? n : run();
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

void Walker::pack(const void* base, int64_t element_bytes, void* to, int64_t n) {
  switch (element_bytes) {
    case 1:
      return pack_as(static_cast<const uint8_t*>(base), static_cast<uint8_t*>(to), n);
    case 2:
      return pack_as(static_cast<const uint16_t*>(base), static_cast<uint16_t*>(to), n);
    case 4:
      return pack_as(static_cast<const uint32_t*>(base), static_cast<uint32_t*>(to), n);
    default:
      return pack_as(static_cast<const uint64_t*>(base), static_cast<uint64_t*>(to), n);
  }
}

void Walker::unpack(const void* from, void* base, int64_t element_bytes, int64_t n) {
  switch (element_bytes) {
    case 1:
      return unpack_as(static_cast<const uint8_t*>(from), static_cast<uint8_t*>(base), n);
    case 2:
      return unpack_as(static_cast<const uint16_t*>(from), static_cast<uint16_t*>(base), n);
    case 4:
      return unpack_as(static_cast<const uint32_t*>(from), static_cast<uint32_t*>(base), n);
    default:
      return unpack_as(static_cast<const uint64_t*>(from), static_cast<uint64_t*>(base), n);
  }
}

}  // namespace edge_infer::EDGE_ISA
