#include "runtime/device/device.h"

#include "runtime/base/cpu.h"
#include "runtime/device/measure.h"

namespace edge_infer {

std::string Device::measured_on() const {
  return fmt::format("cpu={};isa={}", cpu_name(), best_isa());
}

Result<std::shared_ptr<const void>> Device::prefetch(const Program&, ConstantSource&) const {
  return std::shared_ptr<const void>();
}

Result<std::vector<LoadedKernel>> Device::load_code(std::span<const NamedBlob>) const {
  return fail(ErrorCode::kUnsupported, "{} runs no compiled kernels", target().name);
}

Result<LoadedKernel> Device::load_code(std::string_view name, const KernelBlob& blob) const {
  const NamedBlob named{name, &blob};
  EDGE_INFER_ASSIGN(const std::vector<LoadedKernel> loaded, load_code({&named, 1}));
  return loaded.front();
}

Result<std::vector<Measurement>> Device::measure(const MeasuredCall& call,
                                                 std::span<const std::string> kernels,
                                                 const MeasureOptions& options) const {
  return measure_on_host(*this, call, kernels, options);
}

}  // namespace edge_infer
