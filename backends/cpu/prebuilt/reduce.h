// How reductions are made: an operator is `init`, `step`, `fold`; accumulate() applies it to the reduced
// elements of a block of kept elements, over rows (reduced elements contiguous), columns (kept elements
// contiguous) or any strides.
//
// The order is part of the meaning and the same on every path: reduced element i in row-major order goes to
// lane i mod L, each lane ascending, lanes folded by halves; L = 16 where the accumulator is f32, else 1.
#pragma once

#include "backends/cpu/prebuilt/args.h"
#include "backends/cpu/prebuilt/element.h"
#include "backends/cpu/prebuilt/strided.h"
#include "backends/cpu/prebuilt/vec.h"

namespace edge_infer::EDGE_ISA {

// Kept elements in one block.
constexpr int64_t kBlock = 64;

// A block of kept elements and the space that each of them reduces.
struct ReduceBlock {
  const char* base;
  int64_t width;           // 1..kBlock
  const int64_t* offsets;  // of each kept element, in elements
  bool columns;            // kept elements are contiguous, from offsets[0]
  int64_t count;           // reduced elements of one kept element
  const Walker* reduced;   // undefined where count is 0
};

// One kernel: `reduce` writes the results of a block, in order.
struct ReduceForm {
  int64_t in_bytes = 0, out_bytes = 0;
  void (*reduce)(const ReduceBlock& block, const int64_t* attributes, void* results) = nullptr;
};
// integers: kept rank, sizes, strides, reduced rank, sizes, strides, attributes.
void run_reduce(const ReduceForm& form, const KernelArgs* args, int64_t m0, int64_t m1);

// The type-free halves of accumulate(), below: they walk and pack.
using RowUpdate = void (*)(void* lanes, const void* x, int64_t n, const void* parameter);
void accumulate_row(const ReduceBlock& block, int64_t kept, int64_t element_bytes, RowUpdate update,
                    void* lanes, const void* parameter);
struct ColumnRun {
  const void* x;   // first reduced element of the run, for the block's first kept element
  int64_t stride;  // to the next reduced element, in elements
  int64_t n;       // reduced elements
  int64_t width;   // kept elements
  int64_t first;   // number of the first reduced element
};
using ColumnUpdate = void (*)(void* lanes, const ColumnRun& run, const void* parameters);
void accumulate_columns(const ReduceBlock& block, int64_t element_bytes, ColumnUpdate update, void* lanes,
                        const void* parameters);

namespace {

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
  return ((a > b) | (a != a)) ? a : b;
}
EDGE_INLINE F32 greater_of(F32 a, F32 b) {
  return max(a, b);
}
template <class A>
EDGE_INLINE A smaller_of(A a, A b) {
  return ((a < b) | (a != a)) ? a : b;
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

// Applies Op to n elements of one row, which begin a piece: lengths of pieces but the last are multiples
// of 16.
template <class Op, class T, class A>
void row_update(void* lanes_out, const void* elements, int64_t n, const void* parameter_in) {
  A* lanes = static_cast<A*>(lanes_out);
  const T* x = static_cast<const T*>(elements);
  const A parameter = *static_cast<const A*>(parameter_in);
  if constexpr (kReduceLanes<A> == 1) {
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

// Applies Op to a run of reduced elements of neighbouring kept ones.
template <class Op, class T, class A>
void column_update(void* lanes_out, const ColumnRun& run, const void* parameters) {
  const A* p = static_cast<const A*>(parameters);
  const T* row = static_cast<const T*>(run.x);
  for (int64_t i = 0; i < run.n; ++i, row += run.stride) {
    A* acc = static_cast<A*>(lanes_out) + (run.first + i) % kReduceLanes<A> * kBlock;
    EDGE_IVDEP
    for (int64_t c = 0; c < run.width; ++c) acc[c] = Op::step(acc[c], as_accumulator<A>(row[c]), p[c]);
  }
}

// Reduces each kept element of the block; `parameters`: one a kept element, or nullptr for zeros.
template <class Op, class T, class A>
EDGE_NOINLINE void accumulate(const ReduceBlock& block, const A* parameters, A* results) {
  constexpr int kCount = kReduceLanes<A>;
  alignas(64) A lanes[kCount][kBlock];
  alignas(64) A p[kBlock] = {};
  const int64_t width = block.width;
  if (parameters != nullptr)
    for (int64_t c = 0; c < width; ++c) p[c] = parameters[c];
  if (block.columns) {
    for (auto& lane : lanes)
      for (int64_t c = 0; c < width; ++c) lane[c] = Op::template init<A>();
    accumulate_columns(block, sizeof(T), &column_update<Op, T, A>, lanes, p);
    for (int half = kCount / 2; half > 0; half /= 2)
      for (int l = 0; l < half; ++l)
        for (int64_t c = 0; c < width; ++c) lanes[l][c] = Op::fold(lanes[l][c], lanes[l + half][c]);
    for (int64_t c = 0; c < width; ++c) results[c] = lanes[0][c];
    return;
  }
  for (int64_t c = 0; c < width; ++c) {
    A* lane = lanes[0];  // a row's lanes lie side by side
    for (int l = 0; l < kCount; ++l) lane[l] = Op::template init<A>();
    if (block.count > 0) accumulate_row(block, c, sizeof(T), &row_update<Op, T, A>, lane, p + c);
    for (int half = kCount / 2; half > 0; half /= 2)
      for (int l = 0; l < half; ++l) lane[l] = Op::fold(lane[l], lane[l + half]);
    results[c] = lane[0];
  }
}

template <const ReduceForm& Form>
void reduce_kernel(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  run_reduce(Form, args, m0, m1);
}

}  // namespace
}  // namespace edge_infer::EDGE_ISA
