"""``torch.nn``: modules, parameters, functional forms, initialisation and utilities."""

from typing import TYPE_CHECKING, Any

# ruff: noqa: F403, F405
from . import attention, common_types, functional, grad, init, modules, parameter, utils
from .data_parallel import DataParallel
from .modules import *
from .modules import __all__ as _layers
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    "Buffer",
    "DataParallel",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "attention",
    "common_types",
    "functional",
    "grad",
    "init",
    "modules",
    "parallel",
    "parameter",
    "utils",
    *_layers,
]

if TYPE_CHECKING:
    from . import parallel
else:

    def __getattr__(name: str) -> Any:
        """What only programs of several processes need is imported when asked for: ``torch.nn.parallel``."""
        if name == "parallel":
            from importlib import import_module

            return import_module(f"{__name__}.parallel")
        from ..base.errors import no_attribute

        raise no_attribute(__name__, name)
