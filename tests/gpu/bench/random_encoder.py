#!/usr/bin/env python3
"""A BERT of another size with random fp16 weights, for figures: random_encoder.py MODEL_DIR OUT [--hidden 768] [--layers 12]

Tokenizer and settings are those of MODEL_DIR; the feed-forward part has four times the width, heads have 64 columns. The
same arguments give the same weights. Needs numpy.
"""
import argparse
import json
import pathlib
import shutil
import struct

import numpy as np


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--layers", type=int, default=12)
    arguments = parser.parse_args()
    hidden, inner = arguments.hidden, 4 * arguments.hidden
    shutil.copytree(arguments.model, arguments.out, ignore=shutil.ignore_patterns("*.safetensors"), dirs_exist_ok=True)

    def update(name, **values):
        file = arguments.out / name
        file.write_text(json.dumps({**json.loads(file.read_text()), **values}, indent=2))
        return json.loads(file.read_text())
    config = update("config.json", hidden_size=hidden, intermediate_size=inner, num_hidden_layers=arguments.layers,
                    num_attention_heads=hidden // 64)
    update("1_Pooling/config.json", word_embedding_dimension=hidden)

    random = np.random.default_rng(1)
    tensors = {}

    def add(name, *shape, around=0):
        tensors[name] = (around + 0.03 * random.standard_normal(shape, dtype=np.float32)).astype(np.float16)

    def add_linear(name, outputs, inputs):
        add(name + ".weight", outputs, inputs)
        add(name + ".bias", outputs)

    def add_norm(name):
        add(name + ".weight", hidden, around=1)
        add(name + ".bias", hidden)
    for table, rows in (("word", "vocab_size"), ("position", "max_position_embeddings"), ("token_type", "type_vocab_size")):
        add(f"embeddings.{table}_embeddings.weight", config[rows], hidden)
    add_norm("embeddings.LayerNorm")
    for layer in (f"encoder.layer.{i}." for i in range(arguments.layers)):
        for name in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            add_linear(layer + name, hidden, hidden)
        add_linear(layer + "intermediate.dense", inner, hidden)
        add_linear(layer + "output.dense", hidden, inner)
        add_norm(layer + "attention.output.LayerNorm")
        add_norm(layer + "output.LayerNorm")

    header, end = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F16", "shape": list(tensor.shape), "data_offsets": [end, end + tensor.nbytes]}
        end += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(arguments.out / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.tobytes())


if __name__ == "__main__":
    main()
