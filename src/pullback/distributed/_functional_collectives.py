"""``torch.distributed._functional_collectives``: collectives that return new tensors.

``group`` may be a process group, a mesh of one dimension, or a mesh and a dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.tensor import Tensor
from ..ops.concat import cat
from ..ops.slicing_views import chunk
from . import collectives
from .nn import functional
from .process_group import ProcessGroup
from .reduce_op import ReduceOp
from .world import get_rank, resolved

__all__ = [
    "all_gather_into_tensor_coalesced",
    "all_gather_single",
    "all_gather_single_autograd",
    "all_gather_tensor",
    "all_gather_tensor_autograd",
    "all_gather_tensor_inplace",
    "all_reduce",
    "all_reduce_coalesced",
    "all_reduce_inplace",
    "all_to_all_single",
    "all_to_all_single_autograd",
    "broadcast",
    "permute_tensor",
    "reduce_scatter_single",
    "reduce_scatter_single_autograd",
    "reduce_scatter_tensor",
    "reduce_scatter_tensor_autograd",
    "reduce_scatter_tensor_coalesced",
    "reduce_scatter_tensor_inplace",
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


def permute_tensor(self: Tensor, src_dst: Sequence[int], group: Any = None, tag: str = "") -> Tensor:
    """The tensor of the rank that has this one as its place in ``src_dst``."""
    found, rank = _group(group), get_rank(_group(group))
    outgoing, incoming = [0] * found.size(), [0] * found.size()
    outgoing[src_dst[rank]] = incoming[list(src_dst).index(rank)] = self.numel()
    return all_to_all_single(self.reshape(-1), incoming, outgoing, found).reshape(self.shape)


# gradients flow through all of them
all_gather_single = all_gather_single_autograd = all_gather_tensor_autograd = all_gather_tensor
reduce_scatter_single = reduce_scatter_single_autograd = reduce_scatter_tensor_autograd = reduce_scatter_tensor
all_to_all_single_autograd = all_to_all_single


# --- several tensors --------------------------------------------------------------------------------------------


def all_reduce_coalesced(self: Sequence[Tensor], reduceOp: Any, group: Any = None, tag: str = "") -> list[Tensor]:
    """:func:`all_reduce` of several tensors."""
    return [all_reduce(tensor, reduceOp, group) for tensor in self]


def all_gather_into_tensor_coalesced(self: Sequence[Tensor], group: Any = None, tag: str = "") -> list[Tensor]:
    """:func:`all_gather_tensor` of several tensors, along the first dimension."""
    return [all_gather_tensor(tensor, 0, group) for tensor in self]


def reduce_scatter_tensor_coalesced(
    inputs: Sequence[Tensor], reduceOp: Any, scatter_dim: Sequence[int], group: Any = None, tag: str = ""
) -> list[Tensor]:
    """:func:`reduce_scatter_tensor` of several tensors, each along its dimension."""
    return [reduce_scatter_tensor(x, reduceOp, dim, group) for x, dim in zip(inputs, scatter_dim)]


# --- in place ---------------------------------------------------------------------------------------------------


def all_reduce_inplace(
    tensor: Tensor, op: Any = "sum", group: Any = None, async_op: bool = False, tag: str = ""
) -> Tensor:
    """:func:`all_reduce` into the tensor itself."""
    collectives.all_reduce(tensor, _op(op), _group(group))
    return tensor


def all_gather_tensor_inplace(
    output_tensor: Tensor,
    input_tensor: Tensor,
    group: Any = None,
    async_op: bool = False,
    tag: str = "",
    gather_dim: int = 0,
) -> Tensor:
    """:func:`all_gather_tensor` into a tensor that is there."""
    return output_tensor.copy_(all_gather_tensor(input_tensor, gather_dim, group))


def reduce_scatter_tensor_inplace(
    output: Tensor,
    input: Tensor,
    op: Any = "sum",
    group: Any = None,
    async_op: bool = False,
    scatter_dim: int = 0,
    tag: str = "",
) -> Tensor:
    """:func:`reduce_scatter_tensor` into a tensor that is there."""
    return output.copy_(reduce_scatter_tensor(input, op, scatter_dim, group))
