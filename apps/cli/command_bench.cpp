// edge-infer bench: times of forward passes as a share of this machine's peak in the precision that runs. The
// peak is sampled between the runs, and both are the best of many, because a virtual machine loses time to
// its neighbours.
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
#include "apps/cli/option_range.h"
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
using Json = nlohmann::ordered_json;
constexpr int64_t kPeakRounds = 20'000;  // 0.05 to 0.5 ms

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

// The kernel that does nothing but the multiply-adds of the products of `program`. Errors: kNotFound where
// the device has none: an accelerator's peak is not measured.
Result<LoadedKernel> peak_of(const Device& device, const Program& program) {
  const std::string& products = program.accumulation_class;
  // Products of bf16 without instructions of their own are multiply-adds of f32.
  const bool is_f32 = products.starts_with("f32.") || products == "bf16.f32";
  return device.load_kernel("prebuilt:edge.fma_peak." + (is_f32 ? "f32" : products));
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

Json describe(const Row& row, const ModelEmbedder& embedder, const Graph& graph, int64_t batch) {
  const std::vector<int64_t> lengths(static_cast<size_t>(batch), row.length);
  const int64_t tokens = batch * row.length;
  const double gflops = graph_flops(graph, lengths) / row.best / 1e6;
  const std::shared_ptr<const Entry> entry = embedder.module().entries().front();
  const Executable& bound = *entry->program;
  return {{"length", row.length},
          {"batch", batch},
          {"threads", embedder.threads()},
          {"kernels", embedder.is_compiled() ? "compiled" : "prebuilt"},
          {"precision", precision_name(entry->precision.served)},
          {"ms_best", row.best},
          {"ms_median", row.median},
          {"ms_p99", row.p99},
          {"tokens_per_s", static_cast<double>(tokens) / row.best * 1000},
          {"gflops", gflops},
          {"peak_gflops", row.peak > 0 ? Json(row.peak) : Json()},
          {"percent_of_peak", row.peak > 0 ? Json(100 * gflops / row.peak) : Json()},
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
  const std::shared_ptr<const Entry> entry = embedder->module().entries().front();
  const Result<LoadedKernel> peak = peak_of(embedder->device(), entry->program->program());
  const Result<LoadedKernel> f32_peak = embedder->device().load_kernel("prebuilt:edge.fma_peak.f32");
  EDGE_INFER_ASSIGN(const Graph graph, embedder->graph());
  if (!a.as_json)
    fmt::print("{} | {} | {} threads | {} | {}\n{:>7} {:>6} {:>9} {:>9} {:>9} {:>11} {:>9} {:>7} {:>9}\n",
               cpu_name(), embedder->device().target().name, embedder->threads(),
               is_compiled ? "compiled kernels" : "prebuilt kernels", precision_name(entry->precision.served),
               "length", "batch", "best ms", "median", "p99", "tokens/s", "GFLOP/s", "% peak", "MB moved");
  if (const std::string start = embedder->device().start_report(); !a.as_json && !start.empty())
    fmt::print("start: {}\n", start);
  std::vector<PassProfile> profiles;
  for (const int64_t length : a.lengths) {
    EDGE_INFER_ASSIGN(const Row row, measure(*embedder, a, length, peak ? &*peak : nullptr));
    const Json d = describe(row, *embedder, graph, a.batch);
    if (a.as_json)
      fmt::print("{}\n", d.dump());
    else
      fmt::print("{:>7} {:>6} {:>9.3f} {:>9.3f} {:>9.3f} {:>11.0f} {:>9.1f} {:>7} {:>9.1f}\n", length,
                 a.batch, row.best, row.median, row.p99, d["tokens_per_s"].get<double>(),
                 d["gflops"].get<double>(),
                 row.peak > 0 ? fmt::format("{:.1f}", d["percent_of_peak"].get<double>()) : "-",
                 d["bytes_moved"].get<double>() / 1e6);
    if (a.profile || !a.trace.empty()) {
      EDGE_INFER_ASSIGN(PassProfile profile, profile_pass(*embedder, length, a.batch, a.seconds));
      // A processor's peak is what was measured, an accelerator's what its data sheet says.
      if (f32_peak) profile.peak.flops = best_peak(*f32_peak) * 1e9;
      if (peak) profile.peak.half_flops = best_peak(*peak) * 1e9;
      if (a.profile && !a.as_json) print_profile(profile);
      profiles.push_back(std::move(profile));
    }
    std::fflush(stdout);
  }
  if (!a.as_json)
    print_memory({{"memory", memory_report(*entry->program)}, {"graphs", graph_report(*entry->program)}});
  if (!a.trace.empty()) EDGE_INFER_RETURN_IF_ERROR(write_trace(a.trace, profiles));
  return {};
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
      ->check(integer_from(1, 1 << 20));
  command->add_option("--batch", a->batch, "texts of a call")->check(integer_from(1, 4096));
  command->add_option("--seconds", a->seconds, "time for each length")->check(number_from(0.01, 3600));
  command->add_flag("--json", a->as_json, "one JSON object a length");
  command->callback([a, &exit_code] {
    if (const Status status = bench(*a); !status) exit_code = report_error(status.error());
  });
}

}  // namespace edge_infer
