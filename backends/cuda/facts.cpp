#include "backends/cuda/facts.h"

#include <algorithm>

#include "backends/cuda/launch.h"
#include "backends/cuda/pack_rows.h"
#include "backends/cuda/size_classes.h"

namespace edge_infer::cuda {

Result<CodeFacts> code_facts(const KernelBlob& code) {
  EDGE_INFER_ASSIGN(const CudaImage image, CudaImage::parse(code));
  const CudaLaunch& launch = image.launch;
  const auto number = [](auto value) { return fmt::format("{}", value); };
  return CodeFacts{{"tile", fmt::format("{}x{}", launch.tile_rows, launch.tile_columns)},
                   {"threads", number(launch.threads)},
                   {"blocks_per_sm", number(launch.blocks_per_sm)},
                   {"cluster", number(launch.cluster)},
                   {"registers", number(image.registers)},
                   {"spill_bytes", number(image.spill_bytes)},
                   {"static_shared_bytes", number(image.static_shared_bytes)},
                   {"dynamic_shared_bytes", number(launch.shared_bytes)},
                   {"code_bytes", number(image.cubin.size())}};
}

Result<ProgramFacts> program_facts(const Program& program) {
  ProgramFacts facts;
  for (const ConstantDecl& constant : program.constants) {
    DType type = constant.dtype;
    if (constant.format != "raw") {
      EDGE_INFER_ASSIGN(type, packed_type(constant.format));
    }
    int64_t bytes = dtype_size(type);
    for (const int64_t size : constant.sizes) bytes *= size;
    facts.weight_bytes += static_cast<size_t>(bytes);
  }
  EDGE_INFER_ASSIGN(const SizeClasses classes, SizeClasses::of(program));
  for (const SymbolValues& limits : classes.all(classes.initial_capacity())) {
    const auto end = limits.of.begin() + static_cast<std::ptrdiff_t>(limits.count);
    facts.replay_classes.emplace_back(limits.of.begin(), end);
  }
  std::ranges::sort(facts.replay_classes);
  return facts;
}

}  // namespace edge_infer::cuda
