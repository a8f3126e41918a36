#include "backends/cuda/codegen/plain_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/codegen/hold_rows.h"
#include "backends/cuda/codegen/kernel_text.h"
#include "backends/cuda/codegen/nest_plan.h"
#include "backends/cuda/codegen/nest_printer.h"

namespace edge_infer::cuda {
namespace {

// What a kernel needs besides held elements: addresses, values, vectors on their way.
constexpr int kOwnRegisters = 32;
// Registers are given to threads in units of eight.
constexpr int kRegisterUnit = 8;

// CTAs whose threads' registers an SM has room for, by estimate.
int blocks_in_registers(const loop::LoopNest& nest, const NestPlan& plan) {
  const int needed = kOwnRegisters + held_registers(nest, plan);
  const int given =
      std::min((needed + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit, kRegistersPerThread);
  return kRegistersPerSm / (plan.threads * given);
}

CudaLaunch launch_of(const loop::LoopNest& nest, const NestPlan& plan, const CudaTarget& target) {
  CudaLaunch launch{.threads = plan.threads, .waits = target.has_pdl};
  launch.shared_bytes = static_cast<int32_t>(plan.row_shared_bytes * plan.rows_per_block());
  launch.blocks_per_sm = std::clamp(target.threads_per_sm / plan.threads, 1, 32);
  if (plan.rows) launch.blocks_per_sm = std::clamp(blocks_in_registers(nest, plan), 1, launch.blocks_per_sm);
  if (launch.shared_bytes > 0)
    launch.blocks_per_sm = std::clamp(target.shared_bytes / launch.shared_bytes, 1, launch.blocks_per_sm);
  if (plan.rows) {
    launch.tile_rows = plan.rows_per_block();
  } else if (plan.columns < 0) {
    launch.tile_rows = plan.threads;
  } else {
    const loop::Axis& columns = nest.axis(plan.columns);
    const int64_t elements = int64_t{plan.threads} * plan.spread(plan.columns).vector;
    const auto width = (columns.extent - columns.begin).constant();
    launch.tile_columns = width ? std::clamp<int64_t>(*width, 1, elements) : elements;
    launch.tile_rows = elements / launch.tile_columns;
  }
  return launch;
}

}  // namespace

// hold_rows() has a plan for what it changes.
Status accepts_plain(const loop::LoopNest& nest, const CudaTarget& target) {
  if (const auto plan = plan_nest(nest, target); !plan) return std::unexpected(plan.error());
  return {};
}

Result<std::string> plain_kernel(const loop::LoopNest& given, const CudaTarget& target) {
  const loop::LoopNest nest = hold_rows(given, target);
  EDGE_INFER_ASSIGN(const NestPlan plan, plan_nest(nest, target));
  const std::string body = NestPrinter(nest, plan).print();
  const std::string kernel =
      fmt::format("extern \"C\" __global__ void __launch_bounds__({}) k({}) {{\n{}{}{}{}}}\n", plan.threads,
                  kernel_parameters(nest), launch_dependents_line(target), size_lines(nest, body),
                  wait_line(target), body);
  return assemble_source(launch_of(nest, plan, target), kernel);
}

}  // namespace edge_infer::cuda
