#include "backends/cuda/templates/attention_template.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "backends/cuda/codegen/cuda_text.h"
#include "backends/cuda/codegen/embedded_sources.h"
#include "backends/cuda/templates/attention_plan.h"

namespace edge_infer::cuda {
namespace {

constexpr int64_t kHintKeys = 128;  // of a sequence, for cost estimates

std::string_view source_name(AttentionForm form) {
  switch (form) {
    case AttentionForm::kWgmma:
      return "attention_wgmma.cu";
    case AttentionForm::kMma:
      return "attention_mma.cu";
    case AttentionForm::kSimt:
      return "attention_simt.cu";
  }
  return {};
}

// The source without the stand-ins that let it compile alone.
std::string template_text(AttentionForm form) {
  std::string text(embedded_source(source_name(form)));
  const size_t begin = text.find("#ifndef ATTENTION_DIM");
  constexpr std::string_view kEnd = "#endif\n\n";
  const size_t end = text.find(kEnd, begin);
  if (begin != std::string::npos && end != std::string::npos) text.erase(begin, end + kEnd.size() - begin);
  return text;
}

class Writer {
 public:
  Writer(const loop::LoopNest& nest, const AttentionPlan& plan)
      : nest_(nest), plan_(plan), a_(*plan.attention) {}

  std::string text() {
    std::string kernel = definitions() + "\n" + template_text(plan_.form) + "\n" + entry();
    return fmt::format("// launch {}\n{}\n{}", plan_.launch.text(), select_prelude(kernel), kernel);
  }

 private:
  DType dtype(int32_t buffer) const { return nest_.buffers[static_cast<size_t>(buffer)].dtype; }
  static std::string type_name(DType dtype) { return std::string(memory_type(dtype)); }
  static std::string define(std::string_view name, const auto& value) {
    return fmt::format("#define ATTENTION_{} {}\n", name, value);
  }

  std::string definitions() const {
    const DType narrow = dtype(a_.q.buffer);
    std::string out =
        fmt::format("typedef {} offset_type;\ntypedef {} unit_type;\ntypedef {} out_type;\n",
                    type_name(dtype(a_.cu)), type_name(dtype(a_.units)), type_name(dtype(a_.out.buffer)));
    out += define("DIM", a_.dim) + define("HEADS", a_.heads) + define("GROUP", a_.heads / a_.kv_heads) +
           define("CAUSAL", a_.causal ? 1 : 0);
    out += define("Q_ROW", a_.q.row) + define("Q_OFFSET", a_.q.offset) + define("K_ROW", a_.k.row) +
           define("K_OFFSET", a_.k.offset) + define("V_ROW", a_.v.row) + define("V_OFFSET", a_.v.offset) +
           define("OUT_ROW", a_.out.row) + define("OUT_OFFSET", a_.out.offset);
    if (plan_.form != AttentionForm::kWgmma)
      out += define("BEGIN", plan_.launch.waits ? "launch_dependents(), wait_for_producers()" : "(void)0");
    if (plan_.form == AttentionForm::kSimt) return out + simt_definitions();
    out += define("TYPE", narrow == DType::kF16 ? "\"f16\"" : "\"bf16\"");
    out += define("OUT_F32", dtype(a_.out.buffer) == DType::kF32 ? 1 : 0);
    // Weights are powers of two of the scores.
    out +=
        define("SCALE_LOG2E", number_literal(static_cast<float>(a_.scale * std::numbers::log2e), Lane::kF32));
    if (plan_.form == AttentionForm::kWgmma) out += define("STAGES", 2);
    if (plan_.form == AttentionForm::kMma)
      out += define("ONES", narrow == DType::kF16 ? "0x3c003c00u" : "0x3f803f80u");
    return out;
  }

  std::string simt_definitions() const {
    const Lane lane = plan_.is_f64 ? Lane::kF64 : Lane::kF32;
    std::string out = fmt::format("typedef {} real;\n", plan_.is_f64 ? "double" : "float");
    out += define("ROWS", plan_.warp_rows) + define("UNIT_ROWS", a_.block_rows);
    out += define("SCALE", number_literal(plan_.is_f64 ? a_.scale : static_cast<float>(a_.scale), lane));
    const auto load = [&](char name, int32_t buffer) {
      const std::string type = type_name(dtype(buffer));
      return fmt::format(
          "typedef {0} {1}_type;\ninline real load_{1}(const {0}* p, i64 i) {{ return {2}; }}\n", type, name,
          loaded(dtype(buffer)));
    };
    out += load('q', a_.q.buffer) + load('k', a_.k.buffer) + load('v', a_.v.buffer);
    return out + fmt::format("inline void store(out_type* p, i64 i, real x) {{ p[i] = {}; }}\n", stored());
  }
  static std::string_view loaded(DType dtype) {
    if (dtype == DType::kF16) return "f32_from_f16(p[i])";
    return dtype == DType::kBF16 ? "f32_from_bf16(p[i])" : "p[i]";
  }
  std::string_view stored() const {
    switch (dtype(a_.out.buffer)) {
      case DType::kF16:
        return plan_.is_f64 ? "f16_from_f32(odd_f32_from_f64(x))" : "f16_from_f32(x)";
      case DType::kBF16:
        return plan_.is_f64 ? "bf16_from_f32(odd_f32_from_f64(x))" : "bf16_from_f32(x)";
      case DType::kF32:
        return "(float)x";
      default:
        return "x";
    }
  }

  std::string entry() const {
    std::string parameters = "const i64* n";
    for (size_t b = 0; b < nest_.buffers.size(); ++b)
      parameters += fmt::format(", {}{}* b{}", static_cast<int32_t>(b) == a_.out.buffer ? "" : "const ",
                                type_name(nest_.buffers[b].dtype), b);
    for (size_t m = 0; m < plan_.launch.maps.size(); ++m)
      parameters += fmt::format(", const __grid_constant__ TMap map{}", m);
    const std::string operands =
        plan_.form == AttentionForm::kWgmma
            ? fmt::format("&map0, &map{}, b{}", plan_.launch.maps.size() - 1, a_.q.buffer)
            : fmt::format("b{}, b{}, b{}", a_.q.buffer, a_.k.buffer, a_.v.buffer);
    return fmt::format(
        "extern \"C\" __global__ void __launch_bounds__({}, {}) k({}) {{\n"
        "  attention({}, b{}, b{}, b{}, n[{}]);\n}}\n",
        plan_.launch.threads, plan_.resident, parameters, operands, a_.out.buffer, a_.cu, a_.units,
        plan_.count);
  }

  const loop::LoopNest& nest_;
  const AttentionPlan& plan_;
  const loop::Attention& a_;
};

}  // namespace

Status accepts_attention(const loop::LoopNest& nest, const CudaTarget& target) {
  const Result<AttentionPlan> plan = plan_attention(nest, {}, target);
  if (!plan) return std::unexpected(plan.error());
  return {};
}

std::vector<Schedule> attention_schedules(const loop::LoopNest& nest, const CudaTarget& target) {
  const Result<AttentionPlan> plan = plan_attention(nest, {}, target);
  if (!plan) return {};
  // A grid of what stays resident starts fastest; a larger one evens out sequences of different lengths. The
  // own choice first.
  std::vector<Schedule> schedules;
  for (const int32_t times : {plan->rounds(), 3 - plan->rounds(), 4})
    schedules.push_back(fmt::format("grid={}", plan->resident * times));
  return schedules;
}

Result<GeneratedKernel> generate_attention(const loop::LoopNest& nest, const Schedule& schedule,
                                           const CudaTarget& target) {
  EDGE_INFER_ASSIGN(const AttentionPlan plan, plan_attention(nest, schedule, target));
  const loop::Attention& a = *plan.attention;
  GeneratedKernel kernel;
  kernel.source.source = Writer(nest, plan).text();
  kernel.source.target = target.name;
  const auto rows = static_cast<double>(a.block_rows * a.dim);
  kernel.flops_per_row = 4 * rows * kHintKeys;
  const auto element = static_cast<double>(dtype_size(nest.buffers[static_cast<size_t>(a.q.buffer)].dtype));
  kernel.bytes_per_row = element * (2 * rows + static_cast<double>(2 * kHintKeys * a.dim));
  return kernel;
}

}  // namespace edge_infer::cuda
