"""Reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import op
from ..tensor import Tensor
from .view import expand, reshape


@op.general(node="SumBackward0", method=False)
def sum_all(input: Tensor) -> Tensor:
    """The sum of all elements."""
    return np.add.reduce(input, axis=None)


sum_all.vjp(input=lambda g, input_shape: expand(g, input_shape))


@op.general(node="SumBackward1", method=False)
def sum_dims(input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    return np.add.reduce(input, axis=dim, keepdims=keepdim)


sum_dims.vjp(input=lambda g, input_shape, dim, keepdim: spread(g, input_shape, dim, keepdim))


def spread(g: Any, shape: tuple[int, ...], dim: tuple[int, ...], keepdim: bool) -> Any:
    """The gradient of a reduction's result, laid over the reduced dimensions again."""
    if not keepdim:
        full = list(shape)
        for d in dim:
            full[d] = 1
        g = reshape(g, full)
    return expand(g, shape)


def sum_to(g: Any, shape: tuple[int, ...]) -> Any:
    """Sum over the dimensions that broadcasting to ``g`` made or stretched."""
    lead = len(g.shape) - len(shape)
    stretched = tuple(i + lead for i, n in enumerate(shape) if n == 1 and g.shape[i + lead] != 1)
    if lead or stretched:
        g = sum_dims(g, tuple(range(lead)) + stretched, True)
    return reshape(g, shape) if lead else g


@op.composite
def sum(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    if dim is None:
        return sum_all(input)
    n = len(input.shape)
    dim = tuple(d % n for d in ((dim,) if isinstance(dim, int) else dim))
    return sum_dims(input, dim, keepdim)
