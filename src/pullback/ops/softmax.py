"""``softmax``, ``log_softmax``, ``softmin`` and ``gumbel_softmax``.

The maximum is subtracted before anything is exponentiated, which changes nothing but keeps the exponentials finite.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .. import kernels
from ..base.dtypes import FLOAT32, FLOAT64, as_dtype
from ..base.layout import as_contiguous
from ..core import op, record
from ..core.level import sample
from ..core.tensor import Tensor
from . import half
from .activation import floats
from .convert import cast
from .pointwise import exp
from .random import default_generator
from .reduce import sum, sum_array
from .values.meta import Meta
from .view import wrap_dim

__all__ = ["log_softmax", "softmax"]
__all_functional__ = [*__all__, "gumbel_softmax", "softmin"]


def max_keepdim(x: np.ndarray, dim: int) -> np.ndarray:
    """The maximum along a dimension, which is kept; NaN where there is one."""
    if dim != x.ndim - 1 or x.size < 512 or not x.flags.c_contiguous:
        return np.maximum.reduce(x, dim, keepdims=True)
    n = x.shape[-1]  # argmax is vectorized along rows, maximum.reduce is not
    at = x.reshape(-1, n).argmax(1)
    at += np.arange(0, x.size, n)
    return x.reshape(-1).take(at).reshape(*x.shape[:-1], 1)


def _softmax_array(input: np.ndarray, dim: int, log: bool) -> np.ndarray:
    fast = kernels.run("softmax", "softmax", input.size, input, dim, log)
    if fast is not None:
        return fast
    if input.size == 0:
        return input.copy()
    input = as_contiguous(input)
    dims = (dim,) if input.ndim else ()
    e = np.asarray(input - max_keepdim(input, dim))
    if log:
        e -= np.log(sum_array(np.exp(e), dims, True))
    else:
        np.exp(e, out=e)
        e /= sum_array(e, dims, True)
    return e


@half.general(name="softmax", method=False, dims=("dim",))
def _softmax(input: Tensor, dim: int) -> Tensor:
    return _softmax_array(input, dim, False)


def _softmax_vjp(g: Any, out: Any, dim: int) -> Any:
    if g.__class__ is out.__class__ is np.ndarray:
        fast = kernels.run("softmax", "softmax_backward", g.size, g, out, dim)
        if fast is not None:
            return fast
    weighted = g * out
    return weighted - out * sum(weighted, dim, True)


_softmax.vjp(input=_softmax_vjp)


@half.general(name="log_softmax", method=False, dims=("dim",))
def _log_softmax(input: Tensor, dim: int) -> Tensor:
    return _softmax_array(input, dim, True)


def _log_softmax_vjp(g: Any, out: Any, dim: int) -> Any:
    if g.__class__ is out.__class__ is np.ndarray:
        fast = kernels.run("softmax", "softmax_backward", g.size, g, out, dim, True)
        if fast is not None:
            return fast
    return g - exp(out) * sum(g, dim, True)


_log_softmax.vjp(input=_log_softmax_vjp)


def _prepare_input(input: Tensor, dim: int | None, dtype: Any, name: str) -> tuple[Tensor, int]:
    """The input, cast to ``dtype``, and the dimension."""
    rank = input._array.ndim
    if dim is None:
        warnings.warn(
            f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
            "argument.",
            UserWarning,
            stacklevel=3,
        )
        dim = 0 if rank in (0, 1, 3) else 1
    if dtype is not None:
        d = as_dtype(dtype).numpy
        input = cast(input, d) if input._array.dtype != d else input
    if input._array.dtype is not FLOAT32 and input._array.dtype is not FLOAT64:
        floats(f"{name.replace('softmin', 'softmax')}_lastdim_kernel_impl")(input)
    return input, wrap_dim(dim, rank)


@op.composite
def softmax(
    input: Tensor, dim: int | None = None, dtype: Any = None, *, _stacklevel: int = 3, out: Any = None
) -> Tensor:
    """``exp(input) / sum(exp(input))`` along a dimension.

    The maximum is subtracted first, which changes nothing but keeps the exponentials finite.

    Args:
        input: any shape, floating-point.
        dim: the dimension whose elements sum to 1.
        dtype: convert to this type first.

    >>> import pullback as torch
    >>> torch.softmax(torch.tensor([0.0, 0.0, 1000.0]), dim=0)
    tensor([0., 0., 1.])
    """
    return _softmax(*_prepare_input(input, dim, dtype, "softmax"), out=out)


@op.composite
def log_softmax(
    input: Tensor, dim: int | None = None, dtype: Any = None, *, _stacklevel: int = 3, out: Any = None
) -> Tensor:
    """``log(softmax(input, dim))``, without the rounding error of taking the logarithm of a softmax.

    >>> import pullback as torch
    >>> torch.log_softmax(torch.tensor([0.0, 1000.0]), dim=0)
    tensor([-1000.,     0.])
    """
    return _log_softmax(*_prepare_input(input, dim, dtype, "log_softmax"), out=out)


def softmin(input: Tensor, dim: int | None = None, dtype: Any = None, *, _stacklevel: int = 3) -> Tensor:
    """``softmax(-input, dim)``.

    >>> import pullback as torch
    >>> torch.nn.functional.softmin(torch.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    input, dim = _prepare_input(input, dim, dtype, "softmin")
    return _softmax(-input, dim)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Samples from a relaxed categorical distribution (Jang et al. 2016; Maddison et al. 2016).

    Args:
        logits: unnormalized log-probabilities.
        tau: temperature.
        hard: one-hot samples, whose gradient is that of the soft ones.
        dim: the dimension of the categories.

    >>> import pullback as torch
    >>> torch.nn.functional.gumbel_softmax(torch.tensor([0.0, 100.0]), hard=True)
    tensor([0., 1.])
    """
    d = logits._array.dtype
    shape = logits._array.shape
    drawn = Meta(shape, d) if logits.is_meta else sample(shape, lambda shape: default_generator.exponential(shape, d))
    soft = softmax((logits - record.wrap(drawn).log()) / tau, dim)
    if not hard:
        return soft
    plain = soft.detach()
    return plain.new_zeros(plain.shape).scatter(dim, plain.argmax(dim, True), 1.0) - plain + soft
