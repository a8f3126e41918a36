#include "compiler/loop/text.h"

#include <algorithm>

namespace edge_infer::loop {

const char* access_name(Access access) {
  switch (access) {
    case Access::kIn:
      return "in";
    case Access::kOut:
      return "out";
    case Access::kPacked:
      return "packed";
    case Access::kIndex:
      return "index";
  }
  return "?";
}

const char* axis_kind_name(AxisKind kind) {
  switch (kind) {
    case AxisKind::kWork:
      return "work";
    case AxisKind::kLane:
      return "lane";
    case AxisKind::kSerial:
      return "serial";
    case AxisKind::kReduce:
      return "reduce";
    case AxisKind::kSegment:
      return "segment";
  }
  return "?";
}

std::string type_text(DType dtype, const std::vector<SymInt>& sizes) {
  std::string out = std::string(dtype_name(dtype)) + '[';
  for (size_t i = 0; i < sizes.size(); ++i) out += (i > 0 ? ", " : "") + sizes[i].str();
  return out + ']';
}

std::string symbols_text(std::span<const Symbol> symbols) {
  std::string out;
  for (const Symbol& symbol : symbols) {
    if (!out.empty()) out += ", ";
    out += fmt::format("{} in {}..{} hint {}", symbol.name, symbol.range.lo,
                       symbol.range.hi == INT64_MAX ? "inf" : std::to_string(symbol.range.hi), symbol.hint);
  }
  return out;
}

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

std::string plain_name(std::string_view name) {
  std::string out(name);
  std::replace_if(out.begin(), out.end(), [](char c) { return !is_name_char(c); }, '_');
  return out;
}

bool is_axis_name(std::string_view name) {
  return !name.empty() && name[0] >= 'a' && name[0] <= 'z' &&
         std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_value_name(std::string_view name) {
  return name.size() > 1 && name[0] == 'v' &&
         std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace edge_infer::loop
