#include "backends/cuda/upload_constants.h"

#include <algorithm>

#include "backends/cuda/constant_memory.h"
#include "runtime/device/executable.h"

namespace edge_infer::cuda {
namespace {

constexpr size_t kAlignment = 256;

// Constants that one memory is made for.
struct Missing {
  struct Item {
    size_t constant, offset, bytes;
    const void* data;
  };
  std::vector<Item> items;
  size_t total = 0;
  void add(size_t constant, size_t bytes, const void* data) {
    items.push_back({constant, total, bytes, data});
    total += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
};

Result<size_t> bytes_of(const ConstantDecl& c, const CudaDevice& device) {
  int64_t elements = 1;
  for (const int64_t size : c.sizes) elements *= size;
  if (c.format == "raw") return static_cast<size_t>(elements * dtype_size(c.dtype));
  const int64_t n = c.sizes.empty() ? 1 : c.sizes.front();
  return device.packed_bytes(c.format, n, n == 0 ? 0 : elements / n);
}

}  // namespace

Status PlacedConstants::wait() const {
  for (const auto& memory : held) EDGE_INFER_RETURN_IF_ERROR(memory->wait());
  return {};
}

Result<PlacedConstants> place_constants(const std::shared_ptr<const CudaDevice>& shared_device,
                                        std::string_view program, std::span<const ConstantDecl> decls,
                                        ConstantSource& source, ConstantKinds kinds) {
  const CudaDevice& device = *shared_device;
  EDGE_INFER_RETURN_IF_ERROR(device.usable());
  EDGE_INFER_RETURN_IF_ERROR(source.prepare(decls, device));
  PlacedConstants placed;
  ConstantTable& table = device.constants();
  const std::lock_guard lock(table.mutex);
  std::erase_if(table.places, [](const auto& item) { return item.second.memory.expired(); });
  Missing weights, literals;
  placed.addresses.resize(decls.size());
  for (size_t i = 0; i < decls.size(); ++i) {
    const bool shared = decls[i].literal.empty();
    if (!shared && kinds == ConstantKinds::kShared) continue;
    EDGE_INFER_ASSIGN(const size_t bytes, bytes_of(decls[i], device));
    placed.bytes += bytes;
    if (!shared) {
      literals.add(i, bytes, decls[i].literal.data());
      continue;
    }
    EDGE_INFER_ASSIGN(const void* data, source.locate(decls[i], device));
    if (const auto known = table.places.find(data); known != table.places.end())
      if (auto memory = known->second.memory.lock(); memory != nullptr && known->second.bytes == bytes) {
        placed.addresses[i] = known->second.address;
        if (std::ranges::find(placed.held, memory) == placed.held.end())
          placed.held.push_back(std::move(memory));
        continue;
      }
    const auto twice = std::ranges::find(weights.items, data, &Missing::Item::data);
    if (twice != weights.items.end() && twice->bytes == bytes)
      weights.items.push_back({i, twice->offset, 0, data});
    else
      weights.add(i, bytes, data);
  }
  for (const Missing* missing : {&weights, &literals}) {
    if (missing->items.empty()) continue;
    EDGE_INFER_ASSIGN(DeviceBuffer buffer, device.allocate(std::max(missing->total, kAlignment),
                                                           fmt::format("the weights of \"{}\"", program),
                                                           CudaDevice::Scarcity::kReclaim));
    std::vector<CopyItem> copies;
    for (const Missing::Item& m : missing->items)
      if (m.bytes > 0) copies.push_back({m.data, m.offset, m.bytes});
    const auto memory = ConstantMemory::upload(shared_device, std::move(buffer), std::move(copies));
    for (const Missing::Item& m : missing->items) {
      placed.addresses[m.constant] = memory->address() + m.offset;
      if (missing == &weights && m.bytes > 0)
        table.places[m.data] = {memory->address() + m.offset, m.bytes, memory};
    }
    // Literals go with their program, which this memory may outlive.
    if (missing == &literals) EDGE_INFER_RETURN_IF_ERROR(memory->wait());
    device.start_times().add_upload(missing->total);
    placed.held.push_back(memory);
  }
  return placed;
}

}  // namespace edge_infer::cuda
