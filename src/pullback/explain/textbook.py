"""The rules of everyday operations as textbooks write them, and the names that programs call operations by.

Most rules are read from their source (:mod:`pullback.explain.formulas`). Some are written for speed rather than for
reading (fused kernels, recurrent layers, attention): for these the textbook's form is written down here. Each is
evaluated in the tests and compared with what the rule gives, so the text can't lie.

In a formula ``·`` is the product of elements, ``@`` that of matrices, ``ᵀ`` exchanges the last two dimensions, and
``sum(a, 1)`` and ``mean(a, 1)`` keep the dimension that they run over. Of recurrent layers, ``h₋`` is the state before,
and ``dz₊`` what the step after gave.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.graph import Node
from ..core.op import Op, OpTable
from ..ops import (
    activation,
    arithmetic,
    attention,
    concat,
    convolution,
    cross_entropy,
    embedding,
    index,
    interpolate,
    linear,
    loss,
    mask,
    matmul,
    max_windows,
    minmax,
    norm,
    normalization,
    pad,
    pointwise,
    recurrent,
    reduce,
    slices,
    softmax,
    statistics,
    view,
    where,
)

Saved = dict[str, Any]
Formulas = Callable[[Saved, Node], dict[str, str]]
textbook: OpTable = OpTable()  # by op: a function that gives the formula of each parameter, or lacks it


def plain(x: float) -> str:
    """A number in a formula."""
    return f"{x:.6g}"


def dims_text(dims: Any) -> str:
    """Dimensions as an argument: ``1`` or ``(0, 2)``."""
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
    return str(dims[0]) if len(dims) == 1 else f"({', '.join(map(str, dims))})"


def divided(v: Saved, factor: str = "g") -> str:
    """What a loss of elements multiplies with: ``g``, over their number for a mean."""
    count = math.prod(v["input"].shape)
    return f"{factor} / {count}" if v["reduction"] == "mean" else factor


# --- elementwise --------------------------------------------------------------------------------------------------


@textbook(arithmetic.elementwise_div)
def _(v: Saved, node: Node) -> dict[str, str]:
    return {"other": "-g · a / b²"}


@textbook(arithmetic.elementwise_pow)
def _(v: Saved, node: Node) -> dict[str, str]:
    if not isinstance(v["exponent"], np.ndarray):
        return {}
    return {"input": "g · exponent · x^(exponent - 1)", "exponent": "g · out · log(x)"}


@textbook(activation._leaky_relu)
def _(v: Saved, node: Node) -> dict[str, str]:
    return {"input": f"{{g if x > 0 else {plain(float(v['negative_slope']))} · g}}"}


@textbook(activation._elu)
def _(v: Saved, node: Node) -> dict[str, str]:
    alpha = float(v["alpha"])
    return {"input": f"{{g if x > 0 else g · {'' if alpha == 1 else plain(alpha) + ' · '}exp(x)}}"}


@textbook(activation._hardtanh)
def _(v: Saved, node: Node) -> dict[str, str]:
    return {"input": f"{{g if {plain(v['low'])} < x < {plain(v['high'])} else 0}}"}


@textbook(where.relu)
def _(v: Saved, node: Node) -> dict[str, str]:
    return {"input": "{0 if out ≤ 0 else g}"}


@textbook(where.between)
def _(v: Saved, node: Node) -> dict[str, str]:
    low, high = ("" if v[name] is None else plain(float(v[name])) for name in ("min", "max"))
    return {"input": f"{{g if {f'{low} ≤ ' if low else ''}x{f' ≤ {high}' if high else ''} else 0}}"}


@textbook(activation._gelu)
def _(v: Saved, node: Node) -> dict[str, str]:
    return {"input": "g · (Φ(x) + x · φ(x))"}


@textbook(activation._gelu_tanh)
def _(v: Saved, node: Node) -> dict[str, str]:
    inner = "where t = tanh(0.797885 · (x + 0.044715 · x³)), u = 0.797885 · (1 + 0.134145 · x²)"
    return {"input": f"g · 0.5 · (1 + t + x · (1 - t²) · u), {inner}"}


@textbook(activation._softplus)
def _(v: Saved, node: Node) -> dict[str, str]:
    beta = "" if v["beta"] == 1 else f"{plain(v['beta'])} · "
    return {"input": f"g · sigmoid({beta}x)"}


@textbook(activation._mish)
def _(v: Saved, node: Node) -> dict[str, str]:
    return {"input": "g · (t + x · (1 - t²) · sigmoid(x)), where t = tanh(log(1 + exp(x)))"}


# --- reductions ---------------------------------------------------------------------------------------------------


@textbook(reduce.sum_all)
def _(v: Saved, node: Node) -> dict[str, str]:
    return {"input": "expand(g)"}


@textbook(reduce.sum_dims)
def _(v: Saved, node: Node) -> dict[str, str]:
    return {"input": "expand(g)"}


@textbook(reduce.mean)
def _(v: Saved, node: Node) -> dict[str, str]:
    result = math.prod(node._shape)
    return {"input": f"expand(g) / {math.prod(v['input_shape']) // result}"} if result else {}


@textbook(reduce.logsumexp)
def _(v: Saved, node: Node) -> dict[str, str]:
    return {"input": f"expand(g) · softmax(x, {dims_text(v['dim'])})"}


@textbook(statistics.variance)
def _(v: Saved, node: Node) -> dict[str, str]:
    count, over = spread_of(v, node)
    return {"input": f"expand(g) · 2 · (x - mean(x{over})) / {plain(count)}"} if count > 0 else {}


@textbook(statistics.deviation)
def _(v: Saved, node: Node) -> dict[str, str]:
    count, over = spread_of(v, node)
    return {"input": f"expand(g / out) · (x - mean(x{over})) / {plain(count)}"} if count > 0 else {}


def spread_of(v: Saved, node: Node) -> tuple[float, str]:
    """The number of values of each variance less the correction, and the dimensions as a further argument."""
    count = math.prod(v["input"].shape) // max(1, math.prod(node._shape)) - v["correction"]
    return count, "" if v["dim"] is None else f", {dims_text(v['dim'])}"


@textbook(minmax.max_all, minmax.min_all)
def _(v: Saved, node: Node) -> dict[str, str]:
    return {"input": "{g / n if x = out else 0}, where n = sum({1 if x = out else 0})"}


@textbook(minmax.max_along, minmax.min_along)
def _(v: Saved, node: Node) -> dict[str, str]:
    which = "argmax" if node.name().startswith("Max") else "argmin"
    return {"input": f"expand(g) · onehot({which}(x, {v['dim']}), {v['dim']})"}


@textbook(norm.vector_norm)
def _(v: Saved, node: Node) -> dict[str, str]:
    return {2: {"input": "expand(g / out) · x"}, 1: {"input": "expand(g) · sgn(x)"}}.get(v["ord"], {})


@textbook(norm._unit)
def _(v: Saved, node: Node) -> dict[str, str]:
    over = dims_text(v["dim"])
    return {"input": f"(g - out · sum(g · out, {over})) / norm(x, {over})"} if v["ord"] == 2 else {}


@textbook(softmax._softmax)
def _(v: Saved, node: Node) -> dict[str, str]:
    return {"input": f"out · (g - sum(g · out, {v['dim']}))"}


@textbook(softmax._log_softmax)
def _(v: Saved, node: Node) -> dict[str, str]:
    return {"input": f"g - softmax(x, {v['dim']}) · sum(g, {v['dim']})"}


# --- products -----------------------------------------------------------------------------------------------------


@textbook(linear._linear)
def _(v: Saved, node: Node) -> dict[str, str]:
    rows = len(node._shape) - 1
    bias = {"bias": f"sum(g, {dims_text(range(rows))})" if rows else "g"}
    shape = v["weight_shape"] or np.shape(v["weight"])  # what no gradient needs is not saved
    if rows == 0 or len(shape) != 2:
        return {}
    over = f"sum(gᵀ @ x, {dims_text(range(rows - 1))})" if rows > 1 else "gᵀ @ x"
    return {"input": "g @ W", "weight": over, **bias}


@textbook(matmul._matmul)
def _(v: Saved, node: Node) -> dict[str, str]:
    shapes = [len(s) if s is not None else 2 for s in (v.get("input_shape"), v.get("other_shape"))]
    if shapes == [2, 1]:
        return {"input": "outer(g, b)", "other": "aᵀ @ g"}
    if shapes == [1, 2]:
        return {"input": "b @ g", "other": "outer(a, g)"}
    return {}


@textbook(convolution.convolution)
def _(v: Saved, node: Node) -> dict[str, str]:
    if v["transposed"] or v["groups"] != 1:
        return {}
    options = [f"{name}={numbers(v[name])}" for name, usual in USUAL if numbers(v[name]) != usual]
    how = "".join(f", {o}" for o in options)
    spatial = dims_text((0, *range(2, len(node._shape))))
    return {
        "input": f"conv_transpose(g, W{how})",
        "weight": f"correlate(x, g{how})",
        "bias": f"sum(g, {spatial})",
    }


USUAL = ("stride", "1"), ("padding", "0"), ("dilation", "1")


def numbers(value: Any) -> str:
    """One number for options that are alike in all dimensions."""
    if isinstance(value, (tuple, list)):
        return str(value[0]) if len(set(value)) == 1 else dims_text(value)
    return str(value)


@textbook(embedding._embedding)
def _(v: Saved, node: Node) -> dict[str, str]:
    pad_ = v["padding_idx"]
    if v["by_frequency"]:
        return {}
    rows = "g" if np.ndim(v["indices"]) == 1 else "reshape(g)"
    return {
        "weight": f"onehot(indices)ᵀ @ {rows}" + (f", and 0 in row {pad_}" if pad_ is not None and pad_ >= 0 else "")
    }


# --- parts --------------------------------------------------------------------------------------------------------


def slice_text(part: Any) -> str:
    """An index as programs write it."""
    if part is Ellipsis:
        return "..."
    if not isinstance(part, slice):
        return str(part)
    text = f"{'' if part.start is None else part.start}:{'' if part.stop is None else part.stop}"
    return text if part.step in (None, 1) else f"{text}:{part.step}"


@textbook(slices.view_part, slices.read_part)
def _(v: Saved, node: Node) -> dict[str, str]:
    part = v["part"] if isinstance(v["part"], tuple) else (v["part"],)
    if not all(p is Ellipsis or isinstance(p, (int, slice)) for p in part):
        return {}
    part = part[:-1] if part[-1:] == (Ellipsis,) else part
    return {"input": f"zeros, but g at [{', '.join(map(slice_text, part))}]"}


@textbook(concat.cat)
def _(v: Saved, node: Node) -> dict[str, str]:
    found, at = {}, 0
    dim = v["dim"] % len(node._shape)
    for i, shape in enumerate(v["tensors_shape"]):
        if len(shape) != len(node._shape):
            continue
        found[f"tensors[{i}]"] = f"g[{':, ' * dim}{at}:{at + shape[dim]}]"
        at += shape[dim]
    return found


@textbook(concat.stack)
def _(v: Saved, node: Node) -> dict[str, str]:
    dim = v["dim"] % len(node._shape)
    return {f"tensors[{i}]": f"g[{':, ' * dim}{i}]" for i in range(node._shape[dim])}


@textbook(view.expand)
def _(v: Saved, node: Node) -> dict[str, str]:
    over = stretched(v["input_shape"], node._shape)
    return {"input": f"sum(g, {dims_text(over)})" if over else "g"}


@textbook(index.take_at)
def _(v: Saved, node: Node) -> dict[str, str]:
    return {"input": "zeros, and g added at the indices"}


@textbook(pad.constant_pad_nd)
def _(v: Saved, node: Node) -> dict[str, str]:
    return {"input": "g without the padding"}


@textbook(max_windows.maxima)
def _(v: Saved, node: Node) -> dict[str, str]:
    return {"input": "zeros, and g added at the maxima"}


@textbook(interpolate.resample)
def _(v: Saved, node: Node) -> dict[str, str]:
    return {"input": "Aᵀ(g), where A takes the weighted means of the forward pass"}


@textbook(mask._masked_fill)
def _(v: Saved, node: Node) -> dict[str, str]:
    return {"input": "{0 if mask else g}"}


def stretched(shape: Any, out: Any) -> list[int]:
    """The dimensions of a result over which an operand was broadcast."""
    extra = len(out) - len(shape)
    return [*range(extra), *(extra + i for i, n in enumerate(shape) if n == 1 and out[extra + i] != 1)]


# --- losses -------------------------------------------------------------------------------------------------------


@textbook(loss._mse)
def _(v: Saved, node: Node) -> dict[str, str]:
    return {"input": f"2 · (x - target) · {divided(v)}", "target": f"2 · (target - x) · {divided(v)}"}


@textbook(loss._smooth_l1)
def _(v: Saved, node: Node) -> dict[str, str]:
    beta = float(v["beta"])
    scaled = (lambda a: a) if beta == 1 else (lambda a: f"({a}) / {plain(beta)}")
    return {
        "input": f"clamp({scaled('x - target')}, -1, 1) · {divided(v)}",
        "target": f"clamp({scaled('target - x')}, -1, 1) · {divided(v)}",
    }


@textbook(loss._huber)
def _(v: Saved, node: Node) -> dict[str, str]:
    delta = plain(float(v["delta"]))
    return {
        "input": f"clamp(x - target, -{delta}, {delta}) · {divided(v)}",
        "target": f"clamp(target - x, -{delta}, {delta}) · {divided(v)}",
    }


@textbook(loss._bce)
def _(v: Saved, node: Node) -> dict[str, str]:
    return {"input": f"(x - target) / (x · (1 - x)) · {divided(v)}"} if v["weight"] is None else {}


@textbook(loss._bce_logits)
def _(v: Saved, node: Node) -> dict[str, str]:
    plain_ = v["weight"] is None and v["pos_weight"] is None
    return {"input": f"(sigmoid(x) - target) · {divided(v)}"} if plain_ else {}


def class_factor(v: Saved, node: Node) -> str:
    """What a loss of classes multiplies with: g times the weight of each row."""
    shares, row = v["shares"], len(node._shape) > 0
    g = "g[:, None]" if row else "g"
    if isinstance(shares, float):
        return g if shares == 1 else f"{g} / {plain(1 / shares)}"
    return f"{g} · weight(target)"


@textbook(cross_entropy._cross_entropy)
def _(v: Saved, node: Node) -> dict[str, str]:
    axis = 1 if v["input"].ndim > 1 else 0
    return {"input": f"(softmax(x, {axis}) - onehot(target, {axis})) · {class_factor(v, node)}"}


@textbook(cross_entropy._nll)
def _(v: Saved, node: Node) -> dict[str, str]:
    return {"input": f"-onehot(target, {1 if len(v['input_shape']) > 1 else 0}) · {class_factor(v, node)}"}


# --- normalization and attention ----------------------------------------------------------------------------------


@textbook(normalization._standardize)
def _(v: Saved, node: Node) -> dict[str, str]:
    over, eps = dims_text(v["dims"]), plain(v["eps"])
    u, defined = ("u", "u = g · W, ") if v["weight"] is not None else ("g", "")
    if v["centre"]:
        z = f"z = (x - mean(x, {over})) / s, s = √(var(x, {over}) + {eps})"
        text = f"({u} - mean({u}, {over}) - z · mean({u} · z, {over})) / s, where {defined}{z}"
    else:
        z = f"z = x / s, s = √(mean(x², {over}) + {eps})"
        text = f"({u} - z · mean({u} · z, {over})) / s, where {defined}{z}"
    rows = stretched_by(v["shape"], node._shape)
    if math.prod(v["shape"]) != math.prod(node._shape[i] for i in range(len(node._shape)) if i not in rows):
        return {"input": text}
    summed = (lambda a: f"sum({a}, {dims_text(rows)})") if rows else (lambda a: a)
    return {"input": text, "weight": f"{summed('g · z')}, where {z}", "bias": summed("g")}


def stretched_by(shape: Any, out: Any) -> list[int]:
    """The dimensions over which a weight of this shape is broadcast, of size 1 in the result or not."""
    extra = len(out) - len(shape)
    return [*range(extra), *(extra + i for i, n in enumerate(shape) if n == 1)]


@textbook(attention._flash, attention._attention)
def _(v: Saved, node: Node) -> dict[str, str]:
    scale = plain(v["scale"])
    scores = f"Q @ Kᵀ · {scale}"
    if v.get("causal"):
        scores = f"causal({scores})"
    elif v.get("mask") is not None:
        scores += " + mask"
    p = f"P = softmax({scores}, -1)"
    ds = f"dS = P · (g @ Vᵀ - sum(g · out, -1)), {p}"
    return {
        "query": f"dS @ K · {scale}, where {ds}",
        "key": f"dSᵀ @ Q · {scale}, where {ds}",
        "value": f"Pᵀ @ g, where {p}",
        "mask": f"dS, where {ds}",
    }


# --- recurrent layers: for one time step; + marks the step after, - the one before --------------------------------


def recurrent_text(defined: str, ih: str = "dz", hh: str = "dz") -> dict[str, str]:
    """The gradients of a layer, from those of its gates."""
    return {
        "input": f"{ih} @ W_ih, where {defined}",
        "hidden": f"{hh} @ W_hh of the first step, where {defined}",
        "w_ih": f"Σ {ih}ᵀ @ x, where {defined}",
        "w_hh": f"Σ {hh}ᵀ @ h₋, where {defined}",
        "b_ih": f"Σ {ih}, where {defined}",
        "b_hh": f"Σ {hh}, where {defined}",
    }


@textbook(recurrent.elman)
def _(v: Saved, node: Node) -> dict[str, str]:
    slope = "{dh if h > 0 else 0}" if v["relu"] else "dh · (1 - h²)"
    return recurrent_text(f"dz = {slope}, dh = g + dz₊ @ W_hh")


@textbook(recurrent.lstm)
def _(v: Saved, node: Node) -> dict[str, str]:
    if v["projection"] is not None:
        return {}
    gates = "[dc · u · i · (1 - i), dc · c₋ · f · (1 - f), dc · i · (1 - u²), dh · tanh(c) · o · (1 - o)]"
    states = "dc = dh · o · (1 - tanh(c)²) + dc₊ · f₊, dh = g + dz₊ @ W_hh"
    return recurrent_text(f"dz = {gates}, {states}")


@textbook(recurrent.gru)
def _(v: Saved, node: Node) -> dict[str, str]:
    parts = "dr = dn · m · r · (1 - r), dq = dh · (h₋ - n) · q · (1 - q), dn = dh · (1 - q) · (1 - n²)"
    states = "m = h₋ @ W_hnᵀ + b_hn, dh = g + dh₊ · q₊ + dy₊ @ W_hh"
    return recurrent_text(f"dz = [dr, dq, dn], dy = [dr, dq, dn · r], {parts}, {states}", "dz", "dy")


# --- names --------------------------------------------------------------------------------------------------------

# What programs call an operation, where the name of its node is another.
NAMES: dict[Op, str] = {
    linear._linear.op: "linear",
    cross_entropy._cross_entropy.op: "cross_entropy",
    cross_entropy._nll.op: "nll_loss",
    attention._flash.op: "scaled_dot_product_attention",
    attention._attention.op: "scaled_dot_product_attention",
    matmul._matmul.op: "matmul",
    recurrent.elman.op: "rnn",
    norm.vector_norm.op: "norm",
    norm._unit.op: "normalize",
    view._unsafe_view.op: "view",
    pad.constant_pad_nd.op: "pad",
    pointwise.elementwise_round.op: "round",
}
# Of nodes whose operation serves several functions: the beginning of the node's name, and what programs call it.
NODES = {
    "NativeLayerNorm": "layer_norm",
    "NativeBatchNorm": "batch_norm",
    "NativeGroupNorm": "group_norm",
    "FusedRmsNorm": "rms_norm",
    "MaxPool1DWithIndices": "max_pool1d",
    "MaxPool2DWithIndices": "max_pool2d",
    "MaxPool3DWithIndices": "max_pool3d",
    "AvgPool1D": "avg_pool1d",
    "AvgPool2D": "avg_pool2d",
    "AvgPool3D": "avg_pool3d",
    "AdaptiveAvgPool2D": "adaptive_avg_pool2d",
    "ToCopy": "to",
    "PreluKernel": "prelu",
    "T": "t",
    "UpsampleNearest1D": "interpolate",
    "UpsampleNearest2D": "interpolate",
    "UpsampleNearest3D": "interpolate",
    "UpsampleLinear1D": "interpolate",
    "UpsampleBilinear2D": "interpolate",
    "UpsampleBicubic2D": "interpolate",
    "UpsampleTrilinear3D": "interpolate",
}


def title(node: Node, saved: Any) -> str:
    """What a program calls a node's operation: ``mul``, ``linear 64→3``; of a custom Function its class."""
    name = node.name().rpartition("::")[2]
    short = name.partition("Backward")[0] or name
    op = node._op
    if op is None:
        return short
    v = dict(zip(op.saved_names, saved or ()))
    if op is convolution.convolution.op:
        kind = "conv_transpose" if v.get("transposed") else "conv"
        return f"{kind}{len(node._shape) - 2}d" + channels(v.get("weight_shape"), bool(v.get("transposed")))
    found = NAMES.get(op) or NODES.get(short) or snake(short)
    if op is linear._linear.op:
        return found + channels(v.get("weight_shape"))
    return found


def channels(shape: Any, turned: bool = False) -> str:
    """How many values go in and out, by a weight's shape."""
    if shape is None or len(shape) < 2:
        return ""
    return f" {shape[0]}→{shape[1]}" if turned else f" {shape[1]}→{shape[0]}"


def snake(name: str) -> str:
    """``LogSoftmax`` as ``log_softmax``."""
    return "".join(
        ("_" if i and c.isupper() and not name[i - 1].isupper() else "") + c.lower() for i, c in enumerate(name)
    )
