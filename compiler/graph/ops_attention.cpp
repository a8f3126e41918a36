// Attention over dense batches.
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

// query [..., Hq, L, E], key [..., H, S, E], value [..., H, S, Ev], mask broadcast to [..., Hq, L, S] (true:
// attend, or added to the scores). With enable_gqa, Hq is a multiple of H. is_causal: row i attends to
// columns 0..i.
Result<Types> infer_sdpa(const InferContext& c) {
  const Sizes &q = c.inputs[0]->sizes, &k = c.inputs[1]->sizes, &v = c.inputs[2]->sizes;
  EDGE_INFER_RETURN_IF_ERROR(expect_floating(c, 0));
  for (const size_t i : {size_t{1}, size_t{2}}) {
    EDGE_INFER_RETURN_IF_ERROR(expect_same_dtype(c, 0, i));
    EDGE_INFER_RETURN_IF_ERROR(expect_rank(c, i, c.inputs[0]->rank()));
  }
  const size_t rank = q.size();
  if (rank < 2)
    return fail(ErrorCode::kInvalidArgument, "query is {}, expected 2 or more dimensions",
                print(*c.inputs[0]));
  EDGE_INFER_RETURN_IF_ERROR(expect_equal_size(c, k[rank - 1], q[rank - 1], "the head size of key"));
  EDGE_INFER_RETURN_IF_ERROR(expect_equal_size(c, v[rank - 2], k[rank - 2], "the length of value"));
  const bool is_grouped = attribute_as<bool>(c.node, "enable_gqa");
  for (size_t i = 0; i + 2 < rank; ++i) {
    EDGE_INFER_RETURN_IF_ERROR(expect_equal_size(c, v[i], k[i], fmt::format("size {} of value", i)));
    if (is_grouped && i + 3 == rank) {
      const auto heads = q[i].constant(), kv_heads = k[i].constant();
      if (!heads || !kv_heads || *kv_heads < 1 || *heads % *kv_heads != 0)
        return fail(ErrorCode::kInvalidArgument, "{} query heads are no multiple of {} key heads", q[i].str(),
                    k[i].str());
    } else {
      EDGE_INFER_RETURN_IF_ERROR(expect_equal_size(c, k[i], q[i], fmt::format("size {} of key", i)));
    }
  }
  TensorType type = *c.inputs[0];
  if (c.inputs[3] != nullptr) {
    if (c.inputs[3]->dtype != DType::kBool) EDGE_INFER_RETURN_IF_ERROR(expect_same_dtype(c, 0, 3));
    Sizes scores = q;
    scores.back() = k[rank - 2];
    EDGE_INFER_ASSIGN(const Sizes sizes, broadcast_sizes(c.inputs[3]->sizes, scores));
    if (!(sizes == scores))
      return fail(ErrorCode::kInvalidArgument, "attn_mask {} does not broadcast to {}", print(*c.inputs[3]),
                  print(Attribute{scores}));
  }
  type.sizes.back() = v.back();
  return Types{std::move(type)};
}

double scale_of(const Node& node, double head_size) {
  const Attribute& scale = attribute(node, "scale");
  return std::holds_alternative<double>(scale) ? std::get<double>(scale) : 1 / std::sqrt(head_size);
}

Status evaluate_sdpa(const EvaluateContext& c) {
  const auto &q = c.in(0).sizes, &k = c.in(1).sizes, &v = c.in(2).sizes;
  const size_t rank = q.size();
  const int64_t rows = q[rank - 2], columns = k[rank - 2], width = q.back(), value_width = v.back();
  const int64_t heads = rank >= 3 ? q[rank - 3] : 1, kv_heads = rank >= 3 ? k[rank - 3] : 1;
  int64_t batches = 1;
  for (size_t i = 0; i + 3 < rank; ++i) batches *= q[i];
  const auto queries = c.in(0).to_doubles(), keys = c.in(1).to_doubles(), values = c.in(2).to_doubles();
  std::vector<int64_t> score_sizes = q;
  score_sizes.back() = columns;
  const auto mask = c.has(3) ? c.in(3).to_doubles() : std::vector<double>();
  const auto mask_at = c.has(3) ? broadcast_index(c.in(3).sizes, score_sizes) : std::vector<size_t>();
  const bool is_bool = c.has(3) && c.in(3).dtype == DType::kBool;
  const double scale = scale_of(c.node, static_cast<double>(width));
  const bool is_causal = attribute_as<bool>(c.node, "is_causal");
  std::vector<double> out(static_cast<size_t>(c.out().elements()));
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t kv = b * kv_heads + h / (heads / kv_heads), head = b * heads + h;
      AttentionView view;
      view.query = queries.data() + head * rows * width;
      view.key = keys.data() + kv * columns * width;
      view.value = values.data() + kv * columns * value_width;
      view.query_stride = view.key_stride = width;
      view.value_stride = view.out_stride = value_width;
      view.rows = rows, view.columns = columns, view.width = width, view.value_width = value_width;
      attend(view, out.data() + head * rows * value_width, [&](int64_t i, int64_t j, double dot) {
        if (is_causal && j > i) return -HUGE_VAL;
        if (mask.empty()) return dot * scale;
        const double m = mask[mask_at[static_cast<size_t>((head * rows + i) * columns + j)]];
        return is_bool ? (m != 0 ? dot * scale : -HUGE_VAL) : dot * scale + m;
      });
    }
  c.out().store(out);
  return {};
}

// --- Decomposition ---

ValueId grouped(GraphBuilder& b, ValueId x, int64_t groups) {
  if (groups == 1) return x;
  const Sizes sizes = b.type(x).sizes;
  const auto heads = static_cast<int64_t>(sizes.size()) - 3;
  Sizes wide = sizes;
  wide.insert(wide.begin() + heads + 1, SymInt(groups));
  Sizes merged = sizes;
  merged[static_cast<size_t>(heads)] = sizes[static_cast<size_t>(heads)] * SymInt(groups);
  const ValueId column = b.op("aten.unsqueeze", {x}, {{"dim", heads + 1}});
  return b.op("aten.view", {b.op("aten.expand", {column}, {{"size", wide}})}, {{"size", merged}});
}

Values decompose_sdpa(GraphBuilder& b, const Node& node, Ids in) {
  const TensorType q = b.type(in[0]), k = b.type(in[1]);
  const size_t rank = q.sizes.size();
  const auto width = q.sizes.back().constant();
  if (!width && std::holds_alternative<std::monostate>(attribute(node, "scale")))
    return fail(ErrorCode::kUnsupported, "{}: the head size is not constant", node.op->name);
  int64_t groups = 1;
  if (attribute_as<bool>(node, "enable_gqa") && rank >= 3)
    groups = *q.sizes[rank - 3].constant() / *k.sizes[rank - 3].constant();
  const ValueId key =
      b.op("aten.transpose", {grouped(b, in[1], groups)}, {{"dim0", int64_t{-2}}, {"dim1", int64_t{-1}}});
  ValueId scores = b.op("aten.matmul", {in[0], key});
  scores =
      b.op("aten.mul.Scalar", {scores}, {{"scalar", scale_of(node, static_cast<double>(width.value_or(1)))}});
  const ValueId never =
      b.op("aten.full", {}, {{"size", Sizes{}}, {"fill_value", -HUGE_VAL}, {"dtype", q.dtype}});
  if (in[3] != kNoValue)
    scores = b.type(in[3]).dtype == DType::kBool ? b.op("aten.where", {in[3], scores, never})
                                                 : b.op("aten.add", {scores, in[3]});
  if (attribute_as<bool>(node, "is_causal")) {
    const ValueId row = b.op("aten.unsqueeze", {b.op("aten.arange", {}, {{"end", q.sizes[rank - 2]}})},
                             {{"dim", int64_t{1}}});
    const ValueId column = b.op("aten.arange", {}, {{"end", k.sizes[rank - 2]}});
    scores = b.op("aten.where", {b.op("aten.ge", {row, column}), scores, never});
  }
  // A row that may attend to nothing is 0: its maximum is kept finite and its sum away from 0. Any other
  // row's sum is at least 1, that of its maximum.
  const Attributes last = {{"dim", std::vector<int64_t>{-1}}, {"keepdim", true}};
  const double lowest = q.dtype == DType::kF16 ? -65504.0 : -3e38;
  const ValueId largest = b.op("aten.clamp", {b.op("aten.amax", {scores}, last)}, {{"min", lowest}});
  const ValueId e = b.op("aten.exp", {b.op("aten.sub", {scores, largest})});
  const ValueId sum = b.op("aten.clamp", {b.op("aten.sum", {e}, last)}, {{"min", 1.0}});
  return std::vector{b.op("aten.matmul", {b.op("aten.div", {e, sum}), grouped(b, in[2], groups)})};
}

}  // namespace

void add_attention_ops(std::vector<OpInfo>& table) {
  using enum AttributeKind;
  table.push_back({.name = "aten.scaled_dot_product_attention",
                   .kind = OpKind::kAttention,
                   .operands = {{"query"}, {"key"}, {"value"}, optional_operand("attn_mask")},
                   .attributes = {with_default("is_causal", kBool, false), or_none("scale", kFloat),
                                  with_default("enable_gqa", kBool, false)},
                   .infer = infer_sdpa,
                   .evaluate = evaluate_sdpa,
                   .decompose = decompose_sdpa});
}

}  // namespace edge_infer
