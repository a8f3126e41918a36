// Kernels around gemm.c: the statements before the gemm, its body, and the statements behind it as slot
// functions (SLOTS.md). What lives from one slot to the next has a row for each row of the template's block
// in scratch.
#include <algorithm>
#include <set>

#include "backends/cpu/cc/units.h"
#include "backends/cpu/codegen/declarations.h"
#include "backends/cpu/codegen/embedded_sources.h"
#include "backends/cpu/codegen/kernel_printer.h"
#include "backends/cpu/codegen/kernel_text.h"
#include "backends/cpu/codegen/prelude.h"

namespace edge_infer::cpu_codegen {
namespace {

class GemmText {
 public:
  GemmText(const loop::LoopNest& nest, const GemmProblem& problem, const GemmSchedule& schedule)
      : nest_(nest),
        problem_(problem),
        schedule_(schedule),
        parts_(gemm_parts(nest)),
        gemm_(*parts_.gemm),
        printer_(nest, 1),
        bf16_(is_bf16(nest, gemm_)),
        element_(memory_type(bf16_ ? DType::kBF16 : DType::kF32)),
        plain_rows_(has_plain_rows(nest, gemm_)) {}

  KernelText text() {
    print_bodies();
    return assemble();
  }

 private:
  struct Field {
    std::string type, name, start;  // `TYPE NAME;` of Ctx, and what k() sets it to
  };

  void print_bodies() {
    for (const loop::Stmt* stmt : parts_.before) printer_.print_statement(*stmt);
    if (!plain_rows_) printer_.print_row(gemm_.k, gemm_.a, "row");
    before_ = printer_.out().take();
    printer_.define_value(gemm_.value, true);
    const std::string whole = epilogue_lanes(true);
    if (problem_.n % 16 == 0) {
      epilogue_ = whole;
    } else {
      epilogue_ = problem_.n < 16 ? epilogue_lanes(false)
                                  : fmt::format("  if (lanes == 16) {{\n{}    return;\n  }}\n{}",
                                                indented(whole), epilogue_lanes(false));
    }
    touch_ = touches();
    for (const loop::Stmt* stmt : parts_.after) printer_.print_statement(*stmt);
    after_ = printer_.out().take();
    rows_ = plain_rows_ ? fmt::format("{} + {}", row_pointer(),
                                      parenthesized(printer_.index_code(row_start(nest_, gemm_))))
                        : "row";
  }

  std::string epilogue_lanes(bool whole) {
    printer_.print_lanes(gemm_.n, whole, true, gemm_.body);
    return printer_.out().take();
  }

  // Prefetches of what the epilogue reads and writes at row m and sixteen columns.
  std::string touches() {
    const std::string& row = nest_.axis(std::get<loop::For>(nest_.body.front().node).axis).name;
    const std::string& column = nest_.axis(gemm_.n).name;
    std::set<std::string> lines;
    const auto touch = [&](int32_t buffer, const SymInt& index) {
      const auto symbols = index.symbols();
      const auto step = codegen::lane_step(index, column, 1, [&](std::string_view s) { return s == column; });
      const bool known = std::ranges::all_of(symbols, [&](const std::string& s) {
        return s == row || s == column ||
               std::ranges::find(nest_.symbols, s, &Symbol::name) != nest_.symbols.end();
      });
      if (known && step && step->constant() == 1 && std::ranges::find(symbols, row) != symbols.end())
        lines.insert(fmt::format("  __builtin_prefetch(b{} + {}, 0, 2);\n", buffer,
                                 parenthesized(printer_.index_code(index))));
    };
    std::vector<loop::ExprId> open;
    for (const loop::Stmt& stmt : gemm_.body) {
      if (const auto* let = std::get_if<loop::Let>(&stmt.node)) open.push_back(let->expr);
      if (const auto* local = std::get_if<loop::StoreLocal>(&stmt.node)) open.push_back(local->expr);
      if (const auto* store = std::get_if<loop::Store>(&stmt.node)) {
        touch(store->buffer, store->index);
        open.push_back(store->expr);
      }
    }
    std::set<loop::ExprId> seen;
    while (!open.empty()) {
      const loop::ExprId id = open.back();
      open.pop_back();
      if (!seen.insert(id).second) continue;
      const loop::Expr& e = nest_.expr(id);
      for (const loop::ExprId operand : e.operands)
        if (operand != loop::kNoExpr) open.push_back(operand);
      if (e.kind == loop::Expr::Kind::kLoad) touch(e.id, e.index);
    }
    std::string text;
    for (const std::string& line : lines) text += line;
    return text;
  }

  std::string row_pointer() const {
    const loop::Expr& a = nest_.expr(gemm_.a);
    return fmt::format("{}{}", a.kind == loop::Expr::Kind::kLoad ? 'b' : 'c', a.id);
  }
  static std::string parenthesized(const std::string& code) { return fmt::format("({})", code); }
  static std::string indented(std::string_view text) {
    std::string result;
    while (!text.empty()) {
      const size_t end = text.find('\n') + 1;
      result += "  ";
      result += text.substr(0, end);
      text.remove_prefix(end);
    }
    return result;
  }

  bool whole_rows() const { return problem_.whole_rows; }
  bool has_before() const { return !before_.empty(); }
  bool used(std::string_view name) const {
    return names(before_, name) || names(epilogue_, name) || names(after_, name) || names(rows_, name);
  }
  // Beyond the slot that makes it.
  bool outlives_slot(std::string_view name) const {
    const int slots = int{names(before_, name) || names(rows_, name)} + int{names(epilogue_, name)} +
                      int{names(after_, name)};
    return slots > 1 || names(epilogue_, name) || names(rows_, name);
  }

  void collect_fields() {
    fields_.push_back({.type = fmt::format("const {}*", element_),
                       .name = "weight",
                       .start = fmt::format("args->buffers[{}]", gemm_.weight)});
    for (size_t i = 0; i < nest_.buffers.size(); ++i)
      if (const std::string name = fmt::format("b{}", i); used(name))
        fields_.push_back({pointer_type(nest_.buffers[i]), name, fmt::format("args->buffers[{}]", i)});
    for (size_t i = 0; i < nest_.symbols.size(); ++i)
      if (const std::string name = fmt::format("s{}", i); used(name))
        fields_.push_back({"int64_t", name, fmt::format("args->integers[{}]", i)});
    ScratchLayout layout(schedule_.scratch_bytes(problem_));
    const auto add_scratch = [&](const std::string& type, const std::string& name, int64_t bytes) {
      fields_.push_back({type, name, fmt::format("({})((char*)scratch + {})", type, layout.add(bytes))});
    };
    const int64_t rows = schedule_.row_block;
    for (size_t i = 0; i < nest_.locals.size(); ++i) {
      const std::string name = fmt::format("c{}", i);
      if (!used(name)) continue;
      const DType dtype = nest_.locals[i].dtype;
      const int64_t stride = local_elements(nest_, nest_.locals[i]);
      const std::string type = fmt::format("{}*", memory_type(dtype));
      const bool blocked = outlives_slot(name);
      add_scratch(type, name, stride * dtype_size(dtype) * (blocked ? rows : 1));
      row_lines_ += blocked ? fmt::format("  {} {} = c->{} + r * {};\n", type, name, name, stride)
                            : fmt::format("  {} {} = c->{};\n", type, name, name);
    }
    if (!plain_rows_) {
      const int64_t stride = (problem_.k + 15) / 16 * 16;
      const std::string type = fmt::format("{}*", element_);
      // The templates for bf16 copy a row as soon as it is made.
      add_scratch(type, "row", bf16_ ? stride * 2 : stride * 4 * rows);
      row_lines_ += bf16_ ? fmt::format("  {} row = c->row;\n", type)
                          : fmt::format("  {} row = c->row + r * {};\n", type, stride);
    }
    for (const loop::Stmt* stmt : parts_.before) {
      std::vector<int32_t> made;
      if (const auto* let = std::get_if<loop::Let>(&stmt->node)) made = {let->value};
      if (const auto* reduce = std::get_if<loop::Reduce>(&stmt->node)) made = reduce->values;
      for (const int32_t value : made) {
        const std::string name = fmt::format("v{}", value);
        if (!names(epilogue_, name) && !names(after_, name)) continue;
        const std::string_view type = scalar_type(lane_of(nest_.values[static_cast<size_t>(value)].dtype));
        add_scratch(fmt::format("{}*", type), name, 8 * rows);
        before_ += fmt::format("  c->{0}[r] = {0};\n", name);
        value_lines_ += fmt::format("  const {0} {1} = c->{1}[r];\n", type, name);
      }
    }
    scratch_bytes_ = layout.bytes();
  }

  // Variables that `body` names, from the context.
  std::string context(std::string_view body, bool with_values) const {
    std::string lines;
    for (const Field& field : fields_)
      if (field.name.front() == 'b' || field.name.front() == 's')
        lines += fmt::format("  {0} {1} = c->{1};\n", field.type, field.name);
    lines += row_lines_;
    if (with_values) lines += value_lines_;
    return only_used(lines, body);
  }

  KernelText assemble() {
    collect_fields();
    std::string slots = fmt::format(
        "#define GEMM_N {}\n#define GEMM_K {}\n#define GEMM_PANEL {}\n#define GEMM_HAS_BEFORE {}\n"
        "#define GEMM_HAS_ROW {}\n{}",
        problem_.n, problem_.k, problem_.panel, has_before() ? 1 : 0, after_.empty() ? 0 : 1,
        schedule_.defines(problem_));
    slots += "struct Ctx {\n";
    for (const Field& field : fields_) slots += fmt::format("  {} {};\n", field.type, field.name);
    slots += "};\n";
    slots += fmt::format("INLINE const {}* gemm_weight(const struct Ctx* c) {{\n  return c->weight;\n}}\n",
                         element_);
    slots += fmt::format(
        "INLINE const {}* gemm_a(const struct Ctx* c, int64_t m, int64_t r) {{\n{}  return {};\n}}\n",
        element_, context(rows_, false), rows_);
    slots += fmt::format("INLINE void gemm_before(const struct Ctx* c, int64_t m, int64_t r) {{\n{}{}}}\n",
                         context(before_, false), before_);
    slots += fmt::format(
        "INLINE void gemm_epilogue(const struct Ctx* c, int64_t m, int64_t r, int64_t {}, int64_t lanes, "
        "f32x16 v{}) "
        "{{\n{}{}}}\n",
        printer_.axis_name(gemm_.n), gemm_.value, context(epilogue_, true), epilogue_);
    if (!bf16_)
      slots += fmt::format("INLINE void gemm_touch(const struct Ctx* c, int64_t m, int64_t {}) {{\n{}{}}}\n",
                           printer_.axis_name(gemm_.n), context(touch_, false), touch_);
    slots += fmt::format("INLINE void gemm_row(const struct Ctx* c, int64_t m, int64_t r) {{\n{}{}}}\n",
                         context(after_, true), after_);
    std::string entry =
        "void k(const struct KernelArgs* args, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* "
        "scratch) {\n"
        "  struct Ctx ctx;\n";
    for (const Field& field : fields_) entry += fmt::format("  ctx.{} = {};\n", field.name, field.start);
    entry += "  gemm(&ctx, m0, m1, n0, n1, scratch);\n}\n";
    const std::string prelude = select_prelude(slots + entry);
    return {.source = fmt::format("{}\n{}\n{}\n{}{}", prelude, slots, template_text(), entry, shared_unit()),
            .scratch_bytes = scratch_bytes_};
  }

  std::string template_text() const {
    if (problem_.accumulation == GemmClass::kBF16Amx) return std::string(embedded::gemm_amx_template());
    if (bf16_) return std::string(embedded::gemm_bf16_template());
    return fmt::format("{}\n{}", embedded::gemm_sweep_header(), embedded::gemm_template());
  }

  // What all f32 products of a target have in common.
  std::string shared_unit() const {
    if (bf16_) return "";
    return fmt::format("{}{}\n{}", kUnitMark, embedded::gemm_sweep_header(), embedded::gemm_sweep());
  }

  const loop::LoopNest& nest_;
  const GemmProblem& problem_;
  const GemmSchedule& schedule_;
  GemmParts parts_;
  const loop::Gemm& gemm_;
  KernelPrinter printer_;
  bool bf16_;
  std::string_view element_;  // of the operands
  bool plain_rows_;
  std::string before_, epilogue_, touch_, after_, rows_;
  std::vector<Field> fields_;
  std::string row_lines_, value_lines_;
  int64_t scratch_bytes_ = 0;
};

}  // namespace

KernelText gemm_kernel(const loop::LoopNest& nest, const GemmProblem& problem, const GemmSchedule& schedule) {
  return GemmText(nest, problem, schedule).text();
}

}  // namespace edge_infer::cpu_codegen
