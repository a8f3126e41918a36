#!/usr/bin/env python3
"""gpu_bench's rows for PyTorch, to be run beside it on the same GPU: torch_bench.py MODEL_DIR... [--warm]

For each model (a BERT in safetensors), in fp16, mean pooling and normalize included, token ids in host memory in, vectors in host memory out:
  latency     1 x 16, 128, 512: torch.compile(mode="reduce-overhead"), median and 99th percentile
  throughput  64 x 512: torch.compile, TFLOP/s of linears and attention
  mixed       2,048 texts of 16 to 512 tokens sorted by length, padded in calls of 16,384 tokens: eager and compiled (dynamic)
and once: a product of BERT-base's shape in a loop for a second, short and long, which is what the power limit allows.

--warm only compiles (into torch's own cache), so that the timed run need not. Needs torch and safetensors.
"""
import json
import random
import sys
import time
from types import SimpleNamespace

try:
    import torch
    import torch.nn.functional as F
    from safetensors.torch import load_file
except ImportError as missing:
    print(f"torch_bench: {missing}")
    sys.exit(77)

DEVICE = "cuda"


class Encoder(torch.nn.Module):
    """BERT with one product for q, k and v, as the best users of torch write it."""

    def __init__(self, folder):
        super().__init__()
        self.config = c = SimpleNamespace(**json.load(open(f"{folder}/config.json")))
        weights = {k.removeprefix("bert."): v for k, v in load_file(f"{folder}/model.safetensors").items()}
        for name in ("word", "position", "token_type"):
            self.register_buffer(name, weights[f"embeddings.{name}_embeddings.weight"])
        self.norms, self.linears = [], []

        def norm(name):
            self.norms.append((self.keep(weights[name + ".weight"]), self.keep(weights[name + ".bias"])))

        def linear(*names):
            self.linears.append((self.keep(torch.cat([weights[n + ".weight"] for n in names])),
                                 self.keep(torch.cat([weights[n + ".bias"] for n in names]))))
        norm("embeddings.LayerNorm")
        for i in range(c.num_hidden_layers):
            layer = f"encoder.layer.{i}."
            linear(*(layer + f"attention.self.{n}" for n in ("query", "key", "value")))
            linear(layer + "attention.output.dense")
            norm(layer + "attention.output.LayerNorm")
            linear(layer + "intermediate.dense")
            linear(layer + "output.dense")
            norm(layer + "output.LayerNorm")

    def keep(self, tensor):
        name = f"w{len(self._buffers)}"
        self.register_buffer(name, tensor)
        return name

    def norm(self, i, x):
        weight, bias = (getattr(self, n) for n in self.norms[i])
        return F.layer_norm(x, (self.config.hidden_size,), weight, bias, self.config.layer_norm_eps)

    def linear(self, i, x):
        return F.linear(x, *(getattr(self, n) for n in self.linears[i]))

    def forward(self, ids, mask):
        c = self.config
        batch, length = ids.shape
        x = self.norm(0, F.embedding(ids, self.word) + self.position[:length] + self.token_type[0])
        keys = None if mask is None else mask[:, None, None, :]
        for i in range(c.num_hidden_layers):
            heads = self.linear(4 * i, x).view(batch, length, 3, c.num_attention_heads, -1).permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(heads[0], heads[1], heads[2], attn_mask=keys)
            mixed = mixed.transpose(1, 2).reshape(batch, length, c.hidden_size)
            x = self.norm(2 * i + 1, x + self.linear(4 * i + 1, mixed))
            x = self.norm(2 * i + 2, x + self.linear(4 * i + 3, F.gelu(self.linear(4 * i + 2, x))))
        if mask is None:
            pooled = x.float().mean(1)
        else:
            weight = mask[..., None].float()
            pooled = (x.float() * weight).sum(1) / weight.sum(1)
        return F.normalize(pooled, dim=1)


def flops(config, lengths):
    h, i, layers = config.hidden_size, config.intermediate_size, config.num_hidden_layers
    return sum(2 * n * layers * (4 * h * h + 2 * h * i) + 4 * n * n * h * layers for n in lengths)


def timed(call, rounds, warm):
    times = []
    for r in range(rounds + warm):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        if r >= warm:
            times.append(time.perf_counter() - start)
    times.sort()
    return times[len(times) // 2], times[len(times) * 99 // 100], times[0]


def ids_of(*shape):
    return torch.randint(5, 30000, shape, dtype=torch.int64).pin_memory()


@torch.no_grad()
def run(folder, warm_only):
    model = Encoder(folder).to(DEVICE, torch.float16).eval()
    name = f"{model.config.num_hidden_layers} x {model.config.hidden_size}"
    few, many = (1, 3) if warm_only else (50, 500)
    for length in (16, 128, 512):
        torch._dynamo.reset()
        fast = torch.compile(model, mode="reduce-overhead", dynamic=False)
        ids = ids_of(1, length)
        median, p99, best = timed(lambda: fast(ids.to(DEVICE, non_blocking=True), None).cpu(), many, few)
        print(f"torch {name} latency    1 x {length:>3}  median {median*1e6:8.1f} us  p99 {p99*1e6:8.1f}  best {best*1e6:8.1f}", flush=True)
    torch._dynamo.reset()
    compiled = torch.compile(model, dynamic=False)
    ids = ids_of(64, 512)
    median, _, best = timed(lambda: compiled(ids.to(DEVICE, non_blocking=True), None).cpu(), 2 if warm_only else 40, 1 if warm_only else 10)
    print(f"torch {name} uniform    64 x 512: median {median*1e3:.2f} ms, {32768/median/1e6:.2f} million tokens/s, "
          f"{flops(model.config, [512]*64)/median/1e12:.0f} TFLOP/s (best {flops(model.config, [512]*64)/best/1e12:.0f})", flush=True)
    torch._dynamo.reset()
    random.seed(1)
    lengths = sorted(16 + random.randrange(497) for _ in range(2048))
    calls, group = [], []
    for n in lengths:
        if group and n * (len(group) + 1) > 16384:
            calls.append(group)
            group = []
        group.append(n)
    calls.append(group)
    batches = []
    for group in calls:
        mask = torch.zeros(len(group), group[-1], dtype=torch.bool)
        for row, n in enumerate(group):
            mask[row, :n] = True
        batches.append((ids_of(len(group), group[-1]), mask.pin_memory()))

    def sweep(encoder):
        outputs = [encoder(i.to(DEVICE, non_blocking=True), m.to(DEVICE, non_blocking=True)) for i, m in batches]
        return torch.cat(outputs).cpu()
    for label, encoder in (("eager", model), ("compiled", torch.compile(model, dynamic=True))):
        median, _, best = timed(lambda: sweep(encoder), 1 if warm_only else 5, 0 if warm_only else 1)
        print(f"torch {name} mixed      {label}: {sum(lengths)/median/1e6:.2f} million tokens/s, "
              f"{flops(model.config, lengths)/median/1e12:.0f} TFLOP/s", flush=True)


def power():
    a = torch.randn(16384, 768, device=DEVICE, dtype=torch.float16)
    b = torch.randn(3072, 768, device=DEVICE, dtype=torch.float16) * 0.03
    c = torch.randn(16384, 3072, device=DEVICE, dtype=torch.float16)
    for label, seconds in (("0.01 s", 0.01), ("1 s", 1.0)):
        for name, x, y in (("768 -> 3072", a, b.t()), ("3072 -> 768", c, b)):
            time.sleep(0.3)
            out = x @ y
            torch.cuda.synchronize()
            done, start = 0, time.perf_counter()
            while time.perf_counter() - start < seconds:
                for _ in range(40):
                    torch.mm(x, y, out=out)
                torch.cuda.synchronize()
                done += 40
            spent = time.perf_counter() - start
            print(f"torch product 16384 x {name}, {label}: {done*2*16384*768*3072/spent/1e12:.0f} TFLOP/s", flush=True)


if __name__ == "__main__":
    folders = [a for a in sys.argv[1:] if not a.startswith("--")]
    for folder in folders:
        run(folder, "--warm" in sys.argv)
    if "--warm" not in sys.argv:
        power()
