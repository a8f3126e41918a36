#include "runtime/cache/gate_verdict.h"

#include <charconv>
#include <cmath>

#include "runtime/base/text_scanner.h"

namespace edge_infer {
namespace {

constexpr int64_t kMostRows = int64_t{1} << 40;

// A cosine or its bound, as fmt writes the shortest text of a double.
Result<double> number(TextScanner& scanner) {
  EDGE_INFER_ASSIGN(const std::string_view word, scanner.word("a number"));
  double value = 0;
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (code != std::errc{} || end != word.data() + word.size() || !std::isfinite(value))
    return scanner.error("a finite number");
  return value;
}

}  // namespace

std::string_view precision_name(DType type) {
  return type == DType::kF16 ? "fp16" : type == DType::kBF16 ? "bf16" : "fp32";
}

std::string GateVerdict::describe() const {
  std::string out = fmt::format("{} {}: ", precision_name(type), passes() ? "passed" : "failed");
  if (!refused.empty()) return out + refused;
  out += fmt::format("{} vectors, bound {}", rows, bound);
  if (!lowest_at.empty()) out += fmt::format(", lowest cosine {:.7f} ({})", lowest_cosine, lowest_at);
  if (not_finite > 0) out += fmt::format(", {} not finite (the first: {})", not_finite, not_finite_at);
  if (broken_rows > 0) out += fmt::format(", {} more are not finite in fp32", broken_rows);
  return out;
}

std::string PrecisionRecord::describe() const {
  if (tried.empty())
    return fmt::format("{} was asked for, {} serves", precision_name(asked), precision_name(served));
  std::string out = fmt::format("{} was asked for ({}), {} serves", precision_name(asked),
                                named ? "by name" : "by default or auto", precision_name(served));
  for (const GateVerdict& verdict : tried) out += "; " + verdict.describe();
  return out;
}

std::string print_verdict(const GateVerdict& v) {
  return fmt::format("gate 1 {} bound={} rows={} broken={} lowest={} at={} not_finite={} at={} refused={}\n",
                     dtype_name(v.type), v.bound, v.rows, v.broken_rows, v.lowest_cosine,
                     quote_text(v.lowest_at), v.not_finite, quote_text(v.not_finite_at),
                     quote_text(v.refused));
}

Result<GateVerdict> parse_verdict(std::string_view text) {
  TextScanner scanner(text);
  GateVerdict v;
  EDGE_INFER_RETURN_IF_ERROR(scanner.expect("gate 1 "));
  EDGE_INFER_ASSIGN(const std::string_view type, scanner.word("f16 or bf16"));
  if (type != "f16" && type != "bf16") return scanner.error("f16 or bf16");
  v.type = type == "f16" ? DType::kF16 : DType::kBF16;
  EDGE_INFER_RETURN_IF_ERROR(scanner.expect(" bound="));
  EDGE_INFER_ASSIGN(v.bound, number(scanner));
  EDGE_INFER_RETURN_IF_ERROR(scanner.expect(" rows="));
  EDGE_INFER_ASSIGN(v.rows, scanner.integer(0, kMostRows));
  EDGE_INFER_RETURN_IF_ERROR(scanner.expect(" broken="));
  EDGE_INFER_ASSIGN(v.broken_rows, scanner.integer(0, kMostRows));
  EDGE_INFER_RETURN_IF_ERROR(scanner.expect(" lowest="));
  EDGE_INFER_ASSIGN(v.lowest_cosine, number(scanner));
  EDGE_INFER_RETURN_IF_ERROR(scanner.expect(" at="));
  EDGE_INFER_ASSIGN(v.lowest_at, scanner.quoted());
  EDGE_INFER_RETURN_IF_ERROR(scanner.expect(" not_finite="));
  EDGE_INFER_ASSIGN(v.not_finite, scanner.integer(0, kMostRows));
  EDGE_INFER_RETURN_IF_ERROR(scanner.expect(" at="));
  EDGE_INFER_ASSIGN(v.not_finite_at, scanner.quoted());
  EDGE_INFER_RETURN_IF_ERROR(scanner.expect(" refused="));
  EDGE_INFER_ASSIGN(v.refused, scanner.quoted());
  EDGE_INFER_RETURN_IF_ERROR(scanner.expect("\n"));
  if (!scanner.at_end()) return scanner.error("the end of the text");
  return v;
}

}  // namespace edge_infer
