#include "apps/cli/bench_profile.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

namespace edge_infer {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(const PassProfile::Kernel& kernel) {
  return static_cast<double>(kernel.nanoseconds) / 1e9;
}

// Percent of the kernel's time that the hardware's limits account for; 0: unknown.
double roofline_percent(double least, double seconds) {
  return seconds > 0 ? 100 * least / seconds : 0;
}

}  // namespace

Result<PassProfile> profile_pass(const ModelEmbedder& embedder, int64_t length, int64_t batch,
                                 double seconds) {
  const std::shared_ptr<const Entry> entry = embedder.module().entries().front();
  const Executable& bound = *entry->program;
  const Program& program = bound.program();
  const auto vocabulary = static_cast<size_t>(embedder.tokenizer().vocabulary_size());
  std::vector<int32_t> ids(static_cast<size_t>(length * batch)), cu;
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i * 7 % vocabulary);
  for (int64_t b = 0; b <= batch; ++b) cu.push_back(static_cast<int32_t>(b * length));
  std::vector<float> out(static_cast<size_t>(batch * embedder.dimensions()));
  const int64_t ids_size[] = {length * batch}, cu_size[] = {batch + 1},
                out_size[] = {batch, embedder.dimensions()};
  const TensorView inputs[] = {{ids.data(), DType::kI32, ids_size}, {cu.data(), DType::kI32, cu_size}};
  const TensorView outputs[] = {{out.data(), DType::kF32, out_size}};
  const std::unique_ptr<RunContext> context = bound.make_context();
  std::vector<int64_t> best;
  const auto start = Clock::now();
  do {
    EDGE_INFER_ASSIGN(const std::vector<int64_t> times, bound.profile(*context, inputs, outputs));
    best.resize(times.size(), INT64_MAX);
    for (size_t c = 0; c < best.size(); ++c) best[c] = std::min(best[c], times[c]);
  } while (std::chrono::duration<double>(Clock::now() - start).count() < seconds);

  PassProfile profile{.device = embedder.device().target().name,
                      .length = length,
                      .batch = batch,
                      .is_one_worker = embedder.device().target().splits_rows,
                      .kernels = {},
                      .peak = embedder.device().peak()};
  const std::vector<int64_t> lengths(static_cast<size_t>(batch), length);
  const std::vector<CallCost> costs = call_costs(program, lengths, 1);
  size_t c = 0;
  for (const Phase& phase : program.phases)
    for (const Call& call : phase.calls) {
      if (best[c] > 0)
        profile.kernels.push_back(
            {program.kernels[static_cast<size_t>(call.kernel)].name, best[c], costs[c]});
      ++c;
    }
  return profile;
}

void print_profile(const PassProfile& profile) {
  struct Line {
    int64_t calls = 0;
    double seconds = 0, least = 0, flops = 0, bytes = 0;
    bool has_limit = true;  // the hardware's limit for all of its products is known
  };
  std::map<std::string, Line> lines;
  Line total;
  for (const PassProfile::Kernel& kernel : profile.kernels)
    for (Line* line : {&lines[kernel.name], &total}) {
      const double least = least_seconds(kernel.cost, profile.peak);
      ++line->calls;
      line->seconds += seconds_of(kernel);
      line->least += least;
      line->has_limit = line->has_limit && (least > 0 || kernel.cost.flops == 0);
      line->flops += kernel.cost.flops;
      line->bytes += kernel.cost.bytes;
    }
  const bool knows_bytes = profile.peak.bytes > 0;
  fmt::print("  {} tokens on {}{}, best of each call: {:.3f} ms\n", profile.length * profile.batch,
             profile.is_one_worker ? "one worker of " : "", profile.device, total.seconds * 1e3);
  fmt::print("  {:>9} {:>7} {:>5} {:>9} {:>7} {:>10}  kernel\n", "ms", "%", "calls", "GFLOP/s", "GB/s",
             knows_bytes ? "% roofline" : "% of peak");
  const auto print = [&](const std::string& name, const Line& line) {
    const double percent = line.has_limit ? roofline_percent(line.least, line.seconds) : 0;
    fmt::print("  {:>9.3f} {:>7.1f} {:>5} {:>9.1f} {:>7.1f} {:>10}  {}\n", line.seconds * 1e3,
               100 * line.seconds / total.seconds, line.calls, line.flops / line.seconds / 1e9,
               line.bytes / line.seconds / 1e9, percent > 0 ? fmt::format("{:.1f}", percent) : "-", name);
  };
  for (const auto& [name, line] : lines) print(name, line);
  print("all", total);
}

Status write_trace(const std::filesystem::path& file, const std::vector<PassProfile>& profiles) {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  int thread = 0;
  for (const PassProfile& profile : profiles) {
    ++thread;
    events.push_back(
        {{"ph", "M"},
         {"name", "thread_name"},
         {"pid", 1},
         {"tid", thread},
         {"args",
          {{"name", fmt::format("{}: {} x {} tokens", profile.device, profile.batch, profile.length)}}}});
    int64_t start = 0;  // nanoseconds; the format counts in microseconds
    for (const PassProfile::Kernel& kernel : profile.kernels) {
      const double least = least_seconds(kernel.cost, profile.peak);
      nlohmann::ordered_json arguments{{"flops", kernel.cost.flops}, {"bytes", kernel.cost.bytes}};
      if (least > 0) arguments["roofline_percent"] = roofline_percent(least, seconds_of(kernel));
      events.push_back({{"ph", "X"},
                        {"name", kernel.name},
                        {"pid", 1},
                        {"tid", thread},
                        {"ts", static_cast<double>(start) / 1e3},
                        {"dur", static_cast<double>(kernel.nanoseconds) / 1e3},
                        {"args", std::move(arguments)}});
      start += kernel.nanoseconds;
    }
  }
  std::ofstream out(file);
  out << nlohmann::ordered_json{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}}.dump(1)
      << '\n';
  out.close();
  if (!out) return fail(ErrorCode::kIoError, "cannot write the trace \"{}\"", file.native());
  return {};
}

}  // namespace edge_infer
