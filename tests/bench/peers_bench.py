#!/usr/bin/env python3
"""edge-infer against ONNX Runtime and fastembed on one model, in one process, taking turns; best of N, as ratios.

  peers_bench.py --model DIR --lib build/release/lib/libedge_infer.so [--threads 1,2] [--lengths 16,128,512] [--seconds 8]
                 [--cases fixed,bulk] [--json FILE]

Rows at batch 1: compiled kernels, the prebuilt ones (eager), ONNX Runtime and, where it is installed, OpenVINO held to
fp32 as the others are; the ratio is that of the compiled kernels to the better peer.

Needs onnx, onnxruntime, safetensors, tokenizers, numpy; fastembed for the bulk case (without it: ONNX Runtime with
tokenizers and texts sorted by length). The peer runs the fused graph of onnx_minilm.py. edge-infer is measured through
the C library from text, its tokenizer included; ONNX Runtime from token ids. A ratio above 1 says that edge-infer is faster.
"""
import argparse
import concurrent.futures
import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

import onnx_minilm

WORDS = "the harbour gate opens at six and closes after the last boat has left for the outer islands with mail".split()


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("precision", ctypes.c_char_p), ("device", ctypes.c_char_p),
                ("cache_dir", ctypes.c_char_p), ("max_length", ctypes.c_int64), ("threads", ctypes.c_int32),
                ("flags", ctypes.c_uint32)]


class Failure(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("message", ctypes.c_char * 508)]


class Ours:
    """compiled: waits for the compiled kernels before the first measurement; else the prebuilt ones answer."""
    def __init__(self, lib, model, threads, max_length, compiled=True):
        self.lib = ctypes.CDLL(lib)
        self.lib.edge_infer_prepare.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        self.lib.edge_infer_dimensions.restype = ctypes.c_int64
        self.lib.edge_infer_dimensions.argtypes = [ctypes.c_void_p]
        self.lib.edge_infer_embed.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                                              ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p,
                                              ctypes.c_void_p]
        self.handle, failure = ctypes.c_void_p(), Failure()
        options = Options(ctypes.sizeof(Options), None, b"cpu", None, max_length, threads, 0 if compiled else 1)
        if self.lib.edge_infer_open(model.encode(), ctypes.byref(options), ctypes.byref(self.handle), ctypes.byref(failure)):
            sys.exit(failure.message.decode())
        if compiled and self.lib.edge_infer_prepare(self.handle, ctypes.byref(failure)):
            sys.exit(failure.message.decode())
        self.width = self.lib.edge_infer_dimensions(self.handle)

    def prepare(self, texts):
        raw = [t.encode() for t in texts]
        pointers, lengths = (ctypes.c_char_p * len(raw))(*raw), (ctypes.c_size_t * len(raw))(*map(len, raw))
        out, failure = np.empty((len(raw), self.width), np.float32), Failure()

        def run():
            if self.lib.edge_infer_embed(self.handle, pointers, lengths, len(raw), None, out.ctypes.data, out.size, None,
                                         ctypes.byref(failure)):
                sys.exit(failure.message.decode())
            return out
        return run


def session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    s = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda ids: s.run(["sentence_embedding"], {"input_ids": ids, "attention_mask": (ids != 0).astype(np.int64),
                                    "token_type_ids": np.zeros_like(ids)})[0]


def openvino_session(path, threads):
    """None: not installed, or it does not read the graph."""
    try:
        import openvino
        settings = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 1,
                    "PERFORMANCE_HINT": "LATENCY"}
        model = openvino.Core().compile_model(path, "CPU", settings)
    except (ImportError, RuntimeError) as error:
        print("OpenVINO is left out:", str(error).strip().splitlines()[0], file=sys.stderr)
        return None
    request = model.create_infer_request()
    return lambda ids: request.infer({"input_ids": ids, "attention_mask": (ids != 0).astype(np.int64),
                                      "token_type_ids": np.zeros_like(ids)})["sentence_embedding"]


def take_turns(runs, seconds):
    """Best time of each, alternating. A pause lets the other's threads go to sleep: ONNX Runtime's spin for a million
    pauses of the processor, some 50 ms."""
    best, counts, end = [float("inf")] * len(runs), 0, time.monotonic() + seconds
    while counts < 5 or time.monotonic() < end:
        for i, run in enumerate(runs):
            time.sleep(0.1)
            start = time.perf_counter()
            run()
            best[i] = min(best[i], time.perf_counter() - start)
        counts += 1
    return best


def fixed(a, onnx_file, threads, tokenizer, rows):
    ours = {"compiled": Ours(a.lib, a.model, threads, max(a.lengths)),
            "eager": Ours(a.lib, a.model, threads, max(a.lengths), compiled=False)}
    peers = {"onnxruntime": session(onnx_file, threads), "openvino": openvino_session(onnx_file, threads)}
    peers = {name: peer for name, peer in peers.items() if peer}
    for length in a.lengths:
        text = " ".join(WORDS[i % len(WORDS)] for i in range(length - 2))
        ids = np.array([tokenizer.encode(text).ids], np.int64)
        assert ids.shape[1] == length, (ids.shape, length)
        runs = {name: o.prepare([text]) for name, o in ours.items()}
        runs |= {name: lambda peer=peer: peer(ids) for name, peer in peers.items()}
        vectors = {name: run().copy() for name, run in runs.items()}
        difference = max(float(abs(vectors["compiled"] - v).max()) for v in vectors.values())
        best = dict(zip(runs, take_turns(list(runs.values()), a.seconds)))
        ratio = min(best[name] for name in peers) / best["compiled"]
        rows.append({"case": "fixed", "threads": threads, "length": length, "ratio": ratio, "max_difference": difference}
                    | {f"{name}_ms": time * 1e3 for name, time in best.items()})
        print(f"batch 1, length {length:4}, {threads} threads: "
              + ", ".join(f"{name} {time * 1e3:.3f} ms" for name, time in best.items())
              + f", ratio {ratio:.2f}   (max difference {difference:.1e})", flush=True)


def bulk_texts(count):
    random = np.random.default_rng(5)
    return [" ".join(random.choice(WORDS, int(n))) for n in random.integers(8, 250, count)]


def bulk(a, onnx_file, threads, tokenizer, rows):
    texts = bulk_texts(a.texts)
    ours = Ours(a.lib, a.model, threads, 0).prepare(texts)
    try:
        from fastembed import TextEmbedding
        folder = tempfile.mkdtemp()
        shutil.copy(onnx_file, folder + "/model.onnx")
        for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
            shutil.copy(os.path.join(a.model, name), folder)
        model = TextEmbedding("sentence-transformers/all-MiniLM-L6-v2", specific_model_path=folder, threads=threads)
        name, peer = "fastembed", lambda: np.stack(list(model.embed(texts, batch_size=a.batch)))
    except ImportError:
        run = session(onnx_file, threads)
        name = "onnxruntime, sorted batches"

        def peer():
            ids = [e.ids for e in tokenizer.encode_batch(texts)]
            order, out = sorted(range(len(ids)), key=lambda i: len(ids[i])), [None] * len(ids)
            for first in range(0, len(order), a.batch):
                part = order[first:first + a.batch]
                padded = np.zeros((len(part), max(len(ids[i]) for i in part)), np.int64)
                for row, i in enumerate(part):
                    padded[row, :len(ids[i])] = ids[i]
                for i, vector in zip(part, run(padded)):
                    out[i] = vector
            return np.stack(out)
    single = session(onnx_file, 1)

    def callers():
        """As many callers as threads, each a text at a time: no padding, but short products."""
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            encoded = [np.array([e.ids], np.int64) for e in tokenizer.encode_batch(texts)]
            return np.concatenate(list(pool.map(single, encoded)))
    difference = float(abs(ours() - peer()).max())
    mine, theirs, at_one = take_turns([ours, peer, callers], a.seconds)
    if at_one < theirs:
        name, theirs = f"onnxruntime, {threads} callers at batch 1", at_one
    tokens = sum(len(e.ids) for e in tokenizer.encode_batch(texts))
    rows.append({"case": "bulk", "peer": name, "threads": threads, "texts": len(texts), "tokens": tokens,
                 "edge_infer_s": mine, "peer_s": theirs, "ratio": theirs / mine, "max_difference": difference})
    print(f"bulk of {len(texts)} texts, {tokens} tokens, {threads} threads: edge-infer {tokens / mine:9.0f} tokens/s, {name} "
          f"{tokens / theirs:9.0f} tokens/s, ratio {theirs / mine:.2f}   (max difference {difference:.1e})", flush=True)


def main():
    numbers = lambda text: [int(n) for n in text.split(",")]
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", required=True)
    p.add_argument("--lib", required=True)
    p.add_argument("--threads", type=numbers, default=[1, 2])
    p.add_argument("--lengths", type=numbers, default=[16, 128, 512])
    p.add_argument("--seconds", type=float, default=8, help="of each row")
    p.add_argument("--texts", type=int, default=300)
    p.add_argument("--batch", type=int, default=32, help="of the bulk peer")
    p.add_argument("--cases", default="fixed,bulk")
    p.add_argument("--json")
    a = p.parse_args()
    tokenizer = Tokenizer.from_file(os.path.join(a.model, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(512)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        onnx_file = os.path.join(folder, "model.onnx")
        onnx_minilm.save(onnx_minilm.build(pathlib.Path(a.model)), onnx_file)
        for threads in a.threads:
            for case in a.cases.split(","):
                (fixed if case == "fixed" else bulk)(a, onnx_file, threads, tokenizer, rows)
    if a.json:
        pathlib.Path(a.json).write_text("\n".join(map(json.dumps, rows)) + "\n")


if __name__ == "__main__":
    main()
