#!/usr/bin/env python3
"""Runs a program on 106 broken and unusual model directories and checks what it does with each.

  broken_models.py --model MODEL_DIR --command edge-infer [--only TEXT] [--keep DIR]
  broken_models.py --model MODEL_DIR --command model_files_check --loader

The directories come from ../data/broken_models/make_broken_models.py, which also says what to expect. The program is
called as `COMMAND embed --model DIR TEXT`; it must print one JSON array and exit with 0, or say why not on standard
error and exit with 1. With --loader it only loads the files: cases that only a model's architecture can decide pass
when it says "ok". Exit status: 0 all as expected, 1 not, 77 (skipped) without --model.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
TEXT = "Harbour gate"
SECONDS, MEGABYTES = 120, 1500
# What the files alone do not tell.
ARCHITECTURE = ("st-dtype-integer", "st-tensor-missing", "st-shape-transposed", "st-shape-rank", "st-nan", "config-heads-", "config-layers-", "config-hidden-",
                "config-vocab-small", "config-type-unknown", "config-activation-unknown", "config-eps-negative", "config-position-relative", "tok-id-past-rows",
                "tok-template-id-past-rows")


def run(command, text, cwd, cache):
    """(exit status, standard output, standard error, seconds, peak megabytes)"""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        child = subprocess.Popen(command + [text], stdout=out, stderr=err, stdin=subprocess.DEVNULL, cwd=cwd, env=dict(os.environ, EDGE_INFER_CACHE=cache))
        while True:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - start > SECONDS:
                child.kill()
                os.wait4(child.pid, 0)
                return "hang", "", "", SECONDS, 0
            time.sleep(0.01)
        child.returncode = os.waitstatus_to_exitcode(status) if hasattr(os, "waitstatus_to_exitcode") else status
        out.seek(0)
        err.seek(0)
        return child.returncode, out.read().decode("utf-8", "replace"), err.read().decode("utf-8", "replace"), time.monotonic() - start, usage.ru_maxrss / 1024


def names_missing(names, text):
    text = text.lower()
    return [n for n in names if not any(x.lower() in text for x in (n if isinstance(n, list) else [n]))]


def vector_of(output):
    lines = output.splitlines()
    if len(lines) != 1:
        raise ValueError(f"{len(lines)} lines of output")
    return json.loads(lines[0])


def wrong(row, result, loader, golden):
    """What is wrong with the result of a case, or None."""
    status, out, err, _, megabytes = result
    case, expect = row["case"], row["expect"]
    if status not in (0, 1):
        return f"ended with {status}: {err[-200:]!r}"
    if megabytes > MEGABYTES:
        return f"took {megabytes:.0f} MB"
    if status == 1:
        if expect == "ok":
            return f"refused: {err[-300:]!r}"
        missing = names_missing(row["names"], err)
        return f"does not name {missing}: {err[-300:]!r}" if missing else None
    if expect == "error":
        if loader and case.startswith(ARCHITECTURE):
            return None
        return "taken for good"
    if loader:
        return None
    vector = vector_of(out)
    if not all(isinstance(x, (int, float)) and math.isfinite(x) for x in vector):
        return None if case == "st-nan" and not names_missing([["nan", "finite"]], err) else "numbers that are not finite"
    dimensions = len(golden) if row.get("golden") or case == "modules-absent" else 48
    if len(vector) != dimensions:
        return f"{len(vector)} numbers, expected {dimensions}"
    if row.get("golden") and vector != golden:
        return "not the vector of the real model"
    norm = math.sqrt(sum(x * x for x in vector))
    if case == "modules-absent" and abs(norm - 1) < 1e-3:
        return "normalized without a module that says so"
    if case == "tiny-good" and abs(norm - 1) > 1e-3:
        return f"length {norm}, expected 1"
    return None


def text_for(case):
    if case.startswith("max-seq-"):
        return "harbour gate " * 2500
    if case == "tok-regex-slow":
        return "a" * 40 + "b"
    return TEXT


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", default=os.environ.get("EDGE_INFER_TEST_MODEL", ""))
    p.add_argument("--command", required=True)
    p.add_argument("--loader", action="store_true")
    p.add_argument("--only", default="")
    p.add_argument("--keep", help="write the directories here and leave them")
    a = p.parse_args()
    if not a.model:
        print("no model: EDGE_INFER_TEST_MODEL is not set")
        sys.exit(77)
    program = os.path.abspath(a.command)
    with tempfile.TemporaryDirectory(prefix="edge_infer_broken_") as folder:
        models = os.path.abspath(a.keep) if a.keep else os.path.join(folder, "models")
        cache, cwd = os.path.join(folder, "cache"), os.path.join(folder, "cwd")
        os.mkdir(cwd)
        subprocess.run([sys.executable, os.path.join(here, "..", "data", "broken_models", "make_broken_models.py"), a.model, models], check=True)
        golden = [] if a.loader else vector_of(run([program, "embed", "--model", a.model], TEXT, cwd, cache)[1])
        with open(os.path.join(models, "expect.jsonl"), encoding="ascii") as f:
            rows = [json.loads(line) for line in f]
        failures, slowest = 0, 0.0
        rows = [r for r in rows if a.only in r["case"]]
        for row in rows:
            result = run([program, "embed", "--model", os.path.join(models, row["case"])], text_for(row["case"]), cwd, cache)
            slowest = max(slowest, result[3])
            try:
                what = wrong(row, result, a.loader, golden)
            except ValueError as error:
                what = f"output: {error}: {result[1][:200]!r}"
            if what:
                failures += 1
                print(f"FAIL {row['case']} (expect {row['expect']}: {row['why']}): {what}")
        if os.path.exists(os.path.join(cwd, "UNPICKLED")):
            failures += 1
            print("FAIL bin-only: the pickled file was run")
        print(f"{len(rows)} cases, {failures} failures, slowest {slowest:.1f} s")
        sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
