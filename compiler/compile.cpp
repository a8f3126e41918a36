#include "compiler/compile.h"

#include <algorithm>
#include <utility>

#include "compiler/loop/lower.h"
#include "compiler/program/build_program.h"
#include "runtime/base/hash.h"

namespace edge_infer {
namespace {

using loop::LoopNest;
using loop::LoopProgram;

// Rows a worker below which a product is split along its columns: a tile of fewer reads all weights for
// little work.
constexpr int64_t kFewRows = 16;

bool has_gemm(const LoopNest& nest) {
  return std::ranges::any_of(std::get<loop::For>(nest.body.front().node).body,
                             [](const loop::Stmt& s) { return std::holds_alternative<loop::Gemm>(s.node); });
}
// An operand that is computed is computed for whole rows, once for all columns.
bool keeps_rows_whole(const LoopNest& nest) {
  for (const loop::Stmt& s : std::get<loop::For>(nest.body.front().node).body)
    if (const auto* gemm = std::get_if<loop::Gemm>(&s.node))
      return nest.split_columns() < 0 || nest.expr(gemm->a).kind != loop::Expr::Kind::kLoad;
  return false;
}

// 1 where rows <= most, else 0.
SymInt at_most(const SymInt& rows, int64_t most) {
  return min(1, max(0, SymInt(most + 1) - rows));
}

class Compilation {
 public:
  Compilation(const Target& target, const CodeGenerator& generator, const KernelCompiler& compiler,
              const CompileOptions& options)
      : target_(target), generator_(generator), compiler_(compiler), options_(options) {}

  Result<CompiledGraph> run(const Graph& graph) {
    out_.graph = graph;
    EDGE_INFER_ASSIGN(out_.passes, run_passes(out_.graph, pipeline()));
    EDGE_INFER_ASSIGN(LoopProgram fused, lower(false));
    EDGE_INFER_RETURN_IF_ERROR(add_fused_forms(std::move(fused)));
    if (target_.splits_rows && std::ranges::any_of(out_.forms.front().nests, keeps_rows_whole) &&
        !out_.graph.symbols().empty())
      EDGE_INFER_RETURN_IF_ERROR(add_split_form());
    std::vector<ProgramForm> forms;
    for (size_t f = 0; f < out_.forms.size(); ++f)
      forms.push_back({.loops = &out_.forms[f],
                       .when = out_.when[f],
                       .kernels = std::move(kernels_[f]),
                       .splits_columns = target_.splits_rows && f > 0,
                       .packed_format = generator_.packed_format(DType::kF32),
                       .packed_f16_format = generator_.packed_format(DType::kF16),
                       .packed_bf16_format = generator_.packed_format(DType::kBF16)});
    EDGE_INFER_ASSIGN(out_.program, build_program(out_.graph, target_, forms));
    return std::move(out_);
  }

 private:
  PipelineOptions pipeline() const {
    PipelineOptions options = options_.passes;
    if (!options.passes) options.passes = compile_pipeline(options_.precision);
    options.context.precision = half();
    return options;
  }

  DType half() const { return options_.precision == DType::kF16 ? DType::kF16 : DType::kBF16; }

  Result<LoopProgram> lower(bool split_rows) const {
    loop::LowerOptions options;
    options.attention_block_rows = target_.attention_block_rows;
    options.prebuilt_ops = target_.prebuilt_ops;
    options.fuse = options_.fuse;
    options.half = half();
    options.half_class = generator_.accumulation_class(half());
    options.narrow_temps = target_.narrow_temps && options_.precision != DType::kF32;
    options.accepts = [this, split_rows](const LoopNest& nest) -> Status {
      if (split_rows && keeps_rows_whole(nest))
        return fail(ErrorCode::kUnsupported, "slot refused: few rows a worker");
      return generator_.accepts(nest);
    };
    return loop::lower(out_.graph, options);
  }

  // The form for few rows a worker: products split along n, what follows them in nests of their own. Same
  // class, same bits.
  Status add_split_form() {
    EDGE_INFER_ASSIGN(LoopProgram split, lower(true));
    // In one worker's hands whole rows are always better.
    const SymInt rows = most_rows(out_.forms.front(), keeps_rows_whole);
    const SymInt workers = SymInt::symbol(kWorkersSymbol);
    const SymInt few = min(1, max(0, kFewRows * workers * min(1, workers - 1) - rows));
    out_.when.back() = 1 - few;
    EDGE_INFER_RETURN_IF_ERROR(add_form(std::move(split)));
    out_.when.back() = few;
    return {};
  }

  // The rows of the largest nest of a kind; 0 where there is none.
  static SymInt most_rows(const LoopProgram& loops, bool (*counts)(const LoopNest&)) {
    SymInt rows = 0;
    for (const loop::Step& step : loops.steps) {
      if (step.nest < 0) continue;
      const LoopNest& nest = loops.nests[static_cast<size_t>(step.nest)];
      if (!counts(nest)) continue;
      std::map<std::string, SymInt, std::less<>> values;
      for (size_t s = 0; s < nest.symbols.size(); ++s)
        values.insert_or_assign(nest.symbols[s].name, step.symbols[s]);
      const SymInt extent = nest.work().extent.substitute(values);
      rows = rows == SymInt(0) ? extent : max(rows, extent);
    }
    return rows;
  }

  // One form; or one for each of the generator's row classes, of the same nests with other schedules.
  Status add_fused_forms(LoopProgram loops) {
    const std::vector<int64_t> classes = generator_.row_classes();
    const SymInt rows = most_rows(loops, has_gemm);
    if (classes.empty() || rows.constant()) return add_form(std::move(loops));
    SymInt below = 0;
    for (const int64_t most : classes) {
      EDGE_INFER_RETURN_IF_ERROR(add_form(loops, most));
      out_.when.back() = at_most(rows, most) - below;
      below = at_most(rows, most);
    }
    EDGE_INFER_RETURN_IF_ERROR(add_form(std::move(loops), INT64_MAX));
    out_.when.back() = 1 - below;
    return {};
  }

  // `rows`: the class that schedules are chosen for; 0: none.
  Status add_form(LoopProgram loops, int64_t rows = 0) {
    std::vector<ProgramForm::Kernel> kernels;
    std::vector<size_t> used;
    for (const LoopNest& nest : loops.nests) {
      const Schedule schedule = options_.schedule ? options_.schedule(nest, rows)
                                : rows > 0        ? generator_.schedule_for(nest, rows)
                                                  : Schedule();
      EDGE_INFER_ASSIGN(KernelPlan plan, plan_kernel(nest, schedule, generator_, compiler_));
      kernels.push_back({plan.name, plan.generated});
      const auto known = std::ranges::find(out_.kernels, plan.name, &KernelPlan::name);
      used.push_back(static_cast<size_t>(known - out_.kernels.begin()));
      if (known == out_.kernels.end()) out_.kernels.push_back(std::move(plan));
    }
    out_.forms.push_back(std::move(loops));
    out_.when.emplace_back(1);
    out_.rows.push_back(rows);
    out_.form_kernels.push_back(std::move(used));
    kernels_.push_back(std::move(kernels));
    return {};
  }

  const Target& target_;
  const CodeGenerator& generator_;
  const KernelCompiler& compiler_;
  const CompileOptions& options_;
  CompiledGraph out_;
  std::vector<std::vector<ProgramForm::Kernel>> kernels_;
};

}  // namespace

Result<KernelPlan> plan_kernel(const LoopNest& nest, const Schedule& schedule, const CodeGenerator& generator,
                               const KernelCompiler& compiler) {
  KernelPlan plan;
  EDGE_INFER_ASSIGN(plan.generated, generator.generate(nest, schedule));
  plan.key.target = generator.target();
  plan.key.features = plan.generated.source.features;
  plan.key.compiler = compiler.identity();
  plan.key.generator = generator.version();
  plan.key.options = compiler.options();
  plan.key.source_hash = content_digest(plan.generated.source.source);
  plan.name = "kernel:" + plan.key.id();
  plan.nest = nest;
  plan.schedule = schedule;
  return plan;
}

Result<CompiledGraph> compile(const Graph& graph, const Target& target, const CodeGenerator& generator,
                              const KernelCompiler& compiler, const CompileOptions& options) {
  return Compilation(target, generator, compiler, options).run(graph);
}

}  // namespace edge_infer
