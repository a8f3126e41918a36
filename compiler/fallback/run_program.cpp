#include "compiler/fallback/run_program.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "compiler/fallback/check_indices.h"
#include "runtime/base/aligned_bytes.h"
#include "runtime/executor/bound_program.h"

namespace edge_infer {
namespace {

// Constants from a map of tensors, packed on demand.
class TensorConstants final : public ConstantSource {
 public:
  explicit TensorConstants(const TensorMap& tensors) : tensors_(tensors) {}

  Status prepare(std::span<const ConstantDecl> constants, const Device&) override {
    for (const ConstantDecl& c : constants) {
      int64_t rows = 0;  // of all sources together, along the first dimension
      for (const std::string& name : c.sources) {
        const auto found = tensors_.find(name);
        if (found == tensors_.end()) return fail(ErrorCode::kNotFound, "no tensor for constant ${}", name);
        const HostTensor& tensor = found->second;
        std::vector<int64_t> sizes = tensor.sizes;
        if (!sizes.empty() && c.sources.size() > 1) {
          rows += sizes[0];
          sizes[0] = c.sizes[0];
        }
        if (tensor.dtype != c.dtype || sizes != c.sizes)
          return fail(ErrorCode::kInvalidArgument, "constant ${} is {}{}, expected {}{}", name,
                      dtype_name(tensor.dtype), print_sizes(tensor.sizes), dtype_name(c.dtype),
                      print_sizes(c.sizes));
      }
      if (c.sources.size() > 1 && rows != c.sizes[0])
        return fail(ErrorCode::kInvalidArgument, "{} constants have {} rows together, expected {}",
                    c.sources.size(), rows, c.sizes[0]);
    }
    return {};
  }

  Result<const void*> locate(const ConstantDecl& c, const Device& device) override {
    if (c.format == "raw" && c.sources.size() == 1) return tensors_.find(c.sources[0])->second.bytes.data();
    std::vector<Device::Rows> rows;
    size_t raw_bytes = 0;
    for (const std::string& name : c.sources) {
      const HostTensor& tensor = tensors_.find(name)->second;
      rows.push_back(
          {reinterpret_cast<const float*>(tensor.bytes.data()), tensor.sizes.empty() ? 1 : tensor.sizes[0]});
      raw_bytes += tensor.bytes.size();
    }
    if (c.format == "raw") {
      made_.emplace_back(raw_bytes);
      size_t at = 0;
      for (const std::string& name : c.sources) {
        const HostTensor& tensor = tensors_.find(name)->second;
        std::memcpy(made_.back().data() + at, tensor.bytes.data(), tensor.bytes.size());
        at += tensor.bytes.size();
      }
      return made_.back().data();
    }
    EDGE_INFER_ASSIGN(const size_t bytes, device.packed_bytes(c.format, c.sizes[0], c.sizes[1]));
    made_.emplace_back(bytes);
    EDGE_INFER_RETURN_IF_ERROR(device.pack(c.format, rows, c.sizes[1], made_.back().bytes()));
    return made_.back().data();
  }

 private:
  const TensorMap& tensors_;
  std::deque<AlignedBytes> made_;  // addresses stay
};

}  // namespace

Result<std::vector<HostTensor>> run_bound(const Graph& graph, const Executable& bound,
                                          std::span<const HostTensor> inputs, int max_workers) {
  std::vector<std::vector<int64_t>> sizes;
  std::vector<TensorView> in, out;
  for (const HostTensor& input : inputs) {
    sizes.push_back(input.sizes);
    in.push_back({const_cast<std::byte*>(input.bytes.data()), input.dtype, input.sizes});
  }
  EDGE_INFER_ASSIGN(const SymbolValues symbols, bind_symbols(graph, sizes));
  std::vector<HostTensor> outputs;
  for (const GraphOutput& output : graph.outputs()) {
    const TensorType& type = graph.value(output.value).type;
    std::vector<int64_t> output_sizes;
    for (const SymInt& size : type.sizes) {
      EDGE_INFER_ASSIGN(const int64_t value, size.evaluate(symbols));
      output_sizes.push_back(value);
    }
    EDGE_INFER_ASSIGN(HostTensor tensor, make_host_tensor(type.dtype, std::move(output_sizes)));
    std::ranges::fill(tensor.bytes, std::byte{0xff});
    outputs.push_back(std::move(tensor));
  }
  for (HostTensor& tensor : outputs) out.push_back({tensor.bytes.data(), tensor.dtype, tensor.sizes});
  const std::unique_ptr<RunContext> context = bound.make_context();
  EDGE_INFER_RETURN_IF_ERROR(bound.run(*context, in, out, max_workers));
  return outputs;
}

Result<std::vector<HostTensor>> run_program(const Graph& graph, Program program, const Device& device,
                                            std::span<const HostTensor> inputs, const TensorMap& constants,
                                            int max_workers) {
  if (inputs.size() != graph.inputs().size())
    return fail(ErrorCode::kInvalidArgument, "{} inputs given, graph @{} takes {}", inputs.size(),
                graph.name(), graph.inputs().size());
  std::vector<std::vector<int64_t>> sizes;
  for (const HostTensor& input : inputs) sizes.push_back(input.sizes);
  EDGE_INFER_ASSIGN(const SymbolValues symbols, bind_symbols(graph, sizes));
  TensorMap named = constants;
  for (size_t i = 0; i < inputs.size(); ++i) named[graph.value(graph.inputs()[i].value).name] = inputs[i];
  EDGE_INFER_RETURN_IF_ERROR(check_indices(graph, named, symbols));
  TensorConstants source(constants);
  EDGE_INFER_ASSIGN(const std::unique_ptr<Executable> bound, device.bind(std::move(program), source));
  return run_bound(graph, *bound, inputs, max_workers);
}

}  // namespace edge_infer
