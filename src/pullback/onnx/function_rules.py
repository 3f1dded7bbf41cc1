"""ONNX nodes for functions of :mod:`pullback.nn.functional`, and of recurrent layers, that have an ONNX operator.

A rule is given the graph, the function's result and its arguments by name; see :mod:`.op_rules`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from ..core.op import OpTable
from ..core.public import function_of
from ..nn import functional as F
from ..nn.modules import pooling, rnn
from ..ops import attention
from .errors import OnnxExporterError
from .graph_builder import GraphBuilder

onnx_function_rule = OpTable()


def _each(value: Any, n: int) -> list[int]:
    """A size for each of n dimensions."""
    return (
        [int(value)] * n
        if isinstance(value, int)
        else [int(v) for v in (list(value) * n if len(value) == 1 else value)]
    )


def _refuse(what: str) -> OnnxExporterError:
    return OnnxExporterError(f"torch.onnx.export: {what} cannot be exported")


def _batched(g: GraphBuilder, input: Any, out: Any, n: int, make: Callable[[Any], str]) -> str:
    """What `make` makes of an input with `n` dimensions after batch and channels, which may lack the batch."""
    if input.ndim == n + 2:
        return make(input)
    return g.node("Squeeze", make(g.node("Unsqueeze", input, g.integers([0]))), g.integers([0]))


# --- pooling and resampling -------------------------------------------------------------------------------


_fn: Any
for _n, _fn in enumerate((F.max_pool1d, F.max_pool2d, F.max_pool3d), 1):

    @onnx_function_rule(_fn)
    def _max_pool(
        g: GraphBuilder,
        out: Any,
        input: Any,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        ceil_mode: bool,
        return_indices: bool,
        n: int = _n,
    ) -> Any:
        kernel = _each(kernel_size, n)
        options: Any = {
            "kernel_shape": kernel,
            "strides": kernel if stride is None or stride == [] else _each(stride, n),
            "pads": _each(padding, n) * 2,
            "dilations": _each(dilation, n),
            "ceil_mode": int(ceil_mode),
        }
        made = _batched(g, input, out, n, lambda x: g.node("MaxPool", x, **options))
        return [made, None] if return_indices else made  # ONNX counts positions otherwise


for _n, _fn in enumerate((F.avg_pool1d, F.avg_pool2d, F.avg_pool3d), 1):

    @onnx_function_rule(_fn)
    def _avg_pool(
        g: GraphBuilder,
        out: Any,
        input: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Any = None,
        n: int = _n,
    ) -> str:
        if divisor_override is not None:
            raise _refuse("avg_pool with divisor_override")
        kernel = _each(kernel_size, n)
        options: Any = {
            "kernel_shape": kernel,
            "strides": kernel if stride is None or stride == [] else _each(stride, n),
            "pads": _each(padding, n) * 2,
            "ceil_mode": int(ceil_mode),
            "count_include_pad": int(count_include_pad),
        }
        return _batched(g, input, out, n, lambda x: g.node("AveragePool", x, **options))


for _n, _average, _largest in (
    (1, F.adaptive_avg_pool1d, F.adaptive_max_pool1d),
    (2, F.adaptive_avg_pool2d, F.adaptive_max_pool2d),
    (3, F.adaptive_avg_pool3d, F.adaptive_max_pool3d),
):

    @onnx_function_rule(_average, _largest)
    def _adaptive(
        g: GraphBuilder, out: Any, input: Any, output_size: Any, return_indices: bool | None = None, n: int = _n
    ) -> Any:
        kind = "AveragePool" if return_indices is None else "MaxPool"
        shape = (out[0] if return_indices else out).shape
        sizes = list(zip(input.shape[-n:], shape[-n:]))
        if any(size % goal for size, goal in sizes):
            raise _refuse(
                f"adaptive pooling of {list(input.shape[-n:])} to {list(shape[-n:])}, where windows differ in size,"
            )
        if all(goal == 1 for _, goal in sizes):
            made = _batched(g, input, out, n, lambda x: g.node(f"Global{kind}", x))
        else:
            kernel = [size // goal for size, goal in sizes]
            made = _batched(g, input, out, n, lambda x: g.node(kind, x, kernel_shape=kernel, strides=kernel))
        return [made, None] if return_indices else made


@onnx_function_rule(F.interpolate)
def _interpolate(
    g: GraphBuilder,
    out: Any,
    input: Any,
    size: Any,
    scale_factor: Any,
    mode: str,
    align_corners: Any,
    recompute_scale_factor: Any,
    antialias: bool,
) -> str:
    if antialias or mode in ("area", "nearest-exact"):
        raise _refuse(f"interpolate with mode {mode!r}" + " and antialias" * antialias)
    n = input.ndim - 2
    options: dict[str, Any] = {
        "mode": "nearest",
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "floor",
    }
    if mode != "nearest":
        where = "align_corners" if align_corners else "half_pixel"
        options = {
            "mode": "cubic" if mode == "bicubic" else "linear",
            "coordinate_transformation_mode": where,
            "cubic_coeff_a": -0.75,
        }
    if scale_factor is not None and not recompute_scale_factor:
        factors = [scale_factor] * n if isinstance(scale_factor, int | float) else list(scale_factor)
        return g.node("Resize", input, None, g.constant([1.0, 1.0, *factors], np.float32), **options)
    return g.node("Resize", input, None, None, g.integers(out.shape), **options)


# --- normalisation ------------------------------------------------------------------------------------------


def _affine(g: GraphBuilder, made: str, weight: Any, bias: Any, shape: list[int]) -> str:
    for kind, x in (("Mul", weight), ("Add", bias)):
        if x is not None:
            made = g.node(kind, made, g.node("Reshape", x, g.integers(shape)))
    return made


@onnx_function_rule(F.batch_norm)
def _batch_norm(
    g: GraphBuilder,
    out: Any,
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any,
    bias: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> str:
    if training:
        raise _refuse("batch_norm by the batch's own statistics")
    kind, n = input._array.dtype, input.shape[1]
    scale, shift = (g.constant(np.full(n, v, kind)) if x is None else x for v, x in ((1, weight), (0, bias)))
    return g.node("BatchNormalization", input, scale, shift, running_mean, running_var, epsilon=float(eps))


@onnx_function_rule(F.instance_norm)
def _instance_norm(
    g: GraphBuilder,
    out: Any,
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any,
    bias: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
) -> str:
    if not use_input_stats:
        return _batch_norm(g, out, input, running_mean, running_var, weight, bias, False, momentum, eps)
    kind, n = input._array.dtype, input.shape[1]
    scale, shift = (g.constant(np.full(n, v, kind)) if x is None else x for v, x in ((1, weight), (0, bias)))
    return g.node("InstanceNormalization", input, scale, shift, epsilon=float(eps))


@onnx_function_rule(F.group_norm)
def _group_norm(
    g: GraphBuilder, out: Any, input: Any, num_groups: int, weight: Any, bias: Any, eps: float, **unused: Any
) -> str:
    kind = input._array.dtype
    groups = g.node("Reshape", input, g.integers([input.shape[0], num_groups, -1]))
    ones, zeros = g.constant(np.ones(num_groups, kind)), g.constant(np.zeros(num_groups, kind))
    made = g.node("InstanceNormalization", groups, ones, zeros, epsilon=float(eps))
    made = g.node("Reshape", made, g.integers(input.shape))
    return _affine(g, made, weight, bias, [1, -1, *[1] * (input.ndim - 2)])


@onnx_function_rule(F.layer_norm)
def _layer_norm(
    g: GraphBuilder, out: Any, input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float, **unused: Any
) -> str:
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    scale = g.constant(np.ones(shape, input._array.dtype)) if weight is None else weight
    return g.node("LayerNormalization", input, scale, bias, axis=-len(shape), epsilon=float(eps))


@onnx_function_rule(F.rms_norm)
def _rms_norm(g: GraphBuilder, out: Any, input: Any, normalized_shape: Any, weight: Any, eps: Any) -> str:
    kind, n = input._array.dtype, len(normalized_shape) if not isinstance(normalized_shape, int) else 1
    squares = g.node("ReduceMean", g.node("Mul", input, input), g.integers(list(range(-n, 0))), keepdims=1)
    root = g.node(
        "Sqrt", g.node("Add", squares, g.constant(np.asarray(np.finfo(kind).eps if eps is None else eps, kind)))
    )
    made = g.node("Div", input, root)
    return made if weight is None else g.node("Mul", made, weight)


# --- losses -------------------------------------------------------------------------------------------------


@onnx_function_rule(F.nll_loss, F.cross_entropy)
def _nll_loss(
    g: GraphBuilder,
    out: Any,
    input: Any,
    target: Any,
    weight: Any,
    ignore_index: int,
    reduction: str,
    label_smoothing: float | None = None,
    **unused: Any,
) -> str:
    if label_smoothing or target.is_floating_point():
        raise _refuse("cross_entropy with label_smoothing or probabilities as targets")
    kind = "NegativeLogLikelihoodLoss" if label_smoothing is None else "SoftmaxCrossEntropyLoss"
    return g.node(kind, input, target, weight, ignore_index=ignore_index, reduction=reduction)


# --- attention, recurrence -----------------------------------------------------------------------


@onnx_function_rule(F.scaled_dot_product_attention)
def _attention(
    g: GraphBuilder,
    out: Any,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any,
    dropout_p: float,
    is_causal: bool,
    scale: Any,
    enable_gqa: bool,
) -> str:
    if enable_gqa:
        raise _refuse("attention with enable_gqa")
    kind, n = query._array.dtype, key.ndim
    factor = g.constant(np.asarray(query.shape[-1] ** -0.5 if scale is None else scale, kind))
    turned = g.node("Transpose", key, perm=[*range(n - 2), n - 1, n - 2])
    scores = g.node("MatMul", g.node("Mul", query, factor), turned)
    if is_causal:
        allowed = np.tril(np.ones((query.shape[-2], key.shape[-2]), bool))
        scores = g.node("Where", g.constant(allowed), scores, g.constant(np.asarray(-np.inf, kind)))
    if attn_mask is not None and attn_mask._array.dtype == bool:
        scores = g.node("Where", attn_mask, scores, g.constant(np.asarray(-np.inf, kind)))
    elif attn_mask is not None:
        scores = g.node("Add", scores, attn_mask)
    return g.node("MatMul", g.node("Softmax", scores, axis=-1), value)


GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN_TANH": (0,), "RNN_RELU": (0,)}  # ONNX's order, of ours


@onnx_function_rule(rnn._run_direction)
def _recurrent(
    g: GraphBuilder, out: Any, mode: str, input: Any, states: Any, weights: Any, bias: bool, spans: Any
) -> list[Any]:
    if len(weights) > 2 + 2 * bias:
        raise _refuse("an LSTM with proj_size")
    starts, (steps, batch, hidden) = [a for a, _ in spans], (len(spans), len(states[0]), states[0].shape[-1])
    if len({b - a for a, b in spans}) != 1:
        raise _refuse("a recurrent layer on sequences of several lengths")
    w_ih, w_hh, *b = [_by_gate(w._array, mode, hidden) for w in weights]
    biases = g.constant(np.concatenate(b)[None]) if bias else None
    rows = g.node("Reshape", input, g.integers([steps, -1, input.shape[-1]]))
    initial = [g.node("Reshape", s, g.integers([1, -1, hidden])) for s in states]
    options: dict[str, Any] = {"hidden_size": hidden, "direction": "forward" if starts == sorted(starts) else "reverse"}
    arguments = (rows, g.constant(w_ih[None]), g.constant(w_hh[None]), biases, None)
    if mode == "LSTM":
        y, _, c = g.node("LSTM", *arguments, *initial, outputs=3, **options)
        cells = g.node("Expand", c, g.integers([steps, batch, hidden]))  # of which the last step's are asked for
        return [g.node("Reshape", x, g.integers([-1, hidden])) for x in (y, cells)]
    if mode == "GRU":
        y, _ = g.node("GRU", *arguments, *initial, outputs=2, linear_before_reset=1, **options)
    else:
        y, _ = g.node(
            "RNN", *arguments, *initial, outputs=2, activations=["Relu" if mode == "RNN_RELU" else "Tanh"], **options
        )
    return [g.node("Reshape", y, g.integers([-1, hidden]))]


def _by_gate(weight: np.ndarray, mode: str, hidden: int) -> np.ndarray:
    return np.concatenate([weight[i * hidden : (i + 1) * hidden] for i in GATES[mode]])


# Where the functions are looked up when a model runs, and so have to be replaced: (namespace, name) and the function.
PATCHED = {
    (space, name): value
    for space in (F, attention, rnn, *(cls for cls in vars(pooling).values() if isinstance(cls, type)))
    for name, value in vars(space).items()
    if isinstance(function_of(value), FunctionType) and value in onnx_function_rule
}
