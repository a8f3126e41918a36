#include "apps/documents/chunker.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "apps/documents/pieces.h"

namespace edge_infer {
namespace {

constexpr int64_t kMinTextTokens = 16;

// A piece in its document.
struct Unit {
  const Block* block = nullptr;
  Piece piece;
  bool repeated = false;  // overlap, or a table's header row again
  bool is(Block::Kind kind) const { return block->kind == kind; }
};

class Chunker {
 public:
  Chunker(const Document& document, const Tokenizer& tokenizer, const ChunkOptions& options)
      : document_(document), tokenizer_(tokenizer), options_(options), cutter_(tokenizer, options.stop) {
    const int64_t prompt = options.prompt.empty() ? 0 : cutter_.count(options.prompt);
    room_ = std::max(kMinTextTokens, options.max_tokens - tokenizer.special_tokens() - prompt);
    most_ = room_ + tokenizer.special_tokens() + prompt;
  }

  std::vector<Chunk> run() {
    for (next_ = 0; next_ < document_.blocks.size() && !is_stopped(); ++next_) {
      const Block& block = document_.blocks[next_];
      if (block.kind == Block::Kind::kHeading) {
        add_heading(block);
      } else {
        add_block(block);
      }
      ahead_.pop_front();
    }
    flush(false);
    return std::move(chunks_);
  }

 private:
  bool is_stopped() const { return options_.stop && options_.stop(); }

  // --- sections ---

  void add_heading(const Block& block) {
    const bool only_headings =
        std::all_of(open_.begin(), open_.end(), [](const Unit& u) { return u.is(Block::Kind::kHeading); });
    if (!only_headings && (block.level <= 2 || open_tokens_ * 2 >= budget() || !section_fits())) flush(false);
    table_header_ = nullptr;
    const auto level = static_cast<size_t>(block.level);
    for (size_t i = level; i < path_.size(); ++i) path_[i] = nullptr;
    path_[level] = &block;
    for (const Piece& piece : pieces_of(next_)) add({&block, piece, false});
  }

  // Whether the section under the next block, a heading, goes into the open chunk as a whole: up to the next
  // heading, or with the first subsection where it begins with one.
  bool section_fits() {
    const std::vector<Block>& blocks = document_.blocks;
    int64_t total = open_tokens_;
    bool body = false;
    for (size_t i = next_; i < blocks.size(); ++i) {
      const bool heading = blocks[i].kind == Block::Kind::kHeading;
      if (heading && i > next_ && (body || blocks[i].level <= blocks[i - 1].level)) return true;
      body |= !heading;
      for (const Piece& piece : pieces_of(i)) total += piece.tokens;
      if (total > budget()) return false;
    }
    return true;
  }

  // The pieces of a block at or after the next one. Each block is cut once.
  const std::vector<Piece>& pieces_of(size_t block) {
    while (next_ + ahead_.size() <= block)
      ahead_.push_back(cutter_.cut(document_.blocks[next_ + ahead_.size()], room_ / 2, part()));
    return ahead_[block - next_];
  }

  // The path of headings, outermost first, down to but without `until` (null: all), bounded to a quarter of
  // the room: outer headings are left out first, then words of the last one.
  std::string path_text(const Block* until) {
    std::vector<std::string_view> names;
    for (const Block* heading : path_) {
      if (heading == until && until != nullptr) break;
      if (heading != nullptr) names.push_back(heading->text);
    }
    std::string path;
    for (size_t i = names.size(); i-- > 0;) {
      std::string longer(names[i].substr(0, 4096));
      std::replace(longer.begin(), longer.end(), '\n', ' ');
      if (!path.empty()) longer += " > " + path;
      if (cutter_.count(longer) > room_ / 4) break;
      path = std::move(longer);
    }
    return path;
  }

  // The path that all of these headings are on or below. Those without a text of their own are many at once.
  std::string common_path(const std::vector<Unit>& headings) {
    // The open path is the last one's; its part behind a heading that is closed by now leads elsewhere.
    // Blocks of a document lie one behind the other.
    const Block* shared = headings.back().block;
    for (const Unit& unit : headings) {
      if (path_[static_cast<size_t>(unit.block->level)] == unit.block) continue;
      shared = unit.block;
      break;
    }
    for (const Block* heading : path_)
      if (heading != nullptr && heading > shared) return path_text(heading);
    return path_text(nullptr);
  }

  // The size of parts of what has no sentences: one of them still serves as overlap.
  int64_t part() const { return std::clamp<int64_t>(options_.overlap_tokens, 8, room_ / 2); }

  int64_t budget() const { return room_ - prefix_tokens_; }

  // --- packing ---

  void add_block(const Block& block) {
    const bool row = block.kind == Block::Kind::kTableRow;
    if (!row) table_header_ = nullptr;
    const std::vector<Piece>& pieces = pieces_of(next_);
    int64_t total = 0;
    for (const Piece& piece : pieces) total += piece.tokens;
    // A block that fits the next chunk as a whole is not cut for the rest of this one.
    if (open_tokens_ + total > budget() && open_tokens_ * 10 >= budget() * 6 && total <= room_ * 3 / 4)
      flush(true);
    for (const Piece& piece : pieces) {
      if (is_stopped()) return;
      add({&block, piece, false});
    }
    if (row && block.header) table_header_ = &block;
  }

  void add(const Unit& unit) {
    if (open_tokens_ + unit.piece.tokens > budget()) flush(!unit.is(Block::Kind::kHeading));
    // Overlap that leaves no room for what it leads to is of no use.
    if (open_tokens_ + unit.piece.tokens > budget() && is_all_repeated()) clear();
    push(unit);
  }

  void push(const Unit& unit) {
    if (open_.empty()) begin_chunk(unit);
    if (!named_ && !unit.is(Block::Kind::kHeading)) {
      heading_ = path_text(nullptr);
      named_ = true;
    }
    open_.push_back(unit);
    open_tokens_ += unit.piece.tokens;
  }

  void begin_chunk(const Unit& unit) {
    const bool heading = unit.is(Block::Kind::kHeading);
    prefix_ = path_text(heading ? unit.block : nullptr);
    prefix_tokens_ = prefix_.empty() ? 0 : cutter_.count(prefix_);
  }

  bool is_all_repeated() const {
    return std::all_of(open_.begin(), open_.end(), [](const Unit& unit) { return unit.repeated; });
  }

  void clear() {
    open_.clear();
    open_tokens_ = 0;
    prefix_.clear();
    prefix_tokens_ = 0;
    named_ = false;
  }

  // Ends the open chunk. `goes_on`: the section continues, so the next chunk begins with overlap.
  void flush(bool goes_on) {
    if (is_all_repeated()) return goes_on ? void() : clear();
    // A heading stays with what it is a heading of.
    size_t kept = open_.size();
    while (goes_on && kept > 0 && open_[kept - 1].is(Block::Kind::kHeading)) --kept;
    if (kept == 0) kept = open_.size();
    const std::vector<Unit> carried(open_.begin() + static_cast<std::ptrdiff_t>(kept), open_.end());
    open_.resize(kept);
    const std::vector<Unit> last = emit();
    clear();
    if (carried.empty() && goes_on) {
      for (const Unit& unit : overlap_of(last)) push(unit);
    }
    for (const Unit& unit : carried) push(unit);
  }

  // What the next chunk repeats of the units of the last one.
  std::vector<Unit> overlap_of(const std::vector<Unit>& units) {
    std::vector<Unit> repeated;
    if (units.empty()) return repeated;
    if (units.back().is(Block::Kind::kTableRow)) {
      if (table_header_ == nullptr) return repeated;
      const int64_t tokens = cutter_.count(table_header_->text);
      const auto size = static_cast<int64_t>(table_header_->text.size());
      if (tokens * 3 < room_ && size < 32 * room_)
        repeated.push_back({table_header_, {0, size, tokens}, true});
      return repeated;
    }
    int64_t tokens = 0;
    for (size_t i = units.size(); i-- > 0;) {
      const Unit& unit = units[i];
      tokens += unit.piece.tokens;
      const bool sentence =
          unit.is(Block::Kind::kParagraph) || unit.is(Block::Kind::kListItem) || unit.is(Block::Kind::kCode);
      if (!sentence || tokens > options_.overlap_tokens || tokens * 2 > room_) break;
      repeated.insert(repeated.begin(), unit);
      repeated.front().repeated = true;
    }
    return repeated.size() == units.size() ? std::vector<Unit>() : repeated;
  }

  // --- output ---

  // Makes chunks of the open units: one, unless the tokenizer counts more in the joined text than in its
  // pieces. Returns the units of the last one.
  std::vector<Unit> emit() {
    std::deque<Unit> rest(open_.begin(), open_.end());
    std::vector<Unit> units;
    while (!rest.empty()) {
      units.assign(rest.begin(), rest.end());
      rest.clear();
      while (!write(units)) {
        if (units.size() > 1) {
          rest.push_front(units.back());
          units.pop_back();
        } else if (!prefix_.empty()) {
          prefix_.clear();
        } else {
          rest.push_front(halve(units.back()));
        }
      }
    }
    return units;
  }

  // Cuts a unit in the middle, at a word if possible: it keeps the first part and returns the second.
  static Unit halve(Unit& unit) {
    const std::string& text = unit.block->text;
    int64_t middle = unit.piece.begin + (unit.piece.end - unit.piece.begin) / 2;
    const auto at = [&](int64_t i) { return static_cast<unsigned char>(text[static_cast<size_t>(i)]); };
    for (int64_t i = middle; i > unit.piece.begin + (middle - unit.piece.begin) / 2; --i)
      if (at(i) == ' ' || at(i) == '\n') {
        middle = i;
        break;
      }
    // The start of a character; in bytes that are no text, the middle itself.
    for (int i = 0; i < 3 && middle > unit.piece.begin + 1 && (at(middle) & 0xc0) == 0x80; ++i) --middle;
    Unit second = unit;
    second.piece.begin = middle;
    unit.piece.end = middle;
    unit.piece.tokens = second.piece.tokens = (unit.piece.tokens + 1) / 2;
    return second;
  }

  static std::string_view separator(const Unit& before, const Unit& unit) {
    const bool close =
        before.block->kind == unit.block->kind &&
        (unit.is(Block::Kind::kListItem) || unit.is(Block::Kind::kTableRow) || unit.is(Block::Kind::kCode));
    return close ? "\n" : "\n\n";
  }

  static std::string join(const std::vector<Unit>& units) {
    std::string text;
    for (size_t i = 0; i < units.size(); ++i) {
      const Piece& piece = units[i].piece;
      int64_t from = piece.begin;
      if (i > 0) {
        const Unit& before = units[i - 1];
        if (before.block == units[i].block && before.piece.end <= from) {
          from = before.piece.end;  // with the white space between two pieces of a block
        } else {
          text += separator(before, units[i]);
        }
      }
      text.append(units[i].block->text, static_cast<size_t>(from), static_cast<size_t>(piece.end - from));
    }
    return text;
  }

  // False: the tokenizer counts more than fit, and there is something left to give up.
  bool write(const std::vector<Unit>& units) {
    Chunk chunk;
    chunk.text = join(units);
    chunk.embedded = prefix_.empty() ? chunk.text : prefix_ + "\n\n" + chunk.text;
    if (options_.prompt.empty()) {
      tokenizer_.encode(chunk.embedded, 0, encoding_);
    } else {
      tokenizer_.encode(options_.prompt + chunk.embedded, 0, encoding_);
    }
    chunk.tokens = encoding_.tokens;
    const bool smallest =
        units.size() == 1 && prefix_.empty() && units[0].piece.end - units[0].piece.begin <= 4;
    if (chunk.tokens > most_ && !smallest) return false;
    chunk.heading = named_ ? heading_ : common_path(units);
    place(units, chunk);
    if (chunk.text.find_first_not_of(" \n\t") != std::string::npos) chunks_.push_back(std::move(chunk));
    return true;
  }

  static void place(const std::vector<Unit>& units, Chunk& chunk) {
    bool first = true;
    for (const Unit& unit : units) {
      if (unit.repeated && unit.is(Block::Kind::kTableRow)) continue;
      const ByteRange range = source_range(*unit.block, unit.piece.begin, unit.piece.end);
      chunk.start = first ? range.start : std::min(chunk.start, range.start);
      chunk.end = first ? range.end : std::max(chunk.end, range.end);
      if (first) chunk.page = unit.block->page;
      first = false;
    }
  }

  const Document& document_;
  const Tokenizer& tokenizer_;
  const ChunkOptions& options_;
  PieceCutter cutter_;
  int64_t room_ = 0, most_ = 0;

  size_t next_ = 0;                       // the block being added
  std::deque<std::vector<Piece>> ahead_;  // pieces of it and of those behind it that were looked at
  std::array<const Block*, 7> path_{};    // open headings by level
  const Block* table_header_ = nullptr;
  std::vector<Unit> open_;
  int64_t open_tokens_ = 0;
  std::string prefix_, heading_;
  int64_t prefix_tokens_ = 0;
  bool named_ = false;  // heading_ is the open chunk's
  Encoding encoding_;
  std::vector<Chunk> chunks_;
};

}  // namespace

std::vector<Chunk> chunk_document(const Document& document, const Tokenizer& tokenizer,
                                  const ChunkOptions& options) {
  return Chunker(document, tokenizer, options).run();
}

}  // namespace edge_infer
