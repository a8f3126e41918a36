// Speed of the prebuilt kernels on one thread, as shares of the fma peak sampled between the repeats, because
// shared machines change their speed from one moment to the next. Usage: kernels_bench [ISA] [FILTER]
// [REPEATS]
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "backends/cpu/device.h"

namespace edge_infer {

#define EDGE_DECLARE(isa)                        \
  namespace isa {                                \
  int64_t fma_peak(int64_t rounds, float* sink); \
  }
EDGE_DECLARE(portable)
#if defined(__x86_64__)
EDGE_DECLARE(avx2)
EDGE_DECLARE(avx512)
#endif
#undef EDGE_DECLARE

namespace {

// Processor time of this thread: another program's time slices are not ours.
double seconds() {
  timespec t = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Zeroed memory on huge pages where the system has them, so that page placement decides less.
float* memory(size_t floats) {
  const size_t bytes = (floats * sizeof(float) + (size_t{4} << 20)) & ~((size_t{2} << 20) - 1);
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) std::abort();
  ::madvise(p, bytes, MADV_HUGEPAGE);
  auto* f = static_cast<float*>(p);
  uint32_t state = 1;
  for (size_t i = 0; i < floats; ++i) {
    state = state * 1664525U + 1013904223U;
    f[i] = static_cast<float>(state >> 8) * 0x1p-24F - 0.5F;
  }
  return f;
}

class Bench {
 public:
  Bench(Isa isa, std::string filter, int repeats)
      : isa_(isa), device_(isa), filter_(std::move(filter)), repeats_(repeats), scratch_(memory(1 << 20)) {
    std::printf("%-44s %10s %10s %8s\n", device_.target().name.c_str(), "us", "GFLOP/s", "% peak");
  }
  const CpuDevice& device() const { return device_; }

  // flops 0: bytes moved count, in GB/s.
  void run(const std::string& name, const char* kernel, std::vector<void*> buffers,
           std::vector<int64_t> integers, int64_t rows, int64_t columns, double flops, double bytes = 0) {
    if (name.find(filter_) == std::string::npos) return;
    const auto loaded = device_.load_kernel(kernel);
    if (!loaded) {
      std::printf("%-44s missing\n", name.c_str());
      return;
    }
    const KernelArgs args = {buffers.data(), integers.data()};
    double best = 1e9, best_peak = 0;
    for (int i = 0; i < repeats_; ++i) {
      best_peak = std::max(best_peak, peak());
      const double start = seconds();
      loaded->function(&args, 0, rows, 0, columns, scratch_);
      best = std::min(best, seconds() - start);
    }
    if (flops > 0)
      std::printf("%-44s %10.1f %10.1f %7.1f%%\n", name.c_str(), best * 1e6, flops / best * 1e-9,
                  100 * flops / best / best_peak);
    else
      std::printf("%-44s %10.1f %8.1f GB/s\n", name.c_str(), best * 1e6, bytes / best * 1e-9);
  }

  // FLOP/s of one sample of about 50 us.
  double peak() {
    float sink = 0;
    const double start = seconds();
    int64_t done = 0;
    switch (isa_) {
      case Isa::kPortable:
        done = portable::fma_peak(20'000, &sink);
        break;
#if defined(__x86_64__)
      case Isa::kAvx2:
        done = avx2::fma_peak(20'000, &sink);
        break;
      case Isa::kAvx512:
        done = avx512::fma_peak(20'000, &sink);
        break;
#else
      default:
        break;
#endif
    }
    scratch_[0] = sink;
    return static_cast<double>(done) / (seconds() - start);
  }

 private:
  Isa isa_;
  CpuDevice device_;
  std::string filter_;
  int repeats_;
  float* scratch_;
};

int64_t as_integer(double x) {
  return std::bit_cast<int64_t>(x);
}

void linear(Bench& bench, int64_t m, int64_t k, int64_t n) {
  static float* x = memory(4 << 20);
  static float* out = memory(4 << 20);
  static float* source = memory(3072 * 3072);
  static float* packed = memory(3072 * 3136);
  static float* bias = memory(4096);
  const auto format = bench.device().target().packed_linear_format;
  const auto bytes = bench.device().packed_bytes(format, n, k);
  const Device::Rows rows[] = {{source, n}};
  if (!bytes || !bench.device().pack(format, rows, k, std::as_writable_bytes(std::span(packed, *bytes / 4))))
    std::abort();
  bench.run(fmt::format("linear M={} K={} N={}", m, k, n), "aten.linear.f32", {out, x, packed, bias}, {n, k},
            m, n, 2.0 * static_cast<double>(m * n * k));
}

void attention(Bench& bench, int64_t sequences, int64_t length, int64_t heads, int64_t dim) {
  const int64_t tokens = sequences * length, width = 3 * heads * dim, block = 32;
  float* qkv = memory(static_cast<size_t>(tokens * width));
  float* out = memory(static_cast<size_t>(tokens * heads * dim));
  std::vector<int32_t> cu, units;
  for (int64_t s = 0; s <= sequences; ++s) cu.push_back(static_cast<int32_t>(s * length));
  for (int64_t s = 0; s < sequences; ++s)
    for (int64_t r = 0; r < length; r += block) {
      units.push_back(static_cast<int32_t>(s));
      units.push_back(static_cast<int32_t>(r));
    }
  bench.run(fmt::format("attention {}x{} heads={} dim={}", sequences, length, heads, dim),
            "edge.varlen_attention.f32",
            {out, qkv, qkv + heads * dim, qkv + 2 * heads * dim, cu.data(), units.data()},
            {heads, heads, dim, width, width, width, heads * dim,
             as_integer(1 / std::sqrt(static_cast<double>(dim))), 0, block},
            static_cast<int64_t>(units.size()) / 2, heads,
            4.0 * static_cast<double>(sequences * length * length * heads * dim));
}

int main_program(int argc, char** argv) {
  Isa isa = selected_isa();
  if (argc > 1)
    for (const Isa candidate : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512})
      if (isa_name(candidate) == argv[1]) isa = candidate;
  if (!isa_runs_here(isa)) {
    std::fprintf(stderr, "this processor has no %s\n", isa_name(isa).data());
    return 1;
  }
  Bench bench(isa, argc > 2 ? argv[2] : "", argc > 3 ? std::atoi(argv[3]) : 100);
  for (const int64_t m : {1, 2, 4, 8, 16, 32, 64, 128, 512, 2048})
    for (const auto& [k, n] : {std::pair{384, 384}, {384, 1152}, {384, 1536}, {1536, 384}})
      linear(bench, m, k, n);
  for (const auto& [k, n] : {std::pair{768, 768}, {768, 3072}, {3072, 768}}) linear(bench, 128, k, n);
  attention(bench, 1, 16, 12, 32);
  attention(bench, 1, 128, 12, 32);
  attention(bench, 1, 512, 12, 32);
  attention(bench, 8, 64, 12, 32);
  attention(bench, 1, 128, 12, 64);
  attention(bench, 1, 512, 12, 64);
  float* a = memory(128 * 1536);
  float* b = memory(128 * 1536);
  float* gamma = memory(4096);
  const double norm_bytes = 128.0 * 384 * 8, gelu_bytes = 128.0 * 1536 * 8;
  bench.run("layer_norm 128x384", "aten.layer_norm.f32", {b, a, gamma, gamma}, {384, as_integer(1e-12)}, 128,
            1, 0, norm_bytes);
  bench.run("rms_norm 128x384", "edge.rms_norm.f32", {b, a, gamma}, {384, as_integer(1e-6)}, 128, 1, 0,
            norm_bytes);
  bench.run("softmax 128x384", "aten.softmax.f32", {b, a}, {128, 384, 1}, 128, 1, 0, norm_bytes);
  bench.run("gelu 128x1536", "aten.gelu.f32", {b, a}, {1, 128 * 1536, 1, 0}, 128 * 1536, 1, 0, gelu_bytes);
  const auto format = bench.device().target().packed_linear_format;
  float* source = memory(1536 * 7168);
  float* packed = memory(1536 * 7168);
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const Device::Rows rows[] = {{source, 7168}};
    const double start = seconds();
    if (!bench.device().pack(format, rows, 1536, std::as_writable_bytes(std::span(packed, 1536 * 7168))))
      return 1;
    best = std::min(best, seconds() - start);
  }
  std::printf("%-44s %10.1f %8.1f GB/s\n", "pack 7168x1536 (44 MB)", best * 1e6,
              7168 * 1536 * 8 / best * 1e-9);
  return 0;
}

}  // namespace
}  // namespace edge_infer

int main(int argc, char** argv) {
  return edge_infer::main_program(argc, argv);
}
