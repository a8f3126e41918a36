// compare_with_evaluate() of tests/kernels/nest_run.h for CUDA kernels, emulated.
#include <gtest/gtest.h>

#include "backends/cuda/codegen/cuda_code_generator.h"
#include "tests/kernels/nest_run.h"
#include "tests/unit/cuda_codegen/emulated_kernels.h"

namespace edge_infer::testing {

std::string compare_with_evaluate(const NestCase& c) {
  auto prepared = prepare(c);
  if (!prepared) return prepared.error().message;
  const auto generator = cuda::CudaCodeGenerator::for_target("cuda.sm_90a");
  if (!generator) return generator.error().message;
  const auto kernel = generator->generate(prepared->nest, c.schedule);
  if (!kernel) return kernel.error().message;
  const std::string& source = kernel->source.source;
  const auto emulated = cuda::test::EmulatedKernels::compile(std::span(&source, 1));
  if (!emulated) return emulated.error().message;
  std::vector<HostTensor> buffers = prepared->buffers;
  std::vector<HostTensor*> pointers;
  for (HostTensor& tensor : buffers) pointers.push_back(&tensor);
  if (const Status status = emulated->run(0, prepared->nest, c.symbols, pointers); !status)
    return status.error().message + "\n" + source;
  const std::string wrong = compare_outputs(buffers, *prepared, c);
  return wrong.empty() ? "" : wrong + "\n" + source;
}

}  // namespace edge_infer::testing
