// What a KernelCache and its claims share (internal to runtime/cache). Everything but the constructor is
// called with `mutex` held.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/file_size_signal.h"
#include "runtime/cache/database.h"
#include "runtime/cache/kernel_cache.h"

namespace edge_infer::cache {

int64_t now_ms();

// What flush() calls its write.
inline constexpr std::string_view kCounters = "writing counters";

struct Counters {
  int64_t hits = 0, misses = 0, compiled = 0, rejected = 0, evicted = 0;
};

class CacheState {
 public:
  explicit CacheState(const KernelCache::Options& options);

  std::mutex mutex;
  std::condition_variable changed;           // a claim of this process ended
  std::map<std::string, int64_t> in_flight;  // ids that threads of this process compile -> claim
  int64_t claims = 0;                        // numbers them
  // Kernels that could not be written, so that this process at least compiles them once.
  std::map<std::string, std::pair<KernelKey, KernelBlob>, std::less<>> unsaved;
  Counters counters;  // since the last flush

  const KernelCache::Options& options() const { return options_; }
  const std::string& reason() const { return reason_; }
  Database& database() { return *database_; }
  Connection& connection() { return database_->connection; }
  const Seal& seal() const { return database_->seal; }
  bool in_memory() const { return database_->file.empty(); }
  bool keeps() const { return database_.has_value() && !in_memory() && !read_only(); }
  // The file can be read only.
  bool read_only() const { return database_.has_value() && !database_->read_only.empty(); }

  // Runs `work() -> Status`. An error is logged, and a damaged file set aside; false then.
  template <typename Work>
  bool attempt(std::string_view what, Work&& work) {
    if (!database_) return false;
    const FileSizeSignalBlock no_signal;
    const Status status = work();
    if (!status) recover(what, status.error());
    return status.has_value();
  }
  // As attempt(), in one transaction together with everything that was kept back, on a file that is still
  // there. False for a file that can only be read.
  template <typename Work>
  bool write(std::string_view what, Work&& work) {
    if (read_only()) {
      if (what != kCounters) say_unkept();
      return false;
    }
    ensure_file();
    Kept kept;
    const bool ok = attempt(what, [&]() -> Status {
      EDGE_INFER_ASSIGN(Transaction transaction, Transaction::begin(connection()));
      kept = take_kept();
      EDGE_INFER_RETURN_IF_ERROR(write_kept(kept));
      EDGE_INFER_RETURN_IF_ERROR(work());
      EDGE_INFER_RETURN_IF_ERROR(transaction.commit());
      // Rows belong into the file when its last user closes it; counters alone are not worth waiting for the
      // disk.
      if (what != kCounters) connection().checkpoint_on_close(true);
      return {};
    });
    if (!ok) give_back(std::move(kept));
    return ok;
  }

  void event(std::string_view kind, std::string_view what, std::string_view detail);
  void touch(const char* table, std::string id, int64_t last_used);
  // Deletes a row that does not hold, counts it and notes why.
  void reject(const char* table, const std::string& id, std::string_view why);
  void flush();
  // Deletes the least recently used rows until the limit holds; inside a transaction.
  Status evict();

  // The kernel of the row, authenticated; nothing where it does not hold. `wanted`: the key it must have.
  std::optional<std::pair<KernelKey, KernelBlob>> load_kernel(const std::string& id, const KernelKey* wanted);
  Result<bool> is_stored(const std::string& id);
  // Inside a transaction.
  Status store_kernel(const KernelKey& key, const KernelBlob& blob, int64_t last_used);
  Status store_entry(const EntryKey& key, std::string_view text, int64_t last_used);
  Status store_graph(std::string_view hash, std::string_view text);
  Status store_tuning(const TuningRow& row);
  Status store_gate(const GateKey& key, std::string_view text);

 private:
  struct Kept {
    Counters counters;
    std::vector<CacheEvent> events;
    std::map<std::pair<const char*, std::string>, int64_t> touched;
  };
  Kept take_kept();
  void give_back(Kept kept);
  Status write_kept(const Kept& kept);
  void ensure_file();
  void recover(std::string_view what, const Error& error);
  void say_unkept() const;
  void adopt(Result<Database> database);

  KernelCache::Options options_;
  std::optional<Database> database_;
  std::string reason_;
  int replaced_ = 0, logged_ = 0;
  std::string last_error_;
  std::vector<CacheEvent> events_;
  std::map<std::pair<const char*, std::string>, int64_t> touched_;  // table, id -> time
};

// The texts that a row's MAC covers besides its table's name.
std::string tuning_key(const TuningRow& row);
std::string print_nanoseconds(const std::vector<int64_t>& list);
Result<std::vector<int64_t>> parse_nanoseconds(std::string_view text);

// The key's columns of a row, from `first` on.
KernelKey read_kernel_key(const Query& row, int first);
EntryKey read_entry_key(const Query& row, int first);
GateKey read_gate_key(const Query& row, int first);

}  // namespace edge_infer::cache
