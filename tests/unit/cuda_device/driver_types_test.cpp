// Our declarations against those of the CUDA toolkit, where one is installed.
#include <gtest/gtest.h>

#if EDGE_INFER_HAVE_CUDA_H
#include <cuda.h>
#include <cudaTypedefs.h>
#endif

#include "backends/cuda/driver/driver.h"

namespace edge_infer::cuda {
namespace {

#if EDGE_INFER_HAVE_CUDA_H

// Parameters pass alike: as many, each as large, pointers where there are pointers.
template <typename Ours, typename Theirs>
constexpr bool same_parameter() {
  return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs) &&
         std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;
}
template <typename Ours, typename Theirs>
struct SameSignature : std::false_type {};
template <typename... Ours, typename Result, typename... Theirs>
  requires(sizeof...(Ours) == sizeof...(Theirs))
struct SameSignature<DriverCode (*)(Ours...), Result (*)(Theirs...)>
    : std::bool_constant<(same_parameter<Ours, Theirs>() && ...)> {};

#define SAME_SIGNATURE(member, name, version, parameters) \
  static_assert(SameSignature<decltype(Driver::member), PFN_##name##_v##version>::value, #name);
EDGE_INFER_CUDA_REQUIRED(SAME_SIGNATURE)
EDGE_INFER_CUDA_OPTIONAL(SAME_SIGNATURE)
#undef SAME_SIGNATURE

static_assert(sizeof(KernelNodeParams) == sizeof(CUDA_KERNEL_NODE_PARAMS_v2));
static_assert(offsetof(KernelNodeParams, parameters) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, kernelParams));
static_assert(offsetof(KernelNodeParams, context) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, ctx));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(GraphEdgeData) == sizeof(CUgraphEdgeData));
static_assert(offsetof(GraphEdgeData, type) == offsetof(CUgraphEdgeData, type));
static_assert(sizeof(EncodedTensorMap) == sizeof(CUtensorMap) &&
              alignof(EncodedTensorMap) == alignof(CUtensorMap));
static_assert(sizeof(DeviceUuid) == sizeof(CUuuid));
static_assert(kPortProgrammatic == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
static_assert(kDependencyProgrammatic == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
static_assert(kHostAllocPortable == CU_MEMHOSTALLOC_PORTABLE &&
              kHostAllocDeviceMap == CU_MEMHOSTALLOC_DEVICEMAP);
static_assert(kStreamNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(kEventBlockingSync == CU_EVENT_BLOCKING_SYNC && kEventDisableTiming == CU_EVENT_DISABLE_TIMING);

template <auto Ours, auto Theirs>
constexpr bool kSame = static_cast<int>(Ours) == static_cast<int>(Theirs);
static_assert(kSame<LaunchAttributeId::kClusterDimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION>);
static_assert(kSame<LaunchAttributeId::kProgrammaticStreamSerialization,
                    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION>);
static_assert(kSame<DeviceAttribute::kClockKilohertz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE>);
static_assert(kSame<DeviceAttribute::kMemoryClockKilohertz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE>);
static_assert(kSame<DeviceAttribute::kMemoryBusBits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH>);
static_assert(kSame<DeviceAttribute::kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT>);
static_assert(kSame<DeviceAttribute::kCanMapHostMemory, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY>);
static_assert(kSame<DeviceAttribute::kL2CacheBytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE>);
static_assert(kSame<DeviceAttribute::kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR>);
static_assert(kSame<DeviceAttribute::kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR>);
static_assert(
    kSame<DeviceAttribute::kMaxSharedBytesPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN>);
static_assert(kSame<FunctionAttribute::kMaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK>);
static_assert(
    kSame<FunctionAttribute::kMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES>);
static_assert(kSame<FunctionAttribute::kNonPortableClusterAllowed,
                    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED>);
static_assert(kSame<driver_code::kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY>);
static_assert(kSame<driver_code::kDeinitialized, CUDA_ERROR_DEINITIALIZED>);
static_assert(kSame<driver_code::kDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE>);
static_assert(kSame<driver_code::kNoDevice, CUDA_ERROR_NO_DEVICE>);
static_assert(kSame<driver_code::kInvalidImage, CUDA_ERROR_INVALID_IMAGE>);
static_assert(kSame<driver_code::kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU>);
static_assert(kSame<driver_code::kEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE>);
static_assert(kSame<driver_code::kNvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE>);
static_assert(kSame<driver_code::kContained, CUDA_ERROR_CONTAINED>);
static_assert(kSame<driver_code::kNotFound, CUDA_ERROR_NOT_FOUND>);
static_assert(kSame<driver_code::kNotReady, CUDA_ERROR_NOT_READY>);
static_assert(kSame<driver_code::kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS>);
static_assert(kSame<driver_code::kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT>);
static_assert(kSame<driver_code::kContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED>);
static_assert(kSame<driver_code::kAssert, CUDA_ERROR_ASSERT>);
static_assert(kSame<driver_code::kHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR>);
static_assert(kSame<driver_code::kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED>);
static_assert(kSame<driver_code::kTensorMemoryLeak, CUDA_ERROR_TENSOR_MEMORY_LEAK>);
static_assert(kSame<driver_code::kUnknown, CUDA_ERROR_UNKNOWN>);
static_assert(kSame<tensor_map::kFloat16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16>);
static_assert(kSame<tensor_map::kFloat32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32>);
static_assert(kSame<tensor_map::kBFloat16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16>);
static_assert(kSame<tensor_map::kSwizzle32, CU_TENSOR_MAP_SWIZZLE_32B>);
static_assert(kSame<tensor_map::kSwizzle64, CU_TENSOR_MAP_SWIZZLE_64B>);
static_assert(kSame<tensor_map::kSwizzle128, CU_TENSOR_MAP_SWIZZLE_128B>);
static_assert(kSame<tensor_map::kL2Promotion256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B>);
static_assert(kSame<tensor_map::kL2Promotion128, CU_TENSOR_MAP_L2_PROMOTION_L2_128B>);

#endif

TEST(DriverTypes, errors_after_which_nothing_works_are_told_from_others) {
  for (const DriverCode code : {driver_code::kIllegalAddress, driver_code::kLaunchFailed, 716, 718,
                                driver_code::kEccUncorrectable, driver_code::kUnknown})
    EXPECT_TRUE(is_sticky(code)) << code;
  for (const DriverCode code : {driver_code::kSuccess, driver_code::kInvalidValue, driver_code::kOutOfMemory,
                                driver_code::kNotReady, driver_code::kNoBinaryForGpu, 701, 720, 912})
    EXPECT_FALSE(is_sticky(code)) << code;
}

}  // namespace
}  // namespace edge_infer::cuda
