#include "backends/cpu/prebuilt/registry.h"

#include <array>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "backends/cpu/prebuilt/tables.h"
#include "runtime/base/cpu.h"

namespace edge_infer {
namespace {

struct Set {
  std::vector<PrebuiltKernel> kernels;
  std::unordered_map<std::string_view, size_t> by_name;

  void add(std::span<const PrebuiltKernel> table) {
    for (const PrebuiltKernel& kernel : table) {
      by_name.emplace(kernel.name, kernels.size());
      kernels.push_back(kernel);
    }
  }
};

#define EDGE_ADD(file) set.add(EDGE_NAMESPACE::file##_table());
Set make_portable() {
  Set set;
#define EDGE_NAMESPACE portable
  EDGE_PREBUILT_TABLES(EDGE_ADD)
#undef EDGE_NAMESPACE
  return set;
}

#if defined(__x86_64__)
Set make_avx2() {
  Set set;
#define EDGE_NAMESPACE avx2
  EDGE_PREBUILT_TABLES(EDGE_ADD)
#undef EDGE_NAMESPACE
  return set;
}

Set make_avx512() {
  Set set;
#define EDGE_NAMESPACE avx512
  EDGE_PREBUILT_TABLES(EDGE_ADD)
#undef EDGE_NAMESPACE
  return set;
}
#else
Set make_avx2() {
  return {};
}
Set make_avx512() {
  return {};
}
#endif
#undef EDGE_ADD

const Set& set_of(Isa isa) {
  switch (isa) {
    case Isa::kPortable: {
      static const Set set = make_portable();
      return set;
    }
    case Isa::kAvx2: {
      static const Set set = make_avx2();
      return set;
    }
    case Isa::kAvx512: {
      static const Set set = make_avx512();
      return set;
    }
  }
  static const Set none;
  return none;
}

}  // namespace

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return "portable";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "unknown";
}

Isa selected_isa() {
  const char* best = best_isa();
  for (const Isa isa : {Isa::kAvx512, Isa::kAvx2})
    if (isa_name(isa) == best) return isa;
  return Isa::kPortable;
}

bool isa_runs_here(Isa isa) {
#if defined(__x86_64__)
  // GCC's probe, because cpu_features() obeys $EDGE_INFER_ISA.
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == Isa::kAvx2) return avx2;
  if (isa == Isa::kAvx512)
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#endif
  return isa == Isa::kPortable;
}

const PrebuiltKernel* find_prebuilt(Isa isa, std::string_view name) {
  constexpr std::string_view kPrefix = "prebuilt:";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  const Set& set = set_of(isa);
  const auto found = set.by_name.find(name);
  return found == set.by_name.end() ? nullptr : &set.kernels[found->second];
}

std::span<const PrebuiltKernel> prebuilt_kernels(Isa isa) {
  return set_of(isa).kernels;
}

}  // namespace edge_infer
