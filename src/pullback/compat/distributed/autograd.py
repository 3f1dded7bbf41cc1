"""``torch.distributed.autograd``: gradients across processes, unavailable.

>>> import pullback as torch
>>> import pullback.distributed.autograd as dist_autograd
>>> dist_autograd.is_available()
False
"""

from __future__ import annotations

from . import is_available as is_available

__all__ = ["is_available"]
