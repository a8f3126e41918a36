// tests/golden/loops: NAME.graph lowered is NAME.txt. EDGE_INFER_UPDATE_GOLDEN=1 writes the texts anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "compiler/loop/lower.h"
#include "tests/unit/loop_lower/check.h"

namespace edge_infer::loop::test {
namespace {

const std::filesystem::path kFolder = "tests/golden/loops";

std::string content_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

LoopProgram lowered(const std::string& name, Graph& graph) {
  graph = optimized(content_of(kFolder / (name + ".graph")));
  auto program = lower(graph, {});
  if (!program) ADD_FAILURE() << name << ": " << program.error().message;
  return program ? *std::move(program) : LoopProgram{};
}

TEST(LoopGolden, texts_are_as_recorded) {
  const bool updates = std::getenv("EDGE_INFER_UPDATE_GOLDEN") != nullptr;
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".graph") continue;
    Graph graph("none");
    const LoopProgram program = lowered(entry.path().stem(), graph);
    const std::string text = text_of(program, graph);
    const auto recorded = std::filesystem::path(entry.path()).replace_extension(".txt");
    if (updates) std::ofstream(recorded) << text;
    EXPECT_EQ(text, content_of(recorded)) << recorded;
    ++count;
  }
  EXPECT_GE(count, 4);
}

// Positions; embeddings; per layer qkv, attention, output with norm, two of the feed-forward; pooling with
// norm.
TEST(LoopGolden, an_encoder_layer_is_five_kernels_and_all_layers_share_them) {
  Graph graph("none");
  const LoopProgram program = lowered("post_norm_encoder", graph);
  EXPECT_EQ(nest_steps(program), 2 + 2 * 5 + 1);
  EXPECT_LE(program.nests.size(), 9U);
  std::set<int32_t> first, second;
  for (size_t i = 0; i < 5; ++i) {
    first.insert(program.steps[2 + i].nest);
    second.insert(program.steps[7 + i].nest);
  }
  EXPECT_EQ(first, second) << text_of(program, graph);
}

}  // namespace
}  // namespace edge_infer::loop::test
