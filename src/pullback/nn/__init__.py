"""``torch.nn``: modules, parameters, functional forms, initialisation and utilities."""

# ruff: noqa: F403

from . import attention, common_types, functional, grad, init, modules, parallel, parameter, utils
from .modules import *
from .modules import __all__ as _layers
from .parallel import DataParallel
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
