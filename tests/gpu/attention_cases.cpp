#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/gpu/nest_case.h"
#include "tests/gpu/random_tensor.h"
#include "tests/gpu/sections.h"
#include "tests/support/cuda/attention_nests.h"

namespace edge_infer::test {
namespace {

using Lengths = std::vector<int64_t>;

const loop::Attention& attention_of(const loop::LoopNest& nest) {
  return std::get<loop::Attention>(std::get<loop::For>(nest.body.front().node).body.front().node);
}

NestOperands operands_of(const loop::LoopNest& nest, const Lengths& lengths, double scale, uint64_t seed) {
  const loop::Attention& a = attention_of(nest);
  std::mt19937_64 random(seed);
  NestOperands operands;
  std::vector<int64_t> offsets{0}, units;
  for (size_t s = 0; s < lengths.size(); ++s) {
    offsets.push_back(offsets.back() + lengths[s]);
    for (int64_t row = 0; row < lengths[s]; row += a.block_rows)
      units.insert(units.end(), {static_cast<int64_t>(s), row});
  }
  const int64_t rows = offsets.back(), count = static_cast<int64_t>(units.size()) / 2;
  operands.symbols = {rows, static_cast<int64_t>(lengths.size()), count};
  for (size_t b = 0; b < nest.buffers.size(); ++b) {
    const loop::Buffer& buffer = nest.buffers[b];
    const auto id = static_cast<int32_t>(b);
    if (id == a.cu)
      operands.buffers.push_back(
          integer_tensor(buffer.dtype, {static_cast<int64_t>(offsets.size())}, offsets));
    else if (id == a.units)
      operands.buffers.push_back(integer_tensor(buffer.dtype, {count, 2}, units));
    else if (id == a.out.buffer)
      operands.buffers.push_back(poisoned_tensor(buffer.dtype, {rows, a.out.row}));
    else
      operands.buffers.push_back(
          normal_tensor(buffer.dtype, {rows, *buffer.sizes[1].constant()}, scale, random));
  }
  return operands;
}

// Rows `begin`.. of all buffers that have rows, as a batch of one sequence.
NestOperands alone(const loop::LoopNest& nest, const NestOperands& batch, int64_t begin, int64_t rows) {
  NestOperands one = operands_of(nest, {rows}, 1, 0);
  const loop::Attention& a = attention_of(nest);
  for (const int32_t id : {a.q.buffer, a.k.buffer, a.v.buffer}) {
    const HostTensor& from = batch.buffers[static_cast<size_t>(id)];
    HostTensor& to = one.buffers[static_cast<size_t>(id)];
    const size_t row = from.bytes.size() / static_cast<size_t>(from.sizes[0]);
    std::copy_n(from.bytes.begin() + begin * static_cast<std::ptrdiff_t>(row), to.bytes.size(),
                to.bytes.begin());
  }
  return one;
}

std::vector<HostTensor*> pointers(std::vector<HostTensor>& tensors) {
  std::vector<HostTensor*> result;
  for (HostTensor& tensor : tensors) result.push_back(&tensor);
  return result;
}

// Each sequence alone gives the bits that it gives in the batch, whatever lies behind it.
Outcome check_invariance(const KernelSet& kernels, size_t kernel, const loop::LoopNest& nest,
                         const Lengths& lengths) {
  NestOperands batch = operands_of(nest, lengths, 1, 5);
  // A sequence whose values overflow must not reach its neighbours.
  const loop::Attention& a = attention_of(nest);
  HostTensor& v = batch.buffers[static_cast<size_t>(a.v.buffer)];
  const size_t row = v.bytes.size() / static_cast<size_t>(v.sizes[0]);
  const int64_t spoiled = 1, spoiled_at = lengths[0];
  std::fill_n(v.bytes.begin() + spoiled_at * static_cast<std::ptrdiff_t>(row),
              static_cast<size_t>(lengths[1]) * row, std::byte{0xFF});
  if (const Status status = kernels.run(kernel, batch.symbols, pointers(batch.buffers)); !status)
    return {.failure = status.error().message};
  const HostTensor& out = batch.buffers[static_cast<size_t>(a.out.buffer)];
  int64_t begin = 0;
  for (size_t s = 0; s < lengths.size(); begin += lengths[s++]) {
    if (static_cast<int64_t>(s) == spoiled) continue;
    NestOperands one = alone(nest, batch, begin, lengths[s]);
    if (const Status status = kernels.run(kernel, one.symbols, pointers(one.buffers)); !status)
      return {.failure = status.error().message};
    const HostTensor& got = one.buffers[static_cast<size_t>(a.out.buffer)];
    const size_t out_row = out.bytes.size() / static_cast<size_t>(out.sizes[0]);
    if (!std::equal(got.bytes.begin(), got.bytes.end(),
                    out.bytes.begin() + begin * static_cast<std::ptrdiff_t>(out_row)))
      return {.failure = fmt::format("sequence {} of {} rows has other bits alone", s, lengths[s])};
    for (const double x : got.to_doubles())
      if (!std::isfinite(x)) return {.failure = fmt::format("sequence {} is not finite", s)};
  }
  return {.note = "bits equal"};
}

Outcome time_uniform(const KernelSet& kernels, size_t kernel, const loop::LoopNest& nest, int64_t length,
                     int64_t tokens) {
  const loop::Attention& a = attention_of(nest);
  const Lengths lengths(static_cast<size_t>(tokens / length), length);
  NestOperands operands = operands_of(nest, lengths, 1, 3);
  const Result<double> us = kernels.time(kernel, operands.symbols, pointers(operands.buffers), 5);
  if (!us) return {.failure = us.error().message};
  const double flops = 4.0 * static_cast<double>(tokens * length * a.dim * a.heads);
  return {.note = fmt::format("{:.1f} us, {:.0f} TFLOP/s", *us, flops / *us / 1e6)};
}

}  // namespace

std::vector<GpuCase> attention_cases(GpuCheck& check) {
  struct Batch {
    const char* name;
    Lengths lengths;
  };
  Lengths small(40);
  std::iota(small.begin(), small.end(), 1);
  const std::vector<Batch> batches = {
      {"length 1", {1}},
      {"length 64", {64}},
      {"block borders", {65, 1, 63, 130, 64, 17, 128, 129}},
      {"lengths 1..40", small},
      {"long", {513, 2, 200, 333}},
  };
  std::vector<GpuCase> cases;
  for (const AttentionShape& shape : attention_shapes()) {
    const loop::LoopNest nest = attention_nest(shape);
    const Bound bound = attention_bound(shape.dtype, shape.out);
    for (const Batch& batch : batches) {
      if ((check.effort == 0 && batch.lengths.size() != 8) || !check.takes()) continue;
      cases.push_back(nest_case(
          check.kernels, fmt::format("{}, {}", shape.label(), batch.name), nest, {},
          [nest, lengths = batch.lengths] { return operands_of(nest, lengths, 1, 1); }, bound));
    }
    // Scores of a hundred: the running maximum moves by more than 2^8.
    if (check.takes())
      cases.push_back(nest_case(check.kernels, fmt::format("{}, large scores", shape.label()), nest, {},
                                [nest] { return operands_of(nest, {200, 70}, 4, 2); },
                                {bound.relative, 4 * bound.absolute, 4 * bound.rms}));
    if (!check.takes()) continue;
    if (const Result<size_t> kernel = check.kernels.add(nest))
      cases.push_back({fmt::format("{}, alone and in a batch", shape.label()),
                       [&kernels = check.kernels, kernel = *kernel, nest] {
                         return check_invariance(kernels, kernel, nest, {70, 33, 1, 128, 200});
                       }});
  }
  // The prototypes' measure: 32 k tokens, 12 heads.
  for (const int64_t dim : {32, 64, 128})
    for (const int64_t length : {128, 512}) {
      if (check.effort == 0 || (dim == 128 && length == 128)) continue;
      const loop::LoopNest nest = attention_nest({.dim = dim, .heads = 12, .kv_heads = 12});
      for (const Schedule& schedule : check.kernels.generator().candidates(nest)) {
        if (!check.takes()) continue;
        if (const Result<size_t> kernel = check.kernels.add(nest, schedule))
          cases.push_back({fmt::format("time of 12 heads of {}, length {}, {}", dim, length, schedule),
                           [&kernels = check.kernels, kernel = *kernel, nest, length] {
                             return time_uniform(kernels, kernel, nest, length, 32768);
                           }});
      }
    }
  return cases;
}

}  // namespace edge_infer::test
