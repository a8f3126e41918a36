// Model families: each turns config.json and the names of the weights into the encoder part of a Graph.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "compiler/capture/graph_builder.h"
#include "models/files/model_config.h"
#include "models/files/weight_store.h"

namespace edge_infer {

// The packed batch that every encoder takes: token ids [T] and sequence offsets [B + 1], both i32.
struct PackedInputs {
  ValueId ids = kNoValue, cu_seqlens = kNoValue;
};

// What an encoder needs to know and to tell.
struct Encoder {
  ValueId hidden = kNoValue;  // [T, width]
  int64_t width = 0;
  int64_t vocabulary = 0;  // rows of the embedding table: ids are below this
  int64_t positions = 0;   // longest sequence that the position table serves
};

struct Architecture {
  std::string_view model_type;  // of config.json
  // Checks the weights' shapes while it builds. Errors: kCorruption, kNotFound, kUnsupported, by member or
  // tensor.
  Result<Encoder> (*build)(GraphBuilder&, const PackedInputs&, const ModelDirectory&, const WeightStore&);
};

// The explicit list of families, and the one for a model_type. Errors: kUnsupported listing the known ones.
std::span<const Architecture> architectures();
Result<const Architecture*> find_architecture(const ModelDirectory& directory);

}  // namespace edge_infer
