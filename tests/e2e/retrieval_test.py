#!/usr/bin/env python3
"""Retrieval quality of `edge-infer index` and `search` on real documents with the real model.

  retrieval_test.py manual      300 Debian manual pages: nDCG@10 of vector >= 0.78, of hybrid >= 0.80
  retrieval_test.py documents   44 documents: 14 of 14 documents and >= 12 passages in the first 5. The fixtures also
                                let the right page of a PDF count; that figure is shown, the bar is for the passage

$EDGE_INFER_BIN is the folder of the programs, $EDGE_INFER_TEST_MODEL the model's. The documents are fetched from Debian
packages into .cache/retrieval once (network, apt-get, dpkg, man-db). An index stays there and is brought up to date by
the next run. Exit codes: 0 passed, 1 failed, 77 skipped: no model, or the documents cannot be fetched here.
"""
import json
import lzma
import math
import os
import pathlib
import subprocess
import sys

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"


def index(binary, model, db, folder):
    out = subprocess.run([binary, "index", "--db", db, "--model", model, "--json", folder], stdout=subprocess.PIPE, check=True, text=True).stdout
    events = [json.loads(line) for line in out.splitlines()]
    summary = events[-1]
    assert summary["event"] == "summary", summary
    assert list(summary) == ["event", "files", "indexed", "unchanged", "deleted", "failed", "skipped", "chunks", "tokens", "seconds"], list(summary)
    print("indexed:", json.dumps(summary))
    return events


def search(binary, db, query, mode, top):
    out = subprocess.run([binary, "search", "--db", db, "--mode", mode, "--top", str(top), "--json", "--", query], stdout=subprocess.PIPE, check=True, text=True).stdout
    hits = [json.loads(line) for line in out.splitlines()]
    for hit in hits:
        assert set(hit) == {"path", "chunk", "score", "text", "page", "heading", "start", "end"}, hit
    return hits


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def manual(binary, model, cache):
    pages_file = cache / "manual" / "pages.jsonl.xz"
    if not pages_file.exists():
        built = subprocess.run([sys.executable, DATA / "retrieval" / "make_retrieval.py", "build", cache / "manual", "--fetch"], text=True, capture_output=True)
        if built.returncode != 0:
            skip(built.stderr[-500:])
    pages = [json.loads(line) for line in lzma.open(pages_file, "rt", encoding="utf-8")]
    folder = cache / "manual" / "pages"
    folder.mkdir(exist_ok=True)
    for page in pages:
        path = folder / (page["id"] + ".txt")
        if not path.exists():
            path.write_text(page["text"], encoding="utf-8")
    db = cache / "manual.db"
    index(binary, model, db, folder)
    bars = {"vector": 0.78, "hybrid": 0.80, "text": 0.70}
    passed = True
    for mode, bar in bars.items():
        gain = 0.0
        for page in pages:
            # A page ranks as its best passage: 30 passages hold at least ten pages, two of each and more.
            ranked = list(dict.fromkeys(pathlib.Path(hit["path"]).name for hit in search(binary, db, page["query"], mode, 30)))[:10]
            if page["id"] + ".txt" in ranked:
                gain += 1 / math.log2(2 + ranked.index(page["id"] + ".txt"))
        ndcg = gain / len(pages)
        print(f"{len(pages)} pages, {mode}: nDCG@10 {ndcg:.4f} (bar {bar})")
        passed &= ndcg >= bar
    return passed


def plain(text):
    return " ".join(text.replace("\u2019", "'").replace("\u2018", "'").split())


def documents(binary, model, cache):
    folder = cache / "documents"
    if not (folder / ".complete").exists():
        fetched = subprocess.run([DATA / "documents_real" / "fetch_documents.sh", folder], text=True, capture_output=True)
        if fetched.returncode != 0:
            skip(fetched.stderr[-500:])
        (folder / ".complete").touch()
    db = cache / "documents.db"
    events = index(binary, model, db, folder)
    for event in events:
        if event["event"] == "file" and event["status"] in ("failed", "skipped"):
            print(event["status"], event["path"], event["reason"])
    found_documents = found_passages = found_pages = 0
    queries = [json.loads(line) for line in open(DATA / "documents_real" / "expectations.jsonl", encoding="utf-8")]
    for q in queries:
        hits = search(binary, db, q["query"], "hybrid", 5)
        right = [q["path_suffix"]] + q.get("also", [])
        in_document = [h for h in hits if h["path"].endswith(tuple("/" + r for r in right))]
        wanted = plain(q["must_contain"])
        passage = any(wanted in plain(h["text"]) for h in in_document)
        on_page = "page" in q and any(h["page"] == q["page"] and h["path"].endswith("/" + q["path_suffix"]) for h in hits)
        found_documents += bool(in_document)
        found_pages += passage or on_page
        found_passages += passage
        print(q["id"], "document" if in_document else "-", "passage" if passage else "-", "|", q["query"])
        if not passage:
            for h in hits:
                print("    ", h["path"][-50:], h["page"], h["heading"][:40], "|", plain(h["text"])[:60])
    print(f"{found_documents} of {len(queries)} documents, {found_passages} passages ({found_pages} with right pages) in the first 5")
    return found_documents == len(queries) and found_passages >= 12


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in ("manual", "documents"):
        sys.exit(__doc__)
    model = os.environ.get("EDGE_INFER_TEST_MODEL")
    if not model:
        skip("$EDGE_INFER_TEST_MODEL is not set")
    binary = pathlib.Path(os.environ["EDGE_INFER_BIN"]) / "edge-infer"
    cache = pathlib.Path(__file__).resolve().parents[2] / ".cache" / "retrieval"
    cache.mkdir(parents=True, exist_ok=True)
    sys.exit(0 if {"manual": manual, "documents": documents}[sys.argv[1]](binary, model, cache) else 1)


main()
