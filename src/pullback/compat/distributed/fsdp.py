"""``torch.distributed.fsdp``: the class for ``isinstance``, which no module is an instance of."""

from __future__ import annotations

from typing import Any

from ...base.errors import no_process_group
from ...nn.modules.module import Module

__all__ = ["FSDPModule", "FullyShardedDataParallel"]


class FSDPModule:
    """The class that ``fully_shard`` would give a module."""

    def __new__(cls, *args: Any, **kwargs: Any) -> FSDPModule:
        raise no_process_group()


class FullyShardedDataParallel(Module):
    """A module around one whose parameters are split."""

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise no_process_group()
