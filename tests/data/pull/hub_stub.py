#!/usr/bin/env python3
"""A Hugging Face hub on loopback for the tests of pull: prints its port, then serves. What a model's name says decides
how the hub misbehaves; GET /log gives the requests so far as JSON."""
import hashlib
import http.server
import json
import sys
import threading
import urllib.parse

REVISION = "0123456789abcdef0123456789abcdef01234567"
CONFIG = b'{"model_type": "bert"}\n'
TOKENIZER = b'{"version": "1.0"}\n'
POOLING = b'{"pooling_mode_mean_tokens": true}\n'
WEIGHTS = bytes(range(256)) * 4096  # 1 MiB
FILES = {
    "config.json": CONFIG,
    "tokenizer.json": TOKENIZER,
    "1_Pooling/config.json": POOLING,
    "model.safetensors": WEIGHTS,
    "pytorch_model.bin": b"pickle",
    "README.md": b"read me",
}
log = []
cut_once = set()
lock = threading.Lock()


def git_sha1(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def sibling(name, content):
    entry = {"rfilename": name, "size": len(content), "blobId": git_sha1(content)}
    if name.endswith(".safetensors"):
        entry["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
    return entry


def shards():
    first, second = WEIGHTS[:1000], WEIGHTS[1000:]
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    return {"config.json": CONFIG, "tokenizer.json": TOKENIZER,
            "model.safetensors.index.json": json.dumps(index).encode(),
            "model-00001-of-00002.safetensors": first, "model-00002-of-00002.safetensors": second}


def files_of(model):
    return shards() if model.startswith("sharded") or model == "missing-shard" else FILES


def listing(model):
    files = dict(files_of(model))
    if model == "missing-shard":
        del files["model-00002-of-00002.safetensors"]
    siblings = [sibling(n, c) for n, c in files.items()]
    if model == "pickle-only":
        siblings = [s for s in siblings if not s["rfilename"].endswith(".safetensors")]
    if model == "hostile":
        for name in ("../escaped.json", "/tmp/escaped.json", "1_Pooling/../../config.json", "..%2Fconfig.json",
                     "config.json\n", "1_Pooling/..", "a/config.json", "train.py", "model.pt", "config.json/../x"):
            siblings.append({"rfilename": name, "size": 1})
        siblings += [{"rfilename": "config.json", "size": 5}, {"rfilename": 7}, "text", {}]
    if model == "huge":
        siblings[3]["size"] = siblings[3]["lfs"]["size"] = 1 << 62
    if model == "wrong-sum":
        for s in siblings:
            if "lfs" in s:
                s["lfs"]["sha256"] = "0" * 64
    if model == "wrong-small-sum":
        siblings[0]["blobId"] = "1" * 40
    if model == "header-sum" or model == "wrong-header-sum":
        for s in siblings:
            s.pop("lfs", None), s.pop("blobId", None)
    return {"id": "owner/" + model, "sha": REVISION, "siblings": siblings}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        path = urllib.parse.unquote(urllib.parse.urlparse(self.path).path)
        if path == "/log":
            return self.answer(200, json.dumps(log).encode())
        with lock:
            log.append({"path": path, "range": self.headers.get("Range"), "auth": self.headers.get("Authorization")})
        parts = path.strip("/").split("/")
        if parts[:2] == ["api", "models"]:
            model = parts[-1]
            if model == "nothing":
                return self.answer(404, b"{}")
            if model == "gated":
                return self.answer(401, b"{}")
            if model == "broken":
                return self.answer(500, b"oops")
            if model == "no-json":
                return self.answer(200, b"<html>")
            if model == "moved":
                return self.answer(307, headers=[("Location", "/api/models/owner/plain")])
            if model == "off-https":
                return self.answer(302, headers=[("Location", "http://example.com/api/models/owner/plain")])
            if model == "off-protocol":
                return self.answer(302, headers=[("Location", "file:///etc/passwd")])
            if model == "circle":
                return self.answer(302, headers=[("Location", self.path)])
            return self.answer(200, json.dumps(listing(model)).encode())
        if len(parts) >= 5 and parts[2] == "resolve":
            return self.file(parts[1], "/".join(parts[4:]))
        if parts[0] == "cdn":
            return self.file("plain", "/".join(parts[1:]))
        self.answer(404)

    def file(self, model, name):
        content = files_of(model).get(name)
        if content is None:
            return self.answer(404)
        large = name.endswith(".safetensors")
        if model == "linked" and large:
            return self.answer(302, headers=[("Location", "/cdn/" + name),
                                             ("X-Linked-Etag", '"%s"' % hashlib.sha256(content).hexdigest())])
        headers = [("ETag", '"%s"' % hashlib.md5(content).hexdigest()), ("Accept-Ranges", "bytes")]
        if model == "header-sum" and large:
            headers.append(("X-Linked-Etag", '"%s"' % hashlib.sha256(content).hexdigest()))
        if model == "wrong-header-sum" and large:
            headers.append(("X-Linked-Etag", '"%s"' % ("0" * 64)))
        if model == "too-long" and large:
            content += b"more"
        begin = 0
        asked = self.headers.get("Range")
        if asked and model != "no-range":
            begin = int(asked.split("=")[1].split("-")[0])
            if_range = self.headers.get("If-Range")
            if if_range and if_range != headers[0][1]:
                begin = 0
        if begin >= len(content) and begin > 0:
            return self.answer(416)
        body = content[begin:]
        cut = large and (model == "cut-always" or (model in ("cut-once", "no-range") and model not in cut_once))
        cut_once.add(model if cut else None)
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(body)))
        if begin:
            self.send_header("Content-Range", "bytes %d-%d/%d" % (begin, len(content) - 1, len(content)))
        for header in headers:
            self.send_header(*header)
        self.end_headers()
        if cut:
            self.wfile.write(body[:len(body) // 2])
            self.wfile.flush()
            self.close_connection = True
            return
        self.wfile.write(body)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
