"""``torch.distributed.tensor``: tensors that lie on the ranks of a mesh."""

# ruff: noqa: F403

from .create import *
from .create import __all__ as _create
from .dtensor import DTensor, distribute_module, distribute_tensor
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    *_create,
]
