// Files that take long to read, change meanwhile or cannot be read now: what a run does beside them.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

#include "apps/index/reading_pool.h"
#include "apps/index/verify.h"
#include "tests/unit/index/fakes.h"

namespace edge_infer {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::FakeEmbedder;
using testing::RecordingObserver;
using testing::TemporaryFolder;
using testing::write_text;

// More than any of these tests takes; a test that waits for it has failed.
constexpr auto kForEver = 60s;

// Counts the files that end, and tells those who wait for a number of them.
class CountingObserver final : public IndexObserver {
 public:
  void file(const FileEvent& event) override {
    const std::lock_guard lock(mutex_);
    ended_.push_back(fs::path(event.path).filename().native());
    changed_.notify_all();
    if (on_file) on_file(ended_.size());
  }
  void progress(const IndexProgress& p) override { last = p; }
  bool wait_for(size_t files, const StopReading& stop) {
    std::unique_lock lock(mutex_);
    const auto end = std::chrono::steady_clock::now() + kForEver;
    while (ended_.size() < files && !stop() && std::chrono::steady_clock::now() < end)
      changed_.wait_for(lock, 5ms);
    return ended_.size() >= files;
  }
  const std::vector<std::string>& ended() const { return ended_; }

  std::function<void(size_t)> on_file;
  IndexProgress last;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> ended_;
};

class SlowFiles : public ::testing::Test {
 protected:
  Result<IndexSummary> index(const DocumentSource& source, IndexObserver& observer, int threads = 2,
                             const std::atomic<bool>* cancel = nullptr) {
    EDGE_INFER_ASSIGN(const auto store, IndexStore::open(db_, embedder_.space()));
    IndexOptions options;
    options.paths = {docs_};
    options.threads = threads;
    options.cancel = cancel;
    return index_files(*store, embedder_, source, options, observer);
  }
  std::string dump() {
    const Status intact = verify_index(db_);
    EXPECT_TRUE(intact.has_value()) << (intact ? "" : intact.error().message);
    return dump_index(db_).value_or("");
  }
  // The index that a run without any haste gives.
  std::string undisturbed() {
    fs::remove(db_);
    RecordingObserver observer;
    EXPECT_TRUE(index(testing::fake_source(), observer).has_value());
    return dump();
  }
  int64_t count(const char* sql) {
    const auto db = open_index(db_, OpenMode::kReadOnly);
    EXPECT_TRUE(db.has_value());
    return (*db)->integer(sql).value_or(-1);
  }
  // The fake readers, with something before a file is read.
  template <typename Before>
  static DocumentSource source_with(Before before) {
    DocumentSource source = testing::fake_source();
    source.read = [before, read = source.read](const fs::path& path,
                                               const StopReading& stop) -> Result<Document> {
      EDGE_INFER_RETURN_IF_ERROR(before(path, stop));
      return read(path, stop);
    };
    return source;
  }

  TemporaryFolder folder_;
  const fs::path docs_ = folder_ / "docs", db_ = folder_ / "index.db";
  FakeEmbedder embedder_;
};

TEST_F(SlowFiles, hold_up_nobody) {
  testing::write_corpus(docs_, 40, 1);
  write_text(docs_ / "a.slow", "comes first and ends last");
  for (const int threads : {1, 3}) {
    fs::remove(db_);
    CountingObserver observer;
    bool others_went_on = false;
    const auto source = source_with([&](const fs::path& path, const StopReading& stop) -> Status {
      if (path.extension() == ".slow") others_went_on = observer.wait_for(40, stop);
      return {};
    });
    const auto summary = index(source, observer, threads);
    ASSERT_TRUE(summary.has_value()) << summary.error().message;
    EXPECT_TRUE(others_went_on) << threads;
    EXPECT_EQ(summary->indexed, 41);
    ASSERT_EQ(observer.ended().size(), 41u);
    EXPECT_EQ(observer.ended().back(), "a.slow");
    const std::string text = dump();
    EXPECT_EQ(text, undisturbed()) << threads;
  }
}

TEST_F(SlowFiles, may_be_more_than_are_left_behind) {
  testing::write_corpus(docs_, 10, 2);
  constexpr int kSlow = ReadingPool::kMostLate + 3;
  for (int i = 0; i < kSlow; ++i)
    write_text(docs_ / fmt::format("a{}.slow", i), fmt::format("slow file {}", i));
  std::mutex mutex;
  int now = 0, most = 0;
  const auto source = source_with([&](const fs::path& path, const StopReading&) -> Status {
    if (path.extension() != ".slow") return {};
    {
      const std::lock_guard lock(mutex);
      most = std::max(most, ++now);
    }
    std::this_thread::sleep_for(1300ms);
    const std::lock_guard lock(mutex);
    --now;
    return {};
  });
  CountingObserver observer;
  const auto summary = index(source, observer, 1);
  ASSERT_TRUE(summary.has_value()) << summary.error().message;
  EXPECT_EQ(summary->indexed, 10 + kSlow);
  EXPECT_LE(most, ReadingPool::kMostLate + 1) << "so many are in memory";
  const std::string text = dump();
  EXPECT_EQ(text, undisturbed());
}

TEST_F(SlowFiles, are_stopped_when_the_run_is_and_the_others_are_stored) {
  testing::write_corpus(docs_, 40, 1);
  for (const char* name : {"a.slow", "b.slow", "c.slow"}) write_text(docs_ / name, "never ends by itself");
  std::atomic<bool> cancel{false};
  std::chrono::steady_clock::time_point asked;
  CountingObserver observer;
  observer.on_file = [&](size_t ended) {
    if (ended < 40) return;
    asked = std::chrono::steady_clock::now();
    cancel = true;
  };
  const auto source = source_with([&](const fs::path& path, const StopReading& stop) -> Status {
    if (path.extension() != ".slow") return {};
    observer.wait_for(1000, stop);
    return fail(ErrorCode::kCancelled, "stopped");
  });
  const auto summary = index(source, observer, 2, &cancel);
  ASSERT_TRUE(summary.has_value()) << summary.error().message;
  EXPECT_LT(std::chrono::steady_clock::now() - asked, kForEver / 4);
  EXPECT_TRUE(summary->cancelled);
  EXPECT_EQ(summary->indexed, 40);
  EXPECT_EQ(summary->files, 40) << "what was stopped is no file that failed";
  EXPECT_EQ(count("SELECT count(*) FROM file"), 40);
  EXPECT_EQ(count("SELECT count(*) FROM chunk"), summary->chunks);
}

TEST_F(SlowFiles, are_stopped_when_the_run_fails) {
  testing::write_corpus(docs_, 40, 1);
  write_text(docs_ / "a.slow", "never ends by itself");
  embedder_.fail_after = 20;
  CountingObserver observer;
  std::atomic<bool> stopped = false;
  const auto source = source_with([&](const fs::path& path, const StopReading& stop) -> Status {
    if (path.extension() != ".slow") return {};
    observer.wait_for(1000, stop);
    stopped = stop();
    return fail(ErrorCode::kCancelled, "stopped");
  });
  const auto summary = index(source, observer);
  ASSERT_FALSE(summary.has_value());
  EXPECT_EQ(summary.error().message, "the model stopped working");
  EXPECT_TRUE(stopped);
}

// Parts are small and files long, so that some files are embedded in part when the run is stopped.
TEST_F(SlowFiles, of_a_stopped_run_only_what_is_stored_is_counted) {
  for (int file = 0; file < 30; ++file) {
    std::string text;
    for (int word = 0; word < 400; ++word)
      text += fmt::format("w{}x{}{}", file, word, word % 40 == 39 ? "\n\n" : " ");
    write_text(docs_ / fmt::format("{:02}.txt", file), text);
  }
  embedder_.bulk = 60;
  embedder_.delay_us = 500;
  std::atomic<bool> cancel{false};
  std::atomic<int> calls{0};
  embedder_.before = [&](int64_t) {
    if (++calls == 75) cancel = true;
  };
  CountingObserver observer;
  const auto summary = index(testing::fake_source(), observer, 2, &cancel);
  ASSERT_TRUE(summary.has_value()) << summary.error().message;
  EXPECT_GT(summary->indexed, 0);
  EXPECT_LT(summary->indexed, 30);
  EXPECT_LT(summary->chunks, embedder_.texts_embedded) << "something was embedded in vain";
  EXPECT_EQ(summary->chunks, count("SELECT count(*) FROM chunk"));
  EXPECT_EQ(summary->tokens, count("SELECT sum(tokens) FROM chunk"));
  EXPECT_EQ(observer.last.chunks, summary->chunks);
  EXPECT_EQ(observer.last.tokens, summary->tokens);
}

TEST_F(SlowFiles, that_change_in_each_reading_keep_their_passages) {
  write_text(docs_ / "log.txt", "the first line");
  RecordingObserver observer;
  ASSERT_TRUE(index(testing::fake_source(), observer).has_value());
  for (const ErrorCode code : {ErrorCode::kCorruption, ErrorCode::kUnsupported}) {
    std::ofstream(docs_ / "log.txt", std::ios::app) << " and more";
    const auto growing = source_with([&](const fs::path& path, const StopReading&) -> Status {
      std::ofstream(path, std::ios::app) << " and more";
      return fail(code, "half a line");
    });
    const auto summary = index(growing, observer);
    ASSERT_TRUE(summary.has_value());
    const FileEvent& event = observer.events[(docs_ / "log.txt").native()];
    EXPECT_EQ(event.status, FileEventStatus::kFailed);
    EXPECT_EQ(event.reason, "changed while it was read: half a line");
    EXPECT_EQ(count("SELECT count(*) FROM chunk WHERE text = 'the first line'"), 1);
  }
  ASSERT_TRUE(index(testing::fake_source(), observer).has_value());
  EXPECT_EQ(count("SELECT count(*) FROM chunk WHERE text LIKE '%and more'"), 1);
}

TEST_F(SlowFiles, what_the_machine_lacks_says_nothing_about_the_file) {
  write_text(docs_ / "a.txt", "one");
  const auto lacking = source_with(
      [](const fs::path&, const StopReading&) -> Status { return fail(ErrorCode::kInternal, "no library"); });
  RecordingObserver observer;
  for (const char* text : {"one", "two"}) {
    write_text(docs_ / "a.txt", text);
    const int64_t before = text == std::string_view("one") ? 0 : 1;
    for (int run = 0; run < 2; ++run) {
      ASSERT_TRUE(index(lacking, observer).has_value());
      EXPECT_EQ(observer.events[(docs_ / "a.txt").native()].reason, "no library");
      EXPECT_EQ(count("SELECT count(*) FROM chunk"), before);
    }
    const auto summary = index(testing::fake_source(), observer);
    ASSERT_TRUE(summary.has_value());
    EXPECT_EQ(summary->indexed, 1) << "tried again, though the file is as it was";
  }
  EXPECT_EQ(count("SELECT count(*) FROM chunk WHERE text = 'two'"), 1);
}

TEST_F(SlowFiles, vanishing_while_read_are_forgotten_and_no_failure) {
  write_text(docs_ / "a.txt", "alpha");
  RecordingObserver observer;
  ASSERT_TRUE(index(testing::fake_source(), observer).has_value());
  write_text(docs_ / "a.txt", "alpha two");
  const auto source = source_with([](const fs::path& path, const StopReading&) -> Status {
    fs::remove(path);
    return {};
  });
  const auto summary = index(source, observer);
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->failed, 0);
  EXPECT_EQ(count("SELECT count(*) FROM file"), 0);
}

}  // namespace
}  // namespace edge_infer
