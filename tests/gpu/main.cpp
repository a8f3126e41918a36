// gpu_check: what needs a GPU to be checked (tests/gpu/README.md). Without one it says "no CUDA device" and
// exits with 77.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "tests/gpu/sections.h"
#include "tests/gpu/watchdog.h"

namespace edge_infer::test {
namespace {

constexpr int kSkipped = 77;

struct Section {
  std::string_view name;
  std::vector<GpuCase> (*cases)(GpuCheck&);
};
// Times, which need the GPU for themselves: left out where no section is named.
constexpr std::string_view kSpeed = "gemm-speed", kTune = "tune";
// Single kernels first: what is wrong there need not be looked for in programs.
constexpr Section kSections[] = {
    {"attention", attention_cases}, {"gemm", gemm_cases},
    {"golden", golden_graph_cases}, {"conformance", conformance_cases},
    {"random", random_graph_cases}, {"program", program_cases},
    {kSpeed, gemm_speed_cases},     {kTune, tune_cases},
};

struct Options {
  std::vector<std::string_view> sections;  // empty: all
  int effort = 1, every = 1, patience = 30;
  bool quiet = false, expects_none = false;
  std::string variant;
};

int usage() {
  std::fputs(
      "usage: gpu_check [--sample | --all] [--every N] [--patience SECONDS] [--quiet] [--variant sm_90] "
      "[SECTION...]\n"
      "sections: attention gemm golden conformance random program gemm-speed tune\n",
      stderr);
  return 2;
}

// A number of 1 to a million.
bool parse(std::string_view text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 1 && number <= 1'000'000;
}

bool parse(std::span<char*> arguments, Options& options) {
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const bool has_value = i + 1 < arguments.size();
    if (argument == "--sample")
      options.effort = 0;
    else if (argument == "--all")
      options.effort = 2;
    else if (argument == "--quiet")
      options.quiet = true;
    else if (argument == "--expect-no-device")
      options.expects_none = true;
    else if (argument == "--variant" && has_value)
      options.variant = arguments[++i];
    else if (has_value && ((argument == "--every" && parse(arguments[i + 1], options.every)) ||
                           (argument == "--patience" && parse(arguments[i + 1], options.patience))))
      ++i;
    else if (std::ranges::any_of(kSections, [&](const Section& s) { return s.name == argument; }))
      options.sections.push_back(argument);
    else
      return false;
  }
  return true;
}

bool wants(const Options& options, std::string_view section) {
  if (options.sections.empty()) return section != kSpeed && section != kTune;
  return std::ranges::find(options.sections, section) != options.sections.end();
}

int run(const Options& options) {
  const auto device = cuda::CudaDevice::open({.variant = options.variant});
  if (!device) {
    std::puts(device.error().message.c_str());
    return options.expects_none && device.error().message.starts_with("no CUDA device") ? 0 : kSkipped;
  }
  const cuda::CudaDeviceFacts& facts = (*device)->facts();
  const std::string& target = (*device)->target().name;
  std::printf("%s, compute capability %d.%d, %d multiprocessors, driver %d, target %s\n", facts.name.c_str(),
              facts.major, facts.minor, facts.multiprocessors, facts.driver_version, target.c_str());
  const Result<TargetCompiler> compiler = open_compiler(target);
  if (!compiler || !compiler->compiler->available()) {
    std::printf("no kernels can be compiled: %s\n",
                (compiler ? compiler->compiler->available().error() : compiler.error()).message.c_str());
    return 1;
  }
  KernelSet kernels(*device, *compiler);
  GpuReport report(options.quiet);
  Watchdog::patience = std::chrono::seconds(options.patience);
  for (const Section& section : kSections) {
    if (!wants(options, section.name)) continue;
    const auto begin = std::chrono::steady_clock::now();
    const size_t before = kernels.size();
    GpuCheck check{*device, kernels, options.effort, static_cast<size_t>(options.every)};
    const std::vector<GpuCase> cases = section.cases(check);
    if (const Status compiled = kernels.compile(); !compiled) {
      report.broken(std::string(section.name), compiled.error().message);
      break;
    }
    std::printf("-- %s: %zu kernels made in %.1f s\n", section.name.data(), kernels.size() - before,
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    report.section(std::string(section.name), cases);
    if (const Status usable = (*device)->usable(); !usable) {
      report.broken(std::string(section.name), "the rest is left out: " + usable.error().message);
      break;
    }
  }
  std::printf("%zu kernels, %lld of them spill registers\n", kernels.size(),
              static_cast<long long>(kernels.spilled()));
  return report.finish() ? 0 : 1;
}

}  // namespace
}  // namespace edge_infer::test

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what was found stays when the machine goes
  edge_infer::test::Options options;
  if (!edge_infer::test::parse({argv, static_cast<size_t>(argc)}, options)) return edge_infer::test::usage();
  return edge_infer::test::run(options);
}
