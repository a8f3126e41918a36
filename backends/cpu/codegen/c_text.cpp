#include "backends/cpu/codegen/c_text.h"

namespace edge_infer::cpu_codegen {

std::string_view lane_name(Lane lane) {
  switch (lane) {
    case Lane::kF32:
      return "f32";
    case Lane::kF64:
      return "f64";
    case Lane::kI32:
      return "i32";
    case Lane::kI64:
      return "i64";
    case Lane::kBool:
      return "b32";
  }
  return "";
}

std::string_view scalar_type(Lane lane) {
  switch (lane) {
    case Lane::kF32:
      return "float";
    case Lane::kF64:
      return "double";
    case Lane::kI64:
      return "int64_t";
    default:
      return "int32_t";
  }
}

std::string_view vector_type(Lane lane) {
  switch (lane) {
    case Lane::kF32:
      return "f32x16";
    case Lane::kF64:
      return "f64x16";
    case Lane::kI32:
      return "i32x16";
    case Lane::kI64:
      return "i64x16";
    case Lane::kBool:
      return "b32x16";
  }
  return "";
}

std::string_view memory_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kF16:
    case DType::kBF16:
      return "uint16_t";
    case DType::kI64:
      return "int64_t";
    case DType::kI32:
      return "int32_t";
    case DType::kI16:
      return "int16_t";
    case DType::kI8:
      return "int8_t";
    case DType::kU8:
    case DType::kBool:
      return "uint8_t";
  }
  return "";
}

}  // namespace edge_infer::cpu_codegen
