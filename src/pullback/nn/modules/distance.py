"""Pairwise distance and cosine similarity."""

from __future__ import annotations

from ...core.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """``‖x1 - x2 + eps‖ₚ`` over the last dimension.

    Args:
        p: the norm. eps: keeps the derivative finite where both are equal. keepdim: leave the dimension, as
            1.

    Shape:
        inputs ``(N, D)`` or ``(D)``, output ``(N)`` or ``()``.

    >>> import pullback as torch
    >>> torch.nn.PairwiseDistance(eps=0)(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]))
    tensor([5.])
    """

    __constants__ = ["norm", "eps", "keepdim"]

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """``x1·x2 / (max(‖x1‖, eps) max(‖x2‖, eps))`` along ``dim``, which goes away.

    >>> import pullback as torch
    >>> torch.nn.CosineSimilarity(dim=0)(torch.tensor([1.0, 0.0]), torch.tensor([2.0, 0.0]))
    tensor(1.)
    """

    __constants__ = ["dim", "eps"]

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
