// What a kernel's text depends on of the device: one compute capability, by target name.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/error.h"

namespace edge_infer::cuda {

// Of all targets.
inline constexpr int kRegistersPerSm = 65'536, kRegistersPerThread = 255;

struct CudaTarget {
  std::string name;             // "cuda.sm_90a"
  std::string architecture;     // "sm_90a", as NVRTC takes it
  int capability = 80;          // 80, 86, 89, 90, 100, 120
  bool has_wgmma = false;       // wgmma and setmaxnreg: sm_90a alone
  bool has_tma = false;         // bulk tensor copies and mbarrier transactions
  bool has_pdl = false;         // griddepcontrol: CudaLaunch::waits
  int shared_bytes = 101'376;   // dynamic shared memory that a CTA may have
  int threads_per_sm = 1'536;   // resident
  std::string_view gemm_class;  // of products of f16 and bf16: "wgmma.k16" or "mma.k16"

  // Targets: cuda.sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_120. Errors: kInvalidArgument.
  static Result<CudaTarget> of(std::string_view name);
};

}  // namespace edge_infer::cuda
