// edge-opt: reads the text of a graph, runs passes, prints what came out, and runs graphs on tensors. Results
// go to standard output, everything else to standard error. Exit codes: 0 ok, 1 failed, 2 wrong usage.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <iterator>

#include "apps/cli/edge_opt_compiled.h"
#include "apps/cli/edge_opt_fallback.h"
#include "apps/cli/npz.h"
#include "compiler/graph/parse.h"
#include "compiler/graph/print.h"
#include "compiler/graph/verify.h"
#include "compiler/passes/passes.h"
#include "runtime/base/file_size_signal.h"
#include "runtime/base/mapped_file.h"

namespace edge_infer {
namespace {

constexpr size_t kMaxText = size_t{16} << 20;

struct Options {
  std::string file, target, emit, run, in, out, precision = "fp32";
  std::vector<std::string> passes, skip;
  bool pipeline = false, trace = false, eager = false;

  CompileFor compile_for() const {
    return {target, precision == "fp16" ? DType::kF16 : precision == "bf16" ? DType::kBF16 : DType::kF32};
  }
};

int usage(const std::string& message) {
  std::fprintf(stderr, "edge-opt: %s\n", message.c_str());
  return 2;
}

Result<std::string> read_text(const std::string& file) {
  if (file != "-") return read_file(file, kMaxText);
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

// Whether the graph goes to the compiler or to the fallback, which wants other passes.
bool wants_compiler(const Options& options) {
  if (!options.run.empty()) return options.run == "loops" || options.run == "compiled";
  return options.emit == "loops" || options.emit == "source" || (options.emit == "program" && !options.eager);
}

Status transform(Graph& graph, const Options& options) {
  if (!options.pipeline && options.passes.empty()) return {};
  PipelineOptions pipeline;
  if (!options.passes.empty())
    pipeline.passes = options.passes;
  else if (wants_compiler(options))
    pipeline.passes = compile_pipeline(options.compile_for().precision);
  pipeline.skip = options.skip;
  if (options.precision != "fp32") pipeline.context.precision = options.compile_for().precision;
  if (options.trace)
    pipeline.on_change = [](std::string_view pass, const Graph& changed) {
      fmt::print(stderr, "// after {}\n{}", pass, print(changed));
    };
  EDGE_INFER_ASSIGN(const auto reports, run_passes(graph, pipeline));
  if (options.trace)
    for (const PassReport& report : reports)
      fmt::print(stderr, "// {}: {}, {:.1f} us\n", report.name, report.changed ? "changed" : "unchanged",
                 report.seconds * 1e6);
  return {};
}

Status emit(const Graph& graph, const Options& options) {
  std::string text;
  if (options.emit == "program" && !wants_compiler(options)) {
    EDGE_INFER_ASSIGN(text, fallback_program_text(graph, options.target));
  } else if (options.emit == "loops" || options.emit == "source" || options.emit == "program") {
    EDGE_INFER_ASSIGN(text, compiled_text(graph, options.compile_for(), options.emit));
  } else if (options.emit == "graph" || options.run.empty()) {
    text = print(graph);
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) != 0) return fail(ErrorCode::kIoError, "cannot write to standard output");
  return {};
}

Status run(const Graph& graph, const Options& options) {
  EDGE_INFER_ASSIGN(const TensorMap tensors, read_npz(options.in));
  const auto compute = [&] {
    if (options.run == "evaluate") return evaluate(graph, tensors);
    if (options.run == "loops") return loops_run(graph, options.compile_for(), tensors);
    if (options.run == "compiled") return compiled_run(graph, options.compile_for(), tensors);
    return fallback_run(graph, options.target, tensors);
  };
  EDGE_INFER_ASSIGN(auto results, compute());
  std::vector<std::pair<std::string, HostTensor>> named;
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string& name = graph.value(graph.outputs()[i].value).name;
    const bool is_known =
        std::any_of(named.begin(), named.end(), [&](const auto& item) { return item.first == name; });
    if (!is_known) named.emplace_back(name, std::move(results[i]));
  }
  return write_npz(options.out, named);
}

Status process(const Options& options) {
  EDGE_INFER_ASSIGN(const std::string text, read_text(options.file));
  auto graph = parse_graph(text);
  if (!graph) return fail_with_context(graph.error(), options.file);
  if (auto status = verify(*graph); !status) return fail_with_context(status.error(), options.file);
  EDGE_INFER_RETURN_IF_ERROR(transform(*graph, options));
  if (!options.run.empty()) EDGE_INFER_RETURN_IF_ERROR(run(*graph, options));
  return emit(*graph, options);
}

int run_program(int argc, char** argv) {
  Options options;
  CLI::App app{"Runs passes over the text of a graph, prints it, and runs it on tensors."};
  app.add_option("FILE", options.file, "text of a graph; - is standard input")->required();
  auto* passes = app.add_option("--passes", options.passes, "passes to run, in this order")->delimiter(',');
  app.add_flag("--pipeline", options.pipeline,
               "run the default pipeline (of the compiler for loops, source, program, compiled)")
      ->excludes(passes);
  app.add_option("--skip", options.skip, "passes to leave out")->delimiter(',');
  app.add_flag("--trace", options.trace, "print the graph after each pass that changed it, and times");
  app.add_flag("--eager", options.eager, "with --emit program: that of the fallback");
  app.add_option("--target", options.target, "cpu.portable, cpu.avx2, cpu.avx512, cuda.sm_90a, ...");
  app.add_option("--precision", options.precision, "of products, with --pipeline and the compiler")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}));
  app.add_option("--emit", options.emit, "what to print")
      ->check(CLI::IsMember({"graph", "loops", "source", "program"}));
  auto* run_option = app.add_option("--run", options.run, "run the graph on the arrays of --in")
                         ->check(CLI::IsMember({"evaluate", "fallback", "loops", "compiled"}));
  app.add_option("--in", options.in, "inputs and constants by name, .npz")->needs(run_option);
  app.add_option("--out", options.out, "outputs by name, .npz")->needs(run_option);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (!options.target.empty() && !is_target_name(options.target))
    return usage(
        fmt::format("--target is \"{}\", expected cpu.avx2, cuda.sm_90a or the like", options.target));
  if (!options.run.empty() && (options.in.empty() || options.out.empty()))
    return usage("--run needs --in and --out");
  for (const auto* names : {&options.passes, &options.skip})
    for (const std::string& name : *names) {
      const auto known = graph_passes();
      if (std::none_of(known.begin(), known.end(), [&](const PassInfo& pass) { return pass.name == name; })) {
        std::string list;
        for (const PassInfo& pass : known) list += (list.empty() ? "" : ", ") + std::string(pass.name);
        return usage(fmt::format("there is no pass \"{}\"; the passes are {}", name, list));
      }
    }
  if (auto status = process(options); !status) {
    std::fprintf(stderr, "edge-opt: %s\n", status.error().message.c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace edge_infer

int main(int argc, char** argv) {
  edge_infer::ignore_file_size_signal();
  try {
    return edge_infer::run_program(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("edge-opt: out of memory\n", stderr);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "edge-opt: internal error: %s\n", e.what());
  }
  return 1;
}
