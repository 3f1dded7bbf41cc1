"""``make_tensor``: random tensors for tests."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from ..base.dtypes import BOOL, COMPLEX, FLOATING, dtype, finfo, iinfo, int64
from ..core.tensor import Tensor
from ..ops.complex import view_as_real
from ..ops.create import empty
from ..ops.random import randint

__all__ = ["make_tensor"]


def make_tensor(
    *shape: Any,
    dtype: dtype,
    device: Any = None,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Random numbers: uniform in ``[low, high)``, integers for integral types.

    Args:
        shape: of the result. dtype: its type. device: the CPU.
        low, high: by default -9 and 9 (10 for integers), 0 and 2 for booleans.
        requires_grad: whether gradients are wanted.
        noncontiguous: leave gaps in memory.
        exclude_zero: replace zeros by the least positive number, or 1.
        memory_format: its memory layout.

    Raises:
        ValueError: no value of the type lies between ``low`` and ``high``, or options contradict each other.

    >>> import pullback as torch
    >>> torch.testing.make_tensor(2, 3, dtype=torch.int64, device="cpu", low=5, high=6)
    tensor([[5, 5, 5],
            [5, 5, 5]])
    """
    size = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    inexact = dtype.category >= FLOATING
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous!r} and memory_format={memory_format!r}"
        )
    if requires_grad and not inexact:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype!r}"
        )
    gaps = noncontiguous and math.prod(size) > 1
    if gaps:
        size = (*size[:-1], 2 * size[-1])
    low, high = _interval(low, high, dtype)
    if inexact:
        result = empty(size, dtype=dtype, device=device)
        numbers = view_as_real(result) if dtype.category == COMPLEX else result
        if high - low >= finfo(dtype).max:
            numbers.uniform_(low / 2, high / 2).mul_(2)
        else:
            numbers.uniform_(low, high)
    else:
        result = randint(int(low), int(high), size, dtype=dtype, device=device)
    if gaps:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = finfo(dtype).tiny if inexact else 1
    return result.requires_grad_(requires_grad) if inexact else result


def _interval(low: float | None, high: float | None, dtype: dtype) -> tuple[float, float]:
    """The interval to draw from: what is asked for, as far as the type goes."""
    if dtype.category == BOOL:
        least, end, default = 0, 2, (0, 2)
    elif dtype.category >= FLOATING:
        least, end, default = finfo(dtype).min, finfo(dtype).max, (-9, 9)  # type: ignore[assignment]
    else:
        least, end, default = iinfo(dtype).min, iinfo(dtype).max + (dtype is not int64), (-9, 10)
    low, high = default[0] if low is None else low, default[1] if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low!r} and high={high!r}")
    if low == high and dtype.category >= FLOATING:
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated "
            "since 2.1 and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=3,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= end:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
            f"[{least}, {end})"
        )
    low, high = (min(max(value, least), end) for value in (low, high))
    return (low, high) if dtype.category >= FLOATING else (math.ceil(low), math.ceil(high))
