// Types and constants of the CUDA driver API that this project uses, so that building needs no CUDA package.
// Layouts and values are those of cuda.h; tests/unit/cuda_device compares them where a toolkit is installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace edge_infer::cuda {

using DriverCode = int;  // CUresult
using DeviceOrdinal = int;
using DeviceAddress = unsigned long long;
using ContextHandle = struct ContextTag*;
using StreamHandle = struct StreamTag*;
using EventHandle = struct EventTag*;
using LibraryHandle = struct LibraryTag*;
using KernelHandle = struct KernelTag*;
using FunctionHandle = struct FunctionTag*;
using GraphHandle = struct GraphTag*;
using GraphNodeHandle = struct GraphNodeTag*;
using GraphExecHandle = struct GraphExecTag*;

namespace driver_code {
inline constexpr DriverCode kSuccess = 0;
inline constexpr DriverCode kInvalidValue = 1;
inline constexpr DriverCode kOutOfMemory = 2;
inline constexpr DriverCode kDeinitialized = 4;
inline constexpr DriverCode kDeviceUnavailable = 46;
inline constexpr DriverCode kNoDevice = 100;
inline constexpr DriverCode kInvalidImage = 200;
inline constexpr DriverCode kNoBinaryForGpu = 209;
inline constexpr DriverCode kEccUncorrectable = 214;
inline constexpr DriverCode kNvlinkUncorrectable = 220;
inline constexpr DriverCode kContained = 226;
inline constexpr DriverCode kNotFound = 500;
inline constexpr DriverCode kNotReady = 600;
inline constexpr DriverCode kIllegalAddress = 700;
inline constexpr DriverCode kLaunchTimeout = 702;
inline constexpr DriverCode kContextIsDestroyed = 709;
inline constexpr DriverCode kAssert = 710;
inline constexpr DriverCode kHardwareStackError = 714;
inline constexpr DriverCode kLaunchFailed = 719;
inline constexpr DriverCode kTensorMemoryLeak = 721;
inline constexpr DriverCode kUnknown = 999;
}  // namespace driver_code

enum class DeviceAttribute : int {
  kClockKilohertz = 13,
  kMultiprocessorCount = 16,
  kCanMapHostMemory = 19,
  kMemoryClockKilohertz = 36,
  kMemoryBusBits = 37,
  kL2CacheBytes = 38,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedBytesPerBlock = 97,  // with the opt-in
};

enum class FunctionAttribute : int {
  kMaxThreadsPerBlock = 0,
  kMaxDynamicSharedBytes = 8,
  kNonPortableClusterAllowed = 14,
};

inline constexpr unsigned kHostAllocPortable = 1, kHostAllocDeviceMap = 2;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventBlockingSync = 1, kEventDisableTiming = 2;

struct DeviceUuid {
  unsigned char bytes[16];
};

// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelNodeParams {
  FunctionHandle function = nullptr;
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned shared_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
  KernelHandle kernel = nullptr;
  ContextHandle context = nullptr;
};

enum class LaunchAttributeId : int { kClusterDimension = 4, kProgrammaticStreamSerialization = 6 };

// CUlaunchAttributeValue
union LaunchAttributeValue {
  char pad[64];
  struct {
    unsigned x, y, z;
  } cluster;
  int programmatic_stream_serialization;
};

// CUlaunchAttribute
struct LaunchAttribute {
  LaunchAttributeId id;
  char pad[4];
  LaunchAttributeValue value;
};

// CUlaunchConfig
struct LaunchConfig {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned shared_bytes = 0;
  StreamHandle stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

// CUgraphEdgeData
struct GraphEdgeData {
  unsigned char from_port = 0, to_port = 0, type = 0;
  unsigned char reserved[5] = {};
};
inline constexpr unsigned char kPortProgrammatic = 1, kDependencyProgrammatic = 1;

// CUtensorMap
struct alignas(128) EncodedTensorMap {
  uint64_t opaque[16] = {};
};

namespace tensor_map {
inline constexpr int kFloat16 = 6, kFloat32 = 7, kBFloat16 = 9;  // CUtensorMapDataType
inline constexpr int kSwizzleNone = 0, kSwizzle32 = 1, kSwizzle64 = 2, kSwizzle128 = 3;
inline constexpr int kL2Promotion128 = 2, kL2Promotion256 = 3;
}  // namespace tensor_map

}  // namespace edge_infer::cuda
