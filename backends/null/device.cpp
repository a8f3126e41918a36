#include "backends/null/device.h"

#include <cstring>
#include <limits>

#include "runtime/executor/bound_program.h"

namespace edge_infer {
namespace {

constexpr std::string_view kFormat = "nk.f32";

void nothing(const KernelArgs*, int64_t, int64_t, int64_t, int64_t, void*) {}

}  // namespace

NullDevice::NullDevice() {
  target_.name = "null";
  target_.packed_linear_format = kFormat;
}

Result<LoadedKernel> NullDevice::load_kernel(std::string_view name) const {
  if (!name.starts_with("prebuilt:")) return fail(ErrorCode::kNotFound, "null has no kernel \"{}\"", name);
  return LoadedKernel{nothing, 0};
}

Result<std::unique_ptr<Executable>> NullDevice::bind(Program program, ConstantSource& constants) const {
  return BoundProgram::bind(std::move(program), *this, constants);
}

Result<size_t> NullDevice::packed_bytes(std::string_view format, int64_t n, int64_t k) const {
  if (format != kFormat)
    return fail(ErrorCode::kUnsupported, "null packs \"{}\", not \"{}\"", kFormat, format);
  if (n < 0 || k < 0) return fail(ErrorCode::kInvalidArgument, "a weight of {} x {} elements", n, k);
  constexpr int64_t kLimit = std::numeric_limits<int64_t>::max() / static_cast<int64_t>(sizeof(float));
  if (k != 0 && n > kLimit / k)
    return fail(ErrorCode::kResourceExhausted, "a weight of {} x {} elements does not fit into memory", n, k);
  return static_cast<size_t>(n * k) * sizeof(float);
}

Status NullDevice::pack(std::string_view format, std::span<const Rows> sources, int64_t k,
                        std::span<std::byte> out) const {
  size_t total = 0;
  for (const Rows& source : sources) {
    EDGE_INFER_ASSIGN(const size_t bytes, packed_bytes(format, source.rows, k));
    if (bytes > out.size() - total)
      return fail(ErrorCode::kInvalidArgument, "{} bytes are too few for the sources", out.size());
    if (bytes > 0) std::memcpy(out.data() + total, source.data, bytes);
    total += bytes;
  }
  if (total != out.size())
    return fail(ErrorCode::kInvalidArgument, "{} bytes to pack {} bytes into", out.size(), total);
  return {};
}

}  // namespace edge_infer
