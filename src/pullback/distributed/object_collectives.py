"""Collectives of any objects that can be pickled: as their bytes, after the number of these."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from .buffers import BYTE, as_bytes
from .collectives import root_in
from .process_group import ProcessGroup
from .world import is_outside, resolved

__all__ = [
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "scatter_object_list",
]


def dumped(value: Any) -> np.ndarray:
    """An object's pickle as an array of bytes."""
    return np.frombuffer(bytearray(pickle.dumps(value, pickle.HIGHEST_PROTOCOL)), BYTE)


def loaded(data: np.ndarray) -> Any:
    """The object of a pickle."""
    return pickle.loads(data.tobytes())


def gathered(group: ProcessGroup, value: Any, name: str) -> list[Any]:
    """The objects of all ranks, on all ranks."""
    data, sizes = dumped(value), np.empty(group.size(), np.int64)
    mine = np.array([data.size])
    group.start(name, [lambda: group.communicator.all_gather(as_bytes(mine), as_bytes(sizes))], [], None, {}).wait()
    target, counts = np.empty(int(sizes.sum()), BYTE), [int(size) for size in sizes]
    group.start(name, [lambda: group.communicator.all_gather(data, target, counts)], [], None, {}, data.nbytes).wait()
    return [loaded(part) for part in np.split(target, np.cumsum(sizes)[:-1])]


def sent(group: ProcessGroup, value: Any, root: int, name: str) -> Any:
    """The object of one rank, on all ranks."""
    data = dumped(value) if group.rank() == root else np.empty(0, BYTE)
    size = np.array([data.size])
    group.start(name, [lambda: group.communicator.broadcast(as_bytes(size), root)], [], None, {"root": root}).wait()
    if group.rank() != root:
        data = np.empty(int(size[0]), BYTE)
    else:
        data = data.copy()
    group.start(name, [lambda: group.communicator.broadcast(data, root)], [], None, {"root": root}, data.nbytes).wait()
    return value if group.rank() == root else loaded(data)


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Fill the list with the objects of all ranks; see :func:`all_gather`."""
    if is_outside(group, "all_gather_object"):
        return
    for i, value in enumerate(gathered(resolved(group), obj, "all_gather_object")):
        object_list[i] = value


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Fill the list of rank ``dst`` with the objects of all ranks; see :func:`gather`.

    Raises:
        ValueError: the list is missing on ``dst``, or given elsewhere.
    """
    if is_outside(group, "gather_object"):
        return
    found = resolved(group)
    root = root_in(found, found.ranks[0] if dst is None and group_dst is None else dst, group_dst, "dst")
    mine = found.rank() == root
    if mine and object_gather_list is None:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if not mine and object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    values = gathered(found, obj, "gather_object")
    if mine and object_gather_list is not None:
        for i, value in enumerate(values):
            object_gather_list[i] = value


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Give all ranks the objects in the list of rank ``src``, 0 by default."""
    if is_outside(group, "broadcast_object_list"):
        return
    found = resolved(group)
    root = root_in(found, found.ranks[0] if src is None and group_src is None else src, group_src, "src")
    values = sent(found, object_list, root, "broadcast_object_list")
    if len(values) != len(object_list):
        raise ValueError(f"broadcast_object_list: {len(values)} objects for a list of {len(object_list)}")
    for i, value in enumerate(values):
        object_list[i] = value


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: Sequence[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Give each rank one of the objects in the list of rank ``src``, as the first of its output list.

    Raises:
        ValueError: the output list is empty, or the list of ``src`` has another length than the group has ranks.
    """
    if is_outside(group, "scatter_object_list"):
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    found = resolved(group)
    root = root_in(found, found.ranks[0] if src is None and group_src is None else src, group_src, "src")
    size, communicator = found.size(), found.communicator
    parts: list[np.ndarray] = []
    if found.rank() == root:
        if scatter_object_input_list is None:
            raise ValueError("source rank must provide non-None scatter_object_input_list")
        if len(scatter_object_input_list) != size:
            raise ValueError(f"scatter_object_list: {len(scatter_object_input_list)} objects for {size} ranks")
        parts = [dumped(value) for value in scatter_object_input_list]
    sizes = np.array([part.size for part in parts] or [0] * size)
    call = {"src": found.ranks[root]}
    found.start("scatter_object_list", [lambda: communicator.broadcast(as_bytes(sizes), root)], [], None, call).wait()
    widest = int(sizes.max())
    rows = np.zeros((size, widest), BYTE) if parts else None
    if rows is not None:
        for row, part in zip(rows, parts):
            row[: part.size] = part
    own = np.empty(widest, BYTE)
    source = None if rows is None else rows.reshape(-1)
    found.start(
        "scatter_object_list", [lambda: communicator.scatter(source, own, root)], [], None, call, own.nbytes
    ).wait()
    scatter_object_output_list[0] = loaded(own[: int(sizes[found.rank()])])
