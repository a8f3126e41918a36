#include "backends/cpu/codegen/declarations.h"

#include <set>

#include "backends/cpu/codegen/c_text.h"
#include "backends/cpu/codegen/prelude.h"

namespace edge_infer::cpu_codegen {

bool names(std::string_view text, std::string_view identifier) {
  bool found = false;
  for_each_identifier(text, [&](std::string_view word) { found = found || word == identifier; });
  return found;
}

std::string only_used(std::string_view declarations, std::string_view text) {
  std::set<std::string_view> used;
  for_each_identifier(text, [&](std::string_view word) { used.insert(word); });
  std::string result;
  while (!declarations.empty()) {
    const size_t end = declarations.find('\n') + 1;
    const std::string_view line = declarations.substr(0, end);
    declarations.remove_prefix(end);
    const size_t name_end = line.find(" = ");
    const size_t name = line.rfind(' ', name_end - 1) + 1;
    if (used.contains(line.substr(name, name_end - name))) result += line;
  }
  return result;
}

std::string pointer_type(const loop::Buffer& buffer) {
  return fmt::format("{}{}*", buffer.access == loop::Access::kOut ? "" : "const ", memory_type(buffer.dtype));
}

std::string arguments_used(const loop::LoopNest& nest, std::string_view body, std::string_view from) {
  std::string all;
  for (size_t i = 0; i < nest.buffers.size(); ++i)
    all += fmt::format("  {} b{} = {}buffers[{}];\n", pointer_type(nest.buffers[i]), i, from, i);
  for (size_t i = 0; i < nest.symbols.size(); ++i)
    all += fmt::format("  const int64_t s{} = {}integers[{}];\n", i, from, i);
  return only_used(all, body);
}

std::string local_from_scratch(const loop::LoopNest& nest, size_t local, int64_t offset) {
  return fmt::format("  {0}* c{1} = ({0}*)((char*)scratch + {2});\n", memory_type(nest.locals[local].dtype),
                     local, offset);
}

}  // namespace edge_infer::cpu_codegen
