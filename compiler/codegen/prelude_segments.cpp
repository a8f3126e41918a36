#include "compiler/codegen/prelude_segments.h"

namespace edge_infer::codegen {

PreludeSegments::PreludeSegments(std::string_view text) {
  constexpr std::string_view kMark = "\n//@ ";
  size_t at = text.find(kMark);
  head_ = text.substr(0, at + 1);
  while (at != std::string_view::npos) {
    text = text.substr(at + kMark.size());
    const size_t names_end = text.find('\n');
    for_each_identifier(text.substr(0, names_end),
                        [this](std::string_view name) { by_name_.emplace(name, segments_.size()); });
    at = text.find(kMark);
    segments_.push_back(
        {.text = text.substr(names_end + 1, at == std::string_view::npos ? at : at - names_end),
         .needs = {}});
  }
  for (Segment& segment : segments_)
    for_each_identifier(segment.text, [&](std::string_view name) {
      if (const auto it = by_name_.find(name); it != by_name_.end()) segment.needs.push_back(it->second);
    });
}

void PreludeSegments::choose(size_t index, std::vector<bool>& chosen) const {
  if (chosen[index]) return;
  chosen[index] = true;
  for (const size_t needed : segments_[index].needs) choose(needed, chosen);
}

std::string PreludeSegments::select(std::string_view kernel) const {
  std::vector<bool> chosen(segments_.size());
  for_each_identifier(kernel, [&](std::string_view name) {
    if (const auto it = by_name_.find(name); it != by_name_.end()) choose(it->second, chosen);
  });
  std::string text(head_);
  for (size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i]) text += segments_[i].text;
  return text;
}

}  // namespace edge_infer::codegen
