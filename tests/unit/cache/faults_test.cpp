// What processes and file systems do to a cache.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <fstream>
#include <set>
#include <thread>

#include "tests/unit/cache/support.h"

namespace edge_infer {
namespace {

using namespace testing_support;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

std::vector<std::string> lines_of(const fs::path& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(SingleFlight, two_processes_of_ten_threads_compile_each_kernel_once) {
  for (int round = 0; round < 3; ++round) {
    const TemporaryDir dir;
    const fs::path log = dir.path() / "log";
    std::vector<pid_t> pids;
    for (int p = 0; p < 2; ++p) pids.push_back(spawn_victim({"compile", dir.path() / "c", log}));
    for (const pid_t pid : pids) EXPECT_EQ(wait_for(pid), 0);
    const std::vector<std::string> lines = lines_of(log);
    EXPECT_EQ(lines.size(), 14u);
    EXPECT_EQ(std::set<std::string>(lines.begin(), lines.end()).size(), 14u);
    EXPECT_EQ(open_cache(dir.path() / "c")->stats().compiled, 14);
  }
}

TEST(SingleFlight, a_dead_owners_claims_are_taken_over) {
  const TemporaryDir dir;
  const fs::path log = dir.path() / "log";
  const pid_t pid = spawn_victim({"claim", dir.path() / "c", log});
  while (lines_of(log).empty()) std::this_thread::sleep_for(5ms);
  EXPECT_EQ(lines_of(log).front(), "14");
  const auto cache = open_cache(dir.path() / "c");
  const KernelKey key = kernel_key(3);
  KernelClaim claim = cache->claim(std::span(&key, 1));
  EXPECT_TRUE(claim.owned().empty());
  EXPECT_EQ(claim.wait(key, 50ms), KernelClaim::Outcome::kTimeout);
  ::kill(pid, SIGKILL);
  wait_for(pid);
  EXPECT_EQ(claim.wait(key, 0ms), KernelClaim::Outcome::kOwned);
}

// Nobody has waited for it: its number is still taken, and it can be signalled.
TEST(SingleFlight, an_owner_that_was_killed_and_not_reaped_is_dead) {
  const TemporaryDir dir;
  const fs::path log = dir.path() / "log";
  const pid_t pid = spawn_victim({"claim", dir.path() / "c", log});
  while (lines_of(log).empty()) std::this_thread::sleep_for(5ms);
  const auto cache = open_cache(dir.path() / "c");
  std::vector<KernelKey> keys = {kernel_key(0), kernel_key(1)};
  EXPECT_TRUE(cache->claim(keys).owned().empty());
  ::kill(pid, SIGKILL);
  siginfo_t end{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOWAIT), 0);
  ASSERT_EQ(::kill(pid, 0), 0);
  KernelClaim claim = cache->claim(std::span(keys).first(1));
  EXPECT_EQ(claim.owned().size(), 1u);
  EXPECT_EQ(claim.wait(keys[1], 0ms), KernelClaim::Outcome::kOwned);
  wait_for(pid);
}

TEST(SingleFlight, a_claim_ends_with_its_deadline_its_object_or_the_kernel) {
  const TemporaryDir dir;
  const auto cache = open_cache(dir.path() / "c"), other = open_cache(dir.path() / "c");
  const KernelKey key = kernel_key(1);
  const std::span keys(&key, 1);
  {
    const KernelClaim first = cache->claim(keys, 30ms);
    EXPECT_EQ(first.owned().size(), 1u);
    EXPECT_TRUE(cache->claim(keys).owned().empty());  // the same process
    KernelClaim second = other->claim(keys);
    EXPECT_TRUE(second.owned().empty());
    EXPECT_EQ(second.wait(key, 5s), KernelClaim::Outcome::kOwned);  // after the deadline
  }
  {
    const KernelClaim first = cache->claim(keys);
    EXPECT_EQ(first.owned().size(), 1u);
  }
  KernelClaim third = other->claim(keys);
  EXPECT_EQ(third.owned().size(), 1u);
  std::thread compiler([&] {
    std::this_thread::sleep_for(30ms);
    other->put_kernel(key, kernel_blob(1));
  });
  KernelClaim waiting = cache->claim(keys);
  EXPECT_EQ(waiting.wait(key, 10s), KernelClaim::Outcome::kStored);
  compiler.join();
  EXPECT_TRUE(cache->claim(keys).owned().empty());
}

TEST(Faults, a_killed_writer_leaves_a_whole_file) {
  const TemporaryDir dir;
  for (int round = 0; round < 6; ++round) {
    const pid_t pid = spawn_victim({"put", dir.path() / "c"});
    std::error_code error;
    if (round > 0)  // the first one may be killed while it creates the file
      while (fs::file_size(dir.path() / "c" / "kernels.db-wal", error) < 200'000 || error)
        std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(std::chrono::milliseconds(40 + 37 * round));
    ::kill(pid, SIGKILL);
    wait_for(pid);
    const auto cache = open_cache(dir.path() / "c");
    EXPECT_NE(cache->stats().file, "");
    EXPECT_TRUE(cache->verify().empty());
    for (int k = 0; k < 100; ++k)
      if (const auto blob = cache->find_kernel(kernel_key(k))) {
        EXPECT_EQ(*blob, kernel_blob(k, 100'000));
      }
  }
  EXPECT_GT(open_cache(dir.path() / "c")->stats().kernels, 0);
}

TEST(Faults, a_full_disk_costs_only_what_is_kept) {
  for (const char* limit : {"0", "4096", "20000", "70000", "200000"}) {
    const TemporaryDir dir;
    EXPECT_EQ(wait_for(spawn_victim({"starve", dir.path() / "c", limit})), 0) << limit;
    const auto cache = open_cache(dir.path() / "c");
    cache->put_kernel(kernel_key(50), kernel_blob(50));
    EXPECT_EQ(cache->find_kernel(kernel_key(50)), kernel_blob(50)) << limit;
    EXPECT_TRUE(cache->verify().empty());
  }
}

TEST(Faults, a_file_deleted_while_it_is_open_comes_back) {
  const TemporaryDir dir;
  const auto cache = open_cache(dir.path() / "c");
  cache->put_kernel(kernel_key(1), kernel_blob(1));
  fs::remove_all(dir.path() / "c");
  (void)cache->find_kernel(kernel_key(1));
  cache->put_kernel(kernel_key(2), kernel_blob(2));
  EXPECT_EQ(cache->find_kernel(kernel_key(2)), kernel_blob(2));
  EXPECT_EQ(open_cache(dir.path() / "c")->find_kernel(kernel_key(2)), kernel_blob(2));
}

TEST(Faults, folders_that_others_can_change_are_refused) {
  const TemporaryDir dir;
  const auto reason = [&](const fs::path& folder) {
    const auto cache = open_cache(folder);
    cache->put_kernel(kernel_key(1), kernel_blob(1));  // works in memory
    EXPECT_EQ(cache->find_kernel(kernel_key(1)), kernel_blob(1));
    EXPECT_EQ(cache->stats().file, "");
    return cache->stats().reason;
  };
  const auto expect = [&](const fs::path& folder, const char* why) {
    const std::string text = reason(folder);
    EXPECT_NE(text.find(why), std::string::npos) << folder << ": " << text;
  };
  fs::create_directories(dir.path() / "open" / "c");
  ::chmod((dir.path() / "open").c_str(), 0777);
  expect(dir.path() / "open" / "c", "can be written by other users");
  ::chmod((dir.path() / "open").c_str(), 01777);  // sticky: others cannot rename what is ours
  EXPECT_NE(open_cache(dir.path() / "open" / "c")->stats().file, "");
  fs::create_directories(dir.path() / "group");
  ::chmod((dir.path() / "group").c_str(), 0770);
  expect(dir.path() / "group", "can be written by other users");
  fs::create_directories(dir.path() / "real");
  fs::create_directory_symlink(dir.path() / "real", dir.path() / "link");
  expect(dir.path() / "link", "is not a directory");
  dir.put("file", "");
  expect(dir.path() / "file", "is not a directory");
  expect({}, "no home folder");
  fs::create_directories(dir.path() / "linked");
  ::chmod((dir.path() / "linked").c_str(), 0700);
  dir.put("elsewhere.db", "");
  fs::create_symlink(dir.path() / "elsewhere.db", dir.path() / "linked" / "kernels.db");
  expect(dir.path() / "linked", "is not a regular file");
  if (::geteuid() != 0) GTEST_SKIP() << "another owner needs root";
  fs::create_directories(dir.path() / "foreign" / "c");
  ASSERT_EQ(::chown((dir.path() / "foreign" / "c").c_str(), 12345, 12345), 0);
  expect(dir.path() / "foreign" / "c", "belongs to another user");
  ASSERT_EQ(::chown((dir.path() / "foreign").c_str(), 12345, 12345), 0);
  ASSERT_EQ(::chown((dir.path() / "foreign" / "c").c_str(), 0, 0), 0);
  expect(dir.path() / "foreign" / "c", "belongs to another user");
  (void)open_cache(dir.path() / "owned");
  ASSERT_EQ(::chown((dir.path() / "owned" / "kernels.db").c_str(), 12345, 12345), 0);
  expect(dir.path() / "owned", "belongs to another user");
}

TEST(Faults, files_and_folder_are_private) {
  const TemporaryDir dir;
  const auto cache = open_cache(dir.path() / "c");
  cache->put_kernel(kernel_key(1), kernel_blob(1));
  for (const char* name : {"", "kernels.db", "kernels.key", "kernels.lock", "kernels.db-wal"}) {
    struct stat st{};
    ASSERT_EQ(::lstat((dir.path() / "c" / name).c_str(), &st), 0) << name;
    EXPECT_EQ(st.st_mode & 077, 0u) << name;
  }
}

}  // namespace
}  // namespace edge_infer
