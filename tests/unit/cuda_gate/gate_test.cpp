// Whole programs in fp16 and bf16 on the fake driver (each kernel is loop::evaluate of its nest, rounding
// included), judged against the fallback on the processor: what serves in the end, what is kept, what is
// asked again.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <mutex>
#include <random>

#include "apps/cli/program_report.h"
#include "backends/cuda/codegen/cuda_code_generator.h"
#include "backends/cuda/program.h"
#include "compiler/graph_entry_builder.h"
#include "runtime/base/log.h"
#include "runtime/device/registry.h"
#include "tests/gpu/program_run.h"
#include "tests/gpu/random_tensor.h"
#include "tests/unit/cuda_device/fake/evaluated_kernels.h"
#include "tests/unit/cuda_device/fake/fake_cuda.h"
#include "tests/unit/models_files/temporary_dir.h"

namespace edge_infer::test {
namespace {

constexpr int64_t kVocabulary = 300;

std::mutex warnings_mutex;
std::vector<std::string> warnings;

void keep_warning(LogLevel level, std::string_view message) {
  const std::lock_guard lock(warnings_mutex);
  if (level == LogLevel::kWarning) warnings.emplace_back(message);
}

// Where no compiler is: what was stored has to do.
class NoCompiler final : public FakeCompiler {
 public:
  std::string identity() const override { return "none"; }
  Status available() const override { return fail(ErrorCode::kUnsupported, "no compiler here"); }
};

class Gate : public testing::Test {
 protected:
  void SetUp() override {
    cuda::fake::reset();
    ::setenv("EDGE_INFER_LIBCUDA", EDGE_INFER_FAKE_CUDA, 1);
    warnings.clear();
    set_log_sink(keep_warning);
    auto device = cuda::CudaDevice::open();
    ASSERT_TRUE(device) << device.error().message;
    device_ = *device;
    auto generator = cuda::CudaCodeGenerator::for_target(device_->target().name);
    ASSERT_TRUE(generator) << generator.error().message;
    generator_ = std::make_shared<cuda::CudaCodeGenerator>(*std::move(generator));
    auto host = open_host_device();
    ASSERT_TRUE(host) << host.error().message;
    host_ = *host;
    auto graph = small_encoder();
    ASSERT_TRUE(graph) << graph.error().message;
    graph_ = *std::move(graph);
    weights_ = small_encoder_constants(graph_);
    FakeCompiler compiler;
    for (const DType precision : {DType::kF16, DType::kBF16, DType::kF32}) {
      const auto compiled =
          compile(graph_, device_->target(), *generator_, compiler, {.precision = precision});
      ASSERT_TRUE(compiled) << compiled.error().message;
      give_meaning(*compiled);
    }
    set_ids();
  }
  void TearDown() override { set_log_sink(nullptr); }

  // Three sequences of 1, 5 and 40 ids.
  void set_ids() {
    std::vector<int64_t> ids(46);
    std::mt19937_64 random(7);
    for (int64_t& id : ids) id = static_cast<int64_t>(random() % kVocabulary);
    sample_ = {
        .inputs = {integer_tensor(DType::kI32, {46}, ids), integer_tensor(DType::kI32, {4}, {0, 1, 6, 46})},
        .rows = {"one token", "five tokens", "forty tokens"}};
  }

  void scale(const std::string& name, double factor, double offset = 0) {
    HostTensor& tensor = weights_.at(name);
    std::vector<double> values = tensor.to_doubles();
    for (double& v : values) v = v * factor + offset;
    tensor.store(values);
  }
  // Activations of up to a million between the two products of the feed-forward part, vectors as before.
  void make_large() {
    scale("g10", 50);
    scale("wf0", 3e4);
    scale("wg0", 1 / 3e4);
  }
  // What matters lies far behind the point of a number of thousands.
  void make_cancelling() { scale("bo0", 1, 3000); }

  struct Opened {
    std::shared_ptr<KernelCache> cache;
    std::unique_ptr<MapConstants> constants;
    std::unique_ptr<GraphEntryBuilder> builder;
    std::shared_ptr<const Entry> first, entry;  // what build() gave; what serves in the end
    bool improved = false;
    size_t gates = 0;  // judged by this process
  };

  // What a process does: opens the cache, builds an entry, improves it where it can be.
  Opened open(bool named = false, CallSettings::Precision precision = CallSettings::Precision::kF16,
              const std::string& weights = "weights", bool has_compiler = true) {
    Opened o;
    o.cache = KernelCache::open({.dir = dir_.path() / "cache"});
    o.constants = std::make_unique<MapConstants>(weights_);
    EntryCompilation compilation;
    compilation.host.device = host_;
    std::shared_ptr<KernelCompiler> compiler = std::make_shared<FakeCompiler>();
    if (!has_compiler) compiler = std::make_shared<NoCompiler>();
    compilation.accelerator = {device_, generator_, compiler};
    compilation.cache = o.cache;
    compilation.gate = PrecisionGate{.sample = sample_, .weights = [weights] { return weights; }};
    compilation.names_precision = named;
    compilation.mode = CompileMode::kReduceOverhead;  // graphs are there when the sample runs
    // Constants outlive the builder, as the builder's contract says.
    const std::shared_ptr<ConstantSource> borrowed(o.constants.get(), [](ConstantSource*) {});
    o.builder = std::make_unique<GraphEntryBuilder>(graph_, borrowed, compilation);
    const CallSettings settings{.precision = precision};
    const size_t before = gate_events(*o.cache);
    const auto inputs = views();
    auto built = o.builder->build(inputs, settings);
    EXPECT_TRUE(built) << built.error().message;
    if (!built) return o;
    o.first = o.entry = *built;
    if (o.first->improvable) {
      auto better = o.builder->improve(*o.first, settings);
      if (better) {
        o.entry = *better;
        o.improved = true;
      }
    }
    o.gates = gate_events(*o.cache) - before;
    return o;
  }

  std::vector<TensorView> views() const {
    std::vector<TensorView> result;
    for (const HostTensor& t : sample_.inputs)
      result.push_back({const_cast<std::byte*>(t.bytes.data()), t.dtype, t.sizes});
    return result;
  }
  static size_t gate_events(KernelCache& cache) {
    size_t n = 0;
    for (const CacheEvent& event : cache.events(10'000)) n += event.kind == "gate";
    return n;
  }
  // The program's packed weights say what products round to.
  static bool serves(const Opened& o, const std::string& type) {
    const Program& program = o.entry->program->program();
    return std::ranges::any_of(program.constants,
                               [&](const ConstantDecl& c) { return c.format == "nk." + type; });
  }

  void run_sql(const char* sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open((dir_.path() / "cache" / "kernels.db").c_str(), &db), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, &message), SQLITE_OK) << (message ? message : "");
    sqlite3_close(db);
  }

  testing_support::TemporaryDir dir_;
  std::shared_ptr<const cuda::CudaDevice> device_;
  std::shared_ptr<const Device> host_;
  std::shared_ptr<const CodeGenerator> generator_;
  Graph graph_;
  TensorMap weights_;
  GateSample sample_;
};

TEST_F(Gate, a_model_that_passes_serves_and_a_second_process_does_not_ask_again) {
  const Opened first = open();
  ASSERT_TRUE(first.improved);
  EXPECT_EQ(first.gates, 1U);
  EXPECT_TRUE(serves(first, "f16"));
  const PrecisionRecord& record = first.entry->precision;
  EXPECT_EQ(record.asked, DType::kF16);
  EXPECT_EQ(record.served, DType::kF16);
  ASSERT_EQ(record.tried.size(), 1U);
  const GateVerdict& verdict = record.tried[0];
  EXPECT_TRUE(verdict.passes()) << verdict.describe();
  EXPECT_EQ(verdict.rows, 3);
  EXPECT_EQ(verdict.not_finite, 0);
  EXPECT_GE(verdict.lowest_cosine, 0.9999);
  EXPECT_LT(verdict.lowest_cosine, 1) << "fp16 shows";
  EXPECT_TRUE(std::ranges::count(sample_.rows, verdict.lowest_at)) << verdict.lowest_at;
  EXPECT_TRUE(warnings.empty()) << warnings[0];

  const size_t launches = cuda::fake::state().launches.size();
  const Opened second = open();
  EXPECT_FALSE(second.first->improvable) << "the stored entry serves at once";
  EXPECT_EQ(second.gates, 0U);
  EXPECT_EQ(cuda::fake::state().launches.size(), launches) << "nothing ran";
  EXPECT_TRUE(serves(second, "f16"));
  ASSERT_EQ(second.entry->precision.tried.size(), 1U);
  EXPECT_EQ(second.entry->precision.tried[0], verdict);
  // Named or not, the precision has been judged.
  const Opened named = open(true);
  EXPECT_EQ(named.gates, 0U);
  EXPECT_TRUE(serves(named, "f16"));
}

TEST_F(Gate, large_activations_fall_to_bf16) {
  make_large();
  const Opened first = open();
  ASSERT_TRUE(first.improved);
  EXPECT_EQ(first.gates, 2U);
  EXPECT_TRUE(serves(first, "bf16"));
  const PrecisionRecord& record = first.entry->precision;
  EXPECT_EQ(record.served, DType::kBF16);
  ASSERT_EQ(record.tried.size(), 2U);
  EXPECT_GT(record.tried[0].not_finite, 0) << record.describe();
  EXPECT_FALSE(record.tried[0].not_finite_at.empty());
  EXPECT_TRUE(record.tried[1].passes()) << record.describe();
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0], record.describe());

  warnings.clear();
  const size_t launches = cuda::fake::state().launches.size();
  const Opened second = open();
  EXPECT_FALSE(second.first->improvable);
  EXPECT_EQ(second.gates, 0U);
  EXPECT_EQ(cuda::fake::state().launches.size(), launches);
  EXPECT_TRUE(serves(second, "bf16"));
  EXPECT_EQ(second.entry->precision.describe(), record.describe());
  EXPECT_TRUE(warnings.empty()) << "said once, for a precision that nobody named";
  // bf16 by name has been judged as well; only its entry, under another guard, is new.
  const Opened named = open(true, CallSettings::Precision::kBF16);
  EXPECT_EQ(named.gates, 0U);
  EXPECT_EQ(named.entry->precision.served, DType::kBF16);
}

TEST_F(Gate, a_named_precision_that_fails_falls_to_fp32_with_a_warning_in_each_process) {
  make_large();
  for (int process = 0; process < 2; ++process) {
    warnings.clear();
    const Opened opened = open(true);
    EXPECT_EQ(opened.gates, process == 0 ? 1U : 0U);
    EXPECT_EQ(opened.first->improvable, process == 0);
    EXPECT_TRUE(serves(opened, "f32"));
    EXPECT_EQ(opened.entry->precision.served, DType::kF32);
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].find("fp16 was asked for (by name), fp32 serves"), std::string::npos)
        << warnings[0];
    EXPECT_NE(warnings[0].find("not finite"), std::string::npos) << warnings[0];
  }
}

TEST_F(Gate, what_neither_half_holds_is_served_in_fp32) {
  make_cancelling();
  const Opened opened = open();
  ASSERT_TRUE(opened.improved);
  EXPECT_TRUE(serves(opened, "f32"));
  const PrecisionRecord& record = opened.entry->precision;
  ASSERT_EQ(record.tried.size(), 2U) << record.describe();
  EXPECT_LT(record.tried[0].lowest_cosine, 0.9999) << record.describe();
  EXPECT_LT(record.tried[1].lowest_cosine, 0.9995) << record.describe();
  EXPECT_EQ(record.tried[0].not_finite, 0) << record.describe();
  EXPECT_EQ(open().entry->precision.describe(), record.describe());
}

TEST_F(Gate, a_weight_beyond_fp16_is_a_failure_with_its_reason) {
  scale("wf0", 1e6);
  scale("wg0", 1e-6);
  const Opened opened = open();
  ASSERT_TRUE(opened.improved);
  const PrecisionRecord& record = opened.entry->precision;
  EXPECT_EQ(record.served, DType::kBF16) << record.describe();
  ASSERT_EQ(record.tried.size(), 2U);
  EXPECT_NE(record.tried[0].refused.find("f16 holds at most 65504"), std::string::npos) << record.describe();
  const Opened second = open();
  EXPECT_EQ(second.gates, 0U);
  EXPECT_EQ(second.entry->precision.describe(), record.describe());
}

TEST_F(Gate, other_weights_and_other_samples_are_judged_anew) {
  EXPECT_EQ(open().gates, 1U);
  make_large();
  const Opened other = open(false, CallSettings::Precision::kF16, "other weights");
  EXPECT_EQ(other.gates, 2U) << "the same graph, other values";
  EXPECT_EQ(other.entry->precision.served, DType::kBF16);
  sample_.rows.pop_back();
  EXPECT_EQ(open(false, CallSettings::Precision::kF16, "other weights").gates, 2U);
}

TEST_F(Gate, a_row_that_was_tampered_with_is_a_miss) {
  make_large();
  const Opened first = open();
  EXPECT_EQ(first.entry->precision.served, DType::kBF16);
  for (const char* sql : {"UPDATE gate SET text = replace(text, 'not_finite=', 'not_finite=0 at=\"\" x=')",
                          "UPDATE gate SET text = (SELECT text FROM gate WHERE text LIKE 'gate 1 bf16%')",
                          "UPDATE gate SET mac = zeroblob(32)", "UPDATE gate SET weights = 'others'",
                          "UPDATE gate SET rule = ''", "DELETE FROM gate"}) {
    run_sql(sql);
    const Opened again = open();
    EXPECT_TRUE(again.first->improvable) << sql;
    EXPECT_GE(again.gates, 1U) << sql;
    EXPECT_EQ(again.entry->precision.served, DType::kBF16) << sql;
    EXPECT_EQ(again.entry->precision.describe(), first.entry->precision.describe()) << sql;
  }
}

TEST_F(Gate, without_a_compiler_what_is_stored_serves_with_its_verdicts) {
  make_large();
  const std::string record = open().entry->precision.describe();
  const Opened stored = open(false, CallSettings::Precision::kF16, "weights", false);
  EXPECT_FALSE(stored.first->improvable);
  EXPECT_EQ(stored.entry->precision.describe(), record);
}

// As an installer's file without verdicts, or one of an older program.
TEST_F(Gate, without_a_compiler_a_stored_entry_can_be_judged) {
  const std::string record = open().entry->precision.describe();
  run_sql("DELETE FROM gate");
  const Opened stored = open(false, CallSettings::Precision::kF16, "weights", false);
  EXPECT_TRUE(stored.improved);
  EXPECT_EQ(stored.gates, 1U);
  EXPECT_EQ(stored.entry->precision.describe(), record);
}

TEST_F(Gate, verdicts_travel_with_trusted_exports_alone) {
  make_large();
  const std::string record = open().entry->precision.describe();
  const auto file = dir_.path() / "export.db";
  ASSERT_TRUE(KernelCache::open({.dir = dir_.path() / "cache"})->export_to(file));
  for (const bool trust : {false, true}) {
    const auto other = KernelCache::open({.dir = dir_.path() / (trust ? "trusts" : "distrusts")});
    const auto taken = other->import_from(file, trust);
    ASSERT_TRUE(taken) << taken.error().message;
    EXPECT_EQ(taken->gates, trust ? 2 : 0);
    EXPECT_TRUE(other->verify().empty());
  }
  std::filesystem::rename(dir_.path() / "cache", dir_.path() / "old");
  std::filesystem::rename(dir_.path() / "trusts", dir_.path() / "cache");
  const Opened opened = open();
  EXPECT_FALSE(opened.first->improvable);
  EXPECT_EQ(opened.gates, 0U);
  EXPECT_EQ(opened.entry->precision.describe(), record);
}

// What explain prints of entries whose device is not here.
TEST_F(Gate, stored_entries_are_described_without_their_device) {
  make_large();
  open();
  open(true);
  const std::string target = device_->target().name;
  device_.reset();
  ::setenv("EDGE_INFER_LIBCUDA", "/nonexistent", 1);
  const auto cache = KernelCache::open({.dir = dir_.path() / "cache"});
  const auto uses = [&] { return cache->stats().hits + cache->stats().misses; };
  const auto report = stored_report(*cache, graph_identity(graph_), 512);
  ASSERT_EQ(report["entries"].size(), 2U) << report.dump(1);
  ASSERT_EQ(report["gates"].size(), 2U);
  EXPECT_NE(report["gates"][0]["found"].get<std::string>().find("bf16 passed"), std::string::npos);
  EXPECT_NE(report["gates"][1]["found"].get<std::string>().find("fp16 failed"), std::string::npos);
  for (const auto& entry : report["entries"]) {
    EXPECT_EQ(entry["target"], target);
    EXPECT_FALSE(entry.contains("error")) << entry.dump(1);
    EXPECT_GT(entry["weight_bytes"], 100'000);
    ASSERT_GT(entry["kernels"].size(), 5U);
    int64_t code = 0;
    for (const auto& kernel : entry["kernels"]) {
      EXPECT_EQ(kernel["registers"], kFakeRegisters) << kernel.dump();
      EXPECT_EQ(kernel["spill_bytes"], 0);
      EXPECT_EQ(kernel["static_shared_bytes"], kFakeStaticShared);
      EXPECT_TRUE(kernel["dynamic_shared_bytes"].is_number());
      EXPECT_NE(kernel["tile"].get<std::string>().find('x'), std::string::npos);
      code += kernel["code_bytes"].get<int64_t>();
    }
    EXPECT_EQ(entry["code_bytes"], code);
    EXPECT_LE(entry["graphs"]["count"], 6);
    EXPECT_EQ(entry["graphs"]["classes"][0], "T <= 128, B <= 4") << entry["graphs"].dump();
    EXPECT_FALSE(entry["graphs"].contains("replays")) << "nothing is known of them";
    ASSERT_EQ(entry["arena_at"].size(), 3U);
    EXPECT_LT(entry["arena_at"][0]["bytes"], entry["arena_at"][1]["bytes"]);
    // 32 times the tokens.
    EXPECT_NEAR(entry["arena_at"][2]["bytes"].get<double>() / entry["arena_at"][1]["bytes"].get<double>(), 32,
                0.5);
  }
  const int64_t before = uses();
  kernel_report(parse_entry(*cache->find_entry(cache->entries_of(graph_identity(graph_))[0]))->program,
                target, cache.get());
  EXPECT_EQ(uses(), before + 1) << "the entry; looking at kernels is no use of them";
}

TEST_F(Gate, a_live_entry_says_what_it_takes_and_what_it_has_replayed) {
  const Opened opened = open();
  ASSERT_TRUE(opened.improved);
  const auto& program = static_cast<const cuda::CudaProgram&>(*opened.entry->program);
  const auto memory = memory_report(program);
  EXPECT_EQ(memory["weight_bytes"], program.statistics().weight_bytes);
  EXPECT_EQ(memory["arena_bytes"], program.statistics().device_bytes);
  EXPECT_EQ(memory["pinned_bytes"], program.statistics().pinned_bytes);
  EXPECT_GT(memory["code_bytes"], 0);
  EXPECT_EQ(memory["device_bytes"], memory["weight_bytes"].get<size_t>() +
                                        memory["arena_bytes"].get<size_t>() +
                                        memory["code_bytes"].get<size_t>());
  // All that the driver gave is counted.
  EXPECT_EQ(cuda::fake::state().device_bytes,
            memory["weight_bytes"].get<size_t>() + memory["arena_bytes"].get<size_t>());
  const auto graphs = graph_report(program);
  EXPECT_EQ(graphs["count"], program.classes().size());
  EXPECT_EQ(graphs["replays"], 1) << "the gate's sample";
  EXPECT_EQ(graphs["classes"][0], "T <= 128, B <= 4");
  EXPECT_EQ(opened.entry->target, device_->target().name);
  EXPECT_EQ(opened.first->target, host_->target().name);
  EXPECT_TRUE(memory_report(*opened.first->program).is_null()) << "a processor has no memory of its own";
  const auto precision = precision_report(opened.entry->precision);
  EXPECT_EQ(precision["asked"], "fp16");
  EXPECT_EQ(precision["served"], "fp16");
  EXPECT_EQ(precision["tried"][0]["passed"], true);
}

TEST_F(Gate, fp32_is_not_judged) {
  const Opened opened = open(true, CallSettings::Precision::kF32);
  ASSERT_TRUE(opened.improved);
  EXPECT_EQ(opened.gates, 0U);
  EXPECT_TRUE(opened.entry->precision.tried.empty());
  EXPECT_EQ(opened.entry->precision.served, DType::kF32);
}

TEST_F(Gate, a_device_that_is_lost_meanwhile_leaves_the_processor) {
  cuda::fake::state().fail_launch = 1;
  const Opened opened = open();
  EXPECT_FALSE(opened.improved);
  EXPECT_EQ(opened.gates, 0U) << "nothing was found out about the model";
}

}  // namespace
}  // namespace edge_infer::test
