"""``torch.distributed.nn.functional``: collectives that return tensors, through which gradients flow.

The gradient of what goes from one rank to another goes back by the opposite collective, which all ranks have to call:
so all of them run backward. It can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...autograd.function import Function
from ...core.tensor import Tensor
from ...ops.create import empty_like, zeros_like
from ...ops.memory import contiguous
from .. import collectives
from ..reduce_op import ReduceOp
from ..world import get_rank, get_world_size

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]


def _own(x: Tensor) -> Tensor:
    """A contiguous copy, which a collective may write into."""
    return contiguous(x.detach()).clone()


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of rank ``src``, on all ranks. Backward adds up the gradients there."""
    return _Broadcast.apply(src, group, tensor)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks, on rank ``dst``; zeros elsewhere."""
    return _Gather.apply(dst, group, tensor)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """One of the tensors that rank ``src`` has for the ranks. The others give tensors of the same shapes."""
    return _Scatter.apply(src, group, *tensors)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """What the tensors of all ranks become, on rank ``dst``; the others get their own."""
    return _Reduce.apply(dst, op, group, tensor)


def reduce_scatter(output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """What the tensors of all ranks for this one become; ``output`` says the shape."""
    return _ReduceScatter.apply(op, group, output, *input_list)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks, on all ranks."""
    return _AllGather.apply(group, tensor)


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """What the ranks have for this one; ``output_tensor_list`` says the shapes."""
    return _AllToAll.apply(group, tuple(tuple(x.shape) for x in output_tensor_list), *input_tensor_list)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
) -> Tensor:
    """What the ranks have for this one, in one tensor; ``output`` says its shape."""
    return _AllToAllSingle.apply(group, output, output_split_sizes, input_split_sizes, input)


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """What the tensors of all ranks become, on all ranks.

    >>> import pullback as torch, pullback.distributed as dist
    >>> import pullback.distributed.nn.functional as F
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.ones(2, requires_grad=True)
    >>> F.all_reduce(x).sum().backward(); x.grad
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    return _AllReduce.apply(op, group, tensor)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        result = _own(tensor)
        collectives.broadcast(result, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        total = _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, grad)
        return None, None, total if get_rank() == ctx.src else zeros_like(grad)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.group = dst, group
        result = _own(tensor)
        collectives.reduce(result, dst, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, grad)


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Tensor) -> Any:
        ctx.dst, ctx.group = dst, group
        tensor = contiguous(tensor.detach())
        rows = [zeros_like(tensor) for _ in range(get_world_size(group))]
        collectives.gather(tensor, rows if get_rank() == dst else None, dst, group)
        return tuple(rows)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        mine = get_rank() == src
        result = contiguous(zeros_like(tensors[get_rank(group)]))
        collectives.scatter(result, [contiguous(x.detach()) for x in tensors] if mine else None, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, *_Gather.apply(ctx.src, ctx.group, grad)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, output: Tensor, *tensors: Tensor) -> Tensor:
        ctx.group = group
        result = contiguous(empty_like(output))
        collectives.reduce_scatter(result, [contiguous(x.detach()) for x in tensors], op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, *_AllGather.apply(ctx.group, grad)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> Any:
        ctx.group = group
        tensor = contiguous(tensor.detach())
        rows = [empty_like(tensor) for _ in range(get_world_size(group))]
        collectives.all_gather(rows, tensor, group)
        return tuple(rows)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, _ReduceScatter.apply(ReduceOp.SUM, ctx.group, grads[get_rank(ctx.group)], *grads)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, shapes: Any, *tensors: Tensor) -> Any:
        ctx.group, ctx.shapes = group, tuple(tuple(x.shape) for x in tensors)
        rows = [tensors[0].new_empty(shape) for shape in shapes]
        collectives.all_to_all(rows, [contiguous(x.detach()) for x in tensors], group)
        return tuple(rows)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, *_AllToAll.apply(ctx.group, ctx.shapes, *grads)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, output: Tensor, sizes: Any, input_sizes: Any, tensor: Tensor) -> Tensor:
        ctx.group, ctx.sizes, ctx.input_sizes = group, sizes, input_sizes
        ctx.like = zeros_like(tensor.detach())
        result = contiguous(empty_like(output.detach()))
        collectives.all_to_all_single(result, contiguous(tensor.detach()), sizes, input_sizes, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        back = _AllToAllSingle.apply(ctx.group, ctx.like, ctx.input_sizes, ctx.sizes, grad)
        return None, None, None, None, back


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        result = _own(tensor)
        collectives.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)
