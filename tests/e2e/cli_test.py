#!/usr/bin/env python3
"""The command line as scripts see it: formats, exit codes, messages, start-up."""
import fcntl
import json
import math
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import zipfile

from support import BIN, MODEL, ROOT, Checks, need_model, run

need_model()
check = Checks()
folder = tempfile.TemporaryDirectory()
tmp = pathlib.Path(folder.name)
env = {"EDGE_INFER_CACHE": str(tmp / "cache"), "HOME": str(tmp)}


PDFIUM = os.environ.get("EDGE_INFER_PDFIUM") or str(BIN / "../lib/libpdfium.so")


def cli(*args, **kwargs):
    return run(*args, env=env, **kwargs)


# Bits change once, when compiled kernels take over from the prebuilt ones: compile first.
compiled = cli("compile", "--model", MODEL)
check(compiled.code == 0 and "compiled kernels" in compiled.out, "compile makes the kernels")
stats = json.loads(cli("cache", "stats", "--json").out)
check(stats["entries"] == 1 and 5 <= stats["kernels"] <= 14 and stats["compiled"] == stats["kernels"],
      f"cache stats count entries and kernels: {stats}")
dumped = tmp / "dumped"
told = run("compile", "--model", MODEL, env={**env, "EDGE_INFER_DUMP": str(dumped), "EDGE_INFER_LOGS": "fusion,cache,guards,compile"})
check(told.code == 0 and (dumped / "loops.txt").exists() and (dumped / "kernels.txt").exists(), "EDGE_INFER_DUMP writes with a warm cache, too")
check(all(word in told.err for word in ("form 0", "dtype(input 0) == i32", "kernels from the cache, 0 compiled")), f"EDGE_INFER_LOGS tells: {told.err[:400]}")
for precision in ("fp32", "bf16"):
    cli("compile", "--model", MODEL, "--precision", precision)
    told = json.loads(cli("explain", "--model", MODEL, "--precision", precision, "--json").out)
    record = told["entries"][0]["precision"]
    check(record["asked"] == record["served"] == precision and record.get("named", True), f"explain says what serves: {record}")
    check((precision == "fp32") == (record["tried"] == []), f"{precision} is judged where it rounds: {record}")
    running = [k["kernel"][:15] for k in told["entries"][0]["kernels"] if k["kernel"].startswith("kernel:")]
    text = "\n".join(told["kernel_nodes"])
    check(running and all(k in text for k in running), f"explain describes the kernels that run in {precision}: {running} {text[:300]}")
half = cli("embed", "--model", MODEL, "--device", "cpu", "--precision", "fp16", "x")
check(half.code == 1 and "fp16" in half.err and half.out == "", f"fp16 on a processor is an error: {half.code} {half.err}")

# embed
a = cli("embed", "--model", MODEL, "Harbour gate", "A second text")
check(a.code == 0 and len(a.json_lines()) == 2 and len(a.json_lines()[0]) == 384, "embed prints a JSON array a text")
b = cli("embed", "--model", MODEL, "--format", "npy", "Harbour gate", "A second text", text=False)
header, length = b.out[:10], int.from_bytes(b.out[8:10], "little")
check(header[:8] == b"\x93NUMPY\x01\x00" and (10 + length) % 64 == 0, "npy has NumPy's header, aligned")
check(b"'descr': '<f4', 'fortran_order': False, 'shape': (2, 384)" in b.out[10:10 + length], "npy is float32 [N, dim]")
numbers = [x for row in a.json_lines() for x in row]
check(b.out[10 + length:] == struct.pack("<768f", *numbers), "JSON numbers give the same floats back")
lines = tmp / "texts.txt"
lines.write_text("Harbour gate\nA second text\n")
check(cli("embed", "--model", MODEL, "--input", lines).out == a.out, "--input reads one text a line")
jsonl = tmp / "texts.jsonl"
jsonl.write_text(json.dumps({"text": "Harbour gate"}) + "\n" + json.dumps({"text": "A second text"}) + "\n")
check(cli("embed", "--model", MODEL, "--input", jsonl).out == a.out, ".jsonl reads the member text")
check(cli("embed", "--model", MODEL, "--input", "-", input=b"Harbour gate\nA second text\n").out == a.out, "- is standard input")
for options in (["--threads", "1"], ["--device", "cpu"]):
    check(cli("embed", "--model", MODEL, *options, "Harbour gate", "A second text").out == a.out, f"{options} gives the same bits")
for precision in ("bf16", "auto"):
    narrow = cli("embed", "--model", MODEL, "--precision", precision, "Harbour gate", "A second text")
    for v, w in zip(narrow.json_lines(), a.json_lines(), strict=True):
        cosine = sum(x * y for x, y in zip(v, w)) / math.sqrt(sum(x * x for x in v) * sum(y * y for y in w))
        check(cosine >= 0.9995, f"--precision {precision}: cosine {cosine}")
long = cli("embed", "--model", MODEL, "--max-length", "8", "one two three four five six seven eight nine ten")
check(long.code == 0 and "text 1 was cut to 8 of its 12 tokens" in long.err, f"says what was cut: {long.err}")
long_lines = tmp / "long.txt"
long_lines.write_text("short\n" + "word " * 10)
for command in (["embed", "--model", MODEL, "--max-length", "8", "--input", long_lines, "word " * 9],):
    r = cli(*command)
    check("line 2 was cut" in r.err and "text 1 was cut" in r.err and "line 1" not in r.err, f"lines and texts count from 1: {r.err}")
empty = cli("embed", "--model", MODEL, "")
check(empty.code == 0 and len(empty.json_lines()[0]) == 384, "the empty text has a vector")

# tokenize
t = cli("tokenize", "--model", MODEL, "Harbour gate").json_lines()
check(t == [{"ids": [101, 7440, 4796, 102], "truncated": False, "tokens": 4}], f"tokenize: {t}")
t = cli("tokenize", "--model", MODEL, "--max-length", "3", "Harbour gate").json_lines()
check(t == [{"ids": [101, 7440, 102], "truncated": True, "tokens": 4}], f"tokenize cuts: {t}")
many = "word " * 400
check(len(cli("tokenize", "--model", MODEL, many).json_lines()[0]["ids"]) == 256, "max_seq_length of sentence-transformers counts")
check(len(cli("tokenize", "--model", MODEL, "--no-truncate", many).json_lines()[0]["ids"]) == 402, "--no-truncate")

for text in ("[a,b]", "[]", '["x"]', "[x", "a,b", "[q]\x1f"):
    ids = cli("tokenize", "--model", MODEL, "--", text).json_lines()
    lines.write_text(text + "\n")
    check(ids == cli("tokenize", "--model", MODEL, "--input", lines).json_lines(), f"an argument is one text: {text}: {ids}")
for command in ("embed", "tokenize"):
    for length, words in (("0", "found \"0\""), ("1", "2 special tokens"), ("513", "512 positions"), ("600", "512 positions"), ("x", "found \"x\"")):
        r = cli(command, "--model", MODEL, "--max-length", length, "x")
        check(r.code == 2 and r.out == "" and words in r.err, f"{command} --max-length {length} is wrong usage: {r.code} {r.err}")
    check(cli(command, "--model", MODEL, "--max-length", "512", "x").code == 0, f"{command} --max-length 512")

# prompts: tokenize shows what embed feeds
prompted = tmp / "prompted"
shutil.copytree(MODEL, prompted, ignore=shutil.ignore_patterns("model.safetensors"))
(prompted / "model.safetensors").symlink_to(pathlib.Path(MODEL).resolve() / "model.safetensors")
(prompted / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "find this: ", "other": "note: "}, "default_prompt_name": "query"}))
for options, text in (([], "find this: Harbour gate"), (["--prompt-name", "query"], "find this: Harbour gate"), (["--prompt-name", "other"], "note: Harbour gate"),
                      (["--prompt-name", ""], "Harbour gate")):
    for command, rest in (("tokenize", []), ("embed", ["--eager"])):
        got, plain = cli(command, "--model", prompted, *rest, *options, "Harbour gate"), cli(command, "--model", MODEL, *rest, text)
        check(got.code == 0 and got.out == plain.out, f"{command} {options} puts the prompt in front: {got.err}")

# modes: on a processor reduce-overhead is default, and max-autotune measures once
check(cli("embed", "--model", MODEL, "--mode", "reduce-overhead", "Harbour gate", "A second text").out == a.out, "--mode reduce-overhead gives the same bits")
tuned = cli("compile", "--model", MODEL, "--mode", "max-autotune")
check(tuned.code == 0, f"compile --mode max-autotune: {tuned.err}")
told = json.loads(cli("explain", "--model", MODEL, "--json").out)
check(told["candidates"] and all(len(c["measured"]) <= 8 and c["chosen"] in [m["schedule"] for m in c["measured"]] for c in told["candidates"]),
      f"explain shows the candidates measured: {str(told['candidates'])[:300]}")
running = {k["kernel"] for k in told["entries"][0]["kernels"]}
check(all(c["kernel"] in running for c in told["candidates"]), "the chosen kernels run")
measured = json.loads(cli("cache", "stats", "--json").out)["tunings"]
check(cli("embed", "--model", MODEL, "--mode", "max-autotune", "Harbour gate", "A second text").out == a.out, "tuned kernels give the same bits")
check(measured > 0 and json.loads(cli("cache", "stats", "--json").out)["tunings"] == measured, "another process measures nothing")
check(cli("embed", "--model", MODEL, "--mode", "fastest", "x").code == 2, "an unknown mode is wrong usage")

# usage and errors
check(cli("--version").out.startswith("edge-infer "), "--version")
for args in ([], ["embed"], ["embed", "--model", MODEL], ["frobnicate"], ["embed", "--model", MODEL, "--format", "xml", "x"],
             ["embed", "--model", MODEL, "--threads", "0", "x"], ["search", "--db", "x"],
             *([command, "--model", MODEL, "--device", device] for command in ("explain", "bench", "compile", "serve") for device in ("gpu", "")),
             *(["embed", "--model", MODEL, "--device", device, "x"]
               for device in ("tpu", "cuda:x", "cuda:-1", "cuda:memory=zz", "cpu:1", "cpu.avx9", "CPU", " cpu", "auto:1", "")),
             ["index", "--db", tmp / "u.db", "--model", MODEL, "--device", "gpu", tmp], ["index", "--db", tmp / "u.db", "--model", MODEL, ""],
             ["index", "--db", "", "--model", MODEL, tmp], ["search", "--db", "", "x"], ["embed", "--model", "", "x"],
             ["embed", "--model", MODEL, "--input", "", "x"], ["tokenize", "--model", MODEL, "--input", "", "x"], ["cache", "export", ""], ["cache", "import", ""],
             ["bench", "--model", MODEL, "--seconds", "nan"], ["bench", "--model", MODEL, "--trace", ""], ["compile", "--model", MODEL, "--dump", ""],
             ["pull", ""]):
    r = cli(*args)
    check(r.code == 2 and r.out == "", f"wrong usage ends with 2: {args}: {r.code}")
for args, words in ((["--model", tmp / "nowhere"], "nowhere"), (["--model", "owner/never-pulled"], "edge-infer pull"),
                    (["--model", MODEL, "--prompt-name", "query"], "query"), (["--model", MODEL, "--input", tmp / "absent.txt"], "absent.txt")):
    r = cli("embed", *args, "x")
    check(r.code == 1 and r.out == "" and str(words) in r.err, f"{words}: {r.code} {r.err}")
bad = tmp / "bad.jsonl"
for line, words in (('{"txt": 1}', "no member \"text\""), ('{"text": "a\\ud800b"}', "surrogate"), ("", "blank")):
    bad.write_text('{"text": "fine"}\n' + line + '\n{"text": "fine"}\n')
    for command in ("embed", "tokenize"):
        r = cli(command, "--model", MODEL, "--input", bad)
        check(r.code == 1 and r.out == "" and "line 2" in r.err and words in r.err, f"names the line and what is wrong: {r.err}")
for args, words in ((["frobnicate"], "unknown command \"frobnicate\""), (["frobnicate", "--version"], "frobnicate"), (["--frobnicate"], "unknown option \"--frobnicate\""), (["--version", "frobnicate"], "frobnicate"),
                    (["--version", "--frobnicate"], "frobnicate"), (["embed", "--model", MODEL, "--frobnicate", "x"], "frobnicate"), (["embed", "--model", MODEL, "--threads", "x", "y"], "found \"x\""),
                    (["embed", "--model", MODEL, "--threads", "1.5", "y"], "an integer from 1 to 1024"), (["embed", "--model", MODEL, "--threads", "99999999999999999999", "y"], "from 1 to 1024"),
                    (["search", "--db", "x", "--top", "many", "q"], "found \"many\""), (["bench", "--model", MODEL, "--seconds", "nan"], "found \"nan\""),
                    (["embed", "--nope", "x"], "--nope"), (["search", "--nope"], "--nope"), (["cache", "nope"], "nope"), (["serve", "--model", MODEL, "--port", "99999"], "found \"99999\"")):
    r = cli(*args)
    check(r.code == 2 and r.out == "" and words in r.err, f"wrong usage names what is wrong: {args}: {r.code} {r.err}")
for command in ("embed", "tokenize"):
    r = subprocess.run([str(BIN / "edge-infer"), command, "--model", MODEL, "--input", "-"], capture_output=True, text=True,
                       env={**os.environ, **env}, preexec_fn=lambda: os.close(0))
    check(r.returncode == 1 and r.stdout == "" and "standard input" in r.stderr, f"a closed standard input is an error: {r.returncode} {r.stderr}")
r = cli("index", "--db", tmp / "nodir" / "x.db", "--model", MODEL, tmp)
check(r.code == 1 and f'no folder "{tmp / "nodir"}"' in r.err, f"names the folder that is missing: {r.code} {r.err}")
r = cli("cache", "export", "[c].db", cwd=tmp)
check(r.code == 0 and (tmp / "[c].db").is_file(), f"a file named [c].db is written: {r.code} {r.err} {sorted(p.name for p in tmp.iterdir())}")
documents = tmp / "[x]"
documents.mkdir()
(documents / "note.txt").write_text("The harbour gate opens at six.")
with zipfile.ZipFile(documents / "hollow.docx", "w") as archive:
    archive.writestr("[Content_Types].xml", "<Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'/>")
    archive.writestr("word/styles.xml", "<styles/>")
db = tmp / "i.db"
events = cli("index", "--db", tmp / "j.db", "--json", "--model", MODEL, documents).json_lines()
hollow = [e for e in events if e["event"] == "file" and e["path"].endswith("hollow.docx")]
check(len(hollow) == 1 and hollow[0]["status"] == "failed" and "word/document.xml" in hollow[0]["reason"],
      f"a container without its part is a broken file: {hollow}")
check(cli("index", "--db", db, "--model", MODEL, documents).code == 0, "a folder named [x] is indexed")
r = cli("index", "--db", db, "--json", "--model", MODEL, documents, tmp / "dokuments")
events = r.json_lines()
check(r.code == 1 and "dokuments" in r.err and "no such file" in r.err, f"a mistyped path is an error: {r.code} {r.err}")
check(events[-1]["event"] == "summary" and events[-1]["unchanged"] == 1 and events[-1]["failed"] == 2, f"the others are indexed: {events[-1]}")
if pathlib.Path(PDFIUM).exists():
    shutil.copy(next((ROOT / "samples/documents").rglob("*.pdf")), documents / "sheet.pdf")
    without = {**env, "EDGE_INFER_PDFIUM": "/nonexistent"}
    for has, status in ((False, "failed"), (False, "failed"), (True, "indexed"), (True, "unchanged"), (False, "unchanged")):
        events = run("index", "--db", tmp / "p.db", "--json", "--model", MODEL, documents, env=env if has else without).json_lines()
        told = [e for e in events if e["event"] == "file" and e["path"].endswith("sheet.pdf")]
        check(told[0]["status"] == status and (status != "failed" or "libpdfium.so" in told[0]["reason"]), f"a missing PDFium is no property of the file: {has} {told}")
    with open(documents / "sheet.pdf", "ab") as sheet:
        sheet.write(b"\n% changed\n")
    for has in (False, True):
        events = run("index", "--db", tmp / "p.db", "--json", "--model", MODEL, documents, env=env if has else without).json_lines()
        told = [e for e in events if e["event"] == "file" and e["path"].endswith("sheet.pdf")][0]
        check(told["status"] == ("indexed" if has else "failed") and told["chunks"] > 0, f"older passages stay meanwhile: {told}")
    (documents / "sheet.pdf").unlink()
# Ctrl-C beside a document that takes long to read.
if pathlib.Path(PDFIUM).exists():
    pages = 20_000
    content = "BT /F 9 Tf " + "".join(f"1 0 0 1 9 {y} Tm (some words of a page in line {y}) Tj " for y in range(9, 800, 9)) + "ET"
    with open(documents / "long.pdf", "w") as file:
        file.write("%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Count " + str(pages) + "/Kids["
                   + " ".join(f"{5 + i} 0 R" for i in range(pages)) + "]>>\nendobj\n"
                   + f"3 0 obj\n<</Length {len(content)}>>\nstream\n{content}\nendstream\nendobj\n"
                   + "4 0 obj\n<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>\nendobj\n")
        for i in range(pages):
            file.write(f"{5 + i} 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 3 0 R/Resources<</Font<</F 4 0 R>>>>>>\nendobj\n")
        file.write("trailer\n<</Root 1 0 R>>\n%%EOF\n")
    for stop in (signal.SIGINT, signal.SIGTERM):
        process = subprocess.Popen([str(BIN / "edge-infer"), "index", "--json", "--threads", "1", "--db", str(tmp / f"c{stop}.db"), "--model", MODEL,
                                    str(documents)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **env}, text=True)
        told, asked = [], time.monotonic()
        for line in process.stdout:
            told.append(json.loads(line))
            if told[-1]["event"] == "file" and told[-1]["path"].endswith("note.txt"):
                asked = time.monotonic()
                process.send_signal(stop)
        took = time.monotonic() - asked
        check(process.wait() == 1 and "interrupted" in process.stderr.read() and took < 10, f"a run ends soon after Ctrl-C: {took:.2f} s")
        check(told[-1]["event"] == "summary" and told[-1]["indexed"] == told[-1]["chunks"] == 1
              and not [e for e in told if e["event"] == "file" and e["path"].endswith("long.pdf")],
              f"what was read is stored, what was being read is left: {told[-1]}")
        check("harbour gate" in cli("search", "--db", tmp / f"c{stop}.db", "harbour").out, "and is found")
    (documents / "long.pdf").unlink()
# The bar on a narrow terminal.
for columns in (40, 20):
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    subprocess.run([str(BIN / "edge-infer"), "index", "--db", str(tmp / f"w{columns}.db"), "--model", MODEL, str(documents)],
                   stdout=subprocess.DEVNULL, stderr=end, env={**os.environ, **env}, check=True)
    os.close(end)
    shown = b""
    try:
        while chunk := os.read(terminal, 65536):
            shown += chunk
    except OSError:
        pass
    os.close(terminal)
    bars = [bar for bar in shown.decode().replace("\x1b[K", "").split("\r") if "ETA" in bar]
    check(bars and all(len(bar) < columns and re.search(r"ETA (-:--|\d+:\d\d)$", bar) for bar in bars), f"the time left fits {columns} columns: {shown!r}")
check(cli("search", "--db", db, "--top", "100000", "harbour").code == 0 and cli("search", "--db", db, "--top", "0", "harbour").code == 2, "--top takes any positive number")
(documents / "csi.txt").write_text("A crane\u009b31m lifts the boat.")
cli("index", "--db", db, "--model", MODEL, documents)
shown = cli("search", "--db", db, "crane").out
check("A crane 31m lifts" in shown and "\u009b" not in shown, f"control characters do not reach the terminal: {shown!r}")
(documents / "csi.txt").unlink()
progress = [e for e in cli("index", "--db", tmp / "k.db", "--json", "--model", MODEL, documents).json_lines() if e["event"] != "file"]
check(progress[-2]["event"] == "progress" and progress[-2]["chunks"] == progress[-1]["chunks"] > 0, f"the last progress is the summary's: {progress[-2:]}")
for query in ("", " ", "\t\n"):
    r = cli("search", "--db", db, query)
    check(r.code == 2 and r.out == "" and "empty" in r.err, f"an empty query is wrong usage: {query!r}: {r.code} {r.err}")
for args in (["embed", "--model", MODEL, "x"], ["search", "--db", db, "harbour"], ["search", "--db", db, "--json", "harbour"],
             ["explain", "--model", MODEL], ["index", "--json", "--db", db, "--model", MODEL, documents], ["--version"]):
    with open("/dev/full", "w") as full:
        done = subprocess.run([str(BIN / "edge-infer"), *map(str, args)], stdout=full, stderr=subprocess.PIPE, env={**os.environ, **env})
    check(done.returncode == 1 and done.stderr.count(b"standard output") == 1, f"a full disk is an error: {args[0]}: {done.returncode} {done.stderr}")
readonly = {**env, "EDGE_INFER_CACHE": "/proc/edge-infer"}
r = run("embed", "--model", MODEL, "Harbour gate", env=readonly)
check(r.code == 0 and all(abs(x - y) < 2e-6 for x, y in zip(r.json_lines()[0], a.json_lines()[0])),
      "without a writable cache it works the same")

# A compiler that hangs costs a one-shot command a while, and it says so.
hanging = tmp / "hanging"
hanging.mkdir()
shutil.copy(BIN / "edge-infer", hanging)
(hanging / "edge-infer-cc").write_text("#!/bin/sh\nexec sleep 300\n")
(hanging / "edge-infer-cc").chmod(0o755)
r = subprocess.run([str(hanging / "edge-infer"), "embed", "--model", MODEL, "Harbour gate"], capture_output=True, text=True,
                   env={**os.environ, **env, "EDGE_INFER_CACHE": str(tmp / "cold")}, timeout=120)
check(r.returncode == 0 and "not compiled within" in r.stderr and len(json.loads(r.stdout)) == 384,
      f"a compiler that hangs is said: {r.returncode} {r.stderr[:300]}")

# explain, bench
first = json.loads(run("explain", "--model", MODEL, "--precision", "bf16", "--json", env={**env, "EDGE_INFER_CACHE": str(tmp / "first")}).out)
check(first["entries"][0]["precision"]["served"] == "bf16" and len(first["entries"][0]["precision"]["tried"]) == 1
      and any(k["kernel"].startswith("kernel:") for k in first["entries"][0]["kernels"]), "explain on an empty cache tells what serves in the end")
wrong = cli("embed", "--model", MODEL, "--device", "cuda:x", "x")
check(wrong.code == 2 and "expected an index or" in wrong.err, f"a wrong name of a device is an error of its own: {wrong.err}")
e = json.loads(cli("explain", "--model", MODEL, "--json").out)
check(e["dimensions"] == 384 and len(e["entries"]) == 1 and e["entries"][0]["guards"], "explain --json")
text = cli("explain", "--model", MODEL).out
check("kernel:" in text and "aten.linear" in text and "un-fused" in text, "explain names kernels, their nodes and un-fused edges")
check(all(k["code_bytes"] > 0 for k in e["entries"][0]["kernels"] if k["kernel"].startswith("kernel:")), "explain has each kernel's bytes")
stored = e["stored"]
check({s["settings"].split(";")[0] for s in stored["entries"]} >= {"precision=fp32", "precision=bf16"}, f"explain lists what is stored: {stored}")
check(len(stored["gates"]) == 1 and "bf16 passed" in stored["gates"][0]["found"], f"explain tells what was judged: {stored['gates']}")
rows = json.loads(cli("cache", "ls", "--json").out)
check(all(r["code"]["code_bytes"] > 0 for r in rows if r["table"] == "kernel"), "cache ls --json describes code")
check([r["detail"] for r in rows if r["table"] == "gate"] == [stored["gates"][0]["found"]], "cache ls lists what was judged")
check("prebuilt:aten.linear.f32" in cli("explain", "--eager", "--model", MODEL).out, "explain --eager names prebuilt kernels")
eager = cli("embed", "--eager", "--model", MODEL, "Harbour gate", "A second text").json_lines()
check(all(abs(x - y) < 2e-6 for e, f in zip(eager, a.json_lines()) for x, y in zip(e, f)), "--eager gives the same vectors")
check(json.loads(cli("cache", "stats", "--json").out)["hits"] > 0, "cache stats count hits")
check(cli("cache", "verify").code == 0 and cli("cache", "ls").code == 0, "cache ls and verify")
dump = tmp / "dump"
check(cli("compile", "--model", MODEL, "--dump", dump).code == 0 and (dump / "loops.txt").exists() and (dump / "00.c").exists()
      and (dump / "00.s").stat().st_size > 0, "compile --dump writes loops, sources and assembly")
rows = cli("bench", "--model", MODEL, "--lengths", "16,64", "--seconds", "0.2", "--json").json_lines()
keys = {"ms_best", "ms_median", "ms_p99", "tokens_per_s", "gflops", "percent_of_peak", "bytes_moved"}
check(len(rows) == 2 and all(keys <= set(row) for row in rows), "bench --json gives a row each")
check(all(row["precision"] == "fp32" and 0 < row["percent_of_peak"] <= 105 for row in rows), f"bench measures fp32 against its peak: {rows}")
rows = cli("bench", "--model", MODEL, "--lengths", "16,128", "--batch", "4", "--threads", "1", "--precision", "bf16", "--seconds", "0.3", "--json").json_lines()
check(all(row["precision"] == "bf16" and 0 < row["percent_of_peak"] <= 105 for row in rows), f"bench measures bf16 against its own peak: {rows}")
text = cli("bench", "--model", MODEL, "--lengths", "16", "--eager", "--precision", "bf16", "--seconds", "0.05").out
check("| fp32\n" in text, f"bench names the precision that serves, not the one asked for: {text}")
profiled = cli("bench", "--model", MODEL, "--lengths", "16,64", "--seconds", "0.05", "--profile", "--trace", tmp / "trace.json")
check("% of peak" in profiled.out and "kernel:" in profiled.out, "bench --profile lists kernels against the peak")
trace = json.loads((tmp / "trace.json").read_text())["traceEvents"]
calls = [e for e in trace if e["ph"] == "X"]
check({e["tid"] for e in calls} == {1, 2}, "a trace has a thread for each length")
check(all(e["dur"] > 0 and e["args"]["bytes"] > 0 for e in calls), "a trace has time and traffic of each call")
by_thread = [[e for e in calls if e["tid"] == t] for t in (1, 2)]
check(all(b["ts"] >= a["ts"] + a["dur"] - 1e-6 for thread in by_thread for a, b in zip(thread, thread[1:])),
      "the calls of a pass follow each other")
refused = cli("bench", "--model", MODEL, "--lengths", "16", "--seconds", "0.05", "--trace", "/nowhere/t.json")
check(refused.code == 1 and "/nowhere/t.json" in refused.err, "a trace that cannot be written is an error with its name")

# What a start loads: the libraries of pull, PDFium and LLVM stay out.
maps = subprocess.run(["ldd", str(BIN / "edge-infer")], capture_output=True, text=True).stdout
for library in ("libcurl", "libssl", "libcrypto", "libpdfium", "libLLVM", "libclang"):
    check(library not in maps, f"embed does not load {library}")
check.finish()
