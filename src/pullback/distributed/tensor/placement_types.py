"""How a tensor lies on the ranks along a dimension of a mesh: in parts, whole on each, or as terms of a sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """How a tensor lies along a dimension of a mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether in parts, along that dimension."""
        return isinstance(self, Shard) and (dim is None or self.dim == dim)

    def is_replicate(self) -> bool:
        """Whether whole on each rank."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether as terms of a sum."""
        return isinstance(self, Partial) and (reduce_op is None or self.reduce_op == reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """In parts along dimension ``dim``, of equal sizes, but for the last ones.

    >>> from pullback.distributed.tensor import Shard
    >>> Shard(0)
    Shard(dim=0)
    """

    dim: int

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True, repr=False)
class _StridedShard(Shard):
    """In parts of what a later dimension of the mesh has cut before, into ``split_factor`` parts."""

    split_factor: int = 1

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Whole on each rank."""

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """Each rank has a term of the sum (or ``"avg"``, ``"product"``, ``"max"``, ``"min"``)."""

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


def cut_order(placements: Sequence[Placement]) -> list[int]:
    """The dimensions of a mesh in the order in which they cut a tensor.

    >>> cut_order([_StridedShard(0, 2), Shard(0)])
    [1, 0]
    """
    return sorted(range(len(placements)), key=lambda dim: isinstance(placements[dim], _StridedShard))


def part_of(length: int, ranks: int, rank: int) -> tuple[int, int]:
    """Where the part of a rank begins and ends, of a dimension that is cut as ``torch.chunk`` does.

    >>> [part_of(5, 4, rank) for rank in range(4)]
    [(0, 2), (2, 4), (4, 5), (5, 5)]
    """
    step = -(-length // ranks)
    begin = min(rank * step, length)
    return begin, min(begin + step, length)
