// Any bytes as the object file of a kernel: what links is a blob that parses back to itself.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "backends/cpu/cc/object_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace edge_infer;
  const Result<KernelBlob> blob = link_objects(std::array{std::as_bytes(std::span(data, size))}, "k");
  if (!blob) return 0;
  const Result<KernelBlob> again = KernelBlob::parse(blob->serialize());
  if (!again || *again != *blob) std::abort();
  return 0;
}
