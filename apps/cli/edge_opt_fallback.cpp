#include "apps/cli/edge_opt_fallback.h"

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <utility>

#include "backends/cpu/device.h"
#include "compiler/fallback/lower_fallback.h"
#include "compiler/graph/op_table.h"
#include "compiler/graph/print.h"
#include "compiler/passes/passes.h"
#include "runtime/base/cpu.h"
#include "runtime/executor/bound_program.h"

namespace edge_infer {
namespace {

constexpr std::array kIsas = {Isa::kPortable, Isa::kAvx2, Isa::kAvx512};

Isa isa_of(std::string_view target) {
  for (const Isa isa : kIsas)
    if (target == "cpu." + std::string(isa_name(isa))) return isa;
  return selected_isa();
}

// Constants by name from a TensorMap, packed where the program asks for it.
class MapConstants final : public ConstantSource {
 public:
  explicit MapConstants(const TensorMap& tensors) : tensors_(tensors) {}

  Status prepare(std::span<const ConstantDecl>, const Device&) override { return {}; }

  Result<const void*> locate(const ConstantDecl& constant, const Device& device) override {
    if (!constant.literal.empty()) return constant.literal.data();
    if (constant.sources.size() != 1)
      return fail(ErrorCode::kUnsupported, "a constant of {} tensors", constant.sources.size());
    const auto found = tensors_.find(constant.sources[0]);
    if (found == tensors_.end())
      return fail(ErrorCode::kNotFound, "constant \"{}\" is not given", constant.sources[0]);
    const HostTensor& tensor = found->second;
    if (tensor.dtype != constant.dtype || tensor.sizes != constant.sizes)
      return fail(ErrorCode::kInvalidArgument, "constant \"{}\" is {}{}, expected {}{}", constant.sources[0],
                  dtype_name(tensor.dtype), print_sizes(tensor.sizes), dtype_name(constant.dtype),
                  print_sizes(constant.sizes));
    if (constant.format == "raw") return tensor.bytes.data();
    EDGE_INFER_ASSIGN(const size_t bytes,
                      device.packed_bytes(constant.format, tensor.sizes[0], tensor.sizes[1]));
    Packed packed(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
    const Device::Rows rows = {reinterpret_cast<const float*>(tensor.bytes.data()), tensor.sizes[0]};
    EDGE_INFER_RETURN_IF_ERROR(
        device.pack(constant.format, {&rows, 1}, tensor.sizes[1], std::span(packed.get(), bytes)));
    packed_.push_back(std::move(packed));
    return packed_.back().get();
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, kAlignment); }
  };
  using Packed = std::unique_ptr<std::byte, Free>;
  const TensorMap& tensors_;
  std::vector<Packed> packed_;
};

// An operand that kernels read through unchecked, and the bound of its values.
struct IndexUse {
  ValueId index;
  std::optional<SymInt> size;  // of the dimension read; none: sequence offsets
  SymInt rows = 0;             // of the packed tensor, for offsets
};
std::vector<IndexUse> index_uses(const Graph& graph) {
  std::vector<IndexUse> uses;
  for (const Node& node : graph.nodes()) {
    const std::string& op = node.op->name;
    const auto type = [&](size_t i) { return graph.value(node.inputs[i]).type; };
    if (op == "aten.embedding") uses.push_back({node.inputs[1], type(0).sizes[0]});
    if (op == "aten.index_select" || op == "aten.gather") {
      const int64_t dim = attribute_as<int64_t>(node, "dim"), rank = type(0).rank();
      uses.push_back({node.inputs[1], type(0).sizes[static_cast<size_t>(dim < 0 ? dim + rank : dim)]});
    }
    if (op == "edge.packed_positions" || op == "edge.segment_pool")
      uses.push_back({node.inputs[1], std::nullopt, type(0).sizes[0]});
    if (op == "edge.varlen_attention") uses.push_back({node.inputs[3], std::nullopt, type(0).sizes[0]});
  }
  return uses;
}

// What a batch's maker checks for a model is checked here for any graph: the indices are evaluated first.
Status check_indices(const Graph& graph, const TensorMap& tensors, const SymbolValues& symbols) {
  const std::vector<IndexUse> uses = index_uses(graph);
  Graph indices = graph;
  indices.outputs().clear();
  for (const IndexUse& use : uses) indices.add_output({use.index});
  EDGE_INFER_RETURN_IF_ERROR(eliminate_dead_nodes(indices, {}));
  EDGE_INFER_ASSIGN(const auto values, evaluate(indices, tensors));
  for (size_t i = 0; i < uses.size(); ++i) {
    const std::vector<int64_t> items = values[i].to_integers();
    const std::string& name = graph.value(uses[i].index).name;
    if (uses[i].size) {
      EDGE_INFER_ASSIGN(const int64_t size, uses[i].size->evaluate(symbols));
      for (const int64_t item : items)
        if (item < 0 || item >= size)
          return fail(ErrorCode::kInvalidArgument, "%{}: index {} of a dimension of size {}", name, item,
                      size);
    } else {
      EDGE_INFER_ASSIGN(const int64_t rows, uses[i].rows.evaluate(symbols));
      if (items.empty() || items.front() != 0 || items.back() != rows ||
          !std::is_sorted(items.begin(), items.end()))
        return fail(ErrorCode::kInvalidArgument, "%{}: offsets do not ascend from 0 to {}", name, rows);
    }
  }
  return {};
}

}  // namespace

bool is_target_name(std::string_view target) {
  return std::any_of(kIsas.begin(), kIsas.end(),
                     [&](Isa isa) { return target == "cpu." + std::string(isa_name(isa)); });
}

Result<std::string> fallback_program_text(const Graph& graph, std::string_view target) {
  const CpuDevice device(isa_of(target));
  EDGE_INFER_ASSIGN(const Program program, lower_fallback(graph, device.target()));
  EDGE_INFER_RETURN_IF_ERROR(verify_program(program));
  return print_program(program);
}

Result<std::vector<HostTensor>> fallback_run(const Graph& graph, std::string_view target,
                                             const TensorMap& tensors) {
  const Isa isa = isa_of(target);
  if (!isa_runs_here(isa))
    return fail(ErrorCode::kUnsupported, "this processor cannot run cpu.{}", isa_name(isa));
  const CpuDevice device(isa);
  EDGE_INFER_ASSIGN(Program program, lower_fallback(graph, device.target()));
  MapConstants constants(tensors);
  EDGE_INFER_ASSIGN(const auto bound, BoundProgram::bind(std::move(program), device, constants));

  std::vector<TensorView> inputs, outputs;
  std::vector<std::vector<int64_t>> input_sizes;
  for (const GraphInput& input : graph.inputs()) {
    const auto found = tensors.find(graph.value(input.value).name);
    if (found == tensors.end())
      return fail(ErrorCode::kNotFound, "input \"{}\" is not given", graph.value(input.value).name);
    const HostTensor& tensor = found->second;
    inputs.push_back({const_cast<std::byte*>(tensor.bytes.data()), tensor.dtype, tensor.sizes});
    input_sizes.push_back(tensor.sizes);
  }
  EDGE_INFER_ASSIGN(const SymbolValues symbols, bind_symbols(graph, input_sizes));
  EDGE_INFER_RETURN_IF_ERROR(check_indices(graph, tensors, symbols));
  std::vector<HostTensor> results;
  for (const GraphOutput& output : graph.outputs()) {
    const TensorType& type = graph.value(output.value).type;
    std::vector<int64_t> sizes;
    for (const SymInt& size : type.sizes) {
      EDGE_INFER_ASSIGN(const int64_t value, size.evaluate(symbols));
      sizes.push_back(value);
    }
    EDGE_INFER_ASSIGN(HostTensor tensor, make_host_tensor(type.dtype, std::move(sizes)));
    results.push_back(std::move(tensor));
  }
  for (HostTensor& result : results) outputs.push_back({result.bytes.data(), result.dtype, result.sizes});
  ExecutionContext context;
  EDGE_INFER_RETURN_IF_ERROR(bound->run(context, inputs, outputs, worker_budget()));
  return results;
}

}  // namespace edge_infer
