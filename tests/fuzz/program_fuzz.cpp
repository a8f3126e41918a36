// Any bytes as a program: what parses verifies, and prints to what parses to an equal program with the same
// text.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "runtime/program/program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace edge_infer;
  const auto program = parse_program({reinterpret_cast<const char*>(data), size});
  if (!program) {
    if (program.error().code != ErrorCode::kCorruption) std::abort();
    return 0;
  }
  if (!verify_program(*program)) std::abort();
  const std::string text = print_program(*program);
  const auto again = parse_program(text);
  // The canonical text of an expression may exceed the limits that the shorter one kept.
  if (!again && again.error().message.find("size expression") != std::string::npos) return 0;
  if (!again || !(*again == *program) || print_program(*again) != text) std::abort();
  return 0;
}
