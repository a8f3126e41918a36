#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <random>
#include <thread>

#include "tests/gpu/golden_graphs.h"
#include "tests/gpu/program_run.h"
#include "tests/gpu/sections.h"
#include "tests/gpu/watchdog.h"

namespace edge_infer::test {
namespace {

using Lengths = std::vector<int64_t>;
using Outputs = std::vector<HostTensor>;

constexpr int kInputSets = 64;
constexpr int kPatience = 3;  // of the watchdog's for one kernel: thousands of replays

// A program with prepared batches and what single launches give for them.
struct Bench {
  GoldenGraph golden;
  TensorMap constants;
  std::unique_ptr<ProgramRun> run;
  std::vector<std::vector<HostTensor>> inputs;
  std::vector<Outputs> wanted;
};

Lengths random_lengths(std::mt19937_64& random, size_t set) {
  // One short text, one long one, and packs of all kinds.
  if (set % 4 == 0) return {static_cast<int64_t>(1 + random() % 512)};
  Lengths lengths(1 + random() % 24);
  for (int64_t& length : lengths) length = static_cast<int64_t>(1 + random() % (set % 4 == 1 ? 40 : 200));
  return lengths;
}

Result<std::shared_ptr<Bench>> make_bench(const GpuCheck& check, const std::string& name, DType precision) {
  auto bench = std::make_shared<Bench>();
  EDGE_INFER_ASSIGN(bench->golden, golden_graph(name));
  bench->constants = bench->golden.constants(1);
  const std::string& target = check.device->target().name;
  EDGE_INFER_ASSIGN(const TargetCompiler compiler, open_compiler(target));
  EDGE_INFER_ASSIGN(
      bench->run, ProgramRun::make(check.device, compiler, bench->golden.graph, precision, bench->constants));
  std::mt19937_64 random(7);
  for (size_t set = 0; set < kInputSets; ++set) {
    bench->inputs.push_back(bench->golden.inputs(random_lengths(random, set), set));
    EDGE_INFER_ASSIGN(Outputs outputs, bench->run->run(bench->inputs.back(), cuda::LaunchMode::kLaunches));
    bench->wanted.push_back(std::move(outputs));
  }
  return bench;
}

std::string different(const Outputs& a, const Outputs& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].bytes != b[i].bytes) return fmt::format("output {} has other bits", i);
  return {};
}

// `count` replays of batches in random order, bit for bit.
std::string replay(const Bench& bench, int count, uint64_t seed) {
  std::mt19937_64 random(seed);
  int bad = 0;
  for (int i = 0; i < count; ++i) {
    const size_t set = random() % bench.inputs.size();
    const auto got = bench.run->run(bench.inputs[set], cuda::LaunchMode::kGraphs);
    if (!got) return fmt::format("replay {}: {}", i, got.error().message);
    bad += !different(*got, bench.wanted[set]).empty();
  }
  return bad == 0 ? "" : fmt::format("{} of {} replays give other bits than single launches", bad, count);
}

Outcome check_outputs(const Bench& bench, DType precision) {
  double worst = 0;
  for (const size_t set : {size_t{0}, size_t{1}, size_t{2}}) {
    const Lengths lengths = set == 0 ? Lengths{9} : set == 1 ? Lengths{40, 3} : Lengths{1, 66};
    const std::vector<HostTensor> inputs = bench.golden.inputs(lengths, 100 + set);
    const auto want = evaluate(bench.golden.graph, inputs, bench.constants);
    if (!want) return {.failure = "evaluate: " + want.error().message};
    const auto got = bench.run->run(inputs, cuda::LaunchMode::kGraphs);
    if (!got) return {.failure = got.error().message};
    for (size_t i = 0; i < want->size(); ++i) {
      const auto a = (*got)[i].to_doubles(), b = (*want)[i].to_doubles();
      double dot = 0, aa = 0, bb = 0;
      for (size_t e = 0; e < a.size(); ++e) dot += a[e] * b[e], aa += a[e] * a[e], bb += b[e] * b[e];
      const double cosine = bb > 0 ? dot / std::sqrt(aa * bb) : 1;
      worst = std::isfinite(cosine) ? std::max(worst, 1 - cosine) : HUGE_VAL;
    }
  }
  const double allowed = precision == DType::kF32 ? 1e-9 : precision == DType::kF16 ? 1e-4 : 5e-4;
  const std::string note = fmt::format("1 - cosine {:.1e}", worst);
  if (!(worst <= allowed))
    return {.failure = fmt::format("1 - cosine is {:.2g}, allowed {:.2g}", worst, allowed)};
  return {.note = note};
}

Outcome check_replays(const Bench& bench, int count) {
  const Watchdog watchdog("replays", kPatience);
  // Once through all batches, so that memory has grown before it is counted.
  for (size_t set = 0; set < bench.inputs.size(); ++set) {
    const auto got = bench.run->run(bench.inputs[set], cuda::LaunchMode::kGraphs);
    if (!got) return {.failure = got.error().message};
    if (!different(*got, bench.wanted[set]).empty())
      return {.failure = fmt::format("batch {}: a graph gives other bits than single launches", set)};
  }
  const auto before = bench.run->program().statistics();
  const auto begin = std::chrono::steady_clock::now();
  if (std::string text = replay(bench, count, 11); !text.empty()) return {.failure = std::move(text)};
  const double us =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / count;
  const auto after = bench.run->program().statistics();
  if (after.device_bytes != before.device_bytes || after.pinned_bytes != before.pinned_bytes)
    return {.failure =
                fmt::format("memory grew from {} to {} bytes", before.device_bytes, after.device_bytes)};
  return {.note = fmt::format("{} replays, {:.0f} us each, {} graphs, {} MB of temporaries", count, us,
                              after.counts.graphs, after.device_bytes >> 20)};
}

Outcome check_threads(const Bench& a, const Bench& b, int count) {
  const Watchdog watchdog("two programs on two threads", kPatience);
  std::string first, second, third;
  {
    std::jthread one([&] { first = replay(a, count, 1); });
    std::jthread two([&] { second = replay(b, count, 2); });
    std::jthread three([&] { third = replay(a, count, 3); });
  }
  for (std::string* text : {&first, &second, &third})
    if (!text->empty()) return {.failure = std::move(*text)};
  return {.note = fmt::format("{} calls each", count)};
}

// A sequence's pooled vector is the same alone and in any batch.
Outcome check_alone(const Bench& bench) {
  const Watchdog watchdog("alone and in a batch", kPatience);
  const Lengths lengths = {70, 1, 128, 33, 512, 64, 200, 17};
  const std::vector<HostTensor> batch = bench.golden.inputs(lengths, 5);
  const auto all = bench.run->run(batch, cuda::LaunchMode::kGraphs);
  if (!all) return {.failure = all.error().message};
  const std::vector<int64_t> ids = batch[0].to_integers();
  int64_t begin = 0;
  for (size_t s = 0; s < lengths.size(); begin += lengths[s++]) {
    std::vector<HostTensor> one = bench.golden.inputs({lengths[s]}, 5);
    one[0].store(std::vector<int64_t>(ids.begin() + begin, ids.begin() + begin + lengths[s]));
    const auto got = bench.run->run(one, cuda::LaunchMode::kGraphs);
    if (!got) return {.failure = got.error().message};
    const std::vector<std::byte>& row = (*got)[0].bytes;
    if (!std::equal(row.begin(), row.end(),
                    (*all)[0].bytes.begin() + static_cast<std::ptrdiff_t>(s * row.size())))
      return {.failure = fmt::format("sequence {} of {} tokens has other bits alone", s, lengths[s])};
  }
  return {.note = fmt::format("{} sequences", lengths.size())};
}

}  // namespace

std::vector<GpuCase> program_cases(GpuCheck& check) {
  const int replays = check.effort == 0 ? 300 : check.effort == 1 ? 3'000 : 10'000;
  std::vector<GpuCase> cases;
  std::vector<std::shared_ptr<Bench>> benches;
  for (const auto& [name, precision] : {std::pair<const char*, DType>{"post_norm_encoder", DType::kF16},
                                        {"post_norm_encoder", DType::kBF16},
                                        {"post_norm_encoder", DType::kF32},
                                        {"pre_norm_block", DType::kF16}}) {
    if (!check.takes()) continue;
    const std::string label = fmt::format("{} in {}", name, dtype_name(precision));
    Result<std::shared_ptr<Bench>> made = make_bench(check, name, precision);
    if (!made) {
      cases.push_back({label, [why = made.error().message] { return Outcome{.failure = why}; }});
      continue;
    }
    const std::shared_ptr<Bench> bench = *made;
    benches.push_back(bench);
    cases.push_back({label + ", outputs", [bench, precision] { return check_outputs(*bench, precision); }});
    if (precision == DType::kF16)
      cases.push_back({label + ", replays", [bench, replays] { return check_replays(*bench, replays); }});
    if (name == std::string_view("post_norm_encoder"))
      cases.push_back({label + ", alone and in a batch", [bench] { return check_alone(*bench); }});
  }
  if (benches.size() >= 2)
    cases.push_back({"two programs on three threads", [a = benches.front(), b = benches.back(), replays] {
                       return check_threads(*a, *b, replays / 10);
                     }});
  return cases;
}

}  // namespace edge_infer::test
