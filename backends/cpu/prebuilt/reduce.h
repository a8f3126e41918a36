// How reductions are made: an operator is `init`, `step`, `fold`; accumulate() applies it to the reduced
// elements of a block of kept elements, over rows (reduced elements contiguous), columns (kept elements
// contiguous) or any strides.
//
// The order is part of the meaning and the same on every path: reduced element i in row-major order goes to
// lane i mod L, each lane ascending, lanes folded by halves; L = 16 where the accumulator is f32, else 1.
#pragma once

#include "backends/cpu/prebuilt/args.h"
#include "backends/cpu/prebuilt/strided.h"
#include "backends/cpu/prebuilt/vec.h"

namespace edge_infer::EDGE_ISA {
namespace {

// Kept elements in one block.
constexpr int64_t kBlock = 64;

// ---- arithmetic that operators share between scalars and F32
// ---------------------------------------------------------

// Integers wrap.
template <class A>
EDGE_INLINE A plus(A a, A b) {
  if constexpr (sizeof(A) == 8 && !kIsFloat<A> && sizeof(A) != sizeof(F32))
    return static_cast<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}
template <class A>
EDGE_INLINE A times(A a, A b) {
  if constexpr (sizeof(A) == 8 && !kIsFloat<A> && sizeof(A) != sizeof(F32))
    return static_cast<A>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return a * b;
}
template <class A>
EDGE_INLINE A greater_of(A a, A b) {  // NaN wins
  return (a > b) | (a != a) ? a : b;
}
EDGE_INLINE F32 greater_of(F32 a, F32 b) {
  return max(a, b);
}
template <class A>
EDGE_INLINE A smaller_of(A a, A b) {
  return (a < b) | (a != a) ? a : b;
}
EDGE_INLINE F32 smaller_of(F32 a, F32 b) {
  return min(a, b);
}
EDGE_INLINE float magnitude(float a) {
  return __builtin_fabsf(a);
}
EDGE_INLINE double magnitude(double a) {
  return __builtin_fabs(a);
}
EDGE_INLINE F32 magnitude(F32 a) {
  return abs(a);
}

template <class A>
inline constexpr A kGreatest = [] {
  if constexpr (kIsFloat<A>)
    return static_cast<A>(__builtin_inf());
  else
    return static_cast<A>((uint64_t{1} << (sizeof(A) * 8 - 1)) - 1);
}();
template <class A>
inline constexpr A kLeast = [] {
  if constexpr (kIsFloat<A>)
    return -static_cast<A>(__builtin_inf());
  else
    return static_cast<A>(-kGreatest<A> - 1);
}();

// ---- operators: step(accumulator, element, parameter)
// ----------------------------------------------------------------

struct FoldByAdding {
  template <class A>
  static constexpr A init() {
    return 0;
  }
  template <class A>
  EDGE_INLINE A fold(A a, A b) {
    return plus(a, b);
  }
};
struct SumOf : FoldByAdding {
  template <class A>
  EDGE_INLINE A step(A acc, A x, A) {
    return plus(acc, x);
  }
};
struct SumOfSquares : FoldByAdding {
  template <class A>
  EDGE_INLINE A step(A acc, A x, A) {
    return acc + x * x;
  }
};
struct SumOfMagnitudes : FoldByAdding {
  template <class A>
  EDGE_INLINE A step(A acc, A x, A) {
    return acc + magnitude(x);
  }
};
// Squared distances from the parameter.
struct SumOfSquaredDistances : FoldByAdding {
  template <class A>
  EDGE_INLINE A step(A acc, A x, A centre) {
    const A d = x - centre;
    return acc + d * d;
  }
};
struct CountOfNonzeros : FoldByAdding {
  static constexpr bool kScalarOnly = true;
  template <class A>
  EDGE_INLINE A step(A acc, A x, A) {
    return acc + (x != 0 ? A{1} : A{0});
  }
};
struct SumOfPowers : FoldByAdding {
  static constexpr bool kScalarOnly = true;
  EDGE_INLINE float step(float acc, float x, float p) { return acc + __builtin_powf(__builtin_fabsf(x), p); }
  EDGE_INLINE double step(double acc, double x, double p) {
    return acc + __builtin_pow(__builtin_fabs(x), p);
  }
};
struct ProductOf {
  template <class A>
  static constexpr A init() {
    return 1;
  }
  template <class A>
  EDGE_INLINE A step(A acc, A x, A) {
    return times(acc, x);
  }
  template <class A>
  EDGE_INLINE A fold(A a, A b) {
    return times(a, b);
  }
};
struct GreatestOf {
  template <class A>
  static constexpr A init() {
    return kLeast<A>;
  }
  template <class A>
  EDGE_INLINE A step(A acc, A x, A) {
    return greater_of(acc, x);
  }
  template <class A>
  EDGE_INLINE A fold(A a, A b) {
    return greater_of(a, b);
  }
};
struct LeastOf {
  template <class A>
  static constexpr A init() {
    return kGreatest<A>;
  }
  template <class A>
  EDGE_INLINE A step(A acc, A x, A) {
    return smaller_of(acc, x);
  }
  template <class A>
  EDGE_INLINE A fold(A a, A b) {
    return smaller_of(a, b);
  }
};
struct GreatestMagnitude : GreatestOf {
  template <class A>
  static constexpr A init() {
    return 0;
  }
  template <class A>
  EDGE_INLINE A step(A acc, A x, A) {
    return greater_of(acc, magnitude(x));
  }
};
struct LeastMagnitude : LeastOf {
  template <class A>
  EDGE_INLINE A step(A acc, A x, A) {
    return smaller_of(acc, magnitude(x));
  }
};
// On truth values 0 and 1.
struct AnyOf {
  template <class A>
  static constexpr A init() {
    return 0;
  }
  template <class A>
  EDGE_INLINE A step(A acc, A x, A) {
    return static_cast<A>(acc | x);
  }
  template <class A>
  EDGE_INLINE A fold(A a, A b) {
    return static_cast<A>(a | b);
  }
};
struct AllOf {
  template <class A>
  static constexpr A init() {
    return 1;
  }
  template <class A>
  EDGE_INLINE A step(A acc, A x, A) {
    return static_cast<A>(acc & x);
  }
  template <class A>
  EDGE_INLINE A fold(A a, A b) {
    return static_cast<A>(a & b);
  }
};

// An element as accumulator: bytes are truth values.
template <class A, class T>
EDGE_INLINE A as_accumulator(T x) {
  if constexpr (sizeof(A) == 1)
    return x != 0;
  else
    return static_cast<A>(x);
}

// ---- accumulation
// ----------------------------------------------------------------------------------------------------

template <class A>
inline constexpr int kReduceLanes = 1;
template <>
inline constexpr int kReduceLanes<float> = kLanes;

template <class Op>
inline constexpr bool kScalarOnly = false;
template <class Op>
  requires requires { Op::kScalarOnly; }
inline constexpr bool kScalarOnly<Op> = Op::kScalarOnly;

// The lanes of one row. Rows come in pieces whose lengths are multiples of 16, the last one excepted.
template <class Op, class T, class A>
struct RowLanes {
  static constexpr int kCount = kReduceLanes<A>;
  alignas(64) A lanes[kCount];

  RowLanes() {
    for (A& lane : lanes) lane = Op::template init<A>();
  }

  void update(const T* x, int64_t n, A parameter) {
    if constexpr (kCount == 1) {
      A acc = lanes[0];
      for (int64_t i = 0; i < n; ++i) acc = Op::step(acc, as_accumulator<A>(x[i]), parameter);
      lanes[0] = acc;
    } else if constexpr (kScalarOnly<Op>) {
      for (int64_t i = 0; i < n; ++i) lanes[i % kLanes] = Op::step(lanes[i % kLanes], x[i], parameter);
    } else {
      F32 acc = load(lanes);
      const F32 p = splat(parameter);
      int64_t i = 0;
      for (; i + kLanes <= n; i += kLanes) acc = Op::step(acc, load(x + i), p);
      if (i < n) acc = select(first_lanes(n - i), Op::step(acc, load(x + i, n - i), p), acc);
      store(lanes, acc);
    }
  }

  A result() {
    for (int half = kCount / 2; half > 0; half /= 2)
      for (int l = 0; l < half; ++l) lanes[l] = Op::fold(lanes[l], lanes[l + half]);
    return lanes[0];
  }
};

// A block of kept elements and the space that each of them reduces.
template <class T>
struct ReduceBlock {
  const T* base;
  int64_t width;           // 1..kBlock
  const int64_t* offsets;  // of each kept element
  bool columns;            // kept elements are contiguous, from offsets[0]
  int64_t count;           // reduced elements of one kept element
  const Walker* reduced;   // undefined where count is 0

  // `parameters`: one a kept element, or nullptr for zeros.
  template <class Op, class A>
  void accumulate(const A* parameters, A* results) const {
    if (count == 0) {
      for (int64_t c = 0; c < width; ++c) results[c] = Op::template init<A>();
    } else if (columns) {
      accumulate_columns<Op>(parameters, results);
    } else {
      for (int64_t c = 0; c < width; ++c)
        results[c] = accumulate_row<Op>(base + offsets[c], parameters == nullptr ? A{} : parameters[c]);
    }
  }

 private:
  template <class Op, class A>
  A accumulate_row(const T* row, A parameter) const {
    RowLanes<Op, T, A> lanes;
    if (reduced->is_dense()) {
      lanes.update(row, count, parameter);
    } else {
      constexpr int64_t kPiece = 512;
      alignas(64) T packed[kPiece];
      Walker walker = *reduced;
      for (int64_t left = count; left > 0;) {
        const int64_t n = smaller(left, kPiece);
        walker.pack(row, packed, n);
        lanes.update(packed, n, parameter);
        left -= n;
      }
    }
    return lanes.result();
  }

  template <class Op, class A>
  void accumulate_columns(const A* parameters, A* results) const {
    constexpr int kCount = kReduceLanes<A>;
    alignas(64) A lanes[kCount][kBlock];
    alignas(64) A p[kBlock] = {};
    for (auto& lane : lanes)
      for (int64_t c = 0; c < width; ++c) lane[c] = Op::template init<A>();
    if (parameters != nullptr)
      for (int64_t c = 0; c < width; ++c) p[c] = parameters[c];
    Walker walker = *reduced;
    int lane = 0;
    for (int64_t left = count; left > 0;) {
      const int64_t n = smaller(left, walker.run());
      const T* row = base + offsets[0] + walker.offset;
      for (int64_t i = 0; i < n; ++i, row += walker.inner_stride()) {
        A* acc = lanes[lane];
        lane = lane + 1 == kCount ? 0 : lane + 1;
#pragma GCC ivdep
        for (int64_t c = 0; c < width; ++c) acc[c] = Op::step(acc[c], as_accumulator<A>(row[c]), p[c]);
      }
      walker.advance(n);
      left -= n;
    }
    for (int half = kCount / 2; half > 0; half /= 2)
      for (int l = 0; l < half; ++l)
        for (int64_t c = 0; c < width; ++c) lanes[l][c] = Op::fold(lanes[l][c], lanes[l + half][c]);
    for (int64_t c = 0; c < width; ++c) results[c] = lanes[0][c];
  }
};

// integers: kept rank, sizes, strides, reduced rank, sizes, strides, attributes. Calls
// reduce(block, attributes, results) for blocks of kept elements; results go out in order.
template <class T, class R, class Reduce>
EDGE_INLINE void for_each_block(const KernelArgs* args, int64_t m0, int64_t m1, Reduce reduce) {
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
  R* out = output<R>(args, 0) + m0;
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
    reduce(ReduceBlock<T>{input<T>(args, 1), width, offsets, columns, count, &reduced}, attributes, out);
    out += width;
    left -= width;
  }
}

}  // namespace
}  // namespace edge_infer::EDGE_ISA
