"""The collectives: what all ranks of a group call together, each with tensors of its own.

All take tensors of every dtype and layout. Each has ``async_op``: then it returns a :class:`Work` at once, otherwise it
waits and returns None. In a group that this rank does not belong to it does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.dtypes import BOOLEAN, FLOATING, HALVES, OF_NUMPY
from ..core.tensor import Tensor
from ..core.views import current_array
from .buffers import (
    BYTE,
    as_bytes,
    as_numbers,
    check_list,
    check_tensor,
    check_types,
    described,
    flat,
    joined,
    store,
    store_parts,
    values,
)
from .process_group import ProcessGroup
from .reduce_op import OF_BOOL, RedOpType, ReduceOp, check_reduction, reduce_rows
from .work import Stage, Work
from .world import GroupMember, get_group_rank, is_outside, resolved

__all__ = [
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
]


def waited(work: Work, async_op: bool) -> Work | None:
    """What a collective returns."""
    if async_op:
        work.get_future()  # so that progress is made meanwhile
        return work
    work.wait()
    return None


def root_in(group: ProcessGroup, rank: int | None, group_rank: int | None, name: str) -> int:
    """The number in the group of the rank that a collective is from or to, given by either of its numbers.

    Raises:
        ValueError: both are given, or none; or it does not belong to the group.
        RuntimeError: there is no such rank.
    """
    if rank is not None and group_rank is not None:
        raise ValueError(f"Can't specify both group_rank and global_rank: group_{name} and {name}")
    if group_rank is None:
        if rank is None:
            raise ValueError(f"Must specify global_rank or group_rank: {name} or group_{name}")
        group_rank = rank if group is GroupMember.WORLD else get_group_rank(group, rank)
    if not 0 <= group_rank < group.size():
        raise RuntimeError(f"invalid root rank: {group_rank} ({name} of a group of {group.size()} ranks)")
    return group_rank


# --- reductions -------------------------------------------------------------------------------------------------


def reducing(group: ProcessGroup, array: np.ndarray, op: RedOpType) -> tuple[list[Stage], Callable[[], None] | None]:
    """The stages that reduce an array on all ranks, in place, and what is left to do after them.

    MPI cannot add numbers of half precision. There each rank gets a part from all, reduces it, and sends the result to
    all: the same bytes as the usual algorithm sends, and one rounding.
    """
    communicator, size = group.communicator, group.size()
    if array.dtype in HALVES:
        chunk = -(-array.size // size)
        padded = np.zeros(chunk * size, array.dtype)
        padded[: array.size] = array
        parts, result = np.empty_like(padded), np.empty_like(padded)
        counts = [chunk * array.itemsize] * size

        def exchange() -> list[Any]:
            return communicator.all_to_all(as_bytes(padded), counts, as_bytes(parts), counts)

        def share() -> list[Any]:
            reduced = flat(reduce_rows(parts.reshape(size, chunk), op))
            return communicator.all_gather(as_bytes(reduced), as_bytes(result))

        def finish() -> None:
            array[...] = result[: array.size]

        return [exchange, share], finish
    numbers, kind = as_numbers(array), OF_BOOL.get(op, op) if array.dtype == BOOLEAN else op
    return [lambda: communicator.all_reduce(numbers, kind)], averaging(array, op, size)


def averaging(array: np.ndarray, op: RedOpType, size: int) -> Callable[[], None] | None:
    """What makes an average of a sum; None for other reductions."""
    if op is not RedOpType.AVG:
        return None

    def divide() -> None:
        np.divide(array, size, out=array)

    return divide


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Reduce the tensors of all ranks, in place: all have the result, to the last bit the same.

    Args:
        tensor: of any shape, the same on all ranks.
        op: the reduction.

    Raises:
        RuntimeError, ValueError: tensors of that type cannot be reduced so.

    >>> import pullback as torch, pullback.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.ones(2); dist.all_reduce(x); x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    check_tensor(tensor, "tensor")
    if is_outside(group, "all_reduce"):
        return None
    return waited(start_all_reduce(resolved(group), [tensor], op, "all_reduce"), async_op)


def start_all_reduce(group: ProcessGroup, tensors: Sequence[Tensor], op: Any, name: str) -> Work:
    """Start to reduce tensors of one type as if they were one."""
    kind = check_reduction(name, op, current_array(tensors[0]).dtype)
    if len(tensors) == 1:
        buffer = values(tensors[0])
    else:
        buffer = joined(tensors).view(current_array(tensors[0]).dtype)
    stages, left = reducing(group, buffer, kind)

    def finish() -> None:
        if left is not None:
            left()
        store_parts(tensors, as_bytes(buffer))

    call = {"tensors": described(tensors), "op": kind.name}
    return group.start(name, stages, list(tensors), finish, call, buffer.nbytes)


def all_reduce_coalesced(
    tensors: Tensor | Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    """:func:`all_reduce` of several tensors of one type at once; returns a future with ``async_op``."""
    if isinstance(tensors, Tensor):
        tensors = [tensors]
    check_list(tensors, "tensors")
    check_types(*tensors)
    if is_outside(group, "all_reduce_coalesced"):
        return None
    work = waited(start_all_reduce(resolved(group), tensors, op, "all_reduce_coalesced"), async_op)
    return None if work is None else work.get_future()


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Reduce the tensors of all ranks into that of rank ``dst``; the others keep theirs."""
    check_tensor(tensor, "tensor")
    if is_outside(group, "reduce"):
        return None
    found = resolved(group)
    root, communicator = root_in(found, dst, group_dst, "dst"), found.communicator
    source = values(tensor)
    kind = check_reduction("reduce", op, source.dtype)
    mine = found.rank() == root
    stages: list[Stage]
    if source.dtype in HALVES:
        rows = np.empty((found.size(), source.size), source.dtype) if mine else None
        stages = [lambda: communicator.gather(as_bytes(source), None if rows is None else as_bytes(rows), root)]
    else:
        buffer = source.copy()
        rows = None
        numbers = as_numbers(buffer)
        of_type = OF_BOOL.get(kind, kind) if source.dtype == BOOLEAN else kind
        stages = [lambda: communicator.reduce(numbers, of_type, root)]

    def finish() -> None:
        if not mine:
            return
        if source.dtype in HALVES:
            assert rows is not None
            store(tensor, flat(reduce_rows(rows, kind)))
        else:
            divide = averaging(buffer, kind, found.size())
            if divide is not None:
                divide()
            store(tensor, buffer)

    call = {"tensor": described([tensor]), "dst": found.ranks[root], "op": kind.name}
    return waited(found.start("reduce", stages, [tensor], finish, call, source.nbytes), async_op)


def start_reduce_scatter(
    group: ProcessGroup, output: Tensor, source: np.ndarray, op: Any, name: str, call: dict[str, Any]
) -> Work:
    """Start to reduce arrays with a part for each rank, of which each gets its own."""
    communicator, size = group.communicator, group.size()
    kind = check_reduction(name, op, source.dtype)
    result = np.empty(source.size // size, source.dtype)
    stages: list[Stage]
    if source.dtype in HALVES:
        rows = np.empty_like(source)
        counts = [result.nbytes] * size
        stages = [lambda: communicator.all_to_all(as_bytes(source), counts, as_bytes(rows), counts)]
    else:
        of_type = OF_BOOL.get(kind, kind) if source.dtype == BOOLEAN else kind
        stages = [lambda: communicator.reduce_scatter(as_numbers(source), as_numbers(result), of_type)]

    def finish() -> None:
        if source.dtype in HALVES:
            store(output, flat(reduce_rows(rows.reshape(size, -1), kind)))
        else:
            divide = averaging(result, kind, size)
            if divide is not None:
                divide()
            store(output, result)

    return group.start(name, stages, [output], finish, call | {"op": kind.name}, source.nbytes)


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce lists of a tensor for each rank, and give each rank its own.

    Raises:
        ValueError: the list has another length than the group has ranks, or the tensors differ.
    """
    check_tensor(output, "output")
    check_list(input_list, "input_list")
    check_types(output, *input_list)
    if is_outside(group, "reduce_scatter"):
        return None
    found = resolved(group)
    if len(input_list) != found.size():
        raise RuntimeError(f"invalid input tensor list size, must be world size {found.size()}, not {len(input_list)}")
    for tensor in input_list:
        if tensor.numel() != output.numel():
            raise RuntimeError(
                f"reduce_scatter: inputs of {tensor.numel()} elements, and an output of {output.numel()}: all the same "
                "is expected"
            )
    source = joined(input_list).view(current_array(output).dtype)
    call = {"output": described([output]), "input_list": described(input_list)}
    return waited(start_reduce_scatter(found, output, source, op, "reduce_scatter", call), async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """:func:`reduce_scatter` of one tensor, ``world_size`` times as large as the output, the parts of which are for the
    ranks.

    Raises:
        ValueError: it is not.
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    check_types(output, input)
    if is_outside(group, "reduce_scatter_tensor"):
        return None
    found = resolved(group)
    if input.numel() != output.numel() * found.size():
        raise RuntimeError("input tensor must be the same size as output size times world size")
    call = {"output": described([output]), "input": described([input])}
    return waited(start_reduce_scatter(found, output, values(input), op, "reduce_scatter_tensor", call), async_op)


reduce_scatter_single = reduce_scatter_tensor


# --- moving -----------------------------------------------------------------------------------------------------


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Give all ranks the values of rank ``src``, in place."""
    check_tensor(tensor, "tensor")
    if is_outside(group, "broadcast"):
        return None
    found = resolved(group)
    return waited(start_broadcast(found, [tensor], root_in(found, src, group_src, "src")), async_op)


def start_broadcast(group: ProcessGroup, tensors: Sequence[Tensor], root: int) -> Work:
    """Start to give all ranks the values of several tensors of one."""
    buffer = as_bytes(values(tensors[0])) if len(tensors) == 1 else joined(tensors)

    def finish() -> None:
        if group.rank() != root:
            store_parts(tensors, buffer)

    call = {"tensor": described(tensors), "src": group.ranks[root]}
    stages: list[Stage] = [lambda: group.communicator.broadcast(buffer, root)]
    return group.start("broadcast", stages, list(tensors), finish, call, buffer.nbytes)


def all_gather(tensor_list: Sequence[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Give all ranks the tensors of all, in a list.

    Raises:
        ValueError: the list has another length than the group has ranks, or tensors of other shapes or types.
    """
    check_list(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    check_types(*tensor_list, tensor)
    if is_outside(group, "all_gather"):
        return None
    found = resolved(group)
    _check_outputs("all_gather", found, tensor_list, tensor)
    source = as_bytes(values(tensor))
    target = np.empty(source.size * found.size(), BYTE)
    stages: list[Stage] = [lambda: found.communicator.all_gather(source, target)]
    call = {"tensor": described([tensor])}
    outputs = list(tensor_list)
    work = found.start("all_gather", stages, outputs, lambda: store_parts(outputs, target), call, source.nbytes)
    return waited(work, async_op)


def _check_outputs(name: str, group: ProcessGroup, tensors: Sequence[Tensor], like: Tensor) -> None:
    if len(tensors) != group.size():
        raise RuntimeError(f"{name}: the list has {len(tensors)} tensors, and the group has {group.size()} ranks")
    for i, tensor in enumerate(tensors):
        if tensor.numel() != like.numel():
            raise RuntimeError(
                f"{name}: invalid tensor size at index {i} (expected {_sizes(like)}, got {_sizes(tensor)})"
            )


def _sizes(tensor: Tensor) -> str:
    return f"({', '.join(map(str, tensor.shape))})"


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Give all ranks the tensors of all in one, ``world_size`` times as large: one after the other, or stacked.

    Raises:
        ValueError: it has another size.
    """
    check_tensor(output_tensor, "output_tensor")
    check_tensor(input_tensor, "input_tensor")
    check_types(output_tensor, input_tensor)
    if is_outside(group, "all_gather_into_tensor"):
        return None
    found = resolved(group)
    if output_tensor.numel() != input_tensor.numel() * found.size():
        raise RuntimeError("output tensor size must be equal to world_size times input tensor size")
    source = as_bytes(values(input_tensor))
    target = np.empty(source.size * found.size(), BYTE)
    if current_array(output_tensor).flags.c_contiguous:
        target = as_bytes(current_array(output_tensor))
        if np.may_share_memory(source, target):
            source = source.copy()
    stages: list[Stage] = [lambda: found.communicator.all_gather(source, target)]
    call = {"output_tensor": described([output_tensor]), "input_tensor": described([input_tensor])}
    work = found.start(
        "all_gather_into_tensor", stages, [output_tensor], lambda: store(output_tensor, target), call, source.nbytes
    )
    return waited(work, async_op)


all_gather_single = all_gather_into_tensor


def all_gather_coalesced(
    output_tensor_lists: Sequence[Sequence[Tensor]],
    input_tensor_list: Sequence[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Any:
    """Give all ranks the lists of tensors of all: ``output_tensor_lists[rank]`` is that of ``rank``."""
    check_list(input_tensor_list, "tensor_list")
    for tensors in output_tensor_lists:
        check_list(tensors, "output_tensor_lists")
    if is_outside(group, "all_gather_coalesced"):
        return None
    found = resolved(group)
    if len(output_tensor_lists) != found.size():
        raise RuntimeError(f"all_gather_coalesced: {len(output_tensor_lists)} lists for {found.size()} ranks")
    source = joined(input_tensor_list)
    target = np.empty(source.size * found.size(), BYTE)
    outputs = [tensor for tensors in output_tensor_lists for tensor in tensors]
    if sum(current_array(tensor).nbytes for tensor in outputs) != target.size:
        raise RuntimeError("all_gather_coalesced: the outputs have other sizes than the inputs")
    stages: list[Stage] = [lambda: found.communicator.all_gather(source, target)]
    call = {"input_tensor_list": described(input_tensor_list)}
    work = waited(
        found.start("all_gather_coalesced", stages, outputs, lambda: store_parts(outputs, target), call, source.nbytes),
        async_op,
    )
    return None if work is None else work.get_future()


def _list_of_root(
    group: ProcessGroup, mine: bool, tensor: Tensor, tensors: Sequence[Tensor] | None, name: str, role: str
) -> list[Tensor]:
    """The list that one rank gives, ``mine`` says whether this one; empty on the others."""
    if mine:
        if not tensors:
            raise ValueError(f"Argument ``{name}_list`` must be specified on {role} rank.")
        check_list(tensors, f"{name}_list")
        check_types(tensor, *tensors)
        _check_outputs(name, group, tensors, tensor)
    elif tensors:
        raise ValueError(f"Argument ``{name}_list`` must NOT be specified on non-{role} ranks.")
    return list(tensors or ())


def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Give rank ``dst``, 0 by default, the tensors of all in a list.

    Args:
        gather_list: where they go, on rank ``dst``; None elsewhere.

    Raises:
        ValueError: ``gather_list`` is missing on ``dst``, or given elsewhere, or does not fit.
    """
    check_tensor(tensor, "tensor")
    if is_outside(group, "gather"):
        return None
    found = resolved(group)
    root = root_in(found, found.ranks[0] if dst is None and group_dst is None else dst, group_dst, "dst")
    mine = found.rank() == root
    outputs = _list_of_root(found, mine, tensor, gather_list, "gather", "destination")
    source = as_bytes(values(tensor))
    target = np.empty(source.size * found.size(), BYTE) if mine else None

    def finish() -> None:
        if target is not None:
            store_parts(outputs, target)

    stages: list[Stage] = [lambda: found.communicator.gather(source, target, root)]
    call = {"tensor": described([tensor]), "dst": found.ranks[root]}
    return waited(found.start("gather", stages, outputs, finish, call, source.nbytes), async_op)


def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give each rank one of the tensors in a list of rank ``src``, 0 by default.

    Args:
        tensor: where it goes.
        scatter_list: a tensor for each rank, on rank ``src``; None elsewhere.

    Raises:
        ValueError: ``scatter_list`` is missing on ``src``, or given elsewhere, or does not fit.
    """
    check_tensor(tensor, "tensor")
    if is_outside(group, "scatter"):
        return None
    found = resolved(group)
    root = root_in(found, found.ranks[0] if src is None and group_src is None else src, group_src, "src")
    mine = found.rank() == root
    inputs = _list_of_root(found, mine, tensor, scatter_list, "scatter", "source")
    source = joined(inputs) if mine else None
    target = np.empty(current_array(tensor).nbytes, BYTE)
    stages: list[Stage] = [lambda: found.communicator.scatter(source, target, root)]
    call = {"tensor": described([tensor]), "src": found.ranks[root]}
    work = found.start("scatter", stages, [tensor], lambda: store(tensor, target), call, target.nbytes)
    return waited(work, async_op)


def all_to_all(
    output_tensor_list: Sequence[Tensor],
    input_tensor_list: Sequence[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send a tensor of a list to each rank, and receive one from each; they may have different shapes.

    Raises:
        ValueError: a list has another length than the group has ranks.
    """
    check_list(output_tensor_list, "output_tensor_list")
    check_list(input_tensor_list, "input_tensor_list")
    check_types(*output_tensor_list, *input_tensor_list)
    if is_outside(group, "all_to_all"):
        return None
    found = resolved(group)
    for tensors in (output_tensor_list, input_tensor_list):
        if len(tensors) != found.size():
            raise RuntimeError(f"all_to_all: a list of {len(tensors)} tensors for {found.size()} ranks")
    outputs = list(output_tensor_list)
    source = joined(input_tensor_list)
    target = np.empty(sum(current_array(tensor).nbytes for tensor in outputs), BYTE)
    counts = [current_array(tensor).nbytes for tensor in input_tensor_list]
    target_counts = [current_array(tensor).nbytes for tensor in outputs]
    stages: list[Stage] = [lambda: found.communicator.all_to_all(source, counts, target, target_counts)]
    call = {"dtype": str(outputs[0].dtype)}
    work = found.start("all_to_all", stages, outputs, lambda: store_parts(outputs, target), call, source.nbytes)
    return waited(work, async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send a part of a tensor to each rank, and receive the parts for this one, along the first dimension.

    Args:
        output_split_sizes, input_split_sizes: the sizes of the parts; by default all are equal.

    Raises:
        RuntimeError: the parts are not the whole.
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    check_types(output, input)
    if is_outside(group, "all_to_all_single"):
        return None
    found = resolved(group)
    counts = _split(input, input_split_sizes, found.size())
    target_counts = _split(output, output_split_sizes, found.size())
    source, target = as_bytes(values(input)), np.empty(current_array(output).nbytes, BYTE)
    stages: list[Stage] = [lambda: found.communicator.all_to_all(source, counts, target, target_counts)]
    call = {"dtype": str(output.dtype)}
    work = found.start("all_to_all_single", stages, [output], lambda: store(output, target), call, source.nbytes)
    return waited(work, async_op)


def _split(tensor: Tensor, sizes: Sequence[int] | None, ranks: int) -> list[int]:
    """The number of bytes for each rank."""
    length = tensor.shape[0] if tensor.ndim else 1
    if not sizes:
        if length % ranks:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        sizes = [length // ranks] * ranks
    if len(sizes) != ranks:
        raise RuntimeError("Number of tensor splits not equal to group size")
    if sum(sizes) != length:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    row = current_array(tensor).nbytes // length if length else 0
    return [int(size) * row for size in sizes]


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Wait until all ranks of the group have come here."""
    if is_outside(group, "barrier"):
        return None
    found = resolved(group)
    return waited(found.start("barrier", [found.communicator.barrier], [], None, {}), async_op)


def is_floating(tensor: Tensor) -> bool:
    """Whether a tensor's numbers are floating-point, or complex."""
    return OF_NUMPY[current_array(tensor).dtype].category >= FLOATING
