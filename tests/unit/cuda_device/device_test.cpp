// Finding a driver and a GPU, its memory and its kernels, on the fake driver.
#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>

#include "backends/cuda/pack_rows.h"
#include "backends/cuda/target.h"
#include "runtime/base/half.h"
#include "tests/unit/cuda_device/sample.h"

namespace edge_infer::cuda {
namespace {

using Open = CudaTest;

TEST_F(Open, tells_what_the_gpu_is) {
  const auto device = open();
  EXPECT_EQ(device->target().name, "cuda.sm_90a");
  EXPECT_EQ(device->target().packed_linear_format, "nk.f16");
  EXPECT_EQ(device->target().attention_block_rows, 64);
  EXPECT_EQ(device->facts().name, "Fake GPU");
  EXPECT_EQ(device->facts().uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
  EXPECT_EQ(device->facts().multiprocessors, 132);
  EXPECT_TRUE(device->facts().programmatic_launch);
  // The fake tells an H200's clocks: 132 multiprocessors at 1.98 GHz, 6,144 bits at 3.2 GHz.
  const DevicePeak peak = device->peak();
  EXPECT_NEAR(peak.flops, 66.9e12, 0.1e12);
  EXPECT_NEAR(peak.half_flops, 1070e12, 1e12);
  EXPECT_NEAR(peak.bytes, 4.92e12, 0.01e12);
}

TEST_F(Open, chooses_by_index_and_uuid) {
  fake::state().devices = 2;
  EXPECT_EQ(open({.select = "1"})->facts().name, "Other fake GPU");
  EXPECT_EQ(open({.select = "GPU-1011"})->facts().name, "Other fake GPU");
  EXPECT_EQ(CudaDevice::open({.select = "GPU-"}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(CudaDevice::open({.select = "one"}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(CudaDevice::open({.select = "2"}).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(fake::state().contexts, 0);
}

TEST_F(Open, what_is_missing_is_no_device_and_says_why) {
  const auto why = [](const CudaDeviceOptions& options = {}) {
    const auto device = CudaDevice::open(options);
    EXPECT_FALSE(device);
    if (device) return std::string();
    EXPECT_EQ(device.error().code, ErrorCode::kUnsupported);
    EXPECT_TRUE(device.error().message.starts_with("no CUDA device: ")) << device.error().message;
    return device.error().message;
  };
  fake::state().version = 11'080;
  EXPECT_EQ(why(), "no CUDA device: the driver serves CUDA 11.8, expected 12.0 or newer");
  fake::state().version = 12'020;
  fake::state().missing = {"cuTensorMapEncodeTiled"};
  EXPECT_NE(why().find("for CUDA 12.2 lacks cuTensorMapEncodeTiled"), std::string::npos);
  fake::state().missing.clear();
  fake::state().init_code = driver_code::kNoDevice;
  EXPECT_EQ(why(), "no CUDA device: CUDA_ERROR_NO_DEVICE (what the driver says)");
  fake::state().init_code = driver_code::kSuccess;
  fake::state().devices = 0;
  EXPECT_EQ(why(), "no CUDA device: the driver finds none");
  fake::state().devices = 1;
  fake::state().major = 7, fake::state().minor = 5;
  EXPECT_NE(why().find("compute capability 7.5, expected 8.x"), std::string::npos);
  fake::state().major = 8, fake::state().minor = 0;
  EXPECT_NE(why({.variant = "sm_90a"}).find("runs no sm_90a"), std::string::npos);
  ::setenv("EDGE_INFER_LIBCUDA", "/nowhere/libcuda.so.1", 1);
  EXPECT_NE(why().find("/nowhere/libcuda.so.1"), std::string::npos);
  ::setenv("EDGE_INFER_LIBCUDA", "relative.so", 1);
  EXPECT_NE(why().find("expected a full path"), std::string::npos);
  EXPECT_EQ(fake::state().contexts, 0);
}

TEST_F(Open, each_capability_gets_the_best_code) {
  for (const auto& [major, minor, name] : {std::tuple{8, 0, "cuda.sm_80"},
                                           {8, 6, "cuda.sm_86"},
                                           {8, 7, "cuda.sm_86"},
                                           {8, 9, "cuda.sm_89"},
                                           {10, 3, "cuda.sm_100"},
                                           {12, 0, "cuda.sm_120"},
                                           {12, 1, "cuda.sm_120"}}) {
    fake::state().major = major, fake::state().minor = minor;
    const auto device = open();
    EXPECT_EQ(device->target().name, name);
    EXPECT_EQ(device->facts().programmatic_launch, major >= 9);
  }
  fake::state().major = 9, fake::state().minor = 0;
  EXPECT_EQ(open({.variant = "sm_90"})->target().name, "cuda.sm_90");
  EXPECT_FALSE(variant_of(11, 0));
}

TEST_F(Open, a_driver_without_edge_types_has_no_programmatic_launch) {
  fake::state().version = 12'020;
  EXPECT_FALSE(open()->facts().programmatic_launch);
}

using Memory = CudaTest;

TEST_F(Memory, errors_name_the_bytes_and_the_use) {
  fake::state().memory_bytes = 10'000;
  const auto device = open();
  auto held = device->allocate(4000, "the weights");
  ASSERT_TRUE(held);
  EXPECT_EQ(device->bytes_in_use(), 4000U);
  const auto refused = device->allocate(7000, "more weights");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(refused.error().message,
            "Fake GPU has no 7000 bytes for more weights: CUDA_ERROR_OUT_OF_MEMORY (out of memory); 6000 of "
            "10000 bytes are free");
  EXPECT_EQ(device->bytes_in_use(), 4000U);
  *held = DeviceBuffer();
  EXPECT_EQ(device->bytes_in_use(), 0U);
  EXPECT_EQ(fake::state().device_bytes, 0U);
  EXPECT_TRUE(device->usable());
}

TEST_F(Memory, the_limit_holds) {
  const auto device = open({.memory_limit = 1000});
  const auto held = device->allocate(600, "a");
  ASSERT_TRUE(held);
  const auto refused = device->allocate(401, "b");
  EXPECT_EQ(refused.error().message, "Fake GPU has no 401 bytes for b: 600 are in use and the limit is 1000");
  EXPECT_TRUE(device->allocate(400, "c"));
}

TEST(Options, are_parsed_from_the_device_s_name) {
  const auto parse = [](std::string_view text) { return CudaDeviceOptions::parse(text); };
  EXPECT_EQ(parse("")->select, "");
  EXPECT_EQ(parse("1")->select, "1");
  EXPECT_EQ(parse("1")->memory_limit, 0U);
  EXPECT_EQ(parse("memory=2G")->memory_limit, size_t{2} << 30);
  EXPECT_EQ(parse("memory=2G")->select, "");
  EXPECT_EQ(parse("GPU-01,memory=512M")->select, "GPU-01");
  EXPECT_EQ(parse("1,memory=700")->memory_limit, 700U);
  for (const char* bad : {"memory=", "memory=0", "memory=-1", "memory=1T", "memory=1GB", "1memory=3",
                          "memory=99999999999999999999", "memory=99999999999G", "memory=1,1", "one", "-1",
                          "1 ", "99999999999", "gpu-01", "one,memory=1G"})
    EXPECT_FALSE(parse(bad)) << bad;
}

using Code = CudaTest;

TEST_F(Code, is_loaded_with_what_its_launch_needs) {
  CudaImage image = kernel_image("linear");
  image.launch.cluster = 16;
  const auto device = open();
  ASSERT_TRUE(device->load_code(kernel_name("linear"), image.to_blob()));
  EXPECT_EQ(fake::state().max_shared["linear"], 100'000);
  EXPECT_TRUE(fake::state().non_portable.contains("linear"));
  EXPECT_EQ(fake::state().function_loads, 1);
  EXPECT_EQ(device->find_kernel(kernel_name("linear"))->launch, image.launch);
  const auto loaded = device->load_kernel(kernel_name("linear"));
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->function, nullptr);
  EXPECT_EQ(device->load_kernel(kernel_name("pool")).error().code, ErrorCode::kNotFound);
  // Known code is not loaded twice, other code not at all.
  ASSERT_TRUE(device->load_code(kernel_name("linear"), image.to_blob()));
  EXPECT_EQ(fake::state().libraries, 1);
  EXPECT_EQ(device->load_code(kernel_name("linear"), kernel_image("pool").to_blob()).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(device->load_code("linear", image.to_blob()).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(Code, all_of_it_or_none) {
  const auto device = open();
  const KernelBlob good = kernel_image("pool").to_blob();
  CudaImage unknown = kernel_image("pool");
  unknown.cubin.assign(64, std::byte{1});  // as much as the fake looks at
  const KernelBlob bad = unknown.to_blob();
  const NamedBlob both[] = {{"kernel:a", &good}, {"kernel:b", &bad}};
  EXPECT_EQ(device->load_code(both).error().code, ErrorCode::kCorruption);
  EXPECT_EQ(device->find_kernel("kernel:a"), nullptr);
  EXPECT_EQ(fake::state().libraries, 0);
}

TEST_F(Code, for_another_gpu_is_refused_with_its_name) {
  const auto device = open();
  fake::state().load_code = driver_code::kNoBinaryForGpu;
  const auto refused = device->load_code("kernel:a", kernel_image("pool").to_blob());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(refused.error().message,
            "kernel:a: code for another GPU: CUDA_ERROR_NO_BINARY_FOR_GPU (what the driver says)");
  fake::state().load_code = driver_code::kSuccess;
  CudaImage large = kernel_image("pool");
  large.launch.shared_bytes = 232'448;
  large.static_shared_bytes = 1;
  EXPECT_EQ(device->load_code("kernel:a", large.to_blob()).error().code, ErrorCode::kUnsupported);
  fake::state().kernels["pool"].max_threads = 64;
  EXPECT_EQ(device->load_code("kernel:a", kernel_image("pool").to_blob()).error().code,
            ErrorCode::kUnsupported);
  EXPECT_EQ(fake::state().libraries, 0);
}

TEST_F(Code, is_unloaded_with_the_device) {
  open_loaded().reset();
  EXPECT_EQ(fake::state().libraries, 0);
  EXPECT_EQ(fake::state().contexts, 0);
}

#if defined(__x86_64__)
TEST(PackRows, f16_rounds_as_the_compiler_does) {
  const auto same = [](float value) {
    const auto reference = static_cast<_Float16>(value);
    const auto bits = std::bit_cast<uint16_t>(reference);
    if (std::isnan(value)) return (f16_of(value) & 0x7fffU) > 0x7c00U;
    return f16_of(value) == bits;
  };
  for (uint32_t half = 0; half < 0x10000; ++half) {
    const auto exact = static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(half)));
    ASSERT_TRUE(same(exact)) << exact;
    // The neighbours of the midpoint to the next one, and the midpoint.
    const auto next = static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(half + 1)));
    const float middle = exact + (next - exact) / 2;
    for (const float value : {middle, std::nextafter(middle, 1e9F), std::nextafter(middle, -1e9F)})
      ASSERT_TRUE(same(value)) << value;
  }
  std::mt19937 random(3);
  for (int i = 0; i < 1'000'000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    ASSERT_TRUE(same(value)) << value;
  }
  for (const float value : {65503.9F, 65519.99F, 65520.0F, 1e30F, -65520.0F, INFINITY, 1e-8F, -1e-40F})
    EXPECT_TRUE(same(value)) << value;
}
#endif

TEST(PackRows, bf16_rounds_to_nearest_even) {
  EXPECT_EQ(bf16_of(1.0F), 0x3f80);
  EXPECT_EQ(bf16_of(std::bit_cast<float>(0x3f808000U)), 0x3f80);
  EXPECT_EQ(bf16_of(std::bit_cast<float>(0x3f818000U)), 0x3f82);
  EXPECT_EQ(bf16_of(std::bit_cast<float>(0x3f808001U)), 0x3f81);
  EXPECT_EQ(bf16_of(3.4e38F), 0x7f80);
  EXPECT_GT(bf16_of(NAN) & 0x7fff, 0x7f80);
}

TEST_F(Memory, packs_rows_one_source_after_another) {
  const auto device = open();
  const float a[] = {1, 2, 3, 4}, b[] = {5, -6}, large[] = {0, 70'000};
  const Device::Rows rows[] = {{a, 2}, {b, 1}};
  std::vector<uint16_t> out(6);
  ASSERT_TRUE(device->pack("nk.f16", rows, 2, std::as_writable_bytes(std::span(out))));
  EXPECT_EQ(out, (std::vector<uint16_t>{0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0xc600}));
  ASSERT_TRUE(device->pack("nk.bf16", rows, 2, std::as_writable_bytes(std::span(out))));
  EXPECT_EQ(out[5], 0xc0c0);
  std::vector<float> wide(6);
  ASSERT_TRUE(device->pack("nk.f32", rows, 2, std::as_writable_bytes(std::span(wide))));
  EXPECT_EQ(wide, (std::vector<float>{1, 2, 3, 4, 5, -6}));
  const Device::Rows too_large[] = {{a, 2}, {large, 1}};
  const Status refused = device->pack("nk.f16", too_large, 2, std::as_writable_bytes(std::span(out)));
  EXPECT_EQ(refused.error().message,
            "a weight is 70000 at row 2, column 1, but f16 holds at most 65504; bf16 and fp32 do");
  EXPECT_FALSE(device->pack("nk.f16", rows, 2, std::as_writable_bytes(std::span(wide))));
  EXPECT_EQ(device->packed_bytes("nk.f32.p16", 1, 1).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(device->packed_bytes("nk.f16", INT64_MAX, 2).error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(device->packed_bytes("nk.f16", -1, 2).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace edge_infer::cuda
