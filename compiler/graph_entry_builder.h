// GraphEntryBuilder: the compiler as the runtime sees it. Makes the entry of a call from one captured graph.
#pragma once

#include <memory>

#include "compiler/graph/graph.h"
#include "runtime/module.h"

namespace edge_infer {

class GraphEntryBuilder final : public EntryBuilder {
 public:
  // `constants` finds the graph's constants by name and outlives the builder and its entries.
  GraphEntryBuilder(Graph graph, std::shared_ptr<const Device> device,
                    std::shared_ptr<ConstantSource> constants);

  Result<std::shared_ptr<const Entry>> build(std::span<const TensorView> inputs,
                                             const CallSettings& settings) override;

  const Graph& graph() const { return graph_; }

 private:
  Graph graph_;
  std::shared_ptr<const Device> device_;
  std::shared_ptr<ConstantSource> constants_;
};

}  // namespace edge_infer
