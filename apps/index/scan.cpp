#include "apps/index/scan.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

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

// Four running sums hide the latency of the additions. The order of the sums depends on the vector type only,
// so one machine always gives one score.
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

namespace {

struct BlockRef {
  int64_t id = 0;
  LiveBits live{};
};

// Blocks that a thread takes at a time.
constexpr size_t kBlocksPerTurn = 8;

Result<std::vector<BlockRef>> list_blocks(const Database& database) {
  EDGE_INFER_ASSIGN(Statement blocks,
                    database.prepare("SELECT id, live FROM block WHERE used > 0 ORDER BY id"));
  std::vector<BlockRef> list;
  while (true) {
    EDGE_INFER_ASSIGN(const bool row, blocks.step());
    if (!row) return list;
    BlockRef block{blocks.integer(0), {}};
    EDGE_INFER_ASSIGN(block.live, decode_live_bits(database, block.id, blocks.blob(1)));
    list.push_back(block);
  }
}

// One thread's work: blocks from the shared list, and the best vectors among them.
class ScanWorker {
 public:
  ScanWorker(const Database& database, std::span<const float> query, size_t count)
      : database_(database),
        query_(query),
        count_(count),
        rows_(static_cast<size_t>(kBlockSlots) * query.size()),
        scores_(static_cast<size_t>(kBlockSlots)) {}

  Status run(const std::vector<BlockRef>& blocks, std::atomic<size_t>& next) {
    while (true) {
      const size_t first = next.fetch_add(kBlocksPerTurn);
      if (first >= blocks.size()) return {};
      const size_t last = std::min(first + kBlocksPerTurn, blocks.size());
      for (size_t i = first; i < last; ++i) EDGE_INFER_RETURN_IF_ERROR(scan(blocks[i]));
    }
  }

  std::vector<ScoredSlot>& best() { return best_; }

 private:
  Status scan(const BlockRef& block) {
    if (!data_) {
      EDGE_INFER_ASSIGN(data_, BlobHandle::open(database_, "block_data", "data", block.id, false));
    } else {
      EDGE_INFER_RETURN_IF_ERROR(data_->move_to(block.id));
    }
    const auto bytes = std::as_writable_bytes(std::span(rows_));
    if (static_cast<size_t>(data_->size()) != bytes.size())
      return fail(ErrorCode::kCorruption, "\"{}\": block {} has {} bytes, expected {}",
                  database_.path().native(), block.id, data_->size(), bytes.size());
    EDGE_INFER_RETURN_IF_ERROR(data_->read(bytes, 0));
    dot_rows(query_, rows_.data(), scores_);
    for (size_t place = 0; place < scores_.size(); ++place) {
      const bool live = (block.live[place / 64] >> (place % 64) & 1) != 0;
      const bool number = scores_[place] == scores_[place];
      if (live && number) offer({block.id * kBlockSlots + static_cast<int64_t>(place), scores_[place]});
    }
    return {};
  }

  void offer(const ScoredSlot& found) {
    if (best_.size() == count_) {
      if (!better(found, best_.front())) return;
      std::pop_heap(best_.begin(), best_.end(), better);
      best_.pop_back();
    }
    best_.push_back(found);
    std::push_heap(best_.begin(), best_.end(), better);
  }

  const Database& database_;
  std::span<const float> query_;
  size_t count_;
  std::vector<float> rows_, scores_;
  std::optional<BlobHandle> data_;
  std::vector<ScoredSlot> best_;
};

// Runs a helper's share, if its connection sees the state that `generation` names.
Status run_helper(ScanWorker& worker, const Database& database, int64_t generation,
                  const std::vector<BlockRef>& blocks, std::atomic<size_t>& next) {
  EDGE_INFER_RETURN_IF_ERROR(database.run("BEGIN"));
  const auto seen = database.integer("SELECT generation FROM space");
  Status status;
  if (!seen)
    status = std::unexpected(seen.error());
  else if (*seen == generation)
    status = worker.run(blocks, next);
  const Status ended = database.run("COMMIT");
  return status ? ended : status;
}

}  // namespace

Result<std::vector<ScoredSlot>> scan_vectors(const Database& database, std::span<const float> query,
                                             size_t count,
                                             std::span<const std::unique_ptr<Database>> helpers) {
  if (count == 0) return std::vector<ScoredSlot>{};
  EDGE_INFER_ASSIGN(const std::vector<BlockRef> blocks, list_blocks(database));
  std::atomic<size_t> next{0};
  std::vector<std::unique_ptr<ScanWorker>> workers;
  for (size_t i = 0; i <= helpers.size(); ++i)
    workers.push_back(std::make_unique<ScanWorker>(i == 0 ? database : *helpers[i - 1], query, count));
  std::vector<Status> statuses(workers.size());
  if (!helpers.empty()) {
    EDGE_INFER_ASSIGN(const int64_t generation, database.integer("SELECT generation FROM space"));
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < workers.size(); ++i)
      threads.emplace_back(
          [&, i] { statuses[i] = run_helper(*workers[i], *helpers[i - 1], generation, blocks, next); });
    statuses[0] = workers[0]->run(blocks, next);
  } else {
    statuses[0] = workers[0]->run(blocks, next);
  }
  std::vector<ScoredSlot> best;
  for (size_t i = 0; i < workers.size(); ++i) {
    EDGE_INFER_RETURN_IF_ERROR(std::move(statuses[i]));
    best.insert(best.end(), workers[i]->best().begin(), workers[i]->best().end());
  }
  std::sort(best.begin(), best.end(), better);
  if (best.size() > count) best.resize(count);
  return best;
}

}  // namespace edge_infer
