// KernelCache: the SQLite file that keeps graphs, entries (guards and program), compiled kernels, tuning
// results and the log of what happened (docs/kernel_cache.md). Losing it costs time, never correctness: each
// row that influences execution is authenticated whenever it is read, and a row that does not hold is deleted
// and missed; an error of the system or of SQLite is a miss and a line in the log, never an error of the
// product.
//
// Thread-safe. Several processes may share a file; several objects of a process, too.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/cache/cache_types.h"
#include "runtime/cache/gate_verdict.h"
#include "runtime/program/kernel_blob.h"
#include "runtime/program/kernel_key.h"

namespace edge_infer {

namespace cache {
class CacheState;
}

// The right to compile some kernels while nobody else does, in this process or another. Released on
// destruction; a kernel's claim ends when it is put. Used by one thread.
class KernelClaim {
 public:
  enum class Outcome {
    kStored,   // the kernel is there
    kOwned,    // its owner gave up or died: the caller is to compile it now
    kTimeout,  // still being compiled
  };

  KernelClaim(KernelClaim&& other) noexcept = default;
  KernelClaim& operator=(KernelClaim&&) = delete;
  ~KernelClaim();

  // The keys that the caller is to compile: neither stored nor claimed by anyone else.
  const std::vector<KernelKey>& owned() const { return owned_; }
  // Waits for a key that somebody else compiles.
  Outcome wait(const KernelKey& key, std::chrono::milliseconds timeout);

 private:
  friend class KernelCache;
  KernelClaim(std::shared_ptr<cache::CacheState> state, std::chrono::milliseconds deadline)
      : state_(std::move(state)), deadline_(deadline) {}
  std::shared_ptr<cache::CacheState> state_;
  std::chrono::milliseconds deadline_;
  int64_t number_ = 0;
  std::vector<KernelKey> owned_;
};

class KernelCache {
 public:
  struct Options {
    std::filesystem::path dir;                 // of kernels.db; created where missing
    int64_t limit_bytes = int64_t{256} << 20;  // the least recently used rows go first
    bool in_memory = false;                    // no file at all
    int64_t touch_seconds = 3600;              // a row's last use is written at most once in this time
  };

  // Never fails. A folder that cannot be written is read, with the same checks, and what is new stays in
  // memory; where it cannot be used at all, everything does. The log says why once.
  static std::unique_ptr<KernelCache> open(const Options& options);
  ~KernelCache();  // flush()
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  // Whether what is put is there for the next process.
  bool keeps() const;

  std::optional<KernelBlob> find_kernel(const KernelKey& key);
  // By what KernelRef::name holds, "kernel:<id>".
  std::optional<KernelBlob> find_kernel(std::string_view name);
  // The same for people: not counted as a use.
  std::optional<KernelBlob> look_at_kernel(std::string_view name);
  // A kernel that was compiled and loads. Ends its claim.
  void put_kernel(const KernelKey& key, const KernelBlob& blob);

  // The text of an entry (print_entry); one a key.
  std::optional<std::string> find_entry(const EntryKey& key);
  // Whether one is stored, unread; neither a hit nor a miss.
  bool has_entry(const EntryKey& key);
  // The key of the stored entry that differs from `key` in the compiler alone, the one used last of several:
  // what a machine without a compiler can run. To be asked for with find_entry(), which checks it.
  std::optional<EntryKey> find_other_compiler(const EntryKey& key);
  void put_entry(const EntryKey& key, std::string_view text);
  // Forgets an entry that did not parse, or whose kernels are gone.
  void drop_entry(const EntryKey& key, std::string_view why);

  // The keys of all entries of a graph, by target and settings. To be asked for with find_entry().
  std::vector<EntryKey> entries_of(std::string_view graph_hash);

  // What the precision gate found; one a key.
  std::optional<GateVerdict> find_gate(const GateKey& key);
  // Whether the gate has judged the program of this entry with any weights.
  bool has_gates(const EntryKey& entry);
  void put_gate(const GateKey& key, const GateVerdict& verdict);
  // All that the gate found of a graph, by target and settings.
  std::vector<std::pair<GateKey, GateVerdict>> gates_of(std::string_view graph_hash);

  std::optional<std::string> find_graph(std::string_view hash);
  void put_graph(std::string_view hash, std::string_view text);

  // All candidates measured, by schedule.
  std::vector<TuningRow> find_tuning(std::string_view nest_hash, std::string_view target,
                                     std::string_view machine);
  void put_tuning(const TuningRow& row) { put_tuning(std::span(&row, 1)); }
  void put_tuning(std::span<const TuningRow> rows);  // all or none
  // What a TuningRow::machine stands for.
  void put_machine(std::string_view id, std::string_view description);

  // Claims those of `keys` that are neither stored nor claimed. An owner that dies, or that takes longer than
  // `deadline`, loses them. Where the file does not work every key is owned that no thread of this process
  // owns.
  KernelClaim claim(std::span<const KernelKey> keys,
                    std::chrono::milliseconds deadline = std::chrono::seconds(60));

  MissReason explain_miss(const KernelKey& key);
  MissReason explain_miss(const EntryKey& key);
  // Of measurements that hold for another machine than the one described ("name=value;..."): what differs
  // from the nearest machine that has some. `empty` where none has.
  MissReason explain_tuning_miss(std::string_view nest_hash, std::string_view target,
                                 std::string_view machine);
  MissReason explain_miss(const GateKey& key);

  // Kept in memory until something is written anyway, and the last 10,000 in the file.
  void add_event(std::string_view kind, std::string_view what, std::string_view detail);
  std::vector<CacheEvent> events(int64_t newest = 100);

  CacheStats stats();
  std::vector<CacheRow> rows();
  // Reads and authenticates every row; deletes and returns those that do not hold.
  std::vector<BadRow> verify();
  // Errors: what SQLite reports.
  Status clear();
  // Writes counters, events and last uses that were kept back.
  void flush();

  // A file with everything but events and claims. Errors: kIoError, kResourceExhausted.
  Status export_to(const std::filesystem::path& file);
  // Adds what the file holds. Unless trusted, neither kernels (code) nor entries (programs, which address
  // memory) nor what the precision gate found are taken; trusted ones are authenticated anew, and entries
  // whose kernels are missing are dropped. Errors: kNotFound, kCorruption (no such file, not an export),
  // kIoError.
  Result<ImportResult> import_from(const std::filesystem::path& file, bool trust);

 private:
  explicit KernelCache(std::shared_ptr<cache::CacheState> state) : state_(std::move(state)) {}
  std::shared_ptr<cache::CacheState> state_;
};

}  // namespace edge_infer
