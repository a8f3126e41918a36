#include "tests/gpu/program_run.h"

#include <cstring>

#include "compiler/compile.h"
#include "compiler/obtain_kernels.h"
#include "tests/gpu/random_tensor.h"

namespace edge_infer::test {

Result<const void*> MapConstants::locate(const ConstantDecl& constant, const Device& device) {
  if (constant.sources.empty()) return constant.literal.data();
  std::vector<Device::Rows> rows;
  std::vector<std::byte> joined;
  for (const std::string& name : constant.sources) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return fail(ErrorCode::kNotFound, "no constant {}", name);
    const HostTensor& tensor = found->second;
    if (constant.format == "raw" && constant.sources.size() == 1) return tensor.bytes.data();
    joined.insert(joined.end(), tensor.bytes.begin(), tensor.bytes.end());
    rows.push_back({reinterpret_cast<const float*>(tensor.bytes.data()), tensor.sizes.at(0)});
  }
  if (constant.format != "raw") {
    EDGE_INFER_ASSIGN(const size_t bytes,
                      device.packed_bytes(constant.format, constant.sizes.at(0), constant.sizes.at(1)));
    joined.resize(bytes);
    EDGE_INFER_RETURN_IF_ERROR(device.pack(constant.format, rows, constant.sizes.at(1), joined));
  }
  return made_.emplace_back(std::move(joined)).data();
}

Result<std::unique_ptr<ProgramRun>> ProgramRun::make(const std::shared_ptr<const cuda::CudaDevice>& device,
                                                     const TargetCompiler& compiler, const Graph& graph,
                                                     DType precision, const TensorMap& constants) {
  std::unique_ptr<ProgramRun> run(new ProgramRun(constants));
  run->graph_ = graph;
  EDGE_INFER_ASSIGN(CompiledGraph compiled, compile(graph, device->target(), *compiler.generator,
                                                    *compiler.compiler, {.precision = precision}));
  EDGE_INFER_RETURN_IF_ERROR(obtain_kernels(compiled.kernels, *device, *compiler.compiler, nullptr, {}));
  EDGE_INFER_ASSIGN(run->program_,
                    cuda::CudaProgram::bind(std::move(compiled.program), device, run->constants_));
  return run;
}

Result<std::vector<HostTensor>> ProgramRun::run(std::span<const HostTensor> inputs,
                                                cuda::LaunchMode mode) const {
  std::vector<std::vector<int64_t>> sizes;
  std::vector<TensorView> in, out;
  for (const HostTensor& tensor : inputs) {
    sizes.push_back(tensor.sizes);
    in.push_back({const_cast<std::byte*>(tensor.bytes.data()), tensor.dtype, tensor.sizes});
  }
  EDGE_INFER_ASSIGN(const SymbolValues symbols, bind_symbols(graph_, sizes));
  std::vector<HostTensor> outputs;
  for (const GraphOutput& output : graph_.outputs()) {
    const TensorType& type = graph_.value(output.value).type;
    std::vector<int64_t> out_sizes;
    for (const SymInt& size : type.sizes) {
      EDGE_INFER_ASSIGN(const int64_t value, size.evaluate(symbols));
      out_sizes.push_back(value);
    }
    outputs.push_back(poisoned_tensor(type.dtype, std::move(out_sizes)));
  }
  for (HostTensor& tensor : outputs) out.push_back({tensor.bytes.data(), tensor.dtype, tensor.sizes});
  EDGE_INFER_RETURN_IF_ERROR(program_->run(in, out, mode));
  return outputs;
}

}  // namespace edge_infer::test
