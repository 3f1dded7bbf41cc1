"""``torch.distributed.rpc``: remote procedure calls, unavailable.

>>> import pullback as torch
>>> import pullback.distributed.rpc as rpc
>>> rpc.is_available()
False
"""

from __future__ import annotations

from . import is_available as is_available

__all__ = ["is_available"]
