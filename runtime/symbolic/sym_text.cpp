// SymInt as text: str() and parse().
#include <cctype>
#include <charconv>
#include <utility>

#include "runtime/symbolic/sym_int.h"
#include "runtime/symbolic/sym_node.h"

namespace edge_infer {
namespace {

constexpr int kMaxNesting = 64;
constexpr int64_t kMaxTreeNodes = 1000;
constexpr size_t kMaxLength = 4096;

void print(const SymInt& e, std::string& out);

// As an operand of * // %: anything but a name, a number or a call is put in parentheses.
void print_operand(const SymInt& e, std::string& out) {
  const SymNode& node = e.node();
  const bool bare = node.kind == SymKind::kSymbol || node.kind == SymKind::kMin ||
                    node.kind == SymKind::kMax || (node.kind == SymKind::kConstant && node.constant >= 0) ||
                    node.kind == SymKind::kAdd || node.kind == SymKind::kMul;
  if (!bare) out += '(';
  print(e, out);
  if (!bare) out += ')';
}

void print_term(const SymTerm& term, bool first, std::string& out) {
  if (!first && term.coefficient == INT64_MIN) {  // its magnitude is no number of the language
    out += "+(" + std::to_string(INT64_MIN) + ')';
    for (const SymInt& factor : term.factors) {
      out += '*';
      print_operand(factor, out);
    }
    return;
  }
  const bool negative = term.coefficient < 0;
  if (negative) {
    out += '-';
  } else if (!first) {
    out += '+';
  }
  std::string magnitude = std::to_string(term.coefficient).substr(negative ? 1 : 0);
  if (magnitude != "1") out += magnitude + '*';
  // A lone quotient needs no parentheses: `T//4+1`, but `2*(T//4)` and `-(T//4)`.
  if (magnitude == "1" && !negative && term.factors.size() == 1) {
    print(term.factors[0], out);
    return;
  }
  for (size_t i = 0; i < term.factors.size(); ++i) {
    if (i > 0) out += '*';
    print_operand(term.factors[i], out);
  }
}

void print_list(const char* before, const std::vector<SymInt>& args, const char* between, std::string& out) {
  out += before;
  for (size_t i = 0; i < args.size(); ++i) {
    if (i > 0) out += between;
    print(args[i], out);
  }
  out += ')';
}

void print(const SymInt& e, std::string& out) {
  const SymNode& node = e.node();
  switch (node.kind) {
    case SymKind::kConstant:
      out += std::to_string(node.constant);
      return;
    case SymKind::kSymbol:
      out += node.name;
      return;
    case SymKind::kFloorDiv:
    case SymKind::kMod:
      print_operand(node.args[0], out);
      out += node.kind == SymKind::kMod ? "%" : "//";
      print_operand(node.args[1], out);
      return;
    case SymKind::kMin:
      print_list("min(", node.args, ", ", out);
      return;
    case SymKind::kMax:
      print_list("max(", node.args, ", ", out);
      return;
    case SymKind::kAdd:
    case SymKind::kMul:
      out += '(';
      print_operand(node.args[0], out);
      out += node.kind == SymKind::kAdd ? '+' : '*';
      print_operand(node.args[1], out);
      out += ')';
      return;
    case SymKind::kSum: {
      bool first = true;
      for (const SymTerm& term : node.terms) {
        print_term(term, first, out);
        first = false;
      }
      if (node.constant > 0) out += '+';
      if (node.constant == INT64_MIN) {
        out += "+(" + std::to_string(INT64_MIN) + ')';
      } else if (node.constant != 0) {
        out += std::to_string(node.constant);
      }
      return;
    }
  }
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<SymInt> parse() {
    EDGE_INFER_ASSIGN(SymInt result, sum(0));
    skip_space();
    if (position_ < text_.size()) return error("an operator");
    return result;
  }

 private:
  std::unexpected<Error> error(std::string_view expected) const {
    const std::string found =
        position_ < text_.size() ? std::string("\"") + text_[position_] + '"' : "the end";
    return fail(ErrorCode::kInvalidArgument, "size expression \"{}\": found {} at position {}, expected {}",
                text_, found, position_, expected);
  }
  void skip_space() {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_])))
      ++position_;
  }
  bool accept(std::string_view token) {
    skip_space();
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }
  // Bounds the work and the text of what follows: expanded products share nodes, their text does not.
  Result<SymInt> bounded(SymInt e) const {
    if (e.node().weight > kMaxTreeNodes)
      return fail(ErrorCode::kResourceExhausted, "size expression of {} characters: more than {} nodes",
                  text_.size(), kMaxTreeNodes);
    return e;
  }

  Result<SymInt> sum(int depth) {
    if (depth > kMaxNesting)
      return fail(ErrorCode::kResourceExhausted, "size expression: nested deeper than {}", kMaxNesting);
    EDGE_INFER_ASSIGN(SymInt left, product(depth));
    while (true) {
      const bool plus = accept("+");
      if (!plus && !accept("-")) return left;
      EDGE_INFER_ASSIGN(const SymInt right, product(depth));
      EDGE_INFER_ASSIGN(left, bounded(plus ? left + right : left - right));
    }
  }

  Result<SymInt> product(int depth) {
    EDGE_INFER_ASSIGN(SymInt left, unary(depth));
    while (true) {
      SymKind kind = SymKind::kMul;
      if (accept("//")) {
        kind = SymKind::kFloorDiv;
      } else if (accept("%")) {
        kind = SymKind::kMod;
      } else if (!accept("*")) {
        return left;
      }
      EDGE_INFER_ASSIGN(const SymInt right, unary(depth));
      EDGE_INFER_ASSIGN(left, bounded(kind == SymKind::kMul        ? left * right
                                      : kind == SymKind::kFloorDiv ? floordiv(left, right)
                                                                   : mod(left, right)));
    }
  }

  Result<SymInt> unary(int depth) {
    if (depth > kMaxNesting)
      return fail(ErrorCode::kResourceExhausted, "size expression: nested deeper than {}", kMaxNesting);
    skip_space();
    if (accept("-")) {
      skip_space();
      if (position_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[position_])))
        return number(true);
      EDGE_INFER_ASSIGN(const SymInt operand, unary(depth + 1));
      return bounded(SymInt(0) - operand);
    }
    if (accept("(")) {
      EDGE_INFER_ASSIGN(SymInt inner, sum(depth + 1));
      if (!accept(")")) return error("\")\"");
      return inner;
    }
    if (position_ >= text_.size()) return error("a number or a name");
    const char c = text_[position_];
    if (std::isdigit(static_cast<unsigned char>(c))) return number(false);
    if (!std::isalpha(static_cast<unsigned char>(c)) && c != '_') return error("a number or a name");
    const size_t start = position_;
    while (position_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[position_])) || text_[position_] == '_'))
      ++position_;
    const std::string_view name = text_.substr(start, position_ - start);
    if (name == "min" || name == "max") return call(name == "min", depth);
    return SymInt::symbol(std::string(name));
  }

  Result<SymInt> call(bool is_min, int depth) {
    if (!accept("(")) return error("\"(\"");
    EDGE_INFER_ASSIGN(SymInt result, sum(depth + 1));
    while (accept(",")) {
      EDGE_INFER_ASSIGN(const SymInt next, sum(depth + 1));
      EDGE_INFER_ASSIGN(result, bounded(is_min ? min(result, next) : max(result, next)));
    }
    if (!accept(")")) return error("\",\" or \")\"");
    return result;
  }

  Result<SymInt> number(bool negative) {
    const size_t start = position_;
    while (position_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[position_])))
      ++position_;
    const std::string digits = (negative ? "-" : "") + std::string(text_.substr(start, position_ - start));
    int64_t value = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc{})
      return fail(ErrorCode::kInvalidArgument,
                  "size expression: number {} at position {} does not fit 64 bits", digits, start);
    return SymInt(value);
  }

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace

std::string SymInt::str() const {
  std::string out;
  print(*this, out);
  return out;
}

Result<SymInt> SymInt::parse(std::string_view text) {
  if (text.size() > kMaxLength)
    return fail(ErrorCode::kResourceExhausted, "size expression: {} characters, at most {} are allowed",
                text.size(), kMaxLength);
  return Parser(text).parse();
}

}  // namespace edge_infer
