#include "models/tokenizers/normalizers.h"

#include <algorithm>

namespace edge_infer {
namespace {

using unicode::contains;

void clean(CodeText& text) {
  std::erase_if(text, [](const CodeChar& c) { return contains(unicode::kControl, c.code); });
  for (CodeChar& c : text)
    if (unicode::is_white_space(c.code)) c.code = ' ';
}

void isolate_chinese(CodeText& text) {
  const auto is_chinese = [](const CodeChar& c) {
    return c.code >= 0x3400 && contains(unicode::kChinese, c.code);
  };
  const auto count = static_cast<size_t>(std::ranges::count_if(text, is_chinese));
  if (count == 0) return;
  CodeText out;
  out.reserve(text.size() + 2 * count);
  for (const CodeChar& c : text) {
    const bool chinese = is_chinese(c);
    if (chinese) out.push_back({' ', c.begin, c.end});
    out.push_back(c);
    if (chinese) out.push_back({' ', c.begin, c.end});
  }
  text.swap(out);
}

void strip_accents(CodeText& text) {
  unicode::normalize(unicode::Form::kNfd, text);
  std::erase_if(
      text, [](const CodeChar& c) { return c.code >= 0x300 && contains(unicode::kNonspacingMark, c.code); });
}

void apply_bert(const NormalizerStep& step, CodeText& text) {
  if (step.clean_text) clean(text);
  if (step.chinese_chars) isolate_chinese(text);
  if (step.strip_accents) strip_accents(text);
  if (step.lower_case) unicode::lower_case(text);
}

void strip(const NormalizerStep& step, CodeText& text) {
  const auto keep = [](const CodeChar& c) { return !unicode::is_white_space(c.code); };
  auto begin = text.begin(), end = text.end();
  if (step.left) begin = std::ranges::find_if(text, keep);
  if (step.right)
    while (end != begin && !keep(*(end - 1))) --end;
  text.erase(end, text.end());
  text.erase(text.begin(), begin);
}

void replace(const NormalizerStep& step, CodeText& text) {
  if (step.pattern.empty()) return;
  const auto same = [](const CodeChar& c, char32_t code) { return c.code == code; };
  CodeText out;
  auto at = text.begin();
  while (true) {
    const auto found = std::search(at, text.end(), step.pattern.begin(), step.pattern.end(), same);
    if (found == text.end()) break;
    const auto after = found + static_cast<ptrdiff_t>(step.pattern.size());
    out.insert(out.end(), at, found);
    for (const char32_t code : step.content) out.push_back({code, found->begin, (after - 1)->end});
    at = after;
  }
  if (at == text.begin()) return;
  out.insert(out.end(), at, text.end());
  text.swap(out);
}

void prepend(const NormalizerStep& step, CodeText& text) {
  if (text.empty()) return;
  CodeText out;
  out.reserve(text.size() + step.content.size());
  for (const char32_t code : step.content) out.push_back({code, text.front().begin, text.front().begin});
  out.insert(out.end(), text.begin(), text.end());
  text.swap(out);
}

// The rules of the normalizer "Nmt" of SentencePiece.
void apply_nmt(CodeText& text) {
  const auto removed = [](const CodeChar& c) {
    const uint32_t code = c.code;
    return (code >= 0x1 && code <= 0x8) || code == 0xb || (code >= 0xe && code <= 0x1f) || code == 0x7f ||
           code == 0x8f || code == 0x9f;
  };
  const auto space = [](uint32_t code) {
    return code == 0x9 || code == 0xa || code == 0xc || code == 0xd || code == 0x1680 ||
           (code >= 0x200b && code <= 0x200f) || code == 0x2028 || code == 0x2029 || code == 0x2581 ||
           code == 0xfeff || code == 0xfffd;
  };
  std::erase_if(text, removed);
  for (CodeChar& c : text)
    if (space(c.code)) c.code = ' ';
}

void apply(const NormalizerStep& step, CodeText& text) {
  switch (step.kind) {
    case NormalizerKind::kBert:
      return apply_bert(step, text);
    case NormalizerKind::kLowercase:
      return unicode::lower_case(text);
    case NormalizerKind::kNfc:
      return unicode::normalize(unicode::Form::kNfc, text);
    case NormalizerKind::kNfd:
      return unicode::normalize(unicode::Form::kNfd, text);
    case NormalizerKind::kNfkc:
      return unicode::normalize(unicode::Form::kNfkc, text);
    case NormalizerKind::kNfkd:
      return unicode::normalize(unicode::Form::kNfkd, text);
    case NormalizerKind::kStripAccents:
      std::erase_if(text,
                    [](const CodeChar& c) { return c.code >= 0x300 && contains(unicode::kMark, c.code); });
      return;
    case NormalizerKind::kStrip:
      return strip(step, text);
    case NormalizerKind::kReplace:
      return replace(step, text);
    case NormalizerKind::kPrepend:
      return prepend(step, text);
    case NormalizerKind::kNmt:
      return apply_nmt(text);
  }
}

}  // namespace

void apply_normalizers(std::span<const NormalizerStep> steps, CodeText& text) {
  for (const NormalizerStep& step : steps) apply(step, text);
}

}  // namespace edge_infer
