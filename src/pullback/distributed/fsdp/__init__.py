"""``torch.distributed.fsdp``: parameters, gradients and optimizer state cut into parts, one for each rank."""

# ruff: noqa: F403

from . import wrap
from .fully_shard import *
from .fully_shard import __all__ as _fully_shard
from .wrapper import *
from .wrapper import __all__ as _wrapper

__all__ = ["wrap", *_fully_shard, *_wrapper]
