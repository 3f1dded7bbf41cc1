"""Operations as ONNX has them: for each, a rule that is given the recording, the result and the arguments.

A rule adds nodes and returns the name of the result, or a list of names for several results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops.index import FLAT
from . import OnnxExporterError
from .recording import Recording, _kind

RULES: dict[str, Callable[..., Any]] = {}


def rule(*names: str) -> Callable[[Callable], Callable]:
    """Put a rule into the table, under the operations' names."""

    def put(fn: Callable) -> Callable:
        RULES.update(dict.fromkeys(names, fn))
        return fn

    return put


# --- elementwise --------------------------------------------------------------------------------------------

for _ours, _theirs in {
    "abs": "Abs",
    "acos": "Acos",
    "acosh": "Acosh",
    "asin": "Asin",
    "asinh": "Asinh",
    "atan": "Atan",
    "atanh": "Atanh",
    "ceil": "Ceil",
    "cos": "Cos",
    "cosh": "Cosh",
    "erf": "Erf",
    "exp": "Exp",
    "floor": "Floor",
    "isinf": "IsInf",
    "isnan": "IsNaN",
    "log": "Log",
    "logical_not": "Not",
    "mish": "Mish",
    "neg": "Neg",
    "reciprocal": "Reciprocal",
    "relu": "Relu",
    "selu": "Selu",
    "sigmoid": "Sigmoid",
    "sign": "Sign",
    "sin": "Sin",
    "sinh": "Sinh",
    "sqrt": "Sqrt",
    "tan": "Tan",
    "tanh": "Tanh",
    "hardswish": "HardSwish",
    "clone": "Identity",
    "alias": "Identity",
    "gelu": "Gelu",
    "round": "Round",
}.items():
    RULES[_ours] = lambda g, out, x, *_, kind=_theirs: g.node(kind, x)


def _numbers(g: Recording, *operands: Any) -> list[str]:
    """Operands, of which numbers become constants of the arrays' type."""
    like = next((x for x in operands if isinstance(x, np.ndarray)), None)
    return [g.name(x, like) for x in operands]


for _ours, _theirs in {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "div": "Div",
    "pow": "Pow",
    "maximum": "Max",
    "minimum": "Min",
    "clamp_min": "Max",
    "clamp_max": "Min",
    "eq": "Equal",
    "lt": "Less",
    "le": "LessOrEqual",
    "gt": "Greater",
    "ge": "GreaterOrEqual",
    "logical_and": "And",
    "logical_or": "Or",
    "logical_xor": "Xor",
    "bitwise_and": "And",
    "bitwise_or": "Or",
    "matmul": "MatMul",
}.items():
    RULES[_ours] = lambda g, out, x, y, *_, kind=_theirs: g.node(kind, *_numbers(g, x, y))

rule("ne")(lambda g, out, x, y: g.node("Not", g.node("Equal", *_numbers(g, x, y))))
rule("rsqrt")(lambda g, out, x: g.node("Reciprocal", g.node("Sqrt", x)))
rule("square")(lambda g, out, x: g.node("Mul", x, x))
rule("silu")(lambda g, out, x: g.node("Mul", x, g.node("Sigmoid", x)))
rule("log_sigmoid")(lambda g, out, x: g.node("Neg", g.node("Softplus", g.node("Neg", x))))
rule("gelu_tanh")(lambda g, out, x: g.node("Gelu", x, approximate="tanh"))
rule("elu")(lambda g, out, x, alpha=1.0: g.node("Elu", x, alpha=float(alpha)))
rule("celu")(lambda g, out, x, alpha=1.0: g.node("Celu", x, alpha=float(alpha)))
rule("leaky_relu")(lambda g, out, x, slope=0.01: g.node("LeakyRelu", x, alpha=float(slope)))
rule("hardsigmoid")(lambda g, out, x: g.node("HardSigmoid", x, alpha=1 / 6, beta=0.5))
rule("hardshrink")(lambda g, out, x, lambd=0.5: g.node("Shrink", x, bias=0.0, lambd=float(lambd)))
rule("softshrink")(lambda g, out, x, lambd=0.5: g.node("Shrink", x, bias=float(lambd), lambd=float(lambd)))
rule("prelu_kernel")(lambda g, out, x, weight: g.node("PRelu", x, weight))
rule("hardtanh", "between", "clamp")(lambda g, out, x, low, high: g.node("Clip", *_numbers(g, x, low, high)))
rule("cast")(lambda g, out, x, dtype: g.node("Cast", x, to=_kind(out.dtype)))


@rule("softplus")
def _softplus(g: Recording, out: Any, x: Any, beta: float = 1.0, threshold: float = 20.0) -> str:
    scaled = g.node("Mul", *_numbers(g, x, beta))
    curve = g.node("Div", g.node("Softplus", scaled), g.name(beta, x))
    return g.node("Where", g.node("Greater", scaled, g.name(threshold, x)), x, curve)


@rule("threshold")
def _threshold(g: Recording, out: Any, x: Any, threshold: float, value: float) -> str:
    return g.node("Where", g.node("Greater", *_numbers(g, x, threshold)), x, g.name(value, x))


@rule("where")
def _where(g: Recording, out: Any, condition: Any, x: Any, y: Any) -> str:
    return g.node("Where", condition, *_numbers(g, x, y))


@rule("masked_fill")
def _masked_fill(g: Recording, out: Any, x: Any, value: Any, mask: Any) -> str:
    return g.node("Where", mask, g.name(np.asarray(value, x.dtype)), x)


@rule("keep")
def _keep(g: Recording, out: Any, x: Any, mask: Any) -> str:
    return g.node("Where", mask, x, g.name(np.zeros((), x.dtype)))


# --- products and reductions --------------------------------------------------------------------------------


@rule("linear")
def _linear(g: Recording, out: Any, x: Any, weight: Any, bias: Any = None) -> str:
    if x.ndim == 2:
        return g.node("Gemm", x, weight, bias, transB=1)
    product = g.node("MatMul", x, g.node("Transpose", weight, perm=[1, 0]))
    return product if bias is None else g.node("Add", product, bias)


@rule("addmm", "baddbmm")
def _addmm(g: Recording, out: Any, x: Any, a: Any, b: Any, beta: float = 1, alpha: float = 1) -> str:
    product = g.node("MatMul", a, b)
    product = product if alpha == 1 else g.node("Mul", product, g.name(alpha, out))
    return g.node("Add", x if beta == 1 else g.node("Mul", *_numbers(g, x, beta)), product)


def _reduced(kind: str) -> Callable[..., str]:
    def fn(g: Recording, out: Any, x: Any, dim: Any = None, keepdim: bool = False, *rest: Any) -> str:
        axes = None if dim is None or dim == () else g.integers([dim] if isinstance(dim, int) else list(dim))
        return g.node(kind, x, axes, keepdims=int(keepdim))

    return fn


for _ours, _theirs in {
    "mean": "ReduceMean",
    "sum_dims": "ReduceSum",
    "amax": "ReduceMax",
    "amin": "ReduceMin",
    "prod": "ReduceProd",
    "logsumexp": "ReduceLogSumExp",
}.items():
    RULES[_ours] = _reduced(_theirs)
for _ours, _theirs in {"sum_all": "ReduceSum", "max_all": "ReduceMax", "min_all": "ReduceMin"}.items():
    RULES[_ours] = lambda g, out, x, *_, kind=_theirs: g.node(kind, x, keepdims=0)


@rule("linalg_vector_norm")
def _norm(
    g: Recording, out: Any, x: Any, ord: float = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> str:
    if ord not in (1, 2):
        raise OnnxExporterError(f"torch.onnx.export: a norm of order {ord} cannot be exported, only 1 and 2")
    return _reduced(f"ReduceL{int(ord)}")(g, out, x, dim, keepdim)


@rule("max", "min")
def _extreme(g: Recording, out: Any, x: Any, dim: int, keepdim: bool = False) -> list[str]:
    largest = bool((np.asarray(out[0]) >= x.mean(dim, keepdims=keepdim)).all())
    value = _reduced("ReduceMax" if largest else "ReduceMin")(g, out[0], x, dim, keepdim)
    return [value, g.node("ArgMax" if largest else "ArgMin", x, axis=dim, keepdims=int(keepdim))]


for _ours, _theirs in {"argmax": "ArgMax", "argmin": "ArgMin"}.items():

    @rule(_ours)
    def _position(g: Recording, out: Any, x: Any, dim: Any = None, keepdim: bool = False, kind: str = _theirs) -> str:
        return g.node(
            kind, x if dim is not None else g.node("Reshape", x, g.integers([-1])), axis=dim or 0, keepdims=int(keepdim)
        )


rule("softmax")(lambda g, out, x, dim: g.node("Softmax", x, axis=dim))
rule("log_softmax")(lambda g, out, x, dim: g.node("LogSoftmax", x, axis=dim))
rule("cumsum")(lambda g, out, x, dim, *_: g.node("CumSum", x, g.integers(dim)))
rule("tril")(lambda g, out, x, diagonal=0: g.node("Trilu", x, g.integers(diagonal), upper=0))
rule("triu")(lambda g, out, x, diagonal=0: g.node("Trilu", x, g.integers(diagonal), upper=1))


# --- convolutions, padding, embedding -----------------------------------------------------------------------


@rule("convolution")
def _convolution(
    g: Recording,
    out: Any,
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    transposed: bool = False,
    output_padding: Any = 0,
    groups: int = 1,
) -> str:
    n = weight.ndim - 2
    strides, pads, dilations, extra = (
        [v] * n if isinstance(v, int) else list(v) for v in (stride, padding, dilation, output_padding)
    )
    options: dict[str, Any] = {"strides": strides, "pads": pads * 2, "dilations": dilations, "group": groups}
    if transposed:
        return g.node("ConvTranspose", x, weight, bias, output_padding=extra, **options)
    return g.node("Conv", x, weight, bias, **options)


@rule("constant_pad_nd")
def _constant_pad(g: Recording, out: Any, x: Any, pad: Any, value: Any = 0) -> str:
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2) + list(zip(pad[::2], pad[1::2]))[::-1]
    return g.node(
        "Pad", x, g.integers([int(n) for side in zip(*pairs) for n in side]), g.name(np.asarray(value, x.dtype))
    )


@rule("pad")
def _pad(g: Recording, out: Any, x: Any, dim: int, before: int, after: int, mode: str, *rest: Any) -> str:
    widths = np.zeros((2, x.ndim), np.int64)
    widths[:, dim] = before, after
    return g.node(
        "Pad",
        x,
        g.integers(widths.reshape(-1)),
        mode={"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode],
    )


rule("embedding")(lambda g, out, weight, indices, *_: g.node("Gather", weight, indices, axis=0))


# --- losses -------------------------------------------------------------------------------------------------


def _gathered(g: Recording, losses: str, reduction: str) -> str:
    return losses if reduction == "none" else g.node(f"Reduce{reduction.capitalize()}", losses, keepdims=0)


@rule("mse_loss")
def _mse_loss(g: Recording, out: Any, x: Any, target: Any, reduction: str = "mean") -> str:
    difference = g.node("Sub", x, target)
    return _gathered(g, g.node("Mul", difference, difference), reduction)


@rule("smooth_l1_loss", "huber_loss")
def _huber_loss(g: Recording, out: Any, x: Any, target: Any, *options: Any) -> str:
    reduction, width = sorted(options, key=lambda o: not isinstance(o, str))  # in either order
    size = g.node("Abs", g.node("Sub", x, target))
    near = g.node("Mul", g.node("Mul", size, size), g.name(0.5, x))
    far = g.node("Mul", g.node("Sub", size, g.name(width / 2, x)), g.name(width, x))
    return _gathered(g, g.node("Where", g.node("Less", size, g.name(width, x)), near, far), reduction)


@rule("binary_cross_entropy")
def _bce(g: Recording, out: Any, x: Any, target: Any, weight: Any = None, reduction: str = "mean") -> str:
    least, one = g.name(-100.0, x), g.name(1.0, x)
    of_true, of_false = (g.node("Max", g.node("Log", p), least) for p in (x, g.node("Sub", one, x)))
    losses = g.node(
        "Neg", g.node("Add", g.node("Mul", target, of_true), g.node("Mul", g.node("Sub", one, target), of_false))
    )
    return _gathered(g, losses if weight is None else g.node("Mul", losses, weight), reduction)


@rule("binary_cross_entropy_with_logits")
def _bce_with_logits(
    g: Recording, out: Any, x: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: str = "mean"
) -> str:
    one = g.name(1.0, x)
    of_true, of_false = g.node("Softplus", g.node("Neg", x)), g.node("Softplus", x)
    true = target if pos_weight is None else g.node("Mul", target, pos_weight)
    losses = g.node("Add", g.node("Mul", true, of_true), g.node("Mul", g.node("Sub", one, target), of_false))
    return _gathered(g, losses if weight is None else g.node("Mul", losses, weight), reduction)


@rule("soft_margin_loss")
def _soft_margin_loss(g: Recording, out: Any, x: Any, target: Any, reduction: str = "mean") -> str:
    return _gathered(g, g.node("Softplus", g.node("Neg", g.node("Mul", x, target))), reduction)


@rule("xlogy")
def _xlogy(g: Recording, out: Any, x: Any, y: Any) -> str:
    x_, y_ = _numbers(g, x, y)
    zero = g.name(np.zeros((), out.dtype))
    return g.node("Where", g.node("Equal", x_, zero), zero, g.node("Mul", x_, g.node("Log", y_)))


# --- shapes -------------------------------------------------------------------------------------------------


@rule("view", "reshape_alias", "unsafe_view", "squeeze", "unsqueeze", "as_view")
def _reshape(g: Recording, out: Any, x: Any, *rest: Any) -> str:
    return (
        g.node("Reshape", x, g.integers(out.shape))
        if out.size
        else g.node("Reshape", x, g.integers(out.shape), allowzero=1)
    )


@rule("permute")
def _permute(g: Recording, out: Any, x: Any, dims: Any) -> str:
    return g.node("Transpose", x, perm=[d % x.ndim for d in dims])


@rule("transpose", "t")
def _transpose(g: Recording, out: Any, x: Any, dim0: int = 0, dim1: int = 1) -> str:
    perm = list(range(x.ndim))
    if x.ndim:
        perm[dim0], perm[dim1] = perm[dim1], perm[dim0]
    return g.node("Transpose", x, perm=perm)


rule("expand")(lambda g, out, x, size: g.node("Expand", x, g.integers(out.shape)))
rule("flip")(lambda g, out, x, dims: _sliced(g, x, [(d % x.ndim, -1, -(2**62), -1) for d in dims]))


@rule("repeat")
def _repeat(g: Recording, out: Any, x: Any, repeats: Any) -> str:
    lead = len(repeats) - x.ndim
    source = x if lead == 0 else g.node("Reshape", x, g.integers((1,) * lead + x.shape))
    return g.node("Tile", source, g.integers(list(repeats)))


@rule("cat")
def _cat(g: Recording, out: Any, tensors: Any, dim: int = 0) -> str:
    return g.node("Concat", *tensors, axis=dim)


@rule("stack")
def _stack(g: Recording, out: Any, tensors: Any, dim: int = 0) -> str:
    axis = g.integers([dim % out.ndim])
    return g.node("Concat", *[g.node("Unsqueeze", t, axis) for t in tensors], axis=dim)


def _sliced(g: Recording, x: Any, cuts: list[tuple[int, int, int, int]]) -> str:
    """Some dimensions cut: (which, start, end, step)."""
    if not cuts:
        return g.node("Identity", x)
    axes, starts, ends, steps = zip(*cuts)
    return g.node("Slice", x, g.integers(starts), g.integers(ends), g.integers(axes), g.integers(steps))


@rule("neighbours")
def _neighbours(g: Recording, out: Any, x: Any, sign: int, dim: int) -> str:
    later, earlier = (_sliced(g, x, [(dim, start, start + out.shape[dim], 1)]) for start in (1, 0))
    return g.node("Add" if sign > 0 else "Xor" if x.dtype.kind == "b" else "Sub", later, earlier)


@rule("split")
def _split(g: Recording, out: Any, x: Any, sizes: Any, dim: int = 0, *rest: Any) -> list[str]:
    ends = np.cumsum([part.shape[dim] for part in out])
    return [_sliced(g, x, [(dim % x.ndim, int(end) - part.shape[dim], int(end), 1)]) for part, end in zip(out, ends)]


@rule("glu")
def _glu(g: Recording, out: Any, x: Any, dim: int) -> str:
    n = out.shape[dim]
    first, second = (_sliced(g, x, [(dim % x.ndim, start, start + n, 1)]) for start in (0, n))
    return g.node("Mul", first, g.node("Sigmoid", second))


@rule("unbind")
def _unbind(g: Recording, out: Any, x: Any, dim: int = 0) -> list[str]:
    return [g.node("Gather", x, g.integers(i), axis=dim) for i in range(len(out))]


@rule("basic_part", "read_part")
def _part(g: Recording, out: Any, x: Any, part: Any, *rest: Any) -> str:
    part = part if isinstance(part, tuple) else (part,)
    taken = sum(p is not None and p is not Ellipsis for p in part)
    full = [q for p in part for q in ([slice(None)] * (x.ndim - taken) if p is Ellipsis else [p])]
    cuts, gone, d = [], [], 0
    for p in full:
        if isinstance(p, slice):
            start, end, step = p.indices(x.shape[d])
            if (start, step) != (0, 1) or p.stop is not None:
                cuts.append((d, start, end if step > 0 or end >= 0 else -(2**62), step))
        elif p is not None:
            index = int(p)
            cuts.append((d, index, index + 1 if index != -1 else 2**62, 1))
            gone.append(d)
        d += p is not None
    result = _sliced(g, x, cuts)
    return result if not gone and None not in full else g.node("Reshape", result, g.integers(out.shape))


@rule("index")
def _index(g: Recording, out: Any, x: Any, at: Any, name: str = "", dim: int | None = None) -> str:
    if dim == FLAT:
        return g.node("Gather", g.node("Reshape", x, g.integers([-1])), at[0], axis=0)
    if dim is not None and at[0].ndim == 1:
        return g.node("Gather", x, at[0], axis=dim)
    places = [(d, i) for d, i in enumerate(at if isinstance(at, tuple | list) else [at]) if isinstance(i, np.ndarray)]
    if dim is not None or len(places) != 1 or places[0][1].dtype.kind not in "iu":
        raise OnnxExporterError(
            "torch.onnx.export: indexing with several tensors or a mask cannot be exported, only x[:, i]"
        )
    return g.node("Gather", x, places[0][1], axis=places[0][0])


rule("repeat_each")(lambda g, out, x, times, dim: g.node("Gather", x, np.arange(x.shape[dim]).repeat(times), axis=dim))


# --- rearranging --------------------------------------------------------------------------------------------


@rule("pixel_shuffle")
def _pixel_shuffle(g: Recording, out: Any, x: Any, factor: int) -> str:
    return g.node("DepthToSpace", x, blocksize=factor, mode="CRD")


@rule("pixel_unshuffle")
def _pixel_unshuffle(g: Recording, out: Any, x: Any, factor: int) -> str:
    n, c, h, w = x.shape
    cells = g.node("Reshape", x, g.integers([n, c, h // factor, factor, w // factor, factor]))
    return g.node("Reshape", g.node("Transpose", cells, perm=[0, 1, 3, 5, 2, 4]), g.integers(out.shape))


@rule("channel_shuffle")
def _channel_shuffle(g: Recording, out: Any, x: Any, groups: int) -> str:
    n, c, *rest = x.shape
    parts = g.node("Reshape", x, g.integers([n, groups, c // groups, *rest]))
    perm = [0, 2, 1, *range(3, x.ndim + 1)]
    return g.node("Reshape", g.node("Transpose", parts, perm=perm), g.integers(out.shape))
