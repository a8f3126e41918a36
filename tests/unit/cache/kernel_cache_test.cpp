// What the cache keeps, forgets and says.
#include "runtime/cache/kernel_cache.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/cache/support.h"

namespace edge_infer {
namespace {

using namespace testing_support;

TEST(KernelCache, keeps_rows_over_processes) {
  const TemporaryDir dir;
  const TuningRow row{"nest", "cpu.avx512", "machine", "tile=6x64", {3, 1, 2}};
  {
    const auto cache = open_cache(dir.path() / "c");
    EXPECT_FALSE(cache->find_kernel(kernel_key(1)));
    cache->put_kernel(kernel_key(1), kernel_blob(1));
    cache->put_entry(entry_key(1), "an entry");
    cache->put_graph("hash", "a graph");
    cache->put_tuning(row);
    cache->put_machine("machine", "a CPU");
  }
  const auto cache = open_cache(dir.path() / "c");
  EXPECT_EQ(cache->find_kernel(kernel_key(1)), kernel_blob(1));
  EXPECT_EQ(cache->find_kernel("kernel:" + kernel_key(1).id()), kernel_blob(1));
  EXPECT_EQ(cache->find_entry(entry_key(1)), "an entry");
  EXPECT_EQ(cache->find_graph("hash"), "a graph");
  EXPECT_EQ(cache->find_tuning("nest", "cpu.avx512", "machine"), std::vector{row});
  EXPECT_FALSE(cache->find_kernel(kernel_key(2)));
  EXPECT_FALSE(cache->find_kernel("kernel:nothing"));
  EXPECT_FALSE(cache->find_entry(entry_key(2)));
  EXPECT_FALSE(cache->find_graph("other"));
  EXPECT_TRUE(cache->find_tuning("nest", "cpu.avx512", "other").empty());
  const CacheStats s = cache->stats();
  EXPECT_EQ(s.file, (dir.path() / "c" / "kernels.db").native());
  EXPECT_EQ(s.kernels, 1);
  EXPECT_EQ(s.entries, 1);
  EXPECT_EQ(s.graphs, 1);
  EXPECT_EQ(s.tunings, 1);
  EXPECT_EQ(s.hits, 3);
  EXPECT_EQ(s.misses, 4);
  EXPECT_EQ(s.compiled, 1);
  EXPECT_EQ(s.rejected, 0);
  EXPECT_EQ(s.bytes, static_cast<int64_t>(kernel_blob(1).serialize().size() + 8 + 7));
}

TEST(KernelCache, a_warm_start_writes_no_row) {
  const TemporaryDir dir;
  KernelCache::Options options;
  options.dir = dir.path() / "c";
  const auto used = [&](KernelCache& cache) {
    for (const CacheRow& row : cache.rows())
      if (row.table == "kernel") return row.last_used;
    return int64_t{-1};
  };
  int64_t first = 0;
  {
    const auto cache = KernelCache::open(options);
    cache->put_kernel(kernel_key(1), kernel_blob(1));
    first = used(*cache);
  }
  const auto cache = KernelCache::open(options);
  ::usleep(3000);
  EXPECT_TRUE(cache->find_kernel(kernel_key(1)));
  cache->flush();
  EXPECT_EQ(used(*cache), first);
}

TEST(KernelCache, the_wal_of_many_short_processes_stays_small) {
  const TemporaryDir dir;
  open_cache(dir.path() / "c")->put_kernel(kernel_key(1), kernel_blob(1));
  uintmax_t largest = 0;
  for (int run = 0; run < 150; ++run) {
    EXPECT_TRUE(open_cache(dir.path() / "c")->find_kernel(kernel_key(1)));
    std::error_code error;
    const auto bytes = std::filesystem::file_size(dir.path() / "c" / "kernels.db-wal", error);
    if (!error) largest = std::max(largest, bytes);
  }
  EXPECT_GT(largest, 0u);  // most closes leave it
  EXPECT_LT(largest, 300'000u);
  EXPECT_EQ(open_cache(dir.path() / "c")->stats().hits, 150);
}

TEST(KernelCache, finds_what_another_compiler_made) {
  const TemporaryDir dir;
  const auto cache = open_cache(dir.path() / "c");
  EntryKey wanted = entry_key(1);
  wanted.compiler = "none";
  EXPECT_FALSE(cache->find_other_compiler(wanted));
  cache->put_entry(entry_key(1), "an entry");
  EXPECT_FALSE(cache->find_entry(wanted));
  const auto other = cache->find_other_compiler(wanted);
  ASSERT_TRUE(other);
  EXPECT_EQ(*other, entry_key(1));
  EXPECT_EQ(cache->find_entry(*other), "an entry");
  for (std::string EntryKey::* part : {&EntryKey::graph_hash, &EntryKey::target, &EntryKey::features,
                                       &EntryKey::settings, &EntryKey::options, &EntryKey::generator}) {
    EntryKey different = wanted;
    different.*part += "x";
    EXPECT_FALSE(cache->find_other_compiler(different));
  }
}

TEST(KernelCache, explains_a_miss_by_the_nearest_row) {
  const TemporaryDir dir;
  const auto cache = open_cache(dir.path() / "c");
  EXPECT_TRUE(cache->explain_miss(kernel_key(1)).empty);
  cache->put_kernel(kernel_key(1), kernel_blob(1));
  cache->put_kernel(kernel_key(2), kernel_blob(2));
  cache->put_entry(entry_key(1), "an entry");
  KernelKey newer = kernel_key(1);
  newer.compiler = "clang-19.1.8/edge-infer-cc-1";
  EXPECT_FALSE(cache->find_kernel(newer));
  const MissReason reason = cache->explain_miss(newer);
  EXPECT_EQ(reason.nearest, kernel_key(1).id());
  EXPECT_EQ(reason.text(),
            "compiler: stored clang-19.1.7/edge-infer-cc-1, wanted clang-19.1.8/edge-infer-cc-1");
  EntryKey precise = entry_key(1);
  precise.settings = "precision=bf16;deterministic=1";
  EXPECT_FALSE(cache->find_entry(precise));
  EXPECT_EQ(cache->explain_miss(precise).text(),
            "settings: stored precision=fp32;deterministic=1, wanted precision=bf16;deterministic=1");
  const std::vector<CacheEvent> events = cache->events();
  ASSERT_GE(events.size(), 2u);
  EXPECT_EQ(events.back().kind, "miss");
  EXPECT_EQ(events.back().what, "entry:" + precise.id());
  EXPECT_EQ(events.back().detail, cache->explain_miss(precise).text());
}

TEST(KernelCache, keeps_the_newest_ten_thousand_events) {
  const TemporaryDir dir;
  const auto cache = open_cache(dir.path() / "c");
  for (int i = 0; i < 10'500; ++i) {
    cache->add_event("note", std::to_string(i), "");
    if (i % 500 == 0) cache->flush();
  }
  const auto events = cache->events(20'000);
  EXPECT_EQ(events.size(), 10'000u);
  EXPECT_EQ(events.back().what, "10499");
  EXPECT_EQ(events.front().what, "500");
}

TEST(KernelCache, evicts_what_was_used_longest_ago) {
  const TemporaryDir dir;
  const auto cache = open_cache(dir.path() / "c", 100'000);
  for (int k = 0; k < 4; ++k) {
    cache->put_kernel(kernel_key(k), kernel_blob(k, 20'000));
    ::usleep(2000);
  }
  EXPECT_TRUE(cache->find_kernel(kernel_key(0)));  // 1 is the oldest now
  ::usleep(2000);
  cache->put_kernel(kernel_key(4), kernel_blob(4, 20'000));
  EXPECT_FALSE(cache->find_kernel(kernel_key(1)));
  for (const int k : {0, 2, 3, 4}) EXPECT_TRUE(cache->find_kernel(kernel_key(k))) << k;
  EXPECT_EQ(cache->stats().evicted, 1);
  EXPECT_LE(cache->stats().bytes, 100'000);
}

TEST(KernelCache, clear_and_drop_forget) {
  const TemporaryDir dir;
  const auto cache = open_cache(dir.path() / "c");
  cache->put_kernel(kernel_key(1), kernel_blob(1));
  cache->put_entry(entry_key(1), "an entry");
  cache->drop_entry(entry_key(1), "did not parse");
  EXPECT_FALSE(cache->find_entry(entry_key(1)));
  EXPECT_TRUE(cache->clear());
  EXPECT_FALSE(cache->find_kernel(kernel_key(1)));
  EXPECT_TRUE(cache->verify().empty());
  const CacheStats s = cache->stats();
  EXPECT_EQ(s.kernels + s.entries + s.compiled + s.bytes, 0);
}

TEST(KernelCache, works_in_memory) {
  KernelCache::Options options;
  options.in_memory = true;
  const auto cache = KernelCache::open(options);
  cache->put_kernel(kernel_key(1), kernel_blob(1));
  EXPECT_EQ(cache->find_kernel(kernel_key(1)), kernel_blob(1));
  EXPECT_EQ(cache->stats().file, "");
}

// --- Export and import ---

TEST(KernelCache, an_import_takes_code_only_when_trusted) {
  const TemporaryDir dir;
  const auto file = dir.path() / "export.db";
  {
    const auto cache = open_cache(dir.path() / "a");
    cache->put_kernel(kernel_key(1), kernel_blob(1));
    cache->put_entry(entry_key(1), entry_text({"kernel:" + kernel_key(1).id()}));
    cache->put_entry(entry_key(2), entry_text({"kernel:" + kernel_key(2).id()}));  // its kernel is missing
    cache->put_entry(entry_key(3), "does not parse");
    cache->put_graph("hash", "a graph");
    cache->put_tuning({"nest", "cpu.avx512", "machine", "tile=6x64", {1}});
    ASSERT_TRUE(cache->export_to(file));
  }
  {
    const auto cache = open_cache(dir.path() / "b");
    const auto result = cache->import_from(file, false);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->kernels, 0);
    EXPECT_EQ(result->entries, 0);
    EXPECT_EQ(result->dropped_kernels, 1);
    EXPECT_EQ(result->dropped_entries, 3);
    EXPECT_EQ(result->graphs, 1);
    EXPECT_EQ(result->tunings, 1);
    EXPECT_FALSE(cache->find_kernel(kernel_key(1)));
    EXPECT_EQ(cache->find_graph("hash"), "a graph");
  }
  const auto cache = open_cache(dir.path() / "b");
  const auto result = cache->import_from(file, true);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->kernels, 1);
  EXPECT_EQ(result->entries, 1);
  EXPECT_EQ(result->dropped_entries, 2);
  EXPECT_EQ(cache->find_kernel(kernel_key(1)), kernel_blob(1));  // under this cache's own key
  EXPECT_TRUE(cache->find_entry(entry_key(1)));
  EXPECT_FALSE(cache->find_entry(entry_key(2)));
  EXPECT_TRUE(cache->verify().empty());
}

TEST(KernelCache, an_import_refuses_what_is_no_export) {
  const TemporaryDir dir;
  const auto cache = open_cache(dir.path() / "c");
  EXPECT_EQ(cache->import_from(dir.path() / "missing.db", true).error().code, ErrorCode::kNotFound);
  dir.put("text.db", std::string(5000, 'x'));
  EXPECT_EQ(cache->import_from(dir.path() / "text.db", true).error().code, ErrorCode::kCorruption);
  dir.put("empty.db", "");
  EXPECT_EQ(cache->import_from(dir.path() / "empty.db", true).error().code, ErrorCode::kCorruption);
  EXPECT_EQ(cache->export_to(dir.path() / "no" / "folder.db").error().code, ErrorCode::kNotFound);
  const auto itself = cache->export_to(dir.path() / "c" / "kernels.db");
  ASSERT_FALSE(itself);
  EXPECT_EQ(itself.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace edge_infer
