// cache_victim compile DIR LOG: ten threads claim and "compile" the same 14 kernels; each compilation is a
// line in LOG. cache_victim put DIR: puts kernels without end, to be killed. cache_victim claim DIR LOG:
// claims the 14 kernels, writes a line to LOG and sleeps, to be killed. cache_victim starve DIR BYTES: puts
// and finds a kernel with files limited to BYTES; 0 when the process is served.
// cache_victim fill|fill_and_die|fill_without_gates|read DIR UID: as that user, where it may choose, puts a
// kernel and an entry, in the second case without closing the cache, in the third into a file of an older
// program; or reads them: 0 when they are found, 3 when the kernel is not, 4 when there is no file.
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

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

// What a folder is used for that only its owner may write.
int visit(const std::string& mode, const char* dir, uid_t owner) {
  if (::geteuid() == 0 && (::setresgid(owner, owner, owner) != 0 || ::setresuid(owner, owner, owner) != 0))
    return 2;
  const auto cache = open_cache(dir);
  const std::string entry = entry_text({"kernel:" + kernel_key(1).id()});
  if (mode != "read") {
    if (!cache->keeps()) return 1;
    cache->put_kernel(kernel_key(1), kernel_blob(1));
    cache->put_entry(entry_key(1), entry);
    if (mode == "fill_and_die") ::_exit(0);
    if (mode == "fill_without_gates") {
      sqlite3* file = nullptr;
      if (sqlite3_open((std::string(dir) + "/kernels.db").c_str(), &file) != SQLITE_OK ||
          sqlite3_exec(file, "DROP TABLE gate", nullptr, nullptr, nullptr) != SQLITE_OK)
        return 1;
      sqlite3_close(file);
    }
    return 0;
  }
  const CacheStats stats = cache->stats();
  if (cache->keeps() || stats.reason.empty()) return 1;
  if (stats.file.empty()) return stats.read_only ? 1 : 4;
  if (!stats.read_only || stats.kernels != 1 || stats.entries != 1) return 1;
  if (cache->find_entry(entry_key(1)) != entry || cache->has_gates(entry_key(1))) return 1;
  if (cache->find_kernel(kernel_key(1)) != kernel_blob(1)) return 3;
  // What is new lives as long as the process.
  const std::vector<KernelKey> keys = {kernel_key(2)};
  if (cache->claim(keys).owned().size() != 1) return 1;
  cache->put_kernel(kernel_key(2), kernel_blob(2));
  if (cache->find_kernel(kernel_key(2)) != kernel_blob(2) || cache->clear()) return 1;
  return cache->find_kernel(kernel_key(1)) == kernel_blob(1) && cache->verify().empty() ? 0 : 1;
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
    const auto limit = static_cast<rlim_t>(std::atoll(argv[3]));
    const rlimit size{limit, limit};
    ::setrlimit(RLIMIT_FSIZE, &size);
    const auto cache = open_cache(argv[2]);
    for (int k = 0; k < 20; ++k) cache->put_kernel(kernel_key(k), kernel_blob(k, 50'000));
    for (int k = 0; k < 20; ++k)
      if (cache->find_kernel(kernel_key(k)) != kernel_blob(k, 50'000)) return 1;
    return 0;
  }
  if (argc > 3) return visit(mode, argv[2], static_cast<uid_t>(std::atoi(argv[3])));
  return 2;
}
