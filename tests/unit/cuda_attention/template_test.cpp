// Which template serves a nest, and the text that comes of it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "backends/cuda/launch.h"
#include "backends/cuda/templates/attention_plan.h"
#include "backends/cuda/templates/attention_template.h"
#include "tests/support/cuda/attention_nests.h"

namespace edge_infer::cuda {
namespace {

using test::attention_nest;
using test::AttentionShape;

constexpr const char* kGolden = "tests/golden/cuda/attention.cu";

AttentionForm form_of(const AttentionShape& shape, std::string_view target) {
  return plan_attention(attention_nest(shape), {}, *CudaTarget::of(target))->form;
}

std::string content_of(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(AttentionTemplate, the_form_follows_from_types_widths_and_target) {
  for (const int64_t dim : {32, 64, 96, 128}) {
    EXPECT_EQ(form_of({.dim = dim}, "cuda.sm_90a"), AttentionForm::kWgmma) << dim;
    EXPECT_EQ(form_of({.dim = dim}, "cuda.sm_90"), AttentionForm::kMma) << dim;
    EXPECT_EQ(form_of({.dim = dim, .dtype = DType::kF32}, "cuda.sm_90a"), AttentionForm::kSimt) << dim;
  }
  EXPECT_EQ(form_of({.dim = 48}, "cuda.sm_90a"), AttentionForm::kMma);
  EXPECT_EQ(form_of({.dim = 20}, "cuda.sm_90a"), AttentionForm::kSimt);
  EXPECT_EQ(form_of({.dim = 64, .block_rows = 32}, "cuda.sm_90a"), AttentionForm::kSimt);
  EXPECT_EQ(form_of({.dim = 64, .scale = -1}, "cuda.sm_90a"), AttentionForm::kSimt);
  EXPECT_EQ(form_of({.dim = 64, .out = DType::kBF16}, "cuda.sm_90a"), AttentionForm::kSimt);
}

TEST(AttentionTemplate, nothing_is_refused_that_a_graph_can_hold) {
  for (const char* name : {"cuda.sm_80", "cuda.sm_86", "cuda.sm_90a", "cuda.sm_120"}) {
    const CudaTarget target = *CudaTarget::of(name);
    for (const AttentionShape& shape : test::attention_shapes()) {
      const loop::LoopNest nest = attention_nest(shape);
      EXPECT_TRUE(accepts_attention(nest, target)) << name << " " << shape.label();
      const Result<GeneratedKernel> kernel = generate_attention(nest, {}, target);
      ASSERT_TRUE(kernel) << kernel.error().message;
      const Result<CudaLaunch> launch = CudaLaunch::of_source(kernel->source.source);
      ASSERT_TRUE(launch) << launch.error().message;
      EXPECT_LE(launch->shared_bytes, target.shared_bytes) << name << " " << shape.label();
      EXPECT_EQ(launch->waits, target.has_pdl);
    }
  }
  loop::LoopNest integers = attention_nest({});
  integers.buffers[0].dtype = DType::kI32;
  const Status refused = accepts_attention(integers, *CudaTarget::of("cuda.sm_90a"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "slot refused: attention of i32");
}

TEST(AttentionTemplate, schedules_set_the_grid_and_nothing_else) {
  const CudaTarget target = *CudaTarget::of("cuda.sm_90a");
  const loop::LoopNest nest = attention_nest({.dim = 32});
  const std::vector<Schedule> schedules = attention_schedules(nest, target);
  ASSERT_EQ(schedules, (std::vector<Schedule>{"grid=10", "grid=5", "grid=20"}));
  const auto body = [&](const Schedule& schedule) {
    const std::string text = generate_attention(nest, schedule, target)->source.source;
    return text.substr(text.find('\n'));
  };
  EXPECT_EQ(body(schedules[0]), body(""));
  EXPECT_EQ(body(schedules[0]), body(schedules[2]));
  for (const char* bad : {"grid=", "grid=0", "grid=33", "grid=4x", "tile=64"}) {
    const auto refused = generate_attention(nest, bad, target);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(AttentionTemplate, names_of_a_model_do_not_reach_the_text) {
  const CudaTarget target = *CudaTarget::of("cuda.sm_90a");
  loop::LoopNest nest = attention_nest({});
  const std::string text = generate_attention(nest, {}, target)->source.source;
  nest.name = "secret";
  for (Symbol& symbol : nest.symbols) symbol.hint = 7;
  EXPECT_EQ(generate_attention(nest, {}, target)->source.source, text);
}

// MiniLM's attention. EDGE_INFER_UPDATE_GOLDEN=1 writes it anew.
TEST(AttentionTemplate, the_text_of_minilm_is_as_recorded) {
  const loop::LoopNest nest = attention_nest({.dim = 32, .heads = 12, .kv_heads = 12});
  const std::string text = generate_attention(nest, {}, *CudaTarget::of("cuda.sm_90a"))->source.source;
  if (std::getenv("EDGE_INFER_UPDATE_GOLDEN") != nullptr) std::ofstream(kGolden) << text;
  EXPECT_EQ(text, content_of(kGolden));
}

}  // namespace
}  // namespace edge_infer::cuda
