#include "tests/conformance/case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace edge_infer::test {
namespace {

double special(Random& random, double ordinary) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const double values[] = {0.0, -0.0, kInf, -kInf, std::nan(""), 0.5, 1.5, -2.5, 1e-6, 100.25, -300, 60000};
  const uint64_t pick = random() % 24;
  return pick < std::size(values) ? values[pick] : ordinary;
}

int64_t integer(DType dtype, const Fill& fill, int64_t limit, Random& random) {
  const bool is_signed = dtype != DType::kU8 && dtype != DType::kBool;
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  if (dtype == DType::kBool) return below(2);
  switch (fill.kind) {
    case Fill::kPositive:
      return 1 + below(9);
    case Fill::kSmall:
      return below(4);
    case Fill::kIndex:
      return limit > 0 ? below(limit) : 0;
    case Fill::kSpecial: {
      const int64_t width = dtype_size(dtype) * 8;
      const int64_t most = static_cast<int64_t>(~uint64_t{0} >> (64 - width + (is_signed ? 1 : 0)));
      const int64_t values[] = {most, is_signed ? -most - 1 : 0, is_signed ? -1 : 1, 0};
      const uint64_t pick = random() % 12;
      if (pick < std::size(values)) return values[pick];
      break;
    }
    default:
      break;
  }
  return is_signed ? below(19) - 9 : below(10);
}

}  // namespace

HostTensor make_tensor(DType dtype, std::vector<int64_t> sizes, const Fill& fill, int64_t limit,
                       Random& random) {
  auto made = make_host_tensor(dtype, std::move(sizes));
  if (!made) {
    ADD_FAILURE() << made.error().message;
    return {};
  }
  HostTensor tensor = *std::move(made);
  const auto n = static_cast<size_t>(tensor.elements());
  if (fill.kind == Fill::kOffsets) {
    // n - 1 sequences over `limit` rows.
    std::vector<int64_t> cuts(n, 0);
    const auto sequences = static_cast<int64_t>(n) - 1;
    const int64_t each = sequences <= limit ? 1 : 0;
    int64_t spare = limit - each * sequences;
    for (size_t i = 1; i < n; ++i) {
      const int64_t take =
          i + 1 == n ? spare : static_cast<int64_t>(random() % static_cast<uint64_t>(spare + 1));
      cuts[i] = cuts[i - 1] + each + take;
      spare -= take;
    }
    tensor.store(cuts);
  } else if (is_floating(dtype)) {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> positive(0.1, 3), small(-1, 1);
    std::vector<double> values(n);
    for (double& x : values) {
      x = fill.kind == Fill::kPositive ? positive(random)
          : fill.kind == Fill::kSmall  ? small(random)
                                       : normal(random);
      if (fill.kind == Fill::kSpecial) x = special(random, x);
    }
    tensor.store(values);
  } else {
    std::vector<int64_t> values(n);
    for (int64_t& x : values) x = integer(dtype, fill, limit, random);
    tensor.store(values);
  }
  return tensor;
}

CaseBuilder::CaseBuilder(std::string op, DType dtype, std::string label)
    : op_(std::move(op)), dtype_(dtype), label_(std::move(label)), builder_("one") {}

SymInt CaseBuilder::t() {
  if (!std::exchange(uses_t_, true)) builder_.symbol("T", {1, 64}, 16);
  return SymInt::symbol("T");
}
SymInt CaseBuilder::b() {
  if (!std::exchange(uses_b_, true)) builder_.symbol("B", {1, 8}, 2);
  return SymInt::symbol("B");
}
ValueId CaseBuilder::input(DType dtype, Sizes sizes, Fill fill) {
  fills_.push_back(std::move(fill));
  return builder_.input(fmt::format("x{}", fills_.size() - 1), dtype, std::move(sizes));
}
ValueId CaseBuilder::constant(DType dtype, Sizes sizes, Fill fill) {
  constant_fills_.push_back(std::move(fill));
  return builder_.constant(fmt::format("w{}", constant_fills_.size() - 1), dtype, std::move(sizes));
}
void CaseBuilder::node(std::vector<ValueId> inputs, Attributes attributes) {
  for (const ValueId value : builder_.op_multi(op_, std::move(inputs), std::move(attributes)))
    builder_.output(value);
}

std::optional<Case> CaseBuilder::finish() {
  Result<Graph> graph = builder_.finish();
  if (!graph) {
    // A shape rule may refuse an element type; anything else is a mistake in the case.
    EXPECT_EQ(graph.error().code, ErrorCode::kInvalidArgument)
        << op_ << " " << label_ << ": " << graph.error().message;
    return std::nullopt;
  }
  Case result{op_, dtype_, label_, *std::move(graph), {}, {}, {}};
  Random random(std::hash<std::string>{}(op_ + label_) + static_cast<uint64_t>(dtype_));
  const std::pair<int64_t, int64_t> assignments[] = {{1, 1}, {7, 3}, {40, 2}};
  const size_t sets = uses_t_ || uses_b_ ? std::size(assignments) : 1;
  const auto tensor = [&](const TensorType& type, const Fill& fill, const SymbolValues& symbols) {
    std::vector<int64_t> sizes;
    for (const SymInt& size : type.sizes) sizes.push_back(size.evaluate(symbols).value_or(-1));
    return make_tensor(type.dtype, std::move(sizes), fill, fill.limit.evaluate(symbols).value_or(0), random);
  };
  for (size_t s = 0; s < sets; ++s) {
    const SymbolValues symbols = {{"T", assignments[s].first}, {"B", assignments[s].second}};
    std::vector<HostTensor> inputs;
    for (size_t i = 0; i < fills_.size(); ++i)
      inputs.push_back(tensor(result.graph.value(result.graph.inputs()[i].value).type, fills_[i], symbols));
    result.input_sets.push_back(std::move(inputs));
  }
  for (size_t i = 0; i < constant_fills_.size(); ++i) {
    const Value& value = result.graph.value(result.graph.constants()[i].value);
    result.constants[value.name] = tensor(value.type, constant_fills_[i], {});
  }
  // The widest floating type of the results decides; f32 where there is none is not looked at.
  const DType out = result.graph.value(result.graph.outputs()[0].value).type.dtype;
  result.tolerance = tolerance(arithmetic_, out, terms_);
  result.tolerance.relative *= factor_;
  result.tolerance.absolute *= factor_;
  return result;
}

}  // namespace edge_infer::test
