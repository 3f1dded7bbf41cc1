"""``torch.nn.parallel``: modules of which several processes, or devices, compute parts of a batch."""

from __future__ import annotations

from ..nn.data_parallel import DataParallel
from .data_parallel import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel"]
__path__: list[str] = []  # a package in PyTorch: `torch.nn.parallel.distributed` is found by its address
