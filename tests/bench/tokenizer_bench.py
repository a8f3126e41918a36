#!/usr/bin/env python3
"""Compares the tokenizer with `tokenizers.encode_batch_fast`, one thread each, in processor time, interleaved, best of N.

  tokenizer_bench.py --bin build/release/bin --model MODEL_DIR [--rounds 7] [--json]

Needs the PyPI package tokenizers. The rounds alternate so that a busy or throttled machine slows both.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
here = os.path.dirname(os.path.abspath(__file__))
data = os.path.join(here, "..", "data")


def texts_of(path):
    with open(path, encoding="utf-8") as f:
        values = [json.loads(line) for line in f]
    return [v if isinstance(v, str) else v["text"] for v in values]


def english(texts):
    """Prose only: what most documents are."""
    return [t for t in texts if t and sum(c.isascii() for c in t) == len(t) and " " in t]


def ours(program, model, path):
    done = subprocess.run([program, model, path, "3"], check=True, capture_output=True, text=True)
    return max((json.loads(line) for line in done.stdout.splitlines()), key=lambda r: r["tokens_per_second"])


def theirs(tokenizer, texts):
    best, tokens = float("inf"), 0
    for _ in range(3):
        start = time.process_time()
        encodings = tokenizer.encode_batch_fast(texts)
        best = min(best, time.process_time() - start)
        tokens = sum(len(e.ids) for e in encodings)
    return {"tokens": tokens, "tokens_per_second": tokens / best}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", required=True)
    p.add_argument("--model", required=True)
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--json", action="store_true")
    a = p.parse_args()
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(os.path.join(a.model, "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    program = os.path.join(a.bin, "tokenizer_bench")
    with tempfile.TemporaryDirectory() as folder:
        lines = os.path.join(folder, "lines.jsonl")
        subprocess.run([sys.executable, os.path.join(data, "tokenizer", "make_lines.py"), "--out", lines], check=True)
        prose = os.path.join(folder, "prose.jsonl")
        all_texts = os.path.join(data, "texts", "texts.jsonl")
        with open(prose, "w", encoding="ascii") as f:
            f.writelines(json.dumps(t) + "\n" for t in english(texts_of(all_texts)))
        rows = []
        for name, path in (("1,000 fixture texts", all_texts), ("their ASCII prose", prose), ("20,480 hard lines", lines)):
            texts = texts_of(path)
            best_ours, best_theirs, ratios = 0.0, 0.0, []
            for _ in range(a.rounds):
                hf = theirs(tokenizer, texts)
                own = ours(program, a.model, path)
                if hf["tokens"] != own["tokens"]:
                    sys.exit(f"{name}: {own['tokens']} tokens, tokenizers has {hf['tokens']}")
                best_ours = max(best_ours, own["tokens_per_second"])
                best_theirs = max(best_theirs, hf["tokens_per_second"])
                ratios.append(own["tokens_per_second"] / hf["tokens_per_second"])
            rows.append({"bench": "tokenizer", "input": name, "tokens": own["tokens"], "tokens_per_second": round(best_ours),
                         "tokenizers_per_second": round(best_theirs), "ratio_of_best": round(best_ours / best_theirs, 2),
                         "ratio_median": round(sorted(ratios)[len(ratios) // 2], 2)})
    if a.json:
        for row in rows:
            print(json.dumps(row))
        return
    print(f"{'input':22} {'tokens':>8} {'ours, M/s':>10} {'HF, M/s':>8} {'ratio':>6} {'median':>7}")
    for r in rows:
        print(f"{r['input']:22} {r['tokens']:8} {r['tokens_per_second'] / 1e6:10.2f} {r['tokenizers_per_second'] / 1e6:8.2f} {r['ratio_of_best']:6.1f} {r['ratio_median']:7.1f}")


if __name__ == "__main__":
    main()
