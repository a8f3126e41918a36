#include "apps/documents/readers/builder.h"

#include <algorithm>
#include <utility>

#include "apps/documents/protocol.h"

namespace edge_infer {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 0x20 && byte != 0x7f) || byte == '\n' || byte == '\t';
}

size_t character_size(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  return std::min(size, text.size() - at);
}

const Origin& run_at(const std::vector<Origin>& runs, int64_t at) {
  const auto next = std::upper_bound(runs.begin(), runs.end(), at, [](int64_t offset, const Origin& run) {
    return offset < run.text_offset;
  });
  return next == runs.begin() ? runs.front() : *(next - 1);
}

}  // namespace

void DocumentBuilder::add(Block block) {
  if (block.text.empty() || !status_) return;
  const auto size = static_cast<int64_t>(block.text.size());
  text_bytes_ += size;
  if (text_bytes_ > limits_.text_bytes) {
    status_ = fail(ErrorCode::kResourceExhausted, "more than {} bytes of text", limits_.text_bytes);
    return;
  }
  if (static_cast<int64_t>(document_.blocks.size()) >= kMaxBlocks) {
    status_ = fail(ErrorCode::kResourceExhausted, "more than {} paragraphs", kMaxBlocks);
    return;
  }
  if (has_extracted_offsets(document_.format)) {
    if (!document_.blocks.empty()) extracted_ += 2;
    block.start = extracted_;
    extracted_ += size;
    block.end = extracted_;
    block.origins = {{0, block.start, 1, 1}};
  }
  document_.blocks.push_back(std::move(block));
}

Result<Document> DocumentBuilder::finish() && {
  EDGE_INFER_RETURN_IF_ERROR(status_);
  if (document_.blocks.empty()) return fail(ErrorCode::kUnsupported, "no text in it");
  // The title is shown in lists: one line, no control characters, a bounded length.
  std::string& title = document_.title;
  std::string clean;
  for (size_t i = 0; i < title.size() && clean.size() < 500;) {
    const size_t size = character_size(title, i);
    if (size == 1 && (!is_plain(title[i]) || is_space(title[i]))) {
      if (!clean.empty() && clean.back() != ' ') clean.push_back(' ');
    } else {
      clean.append(title, i, size);
    }
    i += size;
  }
  while (!clean.empty() && clean.back() == ' ') clean.pop_back();
  title = valid_utf8_prefix(clean) == clean.size() ? clean : "";
  return std::move(document_);
}

std::string clean_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t good = valid_utf8_prefix(text);
    for (const char c : text.substr(0, good)) out.push_back(is_plain(c) ? c : ' ');
    text.remove_prefix(good);
    if (text.empty()) break;
    out.append("\xef\xbf\xbd");
    text.remove_prefix(1);
  }
  return out;
}

Block make_block(std::string_view text, Block::Kind kind, int level) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  Block block;
  block.kind = kind;
  block.level = level;
  block.text = clean_text(text);
  return block;
}

int64_t BlockText::source_at(size_t at, bool end) const {
  const auto& runs = decoded_->origins();
  if (runs.empty()) return 0;
  const int64_t position = static_cast<int64_t>(at) - (end ? 1 : 0);
  const Origin& run = run_at(runs, std::max<int64_t>(position, 0));
  const int64_t units = (position - run.text_offset) / run.text_unit + (end ? 1 : 0);
  return run.source_offset + units * run.source_unit;
}

void BlockText::append_linear(size_t at, size_t size) {
  const auto& runs = decoded_->origins();
  const std::string_view piece = decoded_->text().substr(at, size);
  auto position = static_cast<int64_t>(at);
  const auto stop = static_cast<int64_t>(at + size);
  auto next = std::upper_bound(runs.begin(), runs.end(), position,
                               [](int64_t offset, const Origin& run) { return offset < run.text_offset; });
  while (position < stop) {
    const Origin& run = next == runs.begin() ? *next : *(next - 1);
    const int64_t end = next == runs.end() ? stop : std::min(stop, next->text_offset);
    const int64_t offset = run.source_offset + (position - run.text_offset) / run.text_unit * run.source_unit;
    append_origin(origins_, static_cast<int64_t>(text_.size()), end - position, offset, run.text_unit,
                  run.source_unit);
    text_.append(piece, static_cast<size_t>(position) - at, static_cast<size_t>(end - position));
    position = end;
    if (next != runs.end()) ++next;
  }
}

void BlockText::append_unit(std::string_view text, size_t at, size_t size) {
  if (text.empty()) return;
  const int64_t start = source_at(at, false), end = size == 0 ? start : source_at(at + size, true);
  append_origin(origins_, static_cast<int64_t>(text_.size()), static_cast<int64_t>(text.size()), start,
                static_cast<int32_t>(text.size()), static_cast<int32_t>(std::max<int64_t>(end - start, 0)));
  text_.append(text);
}

void BlockText::copy(size_t at, size_t size) {
  const std::string_view text = decoded_->text();
  const size_t end = std::min(at + size, text.size());
  while (at < end) {
    if (text_.empty() && is_space(text[at])) {
      size_t stop = at;
      while (stop < end && is_space(text[stop])) ++stop;
      // Blank lines go; the indent of the first line of code stays.
      if (keep_indent_ && stop < end) {
        size_t indent = stop;
        while (indent > at && (text[indent - 1] == ' ' || text[indent - 1] == '\t')) --indent;
        append_linear(indent, stop - indent);
      }
      at = stop;
      continue;
    }
    size_t stop = at;
    while (stop < end && is_plain(text[stop])) ++stop;
    if (stop < end && text[stop] == '\b' && stop > at) {
      // Overstriking (bold and underline of typewriters): the character before is struck over.
      size_t lead = stop - 1;
      while (lead > at && (static_cast<unsigned char>(text[lead]) & 0xc0) == 0x80) --lead;
      append_linear(at, lead - at);
      at = stop + 1;
      continue;
    }
    if (stop > at) append_linear(at, stop - at);
    at = stop;
    if (at == end) break;
    if (text[at] == '\r') {
      const size_t width = at + 1 < text.size() && text[at + 1] == '\n' ? 2 : 1;
      append_unit("\n", at, width);
      at += width;
    } else {
      append_unit(" ", at, 1);
      ++at;
    }
  }
}

void BlockText::copy_collapsed(size_t at, size_t size) {
  const std::string_view text = decoded_->text();
  const size_t end = std::min(at + size, text.size());
  const auto blank = [](char c) { return is_space(c) || !is_plain(c); };
  while (at < end) {
    size_t stop = at;
    while (stop < end && blank(text[stop])) ++stop;
    if (stop > at && pending_size_ == 0) {
      pending_at_ = at;
      pending_size_ = stop - at;
    }
    at = stop;
    while (stop < end && !blank(text[stop])) ++stop;
    if (stop == at) break;
    if (pending_size_ > 0 && !ends_in_space()) append_unit(" ", pending_at_, pending_size_);
    pending_size_ = 0;
    append_linear(at, stop - at);
    at = stop;
  }
}

void BlockText::replace(std::string_view text, size_t at, size_t size) {
  if (text_.empty() && std::all_of(text.begin(), text.end(), is_space)) return;
  if (pending_size_ > 0 && !ends_in_space() && !is_space(text.front()))
    append_unit(" ", pending_at_, pending_size_);
  pending_size_ = 0;
  append_unit(text, at, size);
}

void BlockText::separate(std::string_view text) {
  pending_size_ = 0;
  if (ends_in_space()) return;
  const int64_t at =
      origins_.back().source_offset + (static_cast<int64_t>(text_.size()) - origins_.back().text_offset) /
                                          origins_.back().text_unit * origins_.back().source_unit;
  append_origin(origins_, static_cast<int64_t>(text_.size()), static_cast<int64_t>(text.size()), at,
                static_cast<int32_t>(text.size()), 0);
  text_.append(text);
}

Block BlockText::finish(Block::Kind kind, int level) {
  Block block;
  block.kind = kind;
  block.level = level;
  pending_size_ = 0;
  while (!text_.empty() && is_space(text_.back())) text_.pop_back();
  while (!origins_.empty() && origins_.back().text_offset >= static_cast<int64_t>(text_.size()))
    origins_.pop_back();
  block.text = std::exchange(text_, {});
  block.origins = std::exchange(origins_, {});
  if (!block.text.empty()) {
    block.start = 0;
    block.end = INT64_MAX;
    const ByteRange range = source_range(block, 0, static_cast<int64_t>(block.text.size()));
    block.start = range.start;
    block.end = range.end;
  }
  return block;
}

}  // namespace edge_infer
