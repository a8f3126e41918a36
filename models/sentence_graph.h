// The whole graph of a sentence-transformers model: encoder, pooling, Dense modules, normalization.
#pragma once

#include <span>

#include "compiler/graph/graph.h"
#include "models/files/model_config.h"
#include "models/files/weight_store.h"

namespace edge_infer {

struct SentenceGraph {
  Graph graph;  // (ids i32[T], cu_seqlens i32[B+1]) -> f32[B, dimensions]
  int64_t dimensions = 0;
  int64_t vocabulary = 0;  // ids are below this
  int64_t positions = 0;   // longest sequence
};

// Tokens of one forward pass at most.
constexpr int64_t kMaxBatchTokens = 16384;

// `dense` are the weights of the Dense modules, in order; their constants are named
// "dense.<i>.linear.weight".
Result<SentenceGraph> build_sentence_graph(const ModelDirectory& directory, const WeightStore& weights,
                                           std::span<const WeightStore> dense);

}  // namespace edge_infer
