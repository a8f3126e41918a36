// Which rows of a buffer an iteration of the work axis touches.
#include "compiler/program/row_access.h"

#include <gtest/gtest.h>

#include "compiler/loop/parse.h"

namespace edge_infer {
namespace {

std::vector<RowAccess> accesses(const std::string& text) {
  const auto nest = loop::parse_nest(text);
  EXPECT_TRUE(nest) << nest.error().message;
  return nest ? row_accesses(*nest) : std::vector<RowAccess>();
}

std::string stride(const RowAccess& access) {
  return access.stride ? access.stride->str() : "anywhere";
}

TEST(RowAccess, rows_of_a_row_nest) {
  const auto a = accesses(R"(nest @add class f32.k1 symbols(T in 1..64 hint 8)
    (b0: in f32[T, 384], b1: in f32[384], b2: out f32[T, 384]) {
  for m:T work {
    for n:384 lane { b2[384*m+n] = b0[384*m+n] + b1[n] }
  }
})");
  ASSERT_EQ(a.size(), 3u);
  EXPECT_TRUE(a[0].reads && !a[0].writes);
  EXPECT_EQ(stride(a[0]), "384");
  EXPECT_EQ(stride(a[1]), "anywhere");
  EXPECT_TRUE(a[2].writes && !a[2].reads);
  EXPECT_EQ(stride(a[2]), "384");
}

TEST(RowAccess, neighbours_shifted_and_shared_rows_are_anywhere) {
  const auto a = accesses(R"(nest @shift class f32.k1 symbols(T in 2..64 hint 8)
    (b0: in f32[T, 4], b1: in f32[T, 4], b2: in f32[T, 4], b3: out f32[T, 4], b4: out f32[T, 8]) {
  for m:T work {
    for n:4 lane {
      b3[4*m+n] = b0[4*m+n+1] + b1[4*(m//2)+n] + b2[4*m+n] + b2[4*m-n+3]
      b4[8*m+n] = b0[4*m+n]
    }
  }
})");
  ASSERT_EQ(a.size(), 5u);
  EXPECT_EQ(stride(a[0]), "anywhere");  // reaches into the next row
  EXPECT_EQ(stride(a[1]), "anywhere");
  EXPECT_EQ(stride(a[2]), "4");  // backwards, but within the row
  EXPECT_EQ(stride(a[3]), "4");
  EXPECT_EQ(stride(a[4]), "8");  // half of each row
}

TEST(RowAccess, products_read_their_rows_and_all_of_the_weight) {
  const auto a = accesses(R"(nest @ln class f32.k1 symbols(T in 1..64 hint 8)
    (b0: in f32[T, 32], b1: packed f32[16, 32], b2: out f32[T, 16]) {
  for m:T work {
    local c0: f32[16]
    gemm %v0 over n:16, k:32 a(b0[32*m+k]) w(b1) { c0[n] = %v0 }
    %v1, %v2 = reduce moments(c0[n]) over n:16
    for n:16 lane { b2[16*m+n] = (c0[n] - %v1) * %v2 }
  }
})");
  ASSERT_EQ(a.size(), 3u);
  EXPECT_EQ(stride(a[0]), "32");
  EXPECT_EQ(stride(a[1]), "anywhere");
  EXPECT_EQ(stride(a[2]), "16");
}

TEST(RowAccess, gathers_are_anywhere) {
  const auto a = accesses(R"(nest @gather class f32.k1 symbols(T in 1..64 hint 8)
    (b0: index i32[T], b1: in f32[100, 8], b2: out f32[T, 8]) {
  for m:T work {
    %v0 = b0[m]
    for n:8 lane { b2[8*m+n] = b1[8*v0+n] }
  }
})");
  ASSERT_EQ(a.size(), 3u);
  EXPECT_EQ(stride(a[0]), "1");
  EXPECT_EQ(stride(a[1]), "anywhere");
  EXPECT_EQ(stride(a[2]), "8");
}

}  // namespace
}  // namespace edge_infer
