// Packed formats of weights on CUDA: rows [n, k] as they are, in another type.
//   nk.f32, nk.f16, nk.bf16: row-major [n, k], rounded to nearest even
#pragma once

#include <span>

#include "runtime/base/dtype.h"
#include "runtime/device/device.h"

namespace edge_infer::cuda {

// The element type of a packed format. Errors: kUnsupported for other formats.
Result<DType> packed_type(std::string_view format);

// As Device::pack, for sizes that have been checked. Errors: kUnsupported for a finite value that f16 cannot
// hold (value, row and column are named).
Status pack_rows(DType type, std::span<const Device::Rows> sources, int64_t k, std::span<std::byte> out);

}  // namespace edge_infer::cuda
