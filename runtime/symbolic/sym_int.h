// SymInt: an integer expression over named size symbols (s0, T, B, ...), as the sizes of tensors and buffers
// are. Immutable and cheap to copy. Expressions are kept in a canonical form (sums of coefficient * product,
// terms in a fixed order), so two expressions that the simplifier proves equal compare equal and print the
// same text. Arithmetic is int64; a result that would overflow makes evaluate() fail, never wrap. Divisors
// are taken to be other than 0: `(B*T)//T` is `B`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace edge_infer {

struct SymNode;  // sym_node.h

// Inclusive bounds of a symbol or expression.
struct SymRange {
  int64_t lo = 0;
  int64_t hi = INT64_MAX;
  friend bool operator==(const SymRange&, const SymRange&) = default;
};

// A size symbol as a graph or program declares it: `T in 1..16384 hint 128`.
struct Symbol {
  std::string name;
  SymRange range{1, INT64_MAX};
  int64_t hint = 1;
  friend bool operator==(const Symbol&, const Symbol&) = default;
};

class SymInt {
 public:
  SymInt() : SymInt(0) {}
  SymInt(int64_t constant);  // NOLINT: an int is a SymInt
  static SymInt symbol(std::string name);

  // Text: integers, identifiers, + - *, `a // b` (floor division), `a % b` (result has b's sign), min(a, b),
  // max(a, b), parentheses. Errors: kInvalidArgument with the position; kResourceExhausted beyond the limits
  // on length, nesting and expanded size. str() writes the canonical form without spaces (`B*T+2*(T//4)+1`);
  // it parses back to an equal expression.
  static Result<SymInt> parse(std::string_view text);
  std::string str() const;

  std::optional<int64_t> constant() const;   // the value, where no symbol is left
  std::vector<std::string> symbols() const;  // sorted, each once

  // Value under an assignment. Errors: kInvalidArgument for an unknown symbol, division by zero or overflow.
  Result<int64_t> evaluate(const std::map<std::string, int64_t, std::less<>>& values) const;
  // Conservative bounds from the symbols' ranges.
  SymRange range(std::span<const Symbol> symbols) const;
  SymInt substitute(const std::map<std::string, SymInt, std::less<>>& values) const;

  friend SymInt operator+(const SymInt& a, const SymInt& b);
  friend SymInt operator-(const SymInt& a, const SymInt& b);
  friend SymInt operator*(const SymInt& a, const SymInt& b);
  friend SymInt floordiv(const SymInt& a, const SymInt& b);
  friend SymInt mod(const SymInt& a, const SymInt& b);
  friend SymInt min(const SymInt& a, const SymInt& b);
  friend SymInt max(const SymInt& a, const SymInt& b);
  friend bool operator==(const SymInt& a, const SymInt& b);

  const SymNode& node() const { return *node_; }

 private:
  explicit SymInt(std::shared_ptr<const SymNode> node) : node_(std::move(node)) {}
  friend struct SymNode;
  std::shared_ptr<const SymNode> node_;
};

// ceil(a / b) for b > 0.
SymInt ceildiv(const SymInt& a, const SymInt& b);

// A SymInt flattened to postfix code over symbol *positions*: what the executor evaluates per call, without
// allocation. `symbols` gives the order of the values passed to evaluate().
class SymCode {
 public:
  static Result<SymCode> compile(const SymInt& expression, std::span<const Symbol> symbols);
  // Undefined symbols cannot occur; division by zero and overflow give INT64_MIN (the executor checks it
  // once).
  int64_t evaluate(std::span<const int64_t> values) const;

 private:
  struct Step {
    uint8_t op;
    int64_t argument;
  };
  std::vector<Step> steps_;
};

}  // namespace edge_infer
