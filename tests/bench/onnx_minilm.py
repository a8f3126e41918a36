"""Writes a BERT-family model directory as the ONNX graph that ONNX Runtime's transformer optimizer would make of it.

Usage: onnx_minilm.py MODEL_DIR OUT.onnx. Needs onnx, numpy and safetensors. The graph uses ONNX Runtime's fused operators (EmbedLayerNormalization,
Attention, SkipLayerNormalization, BiasGelu), so that the peer is measured at its best; mean pooling and L2 normalization
follow. Inputs as the usual exports have: input_ids, attention_mask, token_type_ids, all int64 [batch, sequence].
"""
import json
import pathlib
import sys

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save
from safetensors.numpy import load_file

MS = "com.microsoft"


def build(model):
    config = json.load(open(model / "config.json"))
    weights = load_file(model / "model.safetensors")
    hidden, heads, eps = config["hidden_size"], config["num_attention_heads"], config["layer_norm_eps"]
    nodes, initializers = [], []

    def constant(name, array):
        initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def weight(name):
        return constant(name, weights[name])

    def matmul(x, name):
        return node("MatMul", [x, constant(name + ".weight.T", weights[name + ".weight"].T)], name)

    def node(op, inputs, output, domain="", outputs=1, **attributes):
        names = [output + ".out"] + [output + f".out{i}" for i in range(1, outputs)]
        nodes.append(helper.make_node(op, inputs, names, name=output, domain=domain, **attributes))
        return names[0]

    def norm(x, skip, name, bias):
        return node("SkipLayerNormalization", [x, skip, weight(name + ".weight"), weight(name + ".bias"), bias], name, MS,
                    epsilon=eps)

    for name in ("input_ids", "attention_mask", "token_type_ids"):
        nodes.append(helper.make_node("Cast", [name], [name + "32"], to=TensorProto.INT32))
    e = "embeddings."
    nodes.append(helper.make_node(
        "EmbedLayerNormalization",
        ["input_ids32", "token_type_ids32", weight(e + "word_embeddings.weight"), weight(e + "position_embeddings.weight"),
         weight(e + "token_type_embeddings.weight"), weight(e + "LayerNorm.weight"), weight(e + "LayerNorm.bias"),
         "attention_mask32"], ["embed", "mask_index"], domain=MS, epsilon=eps))
    x = "embed"
    for i in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{i}."
        qkv = [layer + f"attention.self.{n}" for n in ("query", "key", "value")]
        w = constant(layer + "qkv.weight", np.concatenate([weights[n + ".weight"].T for n in qkv], axis=1))
        b = constant(layer + "qkv.bias", np.concatenate([weights[n + ".bias"] for n in qkv]))
        a = node("Attention", [x, w, b, "mask_index"], layer + "attention", MS, num_heads=heads)
        a = matmul(a, layer + "attention.output.dense")
        x = norm(a, x, layer + "attention.output.LayerNorm", weight(layer + "attention.output.dense.bias"))
        f = matmul(x, layer + "intermediate.dense")
        f = node("BiasGelu", [f, weight(layer + "intermediate.dense.bias")], layer + "gelu", MS)
        f = matmul(f, layer + "output.dense")
        x = norm(f, x, layer + "output.LayerNorm", weight(layer + "output.dense.bias"))
    nodes.append(helper.make_node("Cast", ["attention_mask"], ["mask_f"], to=TensorProto.FLOAT))
    m = node("Unsqueeze", ["mask_f", constant("axis2", np.array([2], np.int64))], "mask3")
    axis1 = constant("axis1", np.array([1], np.int64))
    total = node("ReduceSum", [node("Mul", [x, m], "masked"), axis1], "sum", keepdims=0)
    mean = node("Div", [total, node("ReduceSum", [m, axis1], "count", keepdims=0)], "mean")
    nodes.append(helper.make_node("LpNormalization", [mean], ["sentence_embedding"], axis=-1, p=2))
    ids = [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "sequence"])
           for n in ("input_ids", "attention_mask", "token_type_ids")]
    nodes.append(helper.make_node("Identity", [x], ["last_hidden_state"]))
    out = [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", hidden]),
           helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", hidden])]
    graph = helper.make_graph(nodes, "encoder", ids, out, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)], ir_version=8)


if __name__ == "__main__":
    proto = build(pathlib.Path(sys.argv[1]))
    save(proto, sys.argv[2])
