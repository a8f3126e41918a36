// GateVerdict: what a precision below fp32 showed against fp32 on a model's sample, before it was allowed to
// serve that model (compiler/precision_gate.h). Kept in the cache; no row that fails is ever served.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/error.h"

namespace edge_infer {

struct GateVerdict {
  DType type = DType::kF16;  // what products round their operands to: f16 or bf16
  double bound = 1;          // the lowest cosine that passes
  // A row is one vector of the outputs; `..._at` says of which input: "sequence 3, 16 tokens".
  int64_t rows = 0;          // finite in fp32, so compared
  int64_t broken_rows = 0;   // not finite in fp32: the weights' own fault, no precision's
  double lowest_cosine = 1;  // of the compared rows that are finite
  std::string lowest_at;
  int64_t not_finite = 0;     // compared rows with NaN or infinity
  std::string not_finite_at;  // the first
  std::string refused;        // why no program of this precision could be made ready; nothing was compared
  friend bool operator==(const GateVerdict&, const GateVerdict&) = default;

  bool passes() const { return refused.empty() && not_finite == 0 && lowest_cosine >= bound; }
  // "fp16 passed: 8 vectors, bound 0.9999, lowest cosine 0.9999976 (sequence 3, 16 tokens)"
  std::string describe() const;
};

// What the gate decided for an entry.
struct PrecisionRecord {
  DType asked = DType::kF32;
  bool named = false;  // by the user
  DType served = DType::kF32;
  std::vector<GateVerdict> tried{};  // in order; empty where nothing had to be judged
  // "fp16 was asked for (by default or auto), bf16 serves; fp16 failed: ...; bf16 passed: ..."
  std::string describe() const;
};

// "fp32", "fp16", "bf16".
std::string_view precision_name(DType type);

// One line.
std::string print_verdict(const GateVerdict& verdict);
// Errors: kCorruption.
Result<GateVerdict> parse_verdict(std::string_view text);

}  // namespace edge_infer
