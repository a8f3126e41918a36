// Conversions between element types, in memory and in registers.
#include "backends/cuda/codegen/expr_printer.h"

namespace edge_infer::cuda {

std::string ExprPrinter::loaded(DType dtype, const std::string& text) {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
      return fmt::format("f32_from_{}({})", dtype_name(dtype), text);
    case DType::kBool:
      return text + " != 0";
    default:
      return text;
  }
}

std::string ExprPrinter::stored_text(DType dtype, const std::string& text) {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
      return fmt::format("{}_from_f32({})", dtype_name(dtype), text);
    case DType::kI16:
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return fmt::format("({})({})", memory_type(dtype), text);
    default:
      return text;
  }
}

std::string ExprPrinter::cast(const std::string& x, DType from, DType to) {
  if (from == to) return x;
  const Lane source = lane_of(from), target = lane_of(to);
  if (to == DType::kBool) return fmt::format("{} != 0", x);
  if (to == DType::kF16 || to == DType::kBF16) {
    // Nearest even, once.
    const bool wide = source == Lane::kF64 || source == Lane::kI64 || from == DType::kI32;
    const std::string number = source == Lane::kF32 ? x
                               : wide               ? fmt::format("odd_f32_from_f64((double){})", x)
                                                    : fmt::format("(float){}", x);
    const bool exact = from == DType::kBool || ((from == DType::kI8 || from == DType::kU8));
    return exact ? number : fmt::format("round_to_{}({})", dtype_name(to), number);
  }
  if (!is_float(source) || is_float(target)) {
    const std::string value = source == target ? x : fmt::format("({}){}", scalar_type(target), x);
    const bool narrow = to == DType::kI16 || to == DType::kI8 || to == DType::kU8;
    return narrow && from != DType::kBool ? fmt::format("(i32)({})({})", dtype_name(to), value) : value;
  }
  const std::string number = fmt::format("{}_from_{}({})", lane_name(target), lane_name(source), x);
  switch (to) {
    case DType::kI16:
      return fmt::format("clamp_i32({}, -32768, 32767)", number);
    case DType::kI8:
      return fmt::format("clamp_i32({}, -128, 127)", number);
    case DType::kU8:
      return fmt::format("clamp_i32({}, 0, 255)", number);
    default:
      return number;
  }
}

}  // namespace edge_infer::cuda
