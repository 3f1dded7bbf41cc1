"""The text of a formula, evaluated and compared with what the rule gave: the text can't lie."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback import nn
from pullback.explain import formulas

F = nn.functional


def random(*shape):
    return torch.randn(*shape).requires_grad_()


def positive(*shape):
    return (torch.rand(*shape) + 0.5).requires_grad_()


def square():
    return random(4, 5)


CLASSES = [0, 2, 1, 4]
SAMPLES = {
    "add": lambda: square() + random(5),
    "add a column": lambda: square() + random(4, 1),
    "sub": lambda: square() - square(),
    "mul": lambda: square() * random(5),
    "div": lambda: square() / positive(4, 5),
    "power": lambda: square() ** 3,
    "powers": lambda: positive(4) ** random(4),
    "neg": lambda: -square(),
    "abs": lambda: square().abs(),
    "exp": lambda: square().exp(),
    "log": lambda: positive(4).log(),
    "sqrt": lambda: positive(4).sqrt(),
    "sin": lambda: square().sin(),
    "cos": lambda: square().cos(),
    "tanh": lambda: square().tanh(),
    "sigmoid": lambda: square().sigmoid(),
    "relu": lambda: square().relu(),
    "leaky_relu": lambda: F.leaky_relu(square(), 0.1),
    "elu": lambda: F.elu(square(), 0.7),
    "gelu": lambda: F.gelu(square()),
    "gelu, tanh": lambda: F.gelu(square(), approximate="tanh"),
    "silu": lambda: F.silu(square()),
    "mish": lambda: F.mish(square()),
    "softplus": lambda: F.softplus(square(), beta=2),
    "logsigmoid": lambda: F.logsigmoid(square()),
    "hardtanh": lambda: F.hardtanh(square()),
    "hardswish": lambda: F.hardswish(square()),
    "clamp": lambda: square().clamp(-0.5, 0.8),
    "clamp below": lambda: square().clamp(min=0.1),
    "softmax": lambda: square().softmax(1),
    "log_softmax": lambda: square().log_softmax(0),
    "logsumexp": lambda: square().logsumexp(1),
    "sum": lambda: square().sum(),
    "sum of rows": lambda: square().sum(1),
    "mean": lambda: square().mean(),
    "mean of rows": lambda: square().mean(1),
    "var": lambda: square().var(1),
    "std": lambda: square().std(1),
    "max": lambda: square().max(),
    "max of rows": lambda: square().max(1).values,
    "min of columns": lambda: square().min(0).values,
    "norm": lambda: square().norm(),
    "norm of rows": lambda: square().norm(dim=1),
    "norm 1": lambda: square().norm(1),
    "normalize": lambda: F.normalize(square()),
    "maximum": lambda: torch.maximum(square(), square()),
    "matmul": lambda: square() @ random(5, 2),
    "matrix and vector": lambda: square() @ random(5),
    "vector and matrix": lambda: random(4) @ square(),
    "bmm": lambda: random(2, 3, 4) @ random(2, 4, 5),
    "addmm": lambda: torch.addmm(random(3), square(), random(5, 3)),
    "linear": lambda: F.linear(square(), random(3, 5), random(3)),
    "linear of sequences": lambda: F.linear(random(2, 4, 5), random(3, 5), random(3)),
    "conv1d": lambda: F.conv1d(random(2, 3, 8), random(4, 3, 3), random(4)),
    "conv2d": lambda: F.conv2d(random(2, 3, 7, 7), random(4, 3, 3, 3), random(4), stride=2, padding=1),
    "embedding": lambda: F.embedding(torch.tensor([[0, 2], [2, 4]]), random(5, 3)),
    "expand": lambda: random(1, 5).expand(4, 5),
    "cat": lambda: torch.cat([square(), random(4, 2)], 1),
    "stack": lambda: torch.stack([square(), square()], 1),
    "select": lambda: square()[1],
    "slice": lambda: square()[:, 1:4],
    "index": lambda: square()[torch.tensor([0, 1, 1])],
    "pad": lambda: F.pad(square(), (1, 2)),
    "max_pool2d": lambda: F.max_pool2d(random(1, 2, 4, 4), 2),
    "avg_pool2d": lambda: F.avg_pool2d(random(1, 2, 4, 4), 2),
    "layer_norm": lambda: F.layer_norm(square(), (5,), random(5), random(5)),
    "layer_norm of sequences": lambda: F.layer_norm(random(2, 3, 5), (5,), random(5), random(5)),
    "layer_norm, plain": lambda: F.layer_norm(square(), (5,)),
    "batch_norm": lambda: F.batch_norm(square(), None, None, random(5), random(5), True),
    "batch_norm of images": lambda: F.batch_norm(random(3, 2, 4, 4), None, None, random(2), random(2), True),
    "rms_norm": lambda: F.rms_norm(square(), (5,), random(5)),
    "mse_loss": lambda: F.mse_loss(square(), square()),
    "mse_loss, sum": lambda: F.mse_loss(square(), square(), reduction="sum"),
    "smooth_l1_loss": lambda: F.smooth_l1_loss(square(), square(), beta=0.5),
    "huber_loss": lambda: F.huber_loss(square(), square(), delta=0.7),
    "cross_entropy": lambda: F.cross_entropy(square(), torch.tensor(CLASSES)),
    "cross_entropy, none": lambda: F.cross_entropy(square(), torch.tensor(CLASSES), reduction="none"),
    "nll_loss": lambda: F.nll_loss(square(), torch.tensor(CLASSES)),
    "binary_cross_entropy": lambda: F.binary_cross_entropy(torch.rand(4, 5).requires_grad_(), torch.rand(4, 5)),
    "with logits": lambda: F.binary_cross_entropy_with_logits(square(), torch.rand(4, 5)),
    "attention": lambda: F.scaled_dot_product_attention(*[random(1, 2, 4, 8) for _ in range(3)]),
    "attention, causal": lambda: F.scaled_dot_product_attention(
        *[random(1, 2, 4, 8) for _ in range(3)], is_causal=True
    ),
    "attention, masked": lambda: F.scaled_dot_product_attention(
        *[random(1, 2, 4, 8) for _ in range(3)], attn_mask=torch.randn(1, 2, 4, 4)
    ),
}


def python_of(text):
    """A formula as Python: ``{a if c else b}`` as a call, signs as operators."""
    text = re.sub(r"zeros, but g at \[(.*)\]", r"placed(g, np.s_[\1])", text)
    text = text.replace("zeros, and g added at the indices", "added(g)")
    text = text.replace("zeros, and g added at the maxima", "unpooled(g)").replace(
        "g without the padding", "cropped(g)"
    )
    text = text.replace("Aᵀ(g)", "averaged(g)")
    while "{" in text:
        text = re.sub(r"\{([^{}]*?) if ([^{}]*?) else ([^{}]*)\}", lambda m: branch(*m.groups()), text)
    text = re.sub(r"(\w+(?:\([^()]*\))?)ᵀ", r"T(\1)", text)
    for sign, python in (
        ("·", "*"),
        ("²", "**2"),
        ("³", "**3"),
        ("^", "**"),
        ("√", "sqrt"),
        ("₊", "_next"),
        ("₋", "_last"),
    ):
        text = text.replace(sign, python)
    return text


def branch(then, condition, otherwise):
    condition = condition.replace("≤", "<=").replace("≥", ">=").replace(" = ", " == ")
    parts = re.split(r" (<=|<|>=|>|==) ", condition)
    tests = [f"({parts[i]} {parts[i + 1]} {parts[i + 2]})" for i in range(0, len(parts) - 1, 2)]
    return f"where({' & '.join(tests) or condition}, {then}, {otherwise})"


def taken_apart(rule):
    """The right side of a formula, and its definitions, the last first."""
    rule = rule.partition(" = ")[2].partition(", and 0 in row")[0]
    text, _, defined = rule.partition(", where ")
    names = re.split(r"(?:^|, )([A-Za-z_]+) = ", defined)[1:] if " = " in defined else []
    return text, [*zip(names[::2], names[1::2])][::-1]


def softmax(a, axis):
    e = np.exp(a - a.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def onehot_of(shape):
    def onehot(where, axis=None):
        where = np.asarray(where)
        if axis is None:
            return np.eye(shape[0])[where.reshape(-1)]
        made = np.zeros(shape)
        np.put_along_axis(made, np.expand_dims(where, axis) if where.ndim < len(shape) else where, 1, axis)
        return made

    return onehot


def environment(visit, out):
    """What the names in a node's formulas stand for."""
    node, op = visit.node, visit.node._op
    symbols, known = formulas.symbols_of(op), dict(zip(op.saved_names, visit.saved))
    found = {symbols.get(n, n): v for n, v in known.items() if isinstance(v, (np.ndarray, float, int))}
    shape: Any = None
    for slot, e in enumerate(node._edges):
        if e is not None and not op.takes_tensor_list:
            name = op.params[op.tensors[slot]]
            found[symbols.get(name, name)] = e._array
            shape = e._array.shape if shape is None else shape
    dim = known.get("dim")
    like = {"x": shape}

    def expand(a):
        a = np.asarray(a)
        return np.broadcast_to(np.expand_dims(a, dim) if dim is not None and a.ndim < len(like["x"]) else a, like["x"])

    def placed(g, part):
        made = np.zeros(like["x"])
        made[part] = g
        return made

    def added(g):
        made = np.zeros(like["x"])
        np.add.at(made, tuple(known["at"]), g)
        return made

    if "shape" in known and "W" in found:  # of a normalization
        found["W"] = found["W"].reshape(known["shape"])
    found |= {
        "reshape": lambda g: g.reshape(-1, g.shape[-1]),
        "g": visit.grad_outputs[0],
        "out": out,
        "np": np,
        "T": lambda a: np.swapaxes(a, -1, -2),
        "sum": lambda a, axis=None: np.sum(a, axis, keepdims=axis is not None),
        "mean": lambda a, axis=None: np.mean(a, axis, keepdims=axis is not None),
        "var": lambda a, axis: np.var(a, axis, keepdims=True),
        "norm": lambda a, axis: np.linalg.norm(a, axis=axis, keepdims=True),
        "argmax": lambda a, axis: a.argmax(axis),
        "argmin": lambda a, axis: a.argmin(axis),
        "sgn": np.sign,
        "outer": np.outer,
        "clamp": np.clip,
        "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
        "Φ": np.vectorize(lambda a: 0.5 * math.erfc(-a / math.sqrt(2))),
        "φ": lambda a: np.exp(-a * a / 2) / math.sqrt(2 * math.pi),
        "softmax": softmax,
        "causal": lambda a: np.where(np.tril(np.ones(a.shape[-2:], bool)), a, -np.inf),
        "onehot": onehot_of(shape),
        "expand": expand,
        "placed": placed,
        "added": added,
        "cropped": lambda g: g[:, 1:-2],
        "unpooled": lambda g: F.max_unpool2d(torch.tensor(g), torch.tensor(known["indices"]), 2).numpy(),
        "averaged": lambda g: np.repeat(np.repeat(g / 4, 2, 2), 2, 3),
        "conv_transpose": lambda g, w, stride=1, padding=0: convolved(g, w, like["x"], stride, padding),
        "correlate": lambda x, g, stride=1, padding=0: correlated(x, g, found["W"].shape, stride, padding),
    }
    for name in ("exp", "log", "sin", "cos", "tanh", "sqrt", "where"):
        found[name] = getattr(np, name)
    return found


def convolved(g, w, shape, stride, padding):
    size = [n + 2 * padding - stride * (m - 1) - k for n, m, k in zip(shape[2:], g.shape[2:], w.shape[2:])]
    f = F.conv_transpose1d if g.ndim == 3 else F.conv_transpose2d
    return f(torch.tensor(g), torch.tensor(w), stride=stride, padding=padding, output_padding=size[0]).numpy()


def correlated(x, g, shape, stride, padding):
    x = np.pad(x, [(0, 0), (0, 0)] + [(padding, padding)] * (x.ndim - 2))
    made = np.zeros(shape)
    for at in np.ndindex(*shape[2:]):
        part = x[(slice(None), slice(None), *[slice(a, a + stride * n, stride) for a, n in zip(at, g.shape[2:])])]
        made[(slice(None), slice(None), *at)] = np.einsum(
            "bon,bin->oi", g.reshape(*g.shape[:2], -1), part.reshape(*part.shape[:2], -1)
        )
    return made


@pytest.mark.parametrize("name", SAMPLES)
def test_the_formula_is_what_the_rule_gives(name):
    torch.manual_seed(0)
    out = SAMPLES[name]()
    with torch.explain() as e:
        out.backward(torch.randn(out.shape))
    visit = e._analysis.visits[0]
    names = environment(visit, out.detach().numpy())
    checked = 0
    for slot, (edge, r) in enumerate(zip(visit.node._edges, visit.grad_inputs)):
        if edge is None or r is None:
            continue
        rule = [d.rule for d in e.steps[0].downstream][sum(e is not None for e in visit.node._edges[:slot])]
        text, defined = taken_apart(rule)
        here = dict(names)
        for defined_name, value in defined:
            here[defined_name] = eval(python_of(value), here)
        got = np.asarray(eval(python_of(text), here))
        np.testing.assert_allclose(
            np.broadcast_to(got, r.shape) if got.ndim == 0 else got.reshape(r.shape), r, 2e-3, 2e-5
        )
        checked += 1
    assert checked


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def gates_of(kind, x, h, c, w):
    """What the formulas of a recurrent layer call its gates, at one step."""
    one, two = x @ w["weight_ih_l0"].T + w["bias_ih_l0"], h @ w["weight_hh_l0"].T + w["bias_hh_l0"]
    if kind is nn.RNN:
        return {"h": np.tanh(one + two)}
    if kind is nn.GRU:
        (r1, q1, n1), (r2, q2, m) = np.split(one, 3, 1), np.split(two, 3, 1)
        r, q = sigmoid(r1 + r2), sigmoid(q1 + q2)
        n = np.tanh(n1 + r * m)
        return {"r": r, "q": q, "n": n, "m": m, "h": (1 - q) * n + q * h}
    i, f, u, o = np.split(one + two, 4, 1)
    i, f, u, o = sigmoid(i), sigmoid(f), np.tanh(u), sigmoid(o)
    c_new = f * c + i * u
    return {"i": i, "f": f, "u": u, "o": o, "c": c_new, "c_last": c, "h": o * np.tanh(c_new)}


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_recurrent_layers_step_by_step(kind):
    torch.manual_seed(0)
    layer, x = kind(3, 4), random(5, 2, 3)
    out = layer(x)[0]
    seed = torch.randn(out.shape)
    with torch.explain() as e:
        out.backward(seed)
    step = next(s for s in e.steps if s.title in ("rnn", "gru", "lstm"))
    rules = {d.rule.partition(" = ")[0]: d.rule for d in step.downstream}
    w = {name: p.detach().numpy().astype(np.float64) for name, p in layer.named_parameters()}
    xs, gs, steps = x.detach().numpy().astype(np.float64), seed.numpy().astype(np.float64), []
    h = c = np.zeros((2, 4))
    for t in range(5):
        known = gates_of(kind, xs[t], h, c, w) | {"h_last": h, "x": xs[t], "g": gs[t]}
        h, c = known["h"], known.get("c", c)
        steps.append(known)
    functions = {
        "tanh": np.tanh,
        "T": lambda a: a.T,
        "W_ih": w["weight_ih_l0"],
        "W_hh": w["weight_hh_l0"],
        "where": np.where,
    }
    later = {f"{n}_next": 0.0 for n in ("dc", "dh", "f", "q")} | {"dz_next": None, "dy_next": None}
    sums = {}
    for known in reversed(steps):
        here = functions | known | later
        for name, value in taken_apart(rules["dW_hh"])[1]:
            if name == "m":
                continue
            text = python_of(value)
            if here["dz_next"] is None:
                text = text.replace(" + dz_next @ W_hh", "").replace(" + dy_next @ W_hh", "")
            made = eval(text, here)
            here[name] = np.concatenate(made, 1) if isinstance(made, list) else made
        for left, rule in rules.items():
            text = taken_apart(rule)[0]
            if text.startswith("Σ "):
                value = eval(python_of(text[2:]), here)
                sums[left] = sums.get(left, 0) + (value.sum(0) if left.startswith("db") else value)
        later = {f"{n}_next": here.get(n) for n in ("dc", "dh", "dz", "dy", "f", "q")}
    for left, name in (
        ("dW_ih", "weight_ih_l0"),
        ("dW_hh", "weight_hh_l0"),
        ("db_ih", "bias_ih_l0"),
        ("db_hh", "bias_hh_l0"),
    ):
        np.testing.assert_allclose(sums[left], getattr(layer, name).grad.numpy(), 1e-4, 1e-5)


@pytest.mark.parametrize(
    ("make", "title"),
    [
        (lambda: F.cross_entropy(square(), torch.tensor(CLASSES)), "cross_entropy"),
        (lambda: F.linear(random(4, 64), random(3, 64)), "linear 64→3"),
        (lambda: F.conv2d(random(1, 3, 5, 5), random(8, 3, 3, 3)), "conv2d 3→8"),
        (lambda: F.layer_norm(square(), (5,)), "layer_norm"),
        (lambda: F.scaled_dot_product_attention(*[random(1, 2, 4, 8)] * 3), "scaled_dot_product_attention"),
        (lambda: square().log_softmax(1), "log_softmax"),
        (lambda: F.max_pool2d(random(1, 2, 4, 4), 2), "max_pool2d"),
        (lambda: F.mse_loss(square(), square()), "mse_loss"),
    ],
)
def test_titles_are_what_programs_write(make, title):
    y = make()
    assert torch.explain(y, torch.ones_like(y)).steps[0].title == title
