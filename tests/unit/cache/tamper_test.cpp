// Whatever is done to the file, a wrong row is never returned and nothing crashes.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/unit/cache/support.h"

namespace edge_infer {
namespace {

using namespace testing_support;
namespace fs = std::filesystem;

const std::string kEntry = entry_text({"kernel:" + kernel_key(1).id()});
const TuningRow kTuning{"nest", "cpu.avx512", "machine", "tile=6x64", {5, 6}};

// A closed cache of three kernels and one row of each other kind, whole in its main file.
void fill(const fs::path& dir) {
  {
    const auto cache = open_cache(dir);
    for (int k = 1; k <= 3; ++k) cache->put_kernel(kernel_key(k), kernel_blob(k, 3000));
    cache->put_entry(entry_key(1), kEntry);
    cache->put_graph("hash", "a graph");
    cache->put_tuning(kTuning);
  }
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open((dir / "kernels.db").c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
}

// Number of rows that were found; each of them right.
int check(const fs::path& dir) {
  const auto cache = open_cache(dir);
  int found = 0;
  for (int k = 1; k <= 3; ++k)
    if (const auto blob = cache->find_kernel(kernel_key(k))) {
      EXPECT_EQ(*blob, kernel_blob(k, 3000));
      ++found;
    }
  if (const auto entry = cache->find_entry(entry_key(1))) {
    EXPECT_EQ(*entry, kEntry);
    ++found;
  }
  if (const auto graph = cache->find_graph("hash")) {
    EXPECT_EQ(*graph, "a graph");
    ++found;
  }
  for (const TuningRow& row : cache->find_tuning("nest", "cpu.avx512", "machine")) {
    EXPECT_EQ(row, kTuning);
    ++found;
  }
  return found;
}

std::string read_all(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_all(const fs::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
}

void run_sql(const fs::path& dir, const char* sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open((dir / "kernels.db").c_str(), &db), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, &message), SQLITE_OK)
      << sql << ": " << (message ? message : "");
  sqlite3_close(db);
}

TEST(Tamper, every_column_that_matters_is_authenticated) {
  const struct {
    const char* sql;
    int left;
  } cases[] = {
      {"SELECT 1", 6},
      {"UPDATE kernel SET code = CAST(substr(code, 1, 100) || x'ff' || substr(code, 102) AS BLOB)", 3},
      {"UPDATE kernel SET code = CAST(substr(code, 1, 8) || x'41' || substr(code, 10) AS BLOB)",
       3},  // the entry's offset
      {"UPDATE kernel SET code = x''", 3},
      {"UPDATE kernel SET mac = zeroblob(32)", 3},
      {"UPDATE kernel SET mac = x''", 3},
      {"UPDATE kernel SET target = 'cpu.avx2'", 3},
      {"UPDATE kernel SET features = ''", 3},
      {"UPDATE kernel SET compiler = 'x'", 3},
      {"UPDATE kernel SET generator = 'x'", 3},
      {"UPDATE kernel SET options = 'x'", 3},
      {"UPDATE kernel SET source_hash = lower(hex(zeroblob(32)))", 3},
      // Another kernel's code and seal under this kernel's key.
      {"UPDATE kernel SET (code, mac) = (SELECT code, mac FROM kernel ORDER BY id LIMIT 1)", 4},
      {"UPDATE entry SET text = replace(text, 'T by 1', 'T by 2')", 5},
      {"UPDATE entry SET text = ''", 5},
      {"UPDATE entry SET mac = (SELECT mac FROM kernel LIMIT 1)", 5},
      {"UPDATE entry SET settings = 'precision=bf16;deterministic=1'", 5},
      {"UPDATE entry SET graph_hash = 'x'", 5},
      {"UPDATE graph SET text = 'another'", 5},
      {"UPDATE tuning SET nanoseconds = '1,1'", 5},
      {"UPDATE tuning SET schedule = 'tile=1x1'", 5},
      {"DELETE FROM kernel", 3},
      {"DROP TABLE kernel", 0},
      {"DROP TABLE tuning; CREATE TABLE tuning(x)", 5},
      {"PRAGMA user_version = 7", 0},
      {"PRAGMA application_id = 7", 0},
      // Neither triggers nor views of the file run.
      {"CREATE TRIGGER t AFTER UPDATE ON kernel BEGIN DELETE FROM entry; END", 6},
      {"ALTER TABLE graph RENAME TO g; CREATE VIEW graph AS SELECT * FROM g", 4},
  };
  for (const auto& c : cases) {
    const TemporaryDir dir;
    fill(dir.path() / "c");
    run_sql(dir.path() / "c", c.sql);
    const int left = check(dir.path() / "c");
    if (std::string_view(c.sql).find("DROP TABLE kernel") == 0)
      EXPECT_LE(left, 3) << c.sql;  // what was read before the damage showed
    else
      EXPECT_EQ(left, c.left) << c.sql;
    EXPECT_GE(check(dir.path() / "c"), 0);
  }
}

TEST(Tamper, rejected_rows_are_deleted_counted_and_logged) {
  const TemporaryDir dir;
  fill(dir.path() / "c");
  run_sql(dir.path() / "c", "UPDATE kernel SET mac = zeroblob(32)");
  const auto cache = open_cache(dir.path() / "c");
  EXPECT_FALSE(cache->find_kernel(kernel_key(1)));
  EXPECT_EQ(cache->stats().kernels, 2);
  EXPECT_EQ(cache->stats().rejected, 1);
  const std::vector<BadRow> bad = cache->verify();
  EXPECT_EQ(bad.size(), 2u);
  EXPECT_EQ(cache->stats().kernels, 0);
  EXPECT_EQ(cache->stats().rejected, 3);
  const auto events = cache->events();
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const CacheEvent& e) {
    return e.kind == "rejected" && e.what == "kernel:" + kernel_key(1).id();
  }));
}

// Single bytes over the whole file: every one of the header and the schema's page, samples of the rest.
TEST(Tamper, flipped_bytes_give_right_rows_or_none) {
  const TemporaryDir dir;
  fill(dir.path() / "c");
  const fs::path file = dir.path() / "c" / "kernels.db";
  const std::string original = read_all(file);
  std::vector<size_t> places;
  for (size_t i = 0; i < 100; ++i) places.push_back(i);
  for (size_t i = 100; i < original.size(); i += 397) places.push_back(i);
  int total = 0;
  for (const size_t place : places) {
    for (const char* side : {"kernels.db-wal", "kernels.db-shm"}) fs::remove(dir.path() / "c" / side);
    std::string content = original;
    content[place] = static_cast<char>(content[place] ^ (place % 2 == 0 ? 0xff : 1 << (place % 8)));
    fs::remove(file);
    write_all(file, content);
    total += check(dir.path() / "c");
    if (HasFailure()) FAIL() << "byte " << place;
  }
  EXPECT_GT(total, static_cast<int>(places.size()));  // most damage costs some rows only
}

TEST(Tamper, garbage_is_set_aside_and_at_most_three_are_kept) {
  const TemporaryDir dir;
  const fs::path file = dir.path() / "c" / "kernels.db";
  fill(dir.path() / "c");
  for (int round = 0; round < 5; ++round) {
    fs::remove(file);
    write_all(file, "not a database " + std::string(9000, 'x'));
    for (int t = 0; t < round; ++t) write_all(file.native() + ".corrupt-" + std::to_string(t), "old");
    const auto cache = open_cache(dir.path() / "c");
    cache->put_kernel(kernel_key(1), kernel_blob(1));
    EXPECT_EQ(cache->find_kernel(kernel_key(1)), kernel_blob(1));
    EXPECT_EQ(cache->stats().file, file.native());
    EXPECT_EQ(cache->events().front().kind, "corrupt");
  }
  int aside = 0;
  for (const auto& entry : fs::directory_iterator(dir.path() / "c"))
    aside += entry.path().filename().native().find(".corrupt-") != std::string::npos;
  EXPECT_GE(aside, 1);
  EXPECT_LE(aside, 3);
}

TEST(Tamper, another_key_or_machine_trusts_nothing) {
  const TemporaryDir dir;
  fill(dir.path() / "c");
  write_all(dir.path() / "c" / "kernels.key", std::string(32, 'k'));
  EXPECT_EQ(check(dir.path() / "c"), 0);
  fill(dir.path() / "c");
  EXPECT_EQ(check(dir.path() / "c"), 6);
  write_all(dir.path() / "c" / "kernels.key", "short");
  EXPECT_EQ(check(dir.path() / "c"), 0);
}

}  // namespace
}  // namespace edge_infer
