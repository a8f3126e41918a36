#include "backends/cuda/upload_constants.h"

#include <algorithm>

#include "backends/cuda/plan.h"

namespace edge_infer::cuda {
namespace {

constexpr size_t kAlignment = 256;

struct Missing {
  size_t constant, offset, bytes;
  const void* data;
  bool shared;
};

Result<size_t> bytes_of(const ConstantDecl& c, const CudaDevice& device) {
  int64_t elements = 1;
  for (const int64_t size : c.sizes) elements *= size;
  if (c.format == "raw") return static_cast<size_t>(elements * dtype_size(c.dtype));
  const int64_t n = c.sizes.empty() ? 1 : c.sizes.front();
  return device.packed_bytes(c.format, n, n == 0 ? 0 : elements / n);
}

}  // namespace

Status upload_constants(CudaPlan& plan, ConstantSource& source) {
  const CudaDevice& device = *plan.device;
  const std::vector<ConstantDecl>& decls = plan.program.constants;
  EDGE_INFER_RETURN_IF_ERROR(source.prepare(decls, device));
  ConstantTable& table = device.constants();
  const std::lock_guard lock(table.mutex);
  std::erase_if(table.places, [](const auto& item) { return item.second.memory.expired(); });
  std::vector<Missing> missing;
  plan.constants.resize(decls.size());
  size_t total = 0;
  for (size_t i = 0; i < decls.size(); ++i) {
    EDGE_INFER_ASSIGN(const size_t bytes, bytes_of(decls[i], device));
    plan.constant_bytes += bytes;
    const bool shared = decls[i].literal.empty();
    const void* data = decls[i].literal.data();
    if (shared) {
      EDGE_INFER_ASSIGN(data, source.locate(decls[i], device));
      if (const auto known = table.places.find(data); known != table.places.end())
        if (auto memory = known->second.memory.lock(); memory != nullptr && known->second.bytes == bytes) {
          plan.constants[i] = known->second.address;
          if (std::ranges::find(plan.held, memory) == plan.held.end()) plan.held.push_back(std::move(memory));
          continue;
        }
      const auto twice = std::ranges::find(missing, data, &Missing::data);
      if (twice != missing.end() && twice->bytes == bytes) {
        missing.push_back({i, twice->offset, 0, data, false});
        continue;
      }
    }
    missing.push_back({i, total, bytes, data, shared});
    total += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  if (missing.empty()) return {};
  EDGE_INFER_ASSIGN(
      DeviceBuffer buffer,
      device.allocate(std::max(total, kAlignment), fmt::format("the weights of \"{}\"", plan.program.name)));
  const auto memory = std::make_shared<const DeviceBuffer>(std::move(buffer));
  const CurrentContext current(device);
  for (const Missing& m : missing) {
    const DeviceAddress address = memory->address() + m.offset;
    plan.constants[m.constant] = address;
    if (m.bytes == 0) continue;
    EDGE_INFER_RETURN_IF_ERROR(
        device.check(device.driver().copy_to_device(address, m.data, m.bytes), "upload weights"));
    if (m.shared) table.places[m.data] = {address, m.bytes, memory};
  }
  // A copy from pageable memory may return before its last bytes have arrived, and the programs' streams do
  // not wait for the default one.
  EDGE_INFER_RETURN_IF_ERROR(device.check(device.driver().stream_synchronize(nullptr), "upload weights"));
  plan.held.push_back(memory);
  return {};
}

}  // namespace edge_infer::cuda
