#include "backends/cpu/device.h"

#include <cstring>
#include <limits>

#include "backends/cpu/pack_bf16.h"
#include "runtime/executor/bound_program.h"

namespace edge_infer {
namespace {

// As kPanel and kTileRows of prebuilt/gemm_tile.h, which only the sets' own sources can include.
int64_t panel_width(Isa isa) {
  return isa == Isa::kAvx512 ? 32 : 16;
}
int64_t tile_rows(Isa isa) {
  switch (isa) {
    case Isa::kAvx512:
      return 12;
    case Isa::kAvx2:
      return 6;
    case Isa::kPortable:
      break;
  }
#if defined(__aarch64__)
  return 6;
#else
  return 3;
#endif
}
int64_t vector_bytes(Isa isa) {
  return isa == Isa::kAvx512 ? 64 : isa == Isa::kAvx2 ? 32 : 16;
}

}  // namespace

CpuDevice::CpuDevice(Isa isa) : isa_(isa) {
  target_.name = fmt::format("cpu.{}", isa_name(isa));
  target_.vector_bytes = vector_bytes(isa);
  target_.gemm_rows = tile_rows(isa);
  target_.gemm_columns = panel_width(isa);
  target_.packed_linear_format = fmt::format("nk.f32.p{}", panel_width(isa));
  target_.attention_block_rows = 32;
  // Blocked for the cache, as a nest is not; and a row's offset is found once, not sought in every row.
  target_.prebuilt_ops = {"aten.matmul", "aten.mm",
                          "aten.bmm",    "aten.addmm",
                          "aten.linear", "aten.scaled_dot_product_attention",
                          "aten.cumsum", "edge.packed_positions"};
}

Result<LoadedKernel> CpuDevice::load_kernel(std::string_view name) const {
  if (name.starts_with("kernel:")) {
    if (const std::optional<LoadedKernel> compiled = code_.find(name)) return *compiled;
    return fail(ErrorCode::kNotFound, "{} has no code loaded as \"{}\"", target_.name, name);
  }
  const PrebuiltKernel* kernel = find_prebuilt(isa_, name);
  if (kernel == nullptr) return fail(ErrorCode::kNotFound, "{} has no kernel \"{}\"", target_.name, name);
  return LoadedKernel{kernel->function, kernel->scratch_bytes};
}

Result<std::vector<LoadedKernel>> CpuDevice::load_code(std::span<const NamedBlob> blobs) const {
  for (const NamedBlob& named : blobs)
    if (!named.name.starts_with("kernel:"))
      return fail(ErrorCode::kInvalidArgument, "compiled code named \"{}\", expected \"kernel:<id>\"",
                  named.name);
  return code_.load(blobs);
}

Result<std::unique_ptr<Executable>> CpuDevice::bind(Program program, ConstantSource& constants) const {
  return BoundProgram::bind(std::move(program), *this, constants);
}

Result<size_t> CpuDevice::packed_bytes(std::string_view format, int64_t n, int64_t k) const {
  if (const auto layout = Bf16Layout::find(format)) return bf16_packed_bytes(*layout, n, k);
  if (format != target_.packed_linear_format)
    return fail(ErrorCode::kUnsupported, "{} packs \"{}\" and bf16, not \"{}\"", target_.name,
                target_.packed_linear_format, format);
  if (n < 0 || k < 0) return fail(ErrorCode::kInvalidArgument, "a weight of {} x {} elements", n, k);
  const int64_t width = panel_width(isa_);
  constexpr int64_t kLimit = std::numeric_limits<int64_t>::max() / static_cast<int64_t>(sizeof(float));
  const int64_t padded = n > kLimit - width ? kLimit : (n + width - 1) / width * width;
  if (k != 0 && padded > kLimit / k)
    return fail(ErrorCode::kResourceExhausted, "a weight of {} x {} elements does not fit into memory", n, k);
  return static_cast<size_t>(padded * k) * sizeof(float);
}

Status CpuDevice::pack(std::string_view format, std::span<const Rows> sources, int64_t k,
                       std::span<std::byte> out) const {
  int64_t n = 0;
  for (const Rows& source : sources) {
    if (source.rows < 0 || source.rows > std::numeric_limits<int64_t>::max() - n)
      return fail(ErrorCode::kInvalidArgument, "a source of {} rows", source.rows);
    n += source.rows;
  }
  EDGE_INFER_ASSIGN(const size_t bytes, packed_bytes(format, n, k));
  if (out.size() != bytes)
    return fail(ErrorCode::kInvalidArgument, "{} bytes to pack {} x {} into, expected {}", out.size(), n, k,
                bytes);
  if (bytes == 0) return {};
  if (const auto layout = Bf16Layout::find(format)) {
    pack_bf16(*layout, sources, k, out);
    return {};
  }
  const int64_t width = panel_width(isa_);
  if (n % width != 0) {
    const size_t panel_bytes = static_cast<size_t>(width * k) * sizeof(float);
    std::memset(out.data() + out.size() - panel_bytes, 0, panel_bytes);
  }
  EDGE_INFER_ASSIGN(const LoadedKernel kernel, load_kernel("edge.pack_linear.f32"));
  int64_t first = 0;
  for (const Rows& source : sources) {
    void* buffers[] = {out.data(), const_cast<float*>(source.data)};
    const int64_t integers[] = {k, first};
    const KernelArgs args = {buffers, integers};
    kernel.function(&args, 0, source.rows, 0, 1, nullptr);
    first += source.rows;
  }
  return {};
}

}  // namespace edge_infer
