// GuardSet as text that parses back, and what must hold of a set that comes from outside.
#include <map>

#include "runtime/base/text_scanner.h"
#include "runtime/guards/guard_set.h"

namespace edge_infer {
namespace {

constexpr size_t kMaxText = size_t{4} << 20;

class Parser {
 public:
  explicit Parser(std::string_view text) : in_(text) {}

  Result<GuardSet> parse() {
    GuardSet set;
    while (!in_.at_end()) {
      EDGE_INFER_ASSIGN(const Guard guard, condition());
      EDGE_INFER_RETURN_IF_ERROR(in_.expect("  // "));
      EDGE_INFER_ASSIGN(std::string origin, in_.quoted());
      EDGE_INFER_RETURN_IF_ERROR(in_.expect("\n"));
      set.add(guard, std::move(origin));
    }
    return set;
  }

 private:
  Result<int16_t> input() {
    EDGE_INFER_ASSIGN(const int64_t value, in_.integer(0, INT16_MAX));
    return static_cast<int16_t>(value);
  }
  Result<uint8_t> dim() {
    EDGE_INFER_ASSIGN(const int64_t value, in_.integer(0, UINT8_MAX));
    return static_cast<uint8_t>(value);
  }
  Status value(Guard& g) {
    EDGE_INFER_ASSIGN(g.value, in_.integer(INT64_MIN, INT64_MAX));
    return {};
  }

  Result<Guard> condition() {
    Guard g;
    if (in_.accept("number of inputs == ")) {
      g.kind = Guard::Kind::kInputCount;
      EDGE_INFER_RETURN_IF_ERROR(value(g));
    } else if (in_.accept("dtype(input ")) {
      g.kind = Guard::Kind::kDType;
      EDGE_INFER_ASSIGN(g.input, input());
      EDGE_INFER_RETURN_IF_ERROR(in_.expect(") == "));
      EDGE_INFER_ASSIGN(const std::string_view name, in_.word("a dtype"));
      const auto dtype = parse_dtype(name);
      if (!dtype) return in_.error_at_line(fmt::format("found dtype {}, expected one of f32, ...", name));
      g.value = static_cast<int64_t>(*dtype);
    } else if (in_.accept("rank(input ")) {
      g.kind = Guard::Kind::kRank;
      EDGE_INFER_ASSIGN(g.input, input());
      EDGE_INFER_RETURN_IF_ERROR(in_.expect(") == "));
      EDGE_INFER_RETURN_IF_ERROR(value(g));
    } else if (in_.accept("size(input ")) {
      return size_condition();
    } else if (in_.accept("address(input ")) {
      g.kind = Guard::Kind::kAlignment;
      EDGE_INFER_ASSIGN(g.input, input());
      EDGE_INFER_RETURN_IF_ERROR(in_.expect(") is a multiple of "));
      EDGE_INFER_RETURN_IF_ERROR(value(g));
    } else if (in_.accept("precision == ")) {
      g.kind = Guard::Kind::kPrecision;
      if (in_.accept("fp32"))
        g.value = 0;
      else if (in_.accept("bf16"))
        g.value = 1;
      else if (in_.accept("fp16"))
        g.value = 2;
      else
        return in_.error("fp32, bf16 or fp16");
    } else if (in_.accept("deterministic == ")) {
      g.kind = Guard::Kind::kDeterministic;
      EDGE_INFER_RETURN_IF_ERROR(value(g));
    } else {
      return in_.error("a guard");
    }
    return g;
  }

  Result<Guard> size_condition() {
    Guard g;
    EDGE_INFER_ASSIGN(g.input, input());
    EDGE_INFER_RETURN_IF_ERROR(in_.expect(", dim "));
    EDGE_INFER_ASSIGN(g.dim, dim());
    EDGE_INFER_RETURN_IF_ERROR(in_.expect(") "));
    if (in_.accept("== size(input ")) {
      g.kind = Guard::Kind::kSameSize;
      EDGE_INFER_ASSIGN(g.other_input, input());
      EDGE_INFER_RETURN_IF_ERROR(in_.expect(", dim "));
      EDGE_INFER_ASSIGN(g.other_dim, dim());
      EDGE_INFER_RETURN_IF_ERROR(in_.expect(") + "));
      EDGE_INFER_RETURN_IF_ERROR(value(g));
    } else if (in_.accept("== ")) {
      g.kind = Guard::Kind::kSizeEqual;
      EDGE_INFER_RETURN_IF_ERROR(value(g));
    } else if (in_.accept("in ")) {
      g.kind = Guard::Kind::kSizeRange;
      EDGE_INFER_RETURN_IF_ERROR(value(g));
      EDGE_INFER_RETURN_IF_ERROR(in_.expect(".."));
      EDGE_INFER_ASSIGN(g.upper, in_.integer(INT64_MIN, INT64_MAX));
    } else if (in_.accept("is a multiple of ")) {
      g.kind = Guard::Kind::kMultipleOf;
      EDGE_INFER_RETURN_IF_ERROR(value(g));
    } else {
      return in_.error("==, in or is a multiple of");
    }
    return g;
  }

  TextScanner in_;
};

}  // namespace

Result<GuardSet> GuardSet::parse(std::string_view text) {
  if (text.size() > kMaxText)
    return fail(ErrorCode::kCorruption, "guards of {} bytes, at most {} are allowed", text.size(), kMaxText);
  EDGE_INFER_ASSIGN(GuardSet set, Parser(text).parse());
  if (const Status verified = set.verify(); !verified)
    return fail(ErrorCode::kCorruption, "{}", verified.error().message);
  return set;
}

Status GuardSet::verify() const {
  using Kind = Guard::Kind;
  int64_t inputs = 0;
  std::map<int16_t, int64_t> ranks;
  for (size_t i = 0; i < guards_.size(); ++i) {
    const Guard& g = guards_[i];
    const auto bad = [&](const char* why) {
      return fail(ErrorCode::kInternal, "guard {} ({}): {}", i, print_one(i), why);
    };
    const auto dim_known = [&](int16_t input, uint8_t dim) {
      const auto rank = ranks.find(input);
      return rank != ranks.end() && dim < rank->second;
    };
    if (g.kind == Kind::kInputCount) {
      if (g.value < 0 || g.value > INT16_MAX) return bad("not a number of inputs");
      inputs = g.value;
    }
    if (g.kind == Kind::kDType && (g.value < 0 || g.value > static_cast<int64_t>(DType::kBool)))
      return bad("not a dtype");
    if (g.kind == Kind::kDType || g.kind == Kind::kRank || g.kind == Kind::kAlignment)
      if (g.input < 0 || g.input >= inputs) return bad("the number of inputs is not established before it");
    if (g.kind == Kind::kRank) ranks[g.input] = g.value;
    if (g.kind == Kind::kSizeEqual || g.kind == Kind::kSizeRange || g.kind == Kind::kMultipleOf ||
        g.kind == Kind::kSameSize)
      if (!dim_known(g.input, g.dim)) return bad("the rank is not established before it");
    if (g.kind == Kind::kSameSize && !dim_known(g.other_input, g.other_dim))
      return bad("the other rank is not established before it");
    if ((g.kind == Kind::kMultipleOf || g.kind == Kind::kAlignment) && g.value < 1)
      return bad("expected a positive divisor");
    if (g.kind == Kind::kPrecision && (g.value < 0 || g.value > 2)) return bad("not a precision");
  }
  return {};
}

}  // namespace edge_infer
