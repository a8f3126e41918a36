// Whole files: the sample documents, and the broken and hostile ones that
// tests/data/broken_documents/make_broken.py writes.
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/unit/documents/support.h"

namespace edge_infer {
namespace {

std::string all_text(const Document& document) {
  std::string text;
  for (const Block& block : document.blocks) text += block.text + "\n\n";
  return text;
}

std::string decode_percent(const std::string& name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '%') {
      out.push_back(static_cast<char>(std::stoi(name.substr(i + 1, 2), nullptr, 16)));
      i += 2;
    } else {
      out.push_back(name[i]);
    }
  }
  return out;
}

std::string read_all(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class BrokenDocuments : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = std::make_unique<TemporaryFolder>();
    out = (folder->path() / "broken").native();
    const std::string command =
        "python3 -W ignore tests/data/broken_documents/make_broken.py '" + out + "' > /dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  static void TearDownTestSuite() { folder.reset(); }

  static inline std::unique_ptr<TemporaryFolder> folder;
  static inline std::string out;
};

TEST_F(BrokenDocuments, are_read_or_refused_as_expected) {
  std::ifstream expectations(out + ".expect.jsonl");
  size_t cases = 0;
  for (std::string line; std::getline(expectations, line); ++cases) {
    const auto row = nlohmann::json::parse(line);
    const std::string file = row["file"], expect = row["expect"];
    const std::string path = out + "/" + decode_percent(file);
    if (file.starts_with("pdf/") && file != "pdf/text-named.pdf" && !has_pdfium()) continue;
    const auto start = std::chrono::steady_clock::now();
    Result<Document> document = read_document(path);
    const auto seconds = std::chrono::steady_clock::now() - start;
    EXPECT_LT(seconds, std::chrono::seconds(10)) << file;
    const std::string reason = document ? "read" : document.error().message;
    if (expect != "either") {
      EXPECT_EQ(document.has_value(), expect == "ok") << file << ": " << reason;
    }
    if (!document) {
      EXPECT_FALSE(document.error().message.empty()) << file;
      EXPECT_NE(document.error().code, ErrorCode::kInternal) << file << ": " << document.error().message;
      continue;
    }
    const std::string text = all_text(*document);
    for (const std::string& part : row.value("contains", std::vector<std::string>{}))
      EXPECT_NE(text.find(part), std::string::npos) << file << " lacks " << part;
    for (const std::string& part : row.value("never", std::vector<std::string>{}))
      EXPECT_EQ(text.find(part), std::string::npos) << file << " has " << part;
    EXPECT_EQ(text.find('\0'), std::string::npos) << file;
  }
  EXPECT_GE(cases, 80u);
  EXPECT_FALSE(std::filesystem::exists("/tmp/edge-infer-escaped.txt"));
#ifndef EDGE_INFER_SANITIZED
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  EXPECT_LT(usage.ru_maxrss, 640 * 1024) << "KiB, of the largest child";
#endif
}

TEST_F(BrokenDocuments, say_why) {
  std::map<std::string, std::string> reasons = {{"docx/no-document.docx", "word/document.xml"},
                                                {"docx/bomb-1000-to-1.docx", "expands"},
                                                {"docx/truncated.docx", "broken zip"},
                                                {"text/elf-named.txt", "ELF"},
                                                {"text/binary-named.txt", "binary"},
                                                {"docx/not-a-zip.docx", "OLE"},
                                                {"docx/bad-xml.docx", "broken XML"}};
  if (has_pdfium()) {
    reasons["pdf/encrypted-password.pdf"] = "password";
    reasons["pdf/truncated-header.pdf"] = "broken pdf";
  }
  for (const auto& [file, reason] : reasons) {
    Result<Document> document = read_document(out + "/" + file);
    ASSERT_FALSE(document) << file;
    EXPECT_NE(document.error().message.find(reason), std::string::npos)
        << file << ": " << document.error().message;
  }
}

TEST(Samples, all_read_and_hold_their_offsets) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("samples/documents")) {
    if (!entry.is_regular_file()) continue;
    const auto& path = entry.path();
    if (path.extension() == ".pdf" && !has_pdfium()) continue;
    ++files;
    Result<Document> document = read_document(path);
    ASSERT_TRUE(document) << path << ": " << document.error().message;
    EXPECT_GE(document->blocks.size(), 4u) << path;
    if (document->format == "text" || document->format == "markdown" || document->format == "html") {
      expect_offsets_hold(*document, read_all(path));
    } else {
      std::string extracted;
      for (const Block& block : document->blocks) extracted += (extracted.empty() ? "" : "\n\n") + block.text;
      expect_offsets_hold(*document, extracted);
    }
  }
  EXPECT_GE(files, 13u);
}

TEST(Samples, pdf_keeps_pages_headings_lists_and_paragraphs) {
  if (!has_pdfium()) GTEST_SKIP() << "no libpdfium.so";
  Result<Document> document = read_document("samples/documents/products/tide-gauge-manual.pdf");
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->title, "Tide gauge TG-4: manual");
  const auto find = [&](std::string_view text) -> const Block* {
    for (const Block& block : document->blocks)
      if (block.text.find(text) != std::string::npos) return &block;
    return nullptr;
  };
  const Block* battery =
      find("Below 5 per cent it stops sending altogether, but goes on measuring for about nine days.");
  ASSERT_NE(battery, nullptr) << "a sentence over two lines";
  EXPECT_EQ(battery->page, 3);
  EXPECT_EQ(battery->kind, Block::Kind::kParagraph);
  const Block* heading = find("Low battery");
  ASSERT_NE(heading, nullptr);
  EXPECT_EQ(heading->kind, Block::Kind::kHeading);
  EXPECT_EQ(heading->level, 2);
  EXPECT_EQ(find("gauge --port")->kind, Block::Kind::kCode);
  EXPECT_EQ(find("Two shackles")->kind, Block::Kind::kListItem);
  EXPECT_EQ(document->blocks.back().page, 4);
  EXPECT_EQ(find("page 2 of 4"), nullptr) << "running feet are left out";
}

TEST(Samples, docx_and_epub_keep_their_structure) {
  Result<Document> survey = read_document("samples/documents/hr/employee-survey.docx");
  ASSERT_TRUE(survey) << survey.error().message;
  EXPECT_EQ(survey->title, "Employee survey 2023");
  EXPECT_NE(outline(*survey).find(
                "H2 What will be done|Th Measure | Who | Until|T Two telephone booths | Lind | new office"),
            std::string::npos);
  Result<Document> tour = read_document("samples/documents/letters/harbour-tour.epub");
  ASSERT_TRUE(tour) << tour.error().message;
  EXPECT_EQ(tour->title, "Harbour tour for guests");
  EXPECT_NE(outline(*tour).find("H1 Lunch|P The fish market"), std::string::npos);
}

TEST(Samples, are_what_their_script_writes) {
  const TemporaryFolder folder;
  ASSERT_EQ(std::system(("python3 samples/make_binary_samples.py '" + folder.path().native() + "'").c_str()),
            0);
  for (const char* file : {"hr/employee-survey.docx", "letters/harbour-tour.epub"}) {
    Result<Document> made = read_document(folder.path() / file),
                     kept = read_document(std::filesystem::path("samples/documents") / file);
    ASSERT_TRUE(made && kept) << file;
    EXPECT_EQ(outline(*made), outline(*kept)) << file;
  }
}

}  // namespace
}  // namespace edge_infer
