#include "backends/cuda/launch.h"

#include <gtest/gtest.h>

namespace edge_infer::cuda {
namespace {

CudaImage sample() {
  CudaImage image;
  image.launch = {.threads = 384,
                  .shared_bytes = 197'632,
                  .blocks_per_sm = 1,
                  .cluster = 2,
                  .tile_rows = 128,
                  .tile_columns = 192,
                  .waits = true,
                  .maps = {{0, DType::kF16, 384, 64, 128, 128}, {1, DType::kBF16, 1152, 64, 96, 64}}};
  image.registers = 168;
  image.spill_bytes = 16;
  image.static_shared_bytes = 1024;
  image.cubin = {std::byte{0x7f}, std::byte{'E'}, std::byte{'L'}, std::byte{'F'}};
  return image;
}

TEST(Launch, text_and_blob_round_trip) {
  const CudaImage image = sample();
  const auto launch = CudaLaunch::parse(image.launch.text());
  ASSERT_TRUE(launch.has_value()) << launch.error().message;
  EXPECT_EQ(*launch, image.launch);
  const auto parsed = CudaImage::parse(image.to_blob());
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(*parsed, image);
  const auto of_source = CudaLaunch::of_source("// launch " + image.launch.text() + "\nint x;\n");
  ASSERT_TRUE(of_source.has_value()) << of_source.error().message;
  EXPECT_EQ(*of_source, image.launch);
  EXPECT_FALSE(CudaLaunch::of_source("int x;\n").has_value());
}

TEST(Launch, every_cut_and_every_flipped_bit_of_the_head_is_found_or_harmless) {
  const KernelBlob blob = sample().to_blob();
  for (size_t n = 0; n < blob.entry; ++n) {
    KernelBlob cut = blob;
    cut.image.resize(n);
    EXPECT_FALSE(CudaImage::parse(cut).has_value()) << n;
  }
  for (size_t bit = 0; bit < blob.entry * 8; ++bit) {
    KernelBlob flipped = blob;
    flipped.image[bit / 8] ^= std::byte{static_cast<unsigned char>(1U << (bit % 8))};
    const auto parsed = CudaImage::parse(flipped);
    if (parsed) {
      EXPECT_LE(parsed->launch.threads, 1024);
      EXPECT_LE(parsed->launch.shared_bytes, 232'448);
    }
  }
}

TEST(Launch, values_that_no_device_accepts_are_refused) {
  const std::string good = sample().launch.text();
  for (const auto& [from, to] : {std::pair{"threads=384", "threads=0"},
                                 {"threads=384", "threads=2048"},
                                 {"shared=197632", "shared=300000"},
                                 {"tile=128x192", "tile=0x192"},
                                 {":s128", ":s100"},
                                 {"map=0:f16", "map=0:i8"},
                                 {"waits=1", "waits=2"}}) {
    std::string text = good;
    text.replace(text.find(from), std::string_view(from).size(), to);
    const auto parsed = CudaLaunch::parse(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kCorruption);
  }
}

TEST(Launch, grid_covers_the_items_up_to_what_stays_resident) {
  CudaLaunch launch{.blocks_per_sm = 2, .tile_rows = 64, .tile_columns = 96};
  EXPECT_EQ(launch.grid(1, 1, 132), 1);
  EXPECT_EQ(launch.grid(128, 1152, 132), 24);
  EXPECT_EQ(launch.grid(100'000, 1152, 132), 264);
  EXPECT_EQ(launch.grid(0, 0, 132), 1);
  launch.cluster = 4;
  EXPECT_EQ(launch.grid(1, 1, 132), 4);
  EXPECT_EQ(launch.grid(100'000, 1152, 131) % 4, 0);
}

}  // namespace
}  // namespace edge_infer::cuda
