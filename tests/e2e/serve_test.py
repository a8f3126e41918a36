#!/usr/bin/env python3
"""edge-infer serve as its users see it: what it refuses to start with, and a model whose weights give NaN."""
import http.client
import json
import os
import pathlib
import re
import struct
import subprocess
import tempfile

from support import EDGE_INFER, MODEL, Checks, need_model, run

need_model()
check = Checks()
folder = tempfile.TemporaryDirectory()
tmp = pathlib.Path(folder.name)
env = {"EDGE_INFER_CACHE": str(tmp / "cache"), "HOME": str(tmp), "EDGE_INFER_API_KEY": ""}


class Serving:
    """A server on a free port while the block runs."""

    def __init__(self, *args, **more):
        self.args, self.more = args, more

    def __enter__(self):
        self.process = subprocess.Popen([EDGE_INFER, "serve", "--port", "0", *map(str, self.args)], stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **env, **self.more})
        for line in self.process.stderr:
            if found := re.search(r"listening on http://[\d.]+:(\d+)", line):
                self.port = int(found[1])
                return self
        raise AssertionError(f"serve {self.args} did not start: {self.process.wait()}")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate(timeout=30)

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, path, body=None if body is None else json.dumps(body), headers=headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, json.loads(data) if data else None


# What cannot work is wrong usage, before the model is read.
for args, key, words in ((["--host", "0.0.0.0"], "", "API key is required"), (["--host", "0.0.0.0", "--api-key", " "], "", "cannot stand in a header"),
                         (["--api-key", "a\nb"], "", "cannot stand in a header"), ([], "secr3t\n", "cannot stand in a header"),
                         (["--host", "::", "--api-key", "schl\u00fcssel"], "", "cannot stand in a header"), (["--api-key", ""], "", "--api-key"),
                         (["--host", ""], "", "--host"), (["--port", ""], "", "--port"), (["--port", "65536"], "", "--port"), (["--device", "gpu"], "", "gpu")):
    r = run("serve", "--model", tmp / "nowhere", *args, env={**env, "EDGE_INFER_API_KEY": key})
    check(r.code == 2 and words in r.err and "secr3t" not in r.err, f"serve {args} with the key {key!r}: {r.code} {r.err}")
r = run("serve", "--model", MODEL, "--host", "no.such.host.invalid", env=env)
check(r.code == 1 and "no.such.host.invalid" in r.err, f"a host that does not resolve is a failure: {r.code} {r.err}")

with Serving("--model", MODEL, EDGE_INFER_API_KEY="k3y") as server:
    check(server.ask("GET", "/v1/models")[0] == 401, "the key of the environment is asked for")
    check(server.ask("GET", "/v1/models", Authorization="Bearer k3y")[0] == 200, "and taken")
    check(server.ask("HEAD", "/health") == (200, None), "HEAD answers as GET")

# The same model with one NaN in a weight that every text meets.
broken = tmp / "broken"
broken.mkdir()
for file in pathlib.Path(MODEL).iterdir():
    if file.name != "model.safetensors":
        (broken / file.name).symlink_to(file.resolve())
weights = bytearray((pathlib.Path(MODEL) / "model.safetensors").read_bytes())
header_length = int.from_bytes(weights[:8], "little")
header = json.loads(weights[8:8 + header_length])
name = next(n for n in header if n.endswith("encoder.layer.0.attention.output.LayerNorm.bias"))
at = 8 + header_length + header[name]["data_offsets"][0]
weights[at:at + 4] = struct.pack("<f", float("nan"))
(broken / "model.safetensors").write_bytes(weights)
with Serving("--model", broken) as server:
    for path, body in (("/v1/embeddings", {"input": "a"}), ("/embed", {"inputs": ["a", "b"]})):
        status, answer = server.ask("POST", path, body)
        check(status == 422 and answer["error"]["code"] == "embedding_not_finite", f"{path}: {status} {answer}")
        check(str(tmp) not in str(answer) and "broken" not in str(answer), f"a message names no file of the server: {answer}")
    status, answer = server.ask("GET", "/health")
    check(status == 503 and answer["error"]["code"] == "unhealthy" and str(tmp) not in str(answer), f"/health: {status} {answer}")

check.finish()
