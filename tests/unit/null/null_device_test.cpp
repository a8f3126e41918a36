#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "backends/null/device.h"

namespace edge_infer {
namespace {

TEST(NullDevice, gives_every_prebuilt_name_a_kernel_that_touches_nothing) {
  const NullDevice device;
  auto kernel = device.load_kernel("prebuilt:aten.linear.f32");
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_EQ(kernel->scratch_bytes, 0U);
  kernel->function(nullptr, 0, 10, 0, 10, nullptr);
  EXPECT_EQ(device.load_kernel("cpu.avx2:gemm").error().code, ErrorCode::kNotFound);
}

TEST(NullDevice, packs_sources_one_after_another) {
  const NullDevice device;
  const float a[] = {1, 2, 3, 4}, b[] = {5, 6};
  const Device::Rows rows[] = {{a, 2}, {b, 1}};
  std::vector<float> out(6);
  ASSERT_TRUE(device.pack("nk.f32", rows, 2, std::as_writable_bytes(std::span(out))));
  EXPECT_EQ(out, (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(NullDevice, refuses_wrong_sizes_and_formats) {
  const NullDevice device;
  const float a[] = {1, 2, 3, 4};
  const Device::Rows rows[] = {{a, 2}};
  std::vector<float> small(3), large(5);
  EXPECT_FALSE(device.pack("nk.f32", rows, 2, std::as_writable_bytes(std::span(small))));
  EXPECT_FALSE(device.pack("nk.f32", rows, 2, std::as_writable_bytes(std::span(large))));
  EXPECT_EQ(device.packed_bytes("nk.f32.p48", 1, 1).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(device.packed_bytes("nk.f32", INT64_MAX, 2).error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(device.packed_bytes("nk.f32", -1, 2).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace edge_infer
