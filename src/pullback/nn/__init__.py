"""Building blocks of models, at PyTorch's addresses."""

# ruff: noqa: F403

from . import functional, init, modules, parameter, utils
from .modules import *
from .modules import __all__ as _layers
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "functional", "init", "modules",
    "parameter", "utils", *_layers,
]  # fmt: skip
