#!/usr/bin/env python3
"""Process start to first vector: `edge-infer embed` of one sentence with a warm file cache. start_bench.py MODEL [RUNS]"""
import os
import pathlib
import subprocess
import sys
import time

root = pathlib.Path(__file__).resolve().parent.parent.parent
program = [str(root / "build/release/bin/edge-infer"), "embed", "--model", sys.argv[1], "Harbour gate"]
runs = int(sys.argv[2]) if len(sys.argv) > 2 else 40
times = []
for _ in range(runs):
    begin = time.perf_counter()
    subprocess.run(program, check=True, stdout=subprocess.DEVNULL)
    times.append((time.perf_counter() - begin) * 1e3)
first, times = times[0], sorted(times)
print(f"start to vector, {runs} processes: best {times[0]:.1f} ms, median {times[len(times) // 2]:.1f} ms "
      f"(bar 80, goal 40); first run {first:.1f} ms")
