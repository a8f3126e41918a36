// What people are told of stored code and programs, without a GPU or a driver.
#pragma once

#include "runtime/device/registry.h"

namespace edge_infer::cuda {

// As BackendInfo. The code's launch line, registers, spills and shared memory stand beside the cubin in its
// image.
Result<CodeFacts> code_facts(const KernelBlob& code);
// Errors: kUnsupported for a program that no device of this back end would bind.
Result<ProgramFacts> program_facts(const Program& program);

}  // namespace edge_infer::cuda
