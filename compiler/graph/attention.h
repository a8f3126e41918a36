// Softmax attention of one head in double, for the evaluators.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "compiler/graph/evaluators.h"

namespace edge_infer {

// Row-major slices; strides are between rows, in elements.
struct AttentionView {
  const double* query = nullptr;  // [rows, width]
  const double* key = nullptr;    // [columns, width]
  const double* value = nullptr;  // [columns, value_width]
  int64_t query_stride = 0, key_stride = 0, value_stride = 0, out_stride = 0;
  int64_t rows = 0, columns = 0, width = 0, value_width = 0;
};

// out[i] = sum over j of softmax(score(i, j, q_i . k_j)) * v_j. A row whose scores are all -inf is 0.
template <typename Score>
void attend(const AttentionView& view, double* out, Score&& score) {
  std::vector<double> scores(static_cast<size_t>(view.columns));
  for (int64_t i = 0; i < view.rows; ++i) {
    double largest = -HUGE_VAL, sum = 0;
    for (int64_t j = 0; j < view.columns; ++j) {
      double dot = 0;
      for (int64_t d = 0; d < view.width; ++d)
        dot += view.query[i * view.query_stride + d] * view.key[j * view.key_stride + d];
      scores[static_cast<size_t>(j)] = score(i, j, dot);
      largest = max_or_nan(largest, scores[static_cast<size_t>(j)]);
    }
    double* row = out + i * view.out_stride;
    for (int64_t d = 0; d < view.value_width; ++d) row[d] = 0;
    if (largest == -HUGE_VAL) continue;
    for (double& s : scores) sum += s = std::exp(s - largest);
    for (int64_t j = 0; j < view.columns; ++j)
      for (int64_t d = 0; d < view.value_width; ++d)
        row[d] += scores[static_cast<size_t>(j)] / sum * view.value[j * view.value_stride + d];
  }
}

}  // namespace edge_infer
