"""``torch.distributed.checkpoint``: states that lie on several ranks, saved and loaded."""

# ruff: noqa: F403

from . import state_dict, stateful
from .metadata import Metadata, TensorStorageMetadata
from .save_load import *
from .save_load import __all__ as _save_load

__all__ = ["Metadata", "TensorStorageMetadata", "state_dict", "stateful", *_save_load]
