#include "tests/conformance/exclusions.h"

namespace edge_infer::test {
namespace {

constexpr Exclusion kExclusions[] = {
    {"cpu.", "edge.rope", "all", "", Exclusion::kUnsupported,
     "no prebuilt kernel: decoders come with the generator"},
    {"cpu.", "edge.varlen_attention", "f64", "", Exclusion::kUnsupported,
     "packed attention is a model's, in f32"},
    {"cpu.", "edge.segment_pool", "f64", "", Exclusion::kUnsupported, "pooling is a model's, in f32"},
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
