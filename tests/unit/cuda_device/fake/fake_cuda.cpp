// The driver's functions. Kernels run when they are launched, so streams and events hold nothing.
#include "tests/unit/cuda_device/fake/fake_cuda.h"

#include <algorithm>
#include <memory>

#include "backends/cuda/driver/driver.h"

namespace edge_infer::cuda::fake {

struct Function {
  std::string name;
  Kernel kernel;
};
struct Node {
  Graph* graph;
  size_t index;
};
struct Event {
  unsigned flags = 0;
  int queries = 0;
  double time = 0;
  StreamHandle stream = nullptr;
  uint64_t recorded = 0;  // copies enqueued before it
};

}  // namespace edge_infer::cuda::fake

namespace edge_infer::cuda {
// What the handles stand for.
struct LibraryTag : fake::Function {};
struct GraphTag : fake::Graph {
  std::vector<std::unique_ptr<fake::Node>> handles;
};
struct GraphExecTag : fake::Graph {};
struct EventTag : fake::Event {};
}  // namespace edge_infer::cuda

namespace edge_infer::cuda::fake {

#define FAKE_EXPORT __attribute__((visibility("default")))

FAKE_EXPORT State& state() {
  static State s;
  return s;
}
FAKE_EXPORT std::recursive_mutex& lock() {
  static std::recursive_mutex mutex;
  return mutex;
}
FAKE_EXPORT void reset() {
  const std::lock_guard guard(lock());
  State fresh;
  // Memory that objects of an earlier test still hold stays known, so that they can free it.
  fresh.device_memory = state().device_memory;
  fresh.host_memory = state().host_memory;
  fresh.device_bytes = state().device_bytes;
  fresh.pinned_bytes = state().pinned_bytes;
  state() = std::move(fresh);
}

namespace {

constexpr DriverCode kOk = driver_code::kSuccess;
const Kernel kReadBlock = {{8, 8, 4},
                           [](const Launch& l) {
                             std::memcpy(l.pointer<std::byte>(1), l.pointer<std::byte>(0),
                                         size_t{16} * l.parameter<uint32_t>(2));
                           },
                           1024};

int context_marker = 0;
thread_local int pushed = 0;

template <typename Handle>
Handle handle_of(void* object) {
  return reinterpret_cast<Handle>(object);
}
Function* function_of(FunctionHandle handle) {
  return reinterpret_cast<Function*>(handle);
}

Launch record(Function& function, void** parameters) {
  Launch launch;
  launch.kernel = function.name;
  for (size_t i = 0; i < function.kernel.parameter_bytes.size(); ++i) {
    const auto* bytes = static_cast<const std::byte*>(parameters[i]);
    launch.parameters.emplace_back(bytes, bytes + function.kernel.parameter_bytes[i]);
  }
  return launch;
}

void execute(const Launch& launch) {
  state().launches.push_back(launch);
  if (launch.kernel == "read_block") return kReadBlock.body(launch);
  const auto kernel = state().kernels.find(launch.kernel);
  if (kernel == state().kernels.end()) return;
  state().clock += kernel->second.nanoseconds;
  if (kernel->second.body) kernel->second.body(launch);
}

DriverCode refusal(const Launch& launch) {
  const auto found = state().kernels.find(launch.kernel);
  return found == state().kernels.end() ? kOk : found->second.launch_code;
}

// Copies of the stream that are on their way arrive, those enqueued up to `last`.
void arrive(StreamHandle stream, uint64_t last = UINT64_MAX) {
  auto& copies = state().on_the_way;
  for (const State::AsyncCopy& copy : copies)
    if (copy.stream == stream && copy.number <= last)
      std::memcpy(reinterpret_cast<void*>(copy.to), copy.from, copy.bytes);
  std::erase_if(copies, [&](const auto& copy) { return copy.stream == stream && copy.number <= last; });
}

void trace(std::string line) {
  if (state().traces) state().trace.push_back(std::move(line));
}

// Hooks of a test run without the lock, so that they may wait for other threads.
template <typename... Args>
void call_hook(std::function<void(Args...)> State::* hook, Args... args) {
  std::function<void(Args...)> body;
  {
    const std::lock_guard guard(lock());
    body = state().*hook;
  }
  if (body) body(args...);
}

bool launch_fails() {
  State& s = state();
  if (s.fail_launch == 0 || --s.fail_launch != 0) return false;
  s.sticky = s.failure;
  return true;
}

// Functions that need a context do nothing without one, and nothing at all after a sticky error.
#define FAKE_LOCK const std::lock_guard guard(lock())
#define FAKE_ENTER                                  \
  FAKE_LOCK;                                        \
  if (state().sticky != kOk) return state().sticky; \
  if (pushed == 0) return 201 /* CUDA_ERROR_INVALID_CONTEXT */

}  // namespace

namespace impl {

DriverCode init(unsigned) {
  FAKE_LOCK;
  return state().init_code;
}
DriverCode get_error_name(DriverCode code, const char** text) {
  *text = code == driver_code::kOutOfMemory      ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == driver_code::kIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : code == driver_code::kNoDevice       ? "CUDA_ERROR_NO_DEVICE"
          : code == driver_code::kNoBinaryForGpu ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
          : code == driver_code::kInvalidValue   ? "CUDA_ERROR_INVALID_VALUE"
                                                 : nullptr;
  return *text == nullptr ? driver_code::kInvalidValue : kOk;
}
DriverCode get_error_string(DriverCode code, const char** text) {
  *text = code == driver_code::kOutOfMemory ? "out of memory" : "what the driver says";
  return kOk;
}
DriverCode device_get_count(int* count) {
  FAKE_LOCK;
  *count = state().devices;
  return kOk;
}
DriverCode device_get(DeviceOrdinal* device, int index) {
  FAKE_LOCK;
  *device = index;
  return index < state().devices ? kOk : 101;
}
DriverCode device_get_name(char* name, int length, DeviceOrdinal device) {
  std::strncpy(name, device == 0 ? "Fake GPU" : "Other fake GPU", static_cast<size_t>(length));
  return kOk;
}
DriverCode device_get_uuid(DeviceUuid* uuid, DeviceOrdinal device) {
  for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<unsigned char>(i + 16 * device);
  return kOk;
}
DriverCode device_total_mem(size_t* bytes, DeviceOrdinal) {
  FAKE_LOCK;
  *bytes = state().memory_bytes;
  return kOk;
}
DriverCode device_get_attribute(int* value, DeviceAttribute attribute, DeviceOrdinal) {
  switch (attribute) {
    case DeviceAttribute::kClockKilohertz:
      *value = 1'980'000;
      break;
    case DeviceAttribute::kMemoryClockKilohertz:
      *value = 3'201'000;
      break;
    case DeviceAttribute::kMemoryBusBits:
      *value = 6144;
      break;
    case DeviceAttribute::kMultiprocessorCount:
      *value = state().multiprocessors;
      break;
    case DeviceAttribute::kCanMapHostMemory:
      *value = 1;
      break;
    case DeviceAttribute::kL2CacheBytes:
      *value = static_cast<int>(state().l2_bytes);
      break;
    case DeviceAttribute::kComputeCapabilityMajor:
      *value = state().major;
      break;
    case DeviceAttribute::kComputeCapabilityMinor:
      *value = state().minor;
      break;
    case DeviceAttribute::kMaxSharedBytesPerBlock:
      *value = 232'448;
      break;
  }
  return kOk;
}
DriverCode primary_context_retain(ContextHandle* context, DeviceOrdinal) {
  FAKE_LOCK;
  ++state().contexts;
  *context = handle_of<ContextHandle>(&context_marker);
  return kOk;
}
DriverCode primary_context_release(DeviceOrdinal) {
  FAKE_LOCK;
  --state().contexts;
  return kOk;
}
DriverCode context_push(ContextHandle) {
  ++pushed;
  return kOk;
}
DriverCode context_pop(ContextHandle* context) {
  *context = handle_of<ContextHandle>(&context_marker);
  --pushed;
  return kOk;
}
DriverCode mem_get_info(size_t* free, size_t* total) {
  FAKE_LOCK;
  *total = state().memory_bytes;
  *free = state().memory_bytes - state().device_bytes;
  return kOk;
}
DriverCode mem_alloc(DeviceAddress* address, size_t bytes) {
  FAKE_ENTER;
  return allocate_device(address, bytes);
}
DriverCode mem_free(DeviceAddress address) {
  const std::lock_guard guard(lock());
  return free_device(address);
}
DriverCode mem_host_alloc(void** memory, size_t bytes, unsigned) {
  FAKE_ENTER;
  return allocate_host(memory, bytes);
}
DriverCode mem_free_host(void* memory) {
  const std::lock_guard guard(lock());
  return free_host(memory);
}
DriverCode mem_host_get_device_pointer(DeviceAddress* address, void* memory, unsigned) {
  FAKE_ENTER;
  *address = reinterpret_cast<DeviceAddress>(memory);
  return kOk;
}
DriverCode copy_to_device(DeviceAddress to, const void* from, size_t bytes) {
  FAKE_ENTER;
  if (!is_live(to, bytes)) return driver_code::kInvalidValue;
  ++state().uploads;
  const auto* begin = static_cast<const std::byte*>(from);
  state().pending.emplace_back([to, data = std::vector<std::byte>(begin, begin + bytes)] {
    std::memcpy(reinterpret_cast<void*>(to), data.data(), data.size());
  });
  return kOk;
}
DriverCode copy_to_host(void* to, DeviceAddress from, size_t bytes) {
  FAKE_ENTER;
  if (!is_live(from, bytes)) return driver_code::kInvalidValue;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return kOk;
}
DriverCode copy_to_device_async(DeviceAddress to, const void* from, size_t bytes, StreamHandle stream) {
  call_hook(&State::before_copy, bytes);
  FAKE_ENTER;
  State& s = state();
  if (!is_live(to, bytes) || !is_live(reinterpret_cast<DeviceAddress>(from), bytes))
    return driver_code::kInvalidValue;
  if (s.fail_copy > 0 && --s.fail_copy == 0) return s.copy_code;
  ++s.copies_to_device;
  s.on_the_way.push_back({stream, to, from, bytes, ++s.enqueued});
  trace("copy " + std::to_string(bytes));
  return kOk;
}
DriverCode copy_to_host_async(void* to, DeviceAddress from, size_t bytes, StreamHandle stream) {
  FAKE_ENTER;
  arrive(stream);
  if (!is_live(from, bytes)) return driver_code::kInvalidValue;
  ++state().copies_to_host;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return kOk;
}
DriverCode stream_create(StreamHandle* stream, unsigned) {
  FAKE_ENTER;
  ++state().streams;
  *stream = reinterpret_cast<StreamHandle>(++state().last_stream);
  return kOk;
}
DriverCode stream_destroy(StreamHandle) {
  FAKE_LOCK;
  --state().streams;
  return kOk;
}
DriverCode stream_synchronize(StreamHandle stream) {
  FAKE_ENTER;
  arrive(stream);
  trace("wait for the stream");
  if (stream == nullptr) {
    for (const auto& copy : state().pending) copy();
    state().pending.clear();
  }
  return kOk;
}
DriverCode event_create(EventHandle* event, unsigned flags) {
  FAKE_ENTER;
  ++state().events;
  *event = new EventTag;
  (*event)->flags = flags;
  return kOk;
}
DriverCode event_destroy(EventHandle event) {
  FAKE_LOCK;
  --state().events;
  delete event;
  return kOk;
}
DriverCode event_record(EventHandle event, StreamHandle stream) {
  FAKE_ENTER;
  event->queries = 0;
  event->time = state().clock;
  event->stream = stream;
  event->recorded = state().enqueued;
  trace("record " + std::to_string(state().enqueued));
  return kOk;
}
DriverCode event_query(EventHandle event) {
  FAKE_ENTER;
  if ((event->flags & kEventBlockingSync) != 0) ++state().waking_queries;
  if (event->queries++ < state().queries_until_ready) return driver_code::kNotReady;
  arrive(event->stream, event->recorded);
  return kOk;
}
DriverCode event_synchronize(EventHandle event) {
  FAKE_ENTER;
  if ((event->flags & kEventBlockingSync) != 0) ++state().sleeps;
  arrive(event->stream, event->recorded);
  trace("wait for " + std::to_string(event->recorded));
  return kOk;
}
DriverCode event_elapsed_time(float* milliseconds, EventHandle begin, EventHandle end) {
  *milliseconds = static_cast<float>((end->time - begin->time) / 1e6);
  return kOk;
}
DriverCode library_load_data(LibraryHandle* library, const void* code, int*, void**, unsigned, int*, void**,
                             unsigned) {
  call_hook(&State::before_load);
  FAKE_ENTER;
  const std::string text(static_cast<const char*>(code), ::strnlen(static_cast<const char*>(code), 64));
  auto made = std::make_unique<LibraryTag>();
  if (text.starts_with(".version")) {
    if (state().text_code != kOk) return state().text_code;
    made->name = "read_block";
    made->kernel = kReadBlock;
  } else {
    if (state().load_code != kOk) return state().load_code;
    const bool known = text.starts_with("FAKE ");
    if (!known && !state().takes_any_code) return driver_code::kInvalidImage;
    made->name = known ? text.substr(5) : "any code";
    const auto found = state().kernels.find(made->name);
    if (known && found == state().kernels.end()) return driver_code::kInvalidImage;
    if (known) made->kernel = found->second;
  }
  ++state().libraries;
  *library = made.release();
  return kOk;
}
DriverCode library_unload(LibraryHandle library) {
  const std::lock_guard guard(lock());
  --state().libraries;
  delete library;
  return kOk;
}
DriverCode library_get_kernel(KernelHandle* kernel, LibraryHandle library, const char* name) {
  FAKE_ENTER;
  *kernel = handle_of<KernelHandle>(static_cast<Function*>(library));
  return std::strcmp(name, "k") == 0 ? kOk : driver_code::kNotFound;
}
DriverCode kernel_get_function(FunctionHandle* function, KernelHandle kernel) {
  FAKE_ENTER;
  *function = handle_of<FunctionHandle>(kernel);
  return kOk;
}
DriverCode function_set_attribute(FunctionHandle function, FunctionAttribute attribute, int value) {
  FAKE_ENTER;
  if (attribute == FunctionAttribute::kMaxDynamicSharedBytes)
    state().max_shared[function_of(function)->name] = value;
  if (attribute == FunctionAttribute::kNonPortableClusterAllowed)
    state().non_portable.insert(function_of(function)->name);
  return kOk;
}
DriverCode function_get_attribute(int* value, FunctionAttribute, FunctionHandle function) {
  FAKE_ENTER;
  *value = function_of(function)->kernel.max_threads;
  return kOk;
}
DriverCode function_load(FunctionHandle) {
  FAKE_ENTER;
  ++state().function_loads;
  return kOk;
}
DriverCode launch_kernel(const LaunchConfig* config, FunctionHandle function, void** parameters, void**) {
  FAKE_ENTER;
  arrive(config->stream);
  if (launch_fails()) return state().sticky;
  Launch launch = record(*function_of(function), parameters);
  launch.grid = config->grid_x;
  launch.block = config->block_x;
  launch.shared_bytes = config->shared_bytes;
  for (unsigned i = 0; i < config->attribute_count; ++i) {
    const LaunchAttribute& a = config->attributes[i];
    if (a.id == LaunchAttributeId::kClusterDimension) launch.cluster = a.value.cluster.x;
    if (a.id == LaunchAttributeId::kProgrammaticStreamSerialization)
      launch.programmatic = a.value.programmatic_stream_serialization != 0;
  }
  if (const DriverCode code = refusal(launch)) return code;
  execute(launch);
  return kOk;
}
DriverCode graph_create(GraphHandle* graph, unsigned) {
  FAKE_ENTER;
  ++state().live_graphs;
  *graph = new GraphTag;
  return kOk;
}
DriverCode graph_destroy(GraphHandle graph) {
  FAKE_LOCK;
  --state().live_graphs;
  delete graph;
  return kOk;
}
DriverCode graph_add_kernel_node(GraphNodeHandle* node, GraphHandle graph,
                                 const GraphNodeHandle* dependencies, size_t count,
                                 const KernelNodeParams* params) {
  FAKE_ENTER;
  Launch launch = record(*function_of(params->function), params->parameters);
  launch.grid = params->grid_x;
  launch.block = params->block_x;
  launch.shared_bytes = params->shared_bytes;
  graph->nodes.push_back(std::move(launch));
  graph->handles.push_back(std::make_unique<Node>(Node{graph, graph->nodes.size() - 1}));
  for (size_t i = 0; i < count; ++i)
    graph->edges.push_back({reinterpret_cast<const Node*>(dependencies[i])->index, graph->nodes.size() - 1});
  *node = handle_of<GraphNodeHandle>(graph->handles.back().get());
  return kOk;
}
DriverCode graph_set_node_attribute(GraphNodeHandle node, LaunchAttributeId attribute,
                                    const LaunchAttributeValue* value) {
  FAKE_ENTER;
  const Node& n = *reinterpret_cast<const Node*>(node);
  if (attribute != LaunchAttributeId::kClusterDimension) return driver_code::kInvalidValue;
  n.graph->nodes[n.index].cluster = value->cluster.x;
  return kOk;
}
DriverCode graph_add_dependencies(GraphHandle graph, const GraphNodeHandle* from, const GraphNodeHandle* to,
                                  const GraphEdgeData* edges, size_t count) {
  FAKE_ENTER;
  for (size_t i = 0; i < count; ++i)
    graph->edges.push_back({reinterpret_cast<const Node*>(from[i])->index,
                            reinterpret_cast<const Node*>(to[i])->index, edges[i].type, edges[i].from_port,
                            edges[i].to_port});
  return kOk;
}
DriverCode graph_instantiate(GraphExecHandle* exec, GraphHandle graph, unsigned long long) {
  call_hook(&State::before_instantiate);
  FAKE_ENTER;
  ++state().live_execs;
  state().graphs.push_back(*graph);
  auto* made = new GraphExecTag;
  static_cast<Graph&>(*made) = *graph;
  *exec = made;
  return kOk;
}
DriverCode graph_exec_destroy(GraphExecHandle exec) {
  const std::lock_guard guard(lock());
  --state().live_execs;
  delete exec;
  return kOk;
}
DriverCode graph_upload(GraphExecHandle, StreamHandle) {
  FAKE_ENTER;
  return kOk;
}
DriverCode graph_launch(GraphExecHandle exec, StreamHandle stream) {
  call_hook(&State::before_replay);
  FAKE_ENTER;
  arrive(stream);
  if (launch_fails()) return state().sticky;
  for (const Launch& node : exec->nodes)
    if (const DriverCode code = refusal(node)) return code;
  ++state().replays;
  if (state().executes)
    for (const Launch& node : exec->nodes) execute(node);
  return kOk;
}
DriverCode tensor_map_encode(EncodedTensorMap* map, int type, uint32_t rank, void* address,
                             const uint64_t* sizes, const uint64_t* strides, const uint32_t* box,
                             const uint32_t*, int, int swizzle, int, int) {
  FAKE_ENTER;
  if (state().tensor_map_code != kOk) return state().tensor_map_code;
  EncodedMap encoded;
  encoded.address = reinterpret_cast<DeviceAddress>(address);
  encoded.type = type;
  encoded.swizzle = swizzle;
  encoded.sizes.assign(sizes, sizes + rank);
  encoded.strides.assign(strides, strides + rank - 1);
  encoded.box.assign(box, box + rank);
  map->opaque[0] = state().maps.size() + 1;
  state().maps.push_back(std::move(encoded));
  return kOk;
}

}  // namespace impl

namespace {

template <typename Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

const std::map<std::string, void*>& functions() {
  static const std::map<std::string, void*> all = {
#define FAKE_ENTRY(member, name, version, parameters) \
  {#name, address_of(static_cast<DriverCode(*) parameters>(&impl::member))},
      EDGE_INFER_CUDA_REQUIRED(FAKE_ENTRY) EDGE_INFER_CUDA_OPTIONAL(FAKE_ENTRY)
#undef FAKE_ENTRY
  };
  return all;
}

}  // namespace

}  // namespace edge_infer::cuda::fake

extern "C" FAKE_EXPORT int cuDriverGetVersion(int* version) {
  *version = edge_infer::cuda::fake::state().version;
  return 0;
}

extern "C" FAKE_EXPORT int cuGetProcAddress_v2(const char* name, void** function, int, uint64_t,
                                               int* status) {
  const auto& all = edge_infer::cuda::fake::functions();
  const auto found = all.find(name);
  const bool there = found != all.end() && !edge_infer::cuda::fake::state().missing.contains(name);
  *function = there ? found->second : nullptr;
  *status = there ? 0 : 1;
  return there ? 0 : 500;
}
