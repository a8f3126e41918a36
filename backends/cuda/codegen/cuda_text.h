// CUDA C++ text of one kernel: how element types are named there, literals that read back exactly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/codegen/c_family.h"
#include "compiler/codegen/literal.h"
#include "runtime/base/dtype.h"

namespace edge_infer::cuda {

using codegen::is_float;
using codegen::Lane;
using codegen::lane_of;
using codegen::Lines;

std::string_view lane_name(Lane lane);      // "f32", "bool": suffix of the prelude's functions
std::string_view scalar_type(Lane lane);    // "float", "i64", "bool": in registers
std::string_view memory_type(DType dtype);  // "u16" for f16 and bf16, "u8" for bool

inline constexpr codegen::LiteralStyle kLiterals{.infinity_f32 = "__int_as_float(0x7f800000)",
                                                 .infinity_f64 = "__longlong_as_double(0x7ff0000000000000ll)",
                                                 .nan_f32 = "__int_as_float(0x7fffffff)",
                                                 .nan_f64 = "__longlong_as_double(0x7ff8000000000000ll)",
                                                 .suffix_i64 = "ll",
                                                 .no = "false",
                                                 .yes = "true"};
inline std::string number_literal(double value, Lane lane) {
  return codegen::number_literal(value, lane, kLiterals);
}
inline std::string integer_literal(int64_t value, Lane lane) {
  return codegen::integer_literal(value, lane, kLiterals);
}

// The head of prelude.cu and those of its segments that `kernel` uses.
std::string select_prelude(std::string_view kernel);
// Whether `identifier` is a word of `text`.
bool names(std::string_view text, std::string_view identifier);

}  // namespace edge_infer::cuda
