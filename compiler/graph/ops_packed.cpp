// Ops on packed sequences: T rows of B sequences behind each other, sequence b being rows cu[b] .. cu[b+1];
// cu has B + 1 ascending entries from 0 to T. And rotary position embedding, which takes positions of packed
// rows.
#include <algorithm>
#include <cmath>

#include "compiler/graph/attention.h"
#include "compiler/graph/evaluators.h"
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/ops.h"
#include "compiler/graph/print.h"

namespace edge_infer {
namespace {

using Ids = std::span<const ValueId>;
using Values = Result<std::vector<ValueId>>;

Status expect_offsets(const InferContext& c, size_t operand) {
  EDGE_INFER_RETURN_IF_ERROR(expect_rank(c, operand, 1));
  return expect_dtype(c, operand, DType::kI32);
}

Result<Types> infer_packed_positions(const InferContext& c) {
  EDGE_INFER_RETURN_IF_ERROR(expect_rank(c, 0, 1));
  EDGE_INFER_RETURN_IF_ERROR(expect_offsets(c, 1));
  return Types{{DType::kI32, c.inputs[0]->sizes}};
}

Result<Types> infer_varlen_attention(const InferContext& c) {
  EDGE_INFER_RETURN_IF_ERROR(expect_floating(c, 0));
  for (size_t i = 0; i < 3; ++i) {
    EDGE_INFER_RETURN_IF_ERROR(expect_rank(c, i, 2));
    EDGE_INFER_RETURN_IF_ERROR(expect_same_dtype(c, 0, i));
    EDGE_INFER_RETURN_IF_ERROR(expect_equal_size(c, c.inputs[i]->sizes[0], c.inputs[0]->sizes[0],
                                                 "the rows of " + c.op.operands[i].name));
  }
  EDGE_INFER_RETURN_IF_ERROR(expect_offsets(c, 3));
  const int64_t heads = attribute_as<int64_t>(c.node, "heads"),
                kv_heads = attribute_as<int64_t>(c.node, "kv_heads");
  if (heads < 1 || kv_heads < 1 || heads % kv_heads != 0)
    return fail(ErrorCode::kInvalidArgument, "heads {} is no positive multiple of kv_heads {}", heads,
                kv_heads);
  const auto width = c.inputs[0]->sizes[1].constant();
  if (!width || *width % heads != 0 || *width == 0)
    return fail(ErrorCode::kInvalidArgument, "query is {}, expected columns for {} heads",
                print(*c.inputs[0]), heads);
  for (const size_t i : {size_t{1}, size_t{2}})
    EDGE_INFER_RETURN_IF_ERROR(expect_equal_size(c, c.inputs[i]->sizes[1], SymInt(*width / heads * kv_heads),
                                                 "the columns of " + c.op.operands[i].name));
  return infer_same(c);
}

Result<Types> infer_segment_pool(const InferContext& c) {
  EDGE_INFER_RETURN_IF_ERROR(expect_floating(c, 0));
  EDGE_INFER_RETURN_IF_ERROR(expect_rank(c, 0, 2));
  EDGE_INFER_RETURN_IF_ERROR(expect_offsets(c, 1));
  return Types{{c.inputs[0]->dtype, {c.inputs[1]->sizes[0] - 1, c.inputs[0]->sizes[1]}}};
}

Result<Types> infer_rope(const InferContext& c) {
  EDGE_INFER_RETURN_IF_ERROR(expect_floating(c, 0));
  EDGE_INFER_RETURN_IF_ERROR(expect_rank(c, 0, 2));
  EDGE_INFER_RETURN_IF_ERROR(expect_rank(c, 1, 1));
  EDGE_INFER_RETURN_IF_ERROR(expect_index(c, 1));
  EDGE_INFER_RETURN_IF_ERROR(
      expect_equal_size(c, c.inputs[1]->sizes[0], c.inputs[0]->sizes[0], "the positions"));
  const int64_t head_dim = attribute_as<int64_t>(c.node, "head_dim");
  const auto width = c.inputs[0]->sizes[1].constant();
  if (head_dim < 2 || head_dim % 2 != 0 || !width || *width % head_dim != 0)
    return fail(ErrorCode::kInvalidArgument, "{} has no heads of an even size {}", print(*c.inputs[0]),
                head_dim);
  if (!(attribute_as<double>(c.node, "base") > 0))
    return fail(ErrorCode::kInvalidArgument, "base is {}, expected more than 0",
                attribute_as<double>(c.node, "base"));
  return infer_same(c);
}

// --- Evaluation ---

Result<std::vector<int64_t>> offsets_of(const HostTensor& cu, int64_t rows) {
  const std::vector<int64_t> offsets = cu.to_integers();
  const bool ascending = std::is_sorted(offsets.begin(), offsets.end());
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != rows || !ascending)
    return fail(ErrorCode::kInvalidArgument, "cu_seqlens {} do not ascend from 0 to {}",
                print(Attribute{offsets}), rows);
  return offsets;
}

Status evaluate_packed_positions(const EvaluateContext& c) {
  EDGE_INFER_ASSIGN(const auto cu, offsets_of(c.in(1), c.in(0).sizes[0]));
  std::vector<int64_t> positions;
  for (size_t b = 0; b + 1 < cu.size(); ++b)
    for (int64_t t = cu[b]; t < cu[b + 1]; ++t) positions.push_back(t - cu[b]);
  c.out().store(positions);
  return {};
}

Status evaluate_varlen_attention(const EvaluateContext& c) {
  const int64_t rows = c.in(0).sizes[0], columns = c.in(0).sizes[1], kv_columns = c.in(1).sizes[1];
  const int64_t heads = attribute_as<int64_t>(c.node, "heads"),
                kv_heads = attribute_as<int64_t>(c.node, "kv_heads");
  const int64_t width = columns / heads;
  const double scale = attribute_as<double>(c.node, "scale");
  const bool is_causal = attribute_as<bool>(c.node, "causal");
  EDGE_INFER_ASSIGN(const auto cu, offsets_of(c.in(3), rows));
  const auto queries = c.in(0).to_doubles(), keys = c.in(1).to_doubles(), values = c.in(2).to_doubles();
  std::vector<double> out(queries.size());
  for (size_t b = 0; b + 1 < cu.size(); ++b)
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t at = cu[b] * columns + h * width,
                    kv = cu[b] * kv_columns + h / (heads / kv_heads) * width;
      AttentionView view;
      view.query = queries.data() + at;
      view.key = keys.data() + kv;
      view.value = values.data() + kv;
      view.query_stride = view.out_stride = columns;
      view.key_stride = view.value_stride = kv_columns;
      view.rows = view.columns = cu[b + 1] - cu[b];
      view.width = view.value_width = width;
      attend(view, out.data() + at,
             [&](int64_t i, int64_t j, double dot) { return is_causal && j > i ? -HUGE_VAL : dot * scale; });
    }
  c.out().store(out);
  return {};
}

// One column of a sequence's n >= 1 rows, pooled.
double pool_column(const std::string& mode, const double* x, int64_t n, int64_t stride) {
  if (mode == "cls") return x[0];
  if (mode == "last") return x[(n - 1) * stride];
  double sum = 0, largest = -HUGE_VAL, weights = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double weight = mode == "weighted_mean" ? static_cast<double>(i + 1) : 1;
    sum += weight * x[i * stride];
    weights += weight;
    largest = max_or_nan(largest, x[i * stride]);
  }
  if (mode == "max") return largest;
  if (mode == "sum") return sum;
  return sum / (mode == "mean_sqrt_len" ? std::sqrt(static_cast<double>(n)) : weights);
}

Status evaluate_segment_pool(const EvaluateContext& c) {
  const int64_t width = c.in(0).sizes[1];
  const std::string& mode = attribute_as<std::string>(c.node, "mode");
  EDGE_INFER_ASSIGN(const auto cu, offsets_of(c.in(1), c.in(0).sizes[0]));
  const auto x = c.in(0).to_doubles();
  std::vector<double> out;
  for (size_t b = 0; b + 1 < cu.size(); ++b)
    for (int64_t n = 0; n < width; ++n) {
      const int64_t rows = cu[b + 1] - cu[b];
      out.push_back(rows == 0 ? 0 : pool_column(mode, x.data() + cu[b] * width + n, rows, width));
    }
  c.out().store(out);
  return {};
}

// Pair p of a head is rotated by position * base^(-2p / head_dim): elements p and p + head_dim/2, or 2p and
// 2p + 1 when interleaved.
Status evaluate_rope(const EvaluateContext& c) {
  const int64_t head_dim = attribute_as<int64_t>(c.node, "head_dim"), width = c.in(0).sizes[1];
  const double base = attribute_as<double>(c.node, "base");
  const bool is_interleaved = attribute_as<bool>(c.node, "interleaved");
  const auto x = c.in(0).to_doubles();
  const auto positions = c.in(1).to_integers();
  std::vector<double> out(x.size());
  for (size_t t = 0; t < positions.size(); ++t)
    for (int64_t h = 0; h < width; h += head_dim)
      for (int64_t p = 0; p < head_dim / 2; ++p) {
        const double power = -2.0 * static_cast<double>(p) / static_cast<double>(head_dim);
        const double angle = static_cast<double>(positions[t]) * std::pow(base, power);
        const size_t row = t * static_cast<size_t>(width) + static_cast<size_t>(h);
        const size_t a = row + static_cast<size_t>(is_interleaved ? 2 * p : p);
        const size_t b = a + static_cast<size_t>(is_interleaved ? 1 : head_dim / 2);
        out[a] = x[a] * std::cos(angle) - x[b] * std::sin(angle);
        out[b] = x[b] * std::cos(angle) + x[a] * std::sin(angle);
      }
  c.out().store(out);
  return {};
}

// The gradient of a rotation is the rotation back.
Values derive_rope(GraphBuilder& b, const Node& node, Ids in, Ids, Ids g) {
  const ValueId back = b.op("aten.neg", {in[1]});
  return std::vector{b.op("edge.rope", {g[0], back}, node.attributes), kNoValue};
}

}  // namespace

void add_packed_ops(std::vector<OpInfo>& table) {
  using enum AttributeKind;
  table.push_back({.name = "edge.packed_positions",
                   .kind = OpKind::kOther,
                   .operands = {{"ids"}, {"cu_seqlens"}},
                   .infer = infer_packed_positions,
                   .evaluate = evaluate_packed_positions});
  table.push_back({.name = "edge.varlen_attention",
                   .kind = OpKind::kAttention,
                   .operands = {{"query"}, {"key"}, {"value"}, {"cu_seqlens"}},
                   .attributes = {required("heads", kInt), required("kv_heads", kInt),
                                  required("scale", kFloat), with_default("causal", kBool, false)},
                   .infer = infer_varlen_attention,
                   .evaluate = evaluate_varlen_attention});
  AttributeSchema mode = required("mode", kString);
  mode.choices = {"mean", "max", "cls", "last", "sum", "mean_sqrt_len", "weighted_mean"};
  table.push_back({.name = "edge.segment_pool",
                   .kind = OpKind::kReduction,
                   .operands = {{"self"}, {"cu_seqlens"}},
                   .attributes = {mode},
                   .infer = infer_segment_pool,
                   .evaluate = evaluate_segment_pool});
  table.push_back({.name = "edge.rope",
                   .kind = OpKind::kOther,
                   .operands = {{"self"}, {"positions"}},
                   .attributes = {required("head_dim", kInt), with_default("base", kFloat, 10000.0),
                                  with_default("interleaved", kBool, false)},
                   .infer = infer_rope,
                   .evaluate = evaluate_rope,
                   .derivative = derive_rope});
}

}  // namespace edge_infer
