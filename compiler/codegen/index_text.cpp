#include "compiler/codegen/index_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/symbolic/sym_node.h"

namespace edge_infer::codegen {
namespace {

std::string literal(int64_t value) {
  if (value == INT64_MIN) return "(-9223372036854775807l - 1)";
  return fmt::format("{}", value);
}

bool is_name(const std::string& text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool multiple_of(const SymInt& e, int64_t divisor, std::string_view except) {
  const Polynomial p = to_polynomial(e);
  if (p.constant % divisor != 0) return false;
  return std::ranges::all_of(p.terms, [&](const SymTerm& term) {
    const bool axis = term.factors.size() == 1 && term.factors[0].node().kind == SymKind::kSymbol &&
                      term.factors[0].node().name == except;
    return axis || term.coefficient % divisor == 0;
  });
}

}  // namespace

std::string IndexPrinter::operand(const SymInt& index) const {
  std::string text = print(index);
  return is_name(text) ? text : fmt::format("({})", text);
}

std::string IndexPrinter::division(const SymInt& atom) const {
  const SymNode& node = atom.node();
  const bool quotient = node.kind == SymKind::kFloorDiv;
  const SymRange dividend = node.args[0].range(ranges), divisor = node.args[1].range(ranges);
  const bool plain = dividend.lo >= 0 && divisor.lo > 0;
  const bool narrow = narrow_division && plain && dividend.hi <= UINT32_MAX && divisor.hi <= UINT32_MAX;
  const char* function = narrow  ? (quotient ? "udiv32" : "umod32")
                         : plain ? (quotient ? "udiv" : "umod")
                                 : (quotient ? "floordiv1_i64" : "mod1_i64");
  return fmt::format("{}({}, {})", function, print(node.args[0]), print(node.args[1]));
}

std::string IndexPrinter::print(const SymInt& index) const {
  const SymNode& node = index.node();
  const auto joined = [&](const char* between) {
    std::string text;
    for (const SymInt& arg : node.args) text += (text.empty() ? "" : between) + operand(arg);
    return text;
  };
  switch (node.kind) {
    case SymKind::kConstant:
      return literal(node.constant);
    case SymKind::kSymbol:
      return name(node.name);
    case SymKind::kFloorDiv:
    case SymKind::kMod:
      return division(index);
    case SymKind::kMin:
    case SymKind::kMax: {
      const char* function = node.kind == SymKind::kMin ? "min1_i64" : "max1_i64";
      std::string text = print(node.args[0]);
      for (size_t i = 1; i < node.args.size(); ++i)
        text = fmt::format("{}({}, {})", function, text, print(node.args[i]));
      return text;
    }
    case SymKind::kAdd:
      return joined(" + ");
    case SymKind::kMul:
      return joined(" * ");
    case SymKind::kSum:
      break;
  }
  std::string text;
  for (const SymTerm& term : node.terms) {
    const bool negative = term.coefficient < 0 && term.coefficient != INT64_MIN;
    if (!text.empty())
      text += negative ? " - " : " + ";
    else if (negative)
      text += "-";
    const int64_t magnitude = negative ? -term.coefficient : term.coefficient;
    std::string product = magnitude == 1 ? "" : literal(magnitude);
    for (const SymInt& factor : term.factors) {
      if (!product.empty()) product += " * ";
      const SymKind kind = factor.node().kind;
      product += kind == SymKind::kAdd || kind == SymKind::kMul ? operand(factor) : print(factor);
    }
    text += product;
  }
  if (node.constant != 0 || text.empty()) {
    const bool negative = node.constant < 0 && node.constant != INT64_MIN;
    if (text.empty()) return literal(node.constant);
    text += negative ? " - " : " + ";
    text += literal(negative ? -node.constant : node.constant);
  }
  return text;
}

std::optional<SymInt> lane_step(const SymInt& index, std::string_view axis, int64_t grain,
                                const std::function<bool(std::string_view)>& varies) {
  const std::vector<std::string> names = index.symbols();
  if (std::ranges::none_of(names, varies)) return SymInt(0);
  const SymNode& node = index.node();
  switch (node.kind) {
    case SymKind::kSymbol:
      if (node.name == axis) return SymInt(1);
      return std::nullopt;
    case SymKind::kFloorDiv:
    case SymKind::kMod: {
      // Within `grain` aligned lanes a dividend axis + (multiple of grain) crosses no multiple of the
      // divisor.
      const auto divisor = node.args[1].constant();
      const auto inner = lane_step(node.args[0], axis, grain, varies);
      if (grain <= 1 || !divisor || !inner) return std::nullopt;
      const auto step = inner->constant();
      if (step != 1 || *divisor <= 0 || *divisor % grain != 0 || !multiple_of(node.args[0], grain, axis))
        return std::nullopt;
      return node.kind == SymKind::kMod ? SymInt(1) : SymInt(0);
    }
    case SymKind::kSum: {
      SymInt total = 0;
      for (const SymTerm& term : node.terms) {
        SymInt product = term.coefficient;
        int moving = 0;
        for (const SymInt& factor : term.factors) {
          const auto step = lane_step(factor, axis, grain, varies);
          if (!step) return std::nullopt;
          if (step->constant() == 0) {
            product = product * factor;
            continue;
          }
          ++moving;
          product = product * *step;
        }
        if (moving > 1) return std::nullopt;
        if (moving == 1) total = total + product;
      }
      return total;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace edge_infer::codegen
