#include "backends/cuda/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace edge_infer::cuda {
namespace {

constexpr std::string_view kMagic = "EICUDA01";
constexpr std::string_view kSourcePrefix = "// launch ";
constexpr int64_t kMaxShared = 232'448;  // dynamic shared memory of a CTA on sm_90
constexpr int64_t kMaxTile = int64_t{1} << 20;
constexpr size_t kMaxMaps = 8;
constexpr size_t kMaxText = 4096;
constexpr int64_t kMaxElements = int64_t{1} << 40;

// Takes `key=` and a number in [low, high] from the front of `text`.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}
  bool done() const { return rest_.empty(); }
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  Result<int64_t> number(int64_t low, int64_t high) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{} || value < low || value > high)
      return fail(ErrorCode::kCorruption, "launch text: \"{}\", expected a number in {}..{}",
                  rest_.substr(0, 24), low, high);
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }
  Status expect(std::string_view word) {
    if (take(word)) return {};
    return fail(ErrorCode::kCorruption, "launch text: \"{}\", expected \"{}\"", rest_.substr(0, 24), word);
  }
  std::string_view word() {
    const size_t n = std::min(rest_.find_first_of(":= "), rest_.size());
    const std::string_view found = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return found;
  }

 private:
  std::string_view rest_;
};

template <typename T>
Status read_field(Cursor& cursor, std::string_view key, int64_t low, int64_t high, T& out) {
  EDGE_INFER_RETURN_IF_ERROR(cursor.expect(key));
  EDGE_INFER_ASSIGN(const int64_t value, cursor.number(low, high));
  out = static_cast<T>(value);
  return {};
}

Result<TensorMap> read_map(Cursor& cursor) {
  TensorMap map;
  EDGE_INFER_RETURN_IF_ERROR(read_field(cursor, " map=", 0, 63, map.buffer));
  EDGE_INFER_RETURN_IF_ERROR(cursor.expect(":"));
  const std::string_view dtype = cursor.word();
  constexpr std::array kTypes = {DType::kF16, DType::kBF16, DType::kF32};
  const auto* found = std::ranges::find_if(kTypes, [&](DType d) { return dtype_name(d) == dtype; });
  if (found == kTypes.end())
    return fail(ErrorCode::kCorruption, "launch text: map of \"{}\", expected f16, bf16 or f32", dtype);
  map.dtype = *found;
  EDGE_INFER_RETURN_IF_ERROR(read_field(cursor, ":", 1, kMaxElements, map.columns));
  EDGE_INFER_RETURN_IF_ERROR(read_field(cursor, ":", 1, 256, map.box_columns));
  EDGE_INFER_RETURN_IF_ERROR(read_field(cursor, "x", 1, 256, map.box_rows));
  EDGE_INFER_RETURN_IF_ERROR(read_field(cursor, ":s", 0, 128, map.swizzle_bytes));
  constexpr std::array kSwizzles = {0, 32, 64, 128};
  if (std::ranges::find(kSwizzles, map.swizzle_bytes) == kSwizzles.end())
    return fail(ErrorCode::kCorruption, "launch text: swizzle of {} bytes, expected 0, 32, 64 or 128",
                map.swizzle_bytes);
  return map;
}

}  // namespace

std::string CudaLaunch::text() const {
  std::string out = fmt::format("threads={} shared={} per_sm={} cluster={} tile={}x{} waits={}", threads,
                                shared_bytes, blocks_per_sm, cluster, tile_rows, tile_columns, waits ? 1 : 0);
  for (const TensorMap& map : maps)
    out += fmt::format(" map={}:{}:{}:{}x{}:s{}", map.buffer, dtype_name(map.dtype), map.columns,
                       map.box_columns, map.box_rows, map.swizzle_bytes);
  return out;
}

Result<CudaLaunch> CudaLaunch::parse(std::string_view text) {
  CudaLaunch launch;
  Cursor cursor(text);
  int waits = 0;
  EDGE_INFER_RETURN_IF_ERROR(read_field(cursor, "threads=", 1, 1024, launch.threads));
  EDGE_INFER_RETURN_IF_ERROR(read_field(cursor, " shared=", 0, kMaxShared, launch.shared_bytes));
  EDGE_INFER_RETURN_IF_ERROR(read_field(cursor, " per_sm=", 1, 32, launch.blocks_per_sm));
  EDGE_INFER_RETURN_IF_ERROR(read_field(cursor, " cluster=", 1, 16, launch.cluster));
  EDGE_INFER_RETURN_IF_ERROR(read_field(cursor, " tile=", 1, kMaxTile, launch.tile_rows));
  EDGE_INFER_RETURN_IF_ERROR(read_field(cursor, "x", 1, kMaxTile, launch.tile_columns));
  EDGE_INFER_RETURN_IF_ERROR(read_field(cursor, " waits=", 0, 1, waits));
  launch.waits = waits != 0;
  while (!cursor.done()) {
    EDGE_INFER_ASSIGN(const TensorMap map, read_map(cursor));
    launch.maps.push_back(map);
    if (launch.maps.size() > kMaxMaps)
      return fail(ErrorCode::kCorruption, "launch text: more than {} maps", kMaxMaps);
  }
  return launch;
}

Result<CudaLaunch> CudaLaunch::of_source(std::string_view source) {
  const std::string_view line = source.substr(0, source.find('\n'));
  if (!line.starts_with(kSourcePrefix))
    return fail(ErrorCode::kInvalidArgument, "a CUDA source begins with \"{}\", found \"{}\"", kSourcePrefix,
                line.substr(0, 40));
  Result<CudaLaunch> launch = parse(line.substr(kSourcePrefix.size()));
  if (!launch) return fail(ErrorCode::kInvalidArgument, "{}", launch.error().message);
  return launch;
}

int64_t CudaLaunch::grid(int64_t rows, int64_t columns, int32_t multiprocessors) const {
  const int64_t row_tiles = (std::max<int64_t>(rows, 0) + tile_rows - 1) / tile_rows;
  const int64_t column_tiles = (std::max<int64_t>(columns, 0) + tile_columns - 1) / tile_columns;
  const int64_t most = int64_t{blocks_per_sm} * multiprocessors / cluster * cluster;
  const int64_t wanted = row_tiles * column_tiles * cluster;
  return std::max<int64_t>(std::min(wanted, most), cluster);
}

KernelBlob CudaImage::to_blob() const {
  const std::string text = fmt::format("registers={} spills={} static={} {}", registers, spill_bytes,
                                       static_shared_bytes, launch.text());
  KernelBlob blob;
  const auto length = static_cast<uint32_t>(text.size());
  blob.entry = kMagic.size() + sizeof(length) + text.size();
  blob.image.resize(blob.entry + cubin.size());
  std::byte* at = blob.image.data();
  std::memcpy(at, kMagic.data(), kMagic.size());
  std::memcpy(at + kMagic.size(), &length, sizeof(length));
  std::memcpy(at + kMagic.size() + sizeof(length), text.data(), text.size());
  if (!cubin.empty()) std::memcpy(at + blob.entry, cubin.data(), cubin.size());
  return blob;
}

Result<CudaImage> CudaImage::parse(const KernelBlob& blob) {
  const size_t head = kMagic.size() + sizeof(uint32_t);
  if (blob.image.size() < head || std::memcmp(blob.image.data(), kMagic.data(), kMagic.size()) != 0)
    return fail(ErrorCode::kCorruption, "a kernel image of {} bytes does not begin with \"{}\"",
                blob.image.size(), kMagic);
  uint32_t length = 0;
  std::memcpy(&length, blob.image.data() + kMagic.size(), sizeof(length));
  if (length > kMaxText || length > blob.image.size() - head || blob.entry != head + length)
    return fail(ErrorCode::kCorruption, "a kernel image of {} bytes with {} bytes of launch text, code at {}",
                blob.image.size(), length, blob.entry);
  const std::string_view text(reinterpret_cast<const char*>(blob.image.data()) + head, length);
  CudaImage image;
  Cursor cursor(text);
  EDGE_INFER_RETURN_IF_ERROR(read_field(cursor, "registers=", 0, 255, image.registers));
  EDGE_INFER_RETURN_IF_ERROR(read_field(cursor, " spills=", 0, 1 << 20, image.spill_bytes));
  EDGE_INFER_RETURN_IF_ERROR(read_field(cursor, " static=", 0, kMaxShared, image.static_shared_bytes));
  const size_t begin = text.find(" threads=");
  if (begin == std::string_view::npos)
    return fail(ErrorCode::kCorruption, "a kernel image's launch text has no threads");
  EDGE_INFER_ASSIGN(image.launch, CudaLaunch::parse(text.substr(begin + 1)));
  image.cubin.assign(blob.image.begin() + static_cast<std::ptrdiff_t>(blob.entry), blob.image.end());
  return image;
}

}  // namespace edge_infer::cuda
