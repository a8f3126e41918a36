// One nest on one set of operands: the GPU's kernel against loop::evaluate.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/gpu/bound.h"
#include "tests/gpu/check.h"
#include "tests/gpu/kernel_set.h"

namespace edge_infer::test {

struct NestOperands {
  std::vector<int64_t> symbols;     // in the nest's order
  std::vector<HostTensor> buffers;  // in the nest's order; outputs poisoned
};

// `make` is called when the case runs. Adds the kernel of the nest to the set, whose compile() is the
// caller's.
GpuCase nest_case(KernelSet& kernels, std::string label, const loop::LoopNest& nest, const Schedule& schedule,
                  std::function<NestOperands()> make, const Bound& bound);

}  // namespace edge_infer::test
