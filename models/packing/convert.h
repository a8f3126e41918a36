// Weights stored in another floating type, as f32.
#pragma once

#include <span>
#include <vector>

#include "models/files/weight_store.h"

namespace edge_infer {

// The elements of `view` (F32, F64, F16, BF16) as f32 into `out`, which has exactly that many elements.
// Errors: kUnsupported for other dtypes; `name` is for the message.
Status convert_to_f32(const WeightView& view, std::string_view name, std::span<float> out);

}  // namespace edge_infer
