#!/usr/bin/env python3
"""The official OpenAI client against the real server: base64 by default, floats, errors as its exception types.

    openai_client.py --bin build/release/bin --model DIR      (needs: pip install openai; exit code 77 without it)"""
import argparse
import os
import re
import subprocess
import sys

try:
    import openai
except ImportError:
    print("skipped: no package openai")
    sys.exit(77)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default=os.environ.get("EDGE_INFER_BIN", "build/release/bin"))
    parser.add_argument("--model", default=os.environ.get("EDGE_INFER_TEST_MODEL"))
    options = parser.parse_args()
    if not options.model:
        print("skipped: neither --model nor $EDGE_INFER_TEST_MODEL")
        return 77
    server = subprocess.Popen([os.path.join(options.bin, "edge-infer"), "serve", "--model", options.model, "--port", "0",
                               "--api-key", "k3y"], stderr=subprocess.PIPE, text=True)
    try:
        port = re.search(r"http://127\.0\.0\.1:(\d+)", server.stderr.readline())[1]
        client = openai.OpenAI(base_url="http://127.0.0.1:%s/v1" % port, api_key="k3y")
        name = client.models.list().data[0].id
        assert client.models.retrieve(name).id == name
        answer = client.embeddings.create(model=name, input=["a dog barks", "a hound howls"])
        floats = client.embeddings.create(model=name, input=["a dog barks", "a hound howls"], encoding_format="float")
        assert [d.index for d in answer.data] == [0, 1] and answer.model == name
        assert answer.usage.prompt_tokens == answer.usage.total_tokens > 0
        for base64, plain in zip(answer.data, floats.data):
            assert len(base64.embedding) == 384
            # The client widens float32; printed floats are the shortest that read back the same.
            assert all(abs(a - b) <= 1e-8 for a, b in zip(base64.embedding, plain.embedding))
        assert len(client.embeddings.create(model=name, input="x", dimensions=64).data[0].embedding) == 64
        for wrong in ([], [1.5], [[]]):
            try:
                client.embeddings.create(model=name, input=wrong)
                raise SystemExit("no error for %r" % (wrong,))
            except openai.BadRequestError as error:
                assert error.param == "input" and error.code and error.request_id, error
        try:
            openai.OpenAI(base_url=client.base_url, api_key="wrong").models.list()
            raise SystemExit("a wrong key passed")
        except openai.AuthenticationError as error:
            assert error.code == "invalid_api_key"
        try:
            client.models.retrieve("other")
            raise SystemExit("an unknown model was found")
        except openai.NotFoundError as error:
            assert error.code == "model_not_found"
        print("openai %s: ok" % openai.__version__)
        return 0
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
