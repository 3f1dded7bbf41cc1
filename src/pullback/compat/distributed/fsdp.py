"""Modules split among processes, of which there is one: programs ask whether a module is such a one; none is."""

from __future__ import annotations

from typing import Any

from ...base.errors import no_process_group
from ...nn.modules.module import Module

__all__ = ["FSDPModule", "FullyShardedDataParallel"]


class FSDPModule:
    """What ``fully_shard`` would make of a module."""

    def __new__(cls, *args: Any, **kwargs: Any) -> FSDPModule:
        raise no_process_group()


class FullyShardedDataParallel(Module):
    """A module around one whose parameters are split."""

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise no_process_group()
