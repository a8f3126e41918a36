// The prebuilt kernels by instruction set and name. Kernels are pure functions: any thread may call any of
// them.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "runtime/program/kernel_abi.h"

namespace edge_infer {

struct PrebuiltKernel {
  std::string_view name;  // "<op>.<dtype>", without "prebuilt:"
  KernelFn function = nullptr;
  size_t scratch_bytes = 0;  // per worker, for any shape
};

enum class Isa { kPortable, kAvx2, kAvx512 };

// "portable", "avx2", "avx512".
std::string_view isa_name(Isa isa);
// The set that `best_isa()` names.
Isa selected_isa();
// Whether this build has the set and this processor can run it, whatever $EDGE_INFER_ISA says.
bool isa_runs_here(Isa isa);

// nullptr when the set has no such kernel. `name` may begin with "prebuilt:". Linear in nothing: a hash
// lookup.
const PrebuiltKernel* find_prebuilt(Isa isa, std::string_view name);
// Every kernel of the set, file by file.
std::span<const PrebuiltKernel> prebuilt_kernels(Isa isa);

}  // namespace edge_infer
