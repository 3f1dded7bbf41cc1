"""``torch.distributed.checkpoint``: states that lie on several ranks, saved and loaded."""

# ruff: noqa: F403

from . import format_utils, state_dict, stateful
from .metadata import BytesStorageMetadata, Metadata, TensorStorageMetadata
from .planner import *
from .planner import __all__ as _planner
from .save_load import *
from .save_load import __all__ as _save_load

__all__ = [
    "BytesStorageMetadata",
    "Metadata",
    "TensorStorageMetadata",
    "format_utils",
    "state_dict",
    "stateful",
    *_planner,
    *_save_load,
]
