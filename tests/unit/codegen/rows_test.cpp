// Row nests of each family on every instruction set of this machine, against evaluate, at sizes around the
// vector's.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/kernels/nest_run.h"

namespace edge_infer::testing {
namespace {

class Rows : public ::testing::TestWithParam<int> {
 protected:
  // `N` in the text is the parameter.
  void check(std::string text, NestCase c) {
    for (size_t at = 0; (at = text.find('N', at)) != std::string::npos;)
      text.replace(at, 1, std::to_string(GetParam()));
    c.text = std::move(text);
    EXPECT_EQ(compare_with_evaluate(c), "");
  }
};

TEST_P(Rows, LayerNorm) {
  check(R"(nest @ln class f32.k1 symbols(T in 1..64 hint 8)
    (b0: in f32[T, N], b1: in f32[N], b2: in f32[N], b3: out f32[T, N]) {
    for m:T work {
      local c0: f32[N]
      for n:N lane { c0[n] = b0[N*m+n] * 2 }
      %v0, %v1 = reduce moments(c0[n]) over n:N
      %v2 = rsqrt(%v1 / f32(size(N):i64) + 1e-5)
      for n:N lane { b3[N*m+n] = (c0[n] - %v0) * %v2 * b1[n] + b2[n] }
    } })",
        {.symbols = {7}});
}

TEST_P(Rows, SoftmaxOfSymbolicLength) {
  check(R"(nest @softmax class f32.k1 symbols(S in 1..128 hint 8)
    (b0: in f32[5, S], b1: out f32[5, S]) {
    for m:5 work {
      local c0: f32[S]
      %v0 = reduce max(b0[S*m+n]) over n:S
      for n:S lane { c0[n] = exp(b0[S*m+n] - %v0) }
      %v1 = reduce sum(c0[n]) over n:S
      for n:S lane { b1[S*m+n] = c0[n] / %v1 }
    } })",
        {.symbols = {GetParam()}});
}

TEST_P(Rows, ColumnsReducedInLanes) {
  check(R"(nest @columns class f32.k1 symbols(T in 1..64 hint 8)
    (b0: in f32[T, N], b1: out f32[N], b2: out f32[N], b3: out f32[N], b4: out i64[N]) {
    for m:N work {
      %v0 = reduce sum(b0[N*t+m]) over t:T
      %v1, %v2 = reduce moments(b0[N*t+m]) over t:T
      %v3 = reduce argmax(b0[N*t+m]) over t:T
      b1[m] = %v0
      b2[m] = %v2
      b3[m] = %v1
      b4[m] = %v3
    } })",
        {.symbols = {37}});
}

TEST_P(Rows, RowsReduced) {
  check(R"(nest @rows class f32.k1 symbols(T in 1..64 hint 8)
    (b0: in f32[T, N], b1: in i32[T, N], b2: out f32[T], b3: out i64[T], b4: out i64[T], b5: out i32[T], b6: out bool[T]) {
    for m:T work {
      %v0 = reduce sum(b0[N*m+n] * b0[N*m+n]) over n:N
      b2[m] = sqrt(%v0)
      %v1 = reduce argmin(b0[N*m+n]) over n:N
      b3[m] = %v1
      %v2 = reduce argmax(b1[N*m+n]) over n:N
      b4[m] = %v2
      %v3 = reduce sum(b1[N*m+n]) over n:N
      %v4 = reduce max(b1[N*m+n]) over n:N
      b5[m] = %v3 * %v4
      %v5 = reduce any(b0[N*m+n] > 2) over n:N
      %v6 = reduce all(b0[N*m+n] < 1) over n:N
      b6[m] = xor(%v5, %v6)
    } })",
        {.symbols = {9}});
}

TEST_P(Rows, GatherAndSegmentPool) {
  check(R"(nest @pool class f32.k1 symbols(T in 1..512 hint 8, B in 1..16 hint 2)
    (b0: in f32[T, N], b1: index i32[B+1], b2: out f32[B, N]) {
    for m:B work {
      local c0: f32[N]
      %v0 = b1[m]
      %v1 = b1[m+1]
      for n:N lane {
        %v2 = reduce sum(b0[N*t+n]) over t:v0..v1 segment
        c0[n] = %v2 / f32(size(v1-v0):i64)
      }
      %v3 = reduce sum(c0[n] * c0[n]) over n:N
      for n:N lane { b2[N*m+n] = c0[n] * rsqrt(%v3) }
    } })",
        {.symbols = {200, 3},
         .fill = [](std::vector<HostTensor>& b) { b[1].store(std::vector<int64_t>{0, 1, 131, 200}); }});
}

TEST_P(Rows, SegmentsOfTheirOwnInEachRow) {
  check(R"(nest @segments class f32.k1 symbols(B in 1..16 hint 2)
    (b0: in f32[N, B], b1: index i32[B+1], b2: out f32[B], b3: out f32[B, 3]) {
    for m:B work {
      %v0 = b1[m]
      %v1 = b1[m+1]
      %v2 = reduce sum(b0[B*t+m]) over t:v0..v1 segment
      b2[m] = %v2
      for d:3 lane {
        %v3 = reduce max(b0[B*t+m] * f32(size(d):i64)) over t:0..v1
        b3[3*m+d] = %v3
      }
    } })",
        {.symbols = {4}, .fill = [](std::vector<HostTensor>& b) {
           const int64_t n = GetParam();
           b[1].store(std::vector<int64_t>{0, std::min<int64_t>(1, n), n / 2 + 1, n, n});
         }});
}

TEST_P(Rows, EmbeddingRows) {
  check(R"(nest @embed class f32.k1 symbols(T in 1..64 hint 8)
    (b0: index i64[T], b1: in f16[30, N], b2: in bf16[10, N], b3: index i32[T], b4: out f32[T, N], b5: out bf16[T, N]) {
    for m:T work {
      %v0 = b0[m]
      %v1 = b3[m]
      for n:N lane {
        %v2 = f32(b1[N*v0+n]) + f32(b2[N*v1+n])
        b4[N*m+n] = %v2
        b5[N*m+n] = bf16(%v2)
      }
    } })",
        {.symbols = {6}, .fill = [](std::vector<HostTensor>& b) {
           b[0].store(std::vector<int64_t>{0, 29, 3, 3, 17, 8});
           b[3].store(std::vector<int64_t>{9, 0, 1, 2, 3, 4});
         }});
}

TEST_P(Rows, ViewsAndPredicates) {
  check(R"(nest @views class f32.k1 symbols(T in 1..64 hint 8)
    (b0: in f32[T, N], b1: in bool[T], b2: out f32[N, T], b3: out f32[T, N], b4: out f32[T, N]) {
    for m:T work {
      for n:N lane { b2[T*n+m] = b0[N*m+n] }
      for n:N lane { b3[N*m+n] = load(b0[N*m+n-3], size(n):i64 >= 3:i64, 7) }
      for n:N lane { b4[N*m+n] = select(b1[m], b0[N*m+(n//4)], b0[N*m+(n*5)%N]) if size(n):i64 < 11:i64 }
    } })",
        {.symbols = {5}});
}

TEST_P(Rows, SerialScan) {
  check(R"(nest @scan class f32.k1 symbols(T in 1..64 hint 8)
    (b0: in f32[T, N], b1: out f32[T, N]) {
    for m:T work {
      local c0: f32[1]
      c0[0] = 0
      for k:N serial {
        c0[0] = c0[0] + b0[N*m+k]
        b1[N*m+k] = c0[0]
      }
    } })",
        {.symbols = {5}});
}

TEST_P(Rows, MergedHeadsAcrossAlignedVectors) {
  check(R"(nest @heads class f32.k1 symbols(T in 1..64 hint 8)
    (b0: in f32[3, T, 32], b1: out f32[T, 96], b2: out f32[T, N]) {
    for m:T work {
      for n:96 lane { b1[96*m+n] = b0[32*T*(n//32)+32*m+n%32] }
      for n:N lane { b2[N*m+n] = b0[32*T*((n+m)%3)+n%32] }
    } })",
        {.symbols = {5}});
}

INSTANTIATE_TEST_SUITE_P(Sizes, Rows, ::testing::Values(1, 2, 15, 16, 17, 33, 100));

}  // namespace
}  // namespace edge_infer::testing
