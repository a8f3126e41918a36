// What this processor can execute, asked of the processor itself (CPUID and XGETBV), never guessed from its
// name.
#pragma once

#include <string>

namespace edge_infer {

struct CpuFeatures {
  bool avx2_fma = false;  // AVX2, FMA and F16C, with the OS saving ymm state
  bool avx512 = false;    // F, BW, VL, DQ, with the OS saving zmm state
  bool avx512_bf16 = false;
  bool avx512_vnni = false;
  bool amx_bf16 = false;  // reported by the CPU; use also needs request_amx()
};

// Probed once. $EDGE_INFER_ISA = portable | avx2 | avx512 lowers the answer (tests, support), never raises
// it.
const CpuFeatures& cpu_features();

// Asks the kernel, once, to let all threads of this process use the tile registers; whether it does.
bool request_amx();

// "avx512", "avx2" or "portable": the best prebuilt kernel set.
const char* best_isa();

// Workers one process should use: min(affinity mask, cgroup CPU quota rounded up, $EDGE_INFER_THREADS if
// set), at least 1.
int worker_budget();

// The CPU's brand string, for reports only.
std::string cpu_name();

}  // namespace edge_infer
