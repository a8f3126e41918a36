// read_document() as its callers see it: through the child process.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(code_of(line), ErrorCode::kResourceExhausted);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  ReadLimits wide;
  wide.text_bytes = int64_t{200} << 20;
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
  EXPECT_NE(document.error().message.find("20 ms"), std::string::npos) << document.error().message;
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
