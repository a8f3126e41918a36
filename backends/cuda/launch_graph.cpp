#include "backends/cuda/launch_graph.h"

namespace edge_infer::cuda {

void KernelLaunch::point_to_parameters() {
  parameters.clear();
  for (DeviceAddress& address : addresses) parameters.push_back(&address);
  if (chunks != 0) parameters.push_back(&chunks);
  for (EncodedTensorMap& map : maps) parameters.push_back(&map);
}

Result<EncodedTensorMap> encode_tensor_map(const CudaDevice& device, const TensorMap& map,
                                           DeviceAddress address, int64_t rows) {
  const auto element = static_cast<uint64_t>(dtype_size(map.dtype));
  const uint64_t sizes[2] = {static_cast<uint64_t>(map.columns),
                             static_cast<uint64_t>(std::max<int64_t>(rows, 1))};
  const uint64_t strides[1] = {sizes[0] * element};
  const uint32_t box[2] = {static_cast<uint32_t>(map.box_columns), static_cast<uint32_t>(map.box_rows)};
  const uint32_t steps[2] = {1, 1};
  const int type = map.dtype == DType::kF16    ? tensor_map::kFloat16
                   : map.dtype == DType::kBF16 ? tensor_map::kBFloat16
                                               : tensor_map::kFloat32;
  const int swizzle = map.swizzle_bytes == 128  ? tensor_map::kSwizzle128
                      : map.swizzle_bytes == 64 ? tensor_map::kSwizzle64
                      : map.swizzle_bytes == 32 ? tensor_map::kSwizzle32
                                                : tensor_map::kSwizzleNone;
  EncodedTensorMap encoded;
  EDGE_INFER_RETURN_IF_ERROR(device.check(
      device.driver().tensor_map_encode(&encoded, type, 2, reinterpret_cast<void*>(address), sizes, strides,
                                        box, steps, 0, swizzle, tensor_map::kL2Promotion256, 0),
      fmt::format("tensor map of {} rows of {} {}, boxes {} x {}, swizzle {}", rows, map.columns,
                  dtype_name(map.dtype), map.box_rows, map.box_columns, map.swizzle_bytes)));
  return encoded;
}

Result<GraphExec> build_graph(const CudaDevice& device, std::span<const KernelLaunch> launches,
                              StreamHandle stream) {
  const Driver& driver = device.driver();
  GraphHandle graph = nullptr;
  EDGE_INFER_RETURN_IF_ERROR(device.check(driver.graph_create(&graph, 0), "make a graph"));
  GraphExecHandle exec = nullptr;
  const auto build = [&]() -> Status {
    GraphNodeHandle last = nullptr;
    for (const KernelLaunch& launch : launches) {
      KernelNodeParams params;
      params.function = launch.function;
      params.grid_x = launch.grid;
      params.block_x = launch.threads;
      params.shared_bytes = launch.shared_bytes;
      params.parameters = const_cast<void**>(launch.parameters.data());
      GraphNodeHandle node = nullptr;
      const bool plain = last != nullptr && !launch.programmatic;
      EDGE_INFER_RETURN_IF_ERROR(device.check(
          driver.graph_add_kernel_node(&node, graph, plain ? &last : nullptr, plain ? 1 : 0, &params),
          "add a kernel to a graph"));
      if (launch.cluster > 1) {
        LaunchAttributeValue value = {};
        value.cluster = {launch.cluster, 1, 1};
        EDGE_INFER_RETURN_IF_ERROR(
            device.check(driver.graph_set_node_attribute(node, LaunchAttributeId::kClusterDimension, &value),
                         "set a cluster in a graph"));
      }
      if (launch.programmatic) {
        GraphEdgeData edge;
        edge.from_port = kPortProgrammatic;
        edge.type = kDependencyProgrammatic;
        EDGE_INFER_RETURN_IF_ERROR(device.check(driver.graph_add_dependencies(graph, &last, &node, &edge, 1),
                                                "add a programmatic edge to a graph"));
      }
      last = node;
    }
    EDGE_INFER_RETURN_IF_ERROR(
        device.check(driver.graph_instantiate(&exec, graph, 0), "instantiate a graph"));
    return device.check(driver.graph_upload(exec, stream), "upload a graph");
  };
  const Status built = build();
  driver.graph_destroy(graph);
  GraphExec owned(&device, exec);
  if (!built) return std::unexpected(built.error());
  return owned;
}

GraphExec::~GraphExec() {
  if (handle_ == nullptr) return;
  const CurrentContext current(*device_);
  device_->driver().graph_exec_destroy(handle_);
}

}  // namespace edge_infer::cuda
