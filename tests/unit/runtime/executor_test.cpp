// The executor on a device of three small kernels, with more workers than this machine has.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "runtime/executor/bound_program.h"
#include "runtime/executor/team.h"
#include "runtime/module.h"
#include "runtime/program/buffer_plan.h"

namespace edge_infer {
namespace {

void add_one(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  auto* out = static_cast<float*>(args->buffers[0]);
  const auto* in = static_cast<const float*>(args->buffers[1]);
  for (int64_t i = m0; i < m1; ++i) out[i] = in[i] + 1;
}
// out[m, n] = in[m] * n + integers[0]; writes scratch to find workers that share it.
void outer(const KernelArgs* args, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
  auto* out = static_cast<float*>(args->buffers[0]);
  const auto* in = static_cast<const float*>(args->buffers[1]);
  auto* own = static_cast<int64_t*>(scratch);
  for (int64_t m = m0; m < m1; ++m)
    for (int64_t n = n0; n < n1; ++n) {
      *own = m * 1000 + n;
      out[m * 40 + n] = in[m] * static_cast<float>(n) + static_cast<float>(args->integers[0]);
      if (*own != m * 1000 + n) out[m * 40 + n] = -1;
    }
}
void count_units_kernel(const KernelArgs* args, int64_t m0, int64_t m1, int64_t, int64_t, void*) {
  const auto* units = static_cast<const int32_t*>(args->buffers[1]);
  for (int64_t u = m0; u < m1; ++u)
    std::atomic_ref(static_cast<float*>(args->buffers[0])[units[2 * u]]).fetch_add(1);
}

class FakeDevice final : public Device {
 public:
  const Target& target() const override { return target_; }
  Result<std::unique_ptr<Executable>> bind(Program program, ConstantSource& constants) const override {
    return BoundProgram::bind(std::move(program), *this, constants);
  }
  Result<LoadedKernel> load_kernel(std::string_view name) const override {
    if (name == "prebuilt:add_one") return LoadedKernel{add_one, 0};
    if (name == "prebuilt:outer") return LoadedKernel{outer, 8};
    if (name == "prebuilt:units") return LoadedKernel{count_units_kernel, 0};
    return fail(ErrorCode::kNotFound, "no kernel {}", name);
  }
  Result<size_t> packed_bytes(std::string_view format, int64_t, int64_t) const override {
    return fail(ErrorCode::kUnsupported, "no format {}", format);
  }
  Status pack(std::string_view, std::span<const Rows>, int64_t, std::span<std::byte>) const override {
    return {};
  }

 private:
  Target target_{.name = "fake"};
};

class NoConstants final : public ConstantSource {
 public:
  Status prepare(std::span<const ConstantDecl>, const Device&) override { return {}; }
  Result<const void*> locate(const ConstantDecl&, const Device&) override { return nullptr; }
};

Call call(int32_t kernel, std::vector<int32_t> buffers, SymInt rows, SymInt columns = 1) {
  Call c;
  c.kernel = kernel;
  c.buffers = std::move(buffers);
  c.rows = std::move(rows);
  c.columns = std::move(columns);
  c.row_cost = 1'000'000;  // worth every worker
  return c;
}

// x[T] -> three times + 1 -> outer product with 0..39 + T.
Program sample_program() {
  const SymInt t = SymInt::symbol("T");
  Program p;
  p.name = "sample";
  p.symbols = {{"T", {1, 5000}, 16}};
  p.symbol_sources = {{0, 0, 0}};
  p.kernels = {{"prebuilt:add_one"}, {"prebuilt:outer"}};
  p.buffers = {{.role = BufferRole::kInput, .sizes = {t}, .index = 0},
               {.role = BufferRole::kTemp, .sizes = {t}},
               {.role = BufferRole::kTemp, .sizes = {t}},
               {.role = BufferRole::kTemp, .sizes = {t}},
               {.role = BufferRole::kOutput, .sizes = {t, 40}, .index = 0}};
  for (int32_t i = 0; i < 3; ++i) {
    Phase phase;
    phase.calls = {call(0, {i + 1, i}, t)};
    p.phases.push_back(phase);
  }
  Phase last;
  last.split = Phase::Split::kRowsColumns;
  last.calls = {call(1, {4, 3}, t, 40)};
  last.calls[0].integers = {t};
  last.calls[0].column_grain = 8;
  p.phases.push_back(last);
  plan_buffers(p);
  return p;
}

std::vector<float> run_sample(const BoundProgram& program, ExecutionContext& context, int64_t t,
                              int workers) {
  std::vector<float> x(static_cast<size_t>(t)), out(static_cast<size_t>(t) * 40, -7);
  std::iota(x.begin(), x.end(), 0.0f);
  const int64_t in_size[] = {t}, out_size[] = {t, 40};
  const TensorView inputs[] = {{x.data(), DType::kF32, in_size}},
                   outputs[] = {{out.data(), DType::kF32, out_size}};
  const Status status = program.run(context, inputs, outputs, workers);
  EXPECT_TRUE(status) << status.error().message;
  return out;
}

TEST(Executor, computes_the_same_for_every_size_and_worker_count) {
  FakeDevice device;
  NoConstants constants;
  auto program = BoundProgram::bind(sample_program(), device, constants);
  ASSERT_TRUE(program) << program.error().message;
  ExecutionContext context;
  for (const int64_t t : {1, 2, 7, 64, 300, 1000, 3})
    for (const int workers : {1, 2, 5}) {
      const std::vector<float> out = run_sample(**program, context, t, workers);
      for (int64_t m = 0; m < t; ++m)
        for (int64_t n = 0; n < 40; ++n)
          ASSERT_EQ(out[static_cast<size_t>(m * 40 + n)], static_cast<float>((m + 3) * n + t));
    }
  EXPECT_GE((*program)->peak_arena_bytes(), 2 * 1000 * sizeof(float));
}

TEST(Executor, a_size_already_seen_keeps_its_memory) {
  FakeDevice device;
  NoConstants constants;
  auto program = BoundProgram::bind(sample_program(), device, constants);
  ExecutionContext context;
  run_sample(**program, context, 200, 2);
  const std::byte* arena = context.arena.data();
  const void* const* arguments = context.arguments.data();
  for (int i = 0; i < 200; ++i) run_sample(**program, context, 1 + i, 2);
  EXPECT_EQ(context.arena.data(), arena);
  EXPECT_EQ(context.arguments.data(), arguments);
}

TEST(Executor, says_what_does_not_fit) {
  FakeDevice device;
  NoConstants constants;
  auto program = BoundProgram::bind(sample_program(), device, constants);
  ExecutionContext context;
  std::vector<float> x(6000), out(10);
  const int64_t too_long[] = {6000}, fine[] = {4}, out_size[] = {4, 39};
  const TensorView outputs[] = {{out.data(), DType::kF32, out_size}};
  const TensorView long_input[] = {{x.data(), DType::kF32, too_long}},
                   input[] = {{x.data(), DType::kF32, fine}};
  EXPECT_NE(
      (*program)->run(context, long_input, outputs, 1).error().message.find("T is 6000, expected 1..5000"),
      std::string::npos);
  EXPECT_EQ((*program)->run(context, input, outputs, 1).error().code, ErrorCode::kInvalidArgument);
  Program unknown = sample_program();
  unknown.kernels[0].name = "prebuilt:other";
  EXPECT_EQ(BoundProgram::bind(unknown, device, constants).error().code, ErrorCode::kNotFound);
}

TEST(Executor, makes_work_units_of_sequences) {
  const SymInt u = SymInt::symbol("U0"), b = SymInt::symbol("B");
  Program p;
  p.name = "units";
  p.symbols = {{"B", {1, 100}, 1}, {"U0", {0, 1000}, 1}};
  p.symbol_sources = {{0, 0, 1}};
  p.unit_lists = {{0, 4, "U0"}};
  p.kernels = {{"prebuilt:units"}};
  p.buffers = {{.role = BufferRole::kInput, .dtype = DType::kI32, .sizes = {b + 1}, .index = 0},
               {.role = BufferRole::kIndex, .dtype = DType::kI32, .sizes = {u, 2}, .index = 0},
               {.role = BufferRole::kOutput, .sizes = {b}, .index = 0}};
  Phase phase;
  phase.calls = {call(0, {2, 1}, u)};
  p.phases = {phase};
  FakeDevice device;
  NoConstants constants;
  auto program = BoundProgram::bind(p, device, constants);
  ASSERT_TRUE(program) << program.error().message;
  ExecutionContext context;
  int32_t cu[] = {0, 3, 3, 12};
  float out[3] = {};
  const int64_t in_size[] = {4}, out_size[] = {3};
  const TensorView inputs[] = {{cu, DType::kI32, in_size}}, outputs[] = {{out, DType::kF32, out_size}};
  ASSERT_TRUE((*program)->run(context, inputs, outputs, 3));
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], 0);
  EXPECT_EQ(out[2], 3);
}

TEST(Team, shares_the_budget_and_gives_each_at_least_one) {
  const WorkerShare all(1 << 20);
  EXPECT_GE(all.workers(), 1);
  const WorkerShare more(4);
  EXPECT_EQ(more.workers(), 1);
}

TEST(Team, waiters_see_what_was_written_before_the_count) {
  constexpr int kWorkers = 4, kPhases = 200;
  std::atomic<int64_t> done[kPhases] = {};
  int written[kPhases] = {};  // each by one worker, read by all after the wait
  std::atomic<int> wrong{0};
  auto body = [&](int worker) {
    for (int p = 0; p < kPhases; ++p) {
      if (p % kWorkers == worker) {
        written[p] = p + 1;
        done[p].store(1, std::memory_order_release);
        done[p].notify_all();
      }
      wait_until(done[p], 1);
      if (written[p] != p + 1) ++wrong;
    }
  };
  run_team(kWorkers, body);
  EXPECT_EQ(wrong, 0);
}

// Two forms of x + 3 then the outer product: all calls in one phase for many rows a worker, else as
// sample_program.
Program two_form_program() {
  Program p = sample_program();
  const SymInt t = SymInt::symbol("T"), workers = SymInt::symbol(kWorkersSymbol);
  const SymInt few = min(1, max(0, 16 * workers - t));
  for (Phase& phase : p.phases) phase.when = few;
  Phase tail;
  tail.when = 1 - few;
  tail.row_block = 24;
  for (const Phase& phase : std::vector(p.phases)) tail.calls.push_back(phase.calls.front());
  for (Call& c : tail.calls) c.column_grain = 1;
  p.phases.push_back(tail);
  plan_buffers(p);
  return p;
}

TEST(Executor, runs_the_phases_whose_condition_holds) {
  FakeDevice device;
  NoConstants constants;
  auto program = BoundProgram::bind(two_form_program(), device, constants);
  ASSERT_TRUE(program) << program.error().message;
  ExecutionContext context;
  for (const int64_t t : {1, 15, 16, 17, 33, 200, 1000})
    for (const int workers : {1, 2, 5}) {
      const std::vector<float> out = run_sample(**program, context, t, workers);
      for (int64_t m = 0; m < t; ++m)
        for (int64_t n = 0; n < 40; ++n)
          ASSERT_EQ(out[static_cast<size_t>(m * 40 + n)], static_cast<float>((m + 3) * n + t))
              << t << " " << workers;
    }
  Program unknown = two_form_program();
  unknown.phases[0].when = SymInt::symbol("cores");
  EXPECT_FALSE(BoundProgram::bind(unknown, device, constants));
}

class SampleBuilder final : public EntryBuilder {
 public:
  Result<std::shared_ptr<const Entry>> build(std::span<const TensorView>, const CallSettings&) override {
    ++builds;
    auto entry = std::make_shared<Entry>();
    entry->guards.add({.kind = Guard::Kind::kRank, .input = 0, .value = 1}, "test");
    EDGE_INFER_ASSIGN(entry->program, BoundProgram::bind(sample_program(), device, constants));
    return entry;
  }
  FakeDevice device;
  NoConstants constants;
  std::atomic<int> builds{0};
};

TEST(Module, serves_many_threads_from_one_entry) {
  auto builder = std::make_unique<SampleBuilder>();
  SampleBuilder* counted = builder.get();
  Module module(std::move(builder));
  std::vector<std::jthread> threads;
  std::atomic<int> wrong{0};
  for (int64_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&module, &wrong, thread] {
      for (int64_t i = 0; i < 50; ++i) {
        const int64_t t = 1 + (thread * 37 + i * 11) % 200;
        std::vector<float> x(static_cast<size_t>(t), 1.0f), out(static_cast<size_t>(t) * 40);
        const int64_t in_size[] = {t}, out_size[] = {t, 40};
        const TensorView in[] = {{x.data(), DType::kF32, in_size}},
                         result[] = {{out.data(), DType::kF32, out_size}};
        if (!module.run(in, result, {}, 2)) ++wrong;
        for (size_t n = 0; n < out.size(); ++n)
          if (out[n] != 4.0f * static_cast<float>(n % 40) + static_cast<float>(t)) ++wrong;
      }
    });
  threads.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(counted->builds, 1);
  EXPECT_EQ(module.entries().size(), 1u);
}

// Answers with sample_program, improves to two_form_program when it is let.
class ImprovingBuilder final : public EntryBuilder {
 public:
  Result<std::shared_ptr<const Entry>> build(std::span<const TensorView>, const CallSettings&) override {
    return make(sample_program(), true);
  }
  Result<std::shared_ptr<const Entry>> improve(const Entry&, const CallSettings&) override {
    ++improvements;
    while (!may_finish && !cancelled) std::this_thread::yield();
    if (cancelled) return fail(ErrorCode::kCancelled, "cancelled");
    if (fails) return fail(ErrorCode::kUnsupported, "no compiler");
    return make(two_form_program(), false);
  }
  void cancel() override { cancelled = true; }

  Result<std::shared_ptr<const Entry>> make(Program program, bool improvable) {
    auto entry = std::make_shared<Entry>();
    entry->guards.add({.kind = Guard::Kind::kRank, .input = 0, .value = 1}, "test");
    entry->improvable = improvable;
    EDGE_INFER_ASSIGN(entry->program, BoundProgram::bind(std::move(program), device, constants));
    return entry;
  }
  FakeDevice device;
  NoConstants constants;
  std::atomic<int> improvements{0};
  std::atomic<bool> may_finish{false}, cancelled{false};
  bool fails = false;
};

bool answers(Module& module, int64_t t, EntryPin* pin = nullptr) {
  std::vector<float> x(static_cast<size_t>(t), 1.0f), out(static_cast<size_t>(t) * 40);
  const int64_t in_size[] = {t}, out_size[] = {t, 40};
  const TensorView in[] = {{x.data(), DType::kF32, in_size}},
                   result[] = {{out.data(), DType::kF32, out_size}};
  if (!module.run(in, result, {}, 2, pin)) return false;
  for (size_t n = 0; n < out.size(); ++n)
    if (out[n] != 4.0f * static_cast<float>(n % 40) + static_cast<float>(t)) return false;
  return true;
}
Status prepare(Module& module) {
  float x[1] = {0};
  const int64_t size[] = {1};
  const TensorView in[] = {{x, DType::kF32, size}};
  return module.prepare(in, {});
}

TEST(Module, answers_first_and_improves_behind) {
  auto owned = std::make_unique<ImprovingBuilder>();
  ImprovingBuilder* builder = owned.get();
  Module module(std::move(owned));
  EXPECT_TRUE(answers(module, 20));
  EXPECT_FALSE(module.finish(std::chrono::milliseconds(1)));
  EXPECT_TRUE(module.entries().front()->improvable);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::jthread> callers;  // calls go on while the entry is replaced
  for (int i = 0; i < 3; ++i)
    callers.emplace_back([&] {
      while (!stop) wrong += !answers(module, 50);
    });
  builder->may_finish = true;
  EXPECT_TRUE(prepare(module));
  EXPECT_FALSE(module.entries().front()->improvable);
  EXPECT_EQ(module.entries().size(), 1u);
  EXPECT_TRUE(answers(module, 70));
  stop = true;
  callers.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(builder->improvements, 1);
}

TEST(Module, pinned_calls_stay_on_the_entry_of_the_first) {
  auto owned = std::make_unique<ImprovingBuilder>();
  ImprovingBuilder* builder = owned.get();
  Module module(std::move(owned));
  auto pin = std::make_unique<EntryPin>();
  EXPECT_TRUE(module.serves(*pin));
  EXPECT_TRUE(answers(module, 20, pin.get()));
  EXPECT_TRUE(module.serves(*pin));
  const std::weak_ptr<const Entry> before = module.entries().front();
  builder->may_finish = true;
  EXPECT_TRUE(prepare(module));
  const auto after = module.entries().front();
  ASSERT_NE(before.lock(), after);
  EXPECT_FALSE(module.serves(*pin));
  // Larger calls than before: the arena tells whose they were.
  const size_t small = after->program->peak_arena_bytes();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(answers(module, 500, pin.get()));
  EXPECT_EQ(after->program->peak_arena_bytes(), small);
  EXPECT_GT(before.lock()->program->peak_arena_bytes(), small);
  EXPECT_TRUE(answers(module, 600));
  EXPECT_GT(after->program->peak_arena_bytes(), small);
  pin.reset();
  EXPECT_TRUE(before.expired());
}

TEST(Module, a_failed_improvement_leaves_the_first_entry_serving) {
  auto owned = std::make_unique<ImprovingBuilder>();
  owned->fails = true;
  owned->may_finish = true;
  Module module(std::move(owned));
  EXPECT_TRUE(answers(module, 20));
  const Status status = prepare(module);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "no compiler");
  EXPECT_TRUE(answers(module, 30));
}

TEST(Module, closes_while_an_improvement_runs) {
  auto owned = std::make_unique<ImprovingBuilder>();
  Module module(std::move(owned));
  EXPECT_TRUE(answers(module, 20));
}

}  // namespace
}  // namespace edge_infer
