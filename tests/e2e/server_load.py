#!/usr/bin/env python3
"""Runs the real `edge-infer serve` under load and compares every answer, bit for bit, with `edge-infer embed`.

    server_load.py --bin build/release/bin --model DIR [--clients 32] [--seconds 30]

Clients send one to many texts of mixed sizes over kept connections, as floats and as base64, to all embedding routes;
beside them one client sends bad bodies, each followed at once by a good one, and one leaves amid large requests. Ends
with SIGTERM under load: what was in flight is answered and the server exits with 0. Needs Python 3.8, nothing else."""
import argparse
import array
import base64
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

WORDS = ("vector search over local documents with citations the quick brown fox naïve café 東京 index kernel "
         "batch attention üñî 🙂 of to and in is 3.14 [CLS] hyphen-ated don't").split()


def make_texts(count):
    rng = random.Random(20240611)
    texts = ["", " ", "a", "\n\t", "x" * 3000]
    while len(texts) < count:
        length = rng.choice((1, 3, 8, 20, 60, 150, 400))
        texts.append(" ".join(rng.choice(WORDS) for _ in range(rng.randint(1, length))))
    return texts


def reference(binary, model, texts):
    """Each text's vector as its little-endian bytes, from one run of `embed`."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", delete=False) as file:
        for text in texts:
            file.write(json.dumps({"text": text}) + "\n")
    try:
        out = subprocess.run([binary, "embed", "--model", model, "--format", "npy", "--input", file.name],
                             check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    finally:
        os.unlink(file.name)
    header = int.from_bytes(out[8:10], "little")
    shape = re.search(rb"\((\d+), (\d+)\)", out[10:10 + header])
    rows, width = int(shape[1]), int(shape[2])
    assert rows == len(texts), (rows, len(texts))
    data = out[10 + header:]
    return [data[i * width * 4:(i + 1) * width * 4] for i in range(rows)]


def floats_as_bytes(numbers):
    return array.array("f", numbers).tobytes()


class Load:
    def __init__(self, port, texts, vectors, seconds):
        self.port, self.texts, self.vectors = port, texts, vectors
        self.end = time.monotonic() + seconds
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.requests = self.inputs = 0
        self.errors = []

    def fail(self, message):
        with self.lock:
            self.errors.append(message)

    def post(self, connection, path, body):
        connection.request("POST", path, body if isinstance(body, (bytes, str)) else json.dumps(body),
                           {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, response.read()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)

    def check(self, connection, rng, largest):
        count = rng.choice((1, 1, 1, 2, 5, 16, largest))
        chosen = [rng.randrange(len(self.texts)) for _ in range(count)]
        texts = [self.texts[i] for i in chosen]
        kind = rng.choice(("float", "base64", "base64", "embed"))
        sent = texts[0] if count == 1 and rng.random() < 0.5 else texts
        if kind == "embed":
            status, body = self.post(connection, "/embed", {"inputs": sent})
        else:
            status, body = self.post(connection, "/v1/embeddings",
                                     {"input": sent, "model": "any", "encoding_format": kind})
        if status != 200:
            return self.fail("status %d: %r" % (status, body[:200]))
        answer = json.loads(body)
        if kind == "embed":
            rows = [floats_as_bytes(row) for row in answer]
        elif kind == "float":
            rows = [floats_as_bytes(entry["embedding"]) for entry in answer["data"]]
        else:
            rows = [base64.b64decode(entry["embedding"]) for entry in answer["data"]]
        if rows != [self.vectors[i] for i in chosen]:
            self.fail("%s: %d texts: other bits than embed" % (kind, count))
        with self.lock:
            self.requests += 1
            self.inputs += count

    def client(self, seed):
        rng = random.Random(seed)
        connection = self.connect()
        try:
            while time.monotonic() < self.end:
                self.check(connection, rng, 32)
                if rng.random() < 0.05:
                    connection.close()
        except Exception as error:
            self.fail("client %d: %r" % (seed, error))

    def bad_client(self):
        """The six bad bodies, each with a good request right after it."""
        cut = (b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
               b"Content-Length: 500\r\n\r\n{\"input\": \"cut")
        bad = ["{}", '{"input":[]}', '{"input":null}', '{"input":[1.5]}', '{"input":"cut', cut, "oversized"]
        try:
            while time.monotonic() < self.end:
                for body in bad:
                    if body is cut:
                        with socket.create_connection(("127.0.0.1", self.port)) as raw:
                            raw.sendall(body)
                    elif body == "oversized":
                        with socket.create_connection(("127.0.0.1", self.port)) as raw:
                            raw.sendall(b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                                        b"Content-Length: 99999999\r\n\r\n" + b"x" * 100000)
                            if b" 413 " not in raw.recv(64):
                                self.fail("oversized body: no 413")
                    else:
                        status, answer = self.post(self.connect(), "/v1/embeddings", body)
                        if status != 400 or "message" not in json.loads(answer)["error"]:
                            self.fail("%s: status %d, %r" % (body, status, answer[:200]))
                    begin = time.monotonic()
                    status, answer = self.post(self.connect(), "/v1/embeddings",
                                               {"input": self.texts[2], "encoding_format": "base64"})
                    if status != 200 or base64.b64decode(json.loads(answer)["data"][0]["embedding"]) != self.vectors[2]:
                        self.fail("after %r: status %d" % (body[:40], status))
                    if time.monotonic() - begin > 100:
                        self.fail("after %r: %.1f s" % (body[:40], time.monotonic() - begin))
                time.sleep(0.5)
        except Exception as error:
            self.fail("bad client: %r" % error)

    def leaving_client(self):
        rng = random.Random(99)
        try:
            while time.monotonic() < self.end:
                body = json.dumps({"input": [rng.choice(self.texts) for _ in range(500)]}).encode()
                with socket.create_connection(("127.0.0.1", self.port)) as raw:
                    raw.sendall(b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                                b"Content-Length: %d\r\n\r\n" % len(body) + body)
                    time.sleep(0.05)
                time.sleep(2)
        except Exception as error:
            self.fail("leaving client: %r" % error)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default=os.environ.get("EDGE_INFER_BIN", "build/release/bin"))
    parser.add_argument("--model", default=os.environ.get("EDGE_INFER_TEST_MODEL"))
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    if not options.model:
        print("skipped: neither --model nor $EDGE_INFER_TEST_MODEL")
        return 77
    binary = os.path.join(options.bin, "edge-infer")
    texts = make_texts(150)
    begin = time.monotonic()
    vectors = reference(binary, options.model, texts)
    print("reference: %d texts, %.1f s" % (len(texts), time.monotonic() - begin), flush=True)
    server = subprocess.Popen([binary, "serve", "--model", options.model, "--port", "0"], stderr=subprocess.PIPE, text=True)
    try:
        line = server.stderr.readline()
        match = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        if not match:
            raise RuntimeError("no address in %r" % (line + server.stderr.read()))
        load = Load(int(match[1]), texts, vectors, options.seconds)
        threads = [threading.Thread(target=load.client, args=(seed,)) for seed in range(options.clients)]
        threads += [threading.Thread(target=load.bad_client), threading.Thread(target=load.leaving_client)]
        begin = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        elapsed = time.monotonic() - begin
        connection = load.connect()
        connection.request("GET", "/health")
        health = connection.getresponse()
        if health.status != 200 or json.loads(health.read())["status"] != "ok":
            load.fail("health: status %d" % health.status)

        # SIGTERM while a request is in flight: it is answered all the same.
        last = load.connect()
        last.request("POST", "/embed", json.dumps({"inputs": texts[:8]}), {"Content-Type": "application/json"})
        time.sleep(0.05)
        server.send_signal(signal.SIGTERM)
        response = last.getresponse()
        if response.status != 200 or [floats_as_bytes(r) for r in json.loads(response.read())] != vectors[:8]:
            load.fail("request in flight at SIGTERM: status %d" % response.status)
        if server.wait(timeout=60) != 0:
            load.fail("exit code %d" % server.returncode)
        print("%d clients, %.0f s: %d requests, %d inputs, %d errors" %
              (options.clients, elapsed, load.requests, load.inputs, len(load.errors)))
        for message in load.errors[:20]:
            print("  " + message)
        return 1 if load.errors or load.requests == 0 else 0
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()


if __name__ == "__main__":
    sys.exit(main())
