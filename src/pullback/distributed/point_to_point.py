"""Messages from one rank to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..core.views import current_array
from .buffers import BYTE, as_bytes, check_tensor, store, values
from .collectives import root_in
from .object_collectives import dumped, loaded
from .process_group import ProcessGroup
from .work import Work
from .world import is_outside, resolved

__all__ = [
    "P2POp",
    "batch_isend_irecv",
    "irecv",
    "isend",
    "recv",
    "recv_object_list",
    "send",
    "send_object_list",
]

OBJECTS = 16_000  # the tag of messages that are objects


def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Start to send a tensor to a rank, which receives it with the same tag.

    Raises:
        ValueError: to this rank itself.
    """
    check_tensor(tensor, "tensor")
    if is_outside(group, "isend"):
        return None
    found = resolved(group)
    to = root_in(found, dst, group_dst, "dst")
    if to == found.rank() and found.size() > 1:
        raise ValueError(
            "Invalid destination rank: destination rank should not be the same as the rank of the current process."
        )
    data = as_bytes(values(tensor))
    return found.message("isend", lambda: found.communicator.send(data, to, tag), [tensor])


def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Start to receive a tensor from a rank; with ``src=None`` from any."""
    check_tensor(tensor, "tensor")
    if is_outside(group, "irecv"):
        return None
    found = resolved(group)
    source = None if src is None and group_src is None else root_in(found, src, group_src, "src")
    if source == found.rank() and found.size() > 1:
        raise ValueError("Invalid source rank: source rank should not be the same as the rank of the current process.")
    target = np.empty(current_array(tensor).nbytes, BYTE)
    return found.message(
        "irecv", lambda: found.communicator.receive(target, source, tag), [tensor], lambda: store(tensor, target)
    )


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to a rank, and wait until it may be written into."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive a tensor from a rank; with ``src=None`` from any.

    Returns:
        Who sent it; -1 outside of the group.
    """
    work = irecv(tensor, src, group, tag, group_src)
    return -1 if work is None else work.source_rank()


class P2POp:
    """A message to be started together with others by :func:`batch_isend_irecv`.

    Args:
        op: :func:`isend` or :func:`irecv`.
        peer: the other rank.
    """

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                f"Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                f"``torch.distributed.irecv``, but got {op}."
            )
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.peer, self.group, self.tag = op, tensor, peer, group, tag
        self.group_peer = group_peer

    def __repr__(self) -> str:
        name = getattr(self.op, "__name__", "?")
        return f"P2POp({name} pg={self.group}, peer={self.peer}, {list(self.tensor.shape)} {self.tensor.dtype})"


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Start several messages.

    Raises:
        ValueError: the list is empty, or holds something else.
    """
    if not isinstance(p2p_op_list, list) or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    if not p2p_op_list:
        raise ValueError("p2p_op_list should not be empty")
    # to receive first leaves nobody waiting for room
    order = sorted(range(len(p2p_op_list)), key=lambda i: p2p_op_list[i].op is isend)
    works: dict[int, Any] = {}
    for i in order:
        op = p2p_op_list[i]
        works[i] = op.op(op.tensor, op.peer, op.group, op.tag, op.group_peer)
    return [works[i] for i in range(len(p2p_op_list)) if works[i] is not None]


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send the objects of a list to a rank."""
    if is_outside(group, "send_object_list"):
        return
    found = resolved(group)
    to = root_in(found, dst, group_dst, "dst")
    data = dumped(object_list).copy()
    size = np.array([data.size])
    _message(found, "send_object_list", lambda: found.communicator.send(as_bytes(size), to, OBJECTS))
    _message(found, "send_object_list", lambda: found.communicator.send(data, to, OBJECTS + 1))


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Fill a list with the objects that a rank sends; with ``src=None`` any.

    Returns:
        Who sent them; -1 outside of the group.
    """
    if is_outside(group, "recv_object_list"):
        return -1
    found = resolved(group)
    source = None if src is None and group_src is None else root_in(found, src, group_src, "src")
    size = np.empty(1, np.int64)
    work = _message(found, "recv_object_list", lambda: found.communicator.receive(as_bytes(size), source, OBJECTS))
    sender = work.source_rank()
    data = np.empty(int(size[0]), BYTE)
    from_it = found.ranks.index(sender)
    _message(found, "recv_object_list", lambda: found.communicator.receive(data, from_it, OBJECTS + 1))
    objects = loaded(data)
    if len(objects) != len(object_list):
        raise ValueError(f"recv_object_list: {len(objects)} objects for a list of {len(object_list)}")
    object_list[:] = objects
    return sender


def _message(group: ProcessGroup, name: str, stage: Callable[[], list[Any]]) -> Work:
    work = group.message(name, stage, [])
    work.wait()
    return work
