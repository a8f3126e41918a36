#include "tests/conformance/exclusions.h"

namespace edge_infer::test {
namespace {

constexpr Exclusion kExclusions[] = {
    {"cpu.", "edge.rope", "all", "", Exclusion::kUnsupported,
     "no prebuilt kernel: decoders come with the generator"},
};

bool names(std::string_view list, std::string_view name) {
  if (list == "all") return true;
  for (size_t at = list.find(name); at != std::string_view::npos; at = list.find(name, at + 1)) {
    const bool begins = at == 0 || list[at - 1] == ' ';
    const bool ends = at + name.size() == list.size() || list[at + name.size()] == ' ';
    if (begins && ends) return true;
  }
  return false;
}

}  // namespace

std::span<const Exclusion> exclusions() {
  return kExclusions;
}

const Exclusion* find_exclusion(std::string_view device, const Case& c) {
  for (const Exclusion& e : kExclusions)
    if (device.starts_with(e.device) && e.op == c.op && names(e.dtypes, dtype_name(c.dtype)) &&
        c.label.find(e.label) != std::string::npos)
      return &e;
  return nullptr;
}

}  // namespace edge_infer::test
