#!/usr/bin/env python3
"""How long a warm start takes on the first GPU: start_bench.py MODEL_DIR [--bin edge-infer] [--rounds 8]

In turn, a process that only asks the driver for a context, and `edge-infer embed` of one short text from a filled cache.
  driver's own                   cuInit and the first device's primary context
  our context                    what edge-infer says of its own: driver and context
  first vector                   from the start of the process to the first byte of its vector
  first vector - our context     of the same run
  end                            to the end of the process, the driver's teardown included
Medians and lowest, in ms. 77: there is no CUDA device. Needs no packages.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
# Run by a child: the driver's functions are found as edge-infer finds them.
DRIVER = """
import ctypes, json, os, time
cuda = ctypes.CDLL(os.environ.get("EDGE_INFER_LIBCUDA") or "libcuda.so.1")
def find(name, version, *types):
    address, status = ctypes.c_void_p(), ctypes.c_int()
    code = cuda.cuGetProcAddress_v2(name, ctypes.byref(address), ctypes.c_int(version), ctypes.c_uint64(0), ctypes.byref(status))
    assert code == 0 and address.value, f"no {name}"
    return ctypes.CFUNCTYPE(ctypes.c_int, *types)(address.value)
init = find(b"cuInit", 2000, ctypes.c_uint)
get = find(b"cuDeviceGet", 2000, ctypes.POINTER(ctypes.c_int), ctypes.c_int)
retain = find(b"cuDevicePrimaryCtxRetain", 7000, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int)
device, context = ctypes.c_int(), ctypes.c_void_p()
begin = time.perf_counter()
code = init(0)
assert code == 0, f"cuInit gives {code}"
ready = time.perf_counter()
assert get(ctypes.byref(device), 0) == 0, "there is no device 0"
code = retain(ctypes.byref(context), device)
assert code == 0, f"cuDevicePrimaryCtxRetain gives {code}"
print(json.dumps([(ready - begin) * 1e3, (time.perf_counter() - ready) * 1e3]))
"""


def last_line(text):
    return (text.strip().splitlines() or ["nothing was said"])[-1]


def driver_times():
    """cuInit and context, in ms; None and why where there is no device."""
    child = subprocess.run([sys.executable, "-c", DRIVER], capture_output=True, text=True)
    if child.returncode != 0:
        return None, last_line(child.stderr)
    return json.loads(child.stdout), ""


def embed(command):
    """First byte and end in ms, and what was logged."""
    with tempfile.TemporaryFile("w+") as log:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=dict(os.environ, EDGE_INFER_LOGS="device"))
        first = os.read(child.stdout.fileno(), 1)
        at_first = time.perf_counter()
        while os.read(child.stdout.fileno(), 1 << 16):
            pass
        code = child.wait()
        at_end = time.perf_counter()
        log.seek(0)
        text = log.read()
    if code != 0 or not first:
        print(f"start_bench: {' '.join(command)} ended with {code}: {last_line(text)}", flush=True)
        sys.exit(SKIPPED if "no CUDA device" in text else 1)
    return (at_first - start) * 1e3, (at_end - start) * 1e3, text


def default_binary():
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [os.environ.get("EDGE_INFER_BIN"), os.path.join(here, "bin")]
    for folder in filter(None, folders):
        if os.path.exists(os.path.join(folder, "edge-infer")):
            return os.path.join(folder, "edge-infer")
    return shutil.which("edge-infer")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--bin", default=default_binary(), help="edge-infer; else of $EDGE_INFER_BIN, of bin/ beside this file or of $PATH")
    parser.add_argument("--rounds", type=int, default=8)
    arguments = parser.parse_args()
    if arguments.bin is None or arguments.rounds < 1:
        parser.error("no edge-infer was found" if arguments.bin is None else "--rounds is at least 1")
    driver, why = driver_times()
    if driver is None:
        print(f"start_bench: no CUDA device: {why}")
        return SKIPPED
    command = [arguments.bin, "embed", "--device", "cuda", "--model", arguments.model, "hello world"]
    for _ in range(2):  # compiles what the cache lacks, and reads all files once
        embed(command)
    rows, log = {}, ""

    def add(name, ms):
        rows.setdefault(name, []).append(ms)
    for _ in range(arguments.rounds):
        driver, why = driver_times()
        if driver is None:
            print(f"start_bench: the driver gave no context: {why}")
            return 1
        first, end, log = embed(command)
        add("cuInit", driver[0])
        add("context", driver[1])
        add("driver's own (both)", sum(driver))
        context = re.search(r"context ([0-9.]+) ms", log)
        if context:
            add("our context", float(context[1]))
        add("first vector", first)
        if context:
            add("first vector - our context", first - float(context[1]))
        add("end", end)
    for name, times in rows.items():
        note = "" if len(times) == arguments.rounds else f"  ({len(times)} of {arguments.rounds} runs)"
        print(f"start      {name:<28} median {statistics.median(times):8.1f} ms  lowest {min(times):8.1f}{note}")
    print("start      last run: " + "; ".join(log.splitlines()), flush=True)
    if "our context" not in rows:
        print("start_bench: edge-infer did not tell the time of its context: it was not the GPU that answered")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
