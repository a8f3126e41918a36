#include "tests/support/fallback_run.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "compiler/fallback/lower_fallback.h"
#include "runtime/executor/bound_program.h"

namespace edge_infer::test {
namespace {

// Constants by name from a map; packed formats are made by the device and kept.
class MapConstants final : public ConstantSource {
 public:
  explicit MapConstants(const TensorMap& tensors) : tensors_(tensors) {}

  Status prepare(std::span<const ConstantDecl>, const Device&) override { return {}; }

  Result<const void*> locate(const ConstantDecl& constant, const Device& device) override {
    if (constant.sources.empty()) return constant.literal.data();
    std::vector<const HostTensor*> sources;
    for (const std::string& name : constant.sources) {
      const auto found = tensors_.find(name);
      if (found == tensors_.end()) return fail(ErrorCode::kNotFound, "no constant {}", name);
      sources.push_back(&found->second);
    }
    if (constant.format == "raw") return sources[0]->bytes.data();
    const int64_t k = constant.sizes.at(1);
    int64_t n = 0;
    std::vector<Device::Rows> rows;
    for (const HostTensor* source : sources) {
      rows.push_back({reinterpret_cast<const float*>(source->bytes.data()), source->sizes.at(0)});
      n += source->sizes.at(0);
    }
    EDGE_INFER_ASSIGN(const size_t bytes, device.packed_bytes(constant.format, n, k));
    // As a mapped file would be: on a line of 64 bytes.
    packed_.push_back(std::make_unique<std::byte[]>(bytes + 64));
    std::byte* aligned = packed_.back().get();
    aligned += (64 - reinterpret_cast<uintptr_t>(aligned) % 64) % 64;
    EDGE_INFER_RETURN_IF_ERROR(device.pack(constant.format, rows, k, {aligned, bytes}));
    return aligned;
  }

 private:
  const TensorMap& tensors_;
  std::vector<std::unique_ptr<std::byte[]>> packed_;
};

}  // namespace

struct FallbackRun::State {
  explicit State(const TensorMap& tensors) : constants(tensors) {}
  MapConstants constants;
  std::unique_ptr<BoundProgram> program;
  ExecutionContext context;
};

FallbackRun::FallbackRun(std::unique_ptr<State> state) : state_(std::move(state)) {}
FallbackRun::FallbackRun(FallbackRun&&) noexcept = default;
FallbackRun::~FallbackRun() = default;

Result<FallbackRun> FallbackRun::make(const Graph& graph, const Device& device, const TensorMap& constants) {
  EDGE_INFER_ASSIGN(Program program, lower_fallback(graph, device.target()));
  auto state = std::make_unique<State>(constants);
  EDGE_INFER_ASSIGN(state->program, BoundProgram::bind(std::move(program), device, state->constants));
  return FallbackRun(std::move(state));
}

Result<std::vector<HostTensor>> FallbackRun::run(std::span<const HostTensor> inputs,
                                                 std::span<const HostTensor> like, int workers) {
  std::vector<TensorView> in, out;
  for (const HostTensor& tensor : inputs)
    in.push_back({const_cast<std::byte*>(tensor.bytes.data()), tensor.dtype, tensor.sizes});
  std::vector<HostTensor> outputs(like.begin(), like.end());
  for (HostTensor& tensor : outputs) {
    std::fill(tensor.bytes.begin(), tensor.bytes.end(), std::byte{1});
    out.push_back({tensor.bytes.data(), tensor.dtype, tensor.sizes});
  }
  EDGE_INFER_RETURN_IF_ERROR(state_->program->run(state_->context, in, out, workers));
  return outputs;
}

std::string difference(const HostTensor& got, const HostTensor& want, const Tolerance& tolerance) {
  if (got.dtype != want.dtype || got.sizes != want.sizes)
    return fmt::format("{} {}, expected {} {}", dtype_name(got.dtype), print_sizes(got.sizes),
                       dtype_name(want.dtype), print_sizes(want.sizes));
  if (!is_floating(want.dtype)) {
    const std::vector<int64_t> a = got.to_integers(), b = want.to_integers();
    for (size_t i = 0; i < a.size(); ++i)
      if (a[i] != b[i]) return fmt::format("element {} of {}: {}, expected {}", i, a.size(), a[i], b[i]);
    return {};
  }
  const std::vector<double> a = got.to_doubles(), b = want.to_doubles();
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (std::fabs(a[i] - b[i]) <= tolerance.absolute + tolerance.relative * std::fabs(b[i]) &&
        std::isfinite(b[i]))
      continue;
    return fmt::format("element {} of {}: {}, expected {} (off by {:.3g}, allowed {:.3g})", i, a.size(), a[i],
                       b[i], std::fabs(a[i] - b[i]),
                       tolerance.absolute + tolerance.relative * std::fabs(b[i]));
  }
  return {};
}

}  // namespace edge_infer::test
