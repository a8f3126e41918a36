// Literals of C-like languages, which read back exactly, of the type that a value is computed as.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/codegen/c_family.h"
#include "compiler/loop/loop_nest.h"
#include "runtime/base/dtype.h"

namespace edge_infer::codegen {

// What differs from one language to the next.
struct LiteralStyle {
  std::string_view infinity_f32, infinity_f64;
  std::string_view nan_f32, nan_f64;
  std::string_view suffix_i64;
  std::string_view no, yes;  // of Lane::kBool
};

std::string number_literal(double value, Lane lane, const LiteralStyle& style);
std::string integer_literal(int64_t value, Lane lane, const LiteralStyle& style);
// What a reduction of elements of `dtype` begins with: 1 for kProd, the least value of the dtype for kMax...
std::string identity_literal(loop::ReduceOp op, DType dtype, const LiteralStyle& style);

}  // namespace edge_infer::codegen
