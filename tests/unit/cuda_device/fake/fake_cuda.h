// A libcuda.so without a GPU: device memory is host memory, kernels are functions of the test, and everything
// that the driver is told is recorded. Its state is one a process; reset() between tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "backends/cuda/driver/driver_types.h"

namespace edge_infer::cuda::fake {

struct Launch {
  std::string kernel;
  unsigned grid = 0, block = 0, shared_bytes = 0, cluster = 1;
  bool programmatic = false;                       // attribute of a launch without a graph
  std::vector<std::vector<std::byte>> parameters;  // as they were when the driver was told

  template <typename T = DeviceAddress>
  T parameter(size_t i) const {
    T value{};
    std::memcpy(&value, parameters.at(i).data(), sizeof(value));
    return value;
  }
  template <typename T>
  T* pointer(size_t i) const {
    return reinterpret_cast<T*>(parameter(i));
  }
};

// Code of a library is the text "FAKE <name>"; its function "k" is the kernel of that name.
struct Kernel {
  std::vector<size_t> parameter_bytes;
  std::function<void(const Launch&)> body;
  int max_threads = 1024;
  double nanoseconds = 0;                          // of one launch, on the GPU's clock
  DriverCode launch_code = driver_code::kSuccess;  // what a launch, or a graph with one, is answered
};

struct Edge {
  size_t from = 0, to = 0;
  unsigned char type = 0, from_port = 0, to_port = 0;
};

struct Graph {
  std::vector<Launch> nodes;
  std::vector<Edge> edges;
};

struct EncodedMap {
  DeviceAddress address = 0;
  int type = 0, swizzle = 0;
  std::vector<uint64_t> sizes, strides;
  std::vector<uint32_t> box;
};

struct State {
  // What the test sets.
  int version = 13'000, devices = 1, major = 9, minor = 0, multiprocessors = 132;
  size_t memory_bytes = size_t{1} << 30;
  size_t pinned_limit = size_t{1} << 40;
  std::set<std::string> missing;  // functions that the driver lacks
  std::map<std::string, Kernel> kernels;
  int fail_allocation = 0;  // the n-th from now fails, counted down to 0
  int fail_launch = 0;      // the n-th replay or launch from now
  DriverCode failure = driver_code::kIllegalAddress;
  DriverCode init_code = driver_code::kSuccess, load_code = driver_code::kSuccess,
             tensor_map_code = driver_code::kSuccess, text_code = driver_code::kSuccess;
  int queries_until_ready = 0;  // of each event
  int waking_queries = 0;       // queries of events that wake a thread
  int sleeps = 0;               // waits for such events
  int64_t l2_bytes = 60 << 20;
  bool executes = true;  // kernels of replayed graphs

  int fail_copy = 0;  // the n-th asynchronous copy to the device from now
  DriverCode copy_code = driver_code::kIllegalAddress;
  bool traces = false;
  // Called before the driver does it, without the lock.
  std::function<void(size_t bytes)> before_copy;  // asynchronous, to the device
  std::function<void()> before_load, before_instantiate, before_replay;
  bool takes_any_code = false;  // other code than "FAKE ...", too; its kernels do nothing
  int poison = 0xff;            // of fresh memory: NaN in every floating type

  // Asynchronous copies read their source when their stream, or an event behind them, is waited for.
  struct AsyncCopy {
    StreamHandle stream = nullptr;
    DeviceAddress to = 0;
    const void* from = nullptr;
    size_t bytes = 0;
    uint64_t number = 0;
  };
  std::vector<AsyncCopy> on_the_way;
  uint64_t enqueued = 0, last_stream = 0;
  // "copy <bytes>", "record <copies so far>", "wait for <copies>", "wait for the stream".
  std::vector<std::string> trace;

  // Copies from pageable memory: they arrive when the default stream is waited for.
  std::vector<std::function<void()>> pending;

  // What happened.
  DriverCode sticky = driver_code::kSuccess;
  double clock = 0;              // nanoseconds that kernels have run: what events tell
  std::vector<Launch> launches;  // executed, from graphs or not
  std::vector<Graph> graphs;     // instantiated
  std::vector<EncodedMap> maps;
  std::map<DeviceAddress, size_t> device_memory;  // live
  std::map<void*, size_t> host_memory;
  size_t device_bytes = 0, peak_bytes = 0, pinned_bytes = 0;
  int allocations = 0, uploads = 0, replays = 0, libraries = 0, live_graphs = 0, live_execs = 0, contexts = 0,
      streams = 0, events = 0, copies_to_host = 0, copies_to_device = 0, function_loads = 0;
  std::map<std::string, int> max_shared;  // kernel -> set dynamic shared memory
  std::set<std::string> non_portable;
};

// Calls of the driver hold the lock; a test that reads while others run takes it.
State& state();
std::recursive_mutex& lock();
void reset();

// In fake_memory.cpp.
DriverCode allocate_device(DeviceAddress* address, size_t bytes);
DriverCode free_device(DeviceAddress address);
DriverCode allocate_host(void** memory, size_t bytes);
DriverCode free_host(void* memory);
// That [address, address + bytes) is live memory of the device, or pinned.
bool is_live(DeviceAddress address, size_t bytes);

}  // namespace edge_infer::cuda::fake
