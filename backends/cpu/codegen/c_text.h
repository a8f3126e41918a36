// C text of one kernel: how element types are named there and held in registers, and lines with their
// indentation.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/dtype.h"

namespace edge_infer::cpu_codegen {

// What values of an element type are computed as: f16 and bf16 as float, integers of less than 32 bits as i32
// in their own range, bool as 0 and 1 in scalars and as a mask of 0 and -1 in vectors.
enum class Lane { kF32, kF64, kI32, kI64, kBool };

constexpr Lane lane_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return Lane::kF64;
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      return Lane::kF32;
    case DType::kI64:
      return Lane::kI64;
    case DType::kBool:
      return Lane::kBool;
    default:
      return Lane::kI32;
  }
}
constexpr bool is_float(Lane lane) {
  return lane == Lane::kF32 || lane == Lane::kF64;
}
constexpr bool is_wide(Lane lane) {
  return lane == Lane::kF64 || lane == Lane::kI64;
}

std::string_view lane_name(Lane lane);      // "f32", suffix of the prelude's functions; bool is "b32"
std::string_view scalar_type(Lane lane);    // "float"
std::string_view vector_type(Lane lane);    // "f32x16"
std::string_view memory_type(DType dtype);  // "uint16_t" for bf16

// A literal that C reads back exactly, of the type's register form.
std::string number_literal(double value, Lane lane);
std::string integer_literal(int64_t value, Lane lane);

class Lines {
 public:
  explicit Lines(int depth = 0) : depth_(depth) {}
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    add(fmt::format(format, std::forward<Args>(args)...));
  }
  // A line that ends with `{`, and the one that ends it.
  template <typename... Args>
  void open(fmt::format_string<Args...> format, Args&&... args) {
    add(fmt::format(format, std::forward<Args>(args)...) + " {");
    ++depth_;
  }
  void open_block() {
    add("{");
    ++depth_;
  }
  void close(std::string_view after = "") {
    --depth_;
    add(fmt::format("}}{}", after));
  }
  std::string take() { return std::exchange(text_, {}); }

 private:
  void add(const std::string& line);
  std::string text_;
  int depth_ = 0;
};

}  // namespace edge_infer::cpu_codegen
