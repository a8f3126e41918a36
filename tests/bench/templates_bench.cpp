// Measures the CPU templates on one thread: `templates_bench gemm|attention [ISA] [FILTER] [REPEATS]`. Each
// repeat lies between two samples of the multiply-add peak of the same instruction set, all in processor
// time. Shares are "best kernel of best peak / median over pairs": on a machine that others use only the
// second compares like with like.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cpu/templates/attention_schedule.h"
#include "backends/cpu/templates/gemm_schedule.h"
#include "tests/support/templates/template_kernel.h"

namespace edge_infer::testing {
namespace {

double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Twelve chains of multiply-add in the widest registers.
Result<TemplateKernel> peak_kernel(TemplateIsa isa) {
  const char* body = isa == TemplateIsa::kPortable ? "v[i] * x + y" : "__builtin_elementwise_fma(v[i], x, y)";
  return TemplateKernel::compile(
      template_prelude() +
          fmt::format("typedef float vec __attribute__((ext_vector_type({0})));\n"
                      "void k(const struct KernelArgs* args, int64_t m0, int64_t m1, int64_t n0, int64_t n1, "
                      "void* s) {{\n"
                      "  vec v[12], x = 1.0001f, y = 0.5f; (void)n0, (void)n1, (void)s;\n"
                      "  for (int i = 0; i < 12; i++) v[i] = (float)i;\n"
                      "  _Pragma(\"clang loop unroll(disable)\") for (int64_t r = m0; r < m1; r++)\n"
                      "    _Pragma(\"clang loop unroll(full)\") for (int i = 0; i < 12; i++) v[i] = {1};\n"
                      "  float* out = args->buffers[0];\n"
                      "  for (int i = 0; i < 12; i++) *out += v[i][0];\n}}\n",
                      isa == TemplateIsa::kAvx512 ? 16
                      : isa == TemplateIsa::kAvx2 ? 8
                                                  : 4,
                      body),
      isa);
}

struct Sample {
  double seconds = 1e30;  // best
  double peak = 0;        // best, in flop/s
  double share =
      0;  // median over repeats of the kernel's rate over that of the faster of two peaks around it
};
template <class F>
Sample measure(const TemplateKernel& peak, TemplateIsa isa, int repeats, double flops, F run) {
  float sink = 0;
  void* buffer = &sink;
  const KernelArgs args{&buffer, nullptr};
  const int64_t rounds = 8000;
  const double peak_flops = static_cast<double>(rounds) * 24 *
                            (isa == TemplateIsa::kAvx512 ? 16
                             : isa == TemplateIsa::kAvx2 ? 8
                                                         : 4);
  const auto timed = [](auto&& f) {
    const double begin = thread_seconds();
    f();
    return thread_seconds() - begin;
  };
  const auto peak_rate = [&] { return peak_flops / timed([&] { peak(args, 0, rounds, 0, 1, nullptr); }); };
  Sample best;
  std::vector<double> shares;
  for (int i = 0; i < repeats; ++i) {
    const double before = peak_rate();
    const double seconds = timed(run);
    const double around = std::max(before, peak_rate());
    best.peak = std::max(best.peak, around);
    best.seconds = std::min(best.seconds, seconds);
    shares.push_back(flops / seconds / around);
  }
  std::ranges::nth_element(shares, shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2));
  best.share = shares[shares.size() / 2];
  return best;
}

void bench_gemm(TemplateIsa isa, const std::string& filter, int repeats) {
  const auto peak = peak_kernel(isa);
  if (!peak) return fmt::print("{}\n", peak.error().message), void();
  const struct {
    int k, n;
    GemmBody body;
    const char* name;
  } shapes[] = {{384, 384, GemmBody::kBias, "bias"},
                {384, 1152, GemmBody::kBias, "bias"},
                {384, 1536, GemmBody::kBias, "bias"},
                {384, 1536, GemmBody::kBiasGelu, "gelu"},
                {384, 384, GemmBody::kResidualLayerNorm, "norm"},
                {1536, 384, GemmBody::kBias, "bias"},
                {1536, 384, GemmBody::kResidualLayerNorm, "norm"},
                {768, 3072, GemmBody::kBias, "bias"},
                {3072, 768, GemmBody::kBias, "bias"}};
  for (const auto& shape : shapes) {
    const int panel = panel_columns(isa);
    GemmProblem problem{
        .n = shape.n, .k = shape.k, .panel = panel, .whole_rows = shape.body == GemmBody::kResidualLayerNorm};
    const int64_t most = 1026;
    const Floats a = random_floats(most * shape.k, 1), w = random_floats(int64_t{shape.n} * shape.k, 2);
    const Floats packed = pack_panels(w.data(), shape.n, shape.k, panel);
    const Floats vectors = random_floats(shape.n, 3), residual = random_floats(most * shape.n, 4);
    Floats out(most * shape.n);
    void* buffers[] = {out.data(),
                       const_cast<float*>(a.data()),
                       const_cast<float*>(packed.data()),
                       const_cast<float*>(vectors.data()),
                       const_cast<float*>(residual.data()),
                       const_cast<float*>(vectors.data()),
                       const_cast<float*>(vectors.data())};
    const KernelArgs args{buffers, nullptr};
    for (const GemmSchedule& schedule : gemm_schedules(problem)) {
      const std::string name = fmt::format("{} k{} n{} {} {}", template_isa_name(isa), shape.k, shape.n,
                                           shape.name, schedule.text());
      if (name.find(filter) == std::string::npos) continue;
      const int64_t bytes = schedule.scratch_bytes(problem);
      const auto kernel = TemplateKernel::compile(
          gemm_source({.n = shape.n, .k = shape.k, .defines = schedule.defines(problem), .body = shape.body},
                      isa, bytes),
          isa);
      if (!kernel) {
        fmt::print("{}: {}\n", name, kernel.error().message);
        continue;
      }
      Floats scratch(bytes / 4 + (shape.n + 15) / 16 * 16 * schedule.row_block);
      fmt::print("{:42} {:3.0f} ms |", name, kernel->compile_seconds() * 1e3);
      for (const int64_t m : {1, 2, 4, 8, 16, 126, 128, 512, 1026}) {
        const double flops = 2.0 * static_cast<double>(m) * shape.n * shape.k;
        const Sample s = measure(*peak, isa, m >= 512 ? std::max(1, repeats / 4) : repeats, flops,
                                 [&] { (*kernel)(args, 0, m, 0, shape.n, scratch.data()); });
        if (m <= 8)
          fmt::print(" {}: {:.1f}us", m, s.seconds * 1e6);
        else
          fmt::print(" {}: {:.0f}/{:.0f}%", m, 100 * flops / s.seconds / s.peak, 100 * s.share);
      }
      fmt::print("\n");
      std::fflush(stdout);
    }
  }
}

void bench_attention(TemplateIsa isa, const std::string& filter, int repeats) {
  const auto peak = peak_kernel(isa);
  if (!peak) return fmt::print("{}\n", peak.error().message), void();
  for (const int dim : {32, 64}) {
    for (const bool causal : {false, true}) {
      const int heads = 12, width = heads * dim;
      const AttentionKernelSpec spec{.dim = dim,
                                     .q_row = 3 * width,
                                     .k_row = 3 * width,
                                     .v_row = 3 * width,
                                     .out_row = width,
                                     .k_offset = width,
                                     .v_offset = 2 * width,
                                     .causal = causal};
      const auto kernel = TemplateKernel::compile(attention_source(spec), isa);
      if (!kernel) return fmt::print("{}\n", kernel.error().message), void();
      for (const int length : {5, 16, 32, 128, 512}) {
        const std::string name =
            fmt::format("{} d{} {} s{}", template_isa_name(isa), dim, causal ? "causal" : "full", length);
        if (name.find(filter) == std::string::npos) continue;
        const Floats qkv = random_floats(int64_t{length} * 3 * width, 1);
        Floats out(int64_t{length} * width);
        int32_t cu[] = {0, length};
        std::vector<int32_t> units;
        for (int32_t row = 0; row < length; row += 32) units.insert(units.end(), {0, row});
        auto* q = const_cast<float*>(qkv.data());
        void* buffers[] = {out.data(), q, q, q, cu, units.data()};
        const KernelArgs args{buffers, nullptr};
        Floats scratch(attention_scratch_bytes(dim) / 4);
        const int64_t items = static_cast<int64_t>(units.size()) / 2 * heads;
        const double flops = 4.0 * length * length * width * (causal ? 0.5 : 1);
        const Sample s =
            measure(*peak, isa, repeats, flops, [&] { (*kernel)(args, 0, items, 0, 1, scratch.data()); });
        fmt::print("{:28} {:3.0f} ms | {:8.1f} us, {:.0f}/{:.0f}% of peak\n", name,
                   kernel->compile_seconds() * 1e3, s.seconds * 1e6, 100 * flops / s.seconds / s.peak,
                   100 * s.share);
        std::fflush(stdout);
      }
    }
  }
}

}  // namespace
}  // namespace edge_infer::testing

int main(int argc, char** argv) {
  using namespace edge_infer::testing;
  const std::string what = argc > 1 ? argv[1] : "", only = argc > 2 ? argv[2] : "",
                    filter = argc > 3 ? argv[3] : "";
  const int repeats = argc > 4 ? std::max(1, std::atoi(argv[4])) : 100;
  for (const TemplateIsa isa : template_isas()) {
    if (!only.empty() && only != template_isa_name(isa)) continue;
    if (what != "attention") bench_gemm(isa, filter, repeats);
    if (what != "gemm") bench_attention(isa, filter, repeats);
  }
}
