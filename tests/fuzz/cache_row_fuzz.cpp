// Any bytes as what rows of the cache hold: entries, guards, kernel keys and blobs. First byte: which.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "runtime/cache/entry_text.h"
#include "runtime/program/kernel_blob.h"
#include "runtime/program/kernel_key.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace edge_infer;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0: {
      const auto entry = parse_entry(text);
      if (!entry) return 0;
      const auto again = parse_entry(print_entry(entry->guards, entry->program));
      if (!again && again.error().message.find("size expression") != std::string::npos) return 0;
      if (!again || !(*again == *entry)) std::abort();
      return 0;
    }
    case 1: {
      const auto guards = GuardSet::parse(text);
      if (guards && (!guards->verify() || guards->print() != text)) std::abort();
      return 0;
    }
    case 2: {
      const auto key = KernelKey::parse(text);
      if (key && key->text() != text) std::abort();
      return 0;
    }
    default: {
      const auto blob = KernelBlob::parse(std::as_bytes(std::span(text)));
      if (!blob) return 0;
      const auto bytes = blob->serialize();
      if (std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()) != text) std::abort();
      return 0;
    }
  }
}
