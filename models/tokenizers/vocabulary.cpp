#include "models/tokenizers/vocabulary.h"

#include <algorithm>
#include <utility>

namespace edge_infer {
namespace {

constexpr uint32_t kMaxUnits = 1u << 30;
constexpr uint32_t kAlphabet = 256;

// Places the sorted tokens' nodes first fit, with the free units in a doubly linked list.
class Builder {
 public:
  explicit Builder(std::vector<VocabularyEntry> entries) : entries_(std::move(entries)) {
    std::ranges::sort(entries_, {}, &VocabularyEntry::token);
    std::erase_if(entries_, [](const VocabularyEntry& e) { return e.token.empty(); });
  }

  Result<VocabularyArrays> build() {
    grow(1024);
    take(0);
    take(kTrieRoot);
    struct Task {
      size_t begin, end, depth;
      uint32_t node;
    };
    std::vector<Task> tasks = {{0, entries_.size(), 0, kTrieRoot}};
    std::vector<Group> groups;
    while (!tasks.empty()) {
      const Task task = tasks.back();
      tasks.pop_back();
      size_t begin = task.begin;
      if (entries_[begin].token.size() == task.depth) {
        out_.units[task.node].base |= kTrieTerminal;
        out_.ids[task.node] = entries_[begin].id;
        ++begin;
      }
      group(begin, task.end, task.depth, groups);
      if (groups.empty()) continue;
      const uint32_t base = find_base(groups);
      if (out_.units.size() > kMaxUnits)
        return fail(ErrorCode::kResourceExhausted, "the vocabulary needs more than {} trie units", kMaxUnits);
      out_.units[task.node].base |= base;
      for (const Group& g : groups) {
        const uint32_t node = base + g.byte;
        take(node);
        out_.units[node].check = task.node;
        tasks.push_back({g.begin, g.end, task.depth + 1, node});
      }
    }
    // Room for any byte behind any base; units without a child keep base 0, whose units belong to others.
    uint32_t highest = 0;
    for (const TrieUnit& unit : out_.units) highest = std::max(highest, unit.base & kTrieBaseMask);
    out_.units.resize(highest + kAlphabet);
    out_.ids.resize(out_.units.size(), -1);
    return std::move(out_);
  }

 private:
  struct Group {
    unsigned char byte;
    size_t begin, end;
  };

  // The runs of entries with the same byte at `depth`.
  void group(size_t begin, size_t end, size_t depth, std::vector<Group>& out) const {
    out.clear();
    for (size_t i = begin; i < end; ++i) {
      const auto byte = static_cast<unsigned char>(entries_[i].token[depth]);
      if (out.empty() || out.back().byte != byte) out.push_back({byte, i, i});
      out.back().end = i + 1;
    }
  }

  uint32_t find_base(const std::vector<Group>& groups) {
    const uint32_t first = groups.front().byte;
    // Full neighbourhoods are skipped for good once they have cost many tries.
    int tries = 0;
    for (uint32_t unit = next_[0]; unit != 0; unit = next_[unit]) {
      if (unit <= first) continue;
      const uint32_t base = unit - first;
      while (base + kAlphabet > out_.units.size()) grow(out_.units.size() * 2);
      if (std::ranges::all_of(groups, [&](const Group& g) { return free_[base + g.byte]; })) {
        if (tries > 256) drop_before(unit);
        return base;
      }
      ++tries;
    }
    const auto size = static_cast<uint32_t>(out_.units.size());
    grow(size * 2);
    return size;
  }

  void drop_before(uint32_t unit) {
    // Gives up on free units far in front: they fit no group of usual size.
    uint32_t at = next_[0];
    int kept = 0;
    for (uint32_t back = previous_[unit]; back != 0 && kept < 64; back = previous_[back]) {
      at = back;
      ++kept;
    }
    if (at == next_[0]) return;
    for (uint32_t gone = next_[0]; gone != at; gone = next_[gone]) listed_[gone] = false;
    next_[0] = at;
    previous_[at] = 0;
  }

  void grow(size_t size) {
    const size_t old = out_.units.size();
    out_.units.resize(size);
    out_.ids.resize(size, -1);
    free_.resize(size, true);
    listed_.resize(size, true);
    next_.resize(size, 0);
    previous_.resize(size, 0);
    if (old == 0) last_ = 0;
    for (size_t unit = std::max<size_t>(old, 1); unit < size; ++unit) {
      next_[last_] = static_cast<uint32_t>(unit);
      previous_[unit] = last_;
      last_ = static_cast<uint32_t>(unit);
    }
  }

  void take(uint32_t unit) {
    free_[unit] = false;
    if (unit == 0 || !listed_[unit]) return;  // unit 0 is the list's head
    next_[previous_[unit]] = next_[unit];
    if (next_[unit] != 0)
      previous_[next_[unit]] = previous_[unit];
    else if (last_ == unit)
      last_ = previous_[unit];
  }

  std::vector<VocabularyEntry> entries_;
  VocabularyArrays out_;
  std::vector<bool> free_, listed_;
  std::vector<uint32_t> next_, previous_;
  uint32_t last_ = 0;
};

}  // namespace

Status Vocabulary::validate(int64_t vocabulary_size) const {
  if (units_.size() <= kTrieRoot || units_.size() != ids_.size() || units_.size() > kMaxUnits)
    return fail(ErrorCode::kCorruption, "vocabulary: found {} units and {} ids, expected as many",
                units_.size(), ids_.size());
  if (units_[kNoNode].base != 0)
    return fail(ErrorCode::kCorruption, "vocabulary: found base {} in unit 0, expected 0",
                units_[kNoNode].base);
  // Without branches, as this runs at each start; only a bad array is worth a second look.
  uint32_t highest = 0;
  uint32_t bad_ids = 0;
  const auto limit = static_cast<uint32_t>(vocabulary_size);
  for (size_t i = 0; i < units_.size(); ++i) {
    highest = std::max(highest, units_[i].base & kTrieBaseMask);
    bad_ids |= static_cast<uint32_t>((units_[i].base & kTrieTerminal) != 0) &
               static_cast<uint32_t>(static_cast<uint32_t>(ids_[i]) >= limit);
  }
  if (highest + size_t{kAlphabet} > units_.size())
    return fail(ErrorCode::kCorruption, "vocabulary: base {} points out of the {} units", highest,
                units_.size());
  if (bad_ids != 0) return fail(ErrorCode::kCorruption, "vocabulary: an id is not below {}", vocabulary_size);
  return {};
}

uint32_t Vocabulary::walk(uint32_t node, std::string_view text) const {
  for (const char c : text) {
    if (node == kNoNode) return kNoNode;
    node = child(node, static_cast<unsigned char>(c));
  }
  return node;
}

Result<VocabularyArrays> build_vocabulary(std::vector<VocabularyEntry> entries) {
  Builder builder(std::move(entries));
  return builder.build();
}

}  // namespace edge_infer
