// Searching an index file: exact vector search, BM25 over words, or both fused by reciprocal rank.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/index/schema.h"

namespace edge_infer {

enum class SearchMode { kHybrid, kVector, kText };

// "hybrid", "vector", "text".
std::optional<SearchMode> parse_search_mode(std::string_view name);

struct SearchOptions {
  SearchMode mode = SearchMode::kHybrid;
  int64_t top = 10;  // passages; more than the index has are as many as it has
};

struct SearchHit {
  std::string path;   // bytes as the system has them
  int64_t chunk = 0;  // number of the passage in its file, from 0
  double score = 0;   // vector: cosine; text: BM25; hybrid: sum of 1 / (3 + rank). Higher is better
  std::string text, heading;
  int page = 0;  // from 1; 0: the format has none
  int64_t start = 0, end = 0;
  int64_t vector_rank = 0, text_rank = 0;  // from 1 in each ranking; 0: not in it
};

// One connection for reading, safe beside writers of the same file: a search sees one state of the index. Not
// thread-safe; open one per thread.
class Searcher {
 public:
  // Errors: those of open_index.
  static Result<Searcher> open(const std::filesystem::path& path);

  // None: the index holds no document yet, and every search finds nothing.
  const std::optional<EmbeddingSpace>& space() const { return space_; }

  // `vector` is the query's, of any length but zero; unused (may be empty) in text mode, `query` is unused in
  // vector mode. Any bytes are a valid query. Passages of one file, and passages of other files that say the
  // same, are thinned out so that they cannot fill the top; equal scores are ordered by path and passage.
  Result<std::vector<SearchHit>> search(std::string_view query, std::span<const float> vector,
                                        const SearchOptions& options) const;

 private:
  std::unique_ptr<Database> database_;
  std::vector<std::unique_ptr<Database>> helpers_;  // for the vector scan of a large index
  std::optional<EmbeddingSpace> space_;
};

}  // namespace edge_infer
