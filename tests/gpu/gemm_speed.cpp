#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "compiler/loop/parse.h"
#include "tests/gpu/sections.h"
#include "tests/unit/cuda_gemm/gemm_nests.h"

namespace edge_infer::test {
namespace {

constexpr std::array<int64_t, 5> kRows = {128, 512, 2048, 8192, 32'768};

enum class Kind { kBias, kGelu, kResidual };
struct Product {
  int n, k;
  Kind kind;
  // Best prototype with programmatic edges, operands out of cache, microseconds at kRows; 0: not measured.
  std::array<double, 5> prototype{};
};
constexpr Product kProducts[] = {
    {1152, 384, Kind::kBias},
    {384, 384, Kind::kResidual},
    {1536, 384, Kind::kGelu, {3.2, 4.0, 8.9, 27.3, 101.5}},
    {384, 1536, Kind::kBias, {4.8, 5.7, 7.3, 18.0, 73.5}},
    {384, 1536, Kind::kResidual},
    {768, 768, Kind::kBias, {3.8, 4.0, 6.4, 19.1, 76.4}},
    {768, 768, Kind::kResidual},
    {2304, 768, Kind::kBias, {4.1, 6.2, 14.1, 52.2, 202.3}},
    {3072, 768, Kind::kGelu, {4.7, 7.2, 21.0, 75.1, 307.5}},
    {768, 3072, Kind::kResidual, {7.2, 9.5, 16.5, 66.4, 249.5}},
};

// Random numbers of magnitude 1/2 .. 1, cheaply: power and speed depend on the operands' bits.
void fill(HostTensor& tensor, uint64_t seed) {
  uint64_t x = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (size_t i = 0; i + 8 <= tensor.bytes.size(); i += 8) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    const uint64_t bits = tensor.dtype == DType::kF32 ? (x & 0x807fffff807fffffULL) | 0x3f0000003f000000ULL
                                                      : (x & 0x83ff83ff83ff83ffULL) | 0x3800380038003800ULL;
    std::memcpy(tensor.bytes.data() + i, &bits, 8);
  }
}

std::string text_of(const Product& p, const std::string& accumulation) {
  cuda::NestText text;
  text.accumulation = accumulation;
  text.n = p.n;
  text.k = p.k;
  return p.kind == Kind::kBias ? text.bias() : p.kind == Kind::kGelu ? text.gelu() : text.residual();
}

struct Candidate {
  Schedule schedule;
  size_t kernel;
};

Outcome measure(const KernelSet& kernels, const loop::LoopNest& nest,
                const std::vector<Candidate>& candidates, const Schedule& chosen, const Product& product,
                size_t size) {
  const int64_t rows = kRows[size];
  std::vector<HostTensor> tensors;
  for (const loop::Buffer& buffer : nest.buffers) {
    std::vector<int64_t> sizes;
    for (const SymInt& s : buffer.sizes) sizes.push_back(s.constant().value_or(rows));
    Result<HostTensor> tensor = make_host_tensor(buffer.dtype, sizes);
    if (!tensor) return {.failure = tensor.error().message};
    fill(*tensor, tensors.size() + 1);
    tensors.push_back(std::move(*tensor));
  }
  std::vector<HostTensor*> buffers;
  for (HostTensor& tensor : tensors) buffers.push_back(&tensor);
  const std::array<int64_t, 1> symbols = {rows};
  std::map<Schedule, double> best;
  // Rounds, so that what slows the GPU for a while does not hit one alone; copying much takes longer than it.
  for (int round = 0; round < (rows > 8192 ? 1 : 2); ++round)
    for (const Candidate& c : candidates) {
      const Result<double> us = kernels.time(c.kernel, symbols, buffers, 4);
      if (!us) return {.failure = c.schedule + ": " + us.error().message};
      const auto [it, added] = best.emplace(c.schedule, *us);
      if (!added) it->second = std::min(it->second, *us);
    }
  std::vector<std::pair<double, Schedule>> order;
  for (const auto& [schedule, us] : best) order.emplace_back(us, schedule);
  std::ranges::sort(order);
  const double us = best.at(chosen);
  std::string note =
      fmt::format("{} {:.1f} us, {:.0f} TFLOP/s, {:.2f} of the best;", chosen, us,
                  2e-6 * static_cast<double>(rows * product.n) * product.k / us, order.front().first / us);
  for (const auto& [time, schedule] : order) note += fmt::format(" {} {:.1f}", schedule.substr(5), time);
  if (product.prototype[size] > 0) note += fmt::format("; prototype {:.1f}", product.prototype[size]);
  return {.note = note};
}

}  // namespace

std::vector<GpuCase> gemm_speed_cases(GpuCheck& check) {
  std::vector<GpuCase> cases;
  const CodeGenerator& generator = check.kernels.generator();
  for (const Product& product : kProducts) {
    const Result<loop::LoopNest> nest =
        loop::parse_nest(text_of(product, generator.accumulation_class(DType::kF16)));
    const std::string label = fmt::format("{}x{} {}", product.n, product.k,
                                          product.kind == Kind::kBias   ? "bias"
                                          : product.kind == Kind::kGelu ? "gelu"
                                                                        : "residual");
    if (!nest || !generator.accepts(*nest)) {
      cases.push_back({label, [] { return Outcome{.failure = "the nest is not accepted"}; }});
      continue;
    }
    for (size_t size = 0; size < kRows.size(); ++size) {
      if (check.effort == 0 && kRows[size] > 2048) break;
      if (!check.takes()) continue;
      // Candidates are those for the hinted rows; the hint is no part of a kernel.
      loop::LoopNest hinted = *nest;
      hinted.symbols.front().hint = kRows[size];
      const Schedule chosen = generator.schedule_for(hinted, kRows[size]);
      std::vector<Schedule> schedules = generator.candidates(hinted);
      if (std::ranges::find(schedules, chosen) == schedules.end()) schedules.push_back(chosen);
      std::vector<Candidate> candidates;
      for (const Schedule& schedule : schedules)
        if (const Result<size_t> kernel = check.kernels.add(hinted, schedule))
          candidates.push_back({schedule, *kernel});
      cases.push_back({fmt::format("{}, {} rows", label, kRows[size]),
                       [&kernels = check.kernels, hinted, candidates, product, size, chosen] {
                         return measure(kernels, hinted, candidates, chosen, product, size);
                       }});
    }
  }
  return cases;
}

}  // namespace edge_infer::test
