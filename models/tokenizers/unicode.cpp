#include "models/tokenizers/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace edge_infer::unicode {
namespace {

constexpr uint32_t kCapitalDottedI = 0x130, kCombiningDotAbove = 0x307;
constexpr uint32_t kCapitalSigma = 0x3a3, kFinalSigma = 0x3c2;
constexpr int kMaxDecomposition = 32;  // the longest there is has 18 characters

uint8_t combining_class(uint32_t code) {
  if (code < 0x300 || !contains(kNonStarter, code)) return 0;
  return static_cast<uint8_t>(utf8proc_get_property(static_cast<utf8proc_int32_t>(code))->combining_class);
}

// The full decomposition of one character, itself when it has none.
int decompose(uint32_t code, bool compatible, uint32_t* out) {
  out[0] = code;
  if (code < 0xa0 || !contains(compatible ? kCompatibleDecomposition : kCanonicalDecomposition, code))
    return 1;
  utf8proc_int32_t buffer[kMaxDecomposition];
  int last_class = 0;
  const int options = UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
  const auto n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), buffer, kMaxDecomposition,
                                         static_cast<utf8proc_option_t>(options), &last_class);
  if (n < 1 || n > kMaxDecomposition) return 1;
  for (int i = 0; i < n; ++i) out[i] = static_cast<uint32_t>(buffer[i]);
  return static_cast<int>(n);
}

// Stable and linear: few marks by insertion, many by counting.
void sort_by_class(std::vector<uint32_t>& run, std::vector<uint32_t>& spare) {
  constexpr size_t kFew = 16;
  if (run.size() <= kFew) {
    for (size_t i = 1; i < run.size(); ++i)
      for (size_t k = i; k > 0 && combining_class(run[k]) < combining_class(run[k - 1]); --k)
        std::swap(run[k], run[k - 1]);
    return;
  }
  std::array<size_t, 257> place{};  // of class c: where its next mark goes
  for (const uint32_t code : run) ++place[combining_class(code) + size_t{1}];
  for (size_t c = 1; c < place.size(); ++c) place[c] += place[c - 1];
  spare.resize(run.size());
  for (const uint32_t code : run) spare[place[combining_class(code)]++] = code;
  run.swap(spare);
}

// Sorts each run of combining marks by class; equal classes keep their order. The places that the run takes
// in the input keep their order too: only the characters move.
void order_marks(CodeText& text) {
  std::vector<uint32_t> run, spare;
  for (size_t i = 0; i < text.size();) {
    if (combining_class(text[i].code) == 0) {
      ++i;
      continue;
    }
    run.clear();
    for (size_t end = i; end < text.size() && combining_class(text[end].code) != 0; ++end)
      run.push_back(text[end].code);
    if (run.size() > 1) sort_by_class(run, spare);
    for (const uint32_t code : run) text[i++].code = code;
  }
}

void decompose_all(bool compatible, CodeText& text) {
  const bool plain = std::ranges::all_of(text, [&](const CodeChar& c) {
    return c.code < 0xa0 ||
           !contains(compatible ? kCompatibleDecomposition : kCanonicalDecomposition, c.code);
  });
  if (!plain) {
    CodeText out;
    out.reserve(text.size() + text.size() / 4);
    uint32_t parts[kMaxDecomposition];
    for (const CodeChar& c : text) {
      const int n = decompose(c.code, compatible, parts);
      for (int i = 0; i < n; ++i) out.push_back({parts[i], c.begin, c.end});
    }
    text.swap(out);
  }
  order_marks(text);
}

using Pairs = std::map<std::pair<uint32_t, uint32_t>, uint32_t>;

// (first, second) -> primary composite, from the decompositions; Hangul is computed.
Pairs make_pairs() {
  Pairs pairs;
  std::map<std::vector<uint32_t>, uint32_t> whole;  // full decomposition -> character
  std::vector<std::pair<std::vector<uint32_t>, uint32_t>> all;
  for (const CodeRange range : kCanonicalDecomposition) {
    for (uint32_t code = range.first; code <= range.last; ++code) {
      if (code >= 0xac00 && code <= 0xd7a3) continue;
      if (utf8proc_get_property(static_cast<utf8proc_int32_t>(code))->comp_exclusion) continue;
      uint32_t parts[kMaxDecomposition];
      const int n = decompose(code, false, parts);
      if (n < 2) continue;
      std::vector<uint32_t> full(parts, parts + n);
      whole.emplace(full, code);
      all.emplace_back(std::move(full), code);
    }
  }
  for (const auto& [full, code] : all) {
    const std::vector<uint32_t> head(full.begin(), full.end() - 1);
    const auto first = whole.find(head);
    if (head.size() == 1) {
      pairs.emplace(std::pair(head[0], full.back()), code);
    } else if (first != whole.end()) {
      pairs.emplace(std::pair(first->second, full.back()), code);
    }
  }
  return pairs;
}

// 0 when the two do not compose.
uint32_t compose(uint32_t first, uint32_t second) {
  constexpr uint32_t kL = 0x1100, kV = 0x1161, kT = 0x11a7, kS = 0xac00;
  if (first >= kL && first < kL + 19 && second >= kV && second < kV + 21)
    return kS + ((first - kL) * 21 + (second - kV)) * 28;
  if (first >= kS && first < kS + 11172 && (first - kS) % 28 == 0 && second > kT && second < kT + 28)
    return first + (second - kT);
  static const Pairs pairs = make_pairs();
  const auto found = pairs.find({first, second});
  return found == pairs.end() ? 0 : found->second;
}

// Composes a decomposed, ordered text in place.
void compose_all(CodeText& text) {
  constexpr size_t kNone = SIZE_MAX;
  size_t starter = kNone, out = 0;
  int last_class = -1;  // of what was kept since the starter; -1: nothing
  for (size_t i = 0; i < text.size(); ++i) {
    const CodeChar c = text[i];
    const int mark_class = combining_class(c.code);
    const bool blocked = last_class >= mark_class && last_class != -1;
    if (starter != kNone && !blocked) {
      if (const uint32_t composite = compose(text[starter].code, c.code); composite != 0) {
        text[starter].code = composite;
        text[starter].end = std::max(text[starter].end, c.end);
        continue;
      }
    }
    if (mark_class == 0) {
      starter = out;
      last_class = -1;
    } else {
      last_class = mark_class;
    }
    text[out++] = c;
  }
  text.resize(out);
}

uint32_t lower(uint32_t code) {
  if (code < 0x80) return code >= 'A' && code <= 'Z' ? code + 32 : code;
  const auto extra = std::ranges::lower_bound(kLowerCaseExtra, code, {}, &CodePair::from);
  if (extra != kLowerCaseExtra.end() && extra->from == code) return extra->to;
  return static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
}

bool is_cased(uint32_t code) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
      return true;
    default:
      return false;
  }
}

bool is_case_ignorable(uint32_t code) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return code == '\'' || code == '.' || code == ':' || code == 0xb7 || code == 0x2019;
  }
}

}  // namespace

bool contains(std::span<const CodeRange> ranges, uint32_t code) {
  const auto range = std::ranges::lower_bound(ranges, code, {}, &CodeRange::last);
  return range != ranges.end() && range->first <= code;
}

bool intersects(std::span<const CodeRange> ranges, uint32_t first, uint32_t last) {
  const auto range = std::ranges::lower_bound(ranges, first, {}, &CodeRange::last);
  return range != ranges.end() && range->first <= last;
}

bool is_white_space(uint32_t code) {
  if (code < 0x80) return code == ' ' || (code >= 9 && code <= 13);
  return contains(kWhiteSpace, code);
}

bool is_punctuation(uint32_t code) {
  if (code < 0x80)
    return (code >= 33 && code <= 47) || (code >= 58 && code <= 64) || (code >= 91 && code <= 96) ||
           (code >= 123 && code <= 126);
  return contains(kPunctuation, code);
}

void normalize(Form form, CodeText& text) {
  if (std::ranges::all_of(text, [](const CodeChar& c) { return c.code < 0xa0; })) return;
  decompose_all(form == Form::kNfkc || form == Form::kNfkd, text);
  if (form == Form::kNfc || form == Form::kNfkc) compose_all(text);
}

void lower_case(CodeText& text) {
  size_t dotted = 0;
  for (CodeChar& c : text) {
    if (c.code == kCapitalDottedI)
      ++dotted;
    else
      c.code = lower(c.code);
  }
  if (dotted == 0) return;
  CodeText out;
  out.reserve(text.size() + dotted);
  for (const CodeChar& c : text) {
    if (c.code != kCapitalDottedI) {
      out.push_back(c);
      continue;
    }
    out.push_back({'i', c.begin, c.end});
    out.push_back({kCombiningDotAbove, c.begin, c.end});
  }
  text.swap(out);
}

void lower_case_words(CodeText& text) {
  // Final: behind a cased letter and not in front of one, whatever case-ignorable characters lie between.
  bool after_cased = false;
  size_t pending = SIZE_MAX;
  for (size_t i = 0; i < text.size(); ++i) {
    const uint32_t code = text[i].code;
    if (is_case_ignorable(code)) continue;
    const bool cased = is_cased(code);
    if (pending != SIZE_MAX && !cased) text[pending].code = kFinalSigma;
    pending = code == kCapitalSigma && after_cased ? i : SIZE_MAX;
    after_cased = cased;
  }
  if (pending != SIZE_MAX) text[pending].code = kFinalSigma;
  lower_case(text);
}

}  // namespace edge_infer::unicode
