"""``torch.distributed.autograd``: gradients across processes, unavailable.

>>> import pullback as torch
>>> import pullback.distributed.autograd as dist_autograd
>>> dist_autograd.is_available()
False
"""

from __future__ import annotations


def is_available() -> bool:
    """Whether it is there: no."""
    return False


__all__ = ["is_available"]
