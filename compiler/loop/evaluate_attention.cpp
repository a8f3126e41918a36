#include "compiler/loop/evaluate_attention.h"

#include <algorithm>
#include <cmath>

namespace edge_infer::loop {
namespace {

// Element d of head h of row r is at r * row + offset + h * dim + d.
class RowView {
 public:
  RowView(const Attention::View& view, int64_t head, int64_t dim, std::span<TensorView> buffers)
      : buffer_(buffers[static_cast<size_t>(view.buffer)]),
        row_(view.row),
        start_(view.offset + head * dim) {}
  double at(int64_t row, int64_t d) const { return buffer_.load(row * row_ + start_ + d).number; }
  void store(int64_t row, int64_t d, double value) {
    buffer_.store(row * row_ + start_ + d, {.number = value});
  }
  int64_t rows() const { return buffer_.count() / row_; }

 private:
  TensorView& buffer_;
  int64_t row_, start_;
};

}  // namespace

Status evaluate_attention(const Attention& a, int64_t m, std::span<TensorView> buffers) {
  const TensorView& units = buffers[static_cast<size_t>(a.units)];
  const TensorView& cu = buffers[static_cast<size_t>(a.cu)];
  const int64_t unit = m / a.heads, head = m % a.heads, kv_head = head / (a.heads / a.kv_heads);
  const int64_t sequence = units.load(2 * unit).integer, first = units.load(2 * unit + 1).integer;
  if (sequence < 0 || sequence + 1 >= cu.count())
    return fail(ErrorCode::kInvalidArgument, "unit {} is of sequence {}, expected one of {}", unit, sequence,
                cu.count() - 1);
  const int64_t begin = cu.load(sequence).integer, end = cu.load(sequence + 1).integer;
  RowView q(a.q, head, a.dim, buffers), k(a.k, kv_head, a.dim, buffers), v(a.v, kv_head, a.dim, buffers),
      out(a.out, head, a.dim, buffers);
  const int64_t rows = std::min({q.rows(), k.rows(), v.rows(), out.rows()});
  if (begin < 0 || end < begin || end > rows || first < 0 || first >= std::max<int64_t>(end - begin, 1))
    return fail(
        ErrorCode::kInvalidArgument,
        "unit {} begins at row {} of rows {}..{} of sequence {}, expected rows within the {} of the buffers",
        unit, first, begin, end, sequence, rows);
  std::vector<double> scores;
  for (int64_t i = first; i < std::min(first + a.block_rows, end - begin); ++i) {
    const int64_t keys = a.causal ? i + 1 : end - begin;
    scores.assign(static_cast<size_t>(keys), 0);
    double largest = -HUGE_VAL, sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      double dot = 0;
      for (int64_t d = 0; d < a.dim; ++d) dot += q.at(begin + i, d) * k.at(begin + j, d);
      const double score = scores[static_cast<size_t>(j)] = dot * a.scale;
      largest = std::isnan(score) || score > largest ? score : largest;
    }
    for (double& score : scores) sum += score = std::exp(score - largest);
    for (int64_t d = 0; d < a.dim; ++d) {
      double total = 0;
      for (int64_t j = 0; j < keys; ++j) total += scores[static_cast<size_t>(j)] * v.at(begin + j, d);
      // Scores that are all -inf weigh nothing.
      out.store(begin + i, d, largest == -HUGE_VAL ? 0 : total / sum);
    }
  }
  return {};
}

}  // namespace edge_infer::loop
