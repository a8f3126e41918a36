// The canonical form behind SymInt (internal to runtime/symbolic).
//
// An expression is a polynomial over *atoms*: symbols, floor divisions, remainders, minima and maxima. A node
// is a constant, one atom, or a kSum of several terms. Sums are expanded (products distribute), terms are
// merged and sorted, so equal polynomials are equal nodes. What cannot be merged because a coefficient would
// overflow or the expansion would be too long stays an opaque kAdd or kMul atom, which prints in parentheses
// and parses to itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/symbolic/sym_int.h"

namespace edge_infer {

enum class SymKind : uint8_t { kConstant, kSymbol, kFloorDiv, kMod, kMin, kMax, kAdd, kMul, kSum };

struct SymTerm {
  int64_t coefficient = 0;
  std::vector<SymInt> factors;  // atoms in order, not empty, repeated for powers
};

struct SymNode {
  SymKind kind = SymKind::kConstant;
  int64_t constant = 0;      // kConstant; kSum: the constant term
  std::string name;          // kSymbol
  std::vector<SymInt> args;  // kFloorDiv, kMod: dividend, divisor; kMin, kMax, kAdd, kMul: operands in order
  std::vector<SymTerm> terms;  // kSum
  int64_t weight = 1;          // nodes of the expression written as a tree, saturated at kMaxWeight
  static constexpr int64_t kMaxWeight = int64_t{1} << 40;

  static SymInt make(SymNode node);  // computes the weight
  static const SymNode& of(const SymInt& e) { return *e.node_; }
  static bool same(const SymInt& a, const SymInt& b) { return a.node_ == b.node_; }
};

// Total order of expressions: symbols by name first, then by kind and structure. 0 exactly for equal ones.
int compare(const SymInt& a, const SymInt& b);

// An expression seen as constant + terms.
struct Polynomial {
  int64_t constant = 0;
  std::vector<SymTerm> terms;
};
Polynomial to_polynomial(const SymInt& e);
// From merged, sorted terms with coefficients other than 0.
SymInt from_polynomial(Polynomial p);
// Sorts and merges terms in any order; nullopt when a coefficient overflows or there are too many terms.
std::optional<Polynomial> merged(const std::vector<Polynomial>& parts);
// Each coefficient and the constant divided by `divisor` > 0, which divides the coefficients exactly and the
// constant rounding down.
Polynomial divided(Polynomial p, int64_t divisor);

// Exact arithmetic of the language; nullopt on overflow or division by zero. Division rounds down, and a
// remainder has the divisor's sign.
std::optional<int64_t> checked_add(int64_t a, int64_t b);
std::optional<int64_t> checked_mul(int64_t a, int64_t b);
std::optional<int64_t> checked_floordiv(int64_t a, int64_t b);
std::optional<int64_t> checked_mod(int64_t a, int64_t b);

}  // namespace edge_infer
