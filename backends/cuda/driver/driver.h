// Driver: the CUDA driver of this machine as a table of functions, found at run time.
#pragma once

#include <memory>
#include <string>

#include "backends/cuda/driver/driver_types.h"
#include "runtime/base/error.h"

namespace edge_infer::cuda {

// X(member, name in the driver, version of the API that gave the function this signature, parameters).
// The names may be macros of cuda.h, so that they are only ever quoted or pasted.
// The required ones are those of CUDA 12.0.
#define EDGE_INFER_CUDA_REQUIRED(X)                                                                          \
  X(init, cuInit, 2000, (unsigned flags))                                                                    \
  X(get_error_name, cuGetErrorName, 6000, (DriverCode code, const char** text))                              \
  X(get_error_string, cuGetErrorString, 6000, (DriverCode code, const char** text))                          \
  X(device_get_count, cuDeviceGetCount, 2000, (int* count))                                                  \
  X(device_get, cuDeviceGet, 2000, (DeviceOrdinal * device, int index))                                      \
  X(device_get_name, cuDeviceGetName, 2000, (char* name, int length, DeviceOrdinal device))                  \
  X(device_get_uuid, cuDeviceGetUuid, 11040, (DeviceUuid * uuid, DeviceOrdinal device))                      \
  X(device_total_mem, cuDeviceTotalMem, 3020, (size_t* bytes, DeviceOrdinal device))                         \
  X(device_get_attribute, cuDeviceGetAttribute, 2000,                                                        \
    (int* value, DeviceAttribute attribute, DeviceOrdinal device))                                           \
  X(primary_context_retain, cuDevicePrimaryCtxRetain, 7000, (ContextHandle * context, DeviceOrdinal device)) \
  X(primary_context_release, cuDevicePrimaryCtxRelease, 11000, (DeviceOrdinal device))                       \
  X(context_push, cuCtxPushCurrent, 4000, (ContextHandle context))                                           \
  X(context_pop, cuCtxPopCurrent, 4000, (ContextHandle * context))                                           \
  X(mem_get_info, cuMemGetInfo, 3020, (size_t* free, size_t* total))                                         \
  X(mem_alloc, cuMemAlloc, 3020, (DeviceAddress * address, size_t bytes))                                    \
  X(mem_free, cuMemFree, 3020, (DeviceAddress address))                                                      \
  X(mem_host_alloc, cuMemHostAlloc, 2020, (void** memory, size_t bytes, unsigned flags))                     \
  X(mem_free_host, cuMemFreeHost, 2000, (void* memory))                                                      \
  X(mem_host_get_device_pointer, cuMemHostGetDevicePointer, 3020,                                            \
    (DeviceAddress * address, void* memory, unsigned flags))                                                 \
  X(copy_to_device, cuMemcpyHtoD, 3020, (DeviceAddress to, const void* from, size_t bytes))                  \
  X(copy_to_host, cuMemcpyDtoH, 3020, (void* to, DeviceAddress from, size_t bytes))                          \
  X(copy_to_device_async, cuMemcpyHtoDAsync, 3020,                                                           \
    (DeviceAddress to, const void* from, size_t bytes, StreamHandle stream))                                 \
  X(copy_to_host_async, cuMemcpyDtoHAsync, 3020,                                                             \
    (void* to, DeviceAddress from, size_t bytes, StreamHandle stream))                                       \
  X(stream_create, cuStreamCreate, 2000, (StreamHandle * stream, unsigned flags))                            \
  X(stream_destroy, cuStreamDestroy, 4000, (StreamHandle stream))                                            \
  X(stream_synchronize, cuStreamSynchronize, 2000, (StreamHandle stream))                                    \
  X(event_create, cuEventCreate, 2000, (EventHandle * event, unsigned flags))                                \
  X(event_destroy, cuEventDestroy, 4000, (EventHandle event))                                                \
  X(event_record, cuEventRecord, 2000, (EventHandle event, StreamHandle stream))                             \
  X(event_query, cuEventQuery, 2000, (EventHandle event))                                                    \
  X(event_synchronize, cuEventSynchronize, 2000, (EventHandle event))                                        \
  X(event_elapsed_time, cuEventElapsedTime, 2000, (float* milliseconds, EventHandle begin, EventHandle end)) \
  X(library_load_data, cuLibraryLoadData, 12000,                                                             \
    (LibraryHandle * library, const void* code, int* jit_options, void** jit_values, unsigned jit_count,     \
     int* options, void** values, unsigned count))                                                           \
  X(library_unload, cuLibraryUnload, 12000, (LibraryHandle library))                                         \
  X(library_get_kernel, cuLibraryGetKernel, 12000,                                                           \
    (KernelHandle * kernel, LibraryHandle library, const char* name))                                        \
  X(kernel_get_function, cuKernelGetFunction, 12000, (FunctionHandle * function, KernelHandle kernel))       \
  X(function_set_attribute, cuFuncSetAttribute, 9000,                                                        \
    (FunctionHandle function, FunctionAttribute attribute, int value))                                       \
  X(function_get_attribute, cuFuncGetAttribute, 2020,                                                        \
    (int* value, FunctionAttribute attribute, FunctionHandle function))                                      \
  X(launch_kernel, cuLaunchKernelEx, 11060,                                                                  \
    (const LaunchConfig* config, FunctionHandle function, void** parameters, void** extra))                  \
  X(graph_create, cuGraphCreate, 10000, (GraphHandle * graph, unsigned flags))                               \
  X(graph_destroy, cuGraphDestroy, 10000, (GraphHandle graph))                                               \
  X(graph_add_kernel_node, cuGraphAddKernelNode, 12000,                                                      \
    (GraphNodeHandle * node, GraphHandle graph, const GraphNodeHandle* dependencies, size_t count,           \
     const KernelNodeParams* params))                                                                        \
  X(graph_set_node_attribute, cuGraphKernelNodeSetAttribute, 11000,                                          \
    (GraphNodeHandle node, LaunchAttributeId attribute, const LaunchAttributeValue* value))                  \
  X(graph_instantiate, cuGraphInstantiateWithFlags, 11040,                                                   \
    (GraphExecHandle * exec, GraphHandle graph, unsigned long long flags))                                   \
  X(graph_exec_destroy, cuGraphExecDestroy, 10000, (GraphExecHandle exec))                                   \
  X(graph_upload, cuGraphUpload, 11010, (GraphExecHandle exec, StreamHandle stream))                         \
  X(graph_launch, cuGraphLaunch, 10000, (GraphExecHandle exec, StreamHandle stream))                         \
  X(tensor_map_encode, cuTensorMapEncodeTiled, 12000,                                                        \
    (EncodedTensorMap * map, int type, uint32_t rank, void* address, const uint64_t* sizes,                  \
     const uint64_t* strides, const uint32_t* box, const uint32_t* element_strides, int interleave,          \
     int swizzle, int l2_promotion, int out_of_bounds))

// Null where the driver is older than the version.
#define EDGE_INFER_CUDA_OPTIONAL(X)                                                                         \
  X(function_load, cuFuncLoad, 12040, (FunctionHandle function))                                            \
  X(graph_add_dependencies, cuGraphAddDependencies, 12030,                                                  \
    (GraphHandle graph, const GraphNodeHandle* from, const GraphNodeHandle* to, const GraphEdgeData* edges, \
     size_t count))

// Immutable; the driver's functions are thread-safe. They work on the calling thread's current context.
struct Driver {
#define EDGE_INFER_CUDA_MEMBER(member, name, version, parameters) DriverCode(*member) parameters = nullptr;
  EDGE_INFER_CUDA_REQUIRED(EDGE_INFER_CUDA_MEMBER)
  EDGE_INFER_CUDA_OPTIONAL(EDGE_INFER_CUDA_MEMBER)
#undef EDGE_INFER_CUDA_MEMBER
  int version = 0;  // 1000 * major + 10 * minor of the CUDA version that it serves

  static constexpr int kOldestVersion = 12'000;

  // Loads libcuda.so.1, or the file that $EDGE_INFER_LIBCUDA names (full path), and initializes it; the
  // library stays loaded. Errors: kUnsupported "no CUDA device: ..." when there is no driver, it is too old,
  // lacks a function or finds no device.
  static Result<std::shared_ptr<const Driver>> open();

  // "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  std::string describe(DriverCode code) const;
};

// The context spoils: no call on it will succeed any more.
bool is_sticky(DriverCode code);

}  // namespace edge_infer::cuda
