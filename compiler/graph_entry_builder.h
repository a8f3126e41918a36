// GraphEntryBuilder: the compiler as the runtime sees it. Makes the entries of calls from one captured graph:
// the compiled one from the cache where it is there, else the fallback, which compilation improves behind.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "compiler/entry_compilation.h"
#include "compiler/graph/graph.h"
#include "runtime/module.h"

namespace edge_infer {

// What products round their operands to: precisions that the generator has no products for are served in f32,
// which is at least as accurate.
DType product_type(const CodeGenerator& generator, const CallSettings& settings);

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
  bool uses(const CompileSite& site) const;
  Result<std::shared_ptr<Entry>> stored(const CompileSite& site, std::span<const TensorView> inputs,
                                        const CallSettings& settings);
  Result<std::shared_ptr<Entry>> compiled(const CompileSite& site, const GuardSet& guards,
                                          const CallSettings& settings);
  // `tuned`: of the entry whose schedules were measured on the site's device.
  EntryKey entry_key(const CompileSite& site, const CallSettings& settings, bool tuned);
  // The entry made ready for the mode.
  Status prepare(const Entry& entry) const;

  Graph graph_;
  std::shared_ptr<ConstantSource> constants_;
  EntryCompilation compilation_;
  std::mutex hash_mutex_;
  std::string graph_hash_;  // empty: not computed yet
  std::atomic<bool> accelerator_lost_{false};
  std::atomic<bool> cancelled_{false};
};

}  // namespace edge_infer
