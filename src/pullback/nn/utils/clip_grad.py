"""Gradient clipping by norm or value, in place (Pascanu et al. 2013)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from types import GeneratorType
from typing import Any

from ...base.thread_state import no_grad
from ...core.tensor import Tensor
from ...ops.concat import stack
from ...ops.create import tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

Tensors = Tensor | Iterable[Tensor]


def _gradients(parameters: Tensors) -> list[Tensor]:
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p.grad for p in parameters if p.grad is not None]


@no_grad()
def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all elements of all tensors, as if they stood in one vector.

    Args:
        tensors: one or several, of any shapes. norm_type: the norm; may be ``inf``.
        error_if_nonfinite: raise RuntimeError if the norm is infinite or NaN.
        foreach: accepted; changes nothing.

    >>> import pullback as torch
    >>> torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([[4.0]])])
    tensor(5.)
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return tensor(0.0)
    total = stack([t.norm(norm_type) for t in tensors]).norm(norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Multiply the gradients of the parameters by ``max_norm / total_norm`` where that is less than 1."""
    scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for grad in _gradients(parameters):
        grad.mul_(scale)


@no_grad()
def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients of the parameters down, if need be, to a total norm of ``max_norm``.

    Args:
        parameters: one or several; those without gradient don't count. max_norm: the largest norm to allow.
        norm_type, error_if_nonfinite, foreach: as :func:`get_total_norm` has them.

    Returns:
        the norm before.

    >>> import pullback as torch
    >>> w = torch.zeros(2, requires_grad=True)
    >>> (w * torch.tensor([3.0, 4.0])).sum().backward()
    >>> torch.nn.utils.clip_grad_norm_(w, 1.0), w.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    if not isinstance(parameters, Tensor):
        used_up, parameters = isinstance(parameters, GeneratorType), list(parameters)
        if used_up and not parameters:
            warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_norm(*args: Any, **kwargs: Any) -> Tensor:
    """:func:`clip_grad_norm_` under its old name."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(*args, **kwargs)


@no_grad()
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp every element of the parameters' gradients to ``[-clip_value, clip_value]``.

    >>> import pullback as torch
    >>> w = torch.zeros(2, requires_grad=True)
    >>> (w * torch.tensor([3.0, -4.0])).sum().backward()
    >>> torch.nn.utils.clip_grad_value_(w, 3.5); w.grad
    tensor([ 3.0000, -3.5000])
    """
    for grad in _gradients(parameters):
        grad.clamp_(-float(clip_value), float(clip_value))
