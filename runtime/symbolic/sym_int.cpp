#include "runtime/symbolic/sym_int.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

#include "runtime/symbolic/sym_node.h"

namespace edge_infer {
namespace {

SymInt make_atom(SymKind kind, std::vector<SymInt> args) {
  SymNode node;
  node.kind = kind;
  node.args = std::move(args);
  return SymNode::make(std::move(node));
}

SymInt make_opaque(SymKind kind, const SymInt& a, const SymInt& b) {
  return compare(a, b) <= 0 ? make_atom(kind, {a, b}) : make_atom(kind, {b, a});
}

bool precedes(const SymInt& a, const SymInt& b) {
  return compare(a, b) < 0;
}

std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b) {
  std::vector<Polynomial> parts;
  const auto push = [&](const SymTerm* x, int64_t cx, const SymTerm* y, int64_t cy) {
    const auto coefficient = checked_mul(cx, cy);
    if (!coefficient) return false;
    if (*coefficient == 0) return true;
    Polynomial part;
    SymTerm term{*coefficient, {}};
    static const std::vector<SymInt> none;
    const auto& left = x != nullptr ? x->factors : none;
    const auto& right = y != nullptr ? y->factors : none;
    std::merge(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(term.factors),
               precedes);
    if (term.factors.empty()) {
      part.constant = *coefficient;
    } else {
      part.terms.push_back(std::move(term));
    }
    parts.push_back(std::move(part));
    return true;
  };
  constexpr size_t kMaxProducts = 1024;
  if ((a.terms.size() + 1) * (b.terms.size() + 1) > kMaxProducts) return std::nullopt;
  if (!push(nullptr, a.constant, nullptr, b.constant)) return std::nullopt;
  for (const SymTerm& x : a.terms) {
    if (!push(&x, x.coefficient, nullptr, b.constant)) return std::nullopt;
    for (const SymTerm& y : b.terms)
      if (!push(&x, x.coefficient, &y, y.coefficient)) return std::nullopt;
  }
  for (const SymTerm& y : b.terms)
    if (!push(nullptr, a.constant, &y, y.coefficient)) return std::nullopt;
  return merged(parts);
}

// x - c*(x//c) and x%c are two names of one value. Where a sum holds k*rest*(x%c) and any multiple of
// rest*(x//c), the remainder is written out, so that c*(x//c) + x%c is x.
std::optional<Polynomial> recombined(Polynomial p) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < p.terms.size() && !changed; ++i) {
      const SymTerm term = p.terms[i];
      for (size_t f = 0; f < term.factors.size() && !changed; ++f) {
        const SymNode& node = term.factors[f].node();
        if (node.kind != SymKind::kMod) continue;
        SymTerm partner = term;
        partner.factors[f] = floordiv(node.args[0], node.args[1]);
        if (partner.factors[f].node().kind != SymKind::kFloorDiv) continue;
        std::sort(partner.factors.begin(), partner.factors.end(), precedes);
        const auto equal_factors = [&](const SymTerm& other) { return other.factors == partner.factors; };
        if (std::none_of(p.terms.begin(), p.terms.end(), equal_factors)) continue;
        SymInt rest = term.coefficient;
        for (size_t g = 0; g < term.factors.size(); ++g)
          if (g != f) rest = rest * term.factors[g];
        const auto whole = product(to_polynomial(rest), to_polynomial(node.args[0]));
        const auto divisor = product(to_polynomial(SymInt(-1) * node.args[1]), {0, {partner}});
        if (!whole || !divisor) continue;
        Polynomial others = p;
        others.terms.erase(others.terms.begin() + static_cast<std::ptrdiff_t>(i));
        const auto next = merged({others, *whole, *divisor});
        if (!next) continue;
        p = *next;
        changed = true;
      }
    }
  }
  return p;
}

// The quotient where the single term `b` divides every term of `a`.
std::optional<Polynomial> quotient_by_term(const Polynomial& a, const Polynomial& b) {
  if (b.constant != 0 || b.terms.size() != 1 || a.constant != 0) return std::nullopt;
  Polynomial result;
  for (SymTerm term : a.terms) {
    for (const SymInt& factor : b.terms[0].factors) {
      const auto found = std::find(term.factors.begin(), term.factors.end(), factor);
      if (found == term.factors.end()) return std::nullopt;
      term.factors.erase(found);
    }
    if (checked_mod(term.coefficient, b.terms[0].coefficient) != 0) return std::nullopt;
    const auto coefficient = checked_floordiv(term.coefficient, b.terms[0].coefficient);
    if (!coefficient) return std::nullopt;
    term.coefficient = *coefficient;
    if (term.factors.empty()) {
      result.constant = term.coefficient;
    } else {
      result.terms.push_back(std::move(term));
    }
  }
  return merged({result});
}

int64_t common_divisor(const Polynomial& p, int64_t start) {
  int64_t g = start;
  for (const SymTerm& term : p.terms) {
    if (term.coefficient == INT64_MIN) return 1;
    g = std::gcd(g, term.coefficient);
  }
  return g;
}

// a // c for c > 1: terms that c divides leave the division, and common factors are cancelled.
SymInt floordiv_by_constant(const SymInt& a, int64_t c) {
  Polynomial inside = to_polynomial(a), outside;
  outside.constant = *checked_floordiv(inside.constant, c);
  inside.constant = *checked_mod(inside.constant, c);
  std::erase_if(inside.terms, [&](const SymTerm& term) {
    if (term.coefficient % c != 0) return false;
    outside.terms.push_back({term.coefficient / c, term.factors});
    return true;
  });
  if (inside.terms.empty()) return from_polynomial(std::move(outside));
  if (!outside.terms.empty() || outside.constant != 0)
    return from_polynomial(std::move(outside)) + floordiv_by_constant(from_polynomial(std::move(inside)), c);
  if (const int64_t g = common_divisor(inside, c); g > 1)
    return floordiv(from_polynomial(divided(std::move(inside), g)), c / g);
  // (x // d + k) // c = (x + k*d) // (c*d)
  if (inside.terms.size() == 1 && inside.terms[0].coefficient == 1 && inside.terms[0].factors.size() == 1) {
    const SymNode& node = inside.terms[0].factors[0].node();
    if (node.kind == SymKind::kFloorDiv) {
      const auto d = node.args[1].constant();
      const auto product = d && *d > 0 ? checked_mul(*d, c) : std::nullopt;
      const auto shift = d ? checked_mul(*d, inside.constant) : std::nullopt;
      if (product && shift) return floordiv(node.args[0] + SymInt(*shift), *product);
    }
  }
  return make_atom(SymKind::kFloorDiv, {from_polynomial(std::move(inside)), SymInt(c)});
}

// a % c for c > 1: coefficients are reduced, and common factors come out.
SymInt mod_by_constant(const SymInt& a, int64_t c) {
  Polynomial p = to_polynomial(a);
  p.constant = *checked_mod(p.constant, c);
  for (SymTerm& term : p.terms) term.coefficient = *checked_mod(term.coefficient, c);
  std::erase_if(p.terms, [](const SymTerm& term) { return term.coefficient == 0; });
  if (p.terms.empty()) return SymInt(p.constant);
  if (const int64_t g = common_divisor(p, c); g > 1) {
    const int64_t rest = p.constant % g;
    return SymInt(g) * mod(from_polynomial(divided(std::move(p), g)), c / g) + SymInt(rest);
  }
  return make_atom(SymKind::kMod, {from_polynomial(std::move(p)), SymInt(c)});
}

// a - b where both have the same terms.
std::optional<int64_t> constant_difference(const SymInt& a, const SymInt& b) {
  // Without a subtraction: an atom or a constant is never a sum of the same terms as another atom.
  const auto is_sum = [](const SymInt& e) {
    return e.node().kind == SymKind::kSum || e.constant().has_value();
  };
  if (!is_sum(a) && !is_sum(b)) return a == b ? std::optional<int64_t>(0) : std::nullopt;
  if (std::max(a.node().terms.size(), size_t{1}) != std::max(b.node().terms.size(), size_t{1}))
    return std::nullopt;
  return (a - b).constant();
}

SymInt extremum(SymKind kind, const SymInt& a, const SymInt& b) {
  const auto operands = [kind](const SymInt& e) {
    return e.node().kind == kind ? e.node().args : std::vector{e};
  };
  // Of two operands that differ by a constant only one can be the result.
  std::vector<SymInt> kept = operands(a);
  for (const SymInt& arg : operands(b)) {
    bool dominated = false;
    for (SymInt& other : kept) {
      const auto difference = constant_difference(arg, other);
      if (!difference) continue;
      dominated = true;
      if (kind == SymKind::kMin ? *difference < 0 : *difference > 0) other = arg;
      break;
    }
    if (!dominated) kept.push_back(arg);
  }
  if (kept.size() == 1) return kept[0];
  std::sort(kept.begin(), kept.end(), precedes);
  return make_atom(kind, std::move(kept));
}

void collect_symbols(const SymInt& e, std::set<std::string>& names) {
  const SymNode& node = e.node();
  if (node.kind == SymKind::kSymbol) names.insert(node.name);
  for (const SymInt& arg : node.args) collect_symbols(arg, names);
  for (const SymTerm& term : node.terms)
    for (const SymInt& factor : term.factors) collect_symbols(factor, names);
}

SymInt combine(SymKind kind, const SymInt& a, const SymInt& b) {
  switch (kind) {
    case SymKind::kFloorDiv:
      return floordiv(a, b);
    case SymKind::kMod:
      return mod(a, b);
    case SymKind::kMin:
      return min(a, b);
    case SymKind::kMax:
      return max(a, b);
    case SymKind::kMul:
      return a * b;
    default:
      return a + b;
  }
}

}  // namespace

SymInt::SymInt(int64_t constant) {
  SymNode node;
  node.constant = constant;
  node_ = std::make_shared<const SymNode>(std::move(node));
}

SymInt SymInt::symbol(std::string name) {
  SymNode node;
  node.kind = SymKind::kSymbol;
  node.name = std::move(name);
  return SymNode::make(std::move(node));
}

std::optional<int64_t> SymInt::constant() const {
  if (node_->kind != SymKind::kConstant) return std::nullopt;
  return node_->constant;
}

std::vector<std::string> SymInt::symbols() const {
  std::set<std::string> names;
  collect_symbols(*this, names);
  return {names.begin(), names.end()};
}

SymInt SymInt::substitute(const std::map<std::string, SymInt, std::less<>>& values) const {
  const SymNode& node = *node_;
  switch (node.kind) {
    case SymKind::kConstant:
      return *this;
    case SymKind::kSymbol: {
      const auto found = values.find(node.name);
      return found != values.end() ? found->second : *this;
    }
    case SymKind::kSum: {
      SymInt sum = node.constant;
      for (const SymTerm& term : node.terms) {
        SymInt value = term.coefficient;
        for (const SymInt& factor : term.factors) value = value * factor.substitute(values);
        sum = sum + value;
      }
      return sum;
    }
    default: {
      SymInt result = node.args[0].substitute(values);
      for (size_t i = 1; i < node.args.size(); ++i)
        result = combine(node.kind, result, node.args[i].substitute(values));
      return result;
    }
  }
}

SymInt operator+(const SymInt& a, const SymInt& b) {
  auto sum = merged({to_polynomial(a), to_polynomial(b)});
  if (sum) sum = recombined(*std::move(sum));
  return sum ? from_polynomial(*std::move(sum)) : make_opaque(SymKind::kAdd, a, b);
}

SymInt operator*(const SymInt& a, const SymInt& b) {
  auto result = product(to_polynomial(a), to_polynomial(b));
  if (result) result = recombined(*std::move(result));
  return result ? from_polynomial(*std::move(result)) : make_opaque(SymKind::kMul, a, b);
}

SymInt operator-(const SymInt& a, const SymInt& b) {
  return a + SymInt(-1) * b;
}

SymInt floordiv(const SymInt& a, const SymInt& b) {
  if (const auto c = b.constant()) {
    if (const auto value = a.constant())
      if (const auto quotient = checked_floordiv(*value, *c)) return SymInt(*quotient);
    if (*c == 1) return a;
    if (*c > 1) return floordiv_by_constant(a, *c);
  } else {
    if (a.constant() == 0) return 0;
    if (a == b) return 1;
    if (auto quotient = quotient_by_term(to_polynomial(a), to_polynomial(b)))
      return from_polynomial(*std::move(quotient));
  }
  return make_atom(SymKind::kFloorDiv, {a, b});
}

SymInt mod(const SymInt& a, const SymInt& b) {
  if (const auto c = b.constant()) {
    if (const auto value = a.constant())
      if (const auto remainder = checked_mod(*value, *c)) return SymInt(*remainder);
    if (*c == 1 || *c == -1) return 0;
    if (*c > 1) return mod_by_constant(a, *c);
  } else if (a.constant() == 0 || a == b || quotient_by_term(to_polynomial(a), to_polynomial(b))) {
    return 0;
  }
  return make_atom(SymKind::kMod, {a, b});
}

SymInt min(const SymInt& a, const SymInt& b) {
  return extremum(SymKind::kMin, a, b);
}
SymInt max(const SymInt& a, const SymInt& b) {
  return extremum(SymKind::kMax, a, b);
}
bool operator==(const SymInt& a, const SymInt& b) {
  return compare(a, b) == 0;
}

SymInt ceildiv(const SymInt& a, const SymInt& b) {
  return floordiv(a + b - SymInt(1), b);
}

}  // namespace edge_infer
