#include "apps/documents/readers/readers.h"

#include <algorithm>

#include "apps/documents/readers/html.h"
#include "apps/documents/readers/html_guard.h"
#include "tests/unit/documents/support.h"

namespace edge_infer {
namespace {

Document read(std::string_view source, std::string_view name) {
  Result<PreparedDocument> prepared = PreparedDocument::prepare(source, name, "");
  EXPECT_TRUE(prepared) << prepared.error().message;
  if (!prepared) return {};
  Result<Document> document = prepared->read({});
  EXPECT_TRUE(document) << document.error().message;
  if (!document) return {};
  return *std::move(document);
}

// --- plain text ---

TEST(TextReader, cuts_paragraphs_at_blank_lines_and_keeps_lines) {
  const std::string_view source = "First line\r\nsecond line\n\n \t\n  indented\n    more\n\n\nlast";
  const Document document = read(source, "a.txt");
  EXPECT_EQ(outline(document), "P First line\nsecond line|P   indented\n    more|P last");
  expect_offsets_hold(document, source);
  EXPECT_EQ(document.blocks[2].start, static_cast<int64_t>(source.size()) - 4);
}

TEST(TextReader, finds_underlined_and_manual_page_headings) {
  const Document document = read(
      "Title\n=====\n\nText.\n\nPart\n----\nMore.\n\nEXIT STATUS\n       0 on success.\n\nnot = a\n===\n",
      "a.txt");
  EXPECT_EQ(outline(document),
            "H1 Title|P Text.|H2 Part|P More.|H1 EXIT STATUS|P        0 on success.|P not = a\n===");
}

TEST(TextReader, reads_info_files_without_their_tables) {
  const Document document = read(
      "Intro.\n\x1f\nFile: x.info,  Node: Top,  Up: (dir)\n\nTop\n***\n\nWords here.\n\x1f\nTag "
      "Table:\nNode: Top\x7f"
      "123\n\x1f\nEnd Tag Table\n",
      "x.info");
  EXPECT_EQ(outline(document), "P Intro.|H1 Top|P Words here.");
}

TEST(TextReader, drops_controls_and_overstriking) {
  EXPECT_EQ(outline(read("N\bNA\bAM\bME\bE bell\x07 e\xcc\x81 \xc3\xa9\b\xc3\xa9", "a.txt")),
            "P NAME bell  e\xcc\x81 \xc3\xa9");
}

TEST(TextReader, reads_a_document_in_utf16_with_offsets_in_the_file) {
  std::string source("\xff\xfe", 2);
  for (const char c : std::string_view("One two.\n\nThree four.")) source += {c, '\0'};
  const Document document = read(source, "a.txt");
  ASSERT_EQ(document.blocks.size(), 2u);
  EXPECT_EQ(document.blocks[1].text, "Three four.");
  EXPECT_EQ(document.blocks[1].start, 2 + 2 * 10);
  EXPECT_EQ(document.blocks[1].end, static_cast<int64_t>(source.size()));
  EXPECT_EQ(source_range(document.blocks[1], 6, 10), (ByteRange{2 + 2 * 16, 2 + 2 * 20}));
}

TEST(TextReader, stops_at_the_text_limit) {
  ReadLimits limits;
  limits.text_bytes = 1000;
  const std::string one(600, 'a');
  Result<DecodedText> text = decode_text(one, {}, nullptr);
  EXPECT_TRUE(read_text(*text, limits));
  const std::string two = one + "\n\n" + std::string(600, 'b');
  Result<DecodedText> more = decode_text(two, {}, nullptr);
  EXPECT_EQ(read_text(*more, limits).error().code, ErrorCode::kResourceExhausted);
}

// --- Markdown ---

TEST(MarkdownReader, reads_all_kinds_of_blocks) {
  const std::string_view source =
      "---\ntitle: \"The guide\"\nauthor: me\n---\n# Gear *list*\n\nSome `code` and [a "
      "link](http://x.example/y \"t\") &amp; more\nin two "
      "lines.\n\nSetext\n------\n\n- one\n- two\n  continued\n\n1. first\n\n```sh\nls -l\n\n  cd x\n```\n\n| "
      "A | B |\n|---|---|\n| 1 | 2 "
      "|\n\n> quoted words\n";
  const Document document = read(source, "a.md");
  EXPECT_EQ(document.title, "The guide");
  EXPECT_EQ(outline(document),
            "H1 Gear list|P Some code and a link & more in two lines.|H2 Setext|L one|L two continued|L "
            "first|C ls -l\n\n  cd x|Th A | "
            "B|T 1 | 2|P quoted words");
  expect_offsets_hold(document, source);
}

TEST(MarkdownReader, reads_tables_ruled_with_any_number_of_dashes) {
  for (const char* rule : {"|-|--|---|", "|:-|-:|:-:|", "-|-|-", "| - | -- | :-- |", " |--|--|--| \r"}) {
    const std::string source = fmt::format(
        "Before.\n\n| One | Two | Three |\n{}\n| 11 | 22 | 33 |\n\nAfter &amp; *much* more.\n", rule);
    const Document document = read(source, "a.md");
    EXPECT_EQ(outline(document), "P Before.|Th One | Two | Three|T 11 | 22 | 33|P After & much more.")
        << rule;
    expect_offsets_hold(document, source);
  }
  const std::string_view quoted = "> | One | Two |\n> |--|--|\n> | 11 | 22 |\n\nAfter it.\n";
  EXPECT_EQ(outline(read(quoted, "a.md")), "Th One | Two|T 11 | 22|P After it.");
  expect_offsets_hold(read(quoted, "a.md"), quoted);
}

TEST(MarkdownReader, keeps_what_only_looks_like_the_rule_of_a_table) {
  const std::string_view source =
      "```\n| One | Two |\n|--|--|\n```\n\nwords\n--\n\n`a | b`\n|::|\n\n- one | two\n\n      |-|\n\nlast "
      "words\n";
  const Document document = read(source, "a.md");
  EXPECT_EQ(outline(document),
            "C | One | Two |\n|--|--||H2 words|P a | b |::||L one | two|C |-||P last words");
  expect_offsets_hold(document, source);
}

TEST(MarkdownReader, takes_the_first_heading_as_title) {
  EXPECT_EQ(read("# Top\n\ntext", "a.md").title, "Top");
}

TEST(MarkdownReader, reads_html_blocks_as_html) {
  const std::string_view source =
      "Before\n\n<div align=center>\n<p>Inside "
      "<b>bold</b></p><script>bad()</script>\n</div>\n\nAfter<br>line\n";
  const Document document = read(source, "a.md");
  EXPECT_EQ(outline(document), "P Before|P Inside bold|P After\nline");
  expect_offsets_hold(document, source);
}

TEST(MarkdownReader, is_not_lost_in_hostile_nesting) {
  std::string quotes(50'000, '>'), brackets(50'000, '['), stars;
  for (int i = 0; i < 20'000; ++i) stars += "*a_b";
  for (const std::string& source : {quotes + " deep", brackets + "text", stars}) {
    Result<DecodedText> text = decode_text(source, {}, nullptr);
    ASSERT_TRUE(text);
    (void)read_markdown(*text, {});
  }
}

// --- HTML ---

TEST(HtmlReader, reads_the_visible_text_in_blocks) {
  const std::string_view source =
      "<!DOCTYPE html><html><head><title>Page &amp; title</title><style>p{}</style></head><body><h1>Head "
      "<i>line</i></h1>\n<p>One\n  "
      "two&nbsp;three &eacute;&#x2603; &lt;tag&gt;<br>next<ul><li>item one<li>item <b>two</b></ul><pre>  "
      "code\n    more</pre>"
      "<table><tr><th>A<th>B</tr><tr><td>1</td><td><p>2</p></td></tr></table><script>x</script><div "
      "hidden>no</div>"
      "<p style='display: none'>no</p><template>no</template><noscript>no</noscript><!-- no "
      "-->tail</body></html>";
  const Document document = read(source, "a.html");
  EXPECT_EQ(document.title, "Page & title");
  EXPECT_EQ(outline(document),
            "H1 Head line|P One two three é☃ <tag>\nnext|L item one|L item two|C   code\n    more|Th A | B|T "
            "1 | 2|P tail");
  expect_offsets_hold(document, source);
}

TEST(HtmlReader, maps_entities_to_their_source) {
  const std::string_view source = "<p>a&amp;b &copy; c</p>";
  const Document document = read(source, "a.html");
  ASSERT_EQ(document.blocks.size(), 1u);
  const Block& block = document.blocks[0];
  EXPECT_EQ(block.text, "a&b © c");
  EXPECT_EQ(source_range(block, 1, 2), (ByteRange{4, 9}));
  EXPECT_EQ(source_range(block, 2, 3), (ByteRange{9, 10}));
  EXPECT_EQ(source_range(block, 7, 8), (ByteRange{18, 19}));
  EXPECT_EQ(block.start, 3);
  EXPECT_EQ(block.end, 19);
}

TEST(HtmlReader, gives_offsets_in_the_file_when_the_charset_was_converted) {
  const std::string source =
      "<html><meta charset=iso-8859-1><p>Gr\xfc\xdf"
      "e aus K\xf6ln</p>";
  const Document document = read(source, "a.html");
  ASSERT_EQ(outline(document), "P Grüße aus Köln");
  EXPECT_EQ(document.blocks[0].start, static_cast<int64_t>(source.find("Gr")));
  EXPECT_EQ(document.blocks[0].end, static_cast<int64_t>(source.find("</p>")));
  const ByteRange city = source_range(document.blocks[0], 12, 17);
  EXPECT_EQ(source.substr(static_cast<size_t>(city.start), static_cast<size_t>(city.end - city.start)),
            "K\xf6ln");
}

TEST(HtmlReader, leaves_out_the_signs_beside_headings) {
  EXPECT_EQ(outline(read("<h2>Usage<a class=\"headerlink\" href=#u>\xc2\xb6</a></h2><p>x</p>", "a.html")),
            "H2 Usage|P x");
}

TEST(HtmlReader, survives_deep_nesting_and_many_attributes_in_linear_time) {
  std::string deep = "<body>", alternating, formats, attributes = "<p ";
  for (int i = 0; i < 100'000; ++i) deep += "<div>";
  deep += "deep words";
  for (int i = 0; i < 50'000; ++i) alternating += "<li><dd>";
  for (int i = 0; i < 20'000; ++i) formats += "<p><font color=" + std::to_string(i) + ">x";
  for (int i = 0; i < 200'000; ++i) attributes += "a" + std::to_string(i) + "=1 ";
  attributes += ">after</p>";
  for (const std::string& source : {deep, alternating + "words", formats, attributes}) {
    Result<DecodedText> text = decode_text(source, {}, nullptr);
    Result<Document> document = read_html(*text, {});
    EXPECT_TRUE(document) << document.error().message;
  }
}

TEST(HtmlGuard, keeps_ordinary_pages_as_they_are) {
  std::string page = "<!-- <p --><p class=\"a > b\">x<ul>";
  for (int i = 0; i < 2000; ++i) page += "<li><p>item<p>more";
  page += "</ul><script>if (a < b) document.write('<div>')</script>";
  EXPECT_EQ(bound_html(page, false), page);
}

TEST(HtmlGuard, closes_raw_text_elements_of_xhtml) {
  const std::string page = "<title/><script src=\"x\"/><p>words</p>";
  const std::string bounded = bound_html(page, true);
  EXPECT_EQ(bounded.size(), page.size());
  EXPECT_EQ(bounded.find("<p>words</p>"), page.find("<p>words</p>"));
  EXPECT_EQ(bounded.find("script"), std::string::npos);
}

TEST(HtmlEntities, decode_as_browsers_do) {
  EXPECT_EQ(decode_entity("&hearts;"), "♥");
  EXPECT_EQ(decode_entity("&#8364;"), "€");
  EXPECT_EQ(decode_entity("&nonsense;"), "&nonsense;");
}

// --- formats ---

TEST(Sniffing, goes_by_content_then_by_name) {
  EXPECT_EQ(*sniff_format("%PDF-1.4 ...", "notes.txt"), Format::kPdf);
  EXPECT_EQ(*sniff_format("<!DOCTYPE HTML><p>x", "notes"), Format::kHtml);
  EXPECT_EQ(*sniff_format("# x", "README.MD"), Format::kMarkdown);
  EXPECT_EQ(*sniff_format("# x", "README"), Format::kText);
  EXPECT_EQ(*sniff_format("RIFF is a word", "a.txt"), Format::kText);
  EXPECT_EQ(sniff_format(std::string_view("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16), "a.png").error().code,
            ErrorCode::kUnsupported);
  EXPECT_EQ(sniff_format(std::string_view("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16), "a.txt").error().code,
            ErrorCode::kCorruption);
  EXPECT_EQ(sniff_format("plain words", "a.docx").error().code, ErrorCode::kCorruption);
  EXPECT_EQ(sniff_format("", "a.txt").error().message, "the file is empty");
}

TEST(Sniffing, says_what_pdf_needs) {
  Result<PreparedDocument> prepared = PreparedDocument::prepare("%PDF-1.4", "a.pdf", "");
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, ErrorCode::kInternal);
  EXPECT_NE(prepared.error().message.find("libpdfium.so"), std::string::npos);
}

}  // namespace
}  // namespace edge_infer
