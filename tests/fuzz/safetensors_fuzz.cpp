// Any bytes as a safetensors file: an error, or entries whose bytes lie inside of the input.
#include <cstdint>
#include <cstdlib>

#include "models/files/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  const auto tensors = edge_infer::parse_safetensors(file, "fuzz.safetensors");
  if (!tensors) {
    if (tensors.error().message.find("fuzz.safetensors") == std::string::npos) std::abort();
    return 0;
  }
  size_t covered = 0;
  size_t sum = 0;
  for (const auto& [name, entry] : *tensors) {
    covered += entry.bytes.size();
    for (const std::byte b : entry.bytes) sum += static_cast<size_t>(b);
    if (entry.dtype) {
      int64_t elements = 1;
      for (const int64_t n : entry.shape) elements *= n;
      if (static_cast<size_t>(elements * edge_infer::dtype_size(*entry.dtype)) != entry.bytes.size())
        std::abort();
    }
  }
  if (covered > size) std::abort();
  // At most 255 a byte: also a use of the sum, so that the reads are made.
  if (sum > covered * 255) std::abort();
  return 0;
}
