#include "models/tokenizers/char_table.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "models/tokenizers/normalizers.h"

namespace edge_infer {
namespace {

constexpr uint32_t kBlocks = (unicode::kMaxCode + 1) / CharTable::kBlock;

CharEntry make(CharKind kind, uint32_t payload = 0) {
  return {static_cast<uint32_t>(kind) | payload << 3};
}

bool is_charwise(const NormalizerStep& step) {
  switch (step.kind) {
    case NormalizerKind::kBert:
    case NormalizerKind::kLowercase:
    case NormalizerKind::kStripAccents:
    case NormalizerKind::kNmt:
    case NormalizerKind::kNfd:
    case NormalizerKind::kNfkd:
      return true;
    default:
      return false;
  }
}

// Splits at white space and isolates punctuation, by whatever steps.
bool is_bert_like(const std::vector<PreTokenizerStep>& steps) {
  if (steps.size() == 1) return steps[0].kind == PreTokenizerKind::kBert;
  return steps.size() == 2 && steps[0].kind == PreTokenizerKind::kWhitespaceSplit &&
         steps[1].kind == PreTokenizerKind::kPunctuation && steps[1].behavior == SplitBehavior::kIsolated;
}

class Builder {
 public:
  explicit Builder(const TokenizerDefinition& definition) : steps_(definition.normalizers) {
    for (const NormalizerStep& step : steps_)
      reorders_ |= step.kind == NormalizerKind::kNfd || step.kind == NormalizerKind::kNfkd ||
                   (step.kind == NormalizerKind::kBert && step.strip_accents);
  }

  CharTableArrays build() {
    std::map<std::vector<uint32_t>, uint16_t> known;
    std::vector<uint32_t> block(CharTable::kBlock);
    for (uint32_t b = 0; b < kBlocks; ++b) {
      const uint32_t first = b * CharTable::kBlock;
      const bool plain = is_plain(first, first + CharTable::kBlock - 1);
      for (uint32_t i = 0; i < CharTable::kBlock; ++i)
        block[i] = plain ? make(CharKind::kSelf).bits : entry(first + i).bits;
      const auto [found, added] = known.try_emplace(block, static_cast<uint16_t>(known.size()));
      if (added)
        for (const uint32_t bits : block) out_.entries.push_back({bits});
      out_.blocks.push_back(found->second);
    }
    return std::move(out_);
  }

 private:
  // Whether no step changes these characters. The planes above the first two hold ideographs, private use and
  // a few controls: nothing that has case.
  static bool is_plain(uint32_t first, uint32_t last) {
    return first >= 0x20000 && !unicode::intersects(unicode::kControl, first, last) &&
           !unicode::intersects(unicode::kChinese, first, last) &&
           !unicode::intersects(unicode::kCompatibleDecomposition, first, last) &&
           !unicode::intersects(unicode::kMark, first, last) &&
           !unicode::intersects(unicode::kNonspacingMark, first, last);
  }

  CharEntry entry(uint32_t code) {
    if (code >= 0xd800 && code < 0xe000) return make(CharKind::kGeneral);  // cannot come out of UTF-8
    text_.assign(1, {code, 0, 1});
    apply_normalizers(steps_, text_);
    return classify(code);
  }

  CharEntry classify(uint32_t code) {
    if (text_.empty()) return make(CharKind::kDrop);
    const auto is_space = [](const CodeChar& c) { return unicode::is_white_space(c.code); };
    const auto is_mark = [](const CodeChar& c) { return unicode::is_non_starter(c.code); };
    const auto is_punctuation = [](const CodeChar& c) { return unicode::is_punctuation(c.code); };
    if (reorders_ && std::ranges::any_of(text_, is_mark)) return make(CharKind::kGeneral);
    if (std::ranges::all_of(text_, is_space)) return make(CharKind::kSpace);
    if (text_.size() == 1 && is_punctuation(text_[0])) return make(CharKind::kSingle, text_[0].code);
    if (text_.size() == 3 && is_space(text_[0]) && !is_space(text_[1]) && is_space(text_[2]))
      return make(CharKind::kSingle, text_[1].code);
    if (std::ranges::any_of(text_, is_space) || std::ranges::any_of(text_, is_punctuation))
      return make(CharKind::kGeneral);
    if (text_.size() == 1)
      return text_[0].code == code ? make(CharKind::kSelf) : make(CharKind::kMapped, text_[0].code);
    return several();
  }

  CharEntry several() {
    std::string bytes;
    for (const CodeChar& c : text_) unicode::append_utf8(c.code, bytes);
    if (bytes.size() > 255) return make(CharKind::kGeneral);
    const auto at = static_cast<uint32_t>(out_.pool.size());
    out_.pool.push_back(static_cast<char>(bytes.size()));
    out_.pool.push_back(static_cast<char>(text_.size()));
    out_.pool.insert(out_.pool.end(), bytes.begin(), bytes.end());
    return make(CharKind::kSeveral, at);
  }

  const std::vector<NormalizerStep>& steps_;
  bool reorders_ = false;
  CodeText text_;
  CharTableArrays out_;
};

}  // namespace

Status CharTable::validate() const {
  if (empty()) return {};
  if (blocks_.size() != kBlocks || entries_.size() % kBlock != 0)
    return fail(ErrorCode::kCorruption, "character table: found {} blocks, expected {}", blocks_.size(),
                kBlocks);
  const size_t count = entries_.size() / kBlock;
  if (std::ranges::any_of(blocks_, [&](uint16_t block) { return block >= count; }))
    return fail(ErrorCode::kCorruption, "character table: a block is not one of the {}", count);
  for (const CharEntry e : entries_) {
    if (e.kind() <= CharKind::kSingle && e.payload() <= unicode::kMaxCode) [[likely]]
      continue;
    const bool in_pool =
        e.kind() == CharKind::kSeveral && size_t{e.payload()} + 2 <= pool_.size() &&
        size_t{e.payload()} + 2 + static_cast<unsigned char>(pool_[e.payload()]) <= pool_.size();
    if (!in_pool && e.kind() != CharKind::kGeneral)
      return fail(ErrorCode::kCorruption, "character table: found entry {:#x}, which means nothing", e.bits);
  }
  return {};
}

CharTableArrays build_char_table(const TokenizerDefinition& definition) {
  if (!std::ranges::all_of(definition.normalizers, is_charwise) || !is_bert_like(definition.pre_tokenizers))
    return {};
  Builder builder(definition);
  return builder.build();
}

}  // namespace edge_infer
