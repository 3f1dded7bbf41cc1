"""Complex numbers: parts, conjugates, and the real views of complex tensors."""

from __future__ import annotations

import numpy as np

from .. import op
from ..tensor import Tensor


def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex."""
    return input.dtype.kind == "c" if isinstance(input, np.ndarray) else isinstance(input, Tensor) and input.dtype.is_complex


@op.elementwise(name="conj", holomorphic=False, method=False)
def _conj(input: Tensor) -> Tensor:
    return np.conjugate(input)


_conj.vjp(input=lambda g: conj(g))


def conj(input: Tensor) -> Tensor:
    """Complex conjugate; the tensor itself where it is real."""
    return _conj(input) if is_complex(input) else input


@op.view(holomorphic=False, method=False)
def real(input: Tensor) -> Tensor:
    """The real part, sharing memory; the tensor itself where it is real."""
    return input.real


real.vjp(input=lambda g: g)
