#include "apps/documents/chunker.h"

#include <algorithm>
#include <random>
#include <set>
#include <sstream>

#include "apps/documents/sentences.h"
#include "tests/unit/documents/support.h"

namespace edge_infer {
namespace {

// Builds a document whose "source" is its text, block after block.
class Maker {
 public:
  Maker& add(Block::Kind kind, const std::string& text, int level = 0, int page = 0, bool header = false) {
    Block block;
    block.kind = kind;
    block.level = level;
    block.header = header;
    block.text = text;
    block.page = page;
    block.start = static_cast<int64_t>(source.size());
    source += text;
    block.end = static_cast<int64_t>(source.size());
    block.origins = {{0, block.start, 1, 1}};
    source += "\n\n";
    document.blocks.push_back(block);
    return *this;
  }
  Maker& heading(const std::string& text, int level) { return add(Block::Kind::kHeading, text, level); }
  Maker& paragraph(const std::string& text, int page = 0) {
    return add(Block::Kind::kParagraph, text, 0, page);
  }

  Document document;
  std::string source;
};

std::string sentence(int number, int words) {
  std::string text = "S" + std::to_string(number);
  for (int i = 1; i < words; ++i) text += " w" + std::to_string(i);
  return text + ".";
}

std::string sentences(int first, int count, int words) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i > 0 ? " " : "") + sentence(first + i, words);
  return text;
}

std::vector<Chunk> chunk(const Document& document, int64_t max_tokens, int64_t overlap = 0,
                         const std::string& prompt = "") {
  const TestTokenizer tokenizer;
  ChunkOptions options;
  options.max_tokens = max_tokens;
  options.overlap_tokens = overlap;
  options.prompt = prompt;
  return chunk_document(document, tokenizer, options);
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// What holds of all chunks of all documents.
void expect_sound(const Document& document, const std::vector<Chunk>& chunks, int64_t max_tokens,
                  const std::string& prompt = "") {
  const TestTokenizer tokenizer;
  Encoding encoding;
  int64_t start = 0;
  for (const Chunk& c : chunks) {
    tokenizer.encode(prompt + c.embedded, 0, encoding);
    EXPECT_EQ(c.tokens, encoding.tokens);
    EXPECT_LE(c.tokens, max_tokens) << c.text;
    EXPECT_LE(c.start, c.end);
    EXPECT_TRUE(c.embedded.ends_with(c.text));
    EXPECT_LE(start, c.start) << "document order";
    start = c.start;
  }
  if (!chunks.empty()) {
    EXPECT_LE(document.blocks.front().start, chunks.front().start);
  }
}

TEST(Chunker, packs_blocks_up_to_the_budget) {
  Maker maker;
  maker.paragraph(sentences(1, 2, 5)).paragraph(sentences(3, 2, 5)).paragraph(sentences(5, 2, 5));
  const auto chunks = chunk(maker.document, 2 + 20);
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_EQ(chunks[0].text, sentences(1, 2, 5) + "\n\n" + sentences(3, 2, 5));
  EXPECT_EQ(chunks[0].tokens, 22);
  EXPECT_EQ(chunks[1].text, sentences(5, 2, 5));
  EXPECT_EQ(chunks[1].start, maker.document.blocks[2].start);
  EXPECT_EQ(chunks[1].end, maker.document.blocks[2].end);
}

TEST(Chunker, cuts_long_paragraphs_between_sentences_with_overlap_of_whole_ones) {
  Maker maker;
  maker.paragraph(sentences(1, 10, 8));
  const auto chunks = chunk(maker.document, 2 + 32, 10);
  ASSERT_GE(chunks.size(), 3u);
  EXPECT_EQ(chunks[0].text, sentences(1, 4, 8));
  EXPECT_EQ(chunks[1].text, sentences(4, 4, 8)) << "the fourth sentence again";
  EXPECT_EQ(maker.source.substr(static_cast<size_t>(chunks[1].start),
                                static_cast<size_t>(chunks[1].end - chunks[1].start)),
            chunks[1].text);
  expect_sound(maker.document, chunks, 34);
}

TEST(Chunker, keeps_the_heading_path_in_front_of_what_is_embedded) {
  Maker maker;
  maker.heading("Guide", 1).paragraph("Intro.").heading("Setup", 2).paragraph(sentences(1, 12, 8));
  const auto chunks = chunk(maker.document, 2 + 40);
  ASSERT_GE(chunks.size(), 3u);
  EXPECT_EQ(chunks[0].heading, "Guide");
  EXPECT_EQ(chunks[0].text, "Guide\n\nIntro.");
  EXPECT_EQ(chunks[0].embedded, chunks[0].text) << "the heading is there already";
  EXPECT_EQ(chunks[1].heading, "Guide > Setup");
  EXPECT_TRUE(chunks[1].embedded.starts_with("Guide\n\nSetup\n\nS1")) << chunks[1].embedded;
  EXPECT_EQ(chunks[2].heading, "Guide > Setup");
  EXPECT_TRUE(chunks[2].embedded.starts_with("Guide > Setup\n\nS")) << chunks[2].embedded;
  EXPECT_TRUE(chunks[2].text.starts_with("S")) << "the path is not part of the passage";
  expect_sound(maker.document, chunks, 42);
}

TEST(Chunker, headings_without_text_have_the_path_that_they_share) {
  const auto heading_of = [](const Maker& maker) {
    const auto chunks = chunk(maker.document, 256);
    EXPECT_EQ(chunks.size(), 1u);
    return chunks.empty() ? "" : chunks[0].heading;
  };
  EXPECT_EQ(heading_of(Maker().heading("A", 1)), "A");
  EXPECT_EQ(heading_of(Maker().heading("A", 1).heading("B", 2)), "A > B") << "a chain leads to its end";
  EXPECT_EQ(heading_of(Maker().heading("A", 1).heading("B", 2).heading("C", 2)), "A");
  EXPECT_EQ(heading_of(Maker().heading("A", 1).heading("B", 2).heading("C", 3).heading("D", 2)), "A");
  EXPECT_EQ(heading_of(Maker().heading("A", 1).heading("B", 1)), "");
  EXPECT_EQ(heading_of(Maker().heading("A", 2).heading("B", 3).heading("C", 3).heading("D", 1)), "");
  EXPECT_EQ(heading_of(Maker().heading("A", 1).heading("B", 2).heading("C", 2).paragraph("Text.")), "A > C");
}

TEST(Chunker, ends_early_when_nobody_wants_the_passages) {
  Maker maker;
  for (int i = 0; i < 200; ++i) maker.paragraph(sentences(i, 4, 8));
  ChunkOptions options;
  options.max_tokens = 64;
  int asked = 0;
  options.stop = [&] { return ++asked > 30; };
  const TestTokenizer tokenizer;
  EXPECT_LT(chunk_document(maker.document, tokenizer, options).size(), 30u);
  // Within one block, too.
  Maker one;
  one.paragraph(sentences(1, 100'000, 8));
  asked = 0;
  EXPECT_LT(chunk_document(one.document, tokenizer, options).size(), 30u);
  EXPECT_LT(asked, 40);
}

TEST(Chunker, never_crosses_a_heading_of_level_two_but_joins_short_deeper_sections) {
  Maker maker;
  maker.heading("A", 2)
      .paragraph("One.")
      .heading("B", 2)
      .paragraph("Two.")
      .heading("C", 3)
      .paragraph("Three.")
      .heading("D", 3)
      .paragraph("Four.");
  const auto chunks = chunk(maker.document, 64);
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_EQ(chunks[0].text, "A\n\nOne.");
  EXPECT_EQ(chunks[1].text, "B\n\nTwo.\n\nC\n\nThree.\n\nD\n\nFour.");
  EXPECT_EQ(chunks[1].heading, "B");
}

TEST(Chunker, begins_a_passage_with_a_section_that_the_rest_of_the_last_one_does_not_hold) {
  Maker maker;
  maker.heading("A", 2)
      .paragraph(sentences(1, 1, 8))
      .heading("B", 3)
      .paragraph(sentences(2, 2, 8))
      .heading("C", 3)
      .heading("D", 4)
      .paragraph(sentences(4, 1, 8))
      .heading("E", 3)
      .paragraph(sentences(5, 1, 4));
  const auto chunks = chunk(maker.document, 2 + 24, 8);
  std::vector<std::string> texts;
  for (const Chunk& c : chunks) texts.push_back(c.text);
  EXPECT_EQ(texts,
            (std::vector<std::string>{"A\n\n" + sentences(1, 1, 8), "B\n\n" + sentences(2, 2, 8),
                                      "C\n\nD\n\n" + sentences(4, 1, 8) + "\n\nE\n\n" + sentences(5, 1, 4)}));
  expect_sound(maker.document, chunks, 26);
}

TEST(Chunker, does_not_leave_a_heading_behind) {
  Maker maker;
  maker.heading("Top", 2).paragraph(sentences(1, 3, 8)).heading("Sub", 3).paragraph(sentences(4, 3, 8));
  for (const Chunk& c : chunk(maker.document, 2 + 30)) EXPECT_FALSE(c.text.ends_with("Sub")) << c.text;
}

TEST(Chunker, repeats_the_header_row_of_a_long_table) {
  Maker maker;
  maker.add(Block::Kind::kTableRow, "Name | Size", 0, 0, true);
  for (int i = 0; i < 20; ++i) maker.add(Block::Kind::kTableRow, "row" + std::to_string(i) + " | 1");
  const auto chunks = chunk(maker.document, 2 + 30, 16);
  ASSERT_GE(chunks.size(), 3u);
  for (const Chunk& c : chunks) EXPECT_TRUE(c.text.starts_with("Name | Size\n")) << c.text;
  EXPECT_GT(chunks[1].start, chunks[0].end) << "the repeated row does not count for the place";
  expect_sound(maker.document, chunks, 32);
}

TEST(Chunker, keeps_lines_of_code_and_the_page_of_the_first_block) {
  Maker maker;
  maker.paragraph("Intro here.", 3).add(Block::Kind::kCode, "if x:\n    y()\n    z()", 0, 4);
  const auto chunks = chunk(maker.document, 64);
  ASSERT_EQ(chunks.size(), 1u);
  EXPECT_EQ(chunks[0].text, "Intro here.\n\nif x:\n    y()\n    z()");
  EXPECT_EQ(chunks[0].page, 3);
}

TEST(Chunker, cuts_what_has_no_sentences_at_words_and_what_has_no_words_anywhere) {
  Maker words, bytes, wide;
  std::string text;
  for (int i = 0; i < 500; ++i) text += "w" + std::to_string(i) + " ";
  words.paragraph(text.substr(0, text.size() - 1));
  const auto chunks = chunk(words.document, 2 + 32, 8);
  std::set<std::string> seen;
  for (const Chunk& c : chunks)
    for (const std::string& word : words_of(c.text)) seen.insert(word);
  EXPECT_EQ(seen.size(), 500u) << "no word is torn or lost";
  expect_sound(words.document, chunks, 34);

  bytes.paragraph(std::string(100'000, 'x'));
  const auto torn = chunk(bytes.document, 34);
  size_t size = 0;
  for (const Chunk& c : torn) size += c.text.size();
  EXPECT_EQ(size, 100'000u);
  expect_sound(bytes.document, torn, 34);

  std::string umlauts;
  for (int i = 0; i < 20'000; ++i) umlauts += "ü";
  wide.paragraph(umlauts);
  for (const Chunk& c : chunk(wide.document, 34)) EXPECT_EQ(c.text.size() % 2, 0u) << "a character was torn";
}

TEST(Chunker, counts_the_prompt) {
  Maker maker;
  maker.paragraph(sentences(1, 30, 6));
  const std::string prompt = "passage of a document: ";
  const auto chunks = chunk(maker.document, 40, 0, prompt);
  expect_sound(maker.document, chunks, 40, prompt);
  const TestTokenizer tokenizer;
  Encoding encoding;
  tokenizer.encode(prompt, 0, encoding);
  EXPECT_GT(chunks.size(), chunk(maker.document, 40).size());
}

TEST(Chunker, bounds_a_long_heading_path) {
  Maker maker;
  std::string name;
  for (int i = 0; i < 300; ++i) name += "word" + std::to_string(i) + " ";
  maker.heading(name, 1).heading("Near", 2).paragraph(sentences(1, 20, 8));
  const auto chunks = chunk(maker.document, 64, 8);
  expect_sound(maker.document, chunks, 64);
  EXPECT_EQ(chunks.back().heading, "Near");
}

// Random documents: nothing is lost, nothing is too long, in any mixture of blocks.
TEST(Chunker, holds_its_promises_on_random_documents) {
  std::mt19937 random(7);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 300; ++round) {
    Maker maker;
    int next = 0;
    const int blocks = 1 + pick(12);
    for (int b = 0; b < blocks; ++b) {
      std::string text;
      const int words = 1 + pick(60);
      for (int w = 0; w < words; ++w) {
        text += "u" + std::to_string(next++);
        if (pick(30) == 0) text += std::string(static_cast<size_t>(pick(300)), 'y');
        text += pick(6) == 0 ? ". " : pick(10) == 0 ? "\n" : " ";
      }
      text.pop_back();
      const auto kind = static_cast<Block::Kind>(pick(5));
      maker.add(kind, text, kind == Block::Kind::kHeading ? 1 + pick(6) : 0, b,
                kind == Block::Kind::kTableRow && pick(3) == 0);
    }
    const int64_t most = 20 + pick(100);
    const auto chunks = chunk(maker.document, most, pick(40));
    expect_sound(maker.document, chunks, most);
    std::string all;
    for (const Chunk& c : chunks) all += c.text + "\n";
    for (int w = 0; w < next; ++w) {
      ASSERT_NE(all.find("u" + std::to_string(w)), std::string::npos)
          << "word " << w << " of round " << round;
    }
  }
}

TEST(Chunker, takes_linear_time) {
  for (const auto kind : {Block::Kind::kHeading, Block::Kind::kParagraph, Block::Kind::kTableRow}) {
    Maker many;
    for (int i = 0; i < 20'000; ++i)
      many.add(kind, "block " + std::to_string(i), kind == Block::Kind::kHeading ? 3 : 0, 0,
               i == 0 && kind == Block::Kind::kTableRow);
    const double start = cpu_seconds();
    chunk(many.document, 256, 32);
    EXPECT_LT(cpu_seconds() - start, 5);
  }
  Maker line;
  line.paragraph(std::string(20'000'000, 'x') + " " + std::string(1'000'000, ' ') + sentences(1, 200'000, 8));
  const double start = cpu_seconds();
  const auto chunks = chunk(line.document, 256, 32);
  EXPECT_LT(cpu_seconds() - start, 20);
  EXPECT_GT(chunks.size(), 2000u);
}

TEST(Chunker, gives_nothing_for_nothing) {
  EXPECT_TRUE(chunk(Document{}, 256).empty());
  Maker only;
  only.heading("Just a title", 1);
  const auto chunks = chunk(only.document, 256);
  ASSERT_EQ(chunks.size(), 1u);
  EXPECT_EQ(chunks[0].text, "Just a title");
}

std::vector<std::string> split(std::string_view text, bool by_line = false) {
  std::vector<ByteRange> ranges;
  split_sentences(text, by_line, ranges);
  std::vector<std::string> out;
  for (const ByteRange& r : ranges)
    out.emplace_back(text.substr(static_cast<size_t>(r.start), static_cast<size_t>(r.end - r.start)));
  return out;
}

TEST(Sentences, end_where_readers_think_so) {
  using Strings = std::vector<std::string>;
  EXPECT_EQ(split("One two. Three? \"Four!\" Five"), (Strings{"One two.", "Three?", "\"Four!\"", "Five"}));
  EXPECT_EQ(split("See Fig. 3 of Dr. No, e.g. the 2.5 mm one. Next."),
            (Strings{"See Fig. 3 of Dr. No, e.g. the 2.5 mm one.", "Next."}));
  EXPECT_EQ(split("Das ist z.B. so. Und Nr. 5 auch."), (Strings{"Das ist z.B. so.", "Und Nr. 5 auch."}));
  EXPECT_EQ(split("橋は通行止めです。迂回してください。"),
            (Strings{"橋は通行止めです。", "迂回してください。"}));
  EXPECT_EQ(split("Intro:\n- first\n- second\n\nnew part"),
            (Strings{"Intro:", "- first", "- second", "new part"}));
  EXPECT_EQ(split("wrapped\nline goes on. End"), (Strings{"wrapped\nline goes on.", "End"}));
  EXPECT_EQ(split("a. b\nc", true), (Strings{"a. b", "c"}));
  EXPECT_EQ(split(" \n "), Strings{});
}

}  // namespace
}  // namespace edge_infer
