// read_document() as its callers see it: through the child process.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/unit/documents/support.h"

namespace edge_infer {
namespace {

ErrorCode code_of(const std::filesystem::path& path, const ReadLimits& limits = {}) {
  Result<Document> document = read_document(path, limits);
  EXPECT_FALSE(document) << path;
  return document ? ErrorCode::kInternal : document.error().code;
}

TEST(ReadDocument, reads_a_file_through_the_child) {
  const TemporaryFolder folder;
  Result<Document> document = read_document(folder.write("a.md", "# Title\n\nWords *here*.\n"));
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->format, "markdown");
  EXPECT_EQ(outline(*document), "H1 Title|P Words here.");
}

TEST(ReadDocument, reads_an_open_descriptor_wherever_it_stands) {
  const TemporaryFolder folder;
  const int fd = ::open(folder.write("a.txt", "first second").c_str(), O_RDONLY | O_CLOEXEC);
  ::lseek(fd, 6, SEEK_SET);
  Result<Document> document = read_open_document(fd, "a.txt");
  ASSERT_TRUE(document);
  EXPECT_EQ(outline(*document), "P first second");
  EXPECT_EQ(::lseek(fd, 0, SEEK_CUR), 6);
  ::close(fd);
}

TEST(ReadDocument, refuses_what_is_no_regular_file_without_blocking) {
  const TemporaryFolder folder;
  ::mkfifo((folder.path() / "pipe.txt").c_str(), 0600);
  std::filesystem::create_symlink(folder.write("real.txt", "words"), folder.path() / "link.txt");
  std::filesystem::create_directory(folder.path() / "folder.pdf");
  EXPECT_EQ(code_of(folder.path() / "pipe.txt"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(folder.path() / "link.txt"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(folder.path() / "folder.pdf"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of("/dev/zero"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(folder.path() / "absent.txt"), ErrorCode::kNotFound);
}

TEST(ReadDocument, keeps_to_the_limits) {
  const TemporaryFolder folder;
  const auto big = folder.write("big.txt", "");
  std::filesystem::resize_file(big, std::uintmax_t{1} << 40);  // sparse
  EXPECT_EQ(code_of(big), ErrorCode::kResourceExhausted);
  const auto line = folder.write("line.txt", std::string(100'000'000, 'x'));
  const double start = cpu_seconds();
  EXPECT_EQ(code_of(line), ErrorCode::kResourceExhausted);
  EXPECT_LT(cpu_seconds() - start, 10);
  ReadLimits wide;
  wide.text_bytes = int64_t{200} << 20;
  wide.time_ms = 600'000;
  Result<Document> document = read_document(line, wide);
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->blocks[0].text.size(), 100'000'000u);
}

TEST(ReadDocument, stops_at_the_time_limit) {
  const TemporaryFolder folder;
  std::string page = "<body>";
  for (int i = 0; i < 400'000; ++i) page += "<p><b>some words</b> and <i>more</i></p>";
  ReadLimits limits;
  limits.time_ms = 20;
  Result<Document> document = read_document(folder.write("slow.html", page), limits);
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(document.error().message.find("80 ms"), std::string::npos) << document.error().message;
}

TEST(ReadDocument, ends_soon_when_it_is_told_to) {
  const TemporaryFolder folder;
  std::string page = "<body>";
  for (int i = 0; i < 400'000; ++i) page += "<p><b>some words</b> and <i>more</i></p>";
  const auto path = folder.write("slow.html", page);
  int asked = 0;
  Result<Document> document = read_document(path, {}, [&] { return ++asked > 1; });
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(asked, 2) << "the child is not waited for";
  EXPECT_TRUE(read_document(folder.write("a.txt", "words"), {}, [] { return false; }));
}

TEST(ReadDocument, reads_a_growing_file_as_far_as_it_went) {
  const TemporaryFolder folder;
  const auto path = folder.write("log.txt", "The first line.\n");
  const std::jthread writer([&](const std::stop_token& stop) {
    std::ofstream log(path, std::ios::app);
    for (int i = 0; !stop.stop_requested(); ++i) {
      log << "Line " << i << " of a log that goes on.\n" << std::flush;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  });
  for (int i = 0; i < 20; ++i) {
    Result<Document> document = read_document(path);
    ASSERT_TRUE(document) << document.error().message;
    EXPECT_TRUE(document->blocks[0].text.starts_with("The first line."));
  }
}

#ifndef EDGE_INFER_SANITIZED
TEST(ReadDocument, stops_at_the_memory_limit) {
  const TemporaryFolder folder;
  std::string page = "<body>";
  for (int i = 0; i < 400'000; ++i) page += "<p><b>some words</b> and <i>more</i></p>";
  ReadLimits limits;
  limits.memory_bytes = int64_t{64} << 20;
  EXPECT_EQ(code_of(folder.write("large.html", page), limits), ErrorCode::kResourceExhausted);
}
#endif

TEST(ReadDocument, works_from_many_threads_at_once) {
  const TemporaryFolder folder;
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const std::string words = "words of thread " + std::to_string(t);
      const auto path = folder.write(std::to_string(t) + ".txt", words);
      for (int i = 0; i < 5; ++i) {
        Result<Document> document = read_document(path);
        right += document && outline(*document) == "P " + words ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 40);
}

TEST(ReadDocument, loads_charsets_before_the_sandbox_closes) {
  const TemporaryFolder folder;
  Result<Document> document = read_document(
      folder.write("a.html", "<meta charset=shift_jis><p>\x8b\xb4\x82\xcd\x8d\x48\x8e\x96</p>"));
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(outline(*document), "P 橋は工事");
}

TEST(ReadDocument, says_that_a_pdf_has_no_text_layer) {
  if (!has_pdfium()) GTEST_SKIP() << "no libpdfium.so";
  const TemporaryFolder folder;
  Result<Document> document = read_document(folder.write(
      "scan.pdf",
      "%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count "
      "1>>\nendobj\n"
      "3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>\nendobj\ntrailer\n<</Root 1 0 R>>\n%%EOF\n"));
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(document.error().message.find("no text layer"), std::string::npos) << document.error().message;
}

TEST(ReadDocument, notes_a_guessed_encoding) {
  const TemporaryFolder folder;
  Result<Document> document = read_document(folder.write("a.txt",
                                                         "Gr\xfc\xdf"
                                                         "e aus der Stadt"));
  ASSERT_TRUE(document);
  EXPECT_NE(document->note.find("windows-1252"), std::string::npos);
}

}  // namespace
}  // namespace edge_infer
