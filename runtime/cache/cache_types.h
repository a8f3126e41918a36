// What goes into the kernel cache and what it tells about itself.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/program/kernel_key.h"

namespace edge_infer {

// Everything that decides an entry (guards and program) of a graph, each component by itself.
struct EntryKey {
  std::string graph_hash;  // of the graph's text: structure and weight metadata, no weights
  std::string target;      // "cpu.avx512"
  std::string features;    // KernelKey::features
  std::string settings;    // call settings: "precision=fp32;deterministic=1"
  std::string options;     // of the compiler that alter the program: "mode=default"
  std::string generator;   // KernelKey::generator
  std::string compiler;    // KernelKey::compiler
  friend bool operator==(const EntryKey&, const EntryKey&) = default;

  // One line with each component quoted; compared byte for byte on a hit.
  std::string text() const;
  std::string id() const;  // 32 hexadecimal digits of the text's BLAKE2b-256
};

// Everything that decides what the precision gate finds (GateVerdict).
struct GateKey {
  EntryKey entry;       // of the precision that is judged, asked for as such
  std::string weights;  // identifies the values of the graph's constants
  std::string rule;     // the sample of inputs, the reference, how figures are made
  friend bool operator==(const GateKey&, const GateKey&) = default;

  std::string text() const;
  std::string id() const;
};

// The components of a key with their names, in the order of the cache's columns.
using KeyComponents = std::vector<std::pair<const char*, std::string>>;
KeyComponents components(const KernelKey& key);
KeyComponents components(const EntryKey& key);
KeyComponents components(const GateKey& key);

// One candidate measured for a nest.
struct TuningRow {
  std::string nest_hash, target, machine, schedule;
  std::vector<int64_t> nanoseconds;  // one a run
  friend bool operator==(const TuningRow&, const TuningRow&) = default;
};

// Why a key missed: what the nearest stored key differs in.
struct MissReason {
  struct Difference {
    std::string component, stored, wanted;
  };
  bool empty = true;    // nothing of the kind is stored
  std::string nearest;  // id of the nearest row
  std::vector<Difference> differences;
  // "compiler: stored clang-19.1.6, wanted clang-19.1.7", "no kernel is stored"
  std::string text() const;
};

struct CacheEvent {
  int64_t time_ms = 0;  // since 1970
  int64_t pid = 0;
  std::string kind;  // "miss", "compiled", "rejected", "evicted", "corrupt", "claim", "import", ...
  std::string what;  // "kernel:<id>", "entry:<id>", a file
  std::string detail;
};

struct CacheStats {
  std::string file;    // empty: in memory
  std::string reason;  // why in memory, or read only
  bool read_only = false;
  int64_t graphs = 0, entries = 0, kernels = 0, tunings = 0;
  int64_t bytes = 0, limit_bytes = 0;  // of the rows' content
  // Over the life of the file, this process' included.
  int64_t hits = 0, misses = 0, compiled = 0, rejected = 0, evicted = 0;
};

struct CacheRow {
  std::string table, id, key;
  int64_t bytes = 0, created = 0, last_used = 0;  // s since 1970
  std::string detail{};                           // of a gate's row: what it found
};

struct BadRow {
  std::string table, id, reason;
};

struct ImportResult {
  int64_t graphs = 0, entries = 0, kernels = 0, tunings = 0, gates = 0;  // taken
  int64_t dropped_kernels = 0, dropped_entries = 0;  // not trusted, damaged, or without their kernels
};

}  // namespace edge_infer
