"""Functions of one number, and choices between two."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import op
from ..dtypes import FLOATING
from ..tensor import Tensor


@op.elementwise(by=np.exp, to=FLOATING, inplace=True)
def exp(input: Tensor) -> Tensor:
    """``e ** input``. Derivative: the result itself."""


exp.vjp(input=lambda g, out: g * out)


@op.elementwise(by=np.log, to=FLOATING, inplace=True)
def log(input: Tensor) -> Tensor:
    """Natural logarithm; NaN for negative numbers. Derivative: ``1 / input``."""


log.vjp(input=lambda g, input: g / input)


@op.elementwise(by=np.reciprocal, to=FLOATING, inplace=True)
def reciprocal(input: Tensor) -> Tensor:
    """``1 / input``. Derivative: ``-out ** 2``."""


reciprocal.vjp(input=lambda g, out: -g * (out * out))


@op.elementwise(by=np.floor, inplace=True)
def floor(input: Tensor) -> Tensor:
    """The largest integer not above. Derivative: 0."""


floor.vjp(input=lambda g: g * 0)


@op.elementwise(by=np.trunc, inplace=True)
def trunc(input: Tensor) -> Tensor:
    """Rounded to zero. Derivative: 0."""


trunc.vjp(input=lambda g: g * 0)


@op.elementwise(by=np.tanh, to=FLOATING, inplace=True)
def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent. Derivative: ``1 - out ** 2``."""


tanh.vjp(input=lambda g, out: g * (1 - out * out))


@op.elementwise(name="where", method=False)
def _where(condition: Any, input: Tensor, other: Tensor) -> Tensor:
    return np.where(condition, input, other)


_where.vjp(input=lambda g, condition: where(condition, g, 0), other=lambda g, condition: where(condition, 0, g))


def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """``input`` where the condition holds, ``other`` elsewhere."""
    return _where(condition._array if isinstance(condition, Tensor) else condition, input, other)
