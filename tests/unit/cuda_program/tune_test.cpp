// max-autotune on the fake driver: which candidates are measured, chosen, kept and used.
#include <algorithm>
#include <map>
#include <set>

#include "backends/cpu/device.h"
#include "compiler/graph_entry_builder.h"
#include "compiler/tuned_schedule.h"
#include "tests/gpu/program_run.h"
#include "tests/unit/cache/support.h"
#include "tests/unit/cuda_program/encoder.h"

namespace edge_infer::test {
namespace {

using testing_support::TemporaryDir;

constexpr std::string_view kFast = "tile=s48";

bool is_product(const loop::LoopNest& nest) {
  return std::ranges::any_of(nest.buffers,
                             [](const loop::Buffer& b) { return b.access == loop::Access::kPacked; });
}

class TuneTest : public EncoderTest {
 protected:
  // Memory of the fake driver is real: the last classes have no more rows.
  TuneTest() { most_tokens_ = "600"; }
  void SetUp() override {
    EncoderTest::SetUp();
    if (device_ == nullptr) return;
    cuda::fake::state().l2_bytes = 1 << 16;
    open();
    auto compiled = compile(graph_, device_->target(), *compiler_.generator, *compiler_.compiler,
                            {.precision = DType::kF16});
    ASSERT_TRUE(compiled) << compiled.error().message;
    compiled_ = *std::move(compiled);
    for (const KernelPlan& plan : compiled_.kernels) set_time(plan, 10'000);
    // Products are fastest with one tile, whatever the rows; attention is the same with any grid.
    for_each_choice([&](const loop::LoopNest& nest, int64_t rows) {
      for (const Schedule& schedule : compiler_.generator->candidates_for(nest, rows))
        set_time(plan(nest, schedule), schedule == kFast ? 5'000 : 10'000);
    });
    cache_ = KernelCache::open({.dir = dir_.path()});
  }

  void for_each_choice(const std::function<void(const loop::LoopNest&, int64_t)>& visit) const {
    for (size_t f = 0; f < compiled_.forms.size(); ++f)
      for (const loop::LoopNest& nest : compiled_.forms[f].nests)
        if (compiler_.generator->candidates_for(nest, compiled_.rows[f]).size() > 1)
          visit(nest, compiled_.rows[f]);
  }

  KernelPlan plan(const loop::LoopNest& nest, const Schedule& schedule) const {
    auto made = plan_kernel(nest, schedule, *compiler_.generator, *compiler_.compiler);
    EXPECT_TRUE(made) << made.error().message;
    return *std::move(made);
  }
  static void set_time(const KernelPlan& plan, double nanoseconds) {
    cuda::fake::Kernel kernel = fake_kernel(plan);
    kernel.nanoseconds = nanoseconds;
    cuda::fake::state().kernels[code_name(plan.generated.source.source)] = std::move(kernel);
  }
  cuda::fake::Kernel& kernel_of(const loop::LoopNest& nest, const Schedule& schedule) const {
    return cuda::fake::state().kernels.at(code_name(plan(nest, schedule).generated.source.source));
  }

  CompileSite site() const { return {device_, compiler_.generator, compiler_.compiler}; }
  TunedSchedules tune() { return tune_schedules(compiled_, site(), cache_.get(), {}); }

  // Driver, device and cache as another process finds them; nothing has been launched.
  void restart() {
    cache_ = nullptr;
    cache_ = KernelCache::open({.dir = dir_.path()});
    cuda::fake::state().launches.clear();
    cuda::fake::state().graphs.clear();
    fake_compiler_->batches.clear();
    open();
  }
  static size_t launches() { return cuda::fake::state().launches.size(); }
  bool has_event(std::string_view kind, std::string_view text) {
    return std::ranges::any_of(cache_->events(1000), [&](const CacheEvent& e) {
      return e.kind == kind && e.detail.find(text) != std::string::npos;
    });
  }

  TemporaryDir dir_;
  CompiledGraph compiled_;
  std::shared_ptr<KernelCache> cache_;
};

TEST_F(TuneTest, the_fastest_is_chosen_and_the_own_choice_where_all_are_as_fast) {
  const TunedSchedules tuned = tune();
  EXPECT_TRUE(tuned.complete);
  size_t choices = 0, others = 0, attention = 0;
  for_each_choice([&](const loop::LoopNest& nest, int64_t rows) {
    ++choices;
    const auto candidates = compiler_.generator->candidates_for(nest, rows);
    ASSERT_LE(candidates.size(), 8U);
    const Schedule own = compiler_.generator->schedule_for(nest, rows);
    const Schedule found = tuned.find(nest, rows, site());
    if (!is_product(nest)) {
      ++attention;
      EXPECT_EQ(found, candidates.front());
    } else if (std::ranges::find(candidates, kFast) != candidates.end()) {
      EXPECT_EQ(candidates.front(), own);
      EXPECT_EQ(found, kFast);
      others += found != own;
    } else {
      EXPECT_EQ(found, own);
    }
  });
  EXPECT_EQ(tuned.nests.size(), choices);
  EXPECT_GT(others, 0U);
  EXPECT_GE(attention, 4U);  // in each class
  // One batch for the compiler's threads, of kernels that classes share.
  EXPECT_EQ(fake_compiler_->batches.size(), 1U);
  for (const TunedNest& nest : tuned.nests) {
    EXPECT_GE(nest.candidates.front().nanoseconds.size(), 2U);
    EXPECT_TRUE(has_event("tuned", nest.text())) << nest.text();
  }
}

TEST_F(TuneTest, what_is_not_clearly_faster_leaves_the_own_choice) {
  for_each_choice([&](const loop::LoopNest& nest, int64_t rows) {
    for (const Schedule& schedule : compiler_.generator->candidates_for(nest, rows))
      kernel_of(nest, schedule).nanoseconds = schedule == kFast ? 9'800 : 10'000;
  });
  for (const TunedNest& nest : tune().nests) EXPECT_EQ(nest.chosen, 0U) << nest.text();
}

TEST_F(TuneTest, another_process_finds_the_choice_and_measures_nothing) {
  const TunedSchedules first = tune();
  EXPECT_GT(launches(), 0U);
  restart();
  const TunedSchedules second = tune();
  EXPECT_EQ(launches(), 0U);
  EXPECT_TRUE(fake_compiler_->batches.empty());
  EXPECT_TRUE(second.complete);
  ASSERT_EQ(second.nests.size(), first.nests.size());
  for (size_t i = 0; i < first.nests.size(); ++i) EXPECT_EQ(second.nests[i].text(), first.nests[i].text());
}

TEST_F(TuneTest, another_driver_is_a_miss_that_names_it) {
  tune();
  EXPECT_FALSE(has_event("miss", "driver"));
  cuda::fake::state().version = 13'010;
  restart();
  // With the new driver another tile is fastest.
  for_each_choice([&](const loop::LoopNest& nest, int64_t rows) {
    if (is_product(nest)) kernel_of(nest, compiler_.generator->schedule_for(nest, rows)).nanoseconds = 1'000;
  });
  const TunedSchedules again = tune();
  EXPECT_GT(launches(), 0U);
  EXPECT_TRUE(has_event("miss", "driver: stored 13.0, wanted 13.1"));
  for (const TunedNest& nest : again.nests) EXPECT_EQ(nest.chosen, 0U) << nest.text();
  // The old measurements are still those of the old driver.
  cuda::fake::state().version = 13'000;
  restart();
  const TunedSchedules old = tune();
  EXPECT_EQ(launches(), 0U);
  EXPECT_TRUE(std::ranges::any_of(old.nests, [](const TunedNest& nest) { return nest.chosen != 0; }));
}

TEST_F(TuneTest, another_gpu_is_a_miss_that_names_it) {
  tune();
  restart();
  cuda::fake::state().devices = 2;
  auto other = cuda::CudaDevice::open({.select = "1"});
  ASSERT_TRUE(other) << other.error().message;
  device_ = *other;
  tune();
  EXPECT_GT(launches(), 0U);
  EXPECT_TRUE(has_event("miss", "name: stored Fake GPU, wanted Other fake GPU"));
}

TEST_F(TuneTest, candidates_that_fail_are_left_out) {
  // Of each product: its fastest candidate does not launch, another has no room, a third does not compile.
  std::map<std::string, const loop::LoopNest*> nests;  // by tuning_identity()
  const auto code = [&](const loop::LoopNest& nest, const Schedule& schedule) {
    return code_name(plan(nest, schedule).generated.source.source);
  };
  std::set<std::string> failing;
  for_each_choice([&](const loop::LoopNest& nest, int64_t rows) {
    nests[tuning_identity(nest, rows, site())] = &nest;
    auto others = compiler_.generator->candidates_for(nest, rows);
    if (!is_product(nest) || std::erase(others, kFast) == 0) return;
    ASSERT_GE(others.size(), 4U);
    kernel_of(nest, std::string(kFast)).launch_code = 701;
    fake_compiler_->too_large.insert(code(nest, others[1]));
    fake_compiler_->refused.insert(code(nest, others[2]));
    failing.insert({code(nest, std::string(kFast)), code(nest, others[1]), code(nest, others[2])});
  });
  ASSERT_GE(failing.size(), 3U);
  const TunedSchedules tuned = tune();
  EXPECT_TRUE(tuned.complete);
  EXPECT_TRUE(device_->usable());
  for (const TunedNest& nest : tuned.nests) {
    EXPECT_FALSE(nest.candidates[nest.chosen].nanoseconds.empty()) << nest.text();
    for (const TunedNest::Candidate& candidate : nest.candidates)
      EXPECT_EQ(candidate.nanoseconds.empty(),
                failing.contains(code(*nests.at(nest.identity), candidate.schedule)))
          << nest.name << " " << candidate.schedule;
  }
  EXPECT_TRUE(has_event("failed", "shared memory"));
  EXPECT_TRUE(has_event("failed", "does not compile"));
  EXPECT_TRUE(has_event("failed", "replay a graph"));
  // They are known to fail, too.
  restart();
  EXPECT_TRUE(tune().complete);
  EXPECT_EQ(launches(), 0U);
}

TEST_F(TuneTest, a_lost_device_is_not_measured_to_the_end) {
  cuda::fake::state().fail_launch = 20;
  const TunedSchedules tuned = tune();
  EXPECT_FALSE(tuned.complete);
  EXPECT_FALSE(device_->usable());
}

TEST_F(TuneTest, cancelled_it_stops) {
  const TunedSchedules tuned = tune_schedules(compiled_, site(), cache_.get(), [] { return true; });
  EXPECT_FALSE(tuned.complete);
  EXPECT_TRUE(tuned.nests.empty());
  EXPECT_EQ(launches(), 0U);
}

// Entries as the applications get them.
class TunedEntryTest : public TuneTest {
 protected:
  void SetUp() override {
    TuneTest::SetUp();
    settings_.precision = CallSettings::Precision::kF16;
  }

  std::unique_ptr<GraphEntryBuilder> builder(CompileMode mode) {
    EntryCompilation compilation;
    compilation.host.device = std::make_shared<CpuDevice>(Isa::kPortable);
    compilation.accelerator = site();
    compilation.cache = cache_;
    compilation.mode = mode;
    return std::make_unique<GraphEntryBuilder>(graph_, std::make_shared<MapConstants>(constants_),
                                               std::move(compilation));
  }
  Result<std::shared_ptr<const Entry>> build(GraphEntryBuilder& from) {
    int32_t ids[1] = {0}, cu[2] = {0, 1};
    const int64_t ids_size[1] = {1}, cu_size[1] = {2};
    const TensorView inputs[2] = {{ids, DType::kI32, ids_size}, {cu, DType::kI32, cu_size}};
    return from.build(inputs, settings_);
  }
  std::shared_ptr<const Entry> built(GraphEntryBuilder& from) {
    auto entry = build(from);
    EXPECT_TRUE(entry) << entry.error().message;
    return entry ? *entry : nullptr;
  }
  std::shared_ptr<const Entry> improved(GraphEntryBuilder& from) {
    auto better = from.improve(*built(from), settings_);
    EXPECT_TRUE(better) << better.error().message;
    return better ? *better : nullptr;
  }

  // Products of the program by whether their kernels are those of the fastest tile.
  struct Products {
    size_t fast = 0, other = 0;
  };
  Products products(const Entry& entry) const {
    std::set<std::string> fast, other;
    for_each_choice([&](const loop::LoopNest& nest, int64_t rows) {
      if (!is_product(nest)) return;
      for (const Schedule& schedule : compiler_.generator->candidates_for(nest, rows))
        (schedule == kFast ? fast : other).insert(plan(nest, schedule).name);
    });
    Products found;
    for (const KernelRef& kernel : entry.program->program().kernels) {
      found.fast += fast.contains(kernel.name);
      found.other += other.contains(kernel.name);
    }
    return found;
  }

  CallSettings settings_;
};

TEST_F(TunedEntryTest, programs_run_the_tuned_kernels) {
  const auto tuned = improved(*builder(CompileMode::kMaxAutotune));
  ASSERT_NE(tuned, nullptr);
  const Products p = products(*tuned);
  EXPECT_GT(p.fast, 0U);
  const auto plain = improved(*builder(CompileMode::kDefault));
  ASSERT_NE(plain, nullptr);
  EXPECT_LT(products(*plain).fast, p.fast);
}

TEST_F(TunedEntryTest, another_process_gets_the_tuned_entry_at_once) {
  const auto tuned = improved(*builder(CompileMode::kMaxAutotune));
  ASSERT_NE(tuned, nullptr);
  for (const CompileMode mode :
       {CompileMode::kMaxAutotune, CompileMode::kDefault, CompileMode::kReduceOverhead}) {
    restart();
    const auto entry = built(*builder(mode));
    ASSERT_NE(entry, nullptr);
    EXPECT_FALSE(entry->improvable);
    EXPECT_EQ(entry->program->program().kernels, tuned->program->program().kernels);
    EXPECT_EQ(launches(), 0U);
    EXPECT_TRUE(fake_compiler_->batches.empty());
  }
}

TEST_F(TunedEntryTest, an_entry_tuned_with_another_driver_is_not_used) {
  ASSERT_NE(improved(*builder(CompileMode::kMaxAutotune)), nullptr);
  cuda::fake::state().version = 13'010;
  restart();
  {
    const auto from = builder(CompileMode::kMaxAutotune);
    const auto entry = built(*from);
    ASSERT_NE(entry, nullptr);
    EXPECT_TRUE(entry->improvable);
    EXPECT_TRUE(has_event("miss", "driver=13.0"));
    EXPECT_TRUE(has_event("miss", "driver=13.1"));
    ASSERT_NE(improved(*from), nullptr);
    EXPECT_GT(launches(), 0U);
    EXPECT_TRUE(has_event("miss", "driver: stored 13.0, wanted 13.1"));
  }
  restart();
  EXPECT_FALSE(built(*builder(CompileMode::kMaxAutotune))->improvable);
  EXPECT_EQ(launches(), 0U);
}

TEST_F(TunedEntryTest, max_autotune_does_not_rest_with_an_entry_that_was_not_tuned) {
  ASSERT_NE(improved(*builder(CompileMode::kDefault)), nullptr);
  restart();
  EXPECT_FALSE(built(*builder(CompileMode::kDefault))->improvable);
  EXPECT_TRUE(built(*builder(CompileMode::kMaxAutotune))->improvable);
}

TEST_F(TunedEntryTest, reduce_overhead_makes_all_graphs_before_the_first_call) {
  const auto graphs_of = [&](CompileMode mode) {
    const auto entry = improved(*builder(mode));
    EXPECT_NE(entry, nullptr);
    return static_cast<const cuda::CudaProgram&>(*entry->program).statistics();
  };
  EXPECT_EQ(graphs_of(CompileMode::kDefault).counts.graphs, 0U);
  const cuda::CudaProgramStatistics ready = graphs_of(CompileMode::kReduceOverhead);
  EXPECT_GT(ready.counts.graphs, 2U);
  EXPECT_EQ(ready.executions, 2U);
  // From the cache as well.
  restart();
  const auto stored = built(*builder(CompileMode::kReduceOverhead));
  EXPECT_EQ(static_cast<const cuda::CudaProgram&>(*stored->program).statistics().counts.graphs,
            ready.counts.graphs);
}

TEST(CompileModes, are_named_as_users_know_them) {
  EXPECT_EQ(parse_compile_mode("default").value(), CompileMode::kDefault);
  EXPECT_EQ(parse_compile_mode("reduce-overhead").value(), CompileMode::kReduceOverhead);
  EXPECT_EQ(parse_compile_mode("max-autotune").value(), CompileMode::kMaxAutotune);
  const auto unknown = parse_compile_mode("fast");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(unknown.error().message.find("reduce-overhead"), std::string::npos);
}

}  // namespace
}  // namespace edge_infer::test
