// Declarations in front of generated statements: only of what the statements name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/loop/loop_nest.h"

namespace edge_infer::cpu_codegen {

// Parts of the kernel's scratch one behind the other, each aligned to 64 bytes.
class ScratchLayout {
 public:
  explicit ScratchLayout(int64_t begin) : bytes_(begin) {}
  int64_t add(int64_t bytes) {
    const int64_t at = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return at;
  }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_;
};

bool names(std::string_view text, std::string_view identifier);
// The lines of `declarations` whose variable `text` names: each line is `  TYPE NAME = ...;`.
std::string only_used(std::string_view declarations, std::string_view text);
// "const float*", or without const where the kernel writes it.
std::string pointer_type(const loop::Buffer& buffer);
// Buffers and sizes that `body` names, as variables; `from` is "args->" or "c->" (KernelArgs' members).
std::string arguments_used(const loop::LoopNest& nest, std::string_view body, std::string_view from);
std::string local_from_scratch(const loop::LoopNest& nest, size_t local, int64_t offset);

}  // namespace edge_infer::cpu_codegen
