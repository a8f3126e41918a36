// Index maps: multi-dimensional indices of dense values as SymInts over axes, and how views rewrite them.
// Axes have bounds, so that a division or remainder whose result follows from them disappears.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "runtime/symbolic/sym_int.h"

namespace edge_infer::loop {

using Index = std::vector<SymInt>;  // one per dimension
using Sizes = std::vector<SymInt>;

// What is known of the names in index expressions: size symbols have ranges, axes and values symbolic bounds.
class Bounds {
 public:
  explicit Bounds(std::vector<Symbol> symbols) : symbols_(std::move(symbols)) {}
  // lo <= name <= hi, both in terms of size symbols.
  void add(const std::string& name, SymInt lo, SymInt hi);

  // a // b and a % b for b > 0, with what the bounds decide taken out.
  SymInt div(const SymInt& a, const SymInt& b) const;
  SymInt mod(const SymInt& a, const SymInt& b) const;
  bool is_nonnegative(const SymInt& a) const;
  bool is_below(const SymInt& a, const SymInt& b) const;  // a < b
  const std::vector<Symbol>& symbols() const { return symbols_; }

 private:
  struct Interval {
    SymInt lo, hi;
  };
  std::optional<Interval> interval(const SymInt& e) const;
  std::optional<Interval> of_atom(const SymInt& e) const;

  std::vector<Symbol> symbols_;
  std::map<std::string, Interval, std::less<>> names_;
};

SymInt product(std::span<const SymInt> sizes);
SymInt linearize(std::span<const SymInt> index, std::span<const SymInt> sizes);
Index delinearize(const SymInt& flat, std::span<const SymInt> sizes, const Bounds& bounds);
// The index of the same element under other sizes of the same product.
Index reshape(std::span<const SymInt> index, std::span<const SymInt> from, std::span<const SymInt> to,
              const Bounds& bounds);
// The index in an operand of `sizes` that broadcasts to `to`.
Index broadcast(std::span<const SymInt> index, std::span<const SymInt> sizes, std::span<const SymInt> to);

// Ops that only rename elements.
bool is_view(const Node& node);
// Views that keep the order of the elements: the value may share its operand's buffer.
bool is_reshape(const Node& node);
// The element of the view's operand that element `index` of its result `output` is.
Index through_view(const Graph& graph, const Node& node, size_t output, const Index& index,
                   const Bounds& bounds);

}  // namespace edge_infer::loop
