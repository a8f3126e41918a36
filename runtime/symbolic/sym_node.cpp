#include "runtime/symbolic/sym_node.h"

#include <algorithm>
#include <utility>

namespace edge_infer {
namespace {

constexpr size_t kMaxTerms = 256;

int sign(bool less, bool greater) {
  return less ? -1 : greater ? 1 : 0;
}

int compare_all(const std::vector<SymInt>& a, const std::vector<SymInt>& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (const int c = compare(a[i], b[i]); c != 0) return c;
  return sign(a.size() < b.size(), a.size() > b.size());
}

// Higher degrees come first, so that `B*T+T+1` reads like a polynomial.
int compare_factors(const std::vector<SymInt>& a, const std::vector<SymInt>& b) {
  if (a.size() != b.size()) return a.size() > b.size() ? -1 : 1;
  return compare_all(a, b);
}

int compare_terms(const std::vector<SymTerm>& a, const std::vector<SymTerm>& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (const int c = compare_factors(a[i].factors, b[i].factors); c != 0) return c;
    if (a[i].coefficient != b[i].coefficient) return a[i].coefficient < b[i].coefficient ? -1 : 1;
  }
  return sign(a.size() < b.size(), a.size() > b.size());
}

}  // namespace

SymInt SymNode::make(SymNode node) {
  int64_t weight = 1;
  const auto add = [&](const SymInt& e) { weight = std::min(kMaxWeight, weight + of(e).weight); };
  for (const SymInt& arg : node.args) add(arg);
  for (const SymTerm& term : node.terms)
    for (const SymInt& factor : term.factors) add(factor);
  node.weight = weight;
  return SymInt(std::make_shared<const SymNode>(std::move(node)));
}

int compare(const SymInt& a, const SymInt& b) {
  if (SymNode::same(a, b)) return 0;
  const SymNode &x = a.node(), &y = b.node();
  if (x.kind != y.kind) return x.kind < y.kind ? -1 : 1;
  if (x.weight != y.weight) return x.weight < y.weight ? -1 : 1;
  if (x.constant != y.constant) return x.constant < y.constant ? -1 : 1;
  if (const int c = x.name.compare(y.name); c != 0) return c < 0 ? -1 : 1;
  if (const int c = compare_all(x.args, y.args); c != 0) return c;
  return compare_terms(x.terms, y.terms);
}

Polynomial to_polynomial(const SymInt& e) {
  const SymNode& node = e.node();
  if (node.kind == SymKind::kConstant) return {node.constant, {}};
  if (node.kind == SymKind::kSum) return {node.constant, node.terms};
  return {0, {SymTerm{1, {e}}}};
}

SymInt from_polynomial(Polynomial p) {
  if (p.terms.empty()) return SymInt(p.constant);
  if (p.constant == 0 && p.terms.size() == 1 && p.terms[0].coefficient == 1 && p.terms[0].factors.size() == 1)
    return p.terms[0].factors[0];
  SymNode node;
  node.kind = SymKind::kSum;
  node.constant = p.constant;
  node.terms = std::move(p.terms);
  return SymNode::make(std::move(node));
}

std::optional<Polynomial> merged(const std::vector<Polynomial>& parts) {
  __extension__ using Wide = __int128;
  const auto fits = [](Wide v) { return v >= INT64_MIN && v <= INT64_MAX; };
  Wide constant = 0;
  std::vector<const SymTerm*> terms;
  for (const Polynomial& part : parts) {
    constant += part.constant;
    for (const SymTerm& term : part.terms) terms.push_back(&term);
  }
  std::sort(terms.begin(), terms.end(),
            [](const SymTerm* a, const SymTerm* b) { return compare_factors(a->factors, b->factors) < 0; });
  if (!fits(constant)) return std::nullopt;
  Polynomial result{static_cast<int64_t>(constant), {}};
  for (size_t i = 0; i < terms.size();) {
    Wide coefficient = 0;
    size_t j = i;
    for (; j < terms.size() && compare_factors(terms[i]->factors, terms[j]->factors) == 0; ++j)
      coefficient += terms[j]->coefficient;
    if (!fits(coefficient)) return std::nullopt;
    if (coefficient != 0) result.terms.push_back({static_cast<int64_t>(coefficient), terms[i]->factors});
    i = j;
  }
  if (result.terms.size() > kMaxTerms) return std::nullopt;
  return result;
}

Polynomial divided(Polynomial p, int64_t divisor) {
  for (SymTerm& term : p.terms) term.coefficient /= divisor;
  p.constant = *checked_floordiv(p.constant, divisor);
  return p;
}

std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}

std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}

std::optional<int64_t> checked_floordiv(int64_t a, int64_t b) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

std::optional<int64_t> checked_mod(int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

}  // namespace edge_infer
