// Values and bounds of SymInts, and the flat code that the executor runs.
#include <algorithm>
#include <array>
#include <utility>

#include "runtime/symbolic/sym_int.h"
#include "runtime/symbolic/sym_node.h"

namespace edge_infer {
namespace {

using Values = std::map<std::string, int64_t, std::less<>>;
__extension__ using Wide = __int128;

std::optional<int64_t> apply(SymKind kind, int64_t a, int64_t b) {
  switch (kind) {
    case SymKind::kFloorDiv:
      return checked_floordiv(a, b);
    case SymKind::kMod:
      return checked_mod(a, b);
    case SymKind::kMin:
      return std::min(a, b);
    case SymKind::kMax:
      return std::max(a, b);
    case SymKind::kMul:
      return checked_mul(a, b);
    default:
      return checked_add(a, b);
  }
}

Result<int64_t> evaluate_node(const SymInt& e, const Values& values, const SymInt& whole) {
  const SymNode& node = e.node();
  const auto combine = [&](SymKind kind, int64_t a, int64_t b) -> Result<int64_t> {
    if (const auto value = apply(kind, a, b)) return *value;
    const bool division = (kind == SymKind::kFloorDiv || kind == SymKind::kMod) && b == 0;
    return fail(ErrorCode::kInvalidArgument, "size expression {}: {}", whole.str(),
                division ? "division by zero" : "the value does not fit 64 bits");
  };
  switch (node.kind) {
    case SymKind::kConstant:
      return node.constant;
    case SymKind::kSymbol: {
      const auto found = values.find(node.name);
      if (found == values.end())
        return fail(ErrorCode::kInvalidArgument, "size expression {}: symbol {} has no value", whole.str(),
                    node.name);
      return found->second;
    }
    case SymKind::kSum: {
      int64_t sum = node.constant;
      for (const SymTerm& term : node.terms) {
        int64_t value = term.coefficient;
        for (const SymInt& factor : term.factors) {
          EDGE_INFER_ASSIGN(const int64_t f, evaluate_node(factor, values, whole));
          EDGE_INFER_ASSIGN(value, combine(SymKind::kMul, value, f));
        }
        EDGE_INFER_ASSIGN(sum, combine(SymKind::kAdd, sum, value));
      }
      return sum;
    }
    default: {
      EDGE_INFER_ASSIGN(int64_t result, evaluate_node(node.args[0], values, whole));
      for (size_t i = 1; i < node.args.size(); ++i) {
        EDGE_INFER_ASSIGN(const int64_t next, evaluate_node(node.args[i], values, whole));
        EDGE_INFER_ASSIGN(result, combine(node.kind, result, next));
      }
      return result;
    }
  }
}

// A value beyond int64 is an error of evaluate(), so bounds may stop there.
SymRange clamped(Wide lo, Wide hi) {
  const auto clamp = [](Wide v) { return static_cast<int64_t>(std::clamp<Wide>(v, INT64_MIN, INT64_MAX)); };
  return {clamp(lo), clamp(hi)};
}

// Where bounds stopped at the ends of int64, those of the sum stop there, too: quotient_range() adds what
// evaluate() does not, so a value beyond them may come back.
SymRange sum_range(SymRange a, SymRange b) {
  SymRange sum = clamped(Wide{a.lo} + b.lo, Wide{a.hi} + b.hi);
  if (a.lo == INT64_MIN || b.lo == INT64_MIN) sum.lo = INT64_MIN;
  if (a.hi == INT64_MAX || b.hi == INT64_MAX) sum.hi = INT64_MAX;
  return sum;
}

SymRange product_range(SymRange a, SymRange b) {
  const std::array<Wide, 4> corners = {Wide{a.lo} * b.lo, Wide{a.lo} * b.hi, Wide{a.hi} * b.lo,
                                       Wide{a.hi} * b.hi};
  const auto [lo, hi] = std::minmax_element(corners.begin(), corners.end());
  return clamped(*lo, *hi);
}

SymRange floordiv_range(SymRange a, SymRange b) {
  if (b.lo <= 0 && b.hi >= 0) {
    // The divisor is not 0, so the quotient is at most as far from 0 as the dividend.
    const Wide far = std::max(-Wide{a.lo}, Wide{a.hi});
    const Wide reach = std::max<Wide>(far, Wide{a.lo} > 0 ? Wide{a.lo} : -Wide{a.lo});
    return clamped(-reach, reach);
  }
  const auto quotient = [](Wide x, Wide y) {
    const Wide q = x / y;
    return x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q;
  };
  const std::array<Wide, 4> corners = {quotient(a.lo, b.lo), quotient(a.lo, b.hi), quotient(a.hi, b.lo),
                                       quotient(a.hi, b.hi)};
  const auto [lo, hi] = std::minmax_element(corners.begin(), corners.end());
  return clamped(*lo, *hi);
}

SymRange mod_range(SymRange a, SymRange b) {
  if (b.lo > 0 && a.lo >= 0) return a.hi < b.lo ? a : SymRange{0, std::min(a.hi, b.hi - 1)};
  return {b.lo < 0 ? b.lo + 1 : 0, b.hi > 0 ? b.hi - 1 : 0};
}

SymRange range_of(const SymInt& e, std::span<const Symbol> symbols, int depth);

// Bounds of a sum by replacing one term k * (x // c), c > 1, by its rational bounds k * (x - (c - 1)) / c and
// k * x / c: they see that T - T//2 is not negative, which separate intervals do not.
SymRange quotient_range(const SymInt& e, std::span<const Symbol> symbols, int depth) {
  constexpr int kMaxDepth = 8;
  SymRange result{INT64_MIN, INT64_MAX};
  if (depth >= kMaxDepth) return result;
  for (const SymTerm& term : e.node().terms) {
    if (term.factors.size() != 1 || term.factors[0].node().kind != SymKind::kFloorDiv) continue;
    const SymInt& x = term.factors[0].node().args[0];
    const auto c = term.factors[0].node().args[1].constant();
    if (!c || *c < 2) continue;
    const SymInt k = term.coefficient, others = SymInt(*c) * (e - k * term.factors[0]);
    const SymInt high = others + k * x, low = high - k * SymInt(*c - 1);
    const SymRange upper = range_of(term.coefficient > 0 ? high : low, symbols, depth + 1);
    const SymRange lower = range_of(term.coefficient > 0 ? low : high, symbols, depth + 1);
    if (upper.hi != INT64_MAX) result.hi = *checked_floordiv(upper.hi, *c);
    if (lower.lo != INT64_MIN) result.lo = -*checked_floordiv(-lower.lo, *c);
    return result;
  }
  return result;
}

SymRange range_of(const SymInt& e, std::span<const Symbol> symbols, int depth) {
  const SymNode& node = e.node();
  switch (node.kind) {
    case SymKind::kConstant:
      return {node.constant, node.constant};
    case SymKind::kSymbol: {
      for (const Symbol& symbol : symbols)
        if (symbol.name == node.name) return symbol.range;
      return {INT64_MIN, INT64_MAX};
    }
    case SymKind::kSum: {
      SymRange sum{node.constant, node.constant};
      for (const SymTerm& term : node.terms) {
        SymRange value{term.coefficient, term.coefficient};
        for (const SymInt& factor : term.factors)
          value = product_range(value, range_of(factor, symbols, depth));
        sum = sum_range(sum, value);
      }
      const SymRange tighter = quotient_range(e, symbols, depth);
      return {std::max(sum.lo, tighter.lo), std::min(sum.hi, tighter.hi)};
    }
    default: {
      SymRange result = range_of(node.args[0], symbols, depth);
      for (size_t i = 1; i < node.args.size(); ++i) {
        const SymRange next = range_of(node.args[i], symbols, depth);
        switch (node.kind) {
          case SymKind::kFloorDiv:
            result = floordiv_range(result, next);
            break;
          case SymKind::kMod:
            result = mod_range(result, next);
            break;
          case SymKind::kMin:
            result = {std::min(result.lo, next.lo), std::min(result.hi, next.hi)};
            break;
          case SymKind::kMax:
            result = {std::max(result.lo, next.lo), std::max(result.hi, next.hi)};
            break;
          case SymKind::kMul:
            result = product_range(result, next);
            break;
          default:
            result = sum_range(result, next);
            break;
        }
      }
      return result;
    }
  }
}

constexpr uint8_t kPushConstant = 0x40, kPushSymbol = 0x41;
constexpr size_t kMaxStack = 64;

}  // namespace

Result<int64_t> SymInt::evaluate(const Values& values) const {
  return evaluate_node(*this, values, *this);
}

SymRange SymInt::range(std::span<const Symbol> symbols) const {
  return range_of(*this, symbols, 0);
}

Result<SymCode> SymCode::compile(const SymInt& expression, std::span<const Symbol> symbols) {
  SymCode code;
  size_t deepest = 0;
  // Emits postfix code whose value ends at stack position `depth`.
  const auto emit = [&](const auto& self, const SymInt& e, size_t depth) -> Status {
    deepest = std::max(deepest, depth + 1);
    const SymNode& node = e.node();
    const auto push = [&](uint8_t op, int64_t argument) { code.steps_.push_back({op, argument}); };
    const auto then = [&](SymKind kind) { push(static_cast<uint8_t>(kind), 0); };
    if (node.kind == SymKind::kConstant) {
      push(kPushConstant, node.constant);
    } else if (node.kind == SymKind::kSymbol) {
      const auto found = std::find_if(symbols.begin(), symbols.end(),
                                      [&](const Symbol& symbol) { return symbol.name == node.name; });
      if (found == symbols.end())
        return fail(ErrorCode::kInvalidArgument, "size expression {}: symbol {} is not declared",
                    expression.str(), node.name);
      push(kPushSymbol, found - symbols.begin());
    } else if (node.kind == SymKind::kSum) {
      push(kPushConstant, node.constant);
      for (const SymTerm& term : node.terms) {
        deepest = std::max(deepest, depth + 2);
        push(kPushConstant, term.coefficient);
        for (const SymInt& factor : term.factors) {
          EDGE_INFER_RETURN_IF_ERROR(self(self, factor, depth + 2));
          then(SymKind::kMul);
        }
        then(SymKind::kAdd);
      }
    } else {
      EDGE_INFER_RETURN_IF_ERROR(self(self, node.args[0], depth));
      for (size_t i = 1; i < node.args.size(); ++i) {
        EDGE_INFER_RETURN_IF_ERROR(self(self, node.args[i], depth + 1));
        then(node.kind);
      }
    }
    return {};
  };
  EDGE_INFER_RETURN_IF_ERROR(emit(emit, expression, 0));
  if (deepest > kMaxStack)
    return fail(ErrorCode::kResourceExhausted,
                "size expression {}: needs {} stack places, at most {} are allowed", expression.str(),
                deepest, kMaxStack);
  return code;
}

int64_t SymCode::evaluate(std::span<const int64_t> values) const {
  std::array<int64_t, kMaxStack> stack;
  size_t top = 0;
  for (const Step& step : steps_) {
    if (step.op == kPushConstant) {
      stack[top++] = step.argument;
    } else if (step.op == kPushSymbol) {
      stack[top++] = values[static_cast<size_t>(step.argument)];
    } else {
      const auto value = apply(static_cast<SymKind>(step.op), stack[top - 2], stack[top - 1]);
      if (!value) return INT64_MIN;
      stack[--top - 1] = *value;
    }
  }
  return stack[0];
}

}  // namespace edge_infer
