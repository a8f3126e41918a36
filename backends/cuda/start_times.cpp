#include "backends/cuda/start_times.h"

#include <fmt/format.h>

namespace edge_infer::cuda {

std::string StartTimes::text(size_t kernels) const {
  return fmt::format(
      "context {:.1f} ms, {} kernels {:.1f} ms, weights {:.1f} MB in {:.1f} ms of which {:.1f} ms were "
      "waited "
      "for, graphs {:.1f} ms",
      milliseconds(kContext), kernels, milliseconds(kModules),
      static_cast<double>(upload_bytes_.load()) / 1e6, milliseconds(kUpload), milliseconds(kWait),
      milliseconds(kGraphs));
}

}  // namespace edge_infer::cuda
