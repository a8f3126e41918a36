// Runs a nest's generated kernel and compares it with loop::evaluate.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/host_tensor.h"
#include "compiler/loop/loop_nest.h"
#include "tests/kernels/nest_case.h"

namespace edge_infer::testing {

// How this machine runs nests of bf16 products: a target that names the class after a plus sign,
// "cpu.avx2+bf16.f32".
std::vector<std::string> runnable_bf16_targets();

// Targets that this machine runs: "cpu.portable", and "cpu.avx2", "cpu.avx512" where it has them.
std::vector<std::string> runnable_targets();

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
