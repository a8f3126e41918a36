#include "backends/cuda/codegen/cuda_text.h"

#include "backends/cuda/codegen/embedded_sources.h"
#include "compiler/codegen/prelude_segments.h"

namespace edge_infer::cuda {

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
      return "bool";
  }
  return "";
}

std::string_view scalar_type(Lane lane) {
  switch (lane) {
    case Lane::kF32:
      return "float";
    case Lane::kF64:
      return "double";
    default:
      return lane_name(lane);
  }
}

std::string_view memory_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kF16:
    case DType::kBF16:
      return "u16";
    case DType::kBool:
      return "u8";
    default:
      return dtype_name(dtype);
  }
}

std::string select_prelude(std::string_view kernel) {
  static const codegen::PreludeSegments prelude(embedded_source("prelude.cu"));
  return prelude.select(kernel);
}

bool names(std::string_view text, std::string_view identifier) {
  bool found = false;
  codegen::for_each_identifier(text, [&](std::string_view word) { found = found || word == identifier; });
  return found;
}

}  // namespace edge_infer::cuda
