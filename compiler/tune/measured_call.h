// A nest as a call to be measured: sizes of a row class, buffers of these sizes, and sequences for attention.
#pragma once

#include "compiler/codegen/code_generator.h"
#include "compiler/loop/loop_nest.h"
#include "runtime/device/device.h"
#include "runtime/device/measure.h"

namespace edge_infer {

// `rows`: the most rows of the class (CodeGenerator::row_classes()); beyond the last class, INT64_MAX, a call
// of Target::pack_tokens. 0: the nest's hints, at least 128. Attention gets one sequence up to 512 rows, then
// sequences of mixed lengths up to 512; buffers that address others are zero otherwise. Errors:
// kInvalidArgument (a size without a value), kResourceExhausted, kUnsupported (attention over other sizes
// than packed sequences have).
Result<MeasuredCall> measured_call(const loop::LoopNest& nest, int64_t rows, const Device& device,
                                   const CodeGenerator& generator);

}  // namespace edge_infer
