// Measuring candidates on the fake driver: in turn, over operands that rotate, and what befalls those that
// fail.
#include "runtime/device/measure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "backends/cuda/driver/module_version.h"
#include "tests/unit/cuda_device/sample.h"

namespace edge_infer::cuda {
namespace {

constexpr int64_t kRows = 200, kColumns = 64;
constexpr size_t kBytes = kRows * kColumns * 4;

// Kernels "one" to "three" write b1 = b0 + count, and may be told to be slow, or wrong.
class MeasureTest : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    fake::state().l2_bytes = 1 << 20;
    for (const char* name : {"one", "two", "three"}) add(name, 0);
    device_ = open();
  }

  void add(const std::string& name, float wrong) {
    fake::Kernel kernel;
    kernel.parameter_bytes = {8, 8, 8, sizeof(EncodedTensorMap)};
    kernel.nanoseconds = 1000;
    kernel.body = [wrong](const fake::Launch& launch) {
      const auto* in = launch.pointer<const float>(1);
      auto* out = launch.pointer<float>(2);
      const auto count = static_cast<float>(launch.pointer<const int64_t>(0)[0]);
      for (int64_t i = 0; i < kRows * kColumns; ++i) out[i] = in[i] + count + wrong;
    };
    fake::state().kernels[name] = kernel;
  }

  std::vector<std::string> load(const std::vector<std::string>& names) {
    std::vector<std::string> loaded;
    for (const std::string& name : names) {
      CudaImage image = kernel_image(name);
      image.launch.maps = {{0, DType::kF32, kColumns, 32, 64, 128}};
      EXPECT_TRUE(device_->load_code(kernel_name(name), image.to_blob()));
      loaded.push_back(kernel_name(name));
    }
    return loaded;
  }

  static MeasuredCall call() {
    MeasuredCall call{.integers = {kRows}, .rows = kRows};
    call.buffers = {{.dtype = DType::kF32, .bytes = kBytes},
                    {.dtype = DType::kF32, .bytes = kBytes, .is_output = true}};
    return call;
  }

  std::shared_ptr<const CudaDevice> device_;
};

TEST_F(MeasureTest, candidates_take_turns_on_operands_that_rotate) {
  const auto kernels = load({"one", "two", "three"});
  fake::state().kernels["one"].nanoseconds = 3000;
  fake::state().kernels["two"].nanoseconds = 1500;
  fake::state().kernels["three"].nanoseconds = 2000;
  const auto measured = device_->measure(call(), kernels, {.rounds = 4});
  ASSERT_TRUE(measured) << measured.error().message;
  ASSERT_EQ(measured->size(), 3U);
  for (const Measurement& m : *measured) EXPECT_TRUE(m.status) << m.status.error().message;
  EXPECT_EQ((*measured)[0].nanoseconds, (std::vector<int64_t>{3000, 3000, 3000, 3000}));
  EXPECT_EQ((*measured)[1].nanoseconds, (std::vector<int64_t>{1500, 1500, 1500, 1500}));
  EXPECT_EQ((*measured)[2].nanoseconds, (std::vector<int64_t>{2000, 2000, 2000, 2000}));

  // Once to warm up and to compare, then four rounds; a graph of one launch a set in each turn.
  const auto& launches = fake::state().launches;
  ASSERT_EQ(launches.size() % (3 * 5), 0U);
  const size_t turn = launches.size() / (3 * 5);
  const std::string order[] = {"one", "two", "three"};
  for (size_t i = 0; i < launches.size(); ++i) EXPECT_EQ(launches[i].kernel, order[i / turn % 3]) << i;
  std::set<DeviceAddress> sets;
  for (size_t i = 0; i < launches.size(); ++i) {
    sets.insert(launches[i].parameter(1));
    if (i == 0) continue;
    EXPECT_NE(launches[i].parameter(1), launches[i - 1].parameter(1)) << i;
    EXPECT_NE(launches[i].parameter(2), launches[i - 1].parameter(2)) << i;
  }
  // Together they are more than twice the cache, and each set is used as often as every other.
  EXPECT_GT(sets.size() * 2 * kBytes, static_cast<size_t>(2 * fake::state().l2_bytes) * 9 / 10);
  EXPECT_EQ(turn % sets.size(), 0U);
  // Maps are those of the set's own operand.
  for (const fake::EncodedMap& map : fake::state().maps) {
    EXPECT_TRUE(sets.contains(map.address));
    EXPECT_EQ(map.sizes, (std::vector<uint64_t>{kColumns, kRows}));
  }
}

TEST_F(MeasureTest, edges_are_programmatic_as_in_programs) {
  const auto kernels = load({"one"});
  ASSERT_TRUE(device_->measure(call(), kernels, {.rounds = 1}));
  ASSERT_EQ(fake::state().graphs.size(), 1U);
  const fake::Graph& graph = fake::state().graphs.front();
  ASSERT_EQ(graph.edges.size(), graph.nodes.size() - 1);
  for (const fake::Edge& edge : graph.edges) EXPECT_EQ(edge.type, kDependencyProgrammatic);
  // 200 rows in tiles of 64.
  for (const fake::Launch& node : graph.nodes) EXPECT_EQ(node.grid, 4U);
}

TEST_F(MeasureTest, leaves_nothing_behind) {
  const auto kernels = load({"one", "two"});
  const size_t bytes = device_->bytes_in_use();
  const int events = fake::state().events, streams = fake::state().streams;
  ASSERT_TRUE(device_->measure(call(), kernels, {.rounds = 2}));
  EXPECT_EQ(device_->bytes_in_use(), bytes);
  EXPECT_EQ(fake::state().events, events);
  EXPECT_EQ(fake::state().streams, streams);
  EXPECT_EQ(fake::state().live_execs, 0);
  EXPECT_EQ(fake::state().live_graphs, 0);
}

TEST_F(MeasureTest, a_candidate_that_does_not_launch_is_left_out) {
  const auto kernels = load({"one", "two", "three"});
  constexpr DriverCode kOutOfResources = 701;
  for (const char* name : {"one", "two"}) {
    fake::state().kernels[name].launch_code = kOutOfResources;
    const auto measured = device_->measure(call(), kernels, {.rounds = 2});
    ASSERT_TRUE(measured) << measured.error().message;
    for (size_t k = 0; k < 3; ++k) {
      const bool failed = kernels[k] == kernel_name(name);
      EXPECT_EQ(!(*measured)[k].status, failed);
      EXPECT_EQ((*measured)[k].nanoseconds.size(), failed ? 0U : 2U);
    }
    fake::state().kernels[name].launch_code = driver_code::kSuccess;
  }
  EXPECT_TRUE(device_->usable());
}

TEST_F(MeasureTest, a_candidate_with_other_bits_is_left_out) {
  add("wrong", 0.5F);
  const auto kernels = load({"one", "wrong", "two"});
  const auto measured = device_->measure(call(), kernels, {.rounds = 2});
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_TRUE((*measured)[0].status);
  ASSERT_FALSE((*measured)[1].status);
  EXPECT_NE((*measured)[1].status.error().message.find("bits"), std::string::npos);
  EXPECT_TRUE((*measured)[2].status);
}

TEST_F(MeasureTest, a_candidate_that_writes_nothing_does_not_pass_for_the_one_before_it) {
  add("idle", 0);
  fake::state().kernels["idle"].body = nullptr;
  const auto measured = device_->measure(call(), load({"one", "idle"}), {.rounds = 2});
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_TRUE((*measured)[0].status);
  EXPECT_FALSE((*measured)[1].status);
}

TEST_F(MeasureTest, a_lost_device_and_a_kernel_that_is_not_there_are_errors) {
  const auto kernels = load({"one", "two"});
  const std::string unknown[] = {kernel_name("unknown")};
  EXPECT_EQ(device_->measure(call(), unknown, {}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(device_->measure(call(), kernels, {.is_cancelled = [] { return true; }}).error().code,
            ErrorCode::kCancelled);
  fake::state().fail_launch = 3;
  EXPECT_EQ(device_->measure(call(), kernels, {}).error().code, ErrorCode::kDeviceLost);
  EXPECT_EQ(device_->measure(call(), kernels, {}).error().code, ErrorCode::kDeviceLost);
}

TEST_F(MeasureTest, takes_fewer_sets_where_memory_is_short) {
  fake::state().l2_bytes = 64 << 20;
  fake::state().memory_bytes = 16 << 20;
  device_ = open();
  const auto kernels = load({"one"});
  ASSERT_TRUE(device_->measure(call(), kernels, {.rounds = 1}));
  fake::state().memory_bytes = fake::state().device_bytes + 1000;
  EXPECT_EQ(device_->measure(call(), kernels, {}).error().code, ErrorCode::kResourceExhausted);
}

TEST_F(MeasureTest, stops_after_its_share_of_the_gpus_time) {
  const auto kernels = load({"one", "two"});
  fake::state().kernels["one"].nanoseconds = 1e8;
  const auto measured = device_->measure(call(), kernels, {.rounds = 25, .max_seconds = 0.25});
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_EQ((*measured)[0].nanoseconds.size(), 2U);
  EXPECT_EQ((*measured)[1].nanoseconds.size(), 2U);
}

TEST_F(MeasureTest, times_hold_for_this_gpu_and_its_driver) {
  const std::string here = device_->measured_on();
  EXPECT_TRUE(
      here.starts_with("name=Fake GPU;uuid=GPU-00010203-0405-0607-0809-0a0b0c0d0e0f;capability=9.0;"
                       "driver=13.0"))
      << here;
  EXPECT_EQ(open()->measured_on(), here);
  fake::state().version = 13'010;
  EXPECT_NE(open()->measured_on(), here);
  fake::state().version = 13'000;
  fake::state().devices = 2;
  EXPECT_NE(open({.select = "1"})->measured_on(), here);
}

TEST(ModuleVersion, is_the_number_in_the_systems_text) {
  EXPECT_EQ(module_version_of("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  Tue Sep 2\nGCC "
                              "version:  gcc 12.2.0"),
            "580.159.03");
  EXPECT_EQ(module_version_of("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release"),
            "580.95.05");
  EXPECT_EQ(module_version_of("NVRM version: none of them\n12.3"), "");
  EXPECT_EQ(module_version_of(""), "");
}

}  // namespace
}  // namespace edge_infer::cuda
