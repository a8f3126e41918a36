#include "runtime/program/kernel_blob.h"

#include <cstring>
#include <string_view>

namespace edge_infer {
namespace {

constexpr std::string_view kMagic = "EIBLOB01";
constexpr size_t kHeader = 32;

void put_u64(std::byte* out, uint64_t value) {
  for (size_t i = 0; i < 8; ++i) out[i] = static_cast<std::byte>(value >> (8 * i));
}

uint64_t get_u64(const std::byte* bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i) value |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
  return value;
}

}  // namespace

std::vector<std::byte> KernelBlob::serialize() const {
  std::vector<std::byte> bytes(kHeader + image.size());
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  put_u64(&bytes[8], entry);
  put_u64(&bytes[16], scratch_bytes);
  put_u64(&bytes[24], image.size());
  if (!image.empty()) std::memcpy(&bytes[kHeader], image.data(), image.size());
  return bytes;
}

Result<KernelBlob> KernelBlob::parse(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeader)
    return fail(ErrorCode::kCorruption, "a kernel blob of {} bytes, expected at least {}", bytes.size(),
                kHeader);
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    return fail(ErrorCode::kCorruption, "a kernel blob that does not begin with \"{}\"", kMagic);
  KernelBlob blob;
  blob.entry = get_u64(&bytes[8]);
  blob.scratch_bytes = get_u64(&bytes[16]);
  const uint64_t image_bytes = get_u64(&bytes[24]);
  if (image_bytes > kMaxBytes)
    return fail(ErrorCode::kCorruption, "a kernel blob with an image of {} bytes, expected at most {}",
                image_bytes, kMaxBytes);
  if (image_bytes != bytes.size() - kHeader)
    return fail(ErrorCode::kCorruption, "a kernel blob that declares {} bytes of image and has {}",
                image_bytes, bytes.size() - kHeader);
  if (blob.entry >= image_bytes)
    return fail(ErrorCode::kCorruption, "a kernel blob with its entry at {}, outside of its {} bytes",
                blob.entry, image_bytes);
  if (blob.scratch_bytes > kMaxScratchBytes)
    return fail(ErrorCode::kCorruption, "a kernel blob that needs {} bytes of scratch, expected at most {}",
                blob.scratch_bytes, kMaxScratchBytes);
  blob.image.assign(bytes.begin() + kHeader, bytes.end());
  return blob;
}

}  // namespace edge_infer
