// Runs a nest's generated kernel and compares it with loop::evaluate.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/host_tensor.h"
#include "compiler/loop/loop_nest.h"

namespace edge_infer::testing {

// How this machine runs nests of bf16 products: a target that names the class after a plus sign,
// "cpu.avx2+bf16.f32".
std::vector<std::string> runnable_bf16_targets();

// Targets that this machine runs: "cpu.portable", and "cpu.avx2", "cpu.avx512" where it has them.
std::vector<std::string> runnable_targets();

struct NestCase {
  std::string text;
  std::vector<int64_t> symbols;
  // Replaces the random contents of buffers: index arrays, special numbers.
  std::function<void(std::vector<HostTensor>&)> fill{};
  // Of f32 results; other types have bounds of their own.
  double relative = 2e-5, absolute = 2e-6;
  std::string schedule{};
};

// For nests of a class "bf16" the targets are those of runnable_bf16_targets(), each with its own class.
// "" where for each target the kernel gives what evaluate gives, the same bits however rows and columns are
// split, and touches nothing but its buffers; else what is wrong.
std::string compare_with_evaluate(const NestCase& c);

// The kernel's outputs on one target, for tests that judge them by themselves.
struct KernelRun {
  std::vector<HostTensor> buffers;
  std::string source;
};
Result<KernelRun> run_kernel(const loop::LoopNest& nest, const std::string& target,
                             const std::string& schedule, const std::vector<int64_t>& symbols,
                             std::vector<HostTensor> buffers, int pieces);

}  // namespace edge_infer::testing
