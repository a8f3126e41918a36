// A host tensor as evaluate() reads and writes it: elements widened to double or int64, one at a time.
#pragma once

#include <cstring>
#include <vector>

#include "compiler/graph/host_tensor.h"

namespace edge_infer::loop {

// A register: the double of a floating type, else the integer.
union Cell {
  double number;
  int64_t integer = 0;
};

class TensorView {
 public:
  explicit TensorView(HostTensor& tensor) : tensor_(&tensor), count_(tensor.elements()) {
    if (is_half()) widened_ = tensor.to_doubles();
  }

  int64_t count() const { return count_; }
  DType dtype() const { return tensor_->dtype; }
  bool contains(int64_t index) const { return index >= 0 && index < count_; }

  Cell load(int64_t index) const {
    switch (tensor_->dtype) {
      case DType::kF32:
        return {.number = read<float>(index)};
      case DType::kF64:
        return {.number = read<double>(index)};
      case DType::kF16:
      case DType::kBF16:
        return {.number = widened_[static_cast<size_t>(index)]};
      case DType::kI64:
        return {.integer = read<int64_t>(index)};
      case DType::kI32:
        return {.integer = read<int32_t>(index)};
      case DType::kI16:
        return {.integer = read<int16_t>(index)};
      case DType::kI8:
        return {.integer = read<int8_t>(index)};
      case DType::kU8:
        return {.integer = read<uint8_t>(index)};
      case DType::kBool:
        return {.integer = read<uint8_t>(index) != 0 ? 1 : 0};
    }
    return {};
  }

  // `value` is of the tensor's type but for rounding.
  void store(int64_t index, Cell value) {
    switch (tensor_->dtype) {
      case DType::kF32:
        return write(index, static_cast<float>(value.number));
      case DType::kF64:
        return write(index, value.number);
      case DType::kF16:
      case DType::kBF16:
        widened_[static_cast<size_t>(index)] = value.number;
        changed_ = true;
        return;
      case DType::kI64:
        return write(index, value.integer);
      case DType::kI32:
        return write(index, static_cast<int32_t>(value.integer));
      case DType::kI16:
        return write(index, static_cast<int16_t>(value.integer));
      case DType::kI8:
        return write(index, static_cast<int8_t>(value.integer));
      case DType::kU8:
      case DType::kBool:
        return write(index, static_cast<uint8_t>(value.integer));
    }
  }
  // Rounds what was stored into halves; call once, at the end.
  void finish() {
    if (changed_) tensor_->store(widened_);
  }

 private:
  bool is_half() const { return tensor_->dtype == DType::kF16 || tensor_->dtype == DType::kBF16; }
  template <typename T>
  T read(int64_t index) const {
    T value;
    std::memcpy(&value, tensor_->bytes.data() + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return value;
  }
  template <typename T>
  void write(int64_t index, T value) {
    std::memcpy(tensor_->bytes.data() + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
  }

  HostTensor* tensor_;
  int64_t count_ = 0;
  std::vector<double> widened_;  // f16 and bf16
  bool changed_ = false;
};

}  // namespace edge_infer::loop
