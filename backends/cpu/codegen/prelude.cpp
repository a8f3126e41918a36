#include "backends/cpu/codegen/prelude.h"

#include <map>
#include <vector>

#include "backends/cpu/codegen/embedded_sources.h"

namespace edge_infer::cpu_codegen {
namespace {

struct Segment {
  std::string_view text;
  std::vector<size_t> needs;  // segments, each once
};

struct Prelude {
  std::string_view head;
  std::vector<Segment> segments;
  std::map<std::string_view, size_t> by_name;

  Prelude() {
    constexpr std::string_view kMark = "\n//@ ";
    std::string_view rest = embedded::prelude();
    size_t at = rest.find(kMark);
    head = rest.substr(0, at + 1);
    while (at != std::string_view::npos) {
      rest = rest.substr(at + kMark.size());
      const size_t names_end = rest.find('\n');
      for_each_identifier(rest.substr(0, names_end),
                          [this](std::string_view name) { by_name.emplace(name, segments.size()); });
      at = rest.find(kMark);
      segments.push_back(
          {.text = rest.substr(names_end + 1, at == std::string_view::npos ? at : at - names_end),
           .needs = {}});
    }
    for (Segment& segment : segments)
      for_each_identifier(segment.text, [&](std::string_view name) {
        if (const auto it = by_name.find(name); it != by_name.end()) segment.needs.push_back(it->second);
      });
  }
};

void choose(const Prelude& prelude, size_t index, std::vector<bool>& chosen) {
  if (chosen[index]) return;
  chosen[index] = true;
  for (const size_t needed : prelude.segments[index].needs) choose(prelude, needed, chosen);
}

}  // namespace

std::string select_prelude(std::string_view kernel) {
  static const Prelude prelude;
  std::vector<bool> chosen(prelude.segments.size());
  for_each_identifier(kernel, [&](std::string_view name) {
    if (const auto it = prelude.by_name.find(name); it != prelude.by_name.end())
      choose(prelude, it->second, chosen);
  });
  std::string text(prelude.head);
  for (size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i]) text += prelude.segments[i].text;
  return text;
}

}  // namespace edge_infer::cpu_codegen
