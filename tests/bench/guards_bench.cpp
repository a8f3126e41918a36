// guards_bench: what checking an entry's guards costs a call whose caches hold none of it, in ns. The guards
// are those of a sentence graph; before each check every line that it touches is flushed.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "compiler/graph/parse.h"
#include "compiler/make_guards.h"

namespace {

using namespace edge_infer;
using Clock = std::chrono::steady_clock;

constexpr const char* kGraph =
    R"(graph @g(%ids: i32[T], %cu: i32[B+1]) symbols(T in 1..16384 hint 128, B in 1..16384 hint 1) {
  %y = aten.add(%ids, %ids) : i32[T]
  return %y
}
)";

void flush(const void* data, size_t bytes) {
#if defined(__x86_64__)
  const char* p = static_cast<const char*>(data);
  for (size_t i = 0; i < bytes; i += 64) _mm_clflush(p + i);
  _mm_mfence();
#else
  static std::vector<char> other(64 << 20);
  for (size_t i = 0; i < other.size(); i += 64) ++other[i];
  static_cast<void>(data), static_cast<void>(bytes);
#endif
}

}  // namespace

int main() {
  const auto graph = parse_graph(kGraph);
  if (!graph) return std::fprintf(stderr, "%s\n", graph.error().message.c_str()), 1;
  const CallSettings settings;
  const GuardSet guards = make_guards(*graph, settings);
  int32_t ids[100] = {}, cu[2] = {0, 100};
  const int64_t ids_size[] = {100}, cu_size[] = {2};
  const TensorView inputs[] = {{ids, DType::kI32, ids_size}, {cu, DType::kI32, cu_size}};
  std::vector<double> cold, warm;
  size_t failures = 0;
  for (int i = 0; i < 20'000; ++i) {
    const bool flushed = i % 2 == 0;
    if (flushed) {
      flush(guards.guards().data(), guards.guards().size_bytes());
      flush(inputs, sizeof inputs);
      flush(ids_size, sizeof ids_size);
      flush(cu_size, sizeof cu_size);
      flush(&settings, sizeof settings);
    }
    const auto begin = Clock::now();
    failures += guards.first_failure(inputs, settings).has_value() ? 1 : 0;
    (flushed ? cold : warm).push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
  }
  for (auto* times : {&cold, &warm}) {
    std::sort(times->begin(), times->end());
    std::printf("%zu guards, %s: best %.0f ns, median %.0f ns, p99 %.0f ns\n", guards.size(),
                times == &cold ? "caches flushed" : "caches warm", times->front(),
                (*times)[times->size() / 2], (*times)[times->size() * 99 / 100]);
  }
  return failures == 0 ? 0 : 1;
}
