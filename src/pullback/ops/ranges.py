"""``arange``, ``linspace``, ``logspace``, ``eye``, ``vander``, ``tril_indices`` and ``triu_indices``."""

from __future__ import annotations

import math
import operator
import warnings
from typing import Any

import numpy as np

from ..base import dtypes
from ..base.device import CPU, check_device
from ..base.dtypes import FLOATING, INT64, as_dtype, cast_number, check_numbers
from ..core.tensor import Tensor
from ..kernels.rounding import fused
from .create import as_number, fill_given, kind_given, new_leaf, strided_only, write_made
from .values.meta import Meta, on_meta

__all__ = ["arange", "eye", "linspace", "logspace", "range", "tril_indices", "triu_indices", "vander"]


EXACT = {dtypes.float32: 1 << 24, dtypes.float64: 1 << 53}  # up to where integers are numbers of the type


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
    strided_only(layout, "arange.start_out")
    dtype, device = kind_given(out, dtype, device)
    start, end, step = as_number(start), as_number(end), as_number(step)
    if end is None:
        start, end = 0, start
    integral = start.__class__ is end.__class__ is step.__class__ is int
    for name, value in () if integral else (("end", end), ("start", start), ("step", step)):
        if isinstance(value, complex):
            raise RuntimeError("value cannot be converted to type double without overflow")
        if not isinstance(value, (int, float)):
            raise TypeError(f"arange(): argument '{name}' must be Number, not {type(value).__name__}")
    if step == 0:
        raise (RuntimeError if out is None else ValueError)("step must be nonzero")
    if not (abs(start) < math.inf and abs(end) < math.inf):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    integral = integral or all(isinstance(v, int) for v in (start, end, step))
    d = (dtypes.int64 if integral else dtypes.get_default_dtype()) if dtype is None else as_dtype(dtype)
    _refuse_type("arange", d, dtypes.BOOL, dtypes.COMPLEX)
    for value in (start, end, step) if d.category < FLOATING else ():
        cast_number(value, INT64)
    a: Any
    if on_meta(device):
        a = Meta((-((start - end) // step) if integral else math.ceil((end - start) / step),), d.numpy)
    elif integral:
        exact = max(abs(start), abs(end), abs(step)) < EXACT.get(d, 0)
        a = np.arange(start, end, step, d.numpy) if exact else np.arange(start, end, step).astype(d.numpy, copy=False)
    else:
        a = (start + np.arange(math.ceil((end - start) / step)) * step).astype(d.numpy)
    t = new_leaf(a, requires_grad, device=device)
    if out is None:
        return t
    if isinstance(out, Tensor) and out._array.size not in (0, a.size):
        warnings.warn(
            f"The number of elements in the out tensor of shape {list(out.shape)} is {out._array.size} which does not "
            f"match the computed number of elements {a.size}: it becomes a tensor of shape {[a.size]}.",
            stacklevel=2,
        )
    return write_made(out, t, "arange")


def range(start: Any = 0, end: Any = None, step: Any = 1, **kwargs: Any) -> Tensor:
    """Like :func:`arange`, in floats and with the end included (deprecated in PyTorch)."""
    if end is None:
        raise TypeError('range() missing 1 required positional arguments: "end"')
    out, given = kwargs.get("out"), kwargs.get("dtype")
    if out is None and given is None:
        kwargs["dtype"] = dtypes.get_default_dtype()
    else:
        _refuse_type("range", as_dtype(given) if out is None else out.dtype, dtypes.BOOL, dtypes.COMPLEX)
    return arange(start, end + step * 0.5, step, **kwargs)


def _refuse_type(name: str, d: Any, *categories: int) -> None:
    """Refuse a type of numbers that there is no such range of."""
    if d.category in categories or d.numpy in dtypes.NARROW:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{dtypes.type_name(d)}'")


def _check_steps(start: Any, end: Any, steps: Any) -> int:
    try:
        count = operator.index(steps)
    except TypeError:
        given = ", ".join(type(v).__name__ for v in (start, end, steps))
        raise TypeError(f"received an invalid combination of arguments - got ({given})\n  steps must be int") from None
    if count < 0:
        raise RuntimeError("number of steps must be non-negative")
    return count


def _check_ends(name: str, start: Any, end: Any) -> tuple[Any, Any]:
    """The ends of a range as numbers, which may be given as 0-d tensors."""
    shapes = [x._array.ndim if isinstance(x, Tensor) else None for x in (start, end)]
    if any(shapes):
        given = " and ".join(
            f"{end} with {n} dimension(s)" for end, n in zip(("start", "end"), shapes) if n is not None
        )
        raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got {given}.")
    start, end = as_number(start), as_number(end)
    if not all(isinstance(x, (int, float, complex)) for x in (start, end)):
        given = ", ".join(type(x).__name__ for x in (start, end))
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({given}, int)")
    return start, end


def _type_between(name: str, dtype: Any, *ends: Any) -> Any:
    """The type of numbers between these ends."""
    inferred = dtypes.get_default_dtype()
    if any(isinstance(x, complex) for x in ends):
        inferred = inferred.to_complex()
        if dtype is not None and not as_dtype(dtype).is_complex:
            raise RuntimeError(
                f"torch.{name}(): inferred dtype {dtypes.CPP_NAMES[inferred.name]} can't be safely cast to passed "
                f"dtype {dtypes.type_name(as_dtype(dtype))}"
            )
    return inferred if dtype is None else as_dtype(dtype)


def _on_meta(steps: int, d: Any, requires_grad: bool, device: Any, out: Any, name: str) -> Tensor:
    """So many numbers, of which only the type is known."""
    t = new_leaf(Meta((steps,), d.numpy), requires_grad, device=device)
    return t if out is None else write_made(out, t, name)


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
    strided_only(layout, "linspace.out")
    dtype, device = kind_given(out, dtype, device)
    (start, end), steps = _check_ends("linspace", start, end), _check_steps(start, end, steps)
    d = _type_between("linspace", dtype, start, end)
    _refuse_type("linspace", d, dtypes.BOOL)
    start, end = (
        np.asarray(cast_number(v, d.numpy), d.numpy).item() if d.category < FLOATING else v for v in (start, end)
    )
    check_numbers(d.numpy, start, end)
    if on_meta(device):
        return _on_meta(steps, d, requires_grad, device, out, "linspace")
    work = d.numpy if d.category >= FLOATING else np.dtype(np.float64)
    first, last, scalar = work.type(start), work.type(end), work.type
    a = np.full(steps, first, work)
    if steps > 1:
        step, half = scalar((last - first) / scalar(steps - 1)), steps // 2
        line = fused if d in (dtypes.float32, dtypes.float64) else _line  # PyTorch rounds these once, others twice
        a[:half] = line(np.arange(half).astype(work), step, first)
        a[half:] = line(np.arange(steps - 1 - half, -1, -1).astype(work), -step, last)
    t = new_leaf(a.astype(d.numpy), requires_grad, device=device)
    return t if out is None else write_made(out, t, "linspace")


def _line(i: np.ndarray, step: Any, start: Any) -> np.ndarray:
    return i * step + start


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
    """``base`` to the powers ``linspace(start, end, steps)``; of an integer type: between the ends' whole parts.

    >>> import pullback as torch
    >>> torch.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    check_device(device)
    strided_only(layout, "logspace.out")
    dtype, device = kind_given(out, dtype, device)
    start, end = _check_ends("logspace", start, end)
    d = _type_between("logspace", dtype, start, end, base)
    _refuse_type("logspace", d, dtypes.BOOL)
    if d.category < FLOATING:  # as in linspace
        start, end = int(start), int(end)
    if on_meta(device):
        return _on_meta(_check_steps(start, end, steps), d, requires_grad, device, out, "logspace")
    powers = linspace(start, end, steps, dtype=dtypes.float64 if not d.is_complex else d, device=CPU)._array
    t = new_leaf(np.power(base, powers).astype(d.numpy), requires_grad, device=device)
    return t if out is None else write_made(out, t, "logspace")


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
    strided_only(layout, "eye.m_out")
    dtype, device = kind_given(out, dtype, device)
    d = dtypes.get_default_dtype() if dtype is None else as_dtype(dtype)
    if d is dtypes.complex32:
        raise NotImplementedError("\"eye\" not implemented for 'ComplexHalf'")
    for name, k in (("n", n), ("m", m)):
        if k is not None and not isinstance(k, (int, np.integer)):
            raise TypeError(f"eye(): argument '{name}' must be int, not {type(k).__name__}")
        if k is not None and k < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {k}")
    shape = (n, n if m is None else m)
    if out is not None:
        return fill_given(out, shape, lambda o: o.zero_().fill_diagonal_(1), "eye", requires_grad)
    made = Meta(shape, d.numpy) if on_meta(device) else np.eye(*shape, dtype=d.numpy)
    return new_leaf(made, requires_grad, device=device)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Vandermonde matrix: the powers of ``x`` in columns, falling unless ``increasing``."""
    if x._array.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = len(x) if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    powers = arange(n)
    return x.unsqueeze(-1) ** (powers if increasing else powers.flip(0))


def _triangle_indices(name: str, triangle: Any, which: str) -> Any:
    def indices(
        row: int,
        col: int,
        offset: int = 0,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
    ) -> Tensor:
        check_device(device)
        strided_only(layout, name)
        for side, n in (("row", row), ("col", col)):
            if n < 0:
                raise RuntimeError(f"{side} must be non-negative, got{n}")
        d = dtypes.int64 if dtype is None else as_dtype(dtype)
        if d.category != dtypes.INTEGRAL:
            raise NotImplementedError(f"\"{name}\" not implemented for '{dtypes.type_name(d)}'")
        return new_leaf(np.stack(triangle(row, offset, col)).astype(d.numpy), requires_grad, device=device)

    indices.__name__ = indices.__qualname__ = name
    indices.__doc__ = f"Row and column numbers of a matrix's {which} triangle, as a ``2 × n`` tensor."
    return indices


tril_indices = _triangle_indices("tril_indices", np.tril_indices, "lower")
triu_indices = _triangle_indices("triu_indices", np.triu_indices, "upper")
