#include "models/sentence_graph.h"

#include <string>

#include "compiler/capture/graph_builder.h"
#include "models/architectures/activation.h"
#include "models/architectures/architecture.h"

namespace edge_infer {
namespace {

std::string pool_mode(PoolingMode mode) {
  switch (mode) {
    case PoolingMode::kCls:
      return "cls";
    case PoolingMode::kMax:
      return "max";
    case PoolingMode::kMean:
      return "mean";
    case PoolingMode::kMeanSqrtLength:
      return "mean_sqrt_len";
    case PoolingMode::kWeightedMean:
      return "weighted_mean";
    case PoolingMode::kLastToken:
      return "last";
  }
  return "mean";
}

Result<ValueId> dense_layer(GraphBuilder& b, ValueId x, size_t index, const DenseConfig& config,
                            const WeightStore& weights, int64_t width) {
  if (config.in_features != width)
    return fail(ErrorCode::kCorruption, "\"{}\": in_features is {}, but the module before gives {}",
                config.dir.native(), config.in_features, width);
  const std::string prefix = fmt::format("dense.{}.linear.", index);
  EDGE_INFER_RETURN_IF_ERROR(weights.find_weight("linear.weight", {config.out_features, config.in_features}));
  const ValueId w = b.constant(prefix + "weight", DType::kF32, {config.out_features, config.in_features});
  ValueId bias = kNoValue;
  if (config.bias) {
    EDGE_INFER_RETURN_IF_ERROR(weights.find_weight("linear.bias", {config.out_features}));
    bias = b.constant(prefix + "bias", DType::kF32, {config.out_features});
  }
  const std::string_view activation = dense_activation_name(config.activation);
  if (const auto active = emit_activation(b, b.op("aten.linear", {x, w, bias}), activation)) return *active;
  return fail(ErrorCode::kInternal, "\"{}\": no activation {}", config.dir.native(), activation);
}

// torch.nn.functional.normalize: x / max(|x|, 1e-12).
ValueId normalize(GraphBuilder& b, ValueId x) {
  const ValueId norm = b.op("aten.linalg_vector_norm", {x},
                            {{"ord", 2.0}, {"dim", std::vector<int64_t>{-1}}, {"keepdim", true}});
  const ValueId floor = b.op("aten.clamp_min", {norm}, {{"min", 1e-12}});
  return b.op("aten.div", {x, floor});
}

}  // namespace

Result<SentenceGraph> build_sentence_graph(const ModelDirectory& directory, const WeightStore& weights,
                                           std::span<const WeightStore> dense) {
  EDGE_INFER_ASSIGN(const Architecture* const architecture, find_architecture(directory));
  const SentenceModel& sentence = directory.sentence();
  GraphBuilder b("sentence");
  const SymInt tokens = b.symbol("T", {1, kMaxBatchTokens}, 128);
  const SymInt sequences = b.symbol("B", {1, kMaxBatchTokens}, 1);
  PackedInputs inputs;
  inputs.ids = b.input("ids", DType::kI32, {tokens});
  inputs.cu_seqlens = b.input("cu_seqlens", DType::kI32, {sequences + 1});
  EDGE_INFER_ASSIGN(const Encoder encoder, architecture->build(b, inputs, directory, weights));
  if (sentence.pooling.dimension && *sentence.pooling.dimension != encoder.width)
    return fail(ErrorCode::kCorruption, "\"{}\": pooling expects vectors of {}, the encoder gives {}",
                directory.path().native(), *sentence.pooling.dimension, encoder.width);
  std::vector<ValueId> pooled;
  for (const PoolingMode mode : sentence.pooling.modes)
    pooled.push_back(
        b.op("edge.segment_pool", {encoder.hidden, inputs.cu_seqlens}, {{"mode", pool_mode(mode)}}));
  ValueId x = pooled.size() == 1 ? pooled[0] : b.op("aten.cat", pooled, {{"dim", int64_t{1}}});
  int64_t width = encoder.width * static_cast<int64_t>(pooled.size());
  for (size_t i = 0; i < sentence.dense.size(); ++i) {
    EDGE_INFER_ASSIGN(x, dense_layer(b, x, i, sentence.dense[i], dense[i], width));
    width = sentence.dense[i].out_features;
  }
  if (sentence.normalize) x = normalize(b, x);
  b.output(x);
  EDGE_INFER_ASSIGN(Graph graph, b.finish());
  return SentenceGraph{std::move(graph), width, encoder.vocabulary, encoder.positions};
}

}  // namespace edge_infer
