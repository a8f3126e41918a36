// cache_bench [DIR]: what a warm start pays for the cache: opening it, authenticating and reading 14 kernels
// of 13 KB and one entry of 20 KB, closing. Best and median of 200 runs in one process, in ms.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "runtime/base/hash.h"
#include "runtime/cache/kernel_cache.h"

namespace {

using namespace edge_infer;
using Clock = std::chrono::steady_clock;

constexpr int kKernels = 14, kRuns = 200;

KernelKey key(int n) {
  return {"cpu.avx512", "avx2,avx512f", "clang-19.1.7/edge-infer-cc-1",
          "cpu-c-1",    "O2",           content_digest("source " + std::to_string(n))};
}
const EntryKey kEntry{"graph", "cpu.avx512", "avx2,avx512f", "precision=fp32", "", "cpu-c-1", "clang-19.1.7"};

double ms(Clock::time_point a, Clock::time_point b) {
  return std::chrono::duration<double, std::milli>(b - a).count();
}

void report(const char* what, std::vector<double>& times) {
  std::sort(times.begin(), times.end());
  std::printf("%-28s best %6.3f  median %6.3f  p90 %6.3f\n", what, times.front(), times[times.size() / 2],
              times[times.size() * 9 / 10]);
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path dir =
      argc > 1 ? argv[1] : std::filesystem::temp_directory_path() / "edge_infer_cache_bench";
  std::vector<double> create, put;
  for (int run = 0; run < 20; ++run) {
    std::filesystem::remove_all(dir);
    const auto t0 = Clock::now();
    const auto cache = KernelCache::open({.dir = dir});
    create.push_back(ms(t0, Clock::now()));
    KernelBlob blob;
    blob.image.resize(13'000);
    const auto t1 = Clock::now();
    for (int k = 0; k < kKernels; ++k) cache->put_kernel(key(k), blob);
    cache->put_entry(kEntry, std::string(20'000, 'x'));
    put.push_back(ms(t1, Clock::now()));
    if (cache->stats().file.empty()) {
      std::printf("in memory: %s\n", cache->stats().reason.c_str());
      return 1;
    }
  }
  std::vector<double> open, read, close, total;
  for (int run = 0; run < kRuns; ++run) {
    const auto t0 = Clock::now();
    auto cache = KernelCache::open({.dir = dir});
    const auto t1 = Clock::now();
    size_t found = cache->find_entry(kEntry).has_value();
    for (int k = 0; k < kKernels; ++k) found += cache->find_kernel("kernel:" + key(k).id()).has_value();
    const auto t2 = Clock::now();
    cache.reset();
    const auto t3 = Clock::now();
    if (found != kKernels + 1) return 1;
    open.push_back(ms(t0, t1));
    read.push_back(ms(t1, t2));
    close.push_back(ms(t2, t3));
    total.push_back(ms(t0, t2));
  }
  report("create an empty file", create);
  report("put 14 kernels, 1 entry", put);
  report("open", open);
  report("read 14 kernels, 1 entry", read);
  report("open + read", total);
  report("close (counters written)", close);
  std::filesystem::remove_all(dir);
  return 0;
}
