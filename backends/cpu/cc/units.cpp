#include "backends/cpu/cc/units.h"

namespace edge_infer {

std::vector<std::string_view> split_units(std::string_view source) {
  std::vector<std::string_view> units;
  while (true) {
    const size_t end = source.find(kUnitMark);
    units.push_back(source.substr(0, end));
    if (end == std::string_view::npos) return units;
    source.remove_prefix(end + kUnitMark.size());
  }
}

}  // namespace edge_infer
