#include "tests/gpu/kernel_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tests/gpu/watchdog.h"

namespace edge_infer::test {
namespace {

constexpr std::byte kPoison{0xFF};
constexpr size_t kAlignment = 256;
constexpr int64_t kPadRows = 200;  // more than a tile of any kernel
constexpr int64_t kFewCtas = 3;
constexpr size_t kLeastMemory = size_t{64} << 20;

size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

int64_t value_of(const SymInt& size, const loop::LoopNest& nest, std::span<const int64_t> symbols) {
  std::map<std::string, int64_t, std::less<>> values;
  for (size_t s = 0; s < nest.symbols.size(); ++s) values[nest.symbols[s].name] = symbols[s];
  return size.evaluate(values).value_or(0);
}

int tensor_map_type(DType dtype) {
  return dtype == DType::kF16    ? cuda::tensor_map::kFloat16
         : dtype == DType::kBF16 ? cuda::tensor_map::kBFloat16
                                 : cuda::tensor_map::kFloat32;
}

int tensor_map_swizzle(int32_t bytes) {
  return bytes == 128  ? cuda::tensor_map::kSwizzle128
         : bytes == 64 ? cuda::tensor_map::kSwizzle64
         : bytes == 32 ? cuda::tensor_map::kSwizzle32
                       : cuda::tensor_map::kSwizzleNone;
}

}  // namespace

struct KernelSet::Placement {
  struct Place {
    size_t at = 0, bytes = 0, room = 0;  // room: with the rows behind
    bool is_output = false;
  };
  std::vector<std::byte> image;  // of all the memory
  std::vector<Place> buffers;
  std::vector<cuda::DeviceAddress> addresses;  // of `n`, then of the buffers
  std::vector<cuda::EncodedTensorMap> maps;
  int64_t rows = 0, columns = 1;
};

KernelSet::KernelSet(std::shared_ptr<const cuda::CudaDevice> device, TargetCompiler compiler)
    : device_(std::move(device)), compiler_(std::move(compiler)) {}
KernelSet::~KernelSet() = default;

Result<size_t> KernelSet::add(const loop::LoopNest& nest, const Schedule& schedule) {
  Kernel kernel;
  EDGE_INFER_ASSIGN(kernel.plan, plan_kernel(nest, schedule, *compiler_.generator, *compiler_.compiler));
  const auto [known, added] = known_.emplace(kernel.plan.name, kernels_.size());
  if (added) kernels_.push_back(std::move(kernel));
  return known->second;
}

Status KernelSet::compile() {
  std::vector<KernelSource> sources;
  for (size_t k = compiled_; k < kernels_.size(); ++k) sources.push_back(kernels_[k].plan.generated.source);
  const auto results = compiler_.compiler->compile(sources);
  for (size_t k = compiled_; k < kernels_.size(); ++k) {
    Kernel& kernel = kernels_[k];
    const Result<CompiledKernel>& result = results[k - compiled_];
    if (!result) {
      kernel.compiled = std::unexpected(result.error());
      continue;
    }
    const std::string& name = kernel.plan.name;
    if (const auto loaded = device_->load_code(name, result->blob); !loaded) {
      kernel.compiled = std::unexpected(loaded.error());
      continue;
    }
    kernel.loaded = device_->find_kernel(name);
    kernel.spill_bytes = kernel.loaded->spill_bytes;
  }
  compiled_ = kernels_.size();
  return device_->usable();
}

int64_t KernelSet::spilled() const {
  return std::ranges::count_if(kernels_, [](const Kernel& k) { return k.spill_bytes > 0; });
}

Status KernelSet::reserve(size_t bytes) const {
  if (memory_.bytes() >= bytes) return {};
  memory_ = {};
  EDGE_INFER_ASSIGN(memory_, device_->allocate(std::max(bytes, kLeastMemory), "checked buffers"));
  return {};
}

Result<KernelSet::Placement> KernelSet::place(const Kernel& kernel, std::span<const int64_t> symbols,
                                              std::span<HostTensor* const> buffers) const {
  const loop::LoopNest& nest = kernel.plan.nest;
  Placement placement;
  size_t end = aligned(std::max<size_t>(1, symbols.size()) * sizeof(int64_t));
  for (size_t b = 0; b < buffers.size(); ++b) {
    const loop::Buffer& buffer = nest.buffers[b];
    const bool counted = !buffer.sizes.empty() && !buffer.sizes.front().constant();
    const auto bytes = buffers[b]->bytes.size();
    const int64_t rows = buffer.sizes.empty() ? 1 : value_of(buffer.sizes.front(), nest, symbols);
    const size_t row = counted && rows > 0 ? bytes / static_cast<size_t>(rows) : 0;
    const size_t room = bytes + row * static_cast<size_t>(kPadRows);
    placement.buffers.push_back({end, bytes, room, buffer.access == loop::Access::kOut});
    end += aligned(room) + kAlignment;
  }
  EDGE_INFER_RETURN_IF_ERROR(reserve(end));
  placement.image.assign(end, kPoison);
  if (!symbols.empty()) std::memcpy(placement.image.data(), symbols.data(), symbols.size_bytes());
  placement.addresses.push_back(memory_.address());
  for (size_t b = 0; b < buffers.size(); ++b) {
    const Placement::Place& p = placement.buffers[b];
    if (p.bytes > 0) std::memcpy(placement.image.data() + p.at, buffers[b]->bytes.data(), p.bytes);
    placement.addresses.push_back(memory_.address() + p.at);
  }
  for (const cuda::TensorMap& map : kernel.loaded->launch.maps) {
    const Placement::Place& p = placement.buffers[static_cast<size_t>(map.buffer)];
    const auto row = static_cast<uint64_t>(map.columns * dtype_size(map.dtype));
    const uint64_t sizes[] = {static_cast<uint64_t>(map.columns), std::max<uint64_t>(p.room / row, 1)};
    const uint64_t strides[] = {row};
    const uint32_t box[] = {static_cast<uint32_t>(map.box_columns), static_cast<uint32_t>(map.box_rows)};
    const uint32_t steps[] = {1, 1};
    placement.maps.emplace_back();
    EDGE_INFER_RETURN_IF_ERROR(device_->check(
        device_->driver().tensor_map_encode(&placement.maps.back(), tensor_map_type(map.dtype), 2,
                                            reinterpret_cast<void*>(memory_.address() + p.at), sizes, strides,
                                            box, steps, 0, tensor_map_swizzle(map.swizzle_bytes),
                                            cuda::tensor_map::kL2Promotion256, 0),
        "tensor map"));
  }
  placement.rows = value_of(nest.work().extent, nest, symbols);
  if (const loop::AxisId columns = nest.split_columns(); columns >= 0)
    placement.columns = value_of(nest.axis(columns).extent, nest, symbols);
  return placement;
}

Status KernelSet::launch(const Kernel& kernel, Placement& placement, int64_t most_ctas) const {
  const cuda::CudaLaunch& facts = kernel.loaded->launch;
  int64_t grid = facts.grid(placement.rows, placement.columns, device_->facts().multiprocessors);
  if (most_ctas > 0) grid = std::min<int64_t>(grid, most_ctas * facts.cluster);
  std::vector<void*> parameters;
  for (cuda::DeviceAddress& address : placement.addresses) parameters.push_back(&address);
  for (cuda::EncodedTensorMap& map : placement.maps) parameters.push_back(&map);
  cuda::LaunchAttribute cluster{};
  cluster.id = cuda::LaunchAttributeId::kClusterDimension;
  cluster.value.cluster = {static_cast<unsigned>(facts.cluster), 1, 1};
  cuda::LaunchConfig config;
  config.grid_x = static_cast<unsigned>(grid);
  config.block_x = static_cast<unsigned>(facts.threads);
  config.shared_bytes = static_cast<unsigned>(facts.shared_bytes);
  config.attributes = &cluster;
  config.attribute_count = facts.cluster > 1 ? 1 : 0;
  return device_->check(
      device_->driver().launch_kernel(&config, kernel.loaded->function, parameters.data(), nullptr),
      "launch");
}

Status KernelSet::run(size_t number, std::span<const int64_t> symbols,
                      std::span<HostTensor* const> buffers) const {
  const Kernel& kernel = kernels_[number];
  EDGE_INFER_RETURN_IF_ERROR(kernel.compiled);
  const std::scoped_lock lock(mutex_);
  EDGE_INFER_RETURN_IF_ERROR(device_->usable());
  const Watchdog watchdog(kernel.plan.nest.name);
  const cuda::CurrentContext context(*device_);
  const cuda::Driver& driver = device_->driver();
  std::vector<std::byte> first;
  for (const int64_t most : {int64_t{0}, kFewCtas}) {
    EDGE_INFER_ASSIGN(Placement placement, place(kernel, symbols, buffers));
    std::vector<std::byte>& image = placement.image;
    EDGE_INFER_RETURN_IF_ERROR(
        device_->check(driver.copy_to_device(memory_.address(), image.data(), image.size()), "copy"));
    EDGE_INFER_RETURN_IF_ERROR(launch(kernel, placement, most));
    std::vector<std::byte> after(image.size());
    EDGE_INFER_RETURN_IF_ERROR(
        device_->check(driver.copy_to_host(after.data(), memory_.address(), after.size()), "copy back"));
    for (size_t b = 0; b < placement.buffers.size(); ++b) {
      const Placement::Place& p = placement.buffers[b];
      if (!p.is_output) continue;
      const auto at = static_cast<std::ptrdiff_t>(p.at);
      // What was stored is taken out, so that all that is left has to be as it was.
      std::copy_n(after.begin() + at, p.bytes, buffers[b]->bytes.begin());
      if (most > 0 && !std::equal(buffers[b]->bytes.begin(), buffers[b]->bytes.end(), first.begin() + at))
        return fail(ErrorCode::kInternal, "buffer {}: the bits depend on the grid", b);
      std::copy_n(image.begin() + at, p.bytes, after.begin() + at);
    }
    const auto [x, y] = std::ranges::mismatch(image, after);
    if (x != image.end()) {
      const auto at = static_cast<size_t>(x - image.begin());
      size_t b = placement.buffers.size();
      while (b > 0 && placement.buffers[b - 1].at > at) --b;
      return fail(ErrorCode::kInternal, "byte {} of buffer {} was written, which has {}",
                  at - (b > 0 ? placement.buffers[b - 1].at : 0), static_cast<int64_t>(b) - 1,
                  b > 0 ? placement.buffers[b - 1].bytes : 0);
    }
    if (most > 0) break;
    first = std::move(image);
    for (size_t b = 0; b < placement.buffers.size(); ++b) {
      const Placement::Place& p = placement.buffers[b];
      if (!p.is_output) continue;
      const auto at = static_cast<std::ptrdiff_t>(p.at);
      // The second run begins with what the first one began with.
      std::swap_ranges(buffers[b]->bytes.begin(), buffers[b]->bytes.end(), first.begin() + at);
    }
  }
  return {};
}

// A graph of `count` launches one after another, with the edges that a program would have.
Result<cuda::GraphExec> KernelSet::chain(const Kernel& kernel, Placement& placement, int count) const {
  const cuda::Driver& driver = device_->driver();
  const cuda::CudaLaunch& facts = kernel.loaded->launch;
  std::vector<void*> parameters;
  for (cuda::DeviceAddress& address : placement.addresses) parameters.push_back(&address);
  for (cuda::EncodedTensorMap& map : placement.maps) parameters.push_back(&map);
  cuda::KernelNodeParams params;
  params.function = kernel.loaded->function;
  params.grid_x =
      static_cast<unsigned>(facts.grid(placement.rows, placement.columns, device_->facts().multiprocessors));
  params.block_x = static_cast<unsigned>(facts.threads);
  params.shared_bytes = static_cast<unsigned>(facts.shared_bytes);
  params.parameters = parameters.data();
  const bool programmatic = facts.waits && device_->facts().programmatic_launch;
  cuda::GraphHandle graph = nullptr;
  cuda::GraphExecHandle exec = nullptr;
  EDGE_INFER_RETURN_IF_ERROR(device_->check(driver.graph_create(&graph, 0), "graph"));
  cuda::GraphNodeHandle last = nullptr;
  Status status;
  for (int i = 0; i < count && status; ++i) {
    cuda::GraphNodeHandle node = nullptr;
    const bool plain_edge = i > 0 && !programmatic;
    status = device_->check(driver.graph_add_kernel_node(&node, graph, &last, plain_edge ? 1 : 0, &params),
                            "node");
    if (status && facts.cluster > 1) {
      cuda::LaunchAttributeValue value = {};
      value.cluster = {static_cast<unsigned>(facts.cluster), 1, 1};
      status = device_->check(
          driver.graph_set_node_attribute(node, cuda::LaunchAttributeId::kClusterDimension, &value),
          "cluster");
    }
    if (status && i > 0 && programmatic) {
      cuda::GraphEdgeData edge;
      edge.from_port = cuda::kPortProgrammatic;
      edge.type = cuda::kDependencyProgrammatic;
      status = device_->check(driver.graph_add_dependencies(graph, &last, &node, &edge, 1), "edge");
    }
    last = node;
  }
  if (status) status = device_->check(driver.graph_instantiate(&exec, graph, 0), "instantiate");
  driver.graph_destroy(graph);
  if (!status) return std::unexpected(status.error());
  return cuda::GraphExec(device_.get(), exec);
}

Result<double> KernelSet::time(size_t number, std::span<const int64_t> symbols,
                               std::span<HostTensor* const> buffers, int repeats) const {
  const Kernel& kernel = kernels_[number];
  EDGE_INFER_RETURN_IF_ERROR(kernel.compiled);
  const std::scoped_lock lock(mutex_);
  const Watchdog watchdog(kernel.plan.nest.name);
  const cuda::CurrentContext context(*device_);
  const cuda::Driver& driver = device_->driver();
  EDGE_INFER_ASSIGN(Placement placement, place(kernel, symbols, buffers));
  EDGE_INFER_RETURN_IF_ERROR(device_->check(
      driver.copy_to_device(memory_.address(), placement.image.data(), placement.image.size()), "copy"));
  constexpr int kLaunches = 20;
  EDGE_INFER_ASSIGN(const cuda::GraphExec graph, chain(kernel, placement, kLaunches));
  cuda::EventHandle begin = nullptr, end = nullptr;
  EDGE_INFER_RETURN_IF_ERROR(device_->check(driver.event_create(&begin, 0), "event"));
  EDGE_INFER_RETURN_IF_ERROR(device_->check(driver.event_create(&end, 0), "event"));
  double best = 1e30;
  Status status = device_->check(driver.graph_launch(graph.handle(), nullptr), "graph");
  for (int r = 0; r < repeats && status; ++r) {
    driver.event_record(begin, nullptr);
    status = device_->check(driver.graph_launch(graph.handle(), nullptr), "graph");
    driver.event_record(end, nullptr);
    float milliseconds = 0;
    if (status) status = device_->check(driver.event_synchronize(end), "event");
    driver.event_elapsed_time(&milliseconds, begin, end);
    best = std::min(best, milliseconds * 1e3 / kLaunches);
  }
  driver.event_destroy(begin);
  driver.event_destroy(end);
  EDGE_INFER_RETURN_IF_ERROR(status);
  return best;
}

}  // namespace edge_infer::test
