#!/usr/bin/env python3
"""Every broken or unusual model directory gives what tests/data/broken_models/make_broken_models.py expects of it."""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

from support import MODEL, ROOT, Checks, need_model, run

need_model()
check = Checks()
with tempfile.TemporaryDirectory() as folder:
    out = pathlib.Path(folder, "models")
    subprocess.run([sys.executable, str(ROOT / "tests/data/broken_models/make_broken_models.py"), MODEL, str(out)], check=True,
                   stdout=subprocess.DEVNULL)
    env = {"EDGE_INFER_CACHE": str(pathlib.Path(folder, "cache"))}
    # Bits change once, when compiled kernels take over from the prebuilt ones.
    run("compile", "--model", MODEL, env=env)
    golden = run("embed", "--model", MODEL, "Harbour gate", env=env).json_lines()[0]
    for line in open(out / "expect.jsonl", encoding="utf-8"):
        case = json.loads(line)
        name, expect = case["case"], case["expect"]
        try:
            r = run("embed", "--model", out / name, "Harbour gate", env=env, timeout=60, cwd=folder)
        except (AssertionError, subprocess.TimeoutExpired) as e:
            check(False, f"{name} ({case['why']}): {e}")
            continue
        where = f"{name} ({case['why']}): exit {r.code}, {r.err.strip()[:300]}"
        if expect == "ok":
            check(r.code == 0, where)
        if expect == "error":
            check(r.code == 1, "expected an error: " + where)
        if r.code == 0:
            vector = r.json_lines()[0]
            check(len(vector) in (48, 384, 768) and all(map(math.isfinite, vector)), "finite numbers: " + where)
            if case.get("golden"):
                check(vector == golden, "the real model's vector: " + where)
        else:
            check(r.err.startswith("edge-infer: ") and r.err.count("\n") <= 4, "one clear line: " + where)
            for wanted in case["names"]:
                options = wanted if isinstance(wanted, list) else [wanted]
                check(any(o.lower() in r.err.lower() for o in options), f"names {wanted}: " + where)
    check(not pathlib.Path(folder, "UNPICKLED").exists(), "pickled weights are never loaded")
check.finish()
