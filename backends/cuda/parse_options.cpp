// What stands behind "cuda:" in a device's name.
#include <charconv>
#include <limits>

#include "backends/cuda/device.h"

namespace edge_infer::cuda {
namespace {

// "1500000", "512M", "2G": powers of 1024.
Result<size_t> parse_bytes(std::string_view text) {
  size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  if (error != std::errc{} || shift < 0 || value == 0 || value > std::numeric_limits<size_t>::max() >> shift)
    return fail(ErrorCode::kInvalidArgument,
                "memory limit \"{}\" of a CUDA device, expected bytes, or a number with K, M or G", text);
  return value << shift;
}

}  // namespace

Result<CudaDeviceOptions> CudaDeviceOptions::parse(std::string_view text) {
  constexpr std::string_view kMemory = "memory=";
  CudaDeviceOptions options;
  const size_t at = text.find(kMemory);
  if (at == std::string_view::npos) {
    options.select = text;
    EDGE_INFER_RETURN_IF_ERROR(options.index());
    return options;
  }
  EDGE_INFER_ASSIGN(options.memory_limit, parse_bytes(text.substr(at + kMemory.size())));
  std::string_view select = text.substr(0, at);
  if (select.empty()) return options;
  if (!select.ends_with(','))
    return fail(ErrorCode::kInvalidArgument, "CUDA device \"{}\", expected \"N,memory=BYTES\"", text);
  select.remove_suffix(1);
  options.select = select;
  EDGE_INFER_RETURN_IF_ERROR(options.index());
  return options;
}

Result<std::optional<int>> CudaDeviceOptions::index() const {
  int index = 0;
  if (select.empty()) return index;
  if (select.starts_with("GPU-")) return std::nullopt;
  const auto [end, error] = std::from_chars(select.data(), select.data() + select.size(), index);
  if (error != std::errc{} || end != select.data() + select.size() || index < 0)
    return fail(ErrorCode::kInvalidArgument, "CUDA device \"{}\", expected an index or \"GPU-<uuid>\"",
                select);
  return index;
}

}  // namespace edge_infer::cuda
