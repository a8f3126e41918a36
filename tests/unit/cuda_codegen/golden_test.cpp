// Sources of the shared nests as files that people read: tests/golden/cuda. $EDGE_INFER_UPDATE_GOLDEN writes
// them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "backends/cuda/codegen/cuda_code_generator.h"
#include "compiler/loop/parse.h"
#include "tests/unit/cuda_codegen/nests.h"

namespace edge_infer::cuda::test {
namespace {

std::string source_of(const loop::LoopNest& nest, const char* target) {
  const auto generator = CudaCodeGenerator::for_target(target);
  const auto kernel = generator->generate(nest, "");
  return kernel ? kernel->source.source : kernel.error().message;
}

TEST(CudaGolden, sources_are_as_recorded) {
  for (const NamedNest& named : kNests) {
    const auto nest = loop::parse_nest(named.text);
    ASSERT_TRUE(nest) << nest.error().message;
    const std::string source = source_of(*nest, "cuda.sm_90a");
    const std::string file = std::string("tests/golden/cuda/") + named.name + ".cu";
    if (std::getenv("EDGE_INFER_UPDATE_GOLDEN") != nullptr) {
      std::ofstream(file) << source;
      continue;
    }
    std::ifstream in(file);
    std::ostringstream recorded;
    recorded << in.rdbuf();
    EXPECT_EQ(source, recorded.str()) << file;
  }
}

TEST(CudaGolden, equal_nests_give_equal_text_and_nothing_of_their_names) {
  std::string text = kNests[0].text;
  const auto nest = loop::parse_nest(text);
  text.replace(text.find("layer_norm"), 10, "evil_name0");
  for (size_t at = 0; (at = text.find("T", at)) != std::string::npos; at += 4) text.replace(at, 1, "Rows");
  const auto renamed = loop::parse_nest(text);
  ASSERT_TRUE(renamed) << renamed.error().message;
  EXPECT_EQ(source_of(*nest, "cuda.sm_90a"), source_of(*renamed, "cuda.sm_90a"));
  EXPECT_EQ(source_of(*renamed, "cuda.sm_90a").find("Rows"), std::string::npos);
}

TEST(CudaGolden, dependent_launch_stands_only_where_the_target_has_it) {
  const auto nest = loop::parse_nest(kNests[0].text);
  EXPECT_EQ(source_of(*nest, "cuda.sm_89").find("griddepcontrol"), std::string::npos);
  EXPECT_NE(source_of(*nest, "cuda.sm_89").find("waits=0"), std::string::npos);
  EXPECT_NE(source_of(*nest, "cuda.sm_120").find("waits=1"), std::string::npos);
}

}  // namespace
}  // namespace edge_infer::cuda::test
