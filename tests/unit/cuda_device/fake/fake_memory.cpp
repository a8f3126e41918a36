#include <cstdlib>
#include <cstring>

#include "tests/unit/cuda_device/fake/fake_cuda.h"

namespace edge_infer::cuda::fake {
namespace {

constexpr size_t kAlignment = 256;

void* get(size_t bytes) {
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, rounded);
  if (memory != nullptr) std::memset(memory, state().poison, rounded);
  return memory;
}

template <typename Key>
bool covers(const std::map<Key, size_t>& memory, uint64_t address, size_t bytes) {
  for (const auto& [begin, size] : memory) {
    const auto first = (uint64_t)begin;
    if (address >= first && address + bytes <= first + size) return true;
  }
  return false;
}

}  // namespace

DriverCode allocate_device(DeviceAddress* address, size_t bytes) {
  State& s = state();
  ++s.allocations;
  if (s.fail_allocation > 0 && --s.fail_allocation == 0) return driver_code::kOutOfMemory;
  if (bytes == 0) return driver_code::kInvalidValue;
  if (s.device_bytes + bytes > s.memory_bytes) return driver_code::kOutOfMemory;
  void* memory = get(bytes);
  if (memory == nullptr) return driver_code::kOutOfMemory;
  *address = reinterpret_cast<DeviceAddress>(memory);
  s.device_memory[*address] = bytes;
  s.device_bytes += bytes;
  s.peak_bytes = std::max(s.peak_bytes, s.device_bytes);
  return driver_code::kSuccess;
}

DriverCode free_device(DeviceAddress address) {
  State& s = state();
  const auto found = s.device_memory.find(address);
  if (found == s.device_memory.end()) return driver_code::kInvalidValue;
  s.device_bytes -= found->second;
  s.device_memory.erase(found);
  std::free(reinterpret_cast<void*>(address));
  return driver_code::kSuccess;
}

DriverCode allocate_host(void** memory, size_t bytes) {
  if (state().pinned_bytes + bytes > state().pinned_limit) return driver_code::kOutOfMemory;
  *memory = get(bytes);
  state().pinned_bytes += bytes;
  state().host_memory[*memory] = bytes;
  return driver_code::kSuccess;
}

DriverCode free_host(void* memory) {
  const auto found = state().host_memory.find(memory);
  if (found == state().host_memory.end()) return driver_code::kInvalidValue;
  // The device may still read it.
  for (const State::AsyncCopy& copy : state().on_the_way) {
    const auto* from = static_cast<const std::byte*>(copy.from);
    const auto* begin = static_cast<const std::byte*>(memory);
    if (from >= begin && from < begin + found->second) return driver_code::kInvalidValue;
  }
  state().pinned_bytes -= found->second;
  state().host_memory.erase(found);
  std::free(memory);
  return driver_code::kSuccess;
}

bool is_live(DeviceAddress address, size_t bytes) {
  return covers(state().device_memory, address, bytes) || covers(state().host_memory, address, bytes);
}

}  // namespace edge_infer::cuda::fake
