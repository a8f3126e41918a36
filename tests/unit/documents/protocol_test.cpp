#include "apps/documents/protocol.h"

#include "tests/unit/documents/support.h"

namespace edge_infer {
namespace {

ReaderAnswer sample() {
  Document document;
  document.format = "html";
  document.title = "Title";
  document.note = "note";
  Block heading;
  heading.kind = Block::Kind::kHeading;
  heading.level = 2;
  heading.text = "Überschrift";
  heading.start = 10;
  heading.end = 25;
  heading.origins = {{0, 10, 1, 1}, {5, 16, 1, 1}};
  Block row;
  row.kind = Block::Kind::kTableRow;
  row.header = true;
  row.text = "a | b";
  row.page = 3;
  row.start = 30;
  row.end = 90;
  row.origins = {{0, 30, 1, 1}, {1, 31, 3, 0}, {4, 80, 1, 5}};
  document.blocks = {heading, row};
  return {true, false, document};
}

TEST(Protocol, carries_a_document_exactly) {
  Result<ReaderAnswer> answer = decode_answer(encode_answer(sample()), {}, 100);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(answer->seccomp);
  EXPECT_FALSE(answer->landlock);
  const ReaderAnswer expected = sample();
  const Document &got = *answer->document, &want = *expected.document;
  EXPECT_EQ(got.format, want.format);
  EXPECT_EQ(got.title, want.title);
  EXPECT_EQ(got.note, want.note);
  EXPECT_EQ(outline(got), outline(want));
  for (size_t i = 0; i < want.blocks.size(); ++i) {
    EXPECT_EQ(got.blocks[i].page, want.blocks[i].page);
    EXPECT_EQ(got.blocks[i].start, want.blocks[i].start);
    EXPECT_EQ(got.blocks[i].end, want.blocks[i].end);
    EXPECT_EQ(got.blocks[i].origins, want.blocks[i].origins);
  }
}

TEST(Protocol, carries_an_error) {
  const ReaderAnswer failed{false, true, fail(ErrorCode::kCorruption, "broken pdf")};
  Result<ReaderAnswer> answer = decode_answer(encode_answer(failed), {}, 0);
  ASSERT_TRUE(answer);
  ASSERT_FALSE(answer->document);
  EXPECT_EQ(answer->document.error().code, ErrorCode::kCorruption);
  EXPECT_EQ(answer->document.error().message, "broken pdf");
}

TEST(Protocol, refuses_every_cut_answer) {
  const std::string bytes = encode_answer(sample());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_answer(bytes.substr(0, size), {}, 100)) << size;
  EXPECT_FALSE(decode_answer(bytes + "x", {}, 100));
}

TEST(Protocol, never_delivers_more_than_was_asked_for) {
  EXPECT_FALSE(decode_answer(encode_answer(sample()), {}, 89)) << "a block beyond the end of the file";
  ReadLimits small;
  small.text_bytes = 10;
  EXPECT_FALSE(decode_answer(encode_answer(sample()), small, 100));
  const auto refused = [](auto change) {
    ReaderAnswer answer = sample();
    change(*answer.document);
    return !decode_answer(encode_answer(answer), {}, 100);
  };
  EXPECT_TRUE(refused([](Document& d) { d.blocks[0].text = "\xff"; }));
  EXPECT_TRUE(refused([](Document& d) { d.blocks[0].text = "a\x01"; }));
  EXPECT_TRUE(refused([](Document& d) { d.blocks[0].text.clear(); }));
  EXPECT_TRUE(refused([](Document& d) { d.blocks[0].level = 7; }));
  EXPECT_TRUE(refused([](Document& d) { d.blocks[0].level = 0; }));
  EXPECT_TRUE(refused([](Document& d) { d.blocks[1].level = 1; }));
  EXPECT_TRUE(refused([](Document& d) { d.blocks[1].page = -1; }));
  EXPECT_TRUE(refused([](Document& d) { d.blocks[1].end = d.blocks[1].start - 1; }));
  EXPECT_TRUE(refused([](Document& d) { d.blocks[1].origins[1].text_offset = 0; }));
  EXPECT_TRUE(refused([](Document& d) { d.blocks[1].origins[2].source_offset = 95; }));
  EXPECT_TRUE(refused([](Document& d) { d.blocks[1].origins[2].text_unit = 0; }));
  EXPECT_TRUE(refused([](Document& d) { d.format = "exe"; }));
  EXPECT_TRUE(refused([](Document& d) { d.blocks.clear(); }));
  EXPECT_FALSE(refused([](Document&) {}));
}

TEST(Protocol, survives_every_single_changed_byte) {
  const std::string bytes = encode_answer(sample());
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(value);
      Result<ReaderAnswer> answer = decode_answer(changed, {}, 100);
      if (!answer || !answer->document) continue;
      for (const Block& block : answer->document->blocks) {
        const ByteRange range = source_range(block, 1, static_cast<int64_t>(block.text.size()));
        EXPECT_LE(block.start, range.start);
        EXPECT_LE(range.start, range.end);
        EXPECT_LE(range.end, block.end);
      }
    }
  }
}

}  // namespace
}  // namespace edge_infer
