"""Bessel functions ``i0``, ``i1``, ``bessel_j0``, ``modified_bessel_k0``, ... and ``airy_ai``, any derivative of them.

Derivatives follow from the recurrences (DLMF, chapters 9 and 10); see :mod:`pullback.ops.special`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.dtypes import FLOATING
from ..core import inplace, op
from ..core.tensor import Tensor
from .lookup_tables import MANY, LookupTable
from .pointwise import sign
from .special import _as_floating, from_scipy

__all__ = ["i0"]
__all_special__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
]

# scipy's names for the orders 0, 1 and any; the factors of the next lower and next higher order in the derivative
# (DLMF 10.6.1, 10.29.1).
CYLINDERS = {
    "j": ("j0", "j1", "jv", 0.5, -0.5),
    "y": ("y0", "y1", "yv", 0.5, -0.5),
    "i": ("i0", "i1", "iv", 0.5, 0.5),
    "k": ("k0", "k1", "kv", -0.5, -0.5),
    "ie": ("i0e", "i1e", "ive", 0.5, 0.5),  # exp(-abs(x)) times i
    "ke": ("k0e", "k1e", "kve", -0.5, -0.5),  # exp(x) times k
}
_of_order = {name: from_scipy(name, f"{name}_vml_cpu") for row in CYLINDERS.values() for name in row[:3]}


def _by_scipy(kind: str, order: int, x: Any) -> Any:
    names = CYLINDERS[kind]
    if order < 2:
        value = _of_order[names[order]](x)
        if kind == "i" and not (finite := np.isfinite(value)).all():
            value = np.where(finite, value, _unscaled(kind, order, x))
        return value
    if kind in ("i", "k"):
        return _unscaled(kind, order, x)
    value = _of_order[names[2]](np.asarray(order, x.dtype), x)
    if kind in ("ie", "ke"):  # where scipy returns NaN, the order hardly matters any more
        value = np.where(np.abs(x) > 1e9, _by_scipy(kind, order % 2, x), value)
    return value


def _unscaled(kind: str, order: int, x: Any) -> Any:
    """i or k from its scaled form, in two steps: scipy's own over- and underflow before the values do."""
    x = np.clip(x, -1000, 1000)
    root = np.exp((np.abs(x) if kind == "i" else -x) / 2)
    return _by_scipy(kind + "e", order, x) * root * root


@functools.cache
def _tabulated(kind: str, order: int) -> Callable:
    function = functools.partial(_by_scipy, kind, order)
    if kind != "ie":
        return LookupTable(function, -16, 16)

    def smooth(x: Any) -> Any:  # across 0, where exp(-abs(x)) has a kink
        return np.where(x < 0, (-1) ** order * np.exp(-2 * x) * function(-x), function(x))

    table = LookupTable(smooth, 0, 16)

    def even_or_odd(x: Any) -> Any:
        return np.copysign(table(np.abs(x)), x) if order % 2 else table(np.abs(x))

    return lambda x: function(x) if x.size < MANY or x.dtype != np.float32 else even_or_odd(x)


@op.general(method=False, node="SpecialBesselBackward0", check_out=inplace.castable, scalar="cylinder")
def cylinder(input: Tensor, kind: str, order: int) -> Tensor:
    """A Bessel function of integer order; ``kind`` is a key of CYLINDERS."""
    value = _tabulated(kind, order)(input) if order <= 2 and kind in ("i", "j", "ie") else _by_scipy(kind, order, input)
    return value.astype(input.dtype, copy=False)


def _cylinder_vjp(g: Any, input: Any, out: Any, kind: str, order: int) -> Any:
    *_, below, above = CYLINDERS[kind]
    slope = cylinder(input, kind, order + 1) * (above if order else 2 * above)
    if order:  # order -1 is order 1 up to the sign
        slope = slope + cylinder(input, kind, order - 1) * below
    if kind == "ie":
        slope = slope - sign(input) * out
    elif kind == "ke":
        slope = slope + out
    return g * slope


cylinder.vjp(input=_cylinder_vjp)


@op.elementwise(numpy_impl=_tabulated("i", 0), result_category=FLOATING, inplace=True, scalar="i0")
def i0(input: Tensor) -> Tensor:
    """Modified Bessel function of the first kind, of order 0. Derivative: order 1.

    >>> import pullback as torch
    >>> torch.i0(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])
    """


@op.elementwise(
    numpy_impl=_tabulated("ie", 0),
    result_category=FLOATING,
    method=False,
    node="SpecialI0EBackward0",
    scalar="i0e",
)
def i0e(input: Tensor) -> Tensor:
    """``exp(-abs(input)) * i0(input)``.

    >>> import pullback as torch
    >>> torch.special.i0e(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 0.4658])
    """


@op.elementwise(
    numpy_impl=_tabulated("i", 1),
    result_category=FLOATING,
    method=False,
    node="SpecialI1Backward0",
    scalar="i1",
)
def i1(input: Tensor) -> Tensor:
    """Modified Bessel function of the first kind, of order 1.

    >>> import pullback as torch
    >>> torch.special.i1(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.5652])
    """


@op.elementwise(
    numpy_impl=_tabulated("ie", 1),
    result_category=FLOATING,
    method=False,
    node="SpecialI1EBackward0",
    scalar="i1e",
)
def i1e(input: Tensor) -> Tensor:
    """``exp(-abs(input)) * i1(input)``.

    >>> import pullback as torch
    >>> torch.special.i1e(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2079])
    """


i0.vjp(input=lambda g, input: _cylinder_vjp(g, input, None, "i", 0))
i1.vjp(input=lambda g, input: _cylinder_vjp(g, input, None, "i", 1))
i0e.vjp(input=lambda g, input, out: _cylinder_vjp(g, input, out, "ie", 0))
i1e.vjp(input=lambda g, input, out: _cylinder_vjp(g, input, out, "ie", 1))


def bessel_j0(input: Tensor, *, out: Any = None) -> Tensor:
    """Bessel function of the first kind, of order 0.

    PyTorch has no derivatives of this and the following functions; Pullback has.

    >>> import pullback as torch
    >>> torch.special.bessel_j0(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 0.7652])
    """
    return cylinder(_as_floating(input), "j", 0, out=out)


def bessel_j1(input: Tensor, *, out: Any = None) -> Tensor:
    """Bessel function of the first kind, of order 1.

    >>> import pullback as torch
    >>> torch.special.bessel_j1(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.4401])
    """
    return cylinder(_as_floating(input), "j", 1, out=out)


def bessel_y0(input: Tensor, *, out: Any = None) -> Tensor:
    """Bessel function of the second kind, of order 0; minus infinity at 0, NaN below.

    >>> import pullback as torch
    >>> torch.special.bessel_y0(torch.tensor([0.0, 1.0]))
    tensor([  -inf, 0.0883])
    """
    return cylinder(_as_floating(input), "y", 0, out=out)


def bessel_y1(input: Tensor, *, out: Any = None) -> Tensor:
    """Bessel function of the second kind, of order 1; minus infinity at 0, NaN below.

    >>> import pullback as torch
    >>> torch.special.bessel_y1(torch.tensor([0.0, 1.0]))
    tensor([   -inf, -0.7812])
    """
    return cylinder(_as_floating(input), "y", 1, out=out)


def modified_bessel_k0(input: Tensor, *, out: Any = None) -> Tensor:
    """Modified Bessel function of the second kind, of order 0; infinite at 0, NaN below.

    >>> import pullback as torch
    >>> torch.special.modified_bessel_k0(torch.tensor([0.0, 1.0]))
    tensor([   inf, 0.4210])
    """
    return cylinder(_as_floating(input), "k", 0, out=out)


def modified_bessel_k1(input: Tensor, *, out: Any = None) -> Tensor:
    """Modified Bessel function of the second kind, of order 1; infinite at 0, NaN below.

    >>> import pullback as torch
    >>> torch.special.modified_bessel_k1(torch.tensor([0.0, 1.0]))
    tensor([   inf, 0.6019])
    """
    return cylinder(_as_floating(input), "k", 1, out=out)


def scaled_modified_bessel_k0(input: Tensor, *, out: Any = None) -> Tensor:
    """``exp(input)`` times :func:`modified_bessel_k0`.

    >>> import pullback as torch
    >>> torch.special.scaled_modified_bessel_k0(torch.tensor([0.0, 1.0]))
    tensor([   inf, 1.1445])
    """
    return cylinder(_as_floating(input), "ke", 0, out=out)


def scaled_modified_bessel_k1(input: Tensor, *, out: Any = None) -> Tensor:
    """``exp(input)`` times :func:`modified_bessel_k1`.

    >>> import pullback as torch
    >>> torch.special.scaled_modified_bessel_k1(torch.tensor([0.0, 1.0]))
    tensor([   inf, 1.6362])
    """
    return cylinder(_as_floating(input), "ke", 1, out=out)


_airy = from_scipy("airy")


@op.general(method=False, node="SpecialAiryAiBackward0", check_out=inplace.castable)
def derived_airy(input: Tensor, order: int) -> Tensor:
    """The Airy function Ai (order 0) or its derivative (order 1)."""
    x = np.minimum(input, 1000)  # the value is 0 there; far beyond, scipy returns NaN
    return np.asarray(_airy(x)[order]).astype(input.dtype, copy=False)


def _airy_vjp(g: Any, input: Any, order: int) -> Any:
    return g * (input * derived_airy(input, 0) if order else derived_airy(input, 1))  # Ai'' = x Ai, DLMF 9.2


derived_airy.vjp(input=_airy_vjp)


def airy_ai(input: Tensor, *, out: Any = None) -> Tensor:
    """Airy function Ai.

    >>> import pullback as torch
    >>> torch.special.airy_ai(torch.tensor([0.0, 1.0]))
    tensor([0.3550, 0.1353])
    """
    return derived_airy(_as_floating(input), 0, out=out)


modified_bessel_i0, modified_bessel_i1 = i0, i1
