#include "runtime/base/cpu.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include "runtime/base/log.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace edge_infer {
namespace {

#if defined(__x86_64__)
uint64_t xcr0() {
  uint32_t lo = 0, hi = 0;
  __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
  return (static_cast<uint64_t>(hi) << 32) | lo;
}

CpuFeatures probe() {
  CpuFeatures f;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return f;
  const bool osxsave = (c >> 27) & 1, avx = (c >> 28) & 1, fma = (c >> 12) & 1, f16c = (c >> 29) & 1;
  if (!osxsave || !avx) return f;
  const uint64_t state = xcr0();
  const bool ymm = (state & 0x6) == 0x6, zmm = (state & 0xe6) == 0xe6;
  uint32_t b7 = 0, c7 = 0, d7 = 0, a71 = 0;
  if (__get_cpuid_count(7, 0, &a, &b7, &c7, &d7) == 0) return f;
  __get_cpuid_count(7, 1, &a71, &b, &c, &d);
  f.avx2_fma = ymm && fma && f16c && ((b7 >> 5) & 1);
  const bool f512 = (b7 >> 16) & 1, dq = (b7 >> 17) & 1, bw = (b7 >> 30) & 1, vl = (b7 >> 31) & 1;
  f.avx512 = f.avx2_fma && zmm && f512 && dq && bw && vl;
  f.avx512_vnni = f.avx512 && ((c7 >> 11) & 1);
  f.avx512_bf16 = f.avx512 && ((a71 >> 5) & 1);
  f.amx_bf16 = f.avx512 && ((d7 >> 22) & 1) && ((d7 >> 24) & 1);
  return f;
}
#else
CpuFeatures probe() {
  return {};
}
#endif

CpuFeatures probe_with_override() {
  CpuFeatures f = probe();
  const char* isa = std::getenv("EDGE_INFER_ISA");
  if (isa == nullptr) return f;
  if (std::strcmp(isa, "portable") == 0) return {};
  if (std::strcmp(isa, "avx2") == 0) {
    CpuFeatures lowered;
    lowered.avx2_fma = f.avx2_fma;
    return lowered;
  }
  if (std::strcmp(isa, "avx512") != 0 && *isa != '\0')
    log_warning("EDGE_INFER_ISA is \"{}\", expected \"portable\", \"avx2\" or \"avx512\": it is ignored",
                isa);
  return f;
}

// CPUs the cgroup allows (v2 cpu.max, then v1), or a large number where there is no limit.
int cgroup_quota() {
  double quota = 0, period = 0;
  if (std::ifstream file("/sys/fs/cgroup/cpu.max"); file) {
    std::string limit;
    if (file >> limit >> period && limit != "max") quota = std::strtod(limit.c_str(), nullptr);
  } else if (std::ifstream v1("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"); v1) {
    std::ifstream v1_period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    if (!(v1 >> quota && v1_period >> period)) quota = 0;
  }
  if (quota <= 0 || period <= 0) return 1 << 20;
  return std::max(1, static_cast<int>(std::ceil(quota / period)));
}

int affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = probe_with_override();
  return features;
}

bool request_amx() {
#if defined(__x86_64__)
  static const bool permitted = [] {
    constexpr long kRequestPermission = 0x1023, kTileData = 18;
    return cpu_features().amx_bf16 && ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  }();
  return permitted;
#else
  return false;
#endif
}

const char* best_isa() {
  const CpuFeatures& f = cpu_features();
  return f.avx512 ? "avx512" : f.avx2_fma ? "avx2" : "portable";
}

int worker_budget() {
  static const int budget = [] {
    int n = std::min(affinity(), cgroup_quota());
    if (const char* text = std::getenv("EDGE_INFER_THREADS"); text != nullptr) {
      int value = 0;
      const std::string_view view = text;
      const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
      if (error == std::errc{} && end == view.data() + view.size() && value > 0) n = std::min(n, value);
    }
    return std::max(1, n);
  }();
  return budget;
}

std::string cpu_name() {
#if defined(__x86_64__)
  uint32_t words[12] = {};
  for (uint32_t i = 0; i < 3; ++i)
    if (__get_cpuid(0x80000002 + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2], &words[4 * i + 3]) ==
        0)
      return "unknown x86-64";
  const char* text = reinterpret_cast<const char*>(words);
  return std::string(text, strnlen(text, sizeof words));
#else
  return "unknown";
#endif
}

}  // namespace edge_infer
