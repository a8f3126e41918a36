#include "runtime/program/kernel_key.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/hash.h"

namespace edge_infer {
namespace {

constexpr std::array<std::pair<std::string_view, std::string KernelKey::*>, 6> kFields = {{
    {"target", &KernelKey::target},
    {"features", &KernelKey::features},
    {"compiler", &KernelKey::compiler},
    {"generator", &KernelKey::generator},
    {"options", &KernelKey::options},
    {"source", &KernelKey::source_hash},
}};
constexpr size_t kMaxText = 16384;

bool is_hash(std::string_view text) {
  return text.size() == 64 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// A value ends at the next ';': nothing else has a meaning in it.
bool is_value(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f' && c != ';'; });
}

}  // namespace

std::string KernelKey::text() const {
  std::string out;
  for (const auto& [name, member] : kFields) out += fmt::format("{}={};", name, this->*member);
  return out;
}

std::string KernelKey::id() const {
  return content_digest(text()).substr(0, 32);
}

Result<KernelKey> KernelKey::parse(std::string_view text) {
  if (text.size() > kMaxText)
    return fail(ErrorCode::kInvalidArgument, "a kernel key of {} characters, expected at most {}",
                text.size(), kMaxText);
  KernelKey key;
  std::string_view rest = text;
  for (const auto& [name, member] : kFields) {
    if (!rest.starts_with(name) || rest.size() == name.size() || rest[name.size()] != '=')
      return fail(ErrorCode::kInvalidArgument, "a kernel key with \"{}\" where \"{}=\" is expected",
                  rest.substr(0, 32), name);
    rest.remove_prefix(name.size() + 1);
    const size_t end = rest.find(';');
    if (end == std::string_view::npos)
      return fail(ErrorCode::kInvalidArgument, "a kernel key whose {} does not end with \";\"", name);
    const std::string_view value = rest.substr(0, end);
    if (!is_value(value))
      return fail(ErrorCode::kInvalidArgument, "a kernel key with a space or control character in its {}",
                  name);
    key.*member = value;
    rest.remove_prefix(end + 1);
  }
  if (!rest.empty())
    return fail(ErrorCode::kInvalidArgument, "a kernel key with \"{}\" behind its end", rest.substr(0, 32));
  if (!is_hash(key.source_hash))
    return fail(ErrorCode::kInvalidArgument,
                "a kernel key with the source hash \"{}\", expected 64 hex digits",
                std::string_view(key.source_hash).substr(0, 80));
  return key;
}

}  // namespace edge_infer
