// GuardSet: what must hold of a call's inputs for an entry to be valid, as a flat list of integer comparisons
// over a flattened view of the call (CallSignature). Checked in well under a microsecond; a failure names the
// guard, what was expected and found, and what made it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/error.h"

namespace edge_infer {

// One input tensor as guards see it. Memory is dense row-major.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kF32;
  std::span<const int64_t> sizes;
};

// Settings of a call that select an entry. The number of workers is an argument of kernels, never one of
// these.
struct CallSettings {
  enum class Precision : int64_t { kF32, kBF16, kF16 };
  Precision precision = Precision::kF32;
  bool deterministic = true;
  friend bool operator==(const CallSettings&, const CallSettings&) = default;
};

struct Guard {
  enum class Kind : uint8_t {
    kInputCount,  // number of inputs == value
    kDType,       // dtype of input == value
    kRank,        // rank of input == value
    kSizeEqual,   // size(input, dim) == value
    kSizeRange,   // value <= size(input, dim) <= upper
    kMultipleOf,  // size(input, dim) % value == 0
    kSameSize,    // size(input, dim) == size(other_input, other_dim) + value
    kAlignment,   // address of input % value == 0
    kPrecision,   // settings.precision == value
    kDeterministic,
  };
  Kind kind = Kind::kInputCount;
  uint8_t dim = 0, other_dim = 0;
  int16_t input = 0, other_input = 0;
  int64_t value = 0, upper = 0;
  friend bool operator==(const Guard&, const Guard&) = default;
};

class GuardSet {
 public:
  // `origin` says what made the guard: "input %ids", "node 12 aten.linear". Members that the guard's kind
  // does not use are set to 0.
  void add(const Guard& guard, std::string origin);
  size_t size() const { return guards_.size(); }
  std::span<const Guard> guards() const { return guards_; }
  const std::string& origin(size_t i) const { return origins_[i]; }

  // Index of the first guard that fails, or nothing. Guards are ordered so that each may rely on those before
  // it: rank guards stand before size guards of the same input. Never allocates.
  std::optional<size_t> first_failure(std::span<const TensorView> inputs, const CallSettings& settings) const;
  // "size(input 0, dim 0) in 1..16384 (input %ids): found 0": for explain and errors.
  std::string describe_failure(size_t guard, std::span<const TensorView> inputs,
                               const CallSettings& settings) const;
  std::string print_one(size_t i) const;  // "size(input 0, dim 0) in 1..16384"
  // One guard a line, with its origin as a comment: `rank(input 0) == 1  // "input %ids"`.
  std::string print() const;
  // An equal set from what print() wrote. Errors: kCorruption with line, found and expected, also for a set
  // that does not verify.
  static Result<GuardSet> parse(std::string_view text);
  // That first_failure() reads no input and no dimension that an earlier guard has not established, and
  // divides by no zero. Errors: kInternal.
  Status verify() const;
  friend bool operator==(const GuardSet&, const GuardSet&) = default;

 private:
  std::vector<Guard> guards_;  // apart from origins_, so that a check touches few cache lines
  std::vector<std::string> origins_;
};

}  // namespace edge_infer
