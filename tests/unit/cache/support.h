// Keys, blobs and folders for the cache's tests, and processes without fork().
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/hash.h"
#include "runtime/cache/entry_text.h"
#include "runtime/cache/kernel_cache.h"
#include "tests/unit/models_files/temporary_dir.h"

extern char** environ;

namespace edge_infer::testing_support {

inline KernelKey kernel_key(int n) {
  return {.target = "cpu.avx512",
          .features = "avx2,avx512f",
          .compiler = "clang-19.1.7/edge-infer-cc-1",
          .generator = "cpu-c-1",
          .options = "O2",
          .source_hash = content_digest("source " + std::to_string(n))};
}

// Code whose bytes say which kernel it is of.
inline KernelBlob kernel_blob(int n, size_t bytes = 13'000) {
  KernelBlob blob;
  for (size_t i = 0; i < bytes; ++i)
    blob.image.push_back(static_cast<std::byte>(i * 7 + static_cast<size_t>(n) * 31));
  blob.entry = 64;
  blob.scratch_bytes = static_cast<uint64_t>(n);
  return blob;
}

inline EntryKey entry_key(int n) {
  return {.graph_hash = content_digest("graph " + std::to_string(n)),
          .target = "cpu.avx512",
          .features = "avx2,avx512f",
          .settings = "precision=fp32;deterministic=1",
          .options = "mode=default",
          .generator = "cpu-c-1",
          .compiler = "clang-19.1.7/edge-infer-cc-1"};
}

// x[T] -> kernels one after the other -> y[T].
inline Program chain_program(const std::vector<std::string>& kernels) {
  const SymInt t = SymInt::symbol("T");
  Program p;
  p.name = "chain";
  p.accumulation_class = "f32.k1";
  p.symbols = {{"T", {1, 1000}, 16}};
  p.symbol_sources = {{0, 0, 0}};
  p.buffers = {{.role = BufferRole::kInput, .sizes = {t}, .index = 0},
               {.role = BufferRole::kOutput, .sizes = {t}, .index = 0}};
  for (size_t k = 0; k < kernels.size(); ++k) {
    p.kernels.push_back({kernels[k]});
    Phase phase;
    Call call;
    call.kernel = static_cast<int32_t>(k);
    call.buffers = {1, 0};
    call.rows = t;
    phase.calls.push_back(call);
    p.phases.push_back(phase);
  }
  return p;
}

inline GuardSet chain_guards() {
  GuardSet set;
  set.add({.kind = Guard::Kind::kInputCount, .value = 1}, "graph @chain");
  set.add({.kind = Guard::Kind::kDType, .input = 0, .value = static_cast<int64_t>(DType::kF32)}, "input %x");
  set.add({.kind = Guard::Kind::kRank, .input = 0, .value = 1}, "input %x");
  set.add({.kind = Guard::Kind::kSizeRange, .dim = 0, .input = 0, .value = 1, .upper = 1000}, "input %x");
  return set;
}

inline std::string entry_text(const std::vector<std::string>& kernels) {
  return print_entry(chain_guards(), chain_program(kernels));
}

inline std::unique_ptr<KernelCache> open_cache(const std::filesystem::path& dir,
                                               int64_t limit_bytes = int64_t{256} << 20) {
  KernelCache::Options options;
  options.dir = dir;
  options.limit_bytes = limit_bytes;
  options.touch_seconds = 0;
  return KernelCache::open(options);
}

inline pid_t spawn_victim(std::vector<std::string> arguments) {
  const char* bin = std::getenv("EDGE_INFER_BIN");
  const std::string program = std::string(bin != nullptr ? bin : "build/release/bin") + "/cache_victim";
  arguments.insert(arguments.begin(), program);
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  EXPECT_EQ(posix_spawn(&pid, program.c_str(), nullptr, nullptr, argv.data(), environ), 0) << program;
  return pid;
}

inline int wait_for(pid_t pid) {
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return status;
}

}  // namespace edge_infer::testing_support
