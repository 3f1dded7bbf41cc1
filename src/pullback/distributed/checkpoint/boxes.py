"""The box of a whole tensor that a rank has, and nested states as flat ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.tensor import Tensor
from ...core.views import current_array
from ..tensor.dtensor import DTensor
from ..tensor.placement_types import Shard, cut_order, part_of

Box = tuple[tuple[int, ...], tuple[int, ...]]  # offsets and sizes


def box_of(value: Tensor) -> Box:
    """Where the part of this rank lies in the whole."""
    if not isinstance(value, DTensor):
        return (0,) * value.ndim, tuple(value.shape)
    offsets, sizes = [0] * len(value._whole), list(value._whole)
    for dim in cut_order(value.placements):
        placement = value.placements[dim]
        if isinstance(placement, Shard):
            ranks, rank = value.device_mesh.size(dim), value.device_mesh.get_local_rank(dim)
            begin, end = part_of(sizes[placement.dim], ranks, rank)
            offsets[placement.dim] += begin
            sizes[placement.dim] = end - begin
    return tuple(offsets), tuple(sizes)


def is_mine_to_save(value: Tensor, rank: int) -> bool:
    """Whether this rank saves its part: of parts that several have, the first does."""
    if not isinstance(value, DTensor):
        return rank == 0
    return all(
        placement.is_shard() or value.device_mesh.get_local_rank(dim) == 0
        for dim, placement in enumerate(value.placements)
    )


def memory_of(value: Tensor) -> np.ndarray:
    """The array of this rank's part."""
    return value._array if isinstance(value, DTensor) else current_array(value)


def overlap(a: Box, b: Box) -> Box | None:
    """What two boxes have in common; None if nothing."""
    begins = [max(x, y) for x, y in zip(a[0], b[0])]
    ends = [min(x + m, y + n) for x, m, y, n in zip(a[0], a[1], b[0], b[1])]
    if any(end <= begin for begin, end in zip(begins, ends)):
        return None
    return tuple(begins), tuple(end - begin for begin, end in zip(begins, ends))


def slices(part: Box, whole: Box) -> tuple[slice, ...]:
    """A box as an index into an array that holds another."""
    return tuple(slice(p - w, p - w + n) for p, w, n in zip(part[0], whole[0], part[1]))


def flattened(state: Any, head: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any, Any, Any]]:
    """The values of a nested state: each with the keys that lead to it, and the container and key it is found at."""
    items = state.items() if isinstance(state, dict) else enumerate(state)
    for key, value in items:
        path = (*head, key)
        if hasattr(value, "state_dict") and not isinstance(value, Tensor):
            yield path, value, state, key
        elif isinstance(value, dict) and value:
            yield from flattened(value, path)
        elif isinstance(value, list) and value and any(isinstance(v, (Tensor, dict, list)) for v in value):
            yield from flattened(value, path)
        else:
            yield path, value, state, key


def name_of(path: tuple[Any, ...]) -> str:
    """The name of a value in a checkpoint: the keys that lead to it, joined by points."""
    return ".".join(map(str, path))
