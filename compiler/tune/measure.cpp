#include "compiler/tune/measure.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <map>

#include "runtime/base/aligned_bytes.h"

namespace edge_infer {
namespace {

// Numbers of order 1 that are no denormals: the time of arithmetic must not depend on them.
void fill_floats(std::span<std::byte> bytes) {
  uint32_t state = 1;
  for (size_t i = 0; i + sizeof(float) <= bytes.size(); i += sizeof(float)) {
    state = state * 1664525U + 1013904223U;
    const float value = static_cast<float>(state >> 8) * 0x1p-24F - 0.5F;
    std::memcpy(bytes.data() + i, &value, sizeof value);
  }
}

Result<int64_t> evaluate(const SymInt& size, const std::map<std::string, int64_t, std::less<>>& values) {
  EDGE_INFER_ASSIGN(const int64_t value, size.evaluate(values));
  if (value < 0 || value > (int64_t{1} << 40))
    return fail(ErrorCode::kResourceExhausted, "a size of {} is too large to measure", value);
  return value;
}

}  // namespace

Result<std::vector<double>> measure_candidates(const loop::LoopNest& nest,
                                               std::span<const LoadedKernel> candidates,
                                               std::span<const int64_t> symbols, size_t packed_bytes,
                                               const MeasureOptions& options) {
  std::map<std::string, int64_t, std::less<>> values;
  for (size_t s = 0; s < nest.symbols.size(); ++s) values[nest.symbols[s].name] = symbols[s];
  std::vector<AlignedBytes> memory;
  std::vector<void*> buffers;
  for (const loop::Buffer& buffer : nest.buffers) {
    size_t bytes = static_cast<size_t>(dtype_size(buffer.dtype));
    for (const SymInt& size : buffer.sizes) {
      EDGE_INFER_ASSIGN(const int64_t extent, evaluate(size, values));
      bytes *= static_cast<size_t>(extent);
    }
    if (buffer.access == loop::Access::kPacked) bytes = packed_bytes;
    memory.emplace_back(bytes + 64);
    std::memset(memory.back().bytes().data(), 0, memory.back().bytes().size());
    if (buffer.dtype == DType::kF32 && buffer.access != loop::Access::kIndex)
      fill_floats(memory.back().bytes());
    buffers.push_back(memory.back().bytes().data());
  }
  size_t scratch_bytes = 64;
  for (const LoadedKernel& k : candidates) scratch_bytes = std::max(scratch_bytes, k.scratch_bytes);
  AlignedBytes scratch(scratch_bytes);
  EDGE_INFER_ASSIGN(const int64_t rows, evaluate(nest.work().extent, values));
  int64_t columns = 1;
  if (const loop::AxisId axis = nest.split_columns(); axis >= 0) {
    EDGE_INFER_ASSIGN(columns, evaluate(nest.axis(axis).extent, values));
  }
  const KernelArgs args{buffers.data(), symbols.data()};
  std::vector<double> best(candidates.size(), std::numeric_limits<double>::infinity());
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t c = 0; c < candidates.size(); ++c) {
      const auto start = std::chrono::steady_clock::now();
      candidates[c].function(&args, 0, rows, 0, columns, scratch.bytes().data());
      const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
      best[c] = std::min(best[c], time.count());
    }
    if (options.is_cancelled && options.is_cancelled())
      return fail(ErrorCode::kCancelled, "measuring was cancelled");
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    if (round > 0 && spent.count() > options.max_seconds) break;
  }
  return best;
}

size_t choose_candidate(std::span<const double> nanoseconds, double margin) {
  size_t best = 0;
  for (size_t c = 1; c < nanoseconds.size(); ++c)
    if (nanoseconds[c] < nanoseconds[best]) best = c;
  return nanoseconds.empty() || nanoseconds[best] > nanoseconds[0] * (1 - margin) ? 0 : best;
}

}  // namespace edge_infer
