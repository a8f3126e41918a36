// CudaImage and CudaLaunch: what a cache holds of a CUDA kernel.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "backends/cuda/launch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace edge_infer;
  KernelBlob blob;
  const auto bytes = std::as_bytes(std::span(data, size));
  // The offset of the code is stored beside the image.
  blob.entry = size > 0 ? data[0] : 0;
  if (size > 0) blob.image.assign(bytes.begin() + 1, bytes.end());
  if (const auto image = cuda::CudaImage::parse(blob)) {
    const KernelBlob again = image->to_blob();
    const auto reparsed = cuda::CudaImage::parse(again);
    if (!reparsed || !(*reparsed == *image)) std::abort();
    if (image->launch.grid(INT32_MAX, INT32_MAX, 132) < 1) std::abort();
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto launch = cuda::CudaLaunch::parse(text)) {
    const auto again = cuda::CudaLaunch::parse(launch->text());
    if (!again || !(*again == *launch)) std::abort();
  }
  return 0;
}
