#include "backends/cuda/templates/gemm_f32.h"

#include <fmt/format.h>

#include <variant>

#include "backends/cuda/codegen/embedded_sources.h"
#include "backends/cuda/codegen/expr_printer.h"
#include "backends/cuda/codegen/kernel_text.h"

namespace edge_infer::cuda {
namespace {

const loop::For& rows_of(const loop::LoopNest& nest) {
  return std::get<loop::For>(nest.body.front().node);
}

// What a slot names of the context, as variables of its own.
std::string variables(const loop::LoopNest& nest, std::string_view body) {
  std::string text;
  for (size_t i = 0; i < nest.buffers.size(); ++i)
    if (const std::string name = fmt::format("b{}", i); names(body, name))
      text += fmt::format("  const auto {0} = c.{0};\n", name);
  for (size_t i = 0; i < nest.symbols.size(); ++i)
    if (const std::string name = fmt::format("s{}", i); names(body, name))
      text += fmt::format("  const i64 {} = c.n[{}];\n", name, i);
  return text;
}

}  // namespace

Status accepts_gemm_f32(const loop::LoopNest& nest) {
  const loop::Body& row = rows_of(nest).body;
  const auto* gemm = row.size() == 1 ? std::get_if<loop::Gemm>(&row.front().node) : nullptr;
  if (gemm == nullptr)
    return fail(ErrorCode::kUnsupported, "slot refused: row or statements beside the gemm need BN = N");
  const loop::Axis &n = nest.axis(gemm->n), &k = nest.axis(gemm->k);
  if (!n.extent.constant() || !k.extent.constant() || n.begin.constant() != 0 || k.begin.constant() != 0)
    return fail(ErrorCode::kUnsupported, "slot refused: gemm over sizes that are no constants");
  if (*n.extent.constant() < 1 || *k.extent.constant() < 1)
    return fail(ErrorCode::kUnsupported, "slot refused: gemm of {} columns over {}", *n.extent.constant(),
                *k.extent.constant());
  if (nest.expr(gemm->a).dtype != DType::kF32)
    return fail(ErrorCode::kUnsupported, "slot refused: gemm of {} by f32",
                dtype_name(nest.expr(gemm->a).dtype));
  for (const loop::Stmt& stmt : gemm->body)
    if (!std::holds_alternative<loop::Let>(stmt.node) && !std::holds_alternative<loop::Store>(stmt.node))
      return fail(ErrorCode::kUnsupported, "slot refused: epilogue with loops, locals or reductions");
  return {};
}

std::string gemm_f32_kernel(const loop::LoopNest& nest, const CudaTarget& target) {
  const auto& gemm = std::get<loop::Gemm>(rows_of(nest).body.front().node);
  Lines lines(1);
  ExprPrinter printer(nest, lines);
  printer.begin({gemm.a});
  const std::string value = printer.expression(gemm.a);
  lines.line("return {};", value);
  const std::string operand = lines.take();
  printer.print(gemm.body);
  const std::string epilogue = lines.take();
  const loop::Axis& work = nest.axis(rows_of(nest).axis);
  const std::string rows = printer.index(work.extent - work.begin), begin = printer.index(work.begin);

  std::string kernel = "struct Ctx {\n  const i64* n;\n", start = "{n";
  for (size_t i = 0; i < nest.buffers.size(); ++i) {
    const loop::Buffer& buffer = nest.buffers[i];
    kernel += fmt::format("  {}{}* b{};\n", buffer.access == loop::Access::kOut ? "" : "const ",
                          memory_type(buffer.dtype), i);
    start += fmt::format(", b{}", i);
  }
  kernel += "};\n";
  const std::string row = begin == "0" ? "" : fmt::format("  m += {};\n", begin);
  const int64_t columns = *nest.axis(gemm.n).extent.constant();
  kernel +=
      fmt::format("inline i64 gemm_rows(const Ctx& c) {{\n{}  return {};\n}}\n", variables(nest, rows), rows);
  kernel += fmt::format("#define GEMM_N {}ll\n#define GEMM_K {}ll\n#define GEMM_ROWS gemm_rows(c)\n", columns,
                        *nest.axis(gemm.k).extent.constant());
  kernel += fmt::format("inline const float* gemm_weight(const Ctx& c) {{ return c.b{}; }}\n", gemm.weight);
  kernel += fmt::format("inline float gemm_a(const Ctx& c, i64 m, i64 {}) {{\n{}{}{}}}\n",
                        printer.names().axis_name(gemm.k), variables(nest, row + operand), row, operand);
  kernel += fmt::format("inline void gemm_epilogue(const Ctx& c, i64 m, i64 {}, float v{}) {{\n{}{}{}}}\n",
                        printer.names().axis_name(gemm.n), gemm.value, variables(nest, row + epilogue), row,
                        epilogue);
  kernel += embedded_source("gemm_f32.cu");
  kernel +=
      fmt::format("extern \"C\" __global__ void __launch_bounds__(256) k({}) {{\n{}{}  gemm(Ctx{}}});\n}}\n",
                  kernel_parameters(nest), launch_dependents_line(target), wait_line(target), start);
  const CudaLaunch launch{
      .threads = 256, .blocks_per_sm = 4, .tile_rows = 64, .tile_columns = 64, .waits = target.has_pdl};
  return assemble_source(launch, kernel);
}

}  // namespace edge_infer::cuda
