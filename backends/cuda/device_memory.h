// Owned memory of a CUDA device, and of the host where the device reads and writes it directly.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "backends/cuda/driver/driver_types.h"

namespace edge_infer::cuda {

class CudaDevice;

// Device memory, 256-byte aligned. Made by CudaDevice::allocate, which outlives it. No kernel that uses it
// may be running when it is destroyed.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(const CudaDevice* device, DeviceAddress address, size_t bytes)
      : device_(device), address_(address), bytes_(bytes) {}
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    DeviceBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~DeviceBuffer();

  DeviceAddress address() const { return address_; }
  size_t bytes() const { return bytes_; }

 private:
  void swap(DeviceBuffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
  }
  const CudaDevice* device_ = nullptr;
  DeviceAddress address_ = 0;
  size_t bytes_ = 0;
};

// Page-locked host memory that the device sees at device_address(). Made by CudaDevice::allocate_pinned.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  PinnedBuffer(const CudaDevice* device, std::byte* data, DeviceAddress device_address, size_t bytes)
      : device_(device), data_(data), device_address_(device_address), bytes_(bytes) {}
  PinnedBuffer(PinnedBuffer&& other) noexcept { swap(other); }
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    PinnedBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~PinnedBuffer();

  std::byte* data() const { return data_; }
  DeviceAddress device_address() const { return device_address_; }
  size_t bytes() const { return bytes_; }

 private:
  void swap(PinnedBuffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(device_address_, other.device_address_);
    std::swap(bytes_, other.bytes_);
  }
  const CudaDevice* device_ = nullptr;
  std::byte* data_ = nullptr;
  DeviceAddress device_address_ = 0;
  size_t bytes_ = 0;
};

}  // namespace edge_infer::cuda
