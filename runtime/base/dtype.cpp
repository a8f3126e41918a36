#include "runtime/base/dtype.h"

#include <array>

namespace edge_infer {
namespace {
constexpr std::array<std::string_view, 10> kNames = {"f32", "f64", "f16", "bf16", "i64",
                                                     "i32", "i16", "i8",  "u8",   "bool"};
}

std::string_view dtype_name(DType t) {
  return kNames[static_cast<size_t>(t)];
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<DType>(i);
  return std::nullopt;
}

}  // namespace edge_infer
