// tests/golden/loops/NAME.graph compiled for cpu.avx2 gives the texts in tests/golden/compiled/NAME.
// EDGE_INFER_UPDATE_GOLDEN=1 writes them anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/codegen/registry.h"
#include "compiler/compile.h"
#include "compiler/dump.h"
#include "compiler/graph/parse.h"
#include "compiler/graph/print.h"
#include "compiler/loop/print.h"
#include "runtime/device/registry.h"

namespace edge_infer {
namespace {

const std::filesystem::path kGraphs = "tests/golden/loops", kTexts = "tests/golden/compiled";
constexpr const char* kTarget = "cpu.avx2";

std::string content_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Result<CompiledGraph> compiled(const std::string& name) {
  EDGE_INFER_ASSIGN(const Graph graph, parse_graph(content_of(kGraphs / (name + ".graph"))));
  EDGE_INFER_ASSIGN(const Target target, find_target(kTarget));
  EDGE_INFER_ASSIGN(const TargetCompiler compiler, open_compiler(kTarget));
  return compile(graph, target, *compiler.generator, *compiler.compiler, {});
}

// Kernels by position and nest: their ids change with every compiler.
std::string with_nest_names(std::string text, const CompiledGraph& graph) {
  for (size_t k = 0; k < graph.kernels.size(); ++k) {
    const KernelPlan& kernel = graph.kernels[k];
    const std::string name = fmt::format("kernel:{:02}@{}", k, kernel.nest.name);
    for (size_t at = text.find(kernel.name); at != std::string::npos; at = text.find(kernel.name, at + 1))
      text.replace(at, kernel.name.size(), name);
  }
  return text;
}

struct Text {
  const char* file;
  std::string content;
};

std::vector<Text> texts_of(const CompiledGraph& graph) {
  std::string loops, source;
  for (const loop::LoopProgram& form : graph.forms) loops += loop::print_loops(form, graph.graph) + "\n";
  for (size_t k = 0; k < graph.kernels.size(); ++k)
    source += fmt::format("// {:02} @{}\n{}\n", k, graph.kernels[k].nest.name,
                          graph.kernels[k].generated.source.source);
  return {{"graph.txt", print(graph.graph)},
          {"loops.txt", loops},
          {"source.txt", source},
          {"program.txt", with_nest_names(print_program(graph.program), graph)}};
}

class CompiledGolden : public testing::TestWithParam<const char*> {};

TEST_P(CompiledGolden, texts_are_as_recorded) {
  const Result<CompiledGraph> graph = compiled(GetParam());
  ASSERT_TRUE(graph) << graph.error().message;
  const std::filesystem::path folder = kTexts / GetParam();
  const bool updates = std::getenv("EDGE_INFER_UPDATE_GOLDEN") != nullptr;
  if (updates) std::filesystem::create_directories(folder);
  for (const Text& text : texts_of(*graph)) {
    if (updates) std::ofstream(folder / text.file) << text.content;
    EXPECT_EQ(text.content, content_of(folder / text.file)) << folder / text.file;
  }
}

TEST_P(CompiledGolden, the_same_graph_gives_the_same_kernels) {
  const Result<CompiledGraph> a = compiled(GetParam()), b = compiled(GetParam());
  ASSERT_TRUE(a && b);
  ASSERT_EQ(a->kernels.size(), b->kernels.size());
  for (size_t k = 0; k < a->kernels.size(); ++k) EXPECT_EQ(a->kernels[k].name, b->kernels[k].name);
  EXPECT_EQ(a->program, b->program);
}

INSTANTIATE_TEST_SUITE_P(Graphs, CompiledGolden,
                         testing::Values("post_norm_encoder", "pre_norm_block", "rms_norm_swiglu",
                                         "padded_mask_softmax"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace edge_infer
