// What the printers of C-like sources share: how element types are held in registers, and lines with their
// indentation.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/dtype.h"

namespace edge_infer::codegen {

// What values of an element type are computed as: f16 and bf16 as float, integers of less than 32 bits as i32
// in their own range.
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

// Text of a function's body, line by line.
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
  void add(const std::string& line) {
    text_.append(static_cast<size_t>(depth_) * 2, ' ');
    text_ += line;
    text_ += '\n';
  }
  std::string text_;
  int depth_ = 0;
};

}  // namespace edge_infer::codegen
