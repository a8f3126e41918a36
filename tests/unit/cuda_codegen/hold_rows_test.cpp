// Rows held in registers: which, what the nest is then, and that no bit of the results changes.
#include "backends/cuda/codegen/hold_rows.h"

#include <gtest/gtest.h>

#include "backends/cuda/codegen/cuda_code_generator.h"
#include "backends/cuda/codegen/nest_plan.h"
#include "backends/cuda/launch.h"
#include "compiler/loop/parse.h"
#include "compiler/loop/print.h"
#include "compiler/loop/verify.h"
#include "tests/kernels/nest_case.h"
#include "tests/unit/cuda_codegen/emulated_kernels.h"
#include "tests/unit/cuda_codegen/nests.h"
#include "tests/unit/cuda_codegen/random_nests.h"

namespace edge_infer::cuda::test {
namespace {

loop::LoopNest parsed(const std::string& text) {
  auto nest = loop::parse_nest(text);
  EXPECT_TRUE(nest) << nest.error().message << "\n" << text;
  return nest ? *std::move(nest) : loop::LoopNest();
}

CudaTarget target() {
  return *CudaTarget::of("cuda.sm_90a");
}

// The nest with its rows held, as text; it verifies and is dealt as before.
std::string held(const std::string& text) {
  const loop::LoopNest before = parsed(text), after = hold_rows(before, target());
  const Status status = loop::verify(after);
  EXPECT_TRUE(status) << status.error().message;
  const auto plan = plan_nest(before, target()), held_plan = plan_nest(after, target());
  EXPECT_EQ(plan.has_value(), held_plan.has_value());
  if (plan && held_plan) {
    EXPECT_EQ(plan->group, held_plan->group);
    EXPECT_EQ(plan->threads, held_plan->threads);
    for (const auto& [axis, spread] : plan->spreads) EXPECT_EQ(held_plan->spread(axis), spread);
  }
  return loop::print(after);
}

std::string unchanged(const std::string& text) {
  return loop::print(parsed(text));
}

// A nest of f32 rows of 384 (b0), weights (b1) and results (b2).
std::string nest_of(const std::string& row_body, const std::string& dtype = "f32") {
  return "nest @n class f32.k1 symbols(T in 1..64 hint 8, S in 1..64 hint 8)\n    (b0: in " + dtype +
         "[T, 384], b1: in f32[384], b2: out f32[T, 384], b3: index i64[T]) {\n  for m:T work {\n" +
         row_body + "\n  }\n}\n";
}

std::string named(const std::string& name) {
  for (const NamedNest& nest : kNests)
    if (nest.name == name) return nest.text;
  return "";
}

TEST(HoldRows, a_layer_norm_reads_its_row_once) {
  EXPECT_EQ(held(named("layer_norm_held")),
            R"(nest @layer_norm_held class f32.k1 symbols(T in 1..16384 hint 128)
    (b0: in f16[T, 384], b1: in f32[384], b2: in f32[384], b3: out f16[T, 384]) {
  for m:T work {
    local c0: f32[384]
    for k:384 lane {
      c0[k] = f32(b0[k+384*m])
    }
    %v0, %v1 = reduce moments(c0[k]) over k:384
    %v2 = %v1 / 384
    %v3 = %v2 + 0x1.197998p-40
    %v4 = rsqrt(%v3)
    for n:384 lane {
      b3[384*m+n] = f16((c0[n] - %v0) * %v4 * b1[n] + b2[n])
    }
  }
}
)");
}

TEST(HoldRows, both_rows_of_a_norm_of_a_sum_are_held) {
  EXPECT_EQ(held(named("rms_norm_held")),
            R"(nest @rms_norm_held class f32.k1 symbols(T in 1..16384 hint 128)
    (b0: in bf16[T, 2048], b1: in bf16[T, 2048], b2: in bf16[2048], b3: out bf16[T, 2048]) {
  for m:T work {
    local c0: f32[2048]
    for k:2048 lane {
      c0[k] = f32(b0[k+2048*m])
    }
    local c1: f32[2048]
    for k:2048 lane {
      c1[k] = f32(b1[k+2048*m])
    }
    %v0 = reduce sum((c0[k] + c1[k]) * (c0[k] + c1[k])) over k:2048
    %v1 = rsqrt(%v0 / 2048 + 1e-06)
    for n:2048 lane {
      %v2 = c0[n] + c1[n]
      b3[2048*m+n] = bf16(%v2 * %v1 * f32(b2[n]))
    }
  }
}
)");
}

TEST(HoldRows, a_softmax_reads_its_row_once) {
  EXPECT_EQ(held(named("softmax_held")), R"(nest @softmax_held class f32.k1 symbols(R in 1..100000 hint 64)
    (b0: in f32[R, 1000], b1: out f32[R, 1000]) {
  for m:R work {
    local c0: f32[1000]
    for k:1000 lane {
      c0[k] = b0[k+1000*m]
    }
    %v0 = reduce max(c0[k]) over k:1000
    %v1 = reduce sum(exp(c0[k] - %v0)) over k:1000
    for n:1000 lane {
      b1[1000*m+n] = exp(c0[n] - %v0) / %v1
    }
  }
}
)");
}

TEST(HoldRows, reductions_alone_read_their_row_once) {
  const std::string text = held(
      nest_of("    %v0 = reduce max(b0[384*m+k]) over k:384\n"
              "    %v1 = reduce sum(exp(b0[384*m+k] - %v0)) over k:384\n    b2[384*m] = log(%v1) + %v0"));
  EXPECT_NE(text.find("c0[k] = b0[k+384*m]"), std::string::npos) << text;
  EXPECT_NE(text.find("reduce max(c0[k])"), std::string::npos) << text;
  EXPECT_NE(text.find("reduce sum(exp(c0[k] - %v0))"), std::string::npos) << text;
  const std::string moments =
      held(nest_of("    %v0, %v1 = reduce moments(b0[384*m+k]) over k:384\n    b2[384*m] = %v0 * %v1"));
  EXPECT_NE(moments.find("reduce moments(c0[k])"), std::string::npos) << moments;
}

TEST(HoldRows, nests_of_random_graphs_verify_and_are_dealt_as_before) {
  const auto nests = random_nests("cuda.sm_90a", 0, 60);
  ASSERT_TRUE(nests) << nests.error().message;
  size_t changed = 0;
  for (const loop::LoopNest& nest : *nests) {
    const std::string text = loop::print(nest);
    changed += held(text) != text ? 1 : 0;
  }
  EXPECT_GT(changed, 3U) << "of " << nests->size();
}

TEST(HoldRows, what_has_its_own_local_stays_as_it_is) {
  for (const char* name : {"layer_norm", "embedding", "pool_normalize", "gelu", "softmax", "split_heads"})
    EXPECT_EQ(held(named(name)), unchanged(named(name))) << name;
  // Its row is used raw (argmax) and as f32.
  EXPECT_EQ(held(named("long_rows")), unchanged(named("long_rows")));
}

TEST(HoldRows, rows_that_are_read_once_or_otherwise_stay_in_memory) {
  const std::string result = "\n    for n:384 lane { b2[384*m+n] = b0[384*m+n] * %v0 }";
  const std::string sum = "    %v0 = reduce sum(b0[384*m+k]) over k:384";
  ASSERT_NE(held(nest_of(sum + result)), unchanged(nest_of(sum + result)));
  const std::string other[] = {
      // One sweep, also with two uses; two rows.
      sum + "\n    for n:384 lane { b2[384*m+n] = b1[n] * %v0 }",
      "    %v0 = reduce sum(b0[384*m+k] * exp(b0[384*m+k])) over k:384\n"
      "    for n:384 lane { b2[384*m+n] = b1[n] * %v0 }",
      "    %v0 = reduce sum(b0[384*m+k]) over k:384\n"
      "    for n:384 lane { b2[384*m+n] = b0[384*min(m+1,T-1)+n] * %v0 }",
      // Another part of the row, another order, another step.
      "    %v0 = reduce sum(b0[384*m+k]) over k:192\n    for n:384 lane { b2[384*m+n] = b0[384*m+n] * %v0 }",
      "    %v0 = reduce sum(b0[384*m+383-k]) over k:384\n"
      "    for n:384 lane { b2[384*m+n] = b0[384*m+383-n] * %v0 }",
      "    %v0 = reduce sum(b0[384*m+2*k]) over k:192\n"
      "    for n:192 lane { b2[384*m+n] = b0[384*m+2*n] * %v0 }",
      "    %v0 = reduce sum(b0[384*m+k%192]) over k:384\n"
      "    for n:384 lane { b2[384*m+n] = b0[384*m+n%192] * %v0 }",
      // A row that data chooses.
      "    %v1 = b3[m]\n    %v0 = reduce sum(b0[384*v1+k]) over k:384\n"
      "    for n:384 lane { b2[384*m+n] = b0[384*v1+n] * %v0 }",
      // Numbers that address buffers.
      "    %v0 = reduce max(f32(b3[m+k])) over k:1\n    for n:1 lane { b2[384*m+n] = f32(b3[m+n]) * %v0 }",
      // A length that is not constant, and a loop that begins elsewhere.
      "    %v0 = reduce sum(b0[384*m+k]) over k:S\n    for n:S lane { b2[384*m+n] = b0[384*m+n] * %v0 }",
      "    %v0 = reduce sum(b0[384*m+k]) over k:8..384\n"
      "    for n:8..384 lane { b2[384*m+n] = b0[384*m+n] * %v0 }",
      // Two axes; one thread's own sum; a serial loop.
      "    %v0 = reduce sum(b0[384*m+k]) over j:2, k:384" + result,
      "    %v0 = reduce sum(b0[384*m+k]) over k:384, j:2" + result,
      "    for n:384 lane {\n      %v0 = reduce sum(b0[384*m+k]) over k:384\n"
      "      b2[384*m+n] = b0[384*m+n] * %v0\n    }",
      "    for s:2 serial {\n      %v0 = reduce sum(b0[384*m+k]) over k:384\n"
      "      for n:384 lane { b2[384*m+n] = b0[384*m+n] * %v0 }\n    }",
  };
  for (const std::string& body : other) EXPECT_EQ(held(nest_of(body)), unchanged(nest_of(body)));
}

TEST(HoldRows, predicated_reads_and_writes_stay) {
  for (const char* body :
       {"    %v0 = reduce sum(load(b0[384*m+k], size(k):i64 < 300:i64, 0)) over k:384\n"
        "    for n:384 lane { b2[384*m+n] = load(b0[384*m+n], size(n):i64 < 300:i64, 0) * %v0 }",
        "    %v0 = reduce sum(b0[384*m+k]) over k:384\n"
        "    for n:384 lane { b2[384*m+n] = b0[384*m+n] * %v0 if size(n):i64 < 300:i64 }"})
    EXPECT_EQ(held(nest_of(body)), unchanged(nest_of(body)));
}

TEST(HoldRows, narrow_elements_are_held_where_all_uses_are_f32) {
  for (const char* dtype : {"f16", "bf16", "i8", "u8", "i32"}) {
    const std::string as_f32 = nest_of(
        "    %v0 = reduce max(f32(b0[384*m+k])) over k:384\n"
        "    for n:384 lane { b2[384*m+n] = f32(b0[384*m+n]) * %v0 }",
        dtype);
    EXPECT_NE(held(as_f32).find("c0[k] = f32(b0[k+384*m])"), std::string::npos) << held(as_f32);
    EXPECT_EQ(held(as_f32).find("b0[384*m+n]"), std::string::npos) << held(as_f32);
    const std::string raw = nest_of(
        "    %v0 = reduce max(b0[384*m+k]) over k:384\n"
        "    for n:384 lane { b2[384*m+n] = f32(b0[384*m+n]) * f32(%v0) }",
        dtype);
    EXPECT_EQ(held(raw), unchanged(raw));
  }
}

TEST(HoldRows, as_much_as_half_of_a_threads_registers) {
  const auto locals = [](const std::string& text) { return hold_rows(parsed(text), target()).locals.size(); };
  EXPECT_EQ(locals(sum_of_norms(32'768, "f16", 1)), 1U);  // 64 elements in each of 512 threads
  EXPECT_EQ(locals(sum_of_norms(32'768, "f16", 2)), 1U);
  EXPECT_EQ(locals(sum_of_norms(16'384, "f16", 3)), 2U);
  EXPECT_EQ(locals(sum_of_norms(65'536, "f16", 1)), 0U);
  EXPECT_EQ(locals(sum_of_norms(1'024, "f16", 4)), 3U);  // 32 elements in each of a warp's threads
  EXPECT_EQ(locals(sum_of_norms(768, "f16", 3)), 3U);
}

TEST(HoldRows, launches_as_many_ctas_as_registers_allow) {
  const auto generator = CudaCodeGenerator::for_target("cuda.sm_90a");
  const auto per_sm = [&](const std::string& text) {
    return CudaLaunch::of_source(generator->generate(parsed(text), "")->source.source)->blocks_per_sm;
  };
  EXPECT_EQ(per_sm(sum_of_norms(768, "f16", 1)), 9);   // 56 registers
  EXPECT_EQ(per_sm(sum_of_norms(384, "f16", 1)), 10);  // 48 registers
  EXPECT_EQ(per_sm(sum_of_norms(768, "f16", 3)), 4);   // 104 registers
  // Nothing held.
  EXPECT_EQ(per_sm(nest_of("    %v0 = reduce sum(b0[384*m+k]) over k:384\n"
                           "    for n:384 lane { b2[384*m+n] = b1[n] * %v0 }")),
            16);
}

// A row that is used raw as well is not held.
TEST(HoldRows, results_have_the_bits_of_rows_in_memory) {
  if (const Status status = can_emulate(); !status) GTEST_SKIP() << status.error().message;
  struct Pair {
    std::string in_registers, in_memory;
    int64_t rows;
  };
  std::vector<Pair> pairs;
  for (const int64_t n : {30, 100, 384, 768, 1'536}) {
    const std::string body = fmt::format(
        "    %v0, %v1 = reduce moments(f32(b0[{0}*m+k])) over k:{0}\n"
        "    %v2 = reduce sum(f32(b0[{0}*m+k]) * exp(f32(b0[{0}*m+k]) - %v0)) over k:{0}\n"
        "    for n:{0} lane {{ b1[{0}*m+n] = (f32(b0[{0}*m+n]) - %v0) * %v1 + %v2 }}\n",
        n);
    const auto whole = [&](const char* more) {
      return fmt::format(
          "nest @n class f32.k1 symbols(T in 1..64 hint 8)\n    (b0: in f16[T, {}], b1: out f32[T, {}], b2: "
          "out "
          "f16[T]) {{\n  for m:T work {{\n{}{}  }}\n}}\n",
          n, n, body, more);
    };
    const std::string raw = fmt::format("    %v3 = reduce max(b0[{0}*m+k]) over k:{0}\n    b2[m] = %v3\n", n);
    pairs.push_back({whole("    b2[m] = f16(%v0)\n"), whole(raw.c_str()), 5});
    EXPECT_EQ(hold_rows(parsed(pairs.back().in_registers), target()).locals.size(), 1U);
    EXPECT_EQ(hold_rows(parsed(pairs.back().in_memory), target()).locals.size(), 0U);
  }
  const auto generator = CudaCodeGenerator::for_target("cuda.sm_90a");
  std::vector<std::string> sources;
  for (const Pair& pair : pairs)
    for (const std::string& text : {pair.in_registers, pair.in_memory})
      sources.push_back(generator->generate(parsed(text), "")->source.source);
  const auto emulated = EmulatedKernels::compile(sources);
  ASSERT_TRUE(emulated) << emulated.error().message;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto prepared = testing::prepare({.text = pairs[i].in_memory, .symbols = {pairs[i].rows}});
    ASSERT_TRUE(prepared) << prepared.error().message;
    std::vector<std::vector<HostTensor>> buffers{prepared->buffers, prepared->buffers};
    for (size_t k = 0; k < 2; ++k) {
      std::vector<HostTensor*> pointers;
      for (HostTensor& tensor : buffers[k]) pointers.push_back(&tensor);
      const Status status = emulated->run(2 * i + k, prepared->nest, std::vector{pairs[i].rows}, pointers);
      ASSERT_TRUE(status) << status.error().message;
    }
    EXPECT_EQ(buffers[0][1].bytes, buffers[1][1].bytes) << pairs[i].in_registers;
  }
}

}  // namespace
}  // namespace edge_infer::cuda::test
