#include "apps/cli/option_range.h"

#include <fmt/format.h>

#include <charconv>
#include <string>

#include "models/files/json.h"

namespace edge_infer {
namespace {

template <typename Number>
CLI::Validator range(const char* kind, Number min, Number max) {
  const auto check = [=](const std::string& text) -> std::string {
    Number value{};
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && rest == end && value >= min && value <= max) return {};
    return fmt::format("expected {} from {} to {}, found {}", kind, min, max, quote(text));
  };
  return {check, fmt::format("from {} to {}", min, max)};
}

}  // namespace

CLI::Validator integer_from(int64_t min, int64_t max) {
  return range<int64_t>("an integer", min, max);
}
CLI::Validator number_from(double min, double max) {
  return range<double>("a number", min, max);
}

}  // namespace edge_infer
