// edge-infer compile: makes the kernels of a model now, so that its first use finds them.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <set>

#include "apps/cli/commands.h"
#include "apps/cli/model_options.h"
#include "apps/cli/report.h"
#include "compiler/codegen/registry.h"
#include "compiler/dump.h"
#include "compiler/graph_entry_builder.h"
#include "compiler/tuned_schedule.h"
#include "models/hub/model_directory.h"
#include "models/model_embedder.h"

namespace edge_infer {
namespace {

struct CompileArguments {
  ModelOptions model;
  std::string dump;
};

Status dump(const ModelEmbedder& embedder, const std::string& dir) {
  EDGE_INFER_ASSIGN(const Graph graph, embedder.graph());
  EDGE_INFER_ASSIGN(const TargetCompiler target, open_compiler(embedder.device().target().name));
  CompileOptions options;
  options.precision = product_type(*target.generator, embedder.settings());
  const CompileSite site = embedder.site(target);
  options.schedule = [&](const loop::LoopNest& nest, int64_t rows) {
    return stored_schedule(nest, rows, site, *embedder.cache());
  };
  EDGE_INFER_ASSIGN(const CompiledGraph compiled,
                    compile(graph, embedder.device().target(), *target.generator, *target.compiler, options));
  return write_dump(compiled, *target.compiler, dir);
}

Status compile_model(const CompileArguments& a) {
  const auto begin = std::chrono::steady_clock::now();
  EDGE_INFER_ASSIGN(const std::filesystem::path dir, resolve_model(a.model.model));
  EDGE_INFER_ASSIGN(const std::unique_ptr<ModelEmbedder> embedder,
                    ModelEmbedder::open(dir, a.model.embedder));
  EDGE_INFER_RETURN_IF_ERROR(embedder->prepare());
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
  std::set<std::string> compiled, prebuilt;
  for (const auto& entry : embedder->module().entries())
    for (const KernelRef& kernel : entry->program->program().kernels)
      (kernel.name.starts_with("kernel:") ? compiled : prebuilt).insert(kernel.name);
  fmt::print("{} for {}: {} compiled kernels, {} prebuilt, ready in {:.0f} ms\n", a.model.model,
             embedder->device().target().name, compiled.size(), prebuilt.size(), spent.count());
  if (!a.dump.empty()) EDGE_INFER_RETURN_IF_ERROR(dump(*embedder, a.dump));
  return {};
}

}  // namespace

void add_compile_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("compile", "compile a model's kernels for this machine");
  auto a = std::make_shared<CompileArguments>();
  add_model_options(*command, a->model, true);
  command->add_option("--dump", a->dump, "write graph, loops, sources and assembly into this folder");
  command->callback([a, &exit_code] {
    if (const Status status = compile_model(*a); !status) exit_code = report_error(status.error());
  });
}

}  // namespace edge_infer
