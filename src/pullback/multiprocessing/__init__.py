"""``torch.multiprocessing``: Python's ``multiprocessing``, and :func:`spawn`.

Tensors in shared memory (``share_memory_()``) pass through queues, pipes and arguments as they are: what a process
writes into one, the others see. Others pass as copies; PyTorch's would be moved to shared memory.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import *  # noqa: F403

from . import shared as _shared  # noqa: F401  (registers how arrays are passed)
from .spawn import ProcessContext, ProcessExitedException, ProcessRaisedException, SpawnContext, spawn, start_processes

__all__ = [
    *multiprocessing.__all__,
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]


def get_all_sharing_strategies() -> set[str]:
    """The ways in which tensors pass between processes: by copy, under the name of PyTorch's that needs no
    descriptors.
    """
    return {"file_system"}


def get_sharing_strategy() -> str:
    """The way in which they do."""
    return "file_system"


def set_sharing_strategy(new_strategy: str) -> None:
    """Accept PyTorch's names, without effect.

    Raises:
        AssertionError: for another name.
    """
    if new_strategy not in ("file_system", "file_descriptor"):
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {get_all_sharing_strategies()}"
        )
