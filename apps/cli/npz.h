// NumPy's .npz archives as named tensors: zip members, stored or deflated, each a .npy of format version 1
// or 2. Types f8 f4 f2 i8 i4 i2 i1 u1 b1, little endian; u2 is a bf16 tensor's raw bits. Arrays in Fortran
// order are reordered.
#pragma once

#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/graph/evaluate.h"

namespace edge_infer {

// Errors: kNotFound, kIoError, kCorruption (archive or array, with the member's name), kUnsupported (a type),
// kResourceExhausted beyond `limit_bytes` for all arrays together.
Result<TensorMap> read_npz(const std::filesystem::path& path, int64_t limit_bytes = int64_t{8} << 30);

// Replaces `path` with an archive of the tensors in order, compressed. Errors: kIoError, kInvalidArgument for
// a name given twice.
Status write_npz(const std::filesystem::path& path,
                 const std::vector<std::pair<std::string, HostTensor>>& tensors);

// One array: the bytes of a .npy file. `name` is for errors.
Result<HostTensor> parse_npy(std::string_view bytes, std::string_view name);
std::string make_npy(const HostTensor& tensor);

}  // namespace edge_infer
