"""``torch.cuda.nccl``: collectives between GPUs, unavailable."""

from __future__ import annotations

from typing import Any

from ..unavailable import refusing

_REFUSED = "all_gather all_reduce broadcast init_rank reduce reduce_scatter unique_id version".split()
__all__ = ["is_available", *_REFUSED]


def is_available(tensors: Any) -> bool:
    """False."""
    return False


globals().update({n: refusing(n, lambda: RuntimeError("PyTorch is not compiled with NCCL support")) for n in _REFUSED})
