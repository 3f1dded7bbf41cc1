"""Helpers for parameters: broadcasting, probs and logits, lazy properties.

PyTorch's address for most of this is ``torch.distributions.utils``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Generic, TypeVar

from ..base import thread_state
from ..base.dtypes import finfo, get_default_dtype
from ..base.errors import with_notes
from ..base.shape import Size
from ..base.thread_state import enable_grad
from ..core.level import batches_in, concrete_array
from ..core.override import is_tensor_like
from ..core.tensor import Tensor
from ..ops.create import tensor
from ..ops.random import randn
from ..ops.ranges import arange
from ..ops.softmax import softmax
from ..ops.view import broadcast_tensors

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

R_co = TypeVar("R_co", covariant=True)
NUMBER = (bool, int, float)
euler_constant = 0.57721566490153286060  # Euler and Mascheroni's


def holds(condition: Tensor) -> bool:
    """Whether a condition is true everywhere; under ``vmap`` for every example."""
    batched = thread_state.slow_path_reasons and batches_in(condition._array)
    return bool(concrete_array(condition._array).all() if batched else condition.all())


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Numbers and tensors as tensors of one shape; numbers get the type of the first tensor, else the default one.

    Raises:
        ValueError: for anything else.

    >>> import pullback as torch
    >>> torch.distributions.utils.broadcast_all(torch.zeros(2), 1.0)
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    if not all(isinstance(v, NUMBER) or is_tensor_like(v) for v in values):
        raise with_notes(
            ValueError(
                "Input arguments must all be instances of Number, torch.Tensor or objects implementing "
                "__torch_function__."
            ),
            f"They are: {', '.join(type(v).__name__ for v in values)}.",
        )
    dtype = next((v.dtype for v in values if not isinstance(v, NUMBER)), None) or get_default_dtype()
    return broadcast_tensors(*(tensor(v, dtype=dtype) if isinstance(v, NUMBER) else v for v in values))


def sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last ``dim`` dimensions."""
    return value.flatten(-dim).sum(-1) if dim else value


def standard_normal(shape: Size, like: Tensor) -> Tensor:
    """Standard normal numbers of the type of ``like``."""
    return like.new_empty(shape).normal_()


# --- probabilities and logits -------------------------------------------------------------------------------


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from log odds (binary), or from logarithms of weights along the last dimension."""
    return logits.sigmoid() if is_binary else softmax(logits, -1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities at least ``eps`` of their type away from 0 and 1."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log odds of probabilities (binary), or their logarithms; kept finite by :func:`clamp_probs`."""
    probs = clamp_probs(probs)
    return probs.log() - (-probs).log1p() if is_binary else probs.log()


class lazy_property(Generic[R_co]):
    """A property that is computed once, with grad enabled in any mode, and then stored as an attribute."""

    def __init__(self, wrapped: Callable[[Any], R_co]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: type | None = None) -> R_co:
        if instance is None:
            return self  # type: ignore[return-value]
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


# --- triangles as vectors -----------------------------------------------------------------------------------


def _tril_mask(n: int, diag: int) -> Tensor:
    return arange(n) <= arange(n).view(-1, 1) + diag


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements of square matrices on and below a diagonal, row after row.

    Raises:
        ValueError: there is no such diagonal.
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _tril_mask(n, diag)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The square matrices of which :func:`tril_matrix_to_vec` gives ``vec``; 0 above the diagonal.

    Raises:
        ValueError: no size of matrix has that many such elements.
    """
    # n rows with a triangle of length vec.shape[-1]: the positive root of n**2 + (1 + 2 diag) n - |diag| (diag + 1) = 2
    # length
    length, half = vec.shape[-1], 1 + 2 * diag
    n = round((math.sqrt(half * half + 8 * length + 4 * abs(diag) * (diag + 1)) - half) / 2)
    if n * n + half * n - abs(diag) * (diag + 1) != 2 * length:
        raise ValueError(
            f"The size of last dimension is {length} which cannot be expressed as the lower triangular part of a "
            "square D x D matrix."
        )
    mat = vec.new_zeros(vec.shape[:-1] + (n, n))
    mat[..., _tril_mask(n, diag)] = vec
    return mat


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Standard normal numbers; PyTorch's private function, which third-party distributions use."""
    return randn(shape, dtype=dtype, device=device)


_sum_rightmost = sum_rightmost
