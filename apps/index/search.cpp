#include "apps/index/search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "apps/index/fusion.h"
#include "apps/index/scan.h"
#include "apps/index/text_query.h"
#include "runtime/base/cpu.h"

namespace edge_infer {
namespace {

// Ranked passages considered of each kind of search, at least: fusion and thinning need more than what is
// shown.
constexpr int64_t kMinCandidates = kFusionDepth;
// Passages of one file shown before those of other files had their turn.
constexpr size_t kPerFile = 3;
// The scan is bound by memory: more threads than this add nothing, and a small share is not worth a thread.
constexpr int64_t kMaxScanThreads = 4;
constexpr int64_t kBlocksPerThread = 64;

std::string bytes_of(std::span<const std::byte> blob) {
  return {reinterpret_cast<const char*>(blob.data()), blob.size()};
}

// Pages are read where the system's cache holds them, without a copy into SQLite's.
Status map_pages(const Database& database) {
  return database.run("PRAGMA mmap_size = 8589934592");
}

// A read transaction: all statements of a search see one state.
class Snapshot {
 public:
  static Result<Snapshot> begin(const Database& database) {
    EDGE_INFER_RETURN_IF_ERROR(database.run("BEGIN"));
    return Snapshot(&database);
  }
  Snapshot(Snapshot&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Snapshot& operator=(Snapshot&&) = delete;
  ~Snapshot() {
    if (database_ != nullptr) (void)database_->run("COMMIT");
  }

 private:
  explicit Snapshot(const Database* database) : database_(database) {}
  const Database* database_;
};

// The best `count` of a ranking, and all that score as the last of them: which of equals come first in the
// file depends on the order of indexing. `fetch` gives the best so many, in order.
template <typename T, typename Fetch>
Result<std::vector<T>> best_with_ties(int64_t count, Fetch fetch) {
  for (int64_t limit = count + 1;; limit *= 2) {
    EDGE_INFER_ASSIGN(std::vector<T> found, fetch(limit));
    if (static_cast<int64_t>(found.size()) <= count) return found;
    const auto last = found[static_cast<size_t>(count) - 1].score;
    if (static_cast<int64_t>(found.size()) == limit && found.back().score == last) continue;
    while (found.back().score != last) found.pop_back();
    return found;
  }
}

Result<std::vector<Candidate>> rank_by_vector(const Database& db,
                                              std::span<const std::unique_ptr<Database>> helpers,
                                              std::span<const float> vector, int64_t count) {
  double norm = 0;
  for (const float x : vector) norm += double{x} * double{x};
  norm = std::sqrt(norm);
  if (!(norm > 0) || !std::isfinite(norm))
    return fail(ErrorCode::kInvalidArgument, "the query's vector has length {}, expected a positive number",
                norm);
  std::vector<float> unit(vector.begin(), vector.end());
  for (float& x : unit) x = static_cast<float>(x / norm);
  EDGE_INFER_ASSIGN(const std::vector<ScoredSlot> slots,
                    best_with_ties<ScoredSlot>(count, [&](int64_t limit) {
                      return scan_vectors(db, unit, static_cast<size_t>(limit), helpers);
                    }));
  EDGE_INFER_ASSIGN(
      Statement passages,
      db.prepare("SELECT chunk.id, file.path, chunk.ordinal FROM vector JOIN chunk ON chunk.vector = "
                 "vector.id JOIN file ON file.id = chunk.file WHERE vector.slot = ?"));
  std::vector<Candidate> ranked;
  for (const ScoredSlot& slot : slots) {
    passages.bind(0, slot.slot);
    while (true) {
      EDGE_INFER_ASSIGN(const bool row, passages.step());
      if (!row) break;
      ranked.push_back(
          {passages.integer(0), bytes_of(passages.blob(1)), passages.integer(2), slot.score, 0, 0});
    }
  }
  sort_candidates(ranked);
  return ranked;
}

// Words in more than half of all passages say nothing, but make BM25 visit most of the index: they are left
// out when the query has others.
Result<TextQuery> drop_common_words(const Database& db, TextQuery query) {
  EDGE_INFER_ASSIGN(const int64_t passages, db.integer("SELECT count(*) FROM chunk"));
  const int64_t many = passages / 2 + 1;
  EDGE_INFER_ASSIGN(
      Statement count,
      db.prepare("SELECT count(*) FROM (SELECT 1 FROM chunk_fts WHERE chunk_fts MATCH ? LIMIT ?)"));
  TextQuery rare;
  for (const std::string& term : query.terms) {
    EDGE_INFER_ASSIGN(const bool row, count.bind(0, term).bind(1, many).step());
    if (row && count.integer(0) < many) rare.terms.push_back(term);
    count.reset();
  }
  return rare.terms.empty() ? query : rare;
}

Result<std::vector<Candidate>> match(const Database& db, const std::string& expression, int64_t count) {
  EDGE_INFER_ASSIGN(
      Statement query,
      db.prepare("SELECT rowid, bm25(chunk_fts) AS badness FROM chunk_fts WHERE chunk_fts MATCH ? "
                 "ORDER BY badness, rowid LIMIT ?"));
  query.bind(0, expression).bind(1, count);
  std::vector<Candidate> found;
  while (true) {
    EDGE_INFER_ASSIGN(const bool row, query.step());
    if (!row) return found;
    found.push_back({query.integer(0), {}, 0, -query.real(1), 0, 0});
  }
}

Result<std::vector<Candidate>> rank_by_text(const Database& db, std::string_view text, int64_t count) {
  TextQuery query = parse_text_query(text);
  if (query.terms.empty()) return std::vector<Candidate>{};
  EDGE_INFER_ASSIGN(query, drop_common_words(db, std::move(query)));
  const std::string words = query.any();
  EDGE_INFER_ASSIGN(std::vector<Candidate> ranked,
                    best_with_ties<Candidate>(count, [&](int64_t limit) { return match(db, words, limit); }));
  EDGE_INFER_ASSIGN(Statement place,
                    db.prepare("SELECT file.path, chunk.ordinal FROM chunk JOIN file ON file.id = "
                               "chunk.file WHERE chunk.id = ?"));
  for (Candidate& candidate : ranked) {
    EDGE_INFER_ASSIGN(const bool row, place.bind(0, candidate.chunk_id).step());
    if (!row)
      return fail(ErrorCode::kCorruption, "\"{}\": words of passage {}, which is missing", db.path().native(),
                  candidate.chunk_id);
    candidate.path = bytes_of(place.blob(0));
    candidate.ordinal = place.integer(1);
    place.reset();
  }
  sort_candidates(ranked);
  return ranked;
}

Result<std::vector<SearchHit>> load_hits(const Database& db, std::vector<Candidate> candidates) {
  EDGE_INFER_ASSIGN(Statement load,
                    db.prepare("SELECT text, heading, page, start_byte, end_byte FROM chunk WHERE id = ?"));
  std::vector<SearchHit> hits;
  for (Candidate& c : candidates) {
    EDGE_INFER_ASSIGN(const bool row, load.bind(0, c.chunk_id).step());
    if (!row)
      return fail(ErrorCode::kCorruption, "\"{}\": passage {} is missing", db.path().native(), c.chunk_id);
    hits.push_back({std::move(c.path), c.ordinal, c.score, std::string(load.text(0)),
                    std::string(load.text(1)), static_cast<int>(load.integer(2)), load.integer(3),
                    load.integer(4), c.vector_rank, c.text_rank});
    load.reset();
  }
  return hits;
}

}  // namespace

std::optional<SearchMode> parse_search_mode(std::string_view name) {
  if (name == "hybrid") return SearchMode::kHybrid;
  if (name == "vector") return SearchMode::kVector;
  if (name == "text") return SearchMode::kText;
  return std::nullopt;
}

Result<Searcher> Searcher::open(const std::filesystem::path& path) {
  Searcher searcher;
  EDGE_INFER_ASSIGN(searcher.database_, open_index(path, OpenMode::kReadOnly));
  EDGE_INFER_RETURN_IF_ERROR(map_pages(*searcher.database_));
  EDGE_INFER_ASSIGN(const int64_t blocks, searcher.database_->integer("SELECT count(*) FROM block"));
  const auto threads = std::min<int64_t>({worker_budget(), kMaxScanThreads, blocks / kBlocksPerThread});
  for (int64_t i = 1; i < threads; ++i) {
    EDGE_INFER_ASSIGN(auto helper, open_index(path, OpenMode::kReadOnly));
    EDGE_INFER_RETURN_IF_ERROR(map_pages(*helper));
    searcher.helpers_.push_back(std::move(helper));
  }
  EDGE_INFER_ASSIGN(searcher.space_, read_space(*searcher.database_));
  return searcher;
}

Result<std::vector<SearchHit>> Searcher::search(std::string_view query, std::span<const float> vector,
                                                const SearchOptions& options) const {
  if (options.top < 1)
    return fail(ErrorCode::kInvalidArgument, "{} passages asked for, expected at least 1", options.top);
  if (!space_) return std::vector<SearchHit>{};
  const bool by_vector = options.mode != SearchMode::kText, by_text = options.mode != SearchMode::kVector;
  if (by_vector && static_cast<int64_t>(vector.size()) != space_->dimensions)
    return fail(ErrorCode::kInvalidArgument, "a query vector of {} numbers, the index holds {}",
                vector.size(), space_->dimensions);
  EDGE_INFER_ASSIGN(const Snapshot snapshot, Snapshot::begin(*database_));
  EDGE_INFER_ASSIGN(const int64_t passages, database_->integer("SELECT count(*) FROM chunk"));
  const int64_t top = std::min(options.top, passages);
  const int64_t count = std::max(kMinCandidates, std::min(top * 4, passages));
  std::vector<Candidate> vectors, words;
  if (by_vector) {
    EDGE_INFER_ASSIGN(vectors, rank_by_vector(*database_, helpers_, vector, count));
  }
  if (by_text) {
    EDGE_INFER_ASSIGN(words, rank_by_text(*database_, query, count));
  }
  std::vector<Candidate> ranked;
  if (by_vector && by_text) {
    ranked = fuse_rankings(vectors, words);
  } else {
    ranked = std::move(by_vector ? vectors : words);
    int64_t rank = 0;
    for (Candidate& c : ranked) (by_vector ? c.vector_rank : c.text_rank) = ++rank;
  }
  EDGE_INFER_ASSIGN(Statement load_text, database_->prepare("SELECT text FROM chunk WHERE id = ?"));
  const auto text_of = [&](const Candidate& c) -> Result<std::string> {
    EDGE_INFER_ASSIGN(const bool row, load_text.bind(0, c.chunk_id).step());
    std::string text(row ? load_text.text(0) : std::string_view());
    load_text.reset();
    return text;
  };
  EDGE_INFER_ASSIGN(std::vector<Candidate> shown,
                    thin_out(ranked, static_cast<size_t>(top), kPerFile, text_of));
  return load_hits(*database_, std::move(shown));
}

}  // namespace edge_infer
