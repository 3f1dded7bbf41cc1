"""``torch.distributed.distributed_c10d``: PyTorch's address of all that is in ``torch.distributed``."""

# ruff: noqa: F403

from __future__ import annotations

from . import *
from . import __all__ as _all
from .process_group import ProcessGroup
from .world import default_group

__all__ = [*_all]


def _get_default_group() -> ProcessGroup:
    """The group of all ranks."""
    return default_group()
