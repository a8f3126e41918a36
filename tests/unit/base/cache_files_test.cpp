#include "runtime/base/cache_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>
#include <string>

#include "runtime/base/file_size_signal.h"
#include "tests/unit/models_files/temporary_dir.h"

namespace edge_infer {
namespace {

namespace fs = std::filesystem;
using testing_support::TemporaryDir;

constexpr const char* kFirst = "weights-1111.pack";
constexpr const char* kSecond = "weights-2222.pack";

void set_age(const fs::path& file, int64_t seconds) {
  const timespec then{std::time(nullptr) - seconds, 0};
  const timespec times[2] = {then, then};
  ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0) << file;
}

int64_t age_of(const fs::path& file) {
  struct stat st{};
  EXPECT_EQ(::stat(file.c_str(), &st), 0) << file;
  return std::time(nullptr) - st.st_mtim.tv_sec;
}

std::set<std::string> names_in(const fs::path& dir) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir)) names.insert(entry.path().filename());
  return names;
}

Status store(const fs::path& path, size_t bytes, int64_t limit) {
  return store_cache_file(path, std::vector<std::byte>(bytes), limit);
}

TEST(CacheFiles, lists_each_kind_and_nothing_else) {
  const TemporaryDir dir;
  dir.put(kFirst, "12345");
  dir.put(std::string(kFirst) + ".stamp", "123");
  dir.put("tokenizer-3333.img", "12");
  dir.put("content-4444.hash", "1");
  dir.put("tokenizer-3333.img.aBc123", "left");
  dir.put(std::string(kSecond) + ".stamp", "lone");
  dir.put("kernels.db.corrupt-17", "bad");
  for (const char* other : {"kernels.db", "kernels.db-wal", "kernels.key", "kernels.lock", "notes.txt",
                            "weights-of-mine", "photo.aBc123"})
    dir.put(other, "x");
  fs::create_directories(dir.path() / "weights-5555.pack");
  fs::create_symlink(dir.path() / "notes.txt", dir.path() / "tokenizer-6666.img");
  const int writing = ::open((dir.path() / "weights-1111.pack.xYz789").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(::flock(writing, LOCK_EX), 0);

  std::map<std::string, CacheFile> found;
  for (const CacheFile& file : list_cache_files(dir.path())) found[file.path.filename()] = file;
  using Kind = CacheFile::Kind;
  const std::map<std::string, std::pair<Kind, int64_t>> expected = {
      {kFirst, {Kind::kPack, 8}},
      {"tokenizer-3333.img", {Kind::kImage, 2}},
      {"content-4444.hash", {Kind::kHash, 1}},
      {"tokenizer-3333.img.aBc123", {Kind::kLeftover, 4}},
      {std::string(kSecond) + ".stamp", {Kind::kLeftover, 4}},
      {"kernels.db.corrupt-17", {Kind::kSetAside, 3}}};
  EXPECT_EQ(found.size(), expected.size());
  for (const auto& [name, what] : expected) {
    EXPECT_EQ(found[name].kind, what.first) << name;
    EXPECT_EQ(found[name].bytes, what.second) << name;
  }

  ASSERT_TRUE(clear_cache_files(dir.path()));
  EXPECT_EQ(names_in(dir.path()),
            (std::set<std::string>{"kernels.db", "kernels.db-wal", "kernels.key", "kernels.lock", "notes.txt",
                                   "weights-of-mine", "photo.aBc123", "weights-5555.pack",
                                   "tokenizer-6666.img", "weights-1111.pack.xYz789"}));
  ::close(writing);
  ASSERT_TRUE(clear_cache_files(dir.path()));  // its writer is gone
  EXPECT_FALSE(names_in(dir.path()).contains("weights-1111.pack.xYz789"));
  EXPECT_TRUE(list_cache_files("/nonexistent").empty());
}

TEST(CacheFiles, those_used_longest_ago_go_beyond_the_limit) {
  const TemporaryDir dir;
  dir.put("weights-a.pack", std::string(1000, 'a'));
  dir.put("weights-a.pack.stamp", "");  // its time is the pack's time of use
  dir.put("weights-b.pack", std::string(1000, 'b'));
  dir.put("tokenizer-c.img", std::string(1000, 'c'));
  dir.put("tokenizer-d.img.aBc123", "left");
  set_age(dir.path() / "weights-a.pack", 9000);
  set_age(dir.path() / "weights-a.pack.stamp", 10);
  set_age(dir.path() / "weights-b.pack", 5000);
  set_age(dir.path() / "tokenizer-c.img", 7000);
  ASSERT_TRUE(store(dir.path() / "weights-e.pack", 1000, 4000));
  EXPECT_EQ(names_in(dir.path()),
            (std::set<std::string>{"weights-a.pack", "weights-a.pack.stamp", "weights-b.pack",
                                   "tokenizer-c.img", "weights-e.pack"}));
  ASSERT_TRUE(store(dir.path() / "weights-f.pack", 500, 3499));
  EXPECT_EQ(names_in(dir.path()), (std::set<std::string>{"weights-a.pack", "weights-a.pack.stamp",
                                                         "weights-e.pack", "weights-f.pack"}));
  // What this process made stays, however small the limit.
  ASSERT_TRUE(store(dir.path() / "weights-g.pack", 10, 0));
  EXPECT_EQ(names_in(dir.path()),
            (std::set<std::string>{"weights-e.pack", "weights-f.pack", "weights-g.pack"}));
}

TEST(CacheFiles, one_in_use_stays_and_its_use_is_noted) {
  const TemporaryDir dir;
  const fs::path used = dir.path() / kFirst, stamp = used.native() + ".stamp",
                 image = dir.path() / "tokenizer-1.img";
  dir.put(kFirst, std::string(1000, 'a'));
  dir.put(stamp.filename(), "");
  dir.put(image.filename(), std::string(1000, 'b'));
  for (const fs::path& file : {used, stamp, image}) set_age(file, 8000);
  {
    CacheFileUse first(*stamp_file(used), stamp);
    CacheFileUse moved(std::move(first)), again(*stamp_file(used), stamp);
    moved = CacheFileUse(*stamp_file(image), image);
    EXPECT_LT(age_of(stamp), 1000);
    EXPECT_GT(age_of(used), 7000) << "the stamp in its record would not hold";
    EXPECT_LT(age_of(image), 1000);
    ASSERT_TRUE(store(dir.path() / kSecond, 10, 0));
    EXPECT_EQ(names_in(dir.path()),
              (std::set<std::string>{kFirst, stamp.filename(), image.filename(), kSecond}));
  }
  set_age(stamp, 600);
  {
    const CacheFileUse soon(*stamp_file(used), stamp);
  }
  EXPECT_GT(age_of(stamp), 500) << "at most once an hour";
  ASSERT_TRUE(store(dir.path() / "tokenizer-2.img", 10, 0));
  EXPECT_EQ(names_in(dir.path()), (std::set<std::string>{kSecond, "tokenizer-2.img"}));
}

TEST(CacheFiles, a_folder_is_warned_about_once) {
  EXPECT_TRUE(is_first_cache_warning("/proc/once"));
  EXPECT_FALSE(is_first_cache_warning("/proc/once"));
  EXPECT_TRUE(is_first_cache_warning("/proc/another"));
}

// In a child, whose files may have 1,000 bytes: 0 when `body` returned true, minus the signal that ended it.
template <typename F>
int run_limited(F body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::signal(SIGXFSZ, SIG_DFL);
    const rlimit no_core{0, 0}, size{1000, 1000};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::setrlimit(RLIMIT_FSIZE, &size);
    ::_exit(body() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(FileSizeLimit, is_an_error_like_a_full_disk_and_leaves_no_file) {
  const TemporaryDir dir;
  EXPECT_EQ(run_limited([&] {
              const Status status = write_file_atomically(dir.path() / "f", std::vector<std::byte>(2000));
              const Status small = write_file_atomically(dir.path() / "small", std::vector<std::byte>(1000));
              return !status && status.error().code == ErrorCode::kResourceExhausted && small.has_value();
            }),
            0);
  EXPECT_EQ(names_in(dir.path()), std::set<std::string>{"small"});
}

TEST(FileSizeLimit, what_the_signal_does_to_the_host_is_left_alone) {
  const TemporaryDir dir;
  const auto write_too_much = [&] {
    const int fd = ::open((dir.path() / "own").c_str(), O_RDWR | O_CREAT, 0600);
    const std::string text(2000, 'x');
    return ::write(fd, text.data(), text.size()) == 1000 && ::write(fd, text.data(), 1) < 0;
  };
  EXPECT_EQ(run_limited([&] {
              (void)write_file_atomically(dir.path() / "f", std::vector<std::byte>(2000));
              return write_too_much();
            }),
            -SIGXFSZ);
  EXPECT_EQ(run_limited([&] {
              ignore_file_size_signal();
              const FileSizeSignalBlock outer;
              (void)write_file_atomically(dir.path() / "f", std::vector<std::byte>(2000));
              return write_too_much();
            }),
            0);
}

}  // namespace
}  // namespace edge_infer
