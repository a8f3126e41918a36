// What goes wrong while kernels are compiled, or between two runs: the next run gives the right vectors or a
// clear error.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <random>
#include <thread>

#include "runtime/base/cache_files.h"
#include "runtime/base/log.h"
#include "tests/unit/compiled_model/child.h"
#include "tests/unit/compiled_model/small_model.h"
#include "tests/unit/models/real_model.h"

namespace edge_infer::test {
namespace {

// Between prebuilt and compiled kernels; a flipped bit of a weight or an address is far above, unless it is
// one of the last bits, which the packed file's stamp has to catch.
constexpr float kSameVector = 2e-6F;

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}
void write_file(const std::filesystem::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}
void write_vectors(const std::filesystem::path& file, const std::vector<float>& vectors) {
  write_file(file,
             std::string(reinterpret_cast<const char*>(vectors.data()), vectors.size() * sizeof(float)));
}
std::vector<float> read_vectors(const std::filesystem::path& file) {
  const std::string bytes = content_of(file);
  std::vector<float> vectors(bytes.size() / sizeof(float));
  std::memcpy(vectors.data(), bytes.data(), vectors.size() * sizeof(float));
  return vectors;
}
float distance(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size() || a.empty()) return INFINITY;
  float worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const float d = std::fabs(a[i] - b[i]);
    if (!(d <= worst)) worst = std::isnan(d) ? INFINITY : d;
  }
  return worst;
}

// ---- what children do

std::filesystem::path from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}
std::filesystem::path child_model() {
  return from_environment("EDGE_CHILD_MODEL");
}
std::filesystem::path child_cache() {
  return from_environment("EDGE_CHILD_CACHE");
}

std::atomic<int> notices{0};
void count_notices(LogLevel level, std::string_view message) {
  if (level == LogLevel::kWarning && message.find("kernels are not compiled") != std::string_view::npos)
    ++notices;
}

TEST(DISABLED_Child, compiles) {
  const auto model = open_model(child_model(), child_cache());
  ASSERT_NE(model, nullptr);
  write_vectors(from_environment("EDGE_CHILD_OUTPUT"), sample_vectors(*model));
}

TEST(DISABLED_Child, opens_with_ten_threads) {
  std::vector<std::jthread> threads;
  std::atomic<int> wrong{0};
  std::vector<std::vector<float>> vectors(10);
  for (size_t t = 0; t < vectors.size(); ++t)
    threads.emplace_back([&, t] {
      if (const auto model = open_model(child_model(), child_cache()))
        vectors[t] = sample_vectors(*model);
      else
        ++wrong;
    });
  threads.clear();
  EXPECT_EQ(wrong, 0);
  for (const auto& other : vectors) EXPECT_EQ(other, vectors[0]);
  write_vectors(from_environment("EDGE_CHILD_OUTPUT"), vectors[0]);
}

// No helper lies beside the program, or one that dies.
TEST(DISABLED_Child, serves_without_a_compiler) {
  set_log_sink(count_notices);
  const auto model = open_model(child_model(), child_cache(), {}, false);
  ASSERT_NE(model, nullptr);
  const Status status = model->prepare();
  EXPECT_FALSE(status);
  EXPECT_FALSE(model->is_compiled());
  for (int i = 0; i < 3; ++i) write_vectors(from_environment("EDGE_CHILD_OUTPUT"), sample_vectors(*model));
  EXPECT_FALSE(model->prepare());
  EXPECT_EQ(notices, 1);
  set_log_sink(nullptr);
}

// The helper never answers; a compilation may take a minute, closing may not.
TEST(DISABLED_Child, closes_while_the_helper_hangs) {
  ::alarm(30);
  auto model = open_model(child_model(), child_cache(), {}, false);
  ASSERT_NE(model, nullptr);
  write_vectors(from_environment("EDGE_CHILD_OUTPUT"), sample_vectors(*model));
  EXPECT_FALSE(model->is_compiled());
  siginfo_t unused{};
  while (::waitid(P_ALL, 0, &unused, WEXITED | WNOHANG | WNOWAIT) != 0)  // until the helper runs
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  model.reset();
  ::alarm(0);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "the helper is gone";
  const auto cache = KernelCache::open({.dir = child_cache()});
  for (const CacheEvent& event : cache->events()) EXPECT_NE(event.kind, "failed") << event.detail;
}

// Only what is stored: nothing may be compiled.
TEST(DISABLED_Child, opens_what_is_stored) {
  const auto model = open_model(child_model(), child_cache(), {.max_length = 512}, false);
  ASSERT_NE(model, nullptr);
  EXPECT_TRUE(model->is_compiled());
  const std::vector<float> vectors = sample_vectors(*model);
  for (const size_t length : {1, 77, 512}) vectors_of(*model, {some_ids(length, 3)});
  EXPECT_TRUE(model->prepare());
  write_vectors(from_environment("EDGE_CHILD_OUTPUT"), vectors);
}

// Opens the model with each byte of a file flipped, one after the other; this copy of the program has no
// compiler, so that a row that is refused leaves the fallback.
TEST(DISABLED_Child, opens_with_flipped_bytes) {
  const std::filesystem::path file = from_environment("EDGE_CHILD_OUTPUT");
  const std::vector<float> expected = read_vectors(file.native() + ".vectors");
  const std::string original = content_of(file);
  ASSERT_GT(original.size(), 100U);
  const bool all = std::getenv("EDGE_INFER_TEST_ALL") != nullptr;
  const size_t header = all ? 128 : 32,
               step = all ? 97 : std::max<size_t>(97, original.size() / 150 / 97 * 97);
  std::vector<size_t> places;
  for (size_t i = 0; i < std::min(header, original.size()); ++i) places.push_back(i);
  for (size_t i = header; i < original.size(); i += step) places.push_back(i);
  int compiled = 0;
  for (const size_t place : places) {
    std::string damaged = original;
    damaged[place] = static_cast<char>(damaged[place] ^ (1 << place % 8));
    for (const char* beside : {"-wal", "-shm"}) std::filesystem::remove(file.native() + beside);
    write_file(file, damaged);
    auto opened = ModelEmbedder::open(child_model(), {.cache_dir = child_cache()});
    if (!opened) {
      EXPECT_FALSE(opened.error().message.empty()) << "byte " << place;
      continue;
    }
    compiled += (*opened)->is_compiled();
    EXPECT_LE(distance(sample_vectors(**opened), expected), kSameVector)
        << "byte " << place << " of " << file;
    opened->reset();
    for (const auto& entry : std::filesystem::directory_iterator(child_cache()))
      if (entry.path().native().find(".corrupt-") != std::string::npos) std::filesystem::remove(entry.path());
  }
  std::cout << fmt::format("{}: {} places of {} bytes, compiled kernels served {} times\n",
                           file.filename().native(), places.size(), original.size(), compiled);
  EXPECT_GT(compiled, 0) << "flips must be tried with the file in use";
}

// ---- the tests

class CompileFaults : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (real_model().empty()) return;
    root_ = std::filesystem::path(testing::TempDir()) / fmt::format("edge_faults_{}", ::getpid());
    write_small_model(small(), real_model());
    const auto model = open_model(small(), root_ / "reference");
    ASSERT_NE(model, nullptr);
    expected_ = sample_vectors(*model);
    kernels_ = kernels_of(*model).size();
  }
  static void TearDownTestSuite() {
    if (!root_.empty()) std::filesystem::remove_all(root_);
  }
  void SetUp() override {
    if (real_model().empty()) GTEST_SKIP() << "EDGE_INFER_TEST_MODEL is not set";
    ASSERT_FALSE(expected_.empty());
  }
  static std::filesystem::path small() { return root_ / "small"; }
  static ChildSetup child(const std::string& task, const std::string& cache) {
    return {task, small(), root_ / cache, root_ / (cache + ".vectors")};
  }

  static inline std::filesystem::path root_;
  static inline std::vector<float> expected_;
  static inline size_t kernels_ = 0;
};

TEST_F(CompileFaults, killed_while_compiling_the_next_run_works) {
  std::mt19937 random(21);
  const auto begin = std::chrono::steady_clock::now();
  Child whole(child("compiles", "whole"));
  ASSERT_EQ(whole.wait(), 0);
  const std::chrono::duration<double> needed = std::chrono::steady_clock::now() - begin;
  for (int i = 0; i < 10; ++i) {
    const std::string cache = fmt::format("killed{}", i);
    {
      Child killed(child("compiles", cache));
      std::this_thread::sleep_for(needed * std::uniform_real_distribution<double>(0.05, 1)(random));
      killed.kill();
    }
    Child again(child("compiles", cache));
    EXPECT_EQ(again.wait(), 0) << cache;
    EXPECT_EQ(read_vectors(root_ / (cache + ".vectors")), expected_) << cache;
    const auto opened = KernelCache::open({.dir = root_ / cache});
    EXPECT_EQ(opened->stats().kernels, static_cast<int64_t>(kernels_)) << cache;
    EXPECT_TRUE(opened->verify().empty()) << cache;
  }
}

TEST_F(CompileFaults, two_processes_of_ten_threads_compile_each_kernel_once) {
  Child a(child("opens_with_ten_threads", "shared"));
  ChildSetup second = child("opens_with_ten_threads", "shared");
  second.output = root_ / "second.vectors";
  Child b(second);
  EXPECT_EQ(a.wait(), 0);
  EXPECT_EQ(b.wait(), 0);
  EXPECT_EQ(read_vectors(root_ / "shared.vectors"), expected_);
  EXPECT_EQ(read_vectors(root_ / "second.vectors"), expected_);
  const CacheStats stats = KernelCache::open({.dir = root_ / "shared"})->stats();
  EXPECT_EQ(stats.kernels, static_cast<int64_t>(kernels_));
  EXPECT_EQ(stats.compiled, stats.kernels);
}

// The second one runs a copy of the program that no helper lies beside: what is missing cannot be compiled.
TEST_F(CompileFaults, a_second_process_compiles_nothing) {
  const auto counts = [&](const std::string& cache) {
    const auto opened = KernelCache::open({.dir = root_ / cache});
    int64_t compiled = 0, failed = 0;
    for (const CacheEvent& event : opened->events()) {
      compiled += event.kind == "compiled";
      failed += event.kind == "failed";
    }
    EXPECT_EQ(failed, 0);
    return std::pair{opened->stats().compiled, compiled};
  };
  Child first(child("compiles", "twice"));
  ASSERT_EQ(first.wait(), 0);
  const auto before = counts("twice");
  EXPECT_EQ(before.first, static_cast<int64_t>(kernels_));
  for (const bool has_helper : {true, false}) {
    ChildSetup setup = child("opens_what_is_stored", "twice");
    setup.output = root_ / "second_opening.vectors";
    if (!has_helper) setup.program = copy_of_program(root_ / "bin4");
    EXPECT_EQ(Child(setup).wait(), 0);
    EXPECT_EQ(read_vectors(setup.output), expected_);
    EXPECT_EQ(counts("twice"), before);
  }
}

TEST_F(CompileFaults, closing_a_model_does_not_wait_for_the_compiler) {
  ChildSetup setup = child("closes_while_the_helper_hangs", "closing");
  setup.program = copy_of_program(root_ / "bin5");
  const std::filesystem::path helper = setup.program.parent_path() / "edge-infer-cc";
  write_file(helper, "#!/bin/sh\nexec sleep 600\n");
  std::filesystem::permissions(helper, std::filesystem::perms::owner_all);
  EXPECT_EQ(Child(setup).wait(), 0);
  EXPECT_LE(distance(read_vectors(setup.output), expected_), kSameVector);
}

TEST_F(CompileFaults, without_the_helper_the_fallback_serves_and_says_so_once) {
  ChildSetup setup = child("serves_without_a_compiler", "nohelper");
  setup.program = copy_of_program(root_ / "bin1");
  EXPECT_EQ(Child(setup).wait(), 0);
  EXPECT_LE(distance(read_vectors(setup.output), expected_), kSameVector);
}

TEST_F(CompileFaults, when_the_helper_is_killed_the_fallback_serves) {
  ChildSetup setup = child("serves_without_a_compiler", "killedhelper");
  setup.program = copy_of_program(root_ / "bin2");
  const std::filesystem::path helper = setup.program.parent_path() / "edge-infer-cc";
  write_file(helper, "#!/bin/sh\nkill -9 $$\n");
  std::filesystem::permissions(helper, std::filesystem::perms::owner_all);
  EXPECT_EQ(Child(setup).wait(), 0);
  EXPECT_LE(distance(read_vectors(setup.output), expected_), kSameVector);
}

TEST_F(CompileFaults, without_a_cache_folder_compiled_kernels_serve_from_memory) {
  const auto model = open_model(small(), "/proc/edge-infer");
  ASSERT_NE(model, nullptr);
  EXPECT_FALSE(model->cache()->stats().reason.empty());
  EXPECT_EQ(sample_vectors(*model), expected_);
}

// A process that ends soon compiles only what the next one finds; what is stored serves it as any other.
TEST_F(CompileFaults, one_shot_compiles_only_what_is_kept) {
  for (const bool kept : {false, true}) {
    const std::filesystem::path cache = kept ? root_ / "kept" : "/proc/edge-infer-one-shot";
    const auto model = open_model(small(), cache, {.one_shot = true}, false);
    ASSERT_NE(model, nullptr);
    EXPECT_TRUE(model->prepare());
    EXPECT_EQ(model->is_compiled(), kept);
    EXPECT_EQ(model->cache()->keeps(), kept);
    EXPECT_LE(distance(sample_vectors(*model), expected_), kept ? 0 : kSameVector);
  }
}

std::vector<std::string> warnings;
void note_warning(LogLevel level, std::string_view message) {
  if (level == LogLevel::kWarning) warnings.emplace_back(message);
}

TEST_F(CompileFaults, a_folder_that_keeps_nothing_is_said_once) {
  warnings.clear();
  set_log_sink(note_warning);
  // Two sets of packed weights, twice, and the kernels.
  for (int i = 0; i < 2; ++i) ASSERT_NE(open_model(small(), "/proc/edge-infer-warned"), nullptr);
  set_log_sink(nullptr);
  ASSERT_EQ(warnings.size(), 1U) << fmt::format("{}", fmt::join(warnings, "\n"));
  EXPECT_NE(warnings[0].find("/proc/edge-infer-warned"), std::string::npos) << warnings[0];
}

TEST_F(CompileFaults, old_packs_beyond_the_limit_make_room) {
  const std::filesystem::path cache = root_ / "full", old = cache / "weights-old.pack";
  std::filesystem::create_directory(cache);
  std::filesystem::permissions(cache, std::filesystem::perms::owner_all);
  write_file(old, "");
  std::filesystem::resize_file(old, static_cast<uintmax_t>(kCacheFilesLimit));  // a hole
  std::filesystem::last_write_time(old,
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  const auto model = open_model(small(), cache);
  ASSERT_NE(model, nullptr);
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_TRUE(model->constants().packed_bytes() > 0);
  EXPECT_EQ(sample_vectors(*model), expected_);
  size_t packs = 0;
  for (const CacheFile& file : list_cache_files(cache)) packs += file.kind == CacheFile::Kind::kPack;
  EXPECT_EQ(packs, 2U) << "of the prebuilt kernels and of the compiled ones";
}

TEST_F(CompileFaults, flipped_bytes_never_give_a_wrong_vector) {
  const std::filesystem::path program = copy_of_program(root_ / "bin3");
  Child made(child("compiles", "flips"));
  ASSERT_EQ(made.wait(), 0);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(root_ / "flips")) {
    const std::string name = entry.path().filename().native();
    if (entry.is_regular_file() && !name.ends_with("-wal") && !name.ends_with("-shm"))
      files.push_back(entry.path());
  }
  ASSERT_GE(files.size(), 3U) << "kernels.db, its key and packed weights";
  for (const std::filesystem::path& file : files) {
    const std::string original = content_of(file);
    if (original.size() <= 100) continue;  // the key
    // A damaged image is made anew, which takes its time.
    if (file.extension() == ".img" && std::getenv("EDGE_INFER_TEST_ALL") == nullptr) continue;
    write_vectors(file.native() + ".vectors", expected_);
    ChildSetup setup = child("opens_with_flipped_bytes", "flips");
    setup.output = file;
    setup.program = program;
    EXPECT_EQ(Child(setup).wait(), 0) << file;
    for (const char* beside : {"-wal", "-shm", ".vectors"}) std::filesystem::remove(file.native() + beside);
    write_file(file, original);
  }
}

}  // namespace
}  // namespace edge_infer::test
