#include "models/architectures/bert.h"

#include <cmath>
#include <optional>
#include <string>

#include "models/architectures/activation.h"

namespace edge_infer {
namespace {

struct BertConfig {
  int64_t hidden, layers, heads, inner, vocabulary, positions, types;
  double eps;
  std::string activation;
};

Result<BertConfig> read_config(const ModelDirectory& directory) {
  const JsonObject& json = directory.config();
  BertConfig c{};
  EDGE_INFER_ASSIGN(c.hidden, json.integer("hidden_size", {1, 1 << 16}));
  EDGE_INFER_ASSIGN(c.layers, json.integer("num_hidden_layers", {1, 1024}));
  EDGE_INFER_ASSIGN(c.heads, json.integer("num_attention_heads", {1, 1 << 12}));
  EDGE_INFER_ASSIGN(c.inner, json.integer("intermediate_size", {1, 1 << 18}));
  EDGE_INFER_ASSIGN(c.vocabulary, json.integer("vocab_size", {1, 1 << 24}));
  EDGE_INFER_ASSIGN(c.positions, json.integer("max_position_embeddings", {1, 1 << 20}));
  EDGE_INFER_ASSIGN(c.types, json.integer_or("type_vocab_size", 2, {1, 1 << 16}));
  EDGE_INFER_ASSIGN(c.eps, json.number_or("layer_norm_eps", 1e-12));
  EDGE_INFER_ASSIGN(c.activation, json.text_or("hidden_act", "gelu"));
  EDGE_INFER_ASSIGN(const std::string position_type, json.text_or("position_embedding_type", "absolute"));
  EDGE_INFER_ASSIGN(const bool is_decoder, json.boolean_or("is_decoder", false));
  if (!(c.eps >= 0 && c.eps < 1)) return json.mismatch("layer_norm_eps", "a number in 0..1");
  if (c.hidden % c.heads != 0)
    return fail(ErrorCode::kCorruption, "{}: hidden_size {} is no multiple of num_attention_heads {}",
                json.label(), c.hidden, c.heads);
  const auto unsupported = [&](const std::string& what) {
    return fail(ErrorCode::kUnsupported, "{}: {}", json.label(), what);
  };
  if (position_type != "absolute")
    return unsupported("position_embedding_type " + quote(position_type) + ", expected \"absolute\"");
  if (is_decoder) return unsupported("is_decoder is true, expected an encoder");
  if (json.has("auto_map")) return unsupported("auto_map: the model brings code of its own");
  return c;
}

// Emits one BERT; member functions follow the model's modules.
class Bert {
 public:
  Bert(GraphBuilder& b, const BertConfig& config, const WeightStore& weights, const JsonObject& json)
      : b_(b), c_(config), weights_(weights), json_(json) {}

  Result<ValueId> encode(const PackedInputs& inputs) {
    prefix_ = weights_.has("embeddings.word_embeddings.weight") ? "" : "bert.";
    EDGE_INFER_ASSIGN(ValueId x, embeddings(inputs));
    for (int64_t i = 0; i < c_.layers; ++i) {
      const std::string layer = fmt::format("encoder.layer.{}.", i);
      EDGE_INFER_ASSIGN(const ValueId attended, attention(x, inputs.cu_seqlens, layer + "attention."));
      EDGE_INFER_ASSIGN(x, feed_forward(attended, layer));
    }
    return x;
  }

 private:
  Result<ValueId> weight(const std::string& name, std::vector<int64_t> shape) {
    EDGE_INFER_RETURN_IF_ERROR(weights_.find_weight(prefix_ + name, shape));
    return b_.constant(prefix_ + name, DType::kF32, std::vector<SymInt>(shape.begin(), shape.end()));
  }

  Result<ValueId> linear(ValueId x, const std::string& name, int64_t n, int64_t k) {
    EDGE_INFER_ASSIGN(const ValueId w, weight(name + ".weight", {n, k}));
    EDGE_INFER_ASSIGN(const ValueId bias, weight(name + ".bias", {n}));
    return b_.op("aten.linear", {x, w, bias});
  }

  Result<ValueId> layer_norm(ValueId x, const std::string& name) {
    // Files of before 2019 name the two vectors as TensorFlow did.
    const bool old_names =
        !weights_.has(prefix_ + name + ".weight") && weights_.has(prefix_ + name + ".gamma");
    EDGE_INFER_ASSIGN(const ValueId gamma, weight(name + (old_names ? ".gamma" : ".weight"), {c_.hidden}));
    EDGE_INFER_ASSIGN(const ValueId beta, weight(name + (old_names ? ".beta" : ".bias"), {c_.hidden}));
    return b_.op("aten.layer_norm", {x, gamma, beta},
                 {{"normalized_shape", std::vector<int64_t>{c_.hidden}}, {"eps", c_.eps}});
  }

  Result<ValueId> embeddings(const PackedInputs& inputs) {
    EDGE_INFER_ASSIGN(const ValueId words,
                      weight("embeddings.word_embeddings.weight", {c_.vocabulary, c_.hidden}));
    EDGE_INFER_ASSIGN(const ValueId positions,
                      weight("embeddings.position_embeddings.weight", {c_.positions, c_.hidden}));
    EDGE_INFER_ASSIGN(const ValueId types,
                      weight("embeddings.token_type_embeddings.weight", {c_.types, c_.hidden}));
    const ValueId word = b_.op("aten.embedding", {words, inputs.ids});
    const ValueId type = b_.op("aten.select", {types}, {{"dim", int64_t{0}}, {"index", int64_t{0}}});
    const ValueId position_ids = b_.op("edge.packed_positions", {inputs.ids, inputs.cu_seqlens});
    const ValueId position = b_.op("aten.embedding", {positions, position_ids});
    const ValueId sum = b_.op("aten.add", {b_.op("aten.add", {word, type}), position});
    return layer_norm(sum, "embeddings.LayerNorm");
  }

  Result<ValueId> attention(ValueId x, ValueId cu_seqlens, const std::string& name) {
    EDGE_INFER_ASSIGN(const ValueId q, linear(x, name + "self.query", c_.hidden, c_.hidden));
    EDGE_INFER_ASSIGN(const ValueId k, linear(x, name + "self.key", c_.hidden, c_.hidden));
    EDGE_INFER_ASSIGN(const ValueId v, linear(x, name + "self.value", c_.hidden, c_.hidden));
    const double scale = 1.0 / std::sqrt(static_cast<double>(c_.hidden / c_.heads));
    const ValueId context =
        b_.op("edge.varlen_attention", {q, k, v, cu_seqlens},
              {{"heads", c_.heads}, {"kv_heads", c_.heads}, {"scale", scale}, {"causal", false}});
    EDGE_INFER_ASSIGN(const ValueId out, linear(context, name + "output.dense", c_.hidden, c_.hidden));
    return layer_norm(b_.op("aten.add", {out, x}), name + "output.LayerNorm");
  }

  Result<ValueId> activate(ValueId x) {
    if (const auto active = emit_activation(b_, x, c_.activation)) return *active;
    return fail(ErrorCode::kUnsupported, "{}: hidden_act {}, expected one of: {}", json_.label(),
                quote(c_.activation), activation_names());
  }

  Result<ValueId> feed_forward(ValueId x, const std::string& name) {
    EDGE_INFER_ASSIGN(const ValueId inner, linear(x, name + "intermediate.dense", c_.inner, c_.hidden));
    EDGE_INFER_ASSIGN(const ValueId active, activate(inner));
    EDGE_INFER_ASSIGN(const ValueId out, linear(active, name + "output.dense", c_.hidden, c_.inner));
    return layer_norm(b_.op("aten.add", {out, x}), name + "output.LayerNorm");
  }

  GraphBuilder& b_;
  const BertConfig& c_;
  const WeightStore& weights_;
  const JsonObject& json_;
  std::string prefix_;
};

}  // namespace

Result<Encoder> build_bert(GraphBuilder& b, const PackedInputs& inputs, const ModelDirectory& directory,
                           const WeightStore& weights) {
  EDGE_INFER_ASSIGN(const BertConfig config, read_config(directory));
  Bert bert(b, config, weights, directory.config());
  EDGE_INFER_ASSIGN(const ValueId hidden, bert.encode(inputs));
  return Encoder{hidden, config.hidden, config.vocabulary, config.positions};
}

}  // namespace edge_infer
