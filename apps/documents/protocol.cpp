#include "apps/documents/protocol.h"

#include <array>
#include <cstring>

namespace edge_infer {
namespace {

constexpr std::string_view kMagic = "EIR1", kEnd = "END.";
constexpr std::array<std::string_view, 7> kFormats = {"text", "markdown", "html", "pdf",
                                                      "docx", "odt",      "epub"};
constexpr uint64_t kMaxTitle = 1 << 16;

void put_number(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

void put_string(std::string& out, std::string_view text) {
  put_number(out, text.size());
  out.append(text);
}

void put_block(std::string& out, const Block& block) {
  out.push_back(static_cast<char>(block.kind));
  out.push_back(static_cast<char>(block.level));
  out.push_back(block.header ? 1 : 0);
  put_number(out, static_cast<uint64_t>(block.page));
  put_string(out, block.text);
  put_number(out, static_cast<uint64_t>(block.start));
  put_number(out, static_cast<uint64_t>(block.end));
  put_number(out, block.origins.size());
  int64_t text = 0, source = block.start;
  for (const Origin& run : block.origins) {
    put_number(out, static_cast<uint64_t>(run.text_offset - text));
    put_number(out, static_cast<uint64_t>(run.source_offset - source));
    put_number(out, static_cast<uint64_t>(run.text_unit));
    put_number(out, static_cast<uint64_t>(run.source_unit));
    text = run.text_offset;
    source = run.source_offset;
  }
}

// Reads forward over the answer; the first thing wrong sticks, and everything after it reads as zero.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}

  void expect(std::string_view literal) {
    if (!rest_.starts_with(literal)) return wrong("a missing mark");
    rest_.remove_prefix(literal.size());
  }
  uint8_t byte(uint8_t limit, const char* what) {
    if (rest_.empty()) return wrong("an early end"), uint8_t{0};
    const auto value = static_cast<uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    if (value > limit) return wrong(what), uint8_t{0};
    return value;
  }
  int64_t number(int64_t limit, const char* what) {
    uint64_t value = 0;
    for (int shift = 0; shift < 63; shift += 7) {
      const uint8_t part = byte(0xff, what);
      value |= static_cast<uint64_t>(part & 0x7f) << shift;
      if ((part & 0x80) == 0) {
        if (value > static_cast<uint64_t>(limit)) break;
        return static_cast<int64_t>(value);
      }
    }
    wrong(what);
    return 0;
  }
  std::string_view text(int64_t limit, const char* what) {
    const auto size = static_cast<size_t>(number(limit, what));
    if (size > rest_.size()) return wrong("an early end"), std::string_view{};
    const std::string_view value = rest_.substr(0, size);
    rest_.remove_prefix(size);
    if (valid_utf8_prefix(value) != value.size()) return wrong("text that is not utf-8"), std::string_view{};
    for (const char c : value)
      if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t')
        return wrong("control characters in text"), std::string_view{};
    return value;
  }
  void wrong(const char* what) {
    if (problem_ == nullptr) problem_ = what;
    rest_ = {};
  }
  const char* problem() const { return problem_; }
  size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
  const char* problem_ = nullptr;
};

void get_origins(Cursor& in, Block& block) {
  const auto size = static_cast<int64_t>(block.text.size());
  const auto count = static_cast<size_t>(in.number(size, "more origins than text"));
  if (count * 4 > in.left()) return in.wrong("an early end");
  block.origins.reserve(count);
  int64_t text = 0, source = block.start;
  for (size_t i = 0; i < count && in.problem() == nullptr; ++i) {
    Origin run;
    const int64_t step = in.number(size, "an origin outside of its block");
    if ((i == 0) != (step == 0)) return in.wrong("origins that do not ascend");
    text += step;
    source += in.number(block.end - block.start, "an origin outside of its block");
    if (text >= size || source > block.end) return in.wrong("an origin outside of its block");
    run.text_offset = text;
    run.source_offset = source;
    run.text_unit = static_cast<int32_t>(in.number(INT32_MAX, "a wrong unit"));
    run.source_unit = static_cast<int32_t>(in.number(INT32_MAX, "a wrong unit"));
    if (run.text_unit == 0) return in.wrong("a wrong unit");
    block.origins.push_back(run);
  }
}

void get_document(Cursor& in, Document& document, const ReadLimits& limits, int64_t source_bytes) {
  document.format = in.text(16, "a long format");
  bool known = false;
  for (const auto name : kFormats) known = known || document.format == name;
  if (!known) return in.wrong("an unknown format");
  document.title = in.text(kMaxTitle, "a long title");
  document.note = in.text(kMaxTitle, "a long note");
  const int64_t count = in.number(kMaxBlocks, "too many blocks");
  int64_t left = limits.text_bytes;
  const int64_t end = has_extracted_offsets(document.format) ? 3 * limits.text_bytes : source_bytes;
  for (int64_t i = 0; i < count && in.problem() == nullptr; ++i) {
    Block block;
    block.kind =
        static_cast<Block::Kind>(in.byte(static_cast<uint8_t>(Block::Kind::kCode), "an unknown kind"));
    block.level = in.byte(6, "a wrong level");
    if ((block.kind == Block::Kind::kHeading) != (block.level > 0)) return in.wrong("a wrong level");
    block.header = in.byte(1, "a wrong flag") != 0;
    block.page = static_cast<int>(in.number(INT32_MAX, "a wrong page"));
    block.text = in.text(left, "more text than the limit");
    if (block.text.empty()) return in.wrong("an empty block");
    left -= static_cast<int64_t>(block.text.size());
    block.start = in.number(end, "a start outside of the file");
    block.end = in.number(end, "an end outside of the file");
    if (block.end < block.start) return in.wrong("an end before its start");
    get_origins(in, block);
    document.blocks.push_back(std::move(block));
  }
}

}  // namespace

bool has_extracted_offsets(std::string_view format) {
  return format == "pdf" || format == "docx" || format == "odt" || format == "epub";
}

size_t valid_utf8_prefix(std::string_view text) {
  const auto* s = reinterpret_cast<const unsigned char*>(text.data());
  const size_t n = text.size();
  const auto tail = [&](size_t i) { return i < n && (s[i] & 0xc0) == 0x80; };
  size_t i = 0;
  while (i < n) {
    uint64_t word;
    if (i + 8 <= n && (std::memcpy(&word, s + i, 8), (word & 0x8080808080808080u) == 0)) {
      i += 8;
    } else if (s[i] < 0x80) {
      i += 1;
    } else if (s[i] >= 0xc2 && s[i] <= 0xdf && tail(i + 1)) {
      i += 2;
    } else if (s[i] >= 0xe0 && s[i] <= 0xef && tail(i + 1) && tail(i + 2) &&
               !(s[i] == 0xe0 && s[i + 1] < 0xa0) && !(s[i] == 0xed && s[i + 1] > 0x9f)) {
      i += 3;
    } else if (s[i] >= 0xf0 && s[i] <= 0xf4 && tail(i + 1) && tail(i + 2) && tail(i + 3) &&
               !(s[i] == 0xf0 && s[i + 1] < 0x90) && !(s[i] == 0xf4 && s[i + 1] > 0x8f)) {
      i += 4;
    } else {
      break;
    }
  }
  return i;
}

std::string encode_answer(const ReaderAnswer& answer) {
  std::string out(kMagic);
  out.push_back(static_cast<char>((answer.seccomp ? 1 : 0) | (answer.landlock ? 2 : 0)));
  if (!answer.document) {
    out.push_back(1);
    out.push_back(static_cast<char>(answer.document.error().code));
    put_string(out, answer.document.error().message);
  } else {
    const Document& document = *answer.document;
    out.push_back(0);
    put_string(out, document.format);
    put_string(out, document.title);
    put_string(out, document.note);
    put_number(out, document.blocks.size());
    for (const Block& block : document.blocks) put_block(out, block);
  }
  out.append(kEnd);
  return out;
}

Result<ReaderAnswer> decode_answer(std::string_view bytes, const ReadLimits& limits, int64_t source_bytes) {
  Cursor in(bytes);
  in.expect(kMagic);
  const uint8_t flags = in.byte(3, "unknown flags");
  ReaderAnswer answer{(flags & 1) != 0, (flags & 2) != 0, Document{}};
  if (in.byte(1, "an unknown answer") == 1) {
    Error error;
    error.code =
        static_cast<ErrorCode>(in.byte(static_cast<uint8_t>(ErrorCode::kInternal), "an unknown error code"));
    error.message = in.text(kMaxTitle, "a long message");
    answer.document = std::unexpected(std::move(error));
  } else {
    get_document(in, *answer.document, limits, source_bytes);
    if (in.problem() == nullptr && answer.document->blocks.empty()) in.wrong("a document without text");
  }
  in.expect(kEnd);
  if (in.problem() == nullptr && in.left() != 0) in.wrong("bytes after the end");
  if (in.problem() != nullptr)
    return fail(ErrorCode::kCorruption, "the reader's answer has {}", in.problem());
  return answer;
}

}  // namespace edge_infer
