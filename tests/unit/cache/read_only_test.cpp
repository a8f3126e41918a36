// A folder that cannot be written: what is there is used, with the same checks, and nothing else happens to
// it.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/unit/cache/support.h"

namespace edge_infer {
namespace {

using namespace testing_support;
namespace fs = std::filesystem;

// Root may write anywhere, so the folder and the processes are another user's then.
constexpr uid_t kNobody = 65534;

class ReadOnly : public testing::Test {
 protected:
  ReadOnly() : cache_(dir_.path() / "own" / "c") {
    fs::create_directories(cache_);
    give(cache_.parent_path());
    give(cache_);
    ::chmod(cache_.c_str(), 0700);
  }
  ~ReadOnly() override { ::chmod(cache_.c_str(), 0700); }

  static void give(const fs::path& path) {
    if (::geteuid() == 0) {
      ASSERT_EQ(::chown(path.c_str(), kNobody, kNobody), 0);
    }
  }
  // A cache_victim as the folder's owner; its exit code.
  int run(const std::string& mode) const {
    const int status = wait_for(spawn_victim({mode, cache_, std::to_string(kNobody)}));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void forbid_writing() const { ASSERT_EQ(::chmod(cache_.c_str(), 0500), 0); }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(cache_))
      names.push_back(fmt::format("{} {}", entry.path().filename().native(), entry.file_size()));
    std::sort(names.begin(), names.end());
    return names;
  }

  TemporaryDir dir_;
  fs::path cache_;
};

TEST_F(ReadOnly, what_is_stored_is_found_and_nothing_is_written) {
  ASSERT_EQ(run("fill"), 0);
  ASSERT_FALSE(fs::exists(cache_ / "kernels.db-wal")) << "the last one to close writes it back";
  forbid_writing();
  const auto before = files();
  EXPECT_EQ(run("read"), 0);
  EXPECT_EQ(run("read"), 0);
  EXPECT_EQ(files(), before);
}

TEST_F(ReadOnly, rows_that_are_still_in_the_wal_are_found) {
  ASSERT_EQ(run("fill_and_die"), 0);
  ASSERT_TRUE(fs::exists(cache_ / "kernels.db-wal"));
  forbid_writing();
  EXPECT_EQ(run("read"), 0);
  EXPECT_EQ(run("read"), 0);
}

TEST_F(ReadOnly, a_file_of_an_older_program_is_read) {
  ASSERT_EQ(run("fill_without_gates"), 0);
  forbid_writing();
  EXPECT_EQ(run("read"), 0);
}

TEST_F(ReadOnly, changed_rows_are_missed) {
  ASSERT_EQ(run("fill"), 0);
  std::fstream file(cache_ / "kernels.db", std::ios::in | std::ios::out | std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const std::vector<std::byte> code = kernel_blob(1).serialize();
  const std::string_view wanted(reinterpret_cast<const char*>(code.data()) + code.size() - 64, 64);
  const size_t at = bytes.find(wanted);
  ASSERT_NE(at, std::string::npos);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(bytes[at] ^ 1));
  file.close();
  forbid_writing();
  EXPECT_EQ(run("read"), 3) << "kernel 1 is missed";
}

TEST_F(ReadOnly, without_a_file_or_its_key_all_is_in_memory) {
  forbid_writing();
  EXPECT_EQ(run("read"), 4);
  ::chmod(cache_.c_str(), 0700);
  ASSERT_EQ(run("fill"), 0);
  fs::remove(cache_ / "kernels.key");
  forbid_writing();
  EXPECT_EQ(run("read"), 4);
}

TEST_F(ReadOnly, garbage_is_neither_read_nor_set_aside) {
  ASSERT_EQ(run("fill"), 0);
  std::ofstream(cache_ / "kernels.db") << "this is no database, but long enough to be looked at by SQLite";
  forbid_writing();
  const auto before = files();
  EXPECT_EQ(run("read"), 4);
  EXPECT_EQ(files(), before);
}

}  // namespace
}  // namespace edge_infer
