#include "apps/index/word_runs.h"

#include <algorithm>
#include <functional>
#include <string>

#include "apps/index/text_query.h"

namespace edge_infer {
namespace {

constexpr size_t kRunWords = 3;

uint64_t hash_word(std::string_view word) {
  std::string lower(word);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return std::hash<std::string_view>{}(lower);
}

}  // namespace

WordRuns::WordRuns(std::string_view text) {
  std::vector<uint64_t> words;
  for (const std::string_view word : split_words(text)) words.push_back(hash_word(word));
  const size_t length = std::min(kRunWords, words.size());
  for (size_t i = 0; length > 0 && i + length <= words.size(); ++i) {
    uint64_t hash = 0;
    for (size_t j = i; j < i + length; ++j) hash = (hash ^ words[j]) * 0x9E3779B97F4A7C15;
    hashes_.push_back(hash);
  }
  std::sort(hashes_.begin(), hashes_.end());
  hashes_.erase(std::unique(hashes_.begin(), hashes_.end()), hashes_.end());
}

bool WordRuns::is_like(const WordRuns& other) const {
  const std::vector<uint64_t>&a = hashes_, &b = other.hashes_;
  if (a.empty() || a.size() * 5 < b.size() * 4 || b.size() * 5 < a.size() * 4) return false;
  size_t shared = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) ++shared;
    const bool next_a = a[i] <= b[j], next_b = b[j] <= a[i];
    i += next_a ? 1 : 0;
    j += next_b ? 1 : 0;
  }
  return shared * 5 >= (a.size() + b.size() - shared) * 4;
}

}  // namespace edge_infer
