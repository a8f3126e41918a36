#include "backends/cpu/codegen/kernel_text.h"

#include <algorithm>

#include "backends/cpu/codegen/declarations.h"
#include "backends/cpu/codegen/embedded_sources.h"
#include "backends/cpu/codegen/kernel_printer.h"
#include "backends/cpu/codegen/prelude.h"
#include "backends/cpu/templates/attention_schedule.h"

namespace edge_infer::cpu_codegen {

using loop::Stmt;

namespace {

constexpr std::string_view kEntry =
    "void k(const struct KernelArgs* args, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) "
    "{\n";

const loop::For& rows_of(const loop::LoopNest& nest) {
  return std::get<loop::For>(nest.body.front().node);
}

}  // namespace

GemmParts gemm_parts(const loop::LoopNest& nest) {
  GemmParts parts;
  for (const Stmt& stmt : rows_of(nest).body) {
    if (const auto* gemm = std::get_if<loop::Gemm>(&stmt.node); gemm != nullptr && parts.gemm == nullptr)
      parts.gemm = gemm;
    else if (!std::holds_alternative<loop::DeclareLocal>(stmt.node))
      (parts.gemm == nullptr ? parts.before : parts.after).push_back(&stmt);
  }
  return parts;
}

const loop::Attention* attention_of(const loop::LoopNest& nest) {
  for (const Stmt& stmt : rows_of(nest).body)
    if (const auto* attention = std::get_if<loop::Attention>(&stmt.node)) return attention;
  return nullptr;
}

int64_t local_elements(const loop::LoopNest& nest, const loop::Local& local) {
  constexpr int64_t kMost = int64_t{1} << 40;
  const SymRange range = local.size.range(nest.symbols);
  if (range.hi > kMost) return -1;
  return (std::max<int64_t>(range.hi, 1) + 15) / 16 * 16;
}

bool is_bf16(const loop::LoopNest& nest, const loop::Gemm& gemm) {
  return nest.buffers[static_cast<size_t>(gemm.weight)].dtype == DType::kBF16;
}

bool has_plain_rows(const loop::LoopNest& nest, const loop::Gemm& gemm) {
  const loop::Expr& a = nest.expr(gemm.a);
  if (a.dtype != nest.buffers[static_cast<size_t>(gemm.weight)].dtype ||
      (a.kind != loop::Expr::Kind::kLoad && a.kind != loop::Expr::Kind::kLocal))
    return false;
  if (a.operands[0] != loop::kNoExpr) return false;
  const std::string &k = nest.axis(gemm.k).name, &m = nest.work().name;
  const auto along_k = lane_step(a.index, k, 1, [&](std::string_view s) { return s == k; });
  if (!along_k || along_k->constant() != 1) return false;
  // Sizes alone may stand beside m and k: a value may differ from row to row in any way.
  for (const std::string& name : a.index.symbols())
    if (name != m && name != k && std::ranges::find(nest.symbols, name, &Symbol::name) == nest.symbols.end())
      return false;
  return lane_step(row_start(nest, gemm), m, 1, [&](std::string_view s) { return s == m; }).has_value();
}

SymInt row_start(const loop::LoopNest& nest, const loop::Gemm& gemm) {
  return nest.expr(gemm.a).index.substitute({{nest.axis(gemm.k).name, SymInt(0)}});
}

GemmProblem gemm_problem(const loop::LoopNest& nest, int panel, bool fused_multiply_add,
                         GemmClass bf16_class) {
  const GemmParts parts = gemm_parts(nest);
  const bool bf16 = is_bf16(nest, *parts.gemm);
  // The templates for bf16 copy their rows whatever these are: a computed operand is made again for each
  // range of columns.
  const bool computed_rows = !bf16 && !has_plain_rows(nest, *parts.gemm);
  return {.n = *nest.axis(parts.gemm->n).extent.constant(),
          .k = *nest.axis(parts.gemm->k).extent.constant(),
          .panel = panel,
          .whole_rows = !parts.before.empty() || !parts.after.empty() || computed_rows,
          .fused_multiply_add = fused_multiply_add,
          .accumulation = bf16 ? bf16_class : GemmClass::kF32};
}

bool work_in_lanes(const loop::LoopNest& nest) {
  return KernelPrinter(nest, 0).work_in_lanes();
}

bool splits_columns(const loop::LoopNest& nest) {
  return nest.split_columns() >= 0 && !work_in_lanes(nest);
}

KernelText plain_kernel(const loop::LoopNest& nest) {
  KernelPrinter printer(nest, 1);
  printer.print_rows();
  const std::string body = printer.out().take();
  ScratchLayout layout(0);
  std::string locals;
  for (size_t i = 0; i < nest.locals.size(); ++i) {
    const int64_t bytes = local_elements(nest, nest.locals[i]) * dtype_size(nest.locals[i].dtype);
    locals += local_from_scratch(nest, i, layout.add(bytes));
  }
  const std::string kernel = fmt::format("{}{}{}{}}}\n", kEntry, arguments_used(nest, body, "args->"),
                                         only_used(locals, body), body);
  return {.source = fmt::format("{}\n{}", select_prelude(kernel), kernel), .scratch_bytes = layout.bytes()};
}

KernelText attention_kernel(const loop::LoopNest& nest) {
  const loop::Attention& a = *attention_of(nest);
  std::string slots = fmt::format(
      "#define ATTENTION_HEADS {}\n#define ATTENTION_KV_HEADS {}\n#define ATTENTION_DIM {}\n"
      "#define ATTENTION_BLOCK_ROWS {}\n#define ATTENTION_SCALE {}\n#define ATTENTION_CAUSAL {}\n"
      "#define ATTENTION_Q_ROW {}\n#define ATTENTION_K_ROW {}\n#define ATTENTION_V_ROW {}\n#define "
      "ATTENTION_OUT_ROW {}\n",
      a.heads, a.kv_heads, a.dim, a.block_rows, number_literal(a.scale, Lane::kF32), a.causal ? 1 : 0,
      a.q.row, a.k.row, a.v.row, a.out.row);
  const int64_t scratch = attention_scratch_bytes(a.dim);
  slots += fmt::format("#define ATTENTION_SCRATCH_BYTES {}\n", scratch);
  slots += "struct Ctx {\n  void* const* buffers;\n};\n";
  const auto view = [&](std::string_view name, const loop::Attention::View& v, std::string_view type) {
    slots += fmt::format(
        "INLINE {0}* attention_{1}(const struct Ctx* c) {{\n  return ({0}*)c->buffers[{2}] + {3};\n}}\n",
        type, name, v.buffer, v.offset);
  };
  view("q", a.q, "const float");
  view("k", a.k, "const float");
  view("v", a.v, "const float");
  view("out", a.out, "float");
  view("cu", {.buffer = a.cu}, "const int32_t");
  view("units", {.buffer = a.units}, "const int32_t");
  const std::string kernel = fmt::format(
      "{}\n{}\n{}  const struct Ctx ctx = {{args->buffers}};\n  attention(&ctx, m0, m1, scratch);\n}}\n",
      slots, embedded::attention_template(), kEntry);
  return {.source = select_prelude(kernel) + "\n" + kernel, .scratch_bytes = scratch};
}

}  // namespace edge_infer::cpu_codegen
