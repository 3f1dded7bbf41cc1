"""Moving a tensor's parts from one placement to another, with the gradients going back.

The gradient of a tensor lies as the tensor does; where each rank has computed a part of the gradient of a tensor that
is whole everywhere, :func:`entered` adds them up.
"""

from __future__ import annotations

from typing import Any

from ...autograd.function import Function
from ...core.tensor import Tensor
from ...ops.concat import cat
from ...ops.memory import contiguous
from ...ops.slicing_views import narrow
from .. import collectives
from ..process_group import ProcessGroup
from ..reduce_op import ReduceOp
from .placement_types import part_of

REDUCTIONS = {op.name.lower(): op for op in (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PRODUCT, ReduceOp.MAX, ReduceOp.MIN)}


def own_part(x: Tensor, dim: int, group: ProcessGroup) -> Tensor:
    """This rank's part of a tensor that is whole here."""
    begin, end = part_of(x.shape[dim], group.size(), group.rank())
    return contiguous(narrow(x, dim, begin, end - begin))


def joined_parts(x: Tensor, dim: int, length: int, group: ProcessGroup) -> Tensor:
    """The whole tensor, of the parts of all ranks; ``length`` is that of the whole along ``dim``."""
    shape, rows = list(x.shape), []
    for rank in range(group.size()):
        begin, end = part_of(length, group.size(), rank)
        shape[dim] = end - begin
        rows.append(x.new_empty(tuple(shape)))
    # parts may have different sizes: each rank sends its own to all
    collectives.all_to_all(rows, [contiguous(x)] * group.size(), group)
    return cat(rows, dim)


class Split(Function):
    """Whole to parts; back: the parts of the gradient to the whole."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, group: ProcessGroup) -> Tensor:
        ctx.dim, ctx.group, ctx.length = dim, group, x.shape[dim]
        return own_part(x.detach(), dim, group).clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return Gather.apply(grad, ctx.dim, ctx.length, ctx.group), None, None


class Gather(Function):
    """Parts to the whole; back: this rank's part of the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, length: int, group: ProcessGroup) -> Tensor:
        ctx.dim, ctx.group = dim, group
        return joined_parts(x.detach(), dim, length, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return Split.apply(grad, ctx.dim, ctx.group), None, None, None


class Add(Function):
    """Terms to their sum, or average, on all ranks; back: the gradient, which every term gets."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, op: str, group: ProcessGroup) -> Tensor:
        result = contiguous(x.detach()).clone()
        collectives.all_reduce(result, REDUCTIONS[op], group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad, None, None


class Terms(Function):
    """Whole to terms of a sum: rank 0 has it, the others zeros; back: the gradient, which is the same on all ranks."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: ProcessGroup) -> Tensor:
        return x.detach().clone() if group.rank() == 0 else x.detach() * 0

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad, None


class Average(Function):
    """The average of a part as a term of the average of all; back: the share of the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, ranks: int) -> Tensor:
        ctx.ranks = ranks
        return x.detach().view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad / ctx.ranks, None


class Enter(Function):
    """A tensor that is whole on all ranks, each of which computes a part with it; back: the sum of the gradients."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: ProcessGroup) -> Tensor:
        ctx.group = group
        return x.detach().view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return Add.apply(grad, "sum", ctx.group), None


def entered(x: Tensor, group: ProcessGroup) -> Tensor:
    """A tensor for computations of which each rank does a part."""
    return Enter.apply(x, group)
