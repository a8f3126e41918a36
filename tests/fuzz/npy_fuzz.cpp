// Any bytes as a .npy array: a tensor that is read is written and read back the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "apps/cli/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace edge_infer;
  const auto tensor = parse_npy({reinterpret_cast<const char*>(data), size}, "fuzzed");
  if (!tensor) return 0;
  const auto again = parse_npy(make_npy(*tensor), "again");
  if (!again || again->dtype != tensor->dtype || again->sizes != tensor->sizes ||
      again->bytes != tensor->bytes)
    std::abort();
  return 0;
}
