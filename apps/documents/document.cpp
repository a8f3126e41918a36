#include "apps/documents/document.h"

#include <algorithm>

namespace edge_infer {
namespace {

// The run that holds text offset `at`.
const Origin& run_of(const Block& block, int64_t at) {
  const auto next =
      std::upper_bound(block.origins.begin(), block.origins.end(), at,
                       [](int64_t offset, const Origin& run) { return offset < run.text_offset; });
  return next == block.origins.begin() ? *next : *(next - 1);
}

}  // namespace

ByteRange source_range(const Block& block, int64_t begin, int64_t end) {
  const auto size = static_cast<int64_t>(block.text.size());
  begin = std::clamp<int64_t>(begin, 0, size);
  end = std::clamp<int64_t>(end, begin, size);
  if (block.origins.empty() || size == 0) return {block.start, block.end};
  const auto units_before = [](const Origin& run, int64_t at) {
    return (at - run.text_offset) / run.text_unit;
  };
  const Origin& first = run_of(block, std::min(begin, size - 1));
  const int64_t start =
      first.source_offset + units_before(first, std::min(begin, size - 1)) * first.source_unit;
  if (begin == end) return {start, start};
  const Origin& last = run_of(block, end - 1);
  const int64_t stop = last.source_offset + (units_before(last, end - 1) + 1) * last.source_unit;
  return {std::min(start, block.end), std::clamp(stop, std::min(start, block.end), block.end)};
}

}  // namespace edge_infer
