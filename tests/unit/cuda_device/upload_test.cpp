// Weights on their way to the device: through two page-locked buffers, beside the loading of code and the
// making of graphs. The fake driver reads a copy's source when it is waited for, so a buffer that is filled
// too early shows in the bytes.
#include <chrono>
#include <random>
#include <thread>

#include "backends/cuda/staged_copy.h"
#include "tests/unit/cuda_device/sample.h"

namespace edge_infer::cuda {
namespace {

constexpr std::chrono::seconds kPatience{60};

struct Items {
  explicit Items(const std::vector<size_t>& sizes) {
    uint64_t state = 3;
    for (const size_t size : sizes) {
      std::vector<std::byte>& bytes = data.emplace_back(size);
      for (std::byte& b : bytes)
        b = static_cast<std::byte>((state = state * 6364136223846793005U + 1442695040888963407U) >> 56);
    }
    size_t offset = 0;
    for (const auto& bytes : data) {
      items.push_back({bytes.data(), offset, bytes.size()});
      offset += (bytes.size() + 255) / 256 * 256;
    }
    total = offset;
  }
  bool are_at(DeviceAddress address) const {
    for (const CopyItem& item : items)
      if (std::memcmp(reinterpret_cast<const void*>(address + item.offset), item.data, item.bytes) != 0)
        return false;
    return true;
  }
  std::vector<std::vector<std::byte>> data;
  std::vector<CopyItem> items;
  size_t total = 0;
};

using Upload = CudaTest;

TEST_F(Upload, all_bytes_arrive_and_a_buffer_is_filled_again_after_its_copy) {
  const auto device = open();
  const Items items({1, 255, 256, 257, 3 << 20, 5'000'001, 77, 6 << 20, 1000});
  const auto buffer = device->allocate(items.total, "test");
  ASSERT_TRUE(buffer);
  fake::state().traces = true;
  const Status status = copy_staged(*device, buffer->address(), items.items);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_TRUE(items.are_at(buffer->address()));
  const size_t rest = items.items.back().offset + items.items.back().bytes - 3 * kStagingBytes;
  ASSERT_LT(rest, kStagingBytes);
  const std::string full = "copy " + std::to_string(kStagingBytes);
  EXPECT_EQ(fake::state().trace,
            (std::vector<std::string>{full, "record 1", full, "record 2", "wait for 1", full, "record 3",
                                      "wait for 2", "copy " + std::to_string(rest), "record 4",
                                      "wait for the stream", "wait for the stream"}));
  EXPECT_EQ(fake::state().pinned_bytes, 0U);
  EXPECT_EQ(fake::state().streams, 0);
  EXPECT_EQ(fake::state().events, 0);
}

TEST_F(Upload, of_any_sizes_arrives) {
  const auto device = open();
  std::mt19937 random(9);
  for (int round = 0; round < 6; ++round) {
    std::vector<size_t> sizes;
    for (int i = 0; i < 12; ++i) sizes.push_back(1 + random() % (i % 3 == 0 ? 3'000'000 : 3000));
    const Items items(sizes);
    const auto buffer = device->allocate(items.total, "test");
    ASSERT_TRUE(buffer);
    ASSERT_TRUE(copy_staged(*device, buffer->address(), items.items));
    EXPECT_TRUE(items.are_at(buffer->address())) << round;
  }
}

TEST_F(Upload, without_page_locked_memory_the_driver_copies) {
  const auto device = open();
  const Items items({1000, 2'000'000});
  const auto buffer = device->allocate(items.total, "test");
  ASSERT_TRUE(buffer);
  fake::state().pinned_limit = fake::state().pinned_bytes + 2'500'000;  // one of the two
  ASSERT_TRUE(copy_staged(*device, buffer->address(), items.items));
  EXPECT_TRUE(items.are_at(buffer->address()));
  EXPECT_EQ(fake::state().uploads, 2);
  EXPECT_EQ(fake::state().copies_to_device, 0);
  EXPECT_EQ(fake::state().pinned_bytes, 0U);
  EXPECT_EQ(fake::state().events, 0);
}

TEST_F(Upload, that_fails_leaves_nothing_behind) {
  for (const DriverCode code : {driver_code::kInvalidValue, driver_code::kIllegalAddress})
    for (const int nth : {1, 2, 3}) {
      SetUp();
      const auto device = open();
      const Items items({9 << 20});
      const auto buffer = device->allocate(items.total, "test");
      ASSERT_TRUE(buffer);
      fake::state().fail_copy = nth;
      fake::state().copy_code = code;
      const Status status = copy_staged(*device, buffer->address(), items.items);
      ASSERT_FALSE(status);
      const bool lost = code == driver_code::kIllegalAddress;
      EXPECT_EQ(status.error().code, lost ? ErrorCode::kDeviceLost : ErrorCode::kInternal);
      EXPECT_NE(status.error().message.find("upload weights"), std::string::npos);
      EXPECT_TRUE(fake::state().on_the_way.empty());
      EXPECT_EQ(fake::state().pinned_bytes, 0U);
      EXPECT_EQ(fake::state().streams, 0);
      EXPECT_EQ(fake::state().events, 0);
      EXPECT_EQ(device->usable().has_value(), !lost);
    }
}

// A program with a table of 8 MB, of which it uses the sample's rows.
constexpr int64_t kLargeRows = 1 << 18;

Program large_program() {
  Program p = sample_program();
  p.constants[0].sizes = {kLargeRows, kWidth};
  p.buffers[2].sizes = {kLargeRows, kWidth};
  return p;
}

class LargeConstants final : public ConstantSource {
 public:
  explicit LargeConstants(const Device& device) : table_(kLargeRows * kWidth) {
    const Program p = sample_program();
    const Result<const void*> small = sample_.locate(p.constants[0], device);
    std::memcpy(table_.data(), *small, kVocabulary * kWidth * sizeof(float));
  }
  Status prepare(std::span<const ConstantDecl>, const Device&) override { return {}; }
  Result<const void*> locate(const ConstantDecl& constant, const Device& device) override {
    if (constant.format == "raw") return table_.data();
    return sample_.locate(constant, device);
  }

 private:
  SampleConstants sample_;
  std::vector<float> table_;
};

Status run_sample(const Executable& program) {
  SampleCall call({5, 100, 3});
  const auto context = program.make_context();
  EDGE_INFER_RETURN_IF_ERROR(program.run(*context, call.inputs(), call.outputs(), 1));
  EXPECT_EQ(call.out, expected(call));
  return {};
}

TEST_F(Upload, goes_on_while_code_is_loaded_and_graphs_are_made) {
  const auto device = open();
  LargeConstants constants(*device);
  std::mutex mutex;
  std::condition_variable changed;
  int copies = 0, loads = 0, graphs = 0;
  const auto wait_for = [&](const auto& condition) {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, kPatience, condition));
  };
  const auto count = [&](int& counter) {
    {
      const std::lock_guard lock(mutex);
      ++counter;
    }
    changed.notify_all();
  };
  // Code is loaded only after the first copy has begun, and the last copy begins only after graphs were made:
  // what does one after the other waits for good.
  fake::state().before_copy = [&](size_t bytes) {
    if (bytes < kStagingBytes) wait_for([&] { return graphs > 0 && loads > 0; });
    count(copies);
  };
  fake::state().before_load = [&] {
    wait_for([&] { return copies > 0; });
    count(loads);
  };
  fake::state().before_instantiate = [&] { count(graphs); };
  const auto prefetched = device->prefetch(large_program(), constants);
  ASSERT_TRUE(prefetched) << prefetched.error().message;
  std::vector<KernelBlob> blobs;
  std::vector<std::string> names;
  for (const char* kernel : {"gather", "linear", "pool"}) {
    blobs.push_back(kernel_image(kernel).to_blob());
    names.push_back(kernel_name(kernel));
  }
  std::vector<NamedBlob> named;
  for (size_t i = 0; i < blobs.size(); ++i) named.push_back({names[i], &blobs[i]});
  ASSERT_TRUE(device->load_code(named));
  const auto program = CudaProgram::bind(large_program(), device, constants, {.mode = LaunchMode::kGraphs});
  ASSERT_TRUE(program) << program.error().message;
  fake::state().before_copy = nullptr;
  fake::state().before_load = fake::state().before_instantiate = nullptr;
  ASSERT_TRUE(run_sample(**program));
  // Once: what was prefetched is what the program uses.
  EXPECT_EQ(copies, 3);
  EXPECT_NE(device->start_report().find("weights 8.4 MB"), std::string::npos) << device->start_report();
}

TEST_F(Upload, that_is_not_bound_is_given_back) {
  const auto device = open_loaded();
  LargeConstants constants(*device);
  const size_t before = device->bytes_in_use();
  {
    const auto prefetched = device->prefetch(large_program(), constants);
    ASSERT_TRUE(prefetched);
    EXPECT_GT(device->bytes_in_use(), before);
  }
  EXPECT_EQ(device->bytes_in_use(), before);
  EXPECT_EQ(fake::state().pinned_bytes, 0U);
}

TEST_F(Upload, that_fails_fails_the_program_and_the_next_one_uploads_anew) {
  const auto device = open_loaded();
  LargeConstants constants(*device);
  fake::state().fail_copy = 2;
  fake::state().copy_code = driver_code::kInvalidValue;
  const auto failed = device->bind(large_program(), constants);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("upload weights"), std::string::npos) << failed.error().message;
  const auto program = device->bind(large_program(), constants);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_TRUE(run_sample(**program));
}

TEST_F(Upload, is_shared_by_programs_that_are_bound_at_once) {
  const auto device = open_loaded();
  LargeConstants constants(*device);
  ASSERT_TRUE(device->prefetch(large_program(), constants));
  std::atomic<int> right{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      const auto program = device->bind(large_program(), constants);
      ASSERT_TRUE(program) << program.error().message;
      if (run_sample(**program)) ++right;
    });
  threads.clear();
  EXPECT_EQ(right, 4);
}

TEST_F(Upload, of_code_is_all_or_nothing_on_several_threads) {
  const auto device = open();
  std::vector<KernelBlob> blobs;
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) {
    fake::state().kernels["copy" + std::to_string(i)] = fake::state().kernels.at("pool");
    CudaImage image = kernel_image("pool");
    image.cubin.clear();
    const std::string code = i == 13 ? "odd" : "FAKE copy" + std::to_string(i);
    for (const char c : code + '\0') image.cubin.push_back(static_cast<std::byte>(c));
    blobs.push_back(image.to_blob());
    names.push_back(kernel_name("copy" + std::to_string(i)));
  }
  std::vector<NamedBlob> named;
  for (size_t i = 0; i < blobs.size(); ++i) named.push_back({names[i], &blobs[i]});
  EXPECT_EQ(device->load_code(named).error().code, ErrorCode::kCorruption);
  EXPECT_EQ(fake::state().libraries, 0);
  EXPECT_FALSE(device->load_kernel(names[0]));
  named.erase(named.begin() + 13);
  ASSERT_TRUE(device->load_code(named));
  EXPECT_EQ(fake::state().libraries, 19);
}

}  // namespace
}  // namespace edge_infer::cuda
