// gemm.c with every schedule and instruction set against one chain of fma an element, bit for bit.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <random>
#include <thread>

#include "backends/cpu/templates/gemm_schedule.h"
#include "tests/support/templates/template_kernel.h"

namespace edge_infer::testing {
namespace {

constexpr float kCanary = 12345.5F;

// A gemm of one shape on one instruction set, with poison around what the kernel may touch.
struct Case {
  int n, k;
  int64_t m;
  TemplateIsa isa;
  GemmBody body = GemmBody::kStore;
  Floats a, w, packed, bias, residual, gamma, beta;

  Case(int n_, int k_, int64_t m_, TemplateIsa isa_, GemmBody body_ = GemmBody::kStore)
      : n(n_),
        k(k_),
        m(m_),
        isa(isa_),
        body(body_),
        a(random_floats(m * k, 1)),
        w(random_floats(int64_t{n} * k, 2)),
        packed(pack_panels(w.data(), n, k, panel_columns(isa))),
        bias(random_floats(n, 3)),
        residual(random_floats(m * n, 4)),
        gamma(random_floats(n, 5)),
        beta(random_floats(n, 6)) {}

  GemmProblem problem() const {
    return {.n = n,
            .k = k,
            .panel = panel_columns(isa),
            .whole_rows = body == GemmBody::kResidualLayerNorm || body == GemmBody::kScaledInput,
            .fused_multiply_add = isa != TemplateIsa::kPortable};
  }
  float chain(int64_t row, int64_t column) const {
    const float factor = body == GemmBody::kScaledInput ? 2.0F : 1.0F;
    float sum = 0;
    for (int64_t i = 0; i < k; ++i) {
      const float x = a[row * k + i] * factor, y = w[column * k + i];
      if (isa == TemplateIsa::kPortable) {
        const volatile float product = x * y;
        sum += product;
      } else {
        sum = std::fma(x, y, sum);
      }
    }
    return sum;
  }
};

// Floats that end where a page begins that must not be touched.
class Guarded {
 public:
  explicit Guarded(int64_t floats) : bytes_((static_cast<size_t>(floats) * 4 + 4095) / 4096 * 4096) {
    base_ = static_cast<char*>(
        mmap(nullptr, bytes_ + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + bytes_, 4096, PROT_NONE);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(base_, bytes_ + 4096); }
  const float* put(const float* from, int64_t floats) {
    auto* at = reinterpret_cast<float*>(base_ + bytes_) - floats;
    std::copy_n(from, floats, at);
    return at;
  }

 private:
  size_t bytes_;
  char* base_;
};

struct Kernel {
  TemplateKernel code;
  int64_t scratch_floats;
};
Result<Kernel> make_kernel(const Case& c, const GemmSchedule& s) {
  const GemmProblem problem = c.problem();
  const int64_t bytes = s.scratch_bytes(problem);
  auto code = TemplateKernel::compile(
      gemm_source({.n = c.n, .k = c.k, .defines = s.defines(problem), .body = c.body}, c.isa, bytes), c.isa);
  if (!code) return std::unexpected(code.error());
  return Kernel{*code, bytes / 4 + (std::max(c.n, c.k) + 15) / 16 * 16 * int64_t{s.row_block}};
}

// The candidates, and parts of k and row blocks that small shapes would not get.
std::vector<GemmSchedule> schedules(const Case& c) {
  std::vector<GemmSchedule> list = gemm_schedules(c.problem());
  std::vector<GemmSchedule> first = {list.front()};
  for (const GemmSchedule& s : list)
    if (s.tile_rows != first.back().tile_rows) first.push_back(s);
  for (GemmSchedule s : std::vector(first)) {
    s.k_block = 24;
    s.row_block = 17;
    first.push_back(s);
  }
  return first;
}

// Runs rows [m0, m1) and columns [n0, n1); `a` and `w` let a test put operands elsewhere.
void run(const Kernel& kernel, const Case& c, float* out, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
         const float* a = nullptr, const float* w = nullptr) {
  Floats scratch(kernel.scratch_floats + 16, kCanary);
  for (int64_t i = 0; i < kernel.scratch_floats; ++i) scratch[i] = std::nanf("");
  void* buffers[] = {out,
                     const_cast<float*>(a == nullptr ? c.a.data() : a),
                     const_cast<float*>(w == nullptr ? c.packed.data() : w),
                     const_cast<float*>(c.bias.data()),
                     const_cast<float*>(c.residual.data()),
                     const_cast<float*>(c.gamma.data()),
                     const_cast<float*>(c.beta.data())};
  kernel.code({buffers, nullptr}, m0, m1, n0, n1, scratch.data());
  for (int64_t i = 0; i < 16; ++i)
    ASSERT_EQ(scratch[kernel.scratch_floats + i], kCanary) << "scratch overrun";
}

std::string differs(const Floats& out, const Floats& expected, int n) {
  for (int64_t i = 0; i < expected.size(); ++i)
    if (std::memcmp(&out.data()[i], &expected.data()[i], 4) != 0)
      return fmt::format("row {} column {}: {:a}, expected {:a}", i / n, i % n, out[i], expected[i]);
  return "";
}

class GemmTemplate : public ::testing::TestWithParam<TemplateIsa> {};
INSTANTIATE_TEST_SUITE_P(Isas, GemmTemplate, ::testing::ValuesIn(template_isas()),
                         [](const auto& isa) { return std::string(template_isa_name(isa.param)); });

TEST_P(GemmTemplate, EveryScheduleAndHeightGivesTheChain) {
  const struct {
    int n, k;
  } shapes[] = {{96, 64}, {100, 33}, {64, 600}, {1, 1}, {7, 530}, {80, 40}, {160, 1600}};
  for (const auto& shape : shapes) {
    const int64_t most = 40;
    const Case c(shape.n, shape.k, most, GetParam());
    Guarded guarded(most * shape.k), guarded_weight(c.packed.size());
    const float* w = guarded_weight.put(c.packed.data(), c.packed.size());
    Floats expected(most * shape.n);
    for (int64_t i = 0; i < most; ++i)
      for (int64_t j = 0; j < shape.n; ++j) expected[i * shape.n + j] = c.chain(i, j);
    for (const GemmSchedule& s : schedules(c)) {
      const auto kernel = make_kernel(c, s);
      ASSERT_TRUE(kernel) << kernel.error().message;
      for (int64_t rows = 1; rows <= most; ++rows) {
        // Whatever is read behind the last row and behind the last panel faults.
        Floats out((most + 1) * shape.n, kCanary);
        run(*kernel, c, out.data(), 0, rows, 0, shape.n, guarded.put(c.a.data(), rows * shape.k), w);
        for (int64_t i = 0; i < out.size(); ++i) {
          const float want = i < rows * shape.n ? expected[i] : kCanary;
          ASSERT_EQ(std::memcmp(&out.data()[i], &want, 4), 0)
              << s.text() << " n " << shape.n << " k " << shape.k << " rows " << rows << " row "
              << i / shape.n << " column " << i % shape.n << ": " << out[i] << ", expected " << want;
        }
      }
    }
  }
}

TEST_P(GemmTemplate, RangesOfRowsAndColumnsGiveTheSameBits) {
  const Case c(224, 200, 61, GetParam());
  const int panel = panel_columns(GetParam());
  Floats expected(c.m * c.n);
  for (int64_t i = 0; i < c.m; ++i)
    for (int64_t j = 0; j < c.n; ++j) expected[i * c.n + j] = c.chain(i, j);
  std::mt19937 random(7);
  for (const GemmSchedule& s : schedules(c)) {
    const auto kernel = make_kernel(c, s);
    ASSERT_TRUE(kernel) << kernel.error().message;
    for (int round = 0; round < 20; ++round) {
      Floats out(c.m * c.n, kCanary);
      for (int64_t m = 0; m < c.m;) {
        const int64_t rows = std::min<int64_t>(c.m - m, 1 + static_cast<int64_t>(random() % 30));
        for (int64_t n = 0; n < c.n;) {
          const int64_t columns =
              std::min<int64_t>(c.n - n, panel * (1 + static_cast<int64_t>(random() % 5)));
          run(*kernel, c, out.data(), m, m + rows, n, n + columns);
          n += columns;
        }
        m += rows;
      }
      ASSERT_EQ(differs(out, expected, c.n), "") << s.text();
    }
  }
}

TEST_P(GemmTemplate, ManyRowsInBlocksAndThreads) {
  // More than one sweep (2^18 floats of A) and parts of k.
  const Case c(64, 1024, 600, GetParam());
  for (const GemmSchedule& s : schedules(c)) {
    const auto kernel = make_kernel(c, s);
    ASSERT_TRUE(kernel) << kernel.error().message;
    Floats whole(c.m * c.n), threads(c.m * c.n);
    run(*kernel, c, whole.data(), 0, c.m, 0, c.n);
    std::vector<std::thread> workers;
    for (int64_t t = 0; t < 3; ++t)
      workers.emplace_back(
          [&, t] { run(*kernel, c, threads.data(), c.m * t / 3, c.m * (t + 1) / 3, 0, c.n); });
    for (auto& worker : workers) worker.join();
    ASSERT_EQ(differs(threads, whole, c.n), "") << s.text();
    for (int64_t i = 0; i < c.m; i += 37)
      for (int64_t j = 0; j < c.n; ++j) ASSERT_EQ(whole[i * c.n + j], c.chain(i, j)) << s.text();
  }
}

TEST_P(GemmTemplate, RowPartSeesWholeRows) {
  const Case c(100, 72, 130, GetParam(), GemmBody::kResidualLayerNorm);
  std::vector<double> expected(static_cast<size_t>(c.m * c.n));
  for (int64_t i = 0; i < c.m; ++i) {
    std::vector<double> x(static_cast<size_t>(c.n));
    double mean = 0, squares = 0;
    for (int64_t j = 0; j < c.n; ++j)
      mean += x[static_cast<size_t>(j)] = double{c.chain(i, j)} + c.bias[j] + c.residual[i * c.n + j];
    mean /= c.n;
    for (const double v : x) squares += (v - mean) * (v - mean);
    for (int64_t j = 0; j < c.n; ++j)
      expected[static_cast<size_t>(i * c.n + j)] =
          (x[static_cast<size_t>(j)] - mean) / std::sqrt(squares / c.n + 1e-12) * c.gamma[j] + c.beta[j];
  }
  Floats first;
  for (GemmSchedule s : schedules(c)) {
    for (const int row_block : {s.row_block, 1, 7}) {
      s.row_block = row_block;
      const auto kernel = make_kernel(c, s);
      ASSERT_TRUE(kernel) << kernel.error().message;
      Floats out(c.m * c.n, kCanary);
      run(*kernel, c, out.data(), 0, 50, 0, c.n);
      run(*kernel, c, out.data(), 50, c.m, 0, c.n);
      for (int64_t i = 0; i < c.m * c.n; ++i)
        ASSERT_NEAR(out[i], expected[static_cast<size_t>(i)], 2e-5) << s.text() << " " << i;
      if (first.size() == 0)
        first = std::move(out);
      else
        ASSERT_EQ(differs(out, first, c.n), "") << s.text();
    }
  }
}

TEST_P(GemmTemplate, ComputedOperand) {
  const Case c(48, 50, 101, GetParam(), GemmBody::kScaledInput);
  for (const GemmSchedule& s : schedules(c)) {
    const auto kernel = make_kernel(c, s);
    ASSERT_TRUE(kernel) << kernel.error().message;
    Floats out(c.m * c.n, kCanary);
    run(*kernel, c, out.data(), 0, c.m, 0, c.n);
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j)
        ASSERT_EQ(out[i * c.n + j], c.chain(i, j)) << s.text() << " " << i << " " << j;
  }
}

TEST(GemmSchedule, TextRoundTrips) {
  for (const int panel : {16, 32}) {
    const GemmProblem problem{.n = 384, .k = 1536, .panel = panel, .whole_rows = true};
    const auto list = gemm_schedules(problem);
    ASSERT_GE(list.size(), 2U);
    ASSERT_LE(list.size(), 8U);
    for (const GemmSchedule& s : list) {
      const auto back = parse_gemm_schedule(s.text(), problem);
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(*back, s);
    }
    EXPECT_EQ(*parse_gemm_schedule("", problem), list.front());
    for (const char* bad : {"tile=5x16;kb=0;rb=96", "tile=6x16", "tile=6x16;kb=-1;rb=96", "x",
                            "tile=6x16;kb=0;rb=0", "tile=12x32;kb=0;rb=96;"}) {
      const auto r = parse_gemm_schedule(bad, problem);
      EXPECT_FALSE(r) << bad;
      if (!r) {
        EXPECT_EQ(r.error().code, ErrorCode::kInvalidArgument);
      }
    }
  }
}

}  // namespace
}  // namespace edge_infer::testing
