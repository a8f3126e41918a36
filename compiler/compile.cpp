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

// An operand that is computed is computed for whole rows, once for all columns.
bool keeps_rows_whole(const LoopNest& nest) {
  for (const loop::Stmt& s : std::get<loop::For>(nest.body.front().node).body)
    if (const auto* gemm = std::get_if<loop::Gemm>(&s.node))
      return nest.split_columns() < 0 || nest.expr(gemm->a).kind != loop::Expr::Kind::kLoad;
  return false;
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
    EDGE_INFER_RETURN_IF_ERROR(add_form(std::move(fused)));
    if (std::ranges::any_of(out_.forms.front().nests, keeps_rows_whole) && !out_.graph.symbols().empty())
      EDGE_INFER_RETURN_IF_ERROR(add_split_form());
    std::vector<ProgramForm> forms;
    for (size_t f = 0; f < out_.forms.size(); ++f)
      forms.push_back({.loops = &out_.forms[f],
                       .when = out_.when[f],
                       .kernels = std::move(kernels_[f]),
                       .splits_columns = f > 0,
                       .packed_format = generator_.packed_format(DType::kF32),
                       .packed_bf16_format = generator_.packed_format(DType::kBF16)});
    EDGE_INFER_ASSIGN(out_.program, build_program(out_.graph, target_, forms));
    return std::move(out_);
  }

 private:
  PipelineOptions pipeline() const {
    PipelineOptions options = options_.passes;
    if (!options.passes) options.passes = compile_pipeline(options_.precision);
    return options;
  }

  Result<LoopProgram> lower(bool split_rows) const {
    loop::LowerOptions options;
    options.attention_block_rows = target_.attention_block_rows;
    options.prebuilt_ops = target_.prebuilt_ops;
    options.fuse = options_.fuse;
    options.bf16_class = generator_.accumulation_class(DType::kBF16);
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
    // By the rows of the largest product; in one worker's hands whole rows are always better.
    SymInt rows = 0;
    for (const loop::Step& step : out_.forms.front().steps) {
      if (step.nest < 0) continue;
      const LoopNest& nest = out_.forms.front().nests[static_cast<size_t>(step.nest)];
      if (!keeps_rows_whole(nest)) continue;
      std::map<std::string, SymInt, std::less<>> values;
      for (size_t s = 0; s < nest.symbols.size(); ++s)
        values.insert_or_assign(nest.symbols[s].name, step.symbols[s]);
      const SymInt extent = nest.work().extent.substitute(values);
      rows = rows == SymInt(0) ? extent : max(rows, extent);
    }
    const SymInt workers = SymInt::symbol(kWorkersSymbol);
    const SymInt few = min(1, max(0, kFewRows * workers * min(1, workers - 1) - rows));
    out_.when.back() = 1 - few;
    EDGE_INFER_RETURN_IF_ERROR(add_form(std::move(split)));
    out_.when.back() = few;
    return {};
  }

  Status add_form(LoopProgram loops) {
    std::vector<ProgramForm::Kernel> kernels;
    for (const LoopNest& nest : loops.nests) {
      const Schedule schedule = options_.schedule ? options_.schedule(nest) : Schedule();
      EDGE_INFER_ASSIGN(KernelPlan plan, plan_kernel(nest, schedule, generator_, compiler_));
      kernels.push_back({plan.name, plan.generated});
      if (std::ranges::none_of(out_.kernels, [&](const KernelPlan& k) { return k.name == plan.name; }))
        out_.kernels.push_back(std::move(plan));
    }
    out_.forms.push_back(std::move(loops));
    out_.when.emplace_back(1);
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
