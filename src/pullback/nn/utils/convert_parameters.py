"""``parameters_to_vector`` and ``vector_to_parameters``."""

from __future__ import annotations

from collections.abc import Iterable

from ...core.tensor import Tensor
from ...ops.concat import cat

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters in a row, recorded as any operation is.

    >>> import pullback as torch
    >>> torch.nn.utils.parameters_to_vector([torch.zeros(2), torch.ones(1, 1)])
    tensor([0., 0., 1.])
    """
    return cat([p.view(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make the parameters views of consecutive parts of ``vec``, without history."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for p in parameters:
        p.data = vec[start : start + p.numel()].view_as(p).data
        start += p.numel()
