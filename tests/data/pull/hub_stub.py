#!/usr/bin/env python3
"""A Hugging Face hub on loopback for the tests of pull: prints its port, then serves. What a model's name says decides
how the hub misbehaves; GET /log gives the requests so far as JSON."""
import hashlib
import http.server
import json
import sys
import threading
import time
import urllib.parse
from email.utils import formatdate

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
DENSE = b"dense weights"
log = []
cut_once = set()
answers = {}  # how often a busy or dropping model was asked, for its listing and for its weights
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


def dense(model):
    """A model with modules, as its name says."""
    folder = "dense" if model == "dense-odd-folder" else "2_Dense"
    modules = [{"path": "", "type": "sentence_transformers.models.Transformer"},
               {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
               {"path": folder, "type": "sentence_transformers.models.Dense"}]
    if model == "dense-unused":
        modules.pop()
    files = {**FILES, "modules.json": json.dumps(modules).encode()}
    if model != "dense-no-config":
        files[folder + "/config.json"] = b"{}"
    if model in ("dense-pickle", "dense-unused"):
        files[folder + "/pytorch_model.bin"] = b"pickle"
    elif model != "dense-nothing":
        files[folder + "/model.safetensors"] = DENSE
    if model == "pooling-missing":
        del files["1_Pooling/config.json"]
    return files


def files_of(model):
    if model.startswith("sharded") or model == "missing-shard":
        return shards()
    return dense(model) if model.startswith("dense") or model == "pooling-missing" else FILES


def listing(model):
    files = dict(files_of(model))
    if model == "missing-shard":
        del files["model-00002-of-00002.safetensors"]
    siblings = [sibling(n, c) for n, c in files.items()]
    if model == "pickle-only":
        siblings = [s for s in siblings if not s["rfilename"].endswith(".safetensors")]
    if model == "pickle-shards":
        siblings = [s for s in siblings if s["rfilename"] not in ("model.safetensors", "pytorch_model.bin")]
        siblings += [{"rfilename": "pytorch_model-0000%d-of-00002.bin" % n, "size": 6} for n in (1, 2)]
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
    if model in ("bare", "no-end", "chunked", "chunked-cut"):
        siblings = [{"rfilename": s["rfilename"]} for s in siblings]
    return {"id": "owner/" + model, "sha": REVISION, "siblings": siblings}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

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
        if self.turned_away(path):
            return
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
            return self.file("plain", "/".join(parts[2:]))
        self.answer(404)

    def turned_away(self, path):
        """The answers of hubs that are busy or drop connections, to a listing or to a request for the weights."""
        is_listing, is_weights = path.startswith("/api/"), path.endswith("model.safetensors")
        model = path.split("/")[4 if is_listing else 2] if is_listing or is_weights else ""
        with lock:
            asked = answers[model, is_listing] = answers.get((model, is_listing), 0) + 1
        if model == "busy-twice" and asked <= 2:
            self.answer(503 if asked == 1 else 429, b"busy", [] if asked == 1 else [("Retry-After", "1")])
        elif model == "drop-once" and asked == 1:
            self.close_connection = True
        elif model == "busy-long":
            self.answer(429, b"busy", [("Retry-After", "3600")])
        elif model == "busy-date" and is_weights:
            self.answer(503, b"busy", [("Retry-After", formatdate(time.time() + 3600, usegmt=True))])
        elif model[5:].isdigit() and is_weights:
            self.answer(int(model[5:]), b"busy")
        else:
            return False
        return True

    def file(self, model, name):
        content = files_of(model).get(name)
        if content is None:
            return self.answer(404)
        large = name.endswith(".safetensors")
        if model == "linked" and large:
            return self.answer(302, headers=[("Location", "/cdn/linked/" + name),
                                             ("X-Linked-Etag", '"%s"' % hashlib.sha256(content).hexdigest())])
        if model in ("other-port", "other-host") and large:
            host = "127.0.0.1:%d" % other.server_address[1] if model == "other-port" else "localhost:%d" % PORT
            return self.answer(302, headers=[("Location", "http://%s/cdn/%s/%s" % (host, model, name))])
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
        once = ("cut-once", "no-range", "no-length-cut-once", "wrong-range", "no-content-range")
        cut = large and (model in ("cut-always", "no-end", "chunked-cut") or (model in once and model not in cut_once))
        if model == "late-cut" and large:
            cut = answers["late-cut", False] == 2
        cut_once.add(model if cut else None)
        is_part = begin > 0
        if model == "wrong-range" and is_part:
            begin, body = 0, content
        if model == "part-unasked" and large:
            begin, is_part = 1000, True
        self.send_response(206 if is_part else 200)
        chunked = model.startswith("chunked") and large
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif model in ("no-end", "no-length-cut-once") and large:
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(len(body)))
        if is_part and model != "no-content-range":
            self.send_header("Content-Range", "bytes %d-%d/%d" % (begin, len(content) - 1, len(content)))
        for header in headers:
            self.send_header(*header)
        self.end_headers()
        if cut:
            body = body[:len(body) // 2]
            self.close_connection = True
        if chunked:
            body = b"%x\r\n%s\r\n" % (len(body), body) + (b"" if cut else b"0\r\n\r\n")
        self.wfile.write(body)
        self.wfile.flush()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that stops reading is what some tests are about."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def serve():
    started = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=started.serve_forever, daemon=True).start()
    return started


server, other = serve(), serve()
PORT = server.server_address[1]
print(PORT, flush=True)
sys.stdin.read()
