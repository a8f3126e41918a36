"""The cache folder as commands meet it: counted, emptied, read-only, missing, and with files limited in size."""
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

from support import BIN, MODEL, Checks, need_model, run

need_model()
check = Checks()
tmp = pathlib.Path(tempfile.mkdtemp(prefix="edge_cache_"))


def embed(cache, *args, **kwargs):
    return run("embed", "--model", MODEL, *args, "Harbour gate", env={"EDGE_INFER_CACHE": str(cache)}, **kwargs)


def stats(cache):
    return json.loads(run("cache", "stats", "--json", env={"EDGE_INFER_CACHE": str(cache)}).out)


def vector(result):
    return result.json_lines()[0] if result.code == 0 and result.out else None


# A program whose compiler leaves a mark when it is started.
marked, mark = tmp / "marked", tmp / "mark"
marked.mkdir()
shutil.copy(BIN / "edge-infer", marked)
(marked / "edge-infer-cc").write_text(f"#!/bin/sh\ntouch {mark}\nexec {BIN}/edge-infer-cc \"$@\"\n")
(marked / "edge-infer-cc").chmod(0o755)


def embed_marked(cache, *args):
    mark.unlink(missing_ok=True)
    return subprocess.run([str(marked / "edge-infer"), "embed", "--model", MODEL, *args, "Harbour gate"], capture_output=True,
                          text=True, env={**os.environ, "EDGE_INFER_CACHE": str(cache)}, timeout=120)


# Packs and images are counted and cleared, beside what the database has.
warm = tmp / "warm"
eager = embed(warm, "--eager")
check(embed(warm).code == 0, "a first run compiles")
compiled = embed(warm)
check(vector(compiled) != vector(eager), "compiled kernels round differently: else nothing below tells them apart")
counted = stats(warm)
files = list(warm.iterdir())
packs = [f for f in files if f.name.startswith("weights-")]
check(counted["weight_packs"] == 2 and counted["weight_pack_bytes"] == sum(f.stat().st_size for f in packs), f"packs are counted: {counted}")
check(counted["tokenizer_images"] == 1 and counted["tokenizer_image_bytes"] > 100_000, f"images are counted: {counted}")
check(counted["files_limit_bytes"] > 0 and not counted["read_only"], f"their limit is told: {counted}")

# A folder in which nothing can be kept: one warning, and no compilation for one text; for many there is one.
for args in ([], ["--eager"]):
    r = embed_marked("/proc/edge-infer", *args)
    lines = r.stderr.strip().splitlines()
    check(r.returncode == 0 and json.loads(r.stdout) == vector(eager), f"without a cache the prebuilt kernels answer {args}")
    check(len(lines) == 1 and "/proc/edge-infer" in lines[0], f"one line says so {args}: {lines}")
    check(not mark.exists(), f"and nothing is compiled for nothing {args}")
many = tmp / "many.txt"
many.write_text("Harbour gate\n" * 1000)
r = embed_marked("/proc/edge-infer", "--input", str(many))
check(r.returncode == 0 and mark.exists(), "many texts are worth a compilation that is not kept")

# The warm folder where it can be read but not written. Root writes anywhere, but not to a read-only mount.
copy = tmp / "copy"
shutil.copytree(warm, copy)
if os.geteuid() == 0:
    shell = f"mount --bind {copy} {copy} && mount -o remount,bind,ro {copy} && ! touch {copy}/x 2>/dev/null && "
    inside = lambda command: ["unshare", "-m", "sh", "-c", shell + command]
    has_read_only = subprocess.run(inside("true"), capture_output=True).returncode == 0
else:
    copy.chmod(0o500)
    inside = lambda command: ["sh", "-c", command]
    has_read_only = True
if has_read_only:
    def in_read_only(command):
        mark.unlink(missing_ok=True)
        env = {**os.environ, "EDGE_INFER_CACHE": str(copy)}
        return subprocess.run(inside(command), capture_output=True, text=True, env=env, timeout=120)
    one = f"exec {marked}/edge-infer embed --model {MODEL} 'Harbour gate'"
    before = sorted((f.name, f.stat().st_size) for f in copy.iterdir())
    for beside in ("a database that was closed", "a WAL that is left"):
        if beside == "a WAL that is left":
            for end in ("-wal", "-shm"):
                (copy / f"kernels.db{end}").write_bytes(b"")
        r = in_read_only(one)
        check(r.returncode == 0 and json.loads(r.stdout) == vector(compiled), f"read-only, {beside}: stored kernels serve: {r.stderr}")
        check(r.stderr == "" and not mark.exists(), f"read-only, {beside}: nothing to say, nothing compiled: {r.stderr}")
    told = json.loads(in_read_only(f"exec {BIN}/edge-infer cache stats --json").stdout)
    check(told["read_only"] and told["kernels"] == counted["kernels"] and told["weight_packs"] == 2, f"read-only stats: {told}")
    r = in_read_only(f"exec {BIN}/edge-infer cache clear")
    check(r.returncode == 1 and "not writable" in r.stderr, f"a read-only cache is not cleared: {r.stderr}")
    r = in_read_only(one.replace("exec ", "exec env EDGE_INFER_ISA=avx2 "))
    check(r.returncode == 0 and not mark.exists(), f"what is not stored is not compiled for one text: {r.stderr}")
    check({n for n, _ in before} <= {f.name for f in copy.iterdir()}, "nothing is lost from a read-only folder")
else:
    print("no read-only mount can be made here: not tested")
copy.chmod(0o700)

# Cleared while a process has the files mapped.
with subprocess.Popen([str(BIN / "edge-infer"), "serve", "--model", MODEL, "--port", "0"], stderr=subprocess.PIPE, text=True,
                      env={**os.environ, "EDGE_INFER_CACHE": str(warm)}) as server:
    server.stderr.readline()
    (warm / "tokenizer-0123.img.aBcDeF").write_text("left by a process that was killed")
    check(run("cache", "clear", env={"EDGE_INFER_CACHE": str(warm)}).code == 0, "cache clear beside a server")
    check(server.poll() is None, "the server lives on")
    server.send_signal(signal.SIGTERM)
    server.stderr.read()
check(server.returncode == 0, f"and ends as asked: {server.returncode}")
left = {f.name for f in warm.iterdir()}
check(not any(n.startswith(("weights-", "tokenizer-", "content-")) for n in left), f"clear leaves no file: {left}")
cleared = stats(warm)
check(cleared["weight_packs"] == cleared["tokenizer_images"] == 0 == cleared["kernels"], f"and stats count none: {cleared}")

# Files limited in size: as a full disk. Python ignores SIGXFSZ, a shell does not.
for limit in (1 << 10, 100 << 10, 4 << 20):
    small = tmp / f"small{limit}"

    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    r = embed(small, preexec_fn=limited)  # run() fails where a signal ends it
    close = r.code == 0 and all(abs(x - y) < 2e-6 for x, y in zip(vector(r), vector(eager)))
    check(close, f"with files of at most {limit} bytes: {r.code} {r.err}")
    left = [f.name for f in small.iterdir()]
    check(not any(n.startswith("weights-") for n in left) and not any(n.rsplit(".", 1)[-1] not in
          ("db", "db-wal", "db-shm", "key", "lock", "img", "hash") for n in left), f"no temporary file is left: {left}")
    with open(tmp / "vectors.npy", "wb") as out:
        done = subprocess.run([str(BIN / "edge-infer"), "embed", "--model", MODEL, "--eager", "--format", "npy", "--input", str(many)],
                              stdout=out, stderr=subprocess.PIPE, preexec_fn=limited, env={**os.environ, "EDGE_INFER_CACHE": str(small)}, timeout=120)
    if limit < (1 << 20):
        check(done.returncode == 1 and b"standard output" in done.stderr, f"output beyond the limit is an error: {done.returncode} {done.stderr}")
shutil.rmtree(tmp, ignore_errors=True)
check.finish()
