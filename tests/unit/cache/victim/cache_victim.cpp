// cache_victim compile DIR LOG: ten threads claim and "compile" the same 14 kernels; each compilation is a
// line in LOG. cache_victim put DIR: puts kernels without end, to be killed. cache_victim claim DIR LOG:
// claims the 14 kernels, writes a line to LOG and sleeps, to be killed. cache_victim starve DIR BYTES: puts
// and finds a kernel with files limited to BYTES; 0 when the process is served.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include "tests/unit/cache/support.h"

namespace {

using namespace edge_infer;
using namespace edge_infer::testing_support;

constexpr int kKernels = 14, kThreads = 10;

void log_line(const char* file, const std::string& text) {
  const int fd = ::open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const std::string line = text + "\n";
  if (fd < 0 || ::write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
  ::close(fd);
}

int compile_all(const char* dir, const char* log) {
  const auto cache = open_cache(dir);
  std::vector<KernelKey> keys;
  for (int k = 0; k < kKernels; ++k) keys.push_back(kernel_key(k));
  const auto compile = [&](const KernelKey& key) {
    for (int k = 0; k < kKernels; ++k)
      if (keys[static_cast<size_t>(k)] == key) {
        log_line(log, std::to_string(k));
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        cache->put_kernel(key, kernel_blob(k));
      }
  };
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      KernelClaim claim = cache->claim(keys);
      for (const KernelKey& key : std::vector<KernelKey>(claim.owned())) compile(key);
      for (const KernelKey& key : keys)
        if (claim.wait(key, std::chrono::seconds(60)) == KernelClaim::Outcome::kOwned) compile(key);
      for (int k = 0; k < kKernels; ++k)
        if (cache->find_kernel(keys[static_cast<size_t>(k)]) != kernel_blob(k)) ++failures;
    });
  for (std::thread& t : threads) t.join();
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string mode = argv[1];
  if (mode == "compile" && argc > 3) return compile_all(argv[2], argv[3]);
  if (mode == "put") {
    const auto cache = open_cache(argv[2]);
    for (int k = 0;; ++k) cache->put_kernel(kernel_key(k % 100), kernel_blob(k % 100, 100'000));
  }
  if (mode == "claim" && argc > 3) {
    const auto cache = open_cache(argv[2]);
    std::vector<KernelKey> keys;
    for (int k = 0; k < kKernels; ++k) keys.push_back(kernel_key(k));
    const KernelClaim claim = cache->claim(keys);
    log_line(argv[3], std::to_string(claim.owned().size()));
    std::this_thread::sleep_for(std::chrono::seconds(60));
    return 0;
  }
  if (mode == "starve" && argc > 3) {
    std::signal(SIGXFSZ, SIG_IGN);
    const auto limit = static_cast<rlim_t>(std::atoll(argv[3]));
    const rlimit size{limit, limit};
    ::setrlimit(RLIMIT_FSIZE, &size);
    const auto cache = open_cache(argv[2]);
    for (int k = 0; k < 20; ++k) cache->put_kernel(kernel_key(k), kernel_blob(k, 50'000));
    for (int k = 0; k < 20; ++k)
      if (cache->find_kernel(kernel_key(k)) != kernel_blob(k, 50'000)) return 1;
    return 0;
  }
  return 2;
}
