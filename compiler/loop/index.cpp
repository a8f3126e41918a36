#include "compiler/loop/index.h"

#include <algorithm>

#include "compiler/graph/op_table.h"
#include "runtime/symbolic/sym_node.h"

namespace edge_infer::loop {
namespace {

// Bounds::mod would hide it.
SymInt remainder_of(const SymInt& a, const SymInt& b) {
  return mod(a, b);
}

SymInt term_of(SymTerm term) {
  return from_polynomial({0, {std::move(term)}});
}

// e as divisor * quotient + rest, with every term in the quotient that the divisor divides.
struct Division {
  SymInt quotient, rest;
};
Division divide_terms(const SymInt& e, const SymInt& divisor) {
  const Polynomial p = to_polynomial(e);
  Division d;
  const auto constant = divisor.constant();
  if (constant) {
    d.quotient = *checked_floordiv(p.constant, *constant);
    d.rest = *checked_mod(p.constant, *constant);
  } else {
    d.rest = p.constant;
  }
  for (const SymTerm& term : p.terms) {
    const SymInt whole = term_of(term);
    if (constant && term.coefficient % *constant != 0) {
      d.rest = d.rest + whole;
      continue;
    }
    const SymInt quotient = floordiv(whole, divisor);
    if (quotient * divisor == whole) {
      d.quotient = d.quotient + quotient;
    } else {
      d.rest = d.rest + whole;
    }
  }
  return d;
}

int64_t wrapped(int64_t dim, int64_t rank) {
  return dim < 0 ? dim + rank : dim;
}

}  // namespace

void Bounds::add(const std::string& name, SymInt lo, SymInt hi) {
  names_[name] = {std::move(lo), std::move(hi)};
}

bool Bounds::is_nonnegative(const SymInt& a) const {
  const auto range = interval(a);
  return range && range->lo.range(symbols_).lo >= 0;
}

bool Bounds::is_below(const SymInt& a, const SymInt& b) const {
  const auto left = interval(a), right = interval(b);
  return left && right && (right->lo - left->hi).range(symbols_).lo >= 1;
}

std::optional<Bounds::Interval> Bounds::of_atom(const SymInt& e) const {
  const SymNode& node = e.node();
  if (node.kind == SymKind::kSymbol) {
    const auto found = names_.find(node.name);
    if (found != names_.end()) return found->second;
    const bool is_size =
        std::any_of(symbols_.begin(), symbols_.end(), [&](const Symbol& s) { return s.name == node.name; });
    return is_size ? std::optional(Interval{e, e}) : std::nullopt;
  }
  // Without axes in it, an atom stands for itself.
  const auto names = e.symbols();
  if (std::none_of(names.begin(), names.end(), [&](const auto& name) { return names_.count(name) > 0; }))
    return Interval{e, e};
  if (node.kind == SymKind::kFloorDiv || node.kind == SymKind::kMod) {
    const auto a = interval(node.args[0]), b = interval(node.args[1]);
    if (!a || !b || !(b->lo == b->hi) || b->lo.range(symbols_).lo < 1) return std::nullopt;
    if (node.kind == SymKind::kFloorDiv) return Interval{floordiv(a->lo, b->lo), floordiv(a->hi, b->lo)};
    return Interval{0, b->lo - 1};
  }
  if (node.kind == SymKind::kMin || node.kind == SymKind::kMax) {
    auto result = interval(node.args[0]);
    for (size_t i = 1; result && i < node.args.size(); ++i) {
      const auto next = interval(node.args[i]);
      if (!next) return std::nullopt;
      const auto combine = node.kind == SymKind::kMin
                               ? [](const SymInt& x, const SymInt& y) { return min(x, y); }
                               : [](const SymInt& x, const SymInt& y) { return max(x, y); };
      result = Interval{combine(result->lo, next->lo), combine(result->hi, next->hi)};
    }
    return result;
  }
  return std::nullopt;
}

std::optional<Bounds::Interval> Bounds::interval(const SymInt& e) const {
  const Polynomial p = to_polynomial(e);
  Interval sum{p.constant, p.constant};
  for (const SymTerm& term : p.terms) {
    Interval product{1, 1};
    for (const SymInt& factor : term.factors) {
      const auto range = of_atom(factor);
      if (!range) return std::nullopt;
      // A factor that may be negative is bounded only where it stands alone.
      if (term.factors.size() > 1 && range->lo.range(symbols_).lo < 0) return std::nullopt;
      product = {product.lo * range->lo, product.hi * range->hi};
    }
    const SymInt c = term.coefficient;
    sum.lo = sum.lo + c * (term.coefficient > 0 ? product.lo : product.hi);
    sum.hi = sum.hi + c * (term.coefficient > 0 ? product.hi : product.lo);
  }
  return sum;
}

SymInt Bounds::div(const SymInt& a, const SymInt& b) const {
  const auto constant = b.constant();
  if (constant && *constant <= 0) return floordiv(a, b);
  const Division d = divide_terms(a, b);
  if (is_nonnegative(d.rest) && is_below(d.rest, b)) return d.quotient;
  return d.quotient + floordiv(d.rest, b);
}

SymInt Bounds::mod(const SymInt& a, const SymInt& b) const {
  const auto constant = b.constant();
  if (constant && *constant <= 0) return remainder_of(a, b);
  const Division d = divide_terms(a, b);
  if (is_nonnegative(d.rest) && is_below(d.rest, b)) return d.rest;
  return remainder_of(d.rest, b);
}

SymInt product(std::span<const SymInt> sizes) {
  SymInt p = 1;
  for (const SymInt& size : sizes) p = p * size;
  return p;
}

// (q // s) * s + q % s is q, also for an s that is a symbol.
SymInt linearize(std::span<const SymInt> index, std::span<const SymInt> sizes) {
  SymInt flat = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const SymNode& node = index[d].node();
    const bool is_remainder = node.kind == SymKind::kMod && node.args[1] == sizes[d];
    flat =
        is_remainder && flat == floordiv(node.args[0], sizes[d]) ? node.args[0] : flat * sizes[d] + index[d];
  }
  return flat;
}

Index delinearize(const SymInt& flat, std::span<const SymInt> sizes, const Bounds& bounds) {
  Index index(sizes.size(), SymInt(0));
  SymInt rest = flat;
  size_t first = 0;
  while (first < sizes.size() && sizes[first].constant() == 1) ++first;
  for (size_t d = sizes.size(); d-- > first;) {
    if (sizes[d].constant() == 1) continue;
    if (d == first) {
      index[d] = rest;
    } else {
      index[d] = bounds.mod(rest, sizes[d]);
      rest = bounds.div(rest, sizes[d]);
    }
  }
  return index;
}

Index reshape(std::span<const SymInt> index, std::span<const SymInt> from, std::span<const SymInt> to,
              const Bounds& bounds) {
  // Runs of dimensions with the same product are reshaped each by itself.
  Index result;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    size_t i_end = i, j_end = j;
    SymInt a = 1, b = 1;
    if (i < from.size()) a = from[i_end++];
    if (j < to.size()) b = to[j_end++];
    // Sizes of 1 join the run of the next one.
    bool matched = i_end > i && j_end > j && a == b;
    while (!matched) {
      const bool more_a = i_end < from.size(), more_b = j_end < to.size();
      if (!more_a && !more_b) break;
      const auto ca = a.constant(), cb = b.constant();
      bool take_a = more_a;
      if (more_a && more_b) {
        // Grow the side that is behind; one that is divided by the other is ahead.
        take_a = ca && cb    ? *ca < *cb
                 : ca && !cb ? true
                 : !ca && cb ? false
                             : remainder_of(b, a) == SymInt(0);
      }
      if (take_a) {
        a = a * from[i_end++];
      } else {
        b = b * to[j_end++];
      }
      matched = a == b;
    }
    const auto part = from.subspan(i, i_end - i), target = to.subspan(j, j_end - j);
    const auto at = index.subspan(i, i_end - i);
    if (part.size() == 1 && target.size() == 1) {
      result.push_back(at[0]);
    } else {
      const Index moved = delinearize(linearize(at, part), target, bounds);
      result.insert(result.end(), moved.begin(), moved.end());
    }
    i = i_end;
    j = j_end;
  }
  return result;
}

Index broadcast(std::span<const SymInt> index, std::span<const SymInt> sizes, std::span<const SymInt> to) {
  Index result(sizes.size(), SymInt(0));
  const size_t missing = to.size() - sizes.size();
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d].constant() != 1) result[d] = index[missing + d];
  return result;
}

bool is_view(const Node& node) {
  return node.op->kind == OpKind::kView;
}

bool is_reshape(const Node& node) {
  const std::string& op = node.op->name;
  return op == "aten.view" || op == "aten.squeeze" || op == "aten.unsqueeze";
}

Index through_view(const Graph& graph, const Node& node, size_t output, const Index& index,
                   const Bounds& bounds) {
  const std::string& op = node.op->name;
  const Sizes& from = graph.value(node.inputs[0]).type.sizes;
  const Sizes& to = graph.value(node.outputs[output]).type.sizes;
  const auto rank = static_cast<int64_t>(from.size());
  if (op == "aten.permute" || op == "aten.transpose") {
    std::vector<int64_t> dims(from.size());
    for (int64_t d = 0; d < rank; ++d) dims[static_cast<size_t>(d)] = d;
    if (op == "aten.permute") {
      dims = attribute_as<std::vector<int64_t>>(node, "dims");
    } else if (rank > 0) {
      const auto at = [&](const char* name) {
        return static_cast<size_t>(wrapped(attribute_as<int64_t>(node, name), rank));
      };
      std::swap(dims[at("dim0")], dims[at("dim1")]);
    }
    Index source(from.size(), SymInt(0));
    for (size_t d = 0; d < dims.size(); ++d) source[static_cast<size_t>(wrapped(dims[d], rank))] = index[d];
    return source;
  }
  if (op == "aten.expand") return broadcast(index, from, to);
  if (op == "aten.slice" || op == "aten.select" || op == "aten.split_with_sizes") {
    const auto dim = static_cast<size_t>(wrapped(attribute_as<int64_t>(node, "dim"), rank));
    Index source = index;
    if (op == "aten.split_with_sizes") {
      for (size_t i = 0; i < output; ++i)
        source[dim] = source[dim] + graph.value(node.outputs[i]).type.sizes[dim];
      return source;
    }
    SymInt start = attribute_as<SymInt>(node, op == "aten.slice" ? "start" : "index");
    if (start.range(graph.symbols()).hi < 0) start = start + from[dim];
    if (op == "aten.select") {
      source.insert(source.begin() + static_cast<std::ptrdiff_t>(dim), start);
      return source;
    }
    if (!bounds.is_nonnegative(start)) start = max(start, 0);
    if ((from[dim] - start).range(graph.symbols()).lo < 0) start = min(start, from[dim]);
    source[dim] = start + index[dim] * SymInt(attribute_as<int64_t>(node, "step"));
    return source;
  }
  return reshape(index, to, from, bounds);
}

}  // namespace edge_infer::loop
