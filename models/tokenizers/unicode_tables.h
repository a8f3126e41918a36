// Character classes as Hugging Face `tokenizers` uses them (see make_unicode_tables.py): ascending ranges.
#pragma once

#include <cstdint>
#include <span>

namespace edge_infer::unicode {

struct CodeRange {
  uint32_t first, last;  // inclusive
};
struct CodePair {
  uint32_t from, to;
};

extern const std::span<const CodeRange> kControl, kChinese, kWhiteSpace, kPunctuation, kWord, kNumeric,
    kNonspacingMark, kMark, kNonStarter, kCanonicalDecomposition, kCompatibleDecomposition;
extern const std::span<const CodePair> kLowerCaseExtra;  // ascending by `from`

}  // namespace edge_infer::unicode
