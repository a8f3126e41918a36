// edge-infer bench: times of forward passes as a share of this machine's peak. The peak is sampled between
// the runs, and both are the best of many, because a virtual machine loses time to its neighbours.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "apps/cli/bench_profile.h"
#include "apps/cli/commands.h"
#include "apps/cli/model_options.h"
#include "apps/cli/program_report.h"
#include "apps/cli/report.h"
#include "models/cost.h"
#include "models/hub/model_directory.h"
#include "models/model_embedder.h"
#include "runtime/base/cpu.h"
#include "runtime/executor/team.h"

namespace edge_infer {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t kPeakRounds = 20'000;  // about 0.1 ms

struct BenchArguments {
  ModelOptions model;
  std::vector<int64_t> lengths = {16, 128, 512};
  int64_t batch = 1;
  double seconds = 2;  // of each row
  bool as_json = false, profile = false;
  std::string trace;  // file, "": none
};

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// GFLOP/s of `workers` cores at once over one sample.
double sample_peak(const LoadedKernel& kernel, int workers) {
  std::vector<double> rates(static_cast<size_t>(workers));
  auto body = [&](int worker) {
    float out[2] = {};
    void* buffers[] = {out};
    const KernelArgs args{buffers, nullptr};
    const auto start = Clock::now();
    kernel.function(&args, 0, kPeakRounds, 0, 1, nullptr);
    rates[static_cast<size_t>(worker)] =
        static_cast<double>(kPeakRounds) * static_cast<double>(out[1]) / ms_since(start) / 1e6;
  };
  run_team(workers, body);
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

// Of one core, the best of many samples: one alone may have been interrupted.
double best_peak(const LoadedKernel& kernel) {
  constexpr int kSamples = 50;
  double best = 0;
  for (int i = 0; i < kSamples; ++i) best = std::max(best, sample_peak(kernel, 1));
  return best;
}

struct Row {
  int64_t length = 0;
  double best = 0, median = 0, p99 = 0;  // ms
  double peak = 0;                       // GFLOP/s of all workers
};

Result<Row> measure(const ModelEmbedder& embedder, const BenchArguments& a, int64_t length,
                    const LoadedKernel* peak) {
  std::vector<int32_t> ids(static_cast<size_t>(length));
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<int32_t>(i * 7 % static_cast<size_t>(embedder.tokenizer().vocabulary_size()));
  const std::vector<std::span<const int32_t>> texts(static_cast<size_t>(a.batch), ids);
  std::vector<float> out(texts.size() * static_cast<size_t>(embedder.dimensions()));
  Row row;
  row.length = length;
  std::vector<double> times;
  const auto start = Clock::now();
  while (times.size() < 20 || ms_since(start) < a.seconds * 1000) {
    if (peak != nullptr) row.peak = std::max(row.peak, sample_peak(*peak, embedder.threads()));
    const auto begin = Clock::now();
    EDGE_INFER_RETURN_IF_ERROR(embedder.embed_tokens(texts, out));
    times.push_back(ms_since(begin));
  }
  std::sort(times.begin(), times.end());
  row.best = times.front();
  row.median = times[times.size() / 2];
  row.p99 = times[std::min(times.size() - 1, times.size() * 99 / 100)];
  return row;
}

nlohmann::ordered_json describe(const Row& row, const ModelEmbedder& embedder, const Graph& graph,
                                int64_t batch) {
  const std::vector<int64_t> lengths(static_cast<size_t>(batch), row.length);
  const int64_t tokens = batch * row.length;
  const double gflops = graph_flops(graph, lengths) / row.best / 1e6;
  const std::shared_ptr<const Entry> entry = embedder.module().entries().front();
  const Executable& bound = *entry->program;
  return {{"length", row.length},
          {"batch", batch},
          {"threads", embedder.threads()},
          {"kernels", embedder.is_compiled() ? "compiled" : "prebuilt"},
          {"ms_best", row.best},
          {"ms_median", row.median},
          {"ms_p99", row.p99},
          {"tokens_per_s", static_cast<double>(tokens) / row.best * 1000},
          {"gflops", gflops},
          {"peak_gflops", row.peak},
          {"percent_of_peak", row.peak > 0 ? 100 * gflops / row.peak : 0},
          {"bytes_moved", program_bytes(bound.program(), lengths, embedder.threads())},
          {"memory", memory_report(bound)},
          {"graphs", graph_report(bound)}};
}

Status bench(const BenchArguments& a) {
  EDGE_INFER_ASSIGN(const std::filesystem::path dir, resolve_model(a.model.model));
  EmbedderOptions options = a.model.embedder;
  for (const int64_t length : a.lengths) options.max_length = std::max(options.max_length, length);
  EDGE_INFER_ASSIGN(const std::unique_ptr<ModelEmbedder> embedder, ModelEmbedder::open(dir, options));
  if (!options.eager)
    if (const Status compiled = embedder->prepare(); !compiled)
      fmt::print(stderr, "edge-infer: {}\n", compiled.error().message);
  const bool is_compiled = embedder->is_compiled();
  // A processor's peak is measured beside each call; of an accelerator it is not.
  const Result<LoadedKernel> peak = embedder->device().load_kernel("prebuilt:edge.fma_peak.f32");
  EDGE_INFER_ASSIGN(const Graph graph, embedder->graph());
  if (!a.as_json)
    fmt::print("{} | {} | {} threads | {}\n{:>7} {:>6} {:>9} {:>9} {:>9} {:>11} {:>9} {:>7} {:>9}\n",
               cpu_name(), embedder->device().target().name, embedder->threads(),
               is_compiled ? "compiled kernels" : "prebuilt kernels", "length", "batch", "best ms", "median",
               "p99", "tokens/s", "GFLOP/s", "% peak", "MB moved");
  if (const std::string start = embedder->device().start_report(); !a.as_json && !start.empty())
    fmt::print("start: {}\n", start);
  std::vector<PassProfile> profiles;
  for (const int64_t length : a.lengths) {
    EDGE_INFER_ASSIGN(const Row row, measure(*embedder, a, length, peak ? &*peak : nullptr));
    const nlohmann::ordered_json d = describe(row, *embedder, graph, a.batch);
    if (a.as_json)
      fmt::print("{}\n", d.dump());
    else
      fmt::print("{:>7} {:>6} {:>9.3f} {:>9.3f} {:>9.3f} {:>11.0f} {:>9.1f} {:>7.1f} {:>9.1f}\n", length,
                 a.batch, row.best, row.median, row.p99, d["tokens_per_s"].get<double>(),
                 d["gflops"].get<double>(), d["percent_of_peak"].get<double>(),
                 d["bytes_moved"].get<double>() / 1e6);
    if (a.profile || !a.trace.empty()) {
      EDGE_INFER_ASSIGN(PassProfile profile, profile_pass(*embedder, length, a.batch, a.seconds));
      // A processor's peak is what was measured, an accelerator's what its data sheet says.
      if (peak) profile.peak.flops = best_peak(*peak) * 1e9;
      if (a.profile && !a.as_json) print_profile(profile);
      profiles.push_back(std::move(profile));
    }
    std::fflush(stdout);
  }
  if (!a.as_json)
    print_memory({{"memory", memory_report(*embedder->module().entries().front()->program)},
                  {"graphs", graph_report(*embedder->module().entries().front()->program)}});
  if (!a.trace.empty()) EDGE_INFER_RETURN_IF_ERROR(write_trace(a.trace, profiles));
  return {};
}

// CLI::Range takes NaN for every range's.
std::string seconds_in_range(const std::string& text) {
  double value = 0;
  const bool number = CLI::detail::lexical_cast(text, value);
  return number && value >= 0.01 && value <= 3600 ? "" : fmt::format("{} is not in 0.01 to 3600", text);
}

}  // namespace

void add_bench_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("bench", "time forward passes against this machine's peak");
  auto a = std::make_shared<BenchArguments>();
  add_model_options(*command, a->model, true);
  command->add_flag("--profile", a->profile,
                    "also print where the time of a pass goes, of one worker on a processor (text only)");
  command->add_option("--trace", a->trace,
                      "write the profile as a Chrome trace, for chrome://tracing or ui.perfetto.dev");
  command->add_flag("--eager", a->model.embedder.eager, "time the prebuilt kernels");
  command->add_option("--lengths", a->lengths, "tokens of a text, comma separated")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--batch", a->batch, "texts of a call")->check(CLI::Range(1, 4096));
  command->add_option("--seconds", a->seconds, "time for each length")->check(seconds_in_range);
  command->add_flag("--json", a->as_json, "one JSON object a length");
  command->callback([a, &exit_code] {
    if (const Status status = bench(*a); !status) exit_code = report_error(status.error());
  });
}

}  // namespace edge_infer
