#include "tests/kernels/loaded_nest.h"

#include <utility>

#include "backends/cpu/codegen/cc_compiler.h"

namespace edge_infer::testing {

Result<LoadedNest> LoadedNest::compile(const KernelSource& source) {
  CcCompiler compiler;
  std::vector<Result<CompiledKernel>> compiled = compiler.compile(std::span(&source, 1));
  if (!compiled[0]) return std::unexpected(compiled[0].error());
  const KernelBlob* blob = &compiled[0]->blob;
  EDGE_INFER_ASSIGN(CodeArena arena, CodeArena::map(std::span(&blob, 1)));
  LoadedNest kernel;
  kernel.code_ = std::make_shared<const CodeArena>(std::move(arena));
  return kernel;
}

}  // namespace edge_infer::testing
