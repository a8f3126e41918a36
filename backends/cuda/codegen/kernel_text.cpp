#include "backends/cuda/codegen/kernel_text.h"

#include <fmt/format.h>

#include "backends/cuda/codegen/cuda_text.h"

namespace edge_infer::cuda {

std::string kernel_parameters(const loop::LoopNest& nest) {
  std::string text = "const i64* n";
  for (size_t i = 0; i < nest.buffers.size(); ++i) {
    const loop::Buffer& buffer = nest.buffers[i];
    text += fmt::format(", {}{}* b{}", buffer.access == loop::Access::kOut ? "" : "const ",
                        memory_type(buffer.dtype), i);
  }
  return text;
}

std::string size_lines(const loop::LoopNest& nest, std::string_view body) {
  std::string text;
  for (size_t i = 0; i < nest.symbols.size(); ++i)
    if (names(body, fmt::format("s{}", i))) text += fmt::format("  const i64 s{} = n[{}];\n", i, i);
  return text;
}

std::string launch_dependents_line(const CudaTarget& target) {
  return target.has_pdl ? "  launch_dependents();\n" : "";
}

std::string wait_line(const CudaTarget& target) {
  return target.has_pdl ? "  wait_for_producers();\n" : "";
}

std::string assemble_source(const CudaLaunch& launch, std::string_view kernel) {
  return fmt::format("// launch {}\n{}\n{}", launch.text(), select_prelude(kernel), kernel);
}

}  // namespace edge_infer::cuda
