// BERT encoders (all-MiniLM, bge, e5-small, gte, mxbai, ...): learned absolute positions, post-norm, full
// attention.
#pragma once

#include "models/architectures/architecture.h"

namespace edge_infer {

Result<Encoder> build_bert(GraphBuilder& b, const PackedInputs& inputs, const ModelDirectory& directory,
                           const WeightStore& weights);

}  // namespace edge_infer
