"""``torch.distributed.nn``: collectives through which gradients flow."""

# ruff: noqa: F403

from . import functional
from .functional import *
from .functional import __all__ as _functional

__all__ = ["functional", *_functional]
