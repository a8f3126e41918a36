#include "compiler/precision_gate.h"

#include <algorithm>
#include <cmath>

#include "compiler/fallback/lower_fallback.h"
#include "compiler/fallback/run_program.h"
#include "runtime/base/cpu.h"
#include "runtime/base/hash.h"

namespace edge_infer {
namespace {

Result<GateOutputs> run_sample(const Executable& program, const Graph& graph, const GateSample& sample) {
  EDGE_INFER_ASSIGN(std::vector<HostTensor> outputs,
                    run_bound(graph, program, sample.inputs, worker_budget()));
  return GateOutputs{std::move(outputs)};
}

bool is_finite(std::span<const double> row) {
  return std::ranges::all_of(row, [](double v) { return std::isfinite(v); });
}

// Two rows of zeros have one direction, a row of zeros and another one have none.
double cosine(std::span<const double> a, std::span<const double> b) {
  double dot = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  if (aa == 0 || bb == 0) return aa == bb ? 1 : 0;
  return std::clamp(dot / (std::sqrt(aa) * std::sqrt(bb)), -1.0, 1.0);
}

std::string row_name(std::span<const std::string> rows, size_t row) {
  return row < rows.size() ? rows[row] : fmt::format("row {}", row);
}

}  // namespace

double gate_bound(DType type) {
  return type == DType::kF16 ? 0.9999 : 0.9995;
}

std::string gate_rule(DType type, const GateSample& sample) {
  std::string text;
  for (const HostTensor& tensor : sample.inputs)
    text += fmt::format(
        "{} {} {}\n", dtype_name(tensor.dtype), print_sizes(tensor.sizes),
        std::string_view(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()));
  for (const std::string& row : sample.rows) text += row + "\n";
  return fmt::format("1 bound={} reference=fallback sample={}", gate_bound(type),
                     content_digest(text).substr(0, 32));
}

Result<GateOutputs> reference_outputs(const Graph& graph, const GateSample& sample, const Device& host,
                                      ConstantSource& constants) {
  EDGE_INFER_ASSIGN(Program program, lower_fallback(graph, host.target()));
  EDGE_INFER_ASSIGN(const std::unique_ptr<Executable> bound, host.bind(std::move(program), constants));
  return run_sample(*bound, graph, sample);
}

Result<GateVerdict> compare_outputs(DType type, const GateOutputs& found, const GateOutputs& reference,
                                    std::span<const std::string> rows) {
  GateVerdict verdict{.type = type, .bound = gate_bound(type)};
  if (found.tensors.size() != reference.tensors.size())
    return fail(ErrorCode::kInternal, "{} outputs, {} in fp32", found.tensors.size(),
                reference.tensors.size());
  for (size_t t = 0; t < found.tensors.size(); ++t) {
    if (found.tensors[t].sizes != reference.tensors[t].sizes)
      return fail(ErrorCode::kInternal, "output {} is {}, in fp32 {}", t, print_sizes(found.tensors[t].sizes),
                  print_sizes(reference.tensors[t].sizes));
    if (!is_floating(found.tensors[t].dtype)) continue;
    const std::vector<double> a = found.tensors[t].to_doubles(), b = reference.tensors[t].to_doubles();
    const std::vector<int64_t>& sizes = found.tensors[t].sizes;
    const auto width = sizes.size() < 2 ? a.size() : static_cast<size_t>(sizes.back());
    for (size_t row = 0; width > 0 && row < a.size() / width; ++row) {
      const auto own = std::span(a).subspan(row * width, width),
                 other = std::span(b).subspan(row * width, width);
      if (!is_finite(other)) {
        ++verdict.broken_rows;
        continue;
      }
      ++verdict.rows;
      if (!is_finite(own)) {
        if (verdict.not_finite++ == 0) verdict.not_finite_at = row_name(rows, row);
        continue;
      }
      const double c = cosine(own, other);
      if (!verdict.lowest_at.empty() && c >= verdict.lowest_cosine) continue;
      verdict.lowest_cosine = c;
      verdict.lowest_at = row_name(rows, row);
    }
  }
  return verdict;
}

Result<GateVerdict> judge(const Executable& program, DType type, const Graph& graph, const GateSample& sample,
                          const GateOutputs& reference) {
  EDGE_INFER_ASSIGN(const GateOutputs found, run_sample(program, graph, sample));
  return compare_outputs(type, found, reference, sample.rows);
}

}  // namespace edge_infer
