#!/usr/bin/env python3
"""Makes op_vectors.npz: what PyTorch says that each op of the table computes. The unit tests hold evaluate() to it.

    python3 -m venv /opt/venv-torch && /opt/venv-torch/bin/pip install torch numpy
    /opt/venv-torch/bin/python tests/data/make_op_vectors.py

Member `manifest` is JSON: a list of {node, inputs, outputs, native}, where inputs and outputs are [member, dtype]; bf16 is
stored as its 16 bits. The result's type is that of PyTorch in the inputs' own types; floating values are computed by
PyTorch in float64 and rounded to that type, so that the pins are tight, unless a case is `native`.
"""
import json
import math
import os

import numpy as np
import torch

torch.manual_seed(7)
F32, F64, F16, BF16 = torch.float32, torch.float64, torch.float16, torch.bfloat16
I64, I32, I16, I8, U8, BOOL = torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool
NAMES = {F32: "f32", F64: "f64", F16: "f16", BF16: "bf16", I64: "i64", I32: "i32", I16: "i16", I8: "i8", U8: "u8",
         BOOL: "bool"}
INF, NAN = math.inf, math.nan
arrays, manifest = {}, []


def randn(*sizes, dtype=F32, scale=2.0):
    return (torch.randn(*sizes) * scale).to(dtype)


def positive(*sizes, dtype=F32):
    return (torch.rand(*sizes) * 4 + 0.1).to(dtype)


def randint(lo, hi, *sizes, dtype=I64):
    return torch.randint(lo, hi, sizes).to(dtype)


def randbool(*sizes):
    return torch.rand(*sizes) < 0.5


SPECIAL = torch.tensor([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 0.5, -2.5, 3.5, 1e-30, -1e30, 88.0, -104.0])


def store(tensor):
    name = f"t{len(arrays)}"
    tensor = tensor.detach().contiguous()
    arrays[name] = (tensor.view(torch.int16).numpy().view(np.uint16) if tensor.dtype == BF16 else tensor.numpy())
    return [name, NAMES[tensor.dtype]]


def as_list(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def case(node, function, inputs, native=False):
    own = as_list(function(*inputs))
    wide = own
    if not native and any(t.is_floating_point() for t in own):
        torch.set_default_dtype(F64)
        wide = as_list(function(*[t.double() if t.is_floating_point() else t for t in inputs]))
        torch.set_default_dtype(F32)
    outputs = [w.to(o.dtype) for w, o in zip(wide, own)]
    manifest.append({"node": node, "inputs": [store(t) for t in inputs], "outputs": [store(t) for t in outputs],
                     "native": native})


def binary_cases():
    arithmetic = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "maximum": torch.maximum,
                  "minimum": torch.minimum, "atan2": torch.atan2, "remainder": torch.remainder}
    a, b = SPECIAL.repeat_interleave(len(SPECIAL)), SPECIAL.repeat(len(SPECIAL))
    for name, f in arithmetic.items():
        node = f"aten.{name}(%a, %b)"
        case(node, f, [randn(3, 5), randn(3, 5)])
        case(node, f, [randn(4, 1, 3, dtype=F64), randn(5, 1, dtype=F64)])
        case(node, f, [randn(7, dtype=BF16), randn(7, dtype=F32)])
        case(node, f, [randn(2, 3, dtype=F16), randn(3, dtype=F16)])
        case(node, f, [randint(-9, 9, 3, 5), randint(1, 9, 5, dtype=I32)])
        case(node, f, [randint(-9, 9, 4, dtype=I32), randn(1)[0]])
        case(node, f, [randn(3), randn(3, dtype=F64)[0]])
        case(node, f, [a, b])
    case("aten.add(%a, %b)", torch.add, [randint(0, 255, 9, dtype=U8), randint(-128, 127, 9, dtype=I8)])
    case("aten.mul(%a, %b)", torch.mul, [randint(0, 255, 9, dtype=U8), randint(0, 255, 9, dtype=U8)])
    case("aten.add(%a, %b)", torch.add, [torch.tensor([2**31 - 1, -2**31], dtype=I32), torch.tensor([1, -1], dtype=I32)])
    case("aten.add(%a, %b)", torch.add, [randbool(8), randbool(8)])
    case("aten.mul(%a, %b)", torch.mul, [randbool(8), randint(-3, 3, 8, dtype=I16)])
    case("aten.maximum(%a, %b)", torch.maximum, [randbool(8), randbool(8)])
    case("aten.add(%a, %b)", torch.add, [randn(0, 3), randn(3)])
    case("aten.pow(%a, %b)", torch.pow, [positive(4, 3), randn(3)])
    case("aten.pow(%a, %b)", torch.pow, [randint(-4, 4, 9), randint(0, 5, 9)])
    case("aten.pow(%a, %b)", torch.pow, [randint(-2, 3, 12), randint(-3, 3, 12)])
    case("aten.pow(%a, %b)", torch.pow, [a, b])
    for name in ["eq", "ne", "lt", "le", "gt", "ge"]:
        f = getattr(torch, name)
        case(f"aten.{name}(%a, %b)", f, [a, b])
        case(f"aten.{name}(%a, %b)", f, [randint(-2, 3, 4, 3), randint(-2, 3, 3, dtype=I32)])
        case(f"aten.{name}(%a, %b)", f, [randint(-2, 3, 9, dtype=I32), randn(9).round()])
    for name in ["logical_and", "logical_or"]:
        f = getattr(torch, name)
        case(f"aten.{name}(%a, %b)", f, [a, b])
        case(f"aten.{name}(%a, %b)", f, [randbool(4, 3), randint(-1, 2, 3)])
    for name in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
        f = getattr(torch, name)
        case(f"aten.{name}(%a, %b)", f, [randint(-99, 99, 4, 3), randint(-99, 99, 3, dtype=I32)])
        case(f"aten.{name}(%a, %b)", f, [randbool(8), randbool(8)])
    case("aten.where(%a, %b, %c)", torch.where, [randbool(4, 3), randn(4, 3), randn(3)])
    case("aten.where(%a, %b, %c)", torch.where, [randbool(4, 1), randint(0, 9, 3), randn(2, 1, 3, dtype=BF16)])
    case("aten.where(%a, %b, %c)", torch.where, [randbool(5), randint(0, 9, 5, dtype=I32), randint(0, 9, 5)])


def scalar_cases():
    ops = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "pow": torch.pow}
    for name, f in ops.items():
        for scalar in [3, -0.1, 2.5]:
            node = f"aten.{name}.Scalar(%a, scalar={scalar})"
            case(node, lambda x, s=scalar, g=f: g(x, s), [positive(3, 5, dtype=F64)])
            case(node, lambda x, s=scalar, g=f: g(x, s), [positive(3, 5)], native=True)
            case(node, lambda x, s=scalar, g=f: g(x, s), [randint(1, 5, 6, dtype=I32)], native=True)
            case(node, lambda x, s=scalar, g=f: g(x, s), [positive(6, dtype=BF16)], native=True)
            case(node, lambda x, s=scalar, g=f: g(x, s), [SPECIAL], native=True)
    for name in ["eq", "ne", "lt", "le", "gt", "ge"]:
        for scalar in [0, 0.5, -1]:
            f = lambda x, s=scalar, g=getattr(torch, name): g(x, s)
            case(f"aten.{name}.Scalar(%a, scalar={scalar})", f, [SPECIAL])
            case(f"aten.{name}.Scalar(%a, scalar={scalar})", f, [randint(-2, 3, 7, dtype=I32)])
    case("aten.eq.Scalar(%a, scalar=0.1)", lambda x: x == 0.1, [torch.tensor([0.1, 0.2])], native=True)
    case("aten.eq.Scalar(%a, scalar=0.1)", lambda x: x == 0.1, [torch.tensor([0.1, 0.2], dtype=BF16)], native=True)
    for lo, hi in [(-1.0, 2), (0.5, None), (None, 1), (2.0, -2.0)]:
        text = ", ".join(f"{k}={v}" for k, v in [("min", lo), ("max", hi)] if v is not None)
        f = lambda x, a=lo, b=hi: torch.clamp(x, a, b)
        for x in [randn(3, 5), SPECIAL, randint(-5, 5, 9, dtype=I32), randn(9, dtype=BF16)]:
            case(f"aten.clamp(%a, {text})", f, [x])
    case("aten.clamp_min(%a, min=0)", lambda x: torch.clamp_min(x, 0), [SPECIAL])
    case("aten.clamp_max(%a, max=0.5)", lambda x: torch.clamp_max(x, 0.5), [randint(-5, 5, 9)])


def unary_cases():
    names = ["neg", "abs", "sign", "sqrt", "rsqrt", "reciprocal", "exp", "exp2", "log", "log1p", "tanh", "erf", "sin", "cos",
             "floor", "ceil", "round", "isnan", "logical_not", "sigmoid", "relu"]
    for name in names:
        f, node = getattr(torch, name), f"aten.{name}(%a)"
        case(node, f, [randn(3, 5)])
        case(node, f, [SPECIAL])
        case(node, f, [randn(9, dtype=F64)])
        case(node, f, [positive(9, dtype=F16)])
        case(node, f, [randn(9, dtype=BF16)])
        case(node, f, [randint(-5, 6, 7, dtype=I32)])
        case(node, f, [randn(2, 0)])
    F = torch.nn.functional
    for x in [randn(3, 5), SPECIAL, randn(9, dtype=F64), randn(9, dtype=BF16), torch.linspace(-7, 7, 33)]:
        case("aten.silu(%a)", F.silu, [x])
        case("aten.gelu(%a)", F.gelu, [x])
        case('aten.gelu(%a, approximate="tanh")', lambda t: F.gelu(t, approximate="tanh"), [x])


def view_cases():
    x = randn(4, 3, 6)
    case("aten.view(%a, size=[2, -1, 6])", lambda t: t.reshape(2, -1, 6), [x])
    case("aten.permute(%a, dims=[2, 0, -2])", lambda t: t.permute(2, 0, 1), [x])
    case("aten.transpose(%a, dim0=0, dim1=-1)", lambda t: t.transpose(0, -1), [x])
    case("aten.slice(%a, dim=1, start=1, end=-1)", lambda t: t[:, 1:-1], [x])
    case("aten.slice(%a, dim=2, start=-5, end=99, step=2)", lambda t: t[:, :, -5:99:2], [x])
    case("aten.slice(%a, start=3, end=1)", lambda t: t[3:1], [x])
    case("aten.select(%a, dim=1, index=-1)", lambda t: t.select(1, -1), [x])
    case("aten.expand(%a, size=[2, 5, -1])", lambda t: t.expand(2, 5, -1), [randn(5, 1).T.reshape(5, 1)])
    case("aten.unsqueeze(%a, dim=-2)", lambda t: t.unsqueeze(-2), [x])
    case("aten.squeeze(%a)", lambda t: t.squeeze(), [randn(1, 3, 1, 2)])
    case("aten.squeeze(%a, dim=[0, 1])", lambda t: t.squeeze((0, 1)), [randn(1, 3, 1, 2)])
    case("aten.split_with_sizes(%a, split_sizes=[1, 0, 5], dim=-1)", lambda t: t.split([1, 0, 5], -1), [x])
    case("aten.cat(%a, %b, %c, dim=1)", lambda *t: torch.cat(t, 1),
         [randn(2, 3), randint(0, 9, 2, 1), randn(2, 0, dtype=BF16)])
    case("aten.cat(%a, %b)", lambda *t: torch.cat(t), [randint(0, 9, 2, 3, dtype=I32), randint(0, 9, 4, 3, dtype=I32)])
    case("aten.clone(%a)", torch.clone, [SPECIAL])
    for target in [F64, F16, BF16, I32, I8, BOOL]:
        source = torch.tensor([0.0, 1.5, -2.5, 100.0, 0.1, 65504.0, 3.0e-6]) if target.is_floating_point else \
            torch.tensor([0.0, 1.5, -2.5, 100.0, 0.1])
        case(f"aten._to_copy(%a, dtype={NAMES[target]})", lambda t, d=target: t.to(d), [source], native=True)
        case(f"aten._to_copy(%a, dtype={NAMES[target]})", lambda t, d=target: t.to(d),
             [torch.tensor([0, 1, -2, 127, -128, 300])], native=True)
    case("aten._to_copy(%a, dtype=bf16)", lambda t: t.to(BF16),
         [torch.tensor([1.00390625, 1.01171875, 3.4e38, -3.4028e38, 1e-40, INF, NAN])], native=True)
    case("aten._to_copy(%a, dtype=f16)", lambda t: t.to(F16),
         [torch.tensor([1.00048828125, 65519.0, 65520.0, 6e-8, 2.9e-8, 1e-7, -INF, NAN])], native=True)
    case("aten._to_copy(%a, dtype=f32)", lambda t: t.to(F32), [randn(9, dtype=BF16)], native=True)
    case("aten._to_copy(%a, dtype=f32)", lambda t: t.to(F32), [randn(9, dtype=F16)], native=True)
    case("aten.full(size=[2, 3], fill_value=-0.1)", lambda: torch.full((2, 3), -0.1), [], native=True)
    case("aten.full(size=[], fill_value=7, dtype=i8)", lambda: torch.full((), 7, dtype=I8), [], native=True)
    case("aten.full(size=[2], fill_value=true, dtype=bool)", lambda: torch.full((2,), True), [], native=True)
    case("aten.arange(end=5)", lambda: torch.arange(5), [])
    case("aten.arange(start=9, end=-2, step=-3, dtype=f32)", lambda: torch.arange(9, -2, -3, dtype=F32), [], native=True)


def reduction_cases():
    x = randn(4, 3, 5)
    holes = x.clone()
    holes[1, 2, 3] = NAN
    for name in ["sum", "mean", "amax", "amin"]:
        f = getattr(torch, name)
        for dims, keep in [([0], False), ([-1, 0], True), ([1], False), ([0, 1, 2], False)]:
            node = f"aten.{name}(%a, dim={dims}, keepdim={str(keep).lower()})"
            for t in [x, holes, randn(4, 3, 5, dtype=BF16)]:
                case(node, lambda v, g=f, d=dims, k=keep: g(v, dim=d, keepdim=k), [t])
        case(f"aten.{name}(%a)", lambda v, g=f: g(v, dim=(0, 1)), [randn(7, 3, dtype=F64)])
        case(f"aten.{name}(%a)", lambda v, g=f: g(v, dim=()), [torch.tensor(1.5)])
    case("aten.sum(%a, dim=[1])", lambda v: v.sum(1), [randint(-9, 9, 3, 4, dtype=I32)])
    case("aten.sum(%a)", lambda v: v.sum(), [randbool(9)])
    case("aten.sum(%a, dim=[0])", lambda v: v.sum(0), [randn(0, 3)])
    case("aten.amax(%a, dim=[0])", lambda v: v.amax(0), [randint(-9, 9, 3, 4, dtype=I32)])
    case("aten.prod(%a, dim=[1])", lambda v: v.prod(1), [randn(3, 4)])
    case("aten.prod(%a)", lambda v: v.prod(), [randint(1, 5, 6, dtype=I32)])
    for name in ["any", "all"]:
        f = getattr(torch, name)
        case(f"aten.{name}(%a, dim=[1])", lambda v, g=f: g(v, dim=1), [randbool(5, 3)])
        case(f"aten.{name}(%a)", lambda v, g=f: g(v), [randint(0, 2, 6)])
        case(f"aten.{name}(%a, dim=[0], keepdim=true)", lambda v, g=f: g(v, dim=0, keepdim=True), [randn(3, 0)])
        case(f"aten.{name}(%a)", lambda v, g=f: g(v), [SPECIAL])
    for correction in [0, 1]:
        case(f"aten.var(%a, correction={correction}, dim=[-1])",
             lambda v, c=correction: torch.var(v, dim=-1, correction=c), [x])
        case(f"aten.var(%a, correction={correction}.0, dim=[0, 2], keepdim=true)",
             lambda v, c=correction: torch.var(v, dim=(0, 2), correction=c, keepdim=True), [x + 1000])
    case("aten.var(%a)", lambda v: torch.var(v), [randn(9, dtype=BF16)])
    for order in [0.0, 1.0, 2.0, 3.0, INF, -INF]:
        case(f"aten.linalg_vector_norm(%a, ord={order}, dim=[1])",
             lambda v, o=order: torch.linalg.vector_norm(v, o, dim=1), [torch.relu(randn(4, 6)) - 0.0])
    for name in ["argmax", "argmin"]:
        f = getattr(torch, name)
        for t in [x, holes, randint(0, 3, 4, 3, 5, dtype=I32)]:
            case(f"aten.{name}(%a, dim=1)", lambda v, g=f: g(v, dim=1), [t])
            case(f"aten.{name}(%a, dim=-1, keepdim=true)", lambda v, g=f: g(v, dim=-1, keepdim=True), [t])
        case(f"aten.{name}(%a)", lambda v, g=f: g(v), [holes])
    case("aten.cumsum(%a, dim=1)", lambda v: v.cumsum(1), [x])
    case("aten.cumsum(%a, dim=0)", lambda v: v.cumsum(0), [randint(-9, 9, 4, 3, dtype=I32)])
    case("aten.cumsum(%a, dim=-1)", lambda v: v.cumsum(-1), [randbool(3, 5)])


def matmul_cases():
    for a, b in [((3, 5), (5, 4)), ((2, 3, 5), (2, 5, 4)), ((2, 1, 3, 5), (7, 5, 4)), ((5,), (5, 4)), ((3, 5), (5,)),
                 ((5,), (5,)), ((0, 5), (5, 4)), ((3, 0), (0, 4)), ((2, 3, 5), (5,))]:
        case("aten.matmul(%a, %b)", torch.matmul, [randn(*a), randn(*b)])
    case("aten.matmul(%a, %b)", torch.matmul, [randn(3, 5, dtype=BF16), randn(5, 4, dtype=BF16)])
    case("aten.matmul(%a, %b)", torch.matmul, [randint(-9, 9, 3, 5), randint(-9, 9, 5, 4)])
    case("aten.mm(%a, %b)", torch.mm, [randn(3, 17), randn(17, 2)])
    case("aten.bmm(%a, %b)", torch.bmm, [randn(3, 2, 5), randn(3, 5, 4)])
    case("aten.addmm(%a, %b, %c)", torch.addmm, [randn(4), randn(3, 5), randn(5, 4)])
    case("aten.addmm(%a, %b, %c, beta=0.5, alpha=-2.0)",
         lambda s, a, b: torch.addmm(s, a, b, beta=0.5, alpha=-2.0), [randn(3, 1), randn(3, 5), randn(5, 4)])
    case("aten.addmm(%a, %b, %c, beta=0.0)", lambda s, a, b: torch.addmm(s, a, b, beta=0),
         [torch.full((4,), NAN), randn(3, 5), randn(5, 4)])
    F = torch.nn.functional
    case("aten.linear(%a, %b, %c)", F.linear, [randn(2, 3, 17), randn(5, 17), randn(5)])
    case("aten.linear(%a, %b)", F.linear, [randn(3, 17, dtype=F16), randn(5, 17, dtype=F16)])
    case("aten.linear(%a, %b)", F.linear, [randn(17), randn(5, 17)])


def normalization_cases():
    F = torch.nn.functional
    x = randn(2, 3, 7) + 3
    case("aten.layer_norm(%a, %b, %c, normalized_shape=[7])", lambda t, w, b: F.layer_norm(t, (7,), w, b),
         [x, randn(7), randn(7)])
    case("aten.layer_norm(%a, normalized_shape=[3, 7], eps=1e-12)", lambda t: F.layer_norm(t, (3, 7), eps=1e-12), [x])
    case("aten.layer_norm(%a, %b, normalized_shape=[7], eps=0.1)", lambda t, w: F.layer_norm(t, (7,), w, eps=0.1),
         [x, randn(7)])
    case("aten.layer_norm(%a, normalized_shape=[9])", lambda t: F.layer_norm(t, (9,)), [torch.full((2, 9), 3.0)])
    case("aten.layer_norm(%a, normalized_shape=[9])", lambda t: F.layer_norm(t, (9,)), [randn(3, 9, dtype=BF16)])
    case("edge.rms_norm(%a, %b, eps=1e-05)", lambda t, w: F.rms_norm(t, (7,), w, 1e-5), [x, randn(7)])
    case("edge.rms_norm(%a)", lambda t: F.rms_norm(t, (7,), None, 1e-6), [x])
    big = randn(3, 5) * 50
    masked = randn(3, 5)
    masked[1, :3] = -INF
    masked[2, :] = -INF
    for name, f in [("softmax", torch.softmax), ("log_softmax", torch.log_softmax)]:
        for dim in [0, 1, -1]:
            for t in [big, masked, randn(3, 5, dtype=BF16)]:
                case(f"aten.{name}(%a, dim={dim})", lambda v, g=f, d=dim: g(v, d), [t])
        case(f"aten.{name}(%a, dim=1)", lambda v, g=f: g(v, 1), [randn(2, 3, 4)])
        case(f"aten.{name}(%a, dim=0)", lambda v, g=f: g(v, 0), [torch.tensor(2.0)])


def gather_cases():
    F = torch.nn.functional
    for dtype in [F32, BF16, I8]:
        table = randint(-9, 9, 11, 3).to(dtype)
        case("aten.embedding(%a, %b)", lambda w, i: w[i.long()], [table, randint(0, 11, 2, 4, dtype=I32)], native=True)
    case("aten.embedding(%a, %b)", lambda w, i: F.embedding(i, w), [randn(11, 3), randint(0, 11, 7)])
    case("aten.index_select(%a, %b, dim=1)", lambda t, i: t.index_select(1, i), [randn(2, 5, 3), randint(0, 5, 7)])
    case("aten.index_select(%a, %b, dim=-1)", lambda t, i: t.index_select(-1, i),
         [randn(2, 5), randint(0, 5, 3, dtype=I32)])
    case("aten.gather(%a, %b, dim=1)", lambda t, i: t.gather(1, i), [randn(3, 5), randint(0, 5, 2, 7)])
    case("aten.gather(%a, %b, dim=0)", lambda t, i: t.gather(0, i), [randn(3, 5, 2), randint(0, 3, 4, 5, 1)])


def attention_cases():
    sdpa = torch.nn.functional.scaled_dot_product_attention
    op = "aten.scaled_dot_product_attention"
    q, k, v = randn(2, 4, 5, 8), randn(2, 4, 7, 8), randn(2, 4, 7, 6)
    case(f"{op}(%a, %b, %c)", sdpa, [q, k, v])
    case(f"{op}(%a, %b, %c, scale=0.7)", lambda *t: sdpa(*t, scale=0.7), [q, k, v])
    case(f"{op}(%a, %b, %c, is_causal=true)", lambda *t: sdpa(*t, is_causal=True), [q, k, v])
    case(f"{op}(%a, %b, %c, %d)", sdpa, [q, k, v, randbool(2, 1, 5, 7) | torch.eye(5, 7).bool()])
    case(f"{op}(%a, %b, %c, %d)", sdpa, [q, k, v, randn(5, 7)])
    dead = torch.ones(5, 7).bool()
    dead[2] = False
    case(f"{op}(%a, %b, %c, %d)", sdpa, [q, k, v, dead])
    case(f"{op}(%a, %b, %c, enable_gqa=true)", lambda *t: sdpa(*t, enable_gqa=True),
         [q, randn(2, 2, 7, 8), randn(2, 2, 7, 8)])
    case(f"{op}(%a, %b, %c)", sdpa, [randn(1, 2, 3, 4, dtype=BF16) for _ in range(3)])


def packed_cases():
    cu = torch.tensor([0, 3, 3, 4, 11], dtype=I32)
    spans = list(zip(cu[:-1].tolist(), cu[1:].tolist()))
    case("edge.packed_positions(%a, %b)", lambda i, c: torch.cat([torch.arange(e - s) for s, e in spans]).to(I32),
         [randint(0, 9, 11, dtype=I32), cu])
    sdpa = torch.nn.functional.scaled_dot_product_attention

    def varlen(heads, kv_heads, scale, causal):
        def run(q, k, v, c):
            parts = []
            for s, e in spans:
                if e > s:
                    split = lambda t, h: t[s:e].reshape(e - s, h, -1).transpose(0, 1)
                    o = sdpa(split(q, heads), split(k, kv_heads).repeat_interleave(heads // kv_heads, 0),
                             split(v, kv_heads).repeat_interleave(heads // kv_heads, 0), scale=scale, is_causal=causal)
                    parts.append(o.transpose(0, 1).reshape(e - s, -1))
            return torch.cat(parts)
        return run
    case("edge.varlen_attention(%a, %b, %c, %d, heads=3, kv_heads=3, scale=0.5)", varlen(3, 3, 0.5, False),
         [randn(11, 12), randn(11, 12), randn(11, 12), cu])
    case("edge.varlen_attention(%a, %b, %c, %d, heads=4, kv_heads=2, scale=0.25, causal=true)", varlen(4, 2, 0.25, True),
         [randn(11, 16), randn(11, 8), randn(11, 8), cu])

    def pool(mode):
        def run(x, c):
            rows = []
            for s, e in spans:
                t, n = x[s:e], e - s
                w = torch.arange(1, n + 1).unsqueeze(1).to(t.dtype)
                rows.append(torch.zeros_like(x[0]) if n == 0 else {
                    "mean": lambda: t.mean(0), "max": lambda: t.amax(0), "cls": lambda: t[0], "last": lambda: t[-1],
                    "sum": lambda: t.sum(0), "mean_sqrt_len": lambda: t.sum(0) / math.sqrt(n),
                    "weighted_mean": lambda: (t * w).sum(0) / w.sum()}[mode]())
            return torch.stack(rows)
        return run
    for mode in ["mean", "max", "cls", "last", "sum", "mean_sqrt_len", "weighted_mean"]:
        case(f'edge.segment_pool(%a, %b, mode="{mode}")', pool(mode), [randn(11, 5), cu])

    def rope(head_dim, base, interleaved):
        def run(x, positions):
            inverse = 1.0 / (base ** (torch.arange(0, head_dim, 2).double() / head_dim))
            angle = positions.double().unsqueeze(1) * inverse
            cos, sin = angle.cos().unsqueeze(1), angle.sin().unsqueeze(1)
            t = x.double().reshape(x.shape[0], -1, head_dim)
            a, b = (t[..., 0::2], t[..., 1::2]) if interleaved else t.chunk(2, -1)
            turned = [a * cos - b * sin, b * cos + a * sin]
            out = torch.stack(turned, -1).flatten(-2) if interleaved else torch.cat(turned, -1)
            return out.reshape(x.shape).to(x.dtype)
        return run
    case("edge.rope(%a, %b, head_dim=4)", rope(4, 10000.0, False), [randn(11, 12), randint(0, 500, 11, dtype=I32)])
    case("edge.rope(%a, %b, head_dim=6, base=1000.0, interleaved=true)", rope(6, 1000.0, True),
         [randn(5, 12), randint(0, 500, 5)])


for make in [binary_cases, scalar_cases, unary_cases, view_cases, reduction_cases, matmul_cases, normalization_cases,
             gather_cases, attention_cases, packed_cases]:
    make()
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "op_vectors.npz")
arrays["manifest"] = np.frombuffer(json.dumps(manifest).encode(), dtype=np.uint8)
np.savez_compressed(path, **arrays)
print(f"{len(manifest)} cases, {len(arrays)} arrays, {os.path.getsize(path)} bytes, torch {torch.__version__}")
