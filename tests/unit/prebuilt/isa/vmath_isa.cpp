#include "backends/cpu/prebuilt/vmath.h"
#include "tests/unit/prebuilt/vmath_functions.h"

namespace edge_infer::EDGE_ISA {
namespace {

template <F32 (*kFunction)(F32)>
void map(const float* in, float* out, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, kFunction(load(in + i)));
  if (i < n) store(out + i, kFunction(load(in + i, n - i)), n - i);
}
#define EDGE_MAP(name)     \
  F32 call_##name(F32 x) { \
    return name(x);        \
  }
EDGE_VMATH_FUNCTIONS(EDGE_MAP)

}  // namespace

#define EDGE_ENTRY(name) {#name, map<call_##name>},
std::span<const VmathFunction> vmath_functions() {
  static constexpr VmathFunction kFunctions[] = {EDGE_VMATH_FUNCTIONS(EDGE_ENTRY)};
  return kFunctions;
}

float folded_sum(const float* sixteen) {
  return fold_sum(load(sixteen));
}
void pair_extremes(const float* a, const float* b, float* high, float* low, int64_t n) {
  store(high, max(load(a, n), load(b, n)), n);
  store(low, min(load(a, n), load(b, n)), n);
}

}  // namespace edge_infer::EDGE_ISA
