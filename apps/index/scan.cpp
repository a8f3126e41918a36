#include "apps/index/scan.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "apps/index/schema.h"
#include "apps/index/vector_blocks.h"
#include "runtime/base/cpu.h"

namespace edge_infer {
namespace {

typedef float Vector4 __attribute__((vector_size(16)));
typedef float Vector8 __attribute__((vector_size(32)));
typedef float Vector16 __attribute__((vector_size(64)));

template <typename Vector>
[[gnu::always_inline]] inline void add_product(Vector& sum, const float* a, const float* b) {
  Vector x, y;
  std::memcpy(&x, a, sizeof x);
  std::memcpy(&y, b, sizeof y);
  sum += x * y;
}

// Four running sums hide the latency of the additions. The order of the sums depends on the vector type only, so one
// machine always gives one score.
template <typename Vector>
[[gnu::always_inline]] inline float dot(const float* a, const float* b, size_t n) {
  constexpr size_t kLanes = sizeof(Vector) / sizeof(float);
  Vector s0{}, s1{}, s2{}, s3{};
  size_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    add_product(s0, a + i, b + i);
    add_product(s1, a + i + kLanes, b + i + kLanes);
    add_product(s2, a + i + 2 * kLanes, b + i + 2 * kLanes);
    add_product(s3, a + i + 3 * kLanes, b + i + 3 * kLanes);
  }
  for (; i + kLanes <= n; i += kLanes) add_product(s0, a + i, b + i);
  const Vector sums = (s0 + s1) + (s2 + s3);
  float total = 0;
  for (size_t lane = 0; lane < kLanes; ++lane) total += sums[lane];
  for (; i < n; ++i) total += a[i] * b[i];
  return total;
}

using DotRows = void (*)(const float* query, size_t n, const float* rows, size_t count, float* scores);

template <typename Vector>
[[gnu::always_inline]] inline void rows_loop(const float* query, size_t n, const float* rows, size_t count,
                                             float* scores) {
  for (size_t r = 0; r < count; ++r) scores[r] = dot<Vector>(query, rows + r * n, n);
}

void rows_portable(const float* q, size_t n, const float* rows, size_t count, float* scores) {
  rows_loop<Vector4>(q, n, rows, count, scores);
}
#ifdef __x86_64__
__attribute__((target("avx2"))) void rows_avx2(const float* q, size_t n, const float* rows, size_t count,
                                               float* scores) {
  rows_loop<Vector8>(q, n, rows, count, scores);
}
__attribute__((target("avx512f"))) void rows_avx512(const float* q, size_t n, const float* rows, size_t count,
                                                    float* scores) {
  rows_loop<Vector16>(q, n, rows, count, scores);
}
#endif

DotRows choose() {
#ifdef __x86_64__
  const std::string isa = best_isa();
  if (isa == "avx512") return rows_avx512;
  if (isa == "avx2") return rows_avx2;
#endif
  return rows_portable;
}

// Worst first, so that the front of a heap is what a better vector replaces.
bool better(const ScoredSlot& a, const ScoredSlot& b) {
  return a.score != b.score ? a.score > b.score : a.slot < b.slot;
}

}  // namespace

void dot_rows(std::span<const float> query, const float* rows, std::span<float> scores) {
  static const DotRows chosen = choose();
  chosen(query.data(), query.size(), rows, scores.size(), scores.data());
}

Result<std::vector<ScoredSlot>> scan_vectors(const Database& database, std::span<const float> query, size_t count) {
  std::vector<ScoredSlot> best;
  if (count == 0) return best;
  const auto block_bytes = static_cast<size_t>(kBlockSlots) * query.size_bytes();
  std::vector<float> rows(static_cast<size_t>(kBlockSlots) * query.size());
  std::vector<float> scores(static_cast<size_t>(kBlockSlots));
  EDGE_INFER_ASSIGN(Statement blocks, database.prepare("SELECT id, live FROM block WHERE used > 0 ORDER BY id"));
  std::optional<BlobHandle> data;
  while (true) {
    EDGE_INFER_ASSIGN(const bool row, blocks.step());
    if (!row) break;
    const int64_t id = blocks.integer(0);
    EDGE_INFER_ASSIGN(const LiveBits live, decode_live_bits(database, id, blocks.blob(1)));
    if (!data) {
      EDGE_INFER_ASSIGN(data, BlobHandle::open(database, "block_data", "data", id, false));
    } else {
      EDGE_INFER_RETURN_IF_ERROR(data->move_to(id));
    }
    if (static_cast<size_t>(data->size()) != block_bytes)
      return fail(ErrorCode::kCorruption, "\"{}\": block {} has {} bytes, expected {}", database.path().native(), id,
                  data->size(), block_bytes);
    EDGE_INFER_RETURN_IF_ERROR(data->read(std::as_writable_bytes(std::span(rows)), 0));
    dot_rows(query, rows.data(), scores);
    for (size_t place = 0; place < scores.size(); ++place) {
      const ScoredSlot found{id * kBlockSlots + static_cast<int64_t>(place), scores[place]};
      const bool wanted = best.size() < count || better(found, best.front());
      if (!wanted || (live[place / 64] >> (place % 64) & 1) == 0 || !(found.score == found.score)) continue;
      if (best.size() == count) {
        std::pop_heap(best.begin(), best.end(), better);
        best.pop_back();
      }
      best.push_back(found);
      std::push_heap(best.begin(), best.end(), better);
    }
  }
  std::sort(best.begin(), best.end(), better);
  return best;
}

}  // namespace edge_infer
