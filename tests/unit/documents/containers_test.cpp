// Documents in zip containers, made in memory.
#include <zip.h>

#include "apps/documents/readers/readers.h"
#include "apps/documents/readers/zip_parts.h"
#include "tests/unit/documents/support.h"

namespace edge_infer {
namespace {

std::string zip_of(const std::vector<std::pair<std::string, std::string>>& parts) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "made.zip").native();
  zip_t* zip = zip_open(path.c_str(), ZIP_CREATE, nullptr);
  for (const auto& [name, data] : parts)
    zip_file_add(zip, name.c_str(), zip_source_buffer(zip, data.data(), data.size(), 0), 0);
  EXPECT_EQ(zip_close(zip), 0);
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Result<Document> read(const std::string& bytes, std::string_view name) {
  return read_zip(bytes, name, {});
}

constexpr const char* kOdtType = "application/vnd.oasis.opendocument.text";

std::string odt_content(const std::string& body) {
  return "<?xml version=\"1.0\"?><office:document-content xmlns:office=\"o\" xmlns:text=\"t\" "
         "xmlns:table=\"b\">"
         "<office:automatic-styles><s>no</s></office:automatic-styles><office:body><office:text>" +
         body + "</office:text></office:body></office:document-content>";
}

TEST(OdtReader, reads_headings_lists_tables_and_spaces) {
  const std::string body =
      "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
      "<text:h text:outline-level=\"2\">Part</text:h><text:p>One <text:span>two</text:span> "
      "<text:span>three</text:span>\n   "
      "four<text:s text:c=\"3\"/>five<text:line-break/>six</text:p>"
      "<text:list><text:list-item><text:p>item</text:p></text:list-item></text:list>"
      "<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>A</text:p></"
      "table:table-cell>"
      "<table:table-cell><text:p>B</text:p></table:table-cell></table:table-row></table:table-header-rows>"
      "<table:table-row><table:table-cell><text:p>1</text:p></table:table-cell><table:table-cell><text:p>2</"
      "text:p>"
      "</table:table-cell></table:table-row></table:table>";
  Result<Document> document =
      read(zip_of({{"mimetype", kOdtType}, {"content.xml", odt_content(body)}}), "a.odt");
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(outline(*document), "H2 Part|P One two three four five\nsix|L item|Th A | B|T 1 | 2");
  EXPECT_EQ(document->blocks[1].start, 6);
}

TEST(OdtReader, says_that_a_document_is_encrypted) {
  Result<Document> document = read(zip_of({{"mimetype", kOdtType},
                                           {"content.xml", "\x01\x02"},
                                           {"META-INF/manifest.xml", "<manifest:encryption-data/>"}}),
                                   "a.odt");
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(document.error().message.find("encrypted"), std::string::npos);
}

const std::string kContainer =
    "<container><rootfiles><rootfile full-path=\"OEBPS/book.opf\"/></rootfiles></container>";

std::string book(const std::string& items, const std::string& spine) {
  return "<package xmlns:dc=\"d\"><metadata><dc:title>The book</dc:title></metadata><manifest>" + items +
         "</manifest><spine>" + spine + "</spine></package>";
}

TEST(EpubReader, follows_the_spine_and_resolves_names) {
  const std::string package =
      book("<item id=\"b\" href=\"text/two%20b.xhtml\"/><item id=\"a\" href=\"../one.xhtml#top\"/>",
           "<itemref idref=\"a\"/><itemref idref=\"b\"/>");
  Result<Document> document = read(
      zip_of(
          {{"mimetype", "application/epub+zip"},
           {"META-INF/container.xml", kContainer},
           {"OEBPS/book.opf", package},
           {"OEBPS/text/two b.xhtml",
            "<?xml version=\"1.0\"?><html><head><title/></head><body><h2>Two</h2><p>b</p></body></html>"},
           {"one.xhtml", "<html><head><script src=\"x\"/></head><body><h1>One</h1><p>a</p></body></html>"}}),
      "a.epub");
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->title, "The book");
  EXPECT_EQ(outline(*document), "H1 One|P a|H2 Two|P b");
}

TEST(EpubReader, notes_missing_chapters) {
  const std::string package =
      book("<item id=\"a\" href=\"a.xhtml\"/>", "<itemref idref=\"a\"/><itemref idref=\"gone\"/>");
  const auto parts = [&](const std::string& name) {
    return zip_of(
        {{"META-INF/container.xml", kContainer}, {"OEBPS/book.opf", package}, {name, "<p>words</p>"}});
  };
  Result<Document> document = read(parts("OEBPS/a.xhtml"), "a.epub");
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->note, "1 of 2 chapters are missing");
  EXPECT_EQ(read(parts("OEBPS/other.xhtml"), "a.epub").error().code, ErrorCode::kCorruption);
}

TEST(DocxReader, reads_levels_from_styles_and_leaves_out_what_is_deleted) {
  const std::string styles =
      "<w:styles xmlns:w=\"w\"><w:style w:styleId=\"Base\"><w:name w:val=\"x\"/><w:pPr><w:outlineLvl "
      "w:val=\"2\"/></w:pPr></w:style>"
      "<w:style w:styleId=\"Mine\"><w:name w:val=\"y\"/><w:basedOn w:val=\"Base\"/></w:style>"
      "<w:style w:styleId=\"Loop\"><w:name w:val=\"z\"/><w:basedOn w:val=\"Loop\"/></w:style></w:styles>";
  const std::string body =
      "<w:document xmlns:w=\"w\" xmlns:mc=\"m\"><w:body><w:p><w:pPr><w:pStyle "
      "w:val=\"Mine\"/></w:pPr><w:r><w:t>Head</w:t></w:r></w:p>"
      "<w:p><w:pPr><w:pStyle w:val=\"Loop\"/></w:pPr><w:r><w:t>one</w:t><w:tab/><w:t xml:space=\"preserve\"> "
      "two</w:t></w:r>"
      "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del><mc:Fallback><w:r><w:t>twice</w:t></w:r></"
      "mc:Fallback></w:p></w:body></w:document>";
  Result<Document> document =
      read(zip_of({{"word/document.xml", body}, {"word/styles.xml", styles}}), "a.docx");
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(outline(*document), "H3 Head|P one\t two");
}

TEST(ZipParts, name_what_is_no_document) {
  EXPECT_EQ(read(zip_of({{"xl/workbook.xml", "<x/>"}}), "a.xlsx").error().message,
            "no reader for Excel workbooks");
  EXPECT_EQ(read(zip_of({{"a.txt", "words"}}), "a.zip").error().code, ErrorCode::kUnsupported);
  EXPECT_NE(read(zip_of({{"a.txt", "words"}}), "a.docx").error().message.find("word/document.xml"),
            std::string::npos);
}

TEST(ZipParts, stop_at_a_part_that_expands_too_far_whatever_it_says) {
  std::string bytes = zip_of({{"big", std::string(60'000'000, 'a')}});
  Result<std::unique_ptr<ZipParts>> parts = ZipParts::open(bytes, {});
  ASSERT_TRUE(parts);
  EXPECT_EQ((*parts)->read("big").error().code, ErrorCode::kResourceExhausted);
  // The same with the stated size, in both headers, made small.
  const std::string size("\x00\x87\x93\x03", 4);
  for (size_t at = bytes.find(size); at != std::string::npos; at = bytes.find(size, at))
    bytes.replace(at, 4, std::string("\x10\0\0\0", 4));
  parts = ZipParts::open(bytes, {});
  if (parts) {
    Result<std::string> read = (*parts)->read("big");
    EXPECT_TRUE(!read || read->size() <= 16) << "got " << read->size();
  }
}

TEST(ZipParts, refuse_an_archive_of_too_many_entries) {
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 20'001; ++i) many.emplace_back("e" + std::to_string(i), "x");
  Result<std::unique_ptr<ZipParts>> parts = ZipParts::open(zip_of(many), {});
  ASSERT_FALSE(parts);
  EXPECT_EQ(parts.error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace edge_infer
