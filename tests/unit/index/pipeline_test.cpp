#include "apps/index/pipeline.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

#include "apps/index/search.h"
#include "apps/index/verify.h"
#include "tests/unit/index/fakes.h"

namespace edge_infer {
namespace {

namespace fs = std::filesystem;
using testing::FakeEmbedder;
using testing::RecordingObserver;
using testing::TemporaryFolder;
using testing::write_text;

class Pipeline : public ::testing::Test {
 protected:
  IndexSummary index(std::vector<fs::path> paths, int threads = 2) {
    observer_ = {};
    const auto summary = testing::run_index(db_, std::move(paths), embedder_, observer_, threads, version_);
    EXPECT_TRUE(summary.has_value()) << (summary ? "" : summary.error().message);
    const Status intact = verify_index(db_);
    EXPECT_TRUE(intact.has_value()) << (intact ? "" : intact.error().message);
    return summary.value_or(IndexSummary{});
  }
  IndexSummary index() { return index({docs_}); }
  std::string dump(const fs::path& path) {
    const auto text = dump_index(path);
    EXPECT_TRUE(text.has_value()) << (text ? "" : text.error().message);
    return text.value_or("");
  }
  std::string status(const fs::path& path) {
    const auto found = observer_.events.find(path.native());
    return found == observer_.events.end() ? "none" : file_event_name(found->second.status);
  }
  int64_t count(const char* sql) {
    const auto db = open_index(db_, OpenMode::kReadOnly);
    EXPECT_TRUE(db.has_value());
    return (*db)->integer(sql).value_or(-1);
  }

  TemporaryFolder folder_;
  const fs::path docs_ = folder_ / "docs", db_ = folder_ / "index.db";
  FakeEmbedder embedder_;
  RecordingObserver observer_;
  std::string version_ = "fake-1";
};

TEST_F(Pipeline, indexes_every_file_and_counts_what_it_did) {
  testing::write_corpus(docs_, 40, 1);
  const IndexSummary s = index();
  EXPECT_EQ(s.files, 40);
  EXPECT_EQ(s.indexed, 40);
  EXPECT_EQ(s.chunks, count("SELECT count(*) FROM chunk"));
  EXPECT_LT(count("SELECT count(*) FROM vector"), s.chunks) << "equal passages share a vector";
  EXPECT_LT(embedder_.texts_embedded, s.chunks)
      << "and are embedded once, unless two batches are on their way";
  EXPECT_EQ(observer_.last.files_done, 40);
  EXPECT_EQ(observer_.last.files_total, 40);
}

TEST_F(Pipeline, second_run_embeds_nothing_and_changes_nothing) {
  testing::write_corpus(docs_, 20, 1);
  index();
  const std::string before = dump(db_);
  const int64_t embedded = embedder_.texts_embedded;
  int64_t chunks = 0;
  for (const auto& [path, event] : observer_.events) chunks += event.chunks;
  const IndexSummary s = index();
  for (const auto& [path, event] : observer_.events) chunks -= event.chunks;
  EXPECT_EQ(chunks, 0) << "an unchanged file is reported with the passages it has";
  EXPECT_EQ(s.unchanged, 20);
  EXPECT_EQ(s.indexed, 0);
  EXPECT_EQ(embedder_.texts_embedded, embedded);
  EXPECT_EQ(dump(db_), before);
}

TEST_F(Pipeline, same_index_with_any_number_of_threads) {
  testing::write_corpus(docs_, 60, 2);
  index({docs_}, 1);
  const std::string one = dump(db_);
  for (const int threads : {2, 5}) {
    fs::remove(db_);
    index({docs_}, threads);
    EXPECT_EQ(dump(db_), one) << threads;
  }
}

TEST_F(Pipeline, touched_file_with_the_same_content_is_unchanged) {
  write_text(docs_ / "a.txt", "some words");
  index();
  fs::last_write_time(docs_ / "a.txt", fs::file_time_type::clock::now() - std::chrono::hours(5));
  EXPECT_EQ(index().unchanged, 1);
  EXPECT_EQ(embedder_.texts_embedded, 1);
}

TEST_F(Pipeline, changed_file_replaces_its_passages_and_keeps_shared_vectors) {
  write_text(docs_ / "a.txt", "first paragraph\n\nsecond paragraph");
  index();
  EXPECT_EQ(embedder_.texts_embedded, 2);
  write_text(docs_ / "a.txt", "second paragraph\n\nthird paragraph");
  const IndexSummary s = index();
  EXPECT_EQ(s.indexed, 1);
  EXPECT_EQ(s.chunks, 2);
  EXPECT_EQ(embedder_.texts_embedded, 3) << "the second paragraph's vector is reused";
  EXPECT_EQ(count("SELECT count(*) FROM vector"), 2);
  EXPECT_EQ(count("SELECT count(*) FROM chunk_fts WHERE chunk_fts MATCH 'first'"), 0);
}

TEST_F(Pipeline, rewrite_of_equal_size_and_restored_times_is_seen) {
  write_text(docs_ / "a.txt", "apple pie");
  struct stat st{};
  ASSERT_EQ(::stat((docs_ / "a.txt").c_str(), &st), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(80));
  index();
  write_text(docs_ / "a.txt", "peach pie");
  const timespec times[2] = {st.st_atim, st.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, (docs_ / "a.txt").c_str(), times, 0), 0);
  EXPECT_EQ(index().indexed, 1);
}

TEST_F(Pipeline, file_written_twice_within_one_clock_tick_is_seen) {
  for (int i = 0; i < 20; ++i) {
    write_text(docs_ / "a.txt", fmt::format("number {:02}", i));
    EXPECT_EQ(index().indexed, 1) << i;
  }
}

TEST_F(Pipeline, rename_and_copy_reuse_all_vectors) {
  testing::write_corpus(docs_, 10, 3);
  index();
  const int64_t embedded = embedder_.texts_embedded;
  fs::rename(docs_ / "d1", docs_ / "renamed");
  fs::copy(docs_ / "d2", docs_ / "copied");
  const IndexSummary s = index();
  EXPECT_EQ(s.deleted, 2);
  EXPECT_EQ(s.indexed, 4);
  EXPECT_EQ(embedder_.texts_embedded, embedded);
  EXPECT_EQ(s.tokens, 0);
}

TEST_F(Pipeline, vanished_files_are_forgotten_below_the_given_paths_only) {
  write_text(docs_ / "a/x.txt", "alpha");
  write_text(docs_ / "b/y.txt", "beta");
  write_text(docs_ / "a b/z.txt", "gamma");
  index();
  fs::remove(docs_ / "a/x.txt");
  fs::remove(docs_ / "b/y.txt");
  EXPECT_EQ(index({docs_ / "a"}).deleted, 1);
  EXPECT_EQ(count("SELECT count(*) FROM file"), 2);
  fs::remove_all(docs_ / "b");
  EXPECT_EQ(index({docs_ / "b"}).deleted, 1) << "a folder that is gone takes its files along";
  EXPECT_EQ(count("SELECT count(*) FROM file"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM vector"), 1);
}

TEST_F(Pipeline, deleting_everything_gives_the_space_back) {
  testing::write_corpus(docs_, 150, 4);
  for (int i = 0; i < 400; ++i)
    write_text(docs_ / fmt::format("u{}.txt", i), fmt::format("unique number{}", i));
  index();
  const auto full = fs::file_size(db_);
  fs::remove_all(docs_);
  fs::create_directory(docs_);
  const IndexSummary s = index();
  EXPECT_EQ(s.deleted, 550);
  EXPECT_EQ(count("SELECT count(*) FROM block"), 0);
  EXPECT_LE(count("SELECT count(*) FROM chunk_fts_data"), 4) << "no words of deleted passages stay";
  // A page for each table and index is all that an empty index needs.
  constexpr uintmax_t kPageBytes = 16384, kObjects = 24;
  EXPECT_GT(full, kPageBytes * kObjects);
  EXPECT_LE(fs::file_size(db_), kPageBytes * kObjects);
}

TEST_F(Pipeline, many_deletions_compact_the_vector_blocks) {
  for (int i = 0; i < 2000; ++i)
    write_text(docs_ / fmt::format("{:04}.txt", i), fmt::format("unique number{}", i));
  index();
  ASSERT_EQ(count("SELECT count(*) FROM block"), 8);
  for (int i = 0; i < 2000; ++i)
    if (i % 4 != 0) fs::remove(docs_ / fmt::format("{:04}.txt", i));
  index();
  EXPECT_LE(count("SELECT count(*) FROM block"), 3);
  const auto searcher = Searcher::open(db_);
  ASSERT_TRUE(searcher.has_value());
  for (const int i : {0, 400, 1996}) {
    const std::string text = fmt::format("unique number{}", i);
    const auto hits = searcher->search("", embedder_.vector_of(text), {SearchMode::kVector, 1});
    ASSERT_TRUE(hits.has_value());
    EXPECT_EQ((*hits)[0].text, text);
    EXPECT_NEAR((*hits)[0].score, 1, 1e-5);
  }
}

TEST_F(Pipeline, failed_and_skipped_files_are_reported_each_run_and_read_once) {
  write_text(docs_ / "good.txt", "words");
  write_text(docs_ / "bad.broken", "x");
  write_text(docs_ / "picture.png", "x");
  write_text(docs_ / "locked.busy", "x");
  write_text(docs_ / "empty.txt", "");
  for (int run = 0; run < 2; ++run) {
    const IndexSummary s = index();
    EXPECT_EQ(s.files, 5);
    EXPECT_EQ(s.failed, 2);
    EXPECT_EQ(s.skipped, 2);
    EXPECT_EQ(status(docs_ / "bad.broken"), "failed");
    EXPECT_EQ(observer_.events[(docs_ / "bad.broken").native()].reason, "broken on purpose");
    EXPECT_EQ(status(docs_ / "picture.png"), "skipped");
    EXPECT_EQ(status(docs_ / "locked.busy"), "failed");
    EXPECT_EQ(observer_.events[(docs_ / "empty.txt").native()].reason, "no text in it");
  }
}

TEST_F(Pipeline, file_that_turns_bad_loses_its_passages_but_not_when_it_cannot_be_read_now) {
  write_text(docs_ / "a.txt", "alpha");
  write_text(docs_ / "b.txt", "beta");
  index();
  DocumentSource source = testing::fake_source();
  source.read = [](const fs::path& path, const StopReading&) -> Result<Document> {
    if (path.filename() == "a.txt") return fail(ErrorCode::kCorruption, "rotten");
    return fail(ErrorCode::kIoError, "no permission");
  };
  write_text(docs_ / "a.txt", "alpha two");
  write_text(docs_ / "b.txt", "beta two");
  const auto store = IndexStore::open(db_, embedder_.space());
  ASSERT_TRUE(store.has_value());
  IndexOptions options;
  options.paths = {docs_};
  const auto summary = index_files(**store, embedder_, source, options, observer_);
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->failed, 2);
  EXPECT_EQ(count("SELECT count(*) FROM chunk WHERE text = 'alpha'"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM chunk WHERE text = 'beta'"), 1);
}

TEST_F(Pipeline, another_version_of_the_readers_reads_all_files_again) {
  write_text(docs_ / "a.txt", "alpha");
  index();
  version_ = "fake-2";
  EXPECT_EQ(index().indexed, 1);
  EXPECT_EQ(embedder_.texts_embedded, 1) << "the same passage keeps its vector";
  EXPECT_EQ(index().unchanged, 1);
}

TEST_F(Pipeline, links_pipes_and_hidden_entries_are_left_alone) {
  write_text(docs_ / "real.txt", "alpha");
  write_text(docs_ / ".hidden.txt", "secret");
  write_text(docs_ / ".git/config.txt", "secret");
  write_text(folder_ / "outside/o.txt", "outside");
  fs::create_symlink(folder_ / "outside/o.txt", docs_ / "link.txt");
  fs::create_directory_symlink("..", docs_ / "up");
  fs::create_symlink("loop-b", docs_ / "loop-a");
  fs::create_symlink("loop-a", docs_ / "loop-b");
  fs::create_symlink("nowhere", docs_ / "dangling");
  ASSERT_EQ(::mkfifo((docs_ / "pipe.txt").c_str(), 0600), 0);
  const IndexSummary s = index();
  EXPECT_EQ(s.indexed, 1);
  EXPECT_EQ(s.skipped, 6);
  EXPECT_EQ(observer_.events[(docs_ / "up").native()].reason, "a symbolic link");
  EXPECT_EQ(observer_.events[(docs_ / "pipe.txt").native()].reason, "a named pipe");
  EXPECT_EQ(status(docs_ / ".hidden.txt"), "none");
}

TEST_F(Pipeline, a_given_path_may_be_a_link_or_hidden_and_paths_may_overlap) {
  write_text(docs_ / ".hidden/a.txt", "alpha");
  fs::create_directory_symlink(docs_ / ".hidden", folder_ / "link");
  EXPECT_EQ(
      index({folder_ / "link", docs_ / ".hidden", docs_ / ".hidden/a.txt", docs_ / ".hidden/../.hidden"})
          .files,
      1);
  EXPECT_EQ(status(docs_ / ".hidden/a.txt"), "indexed");
}

TEST_F(Pipeline, the_index_does_not_index_itself) {
  write_text(folder_ / "a.txt", "alpha");
  EXPECT_EQ(index({folder_.path()}).files, 1);
  EXPECT_EQ(index({folder_.path()}).files, 1);
}

TEST_F(Pipeline, missing_path_is_reported_and_the_run_goes_on) {
  write_text(docs_ / "a.txt", "alpha");
  const IndexSummary s = index({docs_, folder_ / "nothing"});
  EXPECT_EQ(s.indexed, 1);
  EXPECT_EQ(s.failed, 1);
  EXPECT_EQ(observer_.events[(folder_ / "nothing").native()].reason, "no such file or directory");
  EXPECT_EQ(s.missing, std::vector<std::string>{(folder_ / "nothing").native()});
}

TEST_F(Pipeline, an_empty_path_is_missing_and_forgets_nothing) {
  write_text(docs_ / "a.txt", "alpha");
  index();
  const IndexSummary s = index({fs::path()});
  EXPECT_EQ(s.failed, 1);
  EXPECT_EQ(s.deleted, 0);
  EXPECT_EQ(s.missing, std::vector<std::string>{""});
  EXPECT_EQ(count("SELECT count(*) FROM chunk"), 1);
}

TEST_F(Pipeline, a_path_that_was_indexed_and_is_gone_is_not_missing) {
  write_text(docs_ / "a.txt", "alpha");
  write_text(docs_ / "b.txt", "beta");
  index({docs_});
  fs::remove(docs_ / "b.txt");
  const IndexSummary s = index({docs_ / "a.txt", docs_ / "b.txt"});
  EXPECT_EQ(s.deleted, 1);
  EXPECT_TRUE(s.missing.empty());
}

TEST_F(Pipeline, progress_and_summary_count_the_same_passages) {
  testing::write_corpus(docs_, 12, 3);
  const IndexSummary first = index();
  EXPECT_GT(first.chunks, 12);
  EXPECT_EQ(observer_.last.chunks, first.chunks);
  write_text(docs_ / "more.txt", "one passage more");
  EXPECT_EQ(index().chunks, 1);
  EXPECT_EQ(observer_.last.chunks, 1) << "unchanged files are counted in neither";
  version_ = "fake-2";  // all are read again, and no vector is made anew
  const IndexSummary again = index();
  EXPECT_EQ(again.chunks, first.chunks + 1);
  EXPECT_EQ(again.tokens, 0);
  EXPECT_EQ(observer_.last.chunks, again.chunks);
}

TEST_F(Pipeline, names_with_any_bytes_are_kept_apart) {
  write_text(docs_ / "bad-\xff\xfe.txt", "alpha");
  write_text(docs_ / "bad-%FF%FE.txt", "beta");
  write_text(docs_ / "line\nbreak.txt", "gamma");
  EXPECT_EQ(index().indexed, 3);
  EXPECT_EQ(index().unchanged, 3);
}

TEST_F(Pipeline, deep_folders_need_no_stack) {
  fs::path deep = docs_;
  for (int i = 0; i < 200; ++i) deep /= "d";
  write_text(deep / "x.txt", "deep words");
  EXPECT_EQ(index().indexed, 1);
}

TEST_F(Pipeline, cancelled_run_keeps_whole_documents_and_a_later_run_completes_them) {
  testing::write_corpus(docs_, 80, 5);
  std::atomic<bool> cancel{false};
  class CancelSoon : public IndexObserver {
   public:
    explicit CancelSoon(std::atomic<bool>& cancel) : cancel_(cancel) {}
    void file(const FileEvent&) override {
      if (++seen_ == 20) cancel_ = true;
    }
    void progress(const IndexProgress&) override {}

   private:
    std::atomic<bool>& cancel_;
    int seen_ = 0;
  } observer(cancel);
  const auto summary = testing::run_index(db_, {docs_}, embedder_, observer, 2, version_, &cancel);
  ASSERT_TRUE(summary.has_value());
  EXPECT_TRUE(summary->cancelled);
  EXPECT_GE(summary->indexed, 20);
  EXPECT_LT(summary->indexed, 80);
  ASSERT_TRUE(verify_index(db_).has_value());
  EXPECT_EQ(count("SELECT count(*) FROM file"), summary->indexed);
  index();
  const std::string resumed = dump(db_);
  fs::remove(db_);
  index();
  EXPECT_EQ(dump(db_), resumed);
}

TEST_F(Pipeline, failing_model_ends_the_run_with_its_error_and_keeps_what_was_stored) {
  testing::write_corpus(docs_, 80, 6);
  embedder_.fail_after = 100;
  RecordingObserver observer;
  const auto summary = testing::run_index(db_, {docs_}, embedder_, observer);
  ASSERT_FALSE(summary.has_value());
  EXPECT_EQ(summary.error().message, "the model stopped working");
  ASSERT_TRUE(verify_index(db_).has_value());
  EXPECT_LT(count("SELECT count(*) FROM file"), 80);
  embedder_.fail_after = -1;
  index();
  EXPECT_EQ(count("SELECT count(*) FROM file"), 80);
}

TEST_F(Pipeline, calls_have_as_many_tokens_as_the_embedder_likes) {
  testing::write_corpus(docs_, 60, 3);
  embedder_.bulk = 200;
  std::mutex mutex;
  std::vector<int64_t> calls;
  embedder_.before = [&](int64_t tokens) {
    const std::lock_guard lock(mutex);
    calls.push_back(tokens);
  };
  index();
  ASSERT_GT(calls.size(), 4U);
  std::ranges::sort(calls);
  EXPECT_LE(calls.back(), 200);
  // What the last one leaves, and less than a text's room in the others.
  EXPECT_GT(calls[1], 200 - embedder_.max_length());
}

TEST_F(Pipeline, makes_a_second_call_while_one_waits_for_an_accelerator) {
  // Each file fills a part.
  for (int file = 0; file < 12; ++file) {
    std::string text;
    for (int paragraph = 0; paragraph < 3; ++paragraph) {
      for (int word = 0; word < 50; ++word) text += fmt::format("w{}x{} ", file, 50 * paragraph + word);
      text += "\n\n";
    }
    write_text(docs_ / fmt::format("{}.txt", file), text);
  }
  embedder_.bulk = 100;
  embedder_.waiting = 2;
  std::mutex mutex;
  std::condition_variable changed;
  int calls = 0;
  // The first call ends when another one has begun: one worker alone would wait for good.
  embedder_.before = [&](int64_t) {
    std::unique_lock lock(mutex);
    ++calls;
    changed.notify_all();
    if (calls == 1) {
      EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return calls > 1; }));
    }
  };
  EXPECT_EQ(index({docs_}, 1).indexed, 12);
  EXPECT_GT(calls, 12);
}

TEST_F(Pipeline, two_indexers_of_one_file_take_turns) {
  testing::write_corpus(docs_ / "one", 40, 7);
  testing::write_corpus(docs_ / "two", 40, 8);
  FakeEmbedder other;
  embedder_.delay_us = other.delay_us = 300;
  Result<IndexSummary> second;
  std::thread thread([&] {
    RecordingObserver observer;
    second = testing::run_index(db_, {docs_ / "two", docs_ / "one"}, other, observer);
  });
  RecordingObserver observer;
  const auto first = testing::run_index(db_, {docs_ / "one"}, embedder_, observer);
  thread.join();
  ASSERT_TRUE(first.has_value()) << first.error().message;
  ASSERT_TRUE(second.has_value()) << second.error().message;
  ASSERT_TRUE(verify_index(db_).has_value());
  const std::string both = dump(db_);
  fs::remove(db_);
  index();
  EXPECT_EQ(dump(db_), both);
}

}  // namespace
}  // namespace edge_infer
