"""ONNX nodes for each op: a rule is given the graph, the op's result and its arguments.

A rule adds nodes and returns the name of the result, or a list of names for several results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.op import OpTable
from ..ops import (
    activation,
    arithmetic,
    compare,
    concat,
    convert,
    convolution,
    embedding,
    flip_roll,
    index,
    interpolate,
    linear,
    loss,
    mask,
    matmul,
    memory,
    minmax,
    norm,
    pad,
    pointwise,
    reduce,
    scan,
    slices,
    slicing_views,
    softmax,
    special,
    trigonometry,
    view,
    where,
)
from ..ops import complex as complex_ops
from .errors import OnnxExporterError
from .graph_builder import GraphBuilder, tensor_type

onnx_rule = OpTable()

# --- elementwise --------------------------------------------------------------------------------------------

for _fn, _operator in {
    complex_ops.abs: "Abs",
    trigonometry.acos: "Acos",
    trigonometry.acosh: "Acosh",
    trigonometry.asin: "Asin",
    trigonometry.asinh: "Asinh",
    trigonometry.atan: "Atan",
    trigonometry.atanh: "Atanh",
    pointwise.ceil: "Ceil",
    trigonometry.cos: "Cos",
    trigonometry.cosh: "Cosh",
    special.erf: "Erf",
    pointwise.exp: "Exp",
    pointwise.floor: "Floor",
    compare.isinf: "IsInf",
    compare.isnan: "IsNaN",
    pointwise.log: "Log",
    compare.logical_not: "Not",
    activation._mish: "Mish",
    arithmetic.neg: "Neg",
    pointwise.reciprocal: "Reciprocal",
    where.relu: "Relu",
    activation._selu: "Selu",
    pointwise.sigmoid: "Sigmoid",
    pointwise.sign: "Sign",
    trigonometry.sin: "Sin",
    trigonometry.sinh: "Sinh",
    pointwise.sqrt: "Sqrt",
    trigonometry.tan: "Tan",
    trigonometry.tanh: "Tanh",
    activation._hardswish: "HardSwish",
    memory.clone: "Identity",
    activation._gelu: "Gelu",
    pointwise.elementwise_round: "Round",
}.items():
    onnx_rule(_fn)(lambda g, out, x, *_, operator=_operator: g.node(operator, x))


def _numbers(g: GraphBuilder, *operands: Any) -> list[str]:
    """The names of operands; numbers become constants of the arrays' type."""
    like = next((x for x in operands if isinstance(x, np.ndarray)), None)
    return [g.name(x, like) for x in operands]


for _fn, _operator in {
    arithmetic.elementwise_add: "Add",
    arithmetic.elementwise_sub: "Sub",
    arithmetic.mul: "Mul",
    arithmetic.elementwise_div: "Div",
    arithmetic.elementwise_pow: "Pow",
    where.maximum: "Max",
    where.minimum: "Min",
    where.elementwise_clamp_min: "Max",
    where.elementwise_clamp_max: "Min",
    compare.eq: "Equal",
    compare.lt: "Less",
    compare.le: "LessOrEqual",
    compare.gt: "Greater",
    compare.ge: "GreaterOrEqual",
    compare.logical_and: "And",
    compare.logical_or: "Or",
    compare.logical_xor: "Xor",
    compare.bitwise_and: "And",
    compare.bitwise_or: "Or",
    matmul._matmul: "MatMul",
}.items():
    onnx_rule(_fn)(lambda g, out, x, y, *_, operator=_operator: g.node(operator, *_numbers(g, x, y)))

onnx_rule(compare.ne)(lambda g, out, x, y: g.node("Not", g.node("Equal", *_numbers(g, x, y))))
onnx_rule(pointwise.rsqrt)(lambda g, out, x: g.node("Reciprocal", g.node("Sqrt", x)))
onnx_rule(pointwise.square)(lambda g, out, x: g.node("Mul", x, x))
onnx_rule(activation._silu)(lambda g, out, x: g.node("Mul", x, g.node("Sigmoid", x)))
onnx_rule(activation._logsigmoid)(lambda g, out, x: g.node("Neg", g.node("Softplus", g.node("Neg", x))))
onnx_rule(activation._gelu_tanh)(lambda g, out, x: g.node("Gelu", x, approximate="tanh"))
onnx_rule(activation._elu)(lambda g, out, x, alpha=1.0: g.node("Elu", x, alpha=float(alpha)))
onnx_rule(activation._celu)(lambda g, out, x, alpha=1.0: g.node("Celu", x, alpha=float(alpha)))
onnx_rule(activation._leaky_relu)(lambda g, out, x, slope=0.01: g.node("LeakyRelu", x, alpha=float(slope)))
onnx_rule(activation._hardsigmoid)(lambda g, out, x: g.node("HardSigmoid", x, alpha=1 / 6, beta=0.5))
onnx_rule(activation._hardshrink)(lambda g, out, x, lambd=0.5: g.node("Shrink", x, bias=0.0, lambd=float(lambd)))
onnx_rule(activation._softshrink)(
    lambda g, out, x, lambd=0.5: g.node("Shrink", x, bias=float(lambd), lambd=float(lambd))
)
onnx_rule(activation._prelu)(lambda g, out, x, weight: g.node("PRelu", x, weight))
onnx_rule(activation._hardtanh, where.between)(lambda g, out, x, low, high: g.node("Clip", *_numbers(g, x, low, high)))
onnx_rule(convert.cast)(lambda g, out, x, dtype: g.node("Cast", x, to=tensor_type(out.dtype)))


@onnx_rule(activation._softplus)
def _softplus(g: GraphBuilder, out: Any, x: Any, beta: float = 1.0, threshold: float = 20.0) -> str:
    scaled = g.node("Mul", *_numbers(g, x, beta))
    curve = g.node("Div", g.node("Softplus", scaled), g.name(beta, x))
    return g.node("Where", g.node("Greater", scaled, g.name(threshold, x)), x, curve)


@onnx_rule(where.threshold)
def _threshold(g: GraphBuilder, out: Any, x: Any, threshold: float, value: float) -> str:
    return g.node("Where", g.node("Greater", *_numbers(g, x, threshold)), x, g.name(value, x))


@onnx_rule(where.elementwise_where)
def _where(g: GraphBuilder, out: Any, condition: Any, x: Any, y: Any) -> str:
    return g.node("Where", condition, *_numbers(g, x, y))


@onnx_rule(mask._masked_fill)
def _masked_fill(g: GraphBuilder, out: Any, x: Any, value: Any, mask: Any) -> str:
    return g.node("Where", mask, g.name(np.asarray(value, x.dtype)), x)


@onnx_rule(where.keep)
def _keep(g: GraphBuilder, out: Any, x: Any, mask: Any) -> str:
    return g.node("Where", mask, x, g.name(np.zeros((), x.dtype)))


# --- products and reductions --------------------------------------------------------------------------------


@onnx_rule(linear._linear)
def _linear(g: GraphBuilder, out: Any, x: Any, weight: Any, bias: Any = None) -> str:
    if x.ndim == 2:
        return g.node("Gemm", x, weight, bias, transB=1)
    product = g.node("MatMul", x, g.node("Transpose", weight, perm=[1, 0]))
    return product if bias is None else g.node("Add", product, bias)


@onnx_rule(matmul.addmm, matmul.baddbmm)
def _addmm(g: GraphBuilder, out: Any, x: Any, a: Any, b: Any, beta: float = 1, alpha: float = 1) -> str:
    product = g.node("MatMul", a, b)
    product = product if alpha == 1 else g.node("Mul", product, g.name(alpha, out))
    return g.node("Add", x if beta == 1 else g.node("Mul", *_numbers(g, x, beta)), product)


def _reduced(kind: str) -> Callable[..., str]:
    def fn(g: GraphBuilder, out: Any, x: Any, dim: Any = None, keepdim: bool = False, *rest: Any) -> str:
        axes = None if dim is None or dim == () else g.integers([dim] if isinstance(dim, int) else list(dim))
        return g.node(kind, x, axes, keepdims=int(keepdim))

    return fn


for _fn, _operator in {
    reduce.mean: "ReduceMean",
    reduce.sum_dims: "ReduceSum",
    minmax.amax: "ReduceMax",
    minmax.amin: "ReduceMin",
    reduce.prod: "ReduceProd",
    reduce.logsumexp: "ReduceLogSumExp",
}.items():
    onnx_rule(_fn)(_reduced(_operator))
for _fn, _operator in {reduce.sum_all: "ReduceSum", minmax.max_all: "ReduceMax", minmax.min_all: "ReduceMin"}.items():
    onnx_rule(_fn)(lambda g, out, x, *_, operator=_operator: g.node(operator, x, keepdims=0))


@onnx_rule(norm.vector_norm)
def _norm(
    g: GraphBuilder, out: Any, x: Any, ord: float = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> str:
    if ord not in (1, 2):
        raise OnnxExporterError(f"torch.onnx.export: a norm of order {ord} cannot be exported, only 1 and 2")
    return _reduced(f"ReduceL{int(ord)}")(g, out, x, dim, keepdim)


for _fn, _operator in {minmax.max_along: "Max", minmax.min_along: "Min"}.items():

    @onnx_rule(_fn)
    def _extreme(
        g: GraphBuilder, out: Any, x: Any, dim: int, keepdim: bool = False, kind: str = _operator
    ) -> list[str]:
        value = _reduced(f"Reduce{kind}")(g, out[0], x, dim, keepdim)
        return [value, g.node(f"Arg{kind}", x, axis=dim, keepdims=int(keepdim))]


for _fn, _operator in {minmax.argmax: "ArgMax", minmax.argmin: "ArgMin"}.items():

    @onnx_rule(_fn)
    def _position(
        g: GraphBuilder, out: Any, x: Any, dim: Any = None, keepdim: bool = False, operator: str = _operator
    ) -> str:
        along = x if dim is not None else g.node("Reshape", x, g.integers([-1]))
        return g.node(operator, along, axis=dim or 0, keepdims=int(keepdim))


onnx_rule(softmax._softmax)(lambda g, out, x, dim: g.node("Softmax", x, axis=dim))
onnx_rule(softmax._log_softmax)(lambda g, out, x, dim: g.node("LogSoftmax", x, axis=dim))
onnx_rule(scan.cumsum)(lambda g, out, x, dim, *_: g.node("CumSum", x, g.integers(dim)))
onnx_rule(concat.tril)(lambda g, out, x, diagonal=0: g.node("Trilu", x, g.integers(diagonal), upper=0))
onnx_rule(concat.triu)(lambda g, out, x, diagonal=0: g.node("Trilu", x, g.integers(diagonal), upper=1))


# --- convolutions, padding, embedding -----------------------------------------------------------------------


@onnx_rule(convolution.convolution)
def _convolution(
    g: GraphBuilder,
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


@onnx_rule(pad.constant_pad_nd)
def _constant_pad(g: GraphBuilder, out: Any, x: Any, pad: Any, value: Any = 0) -> str:
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2) + list(zip(pad[::2], pad[1::2]))[::-1]
    return g.node(
        "Pad", x, g.integers([int(n) for side in zip(*pairs) for n in side]), g.name(np.asarray(value, x.dtype))
    )


@onnx_rule(pad._pad_with_copies)
def _pad(g: GraphBuilder, out: Any, x: Any, dim: int, before: int, after: int, mode: str, *rest: Any) -> str:
    widths = np.zeros((2, x.ndim), np.int64)
    widths[:, dim] = before, after
    return g.node(
        "Pad",
        x,
        g.integers(widths.reshape(-1)),
        mode={"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode],
    )


onnx_rule(embedding._embedding)(lambda g, out, weight, indices, *_: g.node("Gather", weight, indices, axis=0))


# --- losses -------------------------------------------------------------------------------------------------


def _gathered(g: GraphBuilder, losses: str, reduction: str) -> str:
    return losses if reduction == "none" else g.node(f"Reduce{reduction.capitalize()}", losses, keepdims=0)


@onnx_rule(loss._mse)
def _mse_loss(g: GraphBuilder, out: Any, x: Any, target: Any, reduction: str = "mean") -> str:
    difference = g.node("Sub", x, target)
    return _gathered(g, g.node("Mul", difference, difference), reduction)


@onnx_rule(loss._smooth_l1, loss._huber)
def _huber_loss(g: GraphBuilder, out: Any, x: Any, target: Any, *options: Any) -> str:
    reduction, width = sorted(options, key=lambda o: not isinstance(o, str))  # in either order
    size = g.node("Abs", g.node("Sub", x, target))
    near = g.node("Mul", g.node("Mul", size, size), g.name(0.5, x))
    far = g.node("Mul", g.node("Sub", size, g.name(width / 2, x)), g.name(width, x))
    return _gathered(g, g.node("Where", g.node("Less", size, g.name(width, x)), near, far), reduction)


@onnx_rule(loss._bce)
def _bce(g: GraphBuilder, out: Any, x: Any, target: Any, weight: Any = None, reduction: str = "mean") -> str:
    least, one = g.name(-100.0, x), g.name(1.0, x)
    of_true, of_false = (g.node("Max", g.node("Log", p), least) for p in (x, g.node("Sub", one, x)))
    losses = g.node(
        "Neg", g.node("Add", g.node("Mul", target, of_true), g.node("Mul", g.node("Sub", one, target), of_false))
    )
    return _gathered(g, losses if weight is None else g.node("Mul", losses, weight), reduction)


@onnx_rule(loss._bce_logits)
def _bce_with_logits(
    g: GraphBuilder, out: Any, x: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: str = "mean"
) -> str:
    one = g.name(1.0, x)
    of_true, of_false = g.node("Softplus", g.node("Neg", x)), g.node("Softplus", x)
    true = target if pos_weight is None else g.node("Mul", target, pos_weight)
    losses = g.node("Add", g.node("Mul", true, of_true), g.node("Mul", g.node("Sub", one, target), of_false))
    return _gathered(g, losses if weight is None else g.node("Mul", losses, weight), reduction)


@onnx_rule(loss._soft_margin)
def _soft_margin_loss(g: GraphBuilder, out: Any, x: Any, target: Any, reduction: str = "mean") -> str:
    return _gathered(g, g.node("Softplus", g.node("Neg", g.node("Mul", x, target))), reduction)


@onnx_rule(special.xlogy)
def _xlogy(g: GraphBuilder, out: Any, x: Any, y: Any) -> str:
    x_, y_ = _numbers(g, x, y)
    zero = g.name(np.zeros((), out.dtype))
    return g.node("Where", g.node("Equal", x_, zero), zero, g.node("Mul", x_, g.node("Log", y_)))


# --- shapes -------------------------------------------------------------------------------------------------


@onnx_rule(view.view_shape, view._reshape_alias, view._unsafe_view, view.squeeze, view.unsqueeze)
def _reshape(g: GraphBuilder, out: Any, x: Any, *rest: Any) -> str:
    return (
        g.node("Reshape", x, g.integers(out.shape))
        if out.size
        else g.node("Reshape", x, g.integers(out.shape), allowzero=1)
    )


@onnx_rule(view.permute)
def _permute(g: GraphBuilder, out: Any, x: Any, dims: Any) -> str:
    return g.node("Transpose", x, perm=[d % x.ndim for d in dims])


@onnx_rule(view.transpose, view.t)
def _transpose(g: GraphBuilder, out: Any, x: Any, dim0: int = 0, dim1: int = 1) -> str:
    perm = list(range(x.ndim))
    if x.ndim:
        perm[dim0], perm[dim1] = perm[dim1], perm[dim0]
    return g.node("Transpose", x, perm=perm)


onnx_rule(view.expand)(lambda g, out, x, size: g.node("Expand", x, g.integers(out.shape)))
onnx_rule(flip_roll.flip)(lambda g, out, x, dims: _sliced(g, x, [(d % x.ndim, -1, -(2**62), -1) for d in dims]))


@onnx_rule(concat.repeat)
def _repeat(g: GraphBuilder, out: Any, x: Any, repeats: Any) -> str:
    lead = len(repeats) - x.ndim
    source = x if lead == 0 else g.node("Reshape", x, g.integers((1,) * lead + x.shape))
    return g.node("Tile", source, g.integers(list(repeats)))


@onnx_rule(concat.cat)
def _cat(g: GraphBuilder, out: Any, tensors: Any, dim: int = 0) -> str:
    return g.node("Concat", *tensors, axis=dim)


@onnx_rule(concat.stack)
def _stack(g: GraphBuilder, out: Any, tensors: Any, dim: int = 0) -> str:
    axis = g.integers([dim % out.ndim])
    return g.node("Concat", *[g.node("Unsqueeze", t, axis) for t in tensors], axis=dim)


def _sliced(g: GraphBuilder, x: Any, cuts: list[tuple[int, int, int, int]]) -> str:
    """Slice some dimensions: (dim, start, end, step)."""
    if not cuts:
        return g.node("Identity", x)
    axes, starts, ends, steps = zip(*cuts)
    return g.node("Slice", x, g.integers(starts), g.integers(ends), g.integers(axes), g.integers(steps))


@onnx_rule(scan.neighbours)
def _neighbours(g: GraphBuilder, out: Any, x: Any, sign: int, dim: int) -> str:
    later, earlier = (_sliced(g, x, [(dim, start, start + out.shape[dim], 1)]) for start in (1, 0))
    return g.node("Add" if sign > 0 else "Xor" if x.dtype.kind == "b" else "Sub", later, earlier)


@onnx_rule(slicing_views.split_views)
def _split(g: GraphBuilder, out: Any, x: Any, sizes: Any, dim: int = 0, *rest: Any) -> list[str]:
    ends = np.cumsum([part.shape[dim] for part in out])
    return [_sliced(g, x, [(dim % x.ndim, int(end) - part.shape[dim], int(end), 1)]) for part, end in zip(out, ends)]


@onnx_rule(activation._glu)
def _glu(g: GraphBuilder, out: Any, x: Any, dim: int) -> str:
    n = out.shape[dim]
    first, second = (_sliced(g, x, [(dim % x.ndim, start, start + n, 1)]) for start in (0, n))
    return g.node("Mul", first, g.node("Sigmoid", second))


@onnx_rule(slicing_views.unbind)
def _unbind(g: GraphBuilder, out: Any, x: Any, dim: int = 0) -> list[str]:
    return [g.node("Gather", x, g.integers(i), axis=dim) for i in range(len(out))]


@onnx_rule(slices.view_part, slices.read_part)
def _basic_index(g: GraphBuilder, out: Any, x: Any, part: Any, *rest: Any) -> str:
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


@onnx_rule(index.take_at)
def _index(g: GraphBuilder, out: Any, x: Any, at: Any, name: str = "", dim: int | None = None) -> str:
    if dim == index.FLAT:
        return g.node("Gather", g.node("Reshape", x, g.integers([-1])), at[0], axis=0)
    if dim is not None and at[0].ndim == 1:
        return g.node("Gather", x, at[0], axis=dim)
    places = [(d, i) for d, i in enumerate(at if isinstance(at, tuple | list) else [at]) if isinstance(i, np.ndarray)]
    if dim is not None or len(places) != 1 or places[0][1].dtype.kind not in "iu":
        raise OnnxExporterError(
            "torch.onnx.export: indexing with several tensors or a mask cannot be exported, only x[:, i]"
        )
    return g.node("Gather", x, places[0][1], axis=places[0][0])


onnx_rule(concat._repeated)(
    lambda g, out, x, times, dim: g.node("Gather", x, np.arange(x.shape[dim]).repeat(times), axis=dim)
)


# --- rearranging --------------------------------------------------------------------------------------------


@onnx_rule(interpolate.pixel_shuffle)
def _pixel_shuffle(g: GraphBuilder, out: Any, x: Any, factor: int) -> str:
    return g.node("DepthToSpace", x, blocksize=factor, mode="CRD")


@onnx_rule(interpolate.pixel_unshuffle)
def _pixel_unshuffle(g: GraphBuilder, out: Any, x: Any, factor: int) -> str:
    n, c, h, w = x.shape
    cells = g.node("Reshape", x, g.integers([n, c, h // factor, factor, w // factor, factor]))
    return g.node("Reshape", g.node("Transpose", cells, perm=[0, 1, 3, 5, 2, 4]), g.integers(out.shape))


@onnx_rule(interpolate.channel_shuffle)
def _channel_shuffle(g: GraphBuilder, out: Any, x: Any, groups: int) -> str:
    n, c, *rest = x.shape
    parts = g.node("Reshape", x, g.integers([n, groups, c // groups, *rest]))
    perm = [0, 2, 1, *range(3, x.ndim + 1)]
    return g.node("Reshape", g.node("Transpose", parts, perm=perm), g.integers(out.shape))
