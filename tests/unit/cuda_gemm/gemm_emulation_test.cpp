// Generated GEMM kernels, emulated, against loop::evaluate: outputs poisoned, pad rows NaN, ragged sizes.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "backends/cuda/codegen/embedded_sources.h"
#include "backends/cuda/templates/gemm_template.h"
#include "compiler/loop/evaluate.h"
#include "compiler/loop/parse.h"
#include "compiler/loop/verify.h"
#include "tests/unit/cuda_gemm/emulated_kernel.h"
#include "tests/unit/cuda_gemm/gemm_nests.h"

namespace edge_infer::cuda {
namespace {

struct Case {
  std::string name, target, schedule, nest;
  std::vector<int64_t> symbols;
  int64_t rows;
  unsigned blocks;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.target << " " << c.schedule; }
};

constexpr int64_t kPadRows = 150;
constexpr unsigned char kPoison = 0xa5;

// Random numbers; rows from `rows` on NaN.
void fill(HostTensor& t, int64_t rows, std::mt19937& random, double scale) {
  std::normal_distribution<double> normal(0, scale);
  std::vector<double> values(static_cast<size_t>(t.elements()));
  const int64_t width = t.elements() / std::max<int64_t>(t.sizes[0], 1);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] =
        static_cast<int64_t>(i) < rows * width ? normal(random) : std::numeric_limits<double>::quiet_NaN();
  t.store(values);
}

class GemmEmulation : public testing::TestWithParam<Case> {};

TEST_P(GemmEmulation, AgreesWithTheEvaluator) {
  const Case& c = GetParam();
  const Result<loop::LoopNest> nest = loop::parse_nest(c.nest);
  ASSERT_TRUE(nest) << nest.error().message;
  const Status valid = loop::verify(*nest);
  ASSERT_TRUE(valid) << valid.error().message;
  const CudaTarget target = *CudaTarget::of(c.target);
  const Result<GeneratedKernel> generated = generate_gemm(*nest, c.schedule, target);
  ASSERT_TRUE(generated) << generated.error().message;
  const Result<EmulatedKernel> kernel = EmulatedKernel::build(generated->source.source);
  ASSERT_TRUE(kernel) << kernel.error().message;

  std::mt19937 random(std::hash<std::string>{}(c.name) & 0xffff);
  std::map<std::string, int64_t, std::less<>> values;
  for (size_t i = 0; i < c.symbols.size(); ++i) values[nest->symbols[i].name] = c.symbols[i];
  std::vector<HostTensor> expected, padded;
  for (const loop::Buffer& buffer : nest->buffers) {
    std::vector<int64_t> sizes;
    for (const SymInt& size : buffer.sizes) sizes.push_back(*size.evaluate(values));
    const bool per_row = !buffer.sizes.front().constant();
    expected.push_back(*make_host_tensor(buffer.dtype, sizes));
    const double scale =
        buffer.access == loop::Access::kPacked ? 1 / std::sqrt(static_cast<double>(sizes[1])) : 1;
    fill(expected.back(), sizes[0], random, scale);
    if (per_row) sizes[0] += kPadRows;
    HostTensor with_pads = *make_host_tensor(buffer.dtype, sizes);
    fill(with_pads, 0, random, 1);
    if (buffer.access == loop::Access::kOut)
      std::memset(with_pads.bytes.data(), kPoison, with_pads.bytes.size());
    if (buffer.access == loop::Access::kOut)
      std::memset(expected.back().bytes.data(), kPoison, expected.back().bytes.size());
    else
      std::memcpy(with_pads.bytes.data(), expected.back().bytes.data(), expected.back().bytes.size());
    padded.push_back(std::move(with_pads));
  }
  std::vector<HostTensor*> pointers;
  std::vector<EmulatedKernel::Buffer> buffers;
  for (size_t i = 0; i < padded.size(); ++i) {
    pointers.push_back(&expected[i]);
    buffers.push_back({padded[i].bytes.data(), padded[i].sizes[0]});
  }
  if (c.rows > 0) {  // symbols of nests are at least 1
    const Status evaluated = loop::evaluate(*nest, c.symbols, pointers);
    ASSERT_TRUE(evaluated) << evaluated.error().message;
  }
  kernel->run(c.blocks, c.symbols, buffers);

  for (size_t i = 0; i < padded.size(); ++i) {
    if (nest->buffers[i].access != loop::Access::kOut) continue;
    const DType dtype = nest->buffers[i].dtype;
    // Sums of 1/sqrt(k)-scaled products: rounding of the result, and of f32 sums in another order.
    const double bound = dtype == DType::kF32 ? 2e-5 : dtype == DType::kF16 ? 1e-3 : 8e-3;
    const std::vector<double> want = expected[i].to_doubles(), got = padded[i].to_doubles();
    const size_t element = static_cast<size_t>(dtype_size(dtype));
    for (size_t e = 0; e < got.size(); ++e) {
      const std::byte* bits = padded[i].bytes.data() + e * element;
      const bool untouched =
          std::all_of(bits, bits + element, [](std::byte b) { return b == std::byte{kPoison}; });
      if (e >= want.size()) {
        ASSERT_TRUE(untouched) << "b" << i << " element " << e << ": a pad row was written";
      } else if (std::memcmp(bits, expected[i].bytes.data() + e * element, element) != 0) {
        ASSERT_LE(std::abs(got[e] - want[e]), bound * std::max(1.0, std::abs(want[e])))
            << "b" << i << " element " << e;
      }
    }
  }
}

// f(x) for each x, in float as on a GPU, but for the last bit of ex2.approx and rcp.approx.
std::vector<float> run_function(const std::string& name, std::vector<float> x) {
  const Result<EmulatedKernel> kernel = EmulatedKernel::build(
      "// launch threads=32 shared=0 per_sm=1 cluster=1 tile=1x1 waits=0\n"
      "typedef unsigned u32;\ntypedef int i32;\ntypedef long long i64;\n" +
      std::string(embedded_source("gemm_functions.cu")) +
      "extern \"C\" __global__ void k(const i64* n, const float* b0, float* b1) {\n"
      "  for (i64 i = threadIdx.x; i < n[0]; i += 32) b1[i] = " +
      name + "(b0[i]);\n}\n");
  EXPECT_TRUE(kernel) << kernel.error().message;
  std::vector<float> y(x.size());
  if (!kernel) return y;
  const std::array<EmulatedKernel::Buffer, 2> buffers = {{{x.data(), 1}, {y.data(), 1}}};
  kernel->run(1, std::vector<int64_t>{static_cast<int64_t>(x.size())}, buffers);
  return y;
}
std::vector<float> arguments() {
  std::vector<float> x;
  for (int i = -60'000; i <= 60'000; ++i) x.push_back(static_cast<float>(i) / 10'000);
  for (const float large : {1e3F, 1e18F}) x.insert(x.end(), {large, -large});
  return x;
}

TEST(GemmFunctions, ErfPlusOneIsErf) {
  std::vector<float> x = arguments();
  x.insert(x.end(), {1e30F, -1e30F, INFINITY, -INFINITY, NAN});
  const std::vector<float> y = run_function("erf_plus_one", x);
  EXPECT_TRUE(std::isnan(y.back()));
  for (size_t i = 0; i + 1 < x.size(); ++i)
    ASSERT_NEAR(y[i], std::erfc(-static_cast<double>(x[i])), 7e-7) << x[i];
}

// Half of x times the error of erf, and the rounding of the result.
TEST(GemmFunctions, GeluIsGelu) {
  const std::vector<float> x = arguments();
  const std::vector<float> y = run_function("gelu", x);
  for (size_t i = 0; i < x.size(); ++i) {
    const double at = static_cast<double>(x[i]), want = at / 2 * std::erfc(-at * M_SQRT1_2);
    ASSERT_NEAR(y[i], want, 4e-7 * std::min(std::abs(at), 6.0) + 2e-7 * std::abs(want)) << x[i];
  }
  const std::vector<float> ends = run_function("gelu", {INFINITY, 1e30F, -1e30F, NAN});
  EXPECT_EQ(ends[0], INFINITY);
  EXPECT_EQ(ends[1], 1e30F);
  EXPECT_EQ(ends[2], 0);
  EXPECT_TRUE(std::isnan(ends[3]));
}

std::vector<Case> cases() {
  const auto mma = [](NestText text) {
    text.accumulation = "mma.k16";
    return text;
  };
  const NestText ragged{.half = "f16", .n = 200, .k = 136}, wide{.half = "bf16", .n = 352, .k = 64},
      odd{.half = "bf16", .n = 33, .k = 72};
  return {
      {"PingPong", "cuda.sm_90a", "tile=p128s4", ragged.gelu(), {300}, 300, 2},
      {"PingPongWide", "cuda.sm_90a", "tile=p192", ragged.gelu(), {300}, 300, 2},
      {"PingPongResidual", "cuda.sm_90a", "tile=p128s5", ragged.residual(), {300}, 300, 1},
      {"PingPongRest", "cuda.sm_90a", "tile=p144", ragged.bias(), {300}, 300, 2},
      {"PingPongTwo", "cuda.sm_90a", "tile=p128s4", ragged.two(), {300}, 300, 2},
      {"PingPongBrain", "cuda.sm_90a", "tile=p176", wide.bias(), {257}, 257, 2},
      {"PingPongShifted", "cuda.sm_90a", "tile=p128s5", ragged.shifted(), {130}, 131, 2},
      {"SharedTile", "cuda.sm_90a", "tile=c96", ragged.residual(), {201}, 201, 2},
      {"SmallTile", "cuda.sm_90a", "tile=s48", ragged.bias(), {77}, 77, 3},
      {"Mixed",
       "cuda.sm_90a",
       "tile=s32",
       NestText{.half = "bf16", .n = 72, .k = 64}.mixed(),
       {3, 25},
       75,
       2},
      {"OddColumns", "cuda.sm_90a", "tile=s32", odd.mixed(), {1, 70}, 70, 2},
      {"NoRows", "cuda.sm_90a", "tile=c64", ragged.bias(), {0}, 0, 2},
      {"Mma", "cuda.sm_90", "tile=m128s2", mma(ragged).gelu(), {201}, 201, 2},
      {"MmaResidual", "cuda.sm_120", "tile=m64s3", mma(ragged).residual(), {130}, 130, 3},
      {"MmaOddDepth",
       "cuda.sm_80",
       "tile=m64s4",
       mma({.half = "bf16", .n = 33, .k = 75}).mixed(),
       {2, 35},
       70,
       2},
  };
}
INSTANTIATE_TEST_SUITE_P(Kernels, GemmEmulation, testing::ValuesIn(cases()),
                         [](const auto& made) { return made.param.name; });

}  // namespace
}  // namespace edge_infer::cuda
