#include "runtime/executor/arena.h"

#include <gtest/gtest.h>

#include <cstring>

namespace edge_infer {
namespace {

TEST(Arena, GivesAlignedMemoryOfEverySize) {
  for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{65'537}, (size_t{2} << 20) - 1, size_t{2} << 20,
                             (size_t{2} << 20) + 1, size_t{9'000'000}}) {
    Arena arena;
    ASSERT_TRUE(arena.reserve(bytes));
    EXPECT_GE(arena.capacity(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.data()) % 64, 0U);
    std::memset(arena.data(), 1, arena.capacity());  // all of it is there
  }
}

// A page table walk a row is what huge pages save; where the kernel has none, alignment costs nothing.
TEST(Arena, LargeMemoryIsWholeHugePages) {
  Arena arena;
  ASSERT_TRUE(arena.reserve(size_t{5} << 20));
  EXPECT_EQ(arena.capacity(), size_t{6} << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.data()) % (size_t{2} << 20), 0U);
}

TEST(Arena, KeepsWhatFitsAndGrowsBeyond) {
  Arena arena;
  ASSERT_TRUE(arena.reserve(size_t{3} << 20));
  std::byte* const data = arena.data();
  const size_t capacity = arena.capacity();
  ASSERT_TRUE(arena.reserve(capacity));
  EXPECT_EQ(arena.data(), data);
  ASSERT_TRUE(arena.reserve(capacity + 1));
  EXPECT_GT(arena.capacity(), capacity);
}

TEST(Arena, IsTrimmedAfterManySmallCalls) {
  Arena arena;
  ASSERT_TRUE(arena.reserve(size_t{64} << 20));
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(arena.reserve(1000));
  EXPECT_LT(arena.capacity(), size_t{8} << 20);
}

TEST(Arena, SaysWhatItCannotGet) {
  Arena arena;
  const Status status = arena.reserve(size_t{1} << 60);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(arena.data(), nullptr);
  EXPECT_EQ(arena.capacity(), 0U);
}

}  // namespace
}  // namespace edge_infer
