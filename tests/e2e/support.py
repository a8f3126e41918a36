"""What the end-to-end tests share: the programs, the model, running a command with a time limit."""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ.get("EDGE_INFER_BIN", ROOT / "build/release/bin"))
EDGE_INFER = str(BIN / "edge-infer")
MODEL = os.environ.get("EDGE_INFER_TEST_MODEL", "")
SKIP = 77  # ctest's SKIP_RETURN_CODE


def need_model():
    if not MODEL:
        print("EDGE_INFER_TEST_MODEL is not set")
        sys.exit(SKIP)


class Run:
    def __init__(self, code, out, err, seconds=0.0):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def json_lines(self):
        return [json.loads(line) for line in self.out.splitlines() if line.strip()]


def run(*args, timeout=60, text=True, env=None, **kwargs):
    """edge-infer ARGS; a run that hangs or dies by a signal is an error of the test."""
    full = dict(os.environ, **(env or {}))
    done = subprocess.run([EDGE_INFER, *map(str, args)], capture_output=True, timeout=timeout, env=full, **kwargs)
    if done.returncode < 0:
        raise AssertionError(f"edge-infer {args} died of signal {-done.returncode}: {done.stderr[-2000:]!r}")
    decode = (lambda b: b.decode("utf-8", "replace")) if text else (lambda b: b)
    return Run(done.returncode, decode(done.stdout), done.stderr.decode("utf-8", "replace"))


class Checks:
    """Counts checks; finish() prints what failed and ends the program."""

    def __init__(self):
        self.failed, self.done = [], 0

    def __call__(self, condition, what):
        self.done += 1
        if not condition:
            self.failed.append(what)
            print("FAILED:", what)

    def finish(self):
        print(f"{self.done - len(self.failed)} of {self.done} checks held")
        sys.exit(1 if self.failed else 0)
