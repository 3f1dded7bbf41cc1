"""``flip``, ``fliplr``, ``flipud``, ``roll`` and ``rot90``; all results are copies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from operator import index as integer
from typing import Any

import numpy as np

from ..base.layout import as_channels_last, as_contiguous, copy_order
from ..core import op
from ..core.tensor import Tensor
from .concat import FEW
from .view import varargs, wrap_dim

__all__ = ["flip", "fliplr", "flipud", "roll", "rot90"]


@op.general(method=False, holomorphic=False, linear="input", dims=("dims",))
def flip(input: Tensor, dims: Sequence[int]) -> Tensor:
    """The order along these dimensions reversed.

    >>> import pullback as torch
    >>> torch.flip(torch.tensor([[1, 2], [3, 4]]), (1,))
    tensor([[2, 1],
            [4, 3]])
    """
    ways: list[Any] = [slice(None)] * (input.ndim or 1)
    for dim in [dims] if isinstance(dims, int) else dims:
        d = wrap_dim(dim, input.ndim)
        if ways[d].step:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        ways[d] = slice(None, None, -1)
    return input[tuple(ways[: input.ndim])].copy(copy_order(input))


flip.vjp(input=lambda g, dims: flip(g, dims))
varargs(flip, "flip", "dims")


def _reversed(self: Tensor) -> Tensor:
    """``reversed(x)``: the order along dimension 0 reversed."""
    return flip(self, (0,)) if self.ndim else self


op.add_method(_reversed, "__reversed__")


@op.composite
def fliplr(input: Tensor) -> Tensor:
    """Left and right exchanged: dimension 1 reversed."""
    if input._array.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, (1,))


@op.composite
def flipud(input: Tensor) -> Tensor:
    """Up and down exchanged: dimension 0 reversed."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, (0,))


@op.general(holomorphic=False, linear="input")
def roll(input: Tensor, shifts: Any, dims: Any = ()) -> Tensor:
    """Elements moved along dimensions (through the flattened tensor, without ``dims``); what leaves at one end enters
    at the other.

    >>> import pullback as torch
    >>> torch.roll(torch.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    shifts, dims = _as_tuple(shifts), () if dims is None else _as_tuple(dims)
    if input.size <= FEW:
        return as_channels_last(input, input.take(_roll_indices(input.shape, shifts, dims)))
    steps = _roll_steps(input.shape, shifts, dims)
    return (
        as_channels_last(input, as_contiguous(_roll_copy(input, steps)))
        if dims
        else _roll_copy(input.reshape(-1), steps).reshape(input.shape)
    )


def _as_tuple(v: Any) -> tuple[int, ...]:
    return (v,) if isinstance(v, int) else tuple(map(integer, v))


def _roll_steps(shape: tuple[int, ...], shifts: tuple[int, ...], dims: tuple[int, ...]) -> list[tuple[int, int]]:
    """(dimension, shift) pairs."""
    if not shifts:
        raise RuntimeError("`shifts` required")
    if len(shifts) != len(dims) and not (len(shifts) == 1 and not dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if dims and not shape:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return [(s, wrap_dim(d, len(shape))) for s, d in zip(shifts, dims or (0,))]


@lru_cache(64)
def _roll_indices(shape: tuple[int, ...], shifts: tuple[int, ...], dims: tuple[int, ...]) -> np.ndarray:
    """The flat indices of a small tensor's elements after rolling."""
    at = np.arange(prod(shape))
    return _roll_copy(at.reshape(shape) if dims else at, _roll_steps(shape, shifts, dims)).reshape(shape)


def _roll_copy(x: np.ndarray, steps: Sequence[tuple[int, int]]) -> np.ndarray:
    """A copy, rolled along each of these dimensions."""
    out = x
    for shift, d in steps:
        n = x.shape[d]
        cut = -shift % n if n else 0
        if cut:
            before = (slice(None),) * d
            out = np.concatenate((out[(*before, slice(cut, None))], out[(*before, slice(cut))]), d)
    return out.copy() if out is x else out


roll.vjp(input=lambda g, shifts, dims: roll(g, -shifts if isinstance(shifts, int) else [-s for s in shifts], dims))


@op.general(name="rot90", node="Rot90Backward0", holomorphic=False)
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """A quarter turn, ``k`` times, from the first of two dimensions towards the second.

    >>> import pullback as torch
    >>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    first, second = (wrap_dim(d, input.ndim) for d in dims)
    if first == second:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    ways = [slice(None)] * input.ndim
    for d in ((), (second,), (first, second), (first,))[k % 4]:
        ways[d] = slice(None, None, -1)
    turned = input[tuple(ways)].copy(copy_order(input))
    return turned.swapaxes(first, second) if k % 2 else turned


rot90.vjp(input=lambda g, k, dims: rot90(g, -k, dims))
