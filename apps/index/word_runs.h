// Whether two passages say the same: the manual as HTML, PDF and plain text, a file and its copy.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace edge_infer {

// The runs of three words of a text, as a set of hashes; a shorter text is one run.
class WordRuns {
 public:
  explicit WordRuns(std::string_view text);

  // At least 8 of 10 runs of both together are in both. Never true of a text without words. Not sensitive to
  // white space, punctuation and the case of ASCII letters.
  bool is_like(const WordRuns& other) const;

 private:
  std::vector<uint64_t> hashes_;  // ascending
};

}  // namespace edge_infer
