"""``torch.distributed.rpc``: remote procedure calls, unavailable.

>>> import pullback as torch
>>> import pullback.distributed.rpc as rpc
>>> rpc.is_available()
False
"""

from __future__ import annotations


def is_available() -> bool:
    """Whether it is there: no."""
    return False


__all__ = ["is_available"]
