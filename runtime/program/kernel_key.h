// KernelKey: everything that decides the bytes of a compiled kernel, each component by itself, so that a
// cache miss can say what differed. No name, path or attribute of a model is part of it: equal layers share
// kernels.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/error.h"

namespace edge_infer {

struct KernelKey {
  std::string target;       // "cpu.avx512"
  std::string features;     // instruction sets the code may use, sorted, "avx2,fma,..."
  std::string compiler;     // compiler and its build, "clang-19.1.7/edge-infer-cc-3"
  std::string generator;    // version of the code generator and kernel ABI, "cpu-c-1"
  std::string options;      // what else alters the code, "O2"
  std::string source_hash;  // BLAKE2b-256 of the source text, 64 hex digits
  friend bool operator==(const KernelKey&, const KernelKey&) = default;

  // One line, `target=...;features=...;...`: compared byte for byte on a hit.
  std::string text() const;
  // 32 hex digits of the text's BLAKE2b-256: what KernelRef::name is made of, "kernel:<id>".
  std::string id() const;
  // Errors: kInvalidArgument for text that text() does not write.
  static Result<KernelKey> parse(std::string_view text);
};

}  // namespace edge_infer
