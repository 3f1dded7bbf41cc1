"""``arange``, ``linspace``, ``logspace``, ``eye``, ``vander``, ``tril_indices`` and ``triu_indices``."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..base import dtypes
from ..base.device import CPU, check_device
from ..base.dtypes import FLOAT32, FLOATING, INT64, as_dtype, cast_number
from ..core import inplace
from ..core.tensor import Tensor
from .create import as_number, new_leaf
from .values.meta import Meta, on_meta

__all__ = ["arange", "eye", "linspace", "logspace", "range", "tril_indices", "triu_indices", "vander"]


def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Values from ``start`` (0) up to but not including ``end``, ``step`` apart.

    Returns:
        int64 if all three are integers, else the default float type.

    >>> import pullback as torch
    >>> torch.arange(1, 2.5, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    if device is not None:
        check_device(device)
    start, end, step = as_number(start), as_number(end), as_number(step)
    if end is None:
        start, end = 0, start
    if step == 0:
        raise (RuntimeError if out is None else ValueError)("step must be nonzero")
    if not (abs(start) < math.inf and abs(end) < math.inf):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    integral = all(isinstance(v, int) for v in (start, end, step))
    d = (dtypes.int64 if integral else dtypes.get_default_dtype()) if dtype is None else as_dtype(dtype)
    for value in (start, end, step) if d.category < FLOATING else ():
        cast_number(value, INT64)
    if integral:
        a = np.arange(start, end, step).astype(d.numpy, copy=False)
    else:
        a = (start + np.arange(math.ceil((end - start) / step)) * step).astype(d.numpy)
    t = new_leaf(a, requires_grad, device=device)
    return t if out is None else inplace.write_out(out, t)


def range(start: Any = 0, end: Any = None, step: Any = 1, **kwargs: Any) -> Tensor:
    """Like :func:`arange`, in floats and with the end included (deprecated in PyTorch)."""
    kwargs.setdefault("dtype", dtypes.get_default_dtype())
    return arange(start, end + step * 0.5, step, **kwargs)


def _check_steps(start: Any, end: Any, steps: Any) -> int:
    try:
        count = operator.index(steps)
    except TypeError:
        given = ", ".join(type(v).__name__ for v in (start, end, steps))
        raise TypeError(f"received an invalid combination of arguments - got ({given})\n  steps must be int") from None
    if count < 0:
        raise RuntimeError("number of steps must be non-negative")
    return count


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``steps`` values at equal distances, both ends included.

    Computed from both ends to the middle, as PyTorch does, so that the ends are exact.

    >>> import pullback as torch
    >>> torch.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    check_device(device)
    start, end, steps = as_number(start), as_number(end), _check_steps(start, end, steps)
    if dtype is None:
        d = dtypes.get_default_dtype()
        d = d.to_complex() if isinstance(start, complex) or isinstance(end, complex) else d
    else:
        d = as_dtype(dtype)
    for value in (start, end):
        cast_number(value, d.numpy)
    work = (
        FLOAT32
        if d.is_floating_point and d.itemsize == 2
        else d.numpy
        if d.category >= FLOATING
        else np.dtype(np.float64)
    )
    scalar = work.type
    i = np.arange(steps)
    if steps <= 1:
        a = np.full(steps, start, work)
    else:
        step = (
            scalar((scalar(end) - scalar(start)) / scalar(steps - 1))
            if d.category >= FLOATING
            else (float(end) - float(start)) / (steps - 1)
        )
        a = np.where(
            i < steps // 2, scalar(start) + step * i.astype(work), scalar(end) - step * (steps - 1 - i).astype(work)
        )
    t = new_leaf(a.astype(d.numpy), requires_grad, device=device)
    return t if out is None else inplace.write_out(out, t)


def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``base`` to the powers ``linspace(start, end, steps)``.

    >>> import pullback as torch
    >>> torch.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    d = dtypes.get_default_dtype() if dtype is None else as_dtype(dtype)
    check_device(device)
    powers = linspace(start, end, steps, dtype=dtypes.float64 if not d.is_complex else d, device=CPU)._array
    t = new_leaf(np.power(base, powers).astype(d.numpy), requires_grad, device=device)
    return t if out is None else inplace.write_out(out, t)


def eye(
    n: int,
    m: int | None = None,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Ones on the diagonal of an ``n × m`` matrix (``m`` default ``n``), zeros elsewhere.

    >>> import pullback as torch
    >>> torch.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    check_device(device)
    d = dtypes.get_default_dtype() if dtype is None else as_dtype(dtype)
    for name, k in (("n", n), ("m", m)):
        if k is not None and k < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {k}")
    t = new_leaf(
        Meta((n, n if m is None else m), d.numpy) if on_meta(device) else np.eye(n, m, dtype=d.numpy),
        requires_grad,
        device=device,
    )
    return t if out is None else inplace.write_out(out, t)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Vandermonde matrix: the powers of ``x`` in columns, falling unless ``increasing``."""
    if x._array.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = len(x) if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    powers = arange(n)
    return x.unsqueeze(-1) ** (powers if increasing else powers.flip(0))


def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, **kwargs: Any
) -> Tensor:
    """Row and column numbers of a matrix's lower triangle, as a ``2 × n`` tensor."""
    check_device(device)
    return new_leaf(
        np.stack(np.tril_indices(row, offset, col)).astype((dtypes.int64 if dtype is None else as_dtype(dtype)).numpy),
        device=device,
    )


def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, **kwargs: Any
) -> Tensor:
    """Row and column numbers of a matrix's upper triangle, as a ``2 × n`` tensor."""
    check_device(device)
    return new_leaf(
        np.stack(np.triu_indices(row, offset, col)).astype((dtypes.int64 if dtype is None else as_dtype(dtype)).numpy),
        device=device,
    )
