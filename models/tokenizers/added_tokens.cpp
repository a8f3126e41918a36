#include "models/tokenizers/added_tokens.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace edge_infer {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// The character that ends right before `at` (at > 0).
uint32_t code_before(std::string_view text, size_t at) {
  size_t begin = at - 1;
  while (begin > 0 && at - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) --begin;
  const unicode::Decoded found = unicode::decode(bytes_of(text) + begin, bytes_of(text) + at);
  return begin + found.length == at ? found.code : unicode::kReplacement;
}

uint32_t code_at(std::string_view text, size_t at) {
  return unicode::decode(bytes_of(text) + at, bytes_of(text) + text.size()).code;
}

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(const std::vector<AddedToken>& tokens,
                                     const std::vector<std::string>& patterns)
    : tokens_(tokens) {
  if (tokens.empty()) return;
  std::vector<std::map<unsigned char, uint32_t>> children(1);
  nodes_.resize(1);
  for (size_t i = 0; i < patterns.size(); ++i) {
    lengths_.push_back(static_cast<uint32_t>(patterns[i].size()));
    uint32_t node = 0;
    for (const char c : patterns[i]) {
      const auto [edge, added] =
          children[node].try_emplace(static_cast<unsigned char>(c), static_cast<uint32_t>(nodes_.size()));
      const uint32_t target = edge->second;
      if (added) {
        children.emplace_back();
        nodes_.push_back({.depth = nodes_[node].depth + 1});
      }
      node = target;
    }
    if (nodes_[node].match < 0) nodes_[node].match = static_cast<int32_t>(i);
    starts_[static_cast<unsigned char>(patterns[i][0])] = true;
  }
  for (size_t node = 0; node < children.size(); ++node) {
    nodes_[node].first_edge = static_cast<uint32_t>(edges_.size());
    nodes_[node].edge_count = static_cast<uint32_t>(children[node].size());
    for (const auto& [byte, target] : children[node]) edges_.push_back({byte, target});
  }
  if (std::ranges::count(starts_, true) == 1)
    single_start_ = static_cast<int>(std::ranges::find(starts_, true) - starts_.begin());

  // Breadth first, so that the node a failure leads to is done. Behind a match nothing that begins later may
  // win: such nodes fail to kDead.
  std::vector<uint32_t> queue = {0};
  std::vector<bool> behind_match(nodes_.size(), false);
  for (size_t head = 0; head < queue.size(); ++head) {
    const uint32_t parent = queue[head];
    for (const auto& [byte, target] : children[parent]) {
      queue.push_back(target);
      Node& node = nodes_[target];
      behind_match[target] = behind_match[parent] || node.match >= 0;
      if (behind_match[target]) {
        node.fail = kDead;
        continue;
      }
      node.fail = 0;
      if (parent == 0) continue;
      for (int32_t up = nodes_[parent].fail; up != kDead; up = nodes_[static_cast<size_t>(up)].fail) {
        if (const int32_t next = child(static_cast<uint32_t>(up), byte); next >= 0) {
          node.fail = next;
          break;
        }
        if (up == 0) break;
      }
      node.match = nodes_[static_cast<size_t>(node.fail)].match;
    }
  }
}

int32_t AddedTokenMatcher::child(uint32_t node, unsigned char byte) const {
  const auto* first = edges_.data() + nodes_[node].first_edge;
  const auto* last = first + nodes_[node].edge_count;
  const auto* edge =
      std::lower_bound(first, last, byte, [](const Edge& e, unsigned char b) { return e.byte < b; });
  return edge != last && edge->byte == byte ? static_cast<int32_t>(edge->target) : -1;
}

size_t AddedTokenMatcher::next_candidate(std::string_view text, size_t from) const {
  if (tokens_.empty() || from >= text.size()) return text.size();
  if (single_start_ >= 0) {
    const void* found = std::memchr(text.data() + from, single_start_, text.size() - from);
    return found == nullptr ? text.size()
                            : static_cast<size_t>(static_cast<const char*>(found) - text.data());
  }
  while (from < text.size() && !starts_[static_cast<unsigned char>(text[from])]) ++from;
  return from;
}

void AddedTokenMatcher::accept(std::string_view text, size_t begin, size_t end, const AddedToken& token,
                               size_t& covered, std::vector<AddedMatch>& out) const {
  if (token.single_word) {
    const bool word_before = begin > 0 && unicode::is_word(code_before(text, begin));
    const bool word_behind = end < text.size() && unicode::is_word(code_at(text, end));
    if (word_before || word_behind) return;
  }
  if (token.lstrip) {
    while (begin > covered) {
      size_t at = begin - 1;
      while (at > 0 && begin - at < 4 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
      if (!unicode::is_white_space(code_before(text, begin))) break;
      begin = at;
    }
    begin = std::max(begin, covered);
  }
  if (token.rstrip)
    while (end < text.size() && unicode::is_white_space(code_at(text, end)))
      end += unicode::decode(bytes_of(text) + end, bytes_of(text) + text.size()).length;
  out.push_back({begin, end, token.id});
  covered = end;
}

void AddedTokenMatcher::find(std::string_view text, std::vector<AddedMatch>& out) const {
  size_t covered = 0;
  size_t at = next_candidate(text, 0);
  uint32_t node = 0;
  int32_t best = -1;
  size_t best_end = 0;
  while (true) {
    bool dead = at >= text.size();
    while (!dead) {
      const int32_t next = child(node, static_cast<unsigned char>(text[at]));
      if (next >= 0) {
        node = static_cast<uint32_t>(next);
        ++at;
        break;
      }
      if (node == 0) {
        at = next_candidate(text, at + 1);
        dead = at >= text.size();
        continue;
      }
      if (nodes_[node].fail == kDead)
        dead = true;
      else
        node = static_cast<uint32_t>(nodes_[node].fail);
    }
    if (!dead && nodes_[node].match >= 0) {
      best = nodes_[node].match;
      best_end = at;
    }
    if (!dead) continue;
    if (best < 0) return;
    const auto token = static_cast<size_t>(best);
    accept(text, best_end - lengths_[token], best_end, tokens_[token], covered, out);
    at = next_candidate(text, best_end);
    node = 0;
    best = -1;
  }
}

}  // namespace edge_infer
