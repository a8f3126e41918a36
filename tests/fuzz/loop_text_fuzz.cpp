// Any bytes as the text of a nest: what parses prints, parses and prints the same, whether it verifies or
// not; verification ends in an answer; the identity text is a nest's text, too.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "compiler/loop/parse.h"
#include "compiler/loop/print.h"
#include "compiler/loop/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace edge_infer::loop;
  const auto nest = parse_nest({reinterpret_cast<const char*>(data), size});
  if (!nest) return 0;
  const bool valid = verify(*nest).has_value();
  const std::string text = print(*nest);
  const auto again = parse_nest(text);
  if (!again || print(*again) != text) std::abort();
  if (verify(*again).has_value() != valid) std::abort();
  const auto identity = parse_nest(print_identity(*nest));
  if (!identity || print(*identity) != print_identity(*nest)) std::abort();
  return 0;
}
