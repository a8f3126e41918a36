// The sections of gpu_check: what is checked on a GPU. Each adds its kernels to the set first; main()
// compiles them all in one batch and then runs the cases.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/gpu/check.h"
#include "tests/gpu/kernel_set.h"

namespace edge_infer::test {

struct GpuCheck {
  std::shared_ptr<const cuda::CudaDevice> device;
  KernelSet& kernels;
  int effort = 1;    // 0: a sample of each section; 2: all there is
  size_t every = 1;  // only every so many-th case of a section
  size_t asked = 0;  // so many cases of this section were asked about

  // Whether the section's next case is to be made; kernels of others are not compiled.
  bool takes() { return asked++ % every == 0; }
};

// Attention nests over sequences of all lengths, against evaluate; and that a sequence's bits do not depend
// on those beside it.
std::vector<GpuCase> attention_cases(GpuCheck& check);
// Products: ragged row counts, types, epilogues.
std::vector<GpuCase> gemm_cases(GpuCheck& check);
// How long each candidate of a product takes at five row counts, beside the tile that is chosen. Of products
// on an H200 the prototypes' times (gpu_measured.md) as well. Runs only where it is asked for.
std::vector<GpuCase> gemm_speed_cases(GpuCheck& check);
// What max-autotune measures and chooses for two encoders, in every row class; that all candidates launch and
// have the same bits. Runs only where it is asked for.
std::vector<GpuCase> tune_cases(GpuCheck& check);
// The nests of graphs, one after the other, as evaluate() would run them: those of tests/golden, in f32, f16
// and bf16; every op of the table in all types; random graphs.
std::vector<GpuCase> golden_graph_cases(GpuCheck& check);
std::vector<GpuCase> conformance_cases(GpuCheck& check);
std::vector<GpuCase> random_graph_cases(GpuCheck& check);
// Whole programs on CudaDevice: outputs against evaluate(), graphs against single launches bit for bit over
// replays whose batches change, a sequence alone against the same one in a batch, two threads at once.
std::vector<GpuCase> program_cases(GpuCheck& check);

}  // namespace edge_infer::test
