// CUDA C++ text of one kernel: how element types are named there, literals that read back exactly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/codegen/c_family.h"
#include "runtime/base/dtype.h"

namespace edge_infer::cuda {

using codegen::is_float;
using codegen::Lane;
using codegen::lane_of;
using codegen::Lines;

std::string_view lane_name(Lane lane);      // "f32", "bool": suffix of the prelude's functions
std::string_view scalar_type(Lane lane);    // "float", "i64", "bool": in registers
std::string_view memory_type(DType dtype);  // "u16" for f16 and bf16, "u8" for bool

std::string number_literal(double value, Lane lane);
std::string integer_literal(int64_t value, Lane lane);

// The head of prelude.cu and those of its segments that `kernel` uses.
std::string select_prelude(std::string_view kernel);
// Whether `identifier` is a word of `text`.
bool names(std::string_view text, std::string_view identifier);

}  // namespace edge_infer::cuda
