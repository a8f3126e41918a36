#include "apps/index/store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <random>
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

std::string content(const fs::path& path) {
  return read_file(path, size_t{1} << 30).value_or("unreadable");
}

void make_database(const fs::path& path, const char* sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
}

struct Refusal {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

// Opens for writing and for reading; both must refuse and leave every byte.
Refusal refusal_of(const fs::path& path) {
  const std::string before = content(path);
  const auto reader = Searcher::open(path);
  EXPECT_FALSE(reader.has_value());
  const auto store = IndexStore::open(path, FakeEmbedder().space());
  EXPECT_FALSE(store.has_value());
  EXPECT_EQ(content(path), before) << "a refused file is not modified";
  if (store) return {};
  return {store.error().code, store.error().message};
}

TEST(OpenIndex, a_missing_folder_is_named) {
  TemporaryFolder folder;
  const fs::path missing = folder / "none";
  const auto store = IndexStore::open(missing / "x.db", FakeEmbedder().space());
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, ErrorCode::kNotFound);
  EXPECT_NE(store.error().message.find("no folder \"" + missing.native() + "\""), std::string::npos)
      << store.error().message;
  EXPECT_FALSE(fs::exists(missing));
  write_text(folder / "file", "a file");
  const auto below = IndexStore::open(folder / "file" / "x.db", FakeEmbedder().space());
  ASSERT_FALSE(below.has_value());
  EXPECT_NE(below.error().message.find("there is a file, but no folder"), std::string::npos)
      << below.error().message;
}

TEST(OpenIndex, foreign_files_are_refused_and_left_alone) {
  TemporaryFolder folder;
  write_text(folder / "letter.txt", "Dear reader, this is a letter, long enough to be no empty file.\n");
  EXPECT_EQ(refusal_of(folder / "letter.txt").code, ErrorCode::kCorruption);
  write_text(folder / "short", "x");
  EXPECT_EQ(refusal_of(folder / "short").code, ErrorCode::kCorruption);
  make_database(folder / "other.db", "CREATE TABLE t(x); INSERT INTO t VALUES(1)");
  const Refusal other = refusal_of(folder / "other.db");
  EXPECT_EQ(other.code, ErrorCode::kCorruption);
  EXPECT_NE(other.message.find("not an edge-infer index"), std::string::npos) << other.message;
  make_database(folder / "empty.db", "CREATE TABLE t(x); DROP TABLE t");
  EXPECT_EQ(refusal_of(folder / "empty.db").code, ErrorCode::kCorruption);
}

TEST(OpenIndex, other_versions_are_refused_with_both_numbers) {
  TemporaryFolder folder;
  ASSERT_TRUE(IndexStore::open(folder / "i.db", FakeEmbedder().space()).has_value());
  make_database(folder / "i.db", "PRAGMA user_version = 7");
  const Refusal newer = refusal_of(folder / "i.db");
  EXPECT_EQ(newer.code, ErrorCode::kUnsupported);
  EXPECT_NE(newer.message.find("index format 7"), std::string::npos) << newer.message;
}

TEST(OpenIndex, altered_schema_is_refused) {
  TemporaryFolder folder;
  ASSERT_TRUE(IndexStore::open(folder / "a.db", FakeEmbedder().space()).has_value());
  fs::copy(folder / "a.db", folder / "b.db");
  make_database(folder / "a.db", "ALTER TABLE file ADD COLUMN extra INT");
  EXPECT_EQ(refusal_of(folder / "a.db").code, ErrorCode::kCorruption);
  make_database(folder / "b.db", "CREATE TRIGGER t AFTER INSERT ON file BEGIN DELETE FROM chunk; END");
  EXPECT_EQ(refusal_of(folder / "b.db").code, ErrorCode::kCorruption);
}

TEST(OpenIndex, cut_and_flipped_files_give_errors_not_crashes) {
  TemporaryFolder folder;
  testing::write_corpus(folder / "docs", 40, 1);
  FakeEmbedder embedder;
  RecordingObserver observer;
  ASSERT_TRUE(testing::run_index(folder / "good.db", {folder / "docs"}, embedder, observer).has_value());
  const std::string good = content(folder / "good.db");
  std::mt19937 random(11);
  int refused = 0;
  for (int i = 0; i < 60; ++i) {
    std::string bad = good;
    if (i % 3 == 0) {
      bad.resize(random() % bad.size());
    } else {
      for (int flips = 0; flips < 20; ++flips)
        bad[random() % (i % 3 == 1 ? bad.size() : 4096)] ^= static_cast<char>(1 + random() % 255);
    }
    const fs::path path = folder / "bad.db";
    fs::remove(path.native() + "-wal");
    fs::remove(path.native() + "-shm");
    write_text(path, bad);
    if (const auto searcher = Searcher::open(path)) {
      (void)searcher->search("word1 word2", std::vector<float>(32, 0.5f), {SearchMode::kHybrid, 10});
    } else {
      ++refused;
    }
    (void)testing::run_index(path, {folder / "docs"}, embedder, observer);
    (void)dump_index(path);
  }
  EXPECT_GT(refused, 10);
}

TEST(OpenIndex, missing_index_and_folders_are_errors) {
  TemporaryFolder folder;
  const auto reader = Searcher::open(folder / "no.db");
  ASSERT_FALSE(reader.has_value());
  EXPECT_EQ(reader.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(fs::exists(folder / "no.db"));
  EXPECT_FALSE(IndexStore::open(folder / "no/such/folder.db", FakeEmbedder().space()).has_value());
  EXPECT_FALSE(IndexStore::open(folder.path(), FakeEmbedder().space()).has_value());
}

TEST(OpenIndex, empty_file_becomes_an_index) {
  TemporaryFolder folder;
  write_text(folder / "i.db", "");
  EXPECT_TRUE(IndexStore::open(folder / "i.db", FakeEmbedder().space()).has_value());
  EXPECT_TRUE(verify_index(folder / "i.db").has_value());
}

TEST(OpenIndex, many_writers_may_open_a_new_file_at_once) {
  TemporaryFolder folder;
  for (int round = 0; round < 40; ++round) {
    const fs::path path = folder / fmt::format("{}.db", round);
    std::vector<std::thread> threads;
    std::vector<std::string> errors(6);
    std::barrier start(static_cast<std::ptrdiff_t>(errors.size()));
    for (std::string& error : errors)
      threads.emplace_back([&] {
        start.arrive_and_wait();
        const auto opened = open_index(path, OpenMode::kCreate);
        if (!opened) error = opened.error().message;
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& error : errors) ASSERT_EQ(error, "") << "round " << round;
  }
}

TEST(OpenIndex, names_that_look_like_uris_are_names) {
  TemporaryFolder folder;
  const fs::path old = fs::current_path();
  fs::current_path(folder.path());
  for (const char* name : {":memory:", "file:x.db?mode=memory", "a b#c%20?.db"}) {
    EXPECT_TRUE(IndexStore::open(name, FakeEmbedder().space()).has_value()) << name;
    EXPECT_TRUE(fs::exists(folder / name)) << name;
    EXPECT_TRUE(Searcher::open(name).has_value()) << name;
  }
  fs::current_path(old);
}

TEST(EmbeddingSpaces, another_model_is_refused_and_nothing_changes) {
  TemporaryFolder folder;
  testing::write_corpus(folder / "docs", 5, 1);
  RecordingObserver observer;
  ASSERT_TRUE(testing::run_index(folder / "i.db", {folder / "docs"}, FakeEmbedder(), observer).has_value());
  const std::string before = dump_index(folder / "i.db").value_or("");
  for (const FakeEmbedder* other : {new FakeEmbedder("fake-2"), new FakeEmbedder("fake-1", 64)}) {
    const auto mixed = testing::run_index(folder / "i.db", {folder / "docs"}, *other, observer);
    ASSERT_FALSE(mixed.has_value());
    EXPECT_EQ(mixed.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(mixed.error().message.find("another model"), std::string::npos) << mixed.error().message;
    delete other;
  }
  EXPECT_EQ(dump_index(folder / "i.db").value_or("x"), before);
  const auto searcher = Searcher::open(folder / "i.db");
  EXPECT_FALSE(searcher->search("x", std::vector<float>(64, 1.0f), {SearchMode::kVector, 1}).has_value());
  EXPECT_FALSE(searcher->search("x", std::vector<float>(32, 0.0f), {SearchMode::kVector, 1}).has_value());
}

TEST(EmbeddingSpaces, a_moved_model_is_the_same_model) {
  TemporaryFolder folder;
  ASSERT_TRUE(IndexStore::open(folder / "i.db", {"/old", "f", 8}).has_value());
  ASSERT_TRUE(IndexStore::open(folder / "i.db", {"/new", "f", 8}).has_value());
  EXPECT_EQ(Searcher::open(folder / "i.db")->space()->model, "/new");
}

std::string victim() {
  return std::string(std::getenv("EDGE_INFER_BIN") ? std::getenv("EDGE_INFER_BIN") : "") + "/index_victim";
}

struct Outcome {
  int code = -1;
  std::string output;
};

Outcome run_victim(const std::string& arguments) {
  Outcome outcome;
  FILE* pipe = ::popen((victim() + " " + arguments).c_str(), "r");
  if (pipe == nullptr) return outcome;
  char buffer[512];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) outcome.output += buffer;
  const int status = ::pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

class Faults : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(victim()))
      GTEST_SKIP() << "no " << victim() << ": run through ctest, or set EDGE_INFER_BIN";
    testing::write_corpus(docs_, 120, 21);
    RecordingObserver observer;
    ASSERT_TRUE(
        testing::run_index(folder_ / "undisturbed.db", {docs_}, FakeEmbedder(), observer).has_value());
    undisturbed_ = dump_index(folder_ / "undisturbed.db").value_or("");
    ASSERT_GT(undisturbed_.size(), 1000u);
  }

  TemporaryFolder folder_;
  const fs::path docs_ = folder_ / "docs";
  std::string undisturbed_;
};

TEST_F(Faults, killed_at_any_point_and_run_again_gives_the_undisturbed_index) {
  std::mt19937 random(5);
  const fs::path db = folder_ / "killed.db";
  int killed = 0;
  for (int round = 0; round < 25; ++round) {
    if (round % 5 == 0)
      for (const char* suffix : {"", "-wal", "-shm", "-journal"}) fs::remove(db.native() + suffix);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::execl(victim().c_str(), "index_victim", db.c_str(), docs_.c_str(), nullptr);
      ::_exit(127);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 60'000));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    killed += WIFSIGNALED(status) ? 1 : 0;
    if (round % 5 != 4) continue;  // some rounds kill a run that goes on from a killed one
    const Outcome again = run_victim(db.native() + " " + docs_.native());
    ASSERT_EQ(again.code, 0) << again.output;
    const Status intact = verify_index(db);
    ASSERT_TRUE(intact.has_value()) << intact.error().message;
    EXPECT_TRUE(dump_index(db).value_or("") == undisturbed_) << "round " << round;
  }
  EXPECT_GT(killed, 5) << "the kills came too late to mean anything";
}

TEST_F(Faults, full_disk_is_a_clear_error_and_loses_nothing) {
  const fs::path db = folder_ / "full.db";
  ASSERT_EQ(run_victim(db.native() + " " + (docs_ / "d0").native()).code, 0);
  const std::string before = dump_index(db).value_or("");
  const auto size = static_cast<int64_t>(fs::file_size(db));
  // A file may not grow: writing stops somewhere in the log or in the file.
  int failures = 0;
  for (const int64_t limit : {int64_t{20'000}, size / 2, size + 40'000}) {
    const Outcome full = run_victim(fmt::format("{} {} {}", db.native(), docs_.native(), limit));
    if (full.code == 0) continue;
    ++failures;
    EXPECT_EQ(full.code, 1);
    EXPECT_NE(full.output.find(db.native()), std::string::npos) << full.output;
    EXPECT_NE(full.output.find("resource exhausted"), std::string::npos) << full.output;
    EXPECT_NE(full.output.find("ulimit -f"), std::string::npos) << full.output;
    const Status intact = verify_index(db);
    ASSERT_TRUE(intact.has_value()) << intact.error().message;
    const std::string after = dump_index(db).value_or("");
    for (size_t line = 0; line < before.size();) {
      const size_t end = before.find('\n', line);
      EXPECT_NE(after.find(before.substr(line, end - line)), std::string::npos);
      line = end + 1;
    }
  }
  EXPECT_GT(failures, 0);
  ASSERT_EQ(run_victim(db.native() + " " + docs_.native()).code, 0);
  EXPECT_TRUE(dump_index(db).value_or("") == undisturbed_);
}

// What a user without rights is told, by a child that gives up root's.
TEST_F(Faults, refusals_name_their_cause) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become a user who may not";
  const fs::path shelf = folder_ / "shelf", open = folder_ / "open", closed = folder_ / "closed";
  for (const fs::path& folder : {shelf, open, closed}) fs::create_directory(folder);
  for (const fs::path& file : {open / "secret.db", open / "fixed.db", closed / "i.db"})
    fs::copy(folder_ / "undisturbed.db", file);
  ::chmod(folder_.path().c_str(), 0755);
  ::chmod(shelf.c_str(), 0555);
  ::chmod(open.c_str(), 0777);
  ::chmod(closed.c_str(), 0700);
  ::chmod((open / "secret.db").c_str(), 0000);
  ::chmod((open / "fixed.db").c_str(), 0444);
  struct Case {
    fs::path file;
    OpenMode mode;
    std::string said;
  };
  const std::vector<Case> cases = {
      {shelf / "new.db", OpenMode::kCreate, "may not make files in the folder \"" + shelf.native() + "\""},
      {open / "secret.db", OpenMode::kCreate, "may not read it"},
      {open / "secret.db", OpenMode::kReadOnly, "may not read it"},
      {open / "fixed.db", OpenMode::kCreate, "may not write it"},
      {closed / "i.db", OpenMode::kReadOnly, "a folder above it is closed"},
      {closed / "new.db", OpenMode::kCreate, "a folder above it is closed"},
  };
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(99);
    for (size_t i = 0; i < cases.size(); ++i) {
      const auto opened = open_index(cases[i].file, cases[i].mode);
      const std::string said = opened ? "it was opened" : opened.error().message;
      if (opened || opened.error().code != ErrorCode::kIoError ||
          said.find(cases[i].said) == std::string::npos ||
          said.find(cases[i].file.native()) == std::string::npos) {
        std::fprintf(stderr, "%s\n", said.c_str());
        ::_exit(static_cast<int>(i) + 1);
      }
    }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the number of the case, from 1";
}

TEST_F(Faults, index_in_a_read_only_folder_can_be_searched_but_not_written) {
  if (::geteuid() == 0) {
    // Root writes everywhere: the child gives that up.
    const fs::path shelf = folder_ / "shelf";
    fs::create_directory(shelf);
    fs::copy(folder_ / "undisturbed.db", shelf / "i.db");
    ::chmod(folder_.path().c_str(), 0755);
    ::chmod((shelf / "i.db").c_str(), 0444);
    ::chmod(shelf.c_str(), 0555);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (::setuid(65534) != 0) ::_exit(9);
      const auto searcher = Searcher::open(shelf / "i.db");
      if (!searcher) ::_exit(1);
      const auto hits =
          searcher->search("word1 word2 word3", std::vector<float>(32, 0.1f), {SearchMode::kHybrid, 5});
      if (!hits || hits->empty()) ::_exit(2);
      const auto store = IndexStore::open(shelf / "i.db", FakeEmbedder().space());
      if (store) ::_exit(3);
      const std::string& said = store.error().message;
      ::_exit(said.find("i.db") != std::string::npos && said.find("permission denied") != std::string::npos
                  ? 0
                  : 4);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    ::chmod(shelf.c_str(), 0755);
  } else {
    fs::permissions(folder_.path(), fs::perms::owner_read | fs::perms::owner_exec);
    EXPECT_TRUE(Searcher::open(folder_ / "undisturbed.db").has_value());
    fs::permissions(folder_.path(), fs::perms::owner_all);
  }
}

}  // namespace
}  // namespace edge_infer
