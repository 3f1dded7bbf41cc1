"""``torch.distributed._functional_collectives``: collectives that return new tensors.

``group`` may be a process group, a mesh of one dimension, or a mesh and a dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.tensor import Tensor
from ..ops.concat import cat
from ..ops.slicing_views import chunk
from .nn import functional
from .process_group import ProcessGroup
from .reduce_op import ReduceOp
from .world import get_rank, resolved

__all__ = [
    "all_gather_tensor",
    "all_reduce",
    "all_to_all_single",
    "broadcast",
    "reduce_scatter_tensor",
    "wait_tensor",
]


def _group(group: Any) -> ProcessGroup:
    if isinstance(group, tuple):
        mesh, dim = group
        return mesh.get_group(dim)
    return resolved(group)


def _op(name: Any) -> Any:
    return getattr(ReduceOp, name.upper()) if isinstance(name, str) else name


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor, when it is there: it is."""
    return tensor


def all_reduce(self: Tensor, reduceOp: Any, group: Any = None, tag: str = "") -> Tensor:
    """What the tensors of all ranks become; ``reduceOp`` is ``"sum"``, ``"avg"``, ..."""
    return functional.all_reduce(self, _op(reduceOp), _group(group))


def broadcast(self: Tensor, src: int, group: Any = None, tag: str = "") -> Tensor:
    """The tensor of rank ``src``."""
    return functional.broadcast(self, src, _group(group))


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any = None, tag: str = "") -> Tensor:
    """The tensors of all ranks, joined along a dimension."""
    return cat(functional.all_gather(self, _group(group)), gather_dim)


def reduce_scatter_tensor(self: Tensor, reduceOp: Any, scatter_dim: int, group: Any = None, tag: str = "") -> Tensor:
    """This rank's part, along a dimension, of what the tensors of all ranks become.

    Raises:
        ValueError: the dimension cannot be divided equally.
    """
    found = _group(group)
    if self.shape[scatter_dim] % found.size():
        raise ValueError(
            f"input dimension {scatter_dim} ({self.shape[scatter_dim]} must be a multiple of {found.size()})"
        )
    parts = chunk(self, found.size(), scatter_dim)
    return functional.reduce_scatter(parts[get_rank(found)], parts, _op(reduceOp), found)


def all_to_all_single(
    self: Tensor,
    output_split_sizes: Sequence[int] | None,
    input_split_sizes: Sequence[int] | None,
    group: Any = None,
    tag: str = "",
) -> Tensor:
    """What the ranks have for this one, along the first dimension."""
    found = _group(group)
    length = self.shape[0] if output_split_sizes is None else sum(output_split_sizes)
    output = self.new_empty((length, *self.shape[1:]))
    return functional.all_to_all_single(output, self, output_split_sizes, input_split_sizes, found)
