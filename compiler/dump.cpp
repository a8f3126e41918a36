#include "compiler/dump.h"

#include <cstdlib>
#include <string_view>
#include <vector>

#include "compiler/graph/op_table.h"
#include "compiler/graph/print.h"
#include "compiler/loop/print.h"
#include "runtime/base/log.h"
#include "runtime/base/mapped_file.h"

namespace edge_infer {
namespace {

Status write(const std::filesystem::path& file, std::string_view text) {
  return write_file_atomically(file, std::as_bytes(std::span(text)));
}

std::string node_list(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::string out;
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    out += fmt::format("{}%{} = {}", out.empty() ? "" : "; ", graph.value(node.outputs.front()).name,
                       node.op->name);
  }
  return out;
}

// What a kernel computes: each step of each form that runs it.
std::string origin_comment(const CompiledGraph& compiled, size_t kernel) {
  std::string out = fmt::format("// {}\n", compiled.kernels[kernel].nest.name);
  for (size_t f = 0; f < compiled.forms.size(); ++f)
    for (const loop::Step& step : compiled.forms[f].steps)
      if (step.nest >= 0 && compiled.form_kernels[f][static_cast<size_t>(step.nest)] == kernel)
        out += fmt::format("//   form {}: {}\n", f, node_list(compiled.graph, step.nodes));
  return out;
}

}  // namespace

std::string describe_kernels(const CompiledGraph& compiled) {
  std::string out;
  for (size_t f = 0; f < compiled.forms.size(); ++f) {
    const loop::LoopProgram& form = compiled.forms[f];
    out += fmt::format("form {}, when {}\n", f, compiled.when[f].str());
    for (const loop::Step& step : form.steps) {
      if (step.nest < 0) {
        out += fmt::format("  prebuilt              : {}\n", node_list(compiled.graph, step.nodes));
        continue;
      }
      const auto n = static_cast<size_t>(step.nest);
      const KernelPlan& plan = compiled.kernels[compiled.form_kernels[f][n]];
      out += fmt::format("  {} {:<14}: {}\n", plan.name.substr(0, 15), form.nests[n].name,
                         node_list(compiled.graph, step.nodes));
    }
  }
  return out;
}

std::string describe_unfused(const CompiledGraph& compiled) {
  const auto name = [&](NodeId id) {
    if (id == kNoNode) return std::string("?");
    const Node& node = compiled.graph.node(id);
    return fmt::format("%{} ({})", compiled.graph.value(node.outputs.front()).name, node.op->name);
  };
  std::string out;
  for (const loop::Unfused& edge : compiled.forms.front().unfused)
    out += fmt::format("{} -> {}: {}\n", name(edge.producer), name(edge.consumer), edge.reason);
  return out;
}

Status write_dump(const CompiledGraph& compiled, KernelCompiler& compiler, const std::filesystem::path& dir) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) return fail(ErrorCode::kIoError, "\"{}\": {}", dir.native(), error.message());
  EDGE_INFER_RETURN_IF_ERROR(write(dir / "graph.txt", print(compiled.graph)));
  std::string loops;
  for (const loop::LoopProgram& form : compiled.forms)
    loops += loop::print_loops(form, compiled.graph) + "\n";
  EDGE_INFER_RETURN_IF_ERROR(write(dir / "loops.txt", loops));
  EDGE_INFER_RETURN_IF_ERROR(write(dir / "program.txt", print_program(compiled.program)));
  std::string table = describe_kernels(compiled) + "\n";
  std::vector<KernelSource> sources;
  for (size_t k = 0; k < compiled.kernels.size(); ++k) {
    const KernelPlan& plan = compiled.kernels[k];
    const std::string file = fmt::format("{:02}{}", k, compiler.source_suffix());
    table += fmt::format("{} = {}: nest {}, schedule {}\n  {}\n", file, plan.name, plan.nest.name,
                         plan.schedule.empty() ? "default" : plan.schedule, plan.key.text());
    EDGE_INFER_RETURN_IF_ERROR(write(dir / file, origin_comment(compiled, k) + plan.generated.source.source));
    sources.push_back(plan.generated.source);
    sources.back().keep_assembly = true;
  }
  EDGE_INFER_RETURN_IF_ERROR(write(dir / "kernels.txt", table));
  if (!compiler.available()) return {};
  const auto results = compiler.compile(sources);
  for (size_t k = 0; k < results.size(); ++k)
    if (results[k])
      EDGE_INFER_RETURN_IF_ERROR(
          write(dir / fmt::format("{:02}{}", k, compiler.assembly_suffix()), results[k]->assembly));
  return {};
}

const LogTopics& log_topics() {
  static const LogTopics topics = [] {
    LogTopics t;
    const char* value = std::getenv("EDGE_INFER_LOGS");  // NOLINT(concurrency-mt-unsafe): nothing sets it
    std::string_view rest = value == nullptr ? "" : value;
    while (!rest.empty()) {
      const size_t comma = rest.find(',');
      const std::string_view word = rest.substr(0, comma);
      rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
      if (word == "fusion")
        t.fusion = true;
      else if (word == "cache")
        t.cache = true;
      else if (word == "guards")
        t.guards = true;
      else if (word == "compile")
        t.compile = true;
      else if (word == "device")
        t.device = true;
      else
        log_warning("EDGE_INFER_LOGS names \"{}\", expected fusion, cache, guards, compile or device", word);
    }
    return t;
  }();
  return topics;
}

std::filesystem::path dump_folder() {
  const char* value = std::getenv("EDGE_INFER_DUMP");  // NOLINT(concurrency-mt-unsafe): nothing sets it
  return value == nullptr ? "" : value;
}

}  // namespace edge_infer
