// C text of one kernel: how element types are named there and held in registers.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "compiler/codegen/c_family.h"
#include "compiler/codegen/literal.h"
#include "runtime/base/dtype.h"

namespace edge_infer::cpu_codegen {

// bool is held as 0 and 1 in scalars and as a mask of 0 and -1 in vectors.
using codegen::is_float;
using codegen::Lane;
using codegen::lane_of;
using codegen::Lines;
constexpr bool is_wide(Lane lane) {
  return lane == Lane::kF64 || lane == Lane::kI64;
}

std::string_view lane_name(Lane lane);      // "f32", suffix of the prelude's functions; bool is "b32"
std::string_view scalar_type(Lane lane);    // "float"
std::string_view vector_type(Lane lane);    // "f32x16"
std::string_view memory_type(DType dtype);  // "uint16_t" for bf16

inline constexpr codegen::LiteralStyle kLiterals{.infinity_f32 = "__builtin_inff()",
                                                 .infinity_f64 = "__builtin_inf()",
                                                 .nan_f32 = "__builtin_nanf(\"\")",
                                                 .nan_f64 = "__builtin_nan(\"\")",
                                                 .suffix_i64 = "l",
                                                 .no = "0",
                                                 .yes = "1"};
inline std::string number_literal(double value, Lane lane) {
  return codegen::number_literal(value, lane, kLiterals);
}
inline std::string integer_literal(int64_t value, Lane lane) {
  return codegen::integer_literal(value, lane, kLiterals);
}

}  // namespace edge_infer::cpu_codegen
