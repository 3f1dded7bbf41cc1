"""``linear`` and ``bilinear``: affine maps, the forward of ``nn.Linear`` and ``nn.Bilinear``."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..base import dtypes, thread_state
from ..base.dtypes import FLOAT32, FLOAT64, HALVES, OF_NUMPY
from ..base.errors import with_notes
from ..core import inplace, op
from ..core.tensor import PLAIN_TENSOR_TYPES, Tensor
from ..core.views import gradient_edge, gradient_edge_for_saving
from ..kernels import gemm
from ..kernels.dispatch import as_type, wide
from .einsum import einsum
from .matmul import dtype_error, matmul_arrays, shape_error, with_known_node
from .view import expand, reshape, unsqueeze

__all__ = ["bilinear"]
__all_functional__ = ["bilinear", "linear"]


def _linear_node(input: Any, weight: Any, bias: Any) -> str:
    return "LinearBackward0" if input.ndim != 2 else "MmBackward0" if bias is None else "AddmmBackward0"


BIAS_FIRST = (2, 0, 1)  # as PyTorch's addmm has them, of input, weight, bias


@op.general(
    name="linear",
    node=_linear_node,
    method=False,
    linear="input weight, bias",
    edge_order={"AddmmBackward0": BIAS_FIRST, "MmBackward0": (0, 1)},
)
def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if weight.dtype != input.dtype or bias is not None and bias.dtype != input.dtype:
        if bias is None:
            raise dtype_error(input, weight)
        a, b = (dtypes.type_name(OF_NUMPY[x.dtype]) for x in (bias, weight if weight.dtype != bias.dtype else input))
        raise with_notes(
            RuntimeError(f"self and mat2 must have the same dtype, but got {a} and {b}"), page="different-dtypes"
        )
    if weight.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D")
    if input.dtype in HALVES:
        return as_type(_linear.op.impl(*map(wide, (input, weight, bias))), input.dtype)
    at_once = bias is not None and weight.ndim == 2 and bias.shape == weight.shape[:1]
    try:
        out = np.asarray(matmul_arrays(input, weight.T, bias if at_once else None))
    except ValueError:
        raise shape_error(input, weight.T) from None
    return out if bias is None or at_once else np.add(out, expand(bias, out.shape), out=out)


def _weight_vjp(g: Any, input: Any, weight_shape: tuple[int, ...]) -> Any:
    if len(input.shape) != 2:
        # leading dimensions of g beyond its own: several gradients at once
        count, behind = math.prod(input.shape[:-1]), len(input.shape) + len(weight_shape) - 2
        g = reshape(g, (*g.shape[: len(g.shape) - behind], count, *weight_shape[:-1]))
        input = reshape(input, (count, weight_shape[-1]))
    if len(weight_shape) == 1:
        return g @ input
    return g.mT * input if input.shape[0] == 1 else g.mT @ input  # an outer product, for one sample


_linear.vjp(
    input=lambda g, weight: g @ weight if len(weight.shape) == 2 else unsqueeze(g, -1) * weight,
    weight=_weight_vjp,
    bias=lambda g: g,
)


def _input_gradient(g: Any, weight: Any) -> Any:
    if weight.ndim == 1:
        return g[..., None] * weight
    if g.ndim == 2:
        return gemm.product(g, weight)
    return gemm.product(g.reshape(-1, g.shape[-1]), weight).reshape(*g.shape[:-1], weight.shape[1])


def _weight_gradient(g: Any, input: Any, weight_shape: tuple[int, ...]) -> Any:
    """Never a view, of which a leaf would keep a copy."""
    n = weight_shape[-1]
    gradient = gemm.product(g.reshape(-1, math.prod(weight_shape[:-1])).T, input.reshape(-1, n))
    return gradient if len(weight_shape) == 2 else gradient.reshape(weight_shape)


_linear.op.array_rules = {"input": _input_gradient, "weight": _weight_gradient}
NODES = {name: _linear.op.node_type(name) for name in ("LinearBackward0", "MmBackward0", "AddmmBackward0")}


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Any = None) -> Tensor:
    """``input @ weight.T + bias``.

    Args:
        input: ``(..., n)``.
        weight: ``(m, n)``, or ``(n,)``.
        bias: ``(m,)``.

    Returns:
        ``(..., m)``.

    Raises:
        RuntimeError: for shapes that do not fit and differing dtypes.

    >>> import pullback as torch
    >>> weight, bias = torch.tensor([[1.0, 0.0], [1.0, 1.0]]), torch.tensor([0.5, 0.0])
    >>> torch.nn.functional.linear(torch.tensor([[1.0, 2.0]]), weight, bias)
    tensor([[1.5000, 3.0000]])
    """
    # Fast path, inlined: it decides the cost of a small network's layer.
    try:
        x, w = input._array, weight._array
        d = x.dtype
        if (
            not (d is FLOAT32 or d is FLOAT64)
            or w.dtype is not d
            or w.ndim != 2
            or thread_state.slow_path_reasons
            or thread_state.no_grad_threads
            and thread_state.is_marking_tensors()
            or out is not None
        ):
            return _linear_into(out, input, weight, bias)
        if input.__class__ not in PLAIN_TENSOR_TYPES or weight.__class__ not in PLAIN_TENSOR_TYPES:
            return _linear(input, weight, bias)
        b = None if bias is None else bias._array
        if b is not None and b.dtype is not d:
            return _linear(input, weight, bias)
        product = gemm.product(x, w.T, b) if x.ndim == 2 else matmul_arrays(x, w.T, b)
        e, f, h = (
            gradient_edge_for_saving(input),
            gradient_edge_for_saving(weight),
            None if bias is None else gradient_edge(bias),
        )
    except (AttributeError, ValueError, RuntimeError):
        return _linear_into(out, input, weight, bias)
    saved = (None if e is None else w, None if f is None else x, w.shape)
    return with_known_node(NODES[_linear_node(x, w, bias)], product, (e, f, h), saved)


def _linear_into(out: Any, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    result = _linear(input, weight, bias)
    return result if out is None else inplace.write_out(out, result, "linear")


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``y[o] = x1 @ weight[o] @ x2 + bias[o]``.

    Args:
        input1, input2: ``(..., n)`` and ``(..., m)``, of the same leading dimensions.
        weight: ``(o, n, m)``.
        bias: ``(o,)``.

    Returns:
        ``(..., o)``.

    >>> import pullback as torch
    >>> torch.nn.functional.bilinear(torch.ones(2, 3), torch.ones(2, 4), torch.ones(5, 3, 4)).shape
    torch.Size([2, 5])
    """
    _check_bilinear(*[None if x is None else x._array.shape for x in (input1, input2, weight, bias)])
    out = einsum("...i,oij,...j->...o", input1, weight, input2)
    return out if bias is None else out + bias


@lru_cache(256)
def _check_bilinear(
    a: tuple[int, ...], b: tuple[int, ...], weight: tuple[int, ...], bias: tuple[int, ...] | None
) -> None:
    if len(a) != len(b):
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {len(a)} and {len(b)}")
    for i, (n, m) in enumerate(zip(a[:-1], b[:-1])):
        if n != m:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {i}: got {n} and {m}")
    for name, shape, size in (("input1", a, weight[1]), ("input2", b, weight[2])):
        if shape[-1] != size:
            raise RuntimeError(
                f"bilinear(): {name} size does not match weight size: got {shape[-1]} but expected {size}"
            )
    if bias is not None and bias != weight[:1]:
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {bias[0]} but expected {weight[0]}")
