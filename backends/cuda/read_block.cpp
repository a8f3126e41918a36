#include "backends/cuda/read_block.h"

#include <algorithm>

#include "backends/cuda/device.h"
#include "runtime/base/log.h"

namespace edge_infer::cuda {
namespace {

constexpr size_t kMostBlocks = 64;

constexpr const char* kText = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 from, .param .u64 to, .param .u32 chunks) {
  .reg .pred %done;
  .reg .b32 %index, %threads, %ctas, %thread, %count, %a, %b, %c, %d;
  .reg .b64 %source, %target, %offset, %at;
  mov.u32 %index, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %ctas, %nctaid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.u32 %index, %index, %threads, %thread;
  mul.lo.u32 %threads, %threads, %ctas;
  ld.param.u64 %source, [from];
  ld.param.u64 %target, [to];
  ld.param.u32 %count, [chunks];
  cvta.to.global.u64 %source, %source;
  cvta.to.global.u64 %target, %target;
again:
  setp.ge.u32 %done, %index, %count;
  @%done bra end;
  mul.wide.u32 %offset, %index, 16;
  add.u64 %at, %source, %offset;
  ld.global.v4.u32 {%a, %b, %c, %d}, [%at];
  add.u64 %at, %target, %offset;
  st.global.v4.u32 [%at], {%a, %b, %c, %d};
  add.u32 %index, %index, %threads;
  bra again;
end:
  ret;
}
)";

}  // namespace

const CudaKernel* read_block_kernel(const CudaDevice& device) {
  const CudaLaunch launch{.threads = 256, .waits = false};
  if (const Status loaded = device.load_text(kReadBlockName, kText, launch); !loaded) {
    log_info("blocks are copied by the stream: {}", loaded.error().message);
    return nullptr;
  }
  return device.find_kernel(kReadBlockName);
}

unsigned read_block_grid(size_t chunks, const CudaLaunch& launch) {
  const auto threads = static_cast<size_t>(launch.threads);
  return static_cast<unsigned>(std::clamp<size_t>((chunks + threads - 1) / threads, 1, kMostBlocks));
}

}  // namespace edge_infer::cuda
