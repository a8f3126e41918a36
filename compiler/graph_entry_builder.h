// GraphEntryBuilder: the compiler as the runtime sees it. Makes the entries of calls from one captured graph:
// the compiled one from the cache where it is there, else the fallback, which compilation improves behind.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "compiler/entry_compilation.h"
#include "compiler/graph/graph.h"
#include "runtime/cache/entry_text.h"
#include "runtime/module.h"

namespace edge_infer {

// What products round their operands to: precisions that the generator has no products for are served in f32,
// which is at least as accurate.
DType product_type(const CodeGenerator& generator, const CallSettings& settings);

// EntryKey::graph_hash.
std::string graph_identity(const Graph& graph);

class GraphEntryBuilder final : public EntryBuilder {
 public:
  // `constants` finds the graph's constants by name and outlives the builder and its entries.
  // `compilation.host.device` is not null: it runs the fallback.
  GraphEntryBuilder(Graph graph, std::shared_ptr<ConstantSource> constants, EntryCompilation compilation);

  Result<std::shared_ptr<const Entry>> build(std::span<const TensorView> inputs,
                                             const CallSettings& settings) override;
  Result<std::shared_ptr<const Entry>> improve(const Entry& entry, const CallSettings& settings) override;
  void lose_accelerator() override { accelerator_lost_.store(true); }
  void cancel() override { cancelled_.store(true); }

  const Graph& graph() const { return graph_; }

 private:
  // An entry with what the cache is to keep of it.
  struct Made {
    std::shared_ptr<Entry> entry;
    std::string text{}, summary{};
    std::string refused{};  // why the device cannot hold the program in this precision; no entry then
  };

  bool uses(const CompileSite& site) const;
  // The types that products may round their operands to, the preferred one first: each is taken when the gate
  // lets it pass, and the last needs no gate.
  std::vector<DType> candidates(const CompileSite& site, const CallSettings& settings) const;
  bool is_judged(DType type) const { return compilation_.gate && type != DType::kF32; }
  PrecisionRecord new_record(const CallSettings& settings) const;

  Result<std::shared_ptr<Entry>> stored(const CompileSite& site, std::span<const TensorView> inputs,
                                        const CallSettings& settings);
  Result<StoredEntry> find_stored(const EntryKey& key);
  Result<std::shared_ptr<Entry>> bind_stored(const CompileSite& site, const EntryKey& key,
                                             StoredEntry stored);
  // The better entry of one site: the first candidate that passes.
  Result<std::shared_ptr<Entry>> made(const CompileSite& site, const GuardSet& guards,
                                      const CallSettings& settings);
  Result<Made> compiled(const CompileSite& site, const GuardSet& guards, DType type);
  void store(const EntryKey& key, const Made& made);
  std::optional<GateVerdict> known_verdict(const EntryKey& judged, DType type);
  // `reference` is filled once.
  Result<GateVerdict> judged(DType type, const Made& made, std::optional<GateOutputs>& reference);

  // The keys of the candidates' entries, in order. `tuned`: whose schedules were measured on the site's
  // device.
  std::vector<EntryKey> entry_keys(const CompileSite& site, const CallSettings& settings,
                                   std::span<const DType> types, bool tuned);
  // Those to look for: what was tuned here is best in every mode; in max-autotune nothing else will do.
  std::vector<EntryKey> stored_keys(const CompileSite& site, const CallSettings& settings,
                                    std::span<const DType> types);
  // The entry made ready for the mode.
  Status prepare(const Entry& entry) const;
  // GateKey::entry of a candidate's entry.
  EntryKey judged_key(const CompileSite& site, const EntryKey& key, DType type) const;
  GateKey gate_key(const EntryKey& judged, DType type);
  const std::string& weights_identity();

  Graph graph_;
  std::shared_ptr<ConstantSource> constants_;
  EntryCompilation compilation_;
  std::mutex hash_mutex_;
  std::string graph_hash_;  // empty: not computed yet
  std::once_flag weights_once_;
  std::string weights_;
  std::atomic<bool> accelerator_lost_{false};
  std::atomic<bool> cancelled_{false};
};

}  // namespace edge_infer
