"""What carries data between the ranks of a group: MPI, or nothing in a group of one.

All methods start something, and return the requests (MPI's) that tell when it is done. Arrays are contiguous and must
stay as they are until then. What only moves is given as bytes, what is reduced as numbers of C's types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from .reduce_op import RedOpType

Requests = list[Any]


class Communicator(Protocol):
    """The ranks of a group, and this one's place among them."""

    rank: int
    size: int

    def all_reduce(self, array: np.ndarray, op: RedOpType) -> Requests: ...
    def reduce(self, array: np.ndarray, op: RedOpType, root: int) -> Requests: ...
    def reduce_scatter(self, source: np.ndarray, target: np.ndarray, op: RedOpType) -> Requests: ...
    def broadcast(self, array: np.ndarray, root: int) -> Requests: ...
    def all_gather(self, source: np.ndarray, target: np.ndarray, counts: Sequence[int] | None = None) -> Requests: ...
    def gather(self, source: np.ndarray, target: np.ndarray | None, root: int) -> Requests: ...
    def scatter(self, source: np.ndarray | None, target: np.ndarray, root: int) -> Requests: ...
    def all_to_all(
        self, source: np.ndarray, counts: Sequence[int], target: np.ndarray, target_counts: Sequence[int]
    ) -> Requests: ...
    def barrier(self) -> Requests: ...
    def send(self, array: np.ndarray, to: int, tag: int) -> Requests: ...
    def receive(self, array: np.ndarray, source: int | None, tag: int) -> Requests: ...
    def part(self, ranks: Sequence[int], number: int) -> Communicator: ...
    def free(self) -> None: ...


class Alone:
    """A group of one: what is sent is there."""

    rank, size = 0, 1

    def __init__(self) -> None:
        self.sent: dict[int, list[np.ndarray]] = {}

    def all_reduce(self, array: np.ndarray, op: RedOpType) -> Requests:
        return []

    def reduce(self, array: np.ndarray, op: RedOpType, root: int) -> Requests:
        return []

    def reduce_scatter(self, source: np.ndarray, target: np.ndarray, op: RedOpType) -> Requests:
        target[...] = source
        return []

    def broadcast(self, array: np.ndarray, root: int) -> Requests:
        return []

    def all_gather(self, source: np.ndarray, target: np.ndarray, counts: Sequence[int] | None = None) -> Requests:
        target[...] = source
        return []

    def gather(self, source: np.ndarray, target: np.ndarray | None, root: int) -> Requests:
        if target is not None:
            target[...] = source
        return []

    def scatter(self, source: np.ndarray | None, target: np.ndarray, root: int) -> Requests:
        if source is not None:
            target[...] = source
        return []

    def all_to_all(
        self, source: np.ndarray, counts: Sequence[int], target: np.ndarray, target_counts: Sequence[int]
    ) -> Requests:
        target[...] = source
        return []

    def barrier(self) -> Requests:
        return []

    def send(self, array: np.ndarray, to: int, tag: int) -> Requests:
        self.sent.setdefault(tag, []).append(array.copy())
        return []

    def receive(self, array: np.ndarray, source: int | None, tag: int) -> Requests:
        waiting = self.sent.get(tag)
        if not waiting:
            raise RuntimeError("recv: nothing was sent, and nobody is there to send\n  The group has one rank.")
        array[...] = waiting.pop(0)
        return [Receipt()]

    def part(self, ranks: Sequence[int], number: int) -> Alone:
        return Alone()

    def free(self) -> None:
        pass


class Receipt:
    """The request of a message that is received.

    Attributes:
        source: who sent it, by the number in the group, once it is done.
    """

    def __init__(self, request: Any = None, status: Any = None) -> None:
        self.request, self.status, self.source = request, status, 0

    def Test(self) -> bool:
        """Whether it is done."""
        if self.request is None:
            return True
        if not self.request.Test(self.status):
            return False
        self.source, self.request = self.status.Get_source(), None
        return True


class MPICommunicator:
    """A group of MPI processes.

    Args:
        MPI: the module ``mpi4py.MPI``.
        comm: its communicator, for collectives; messages have one of their own.
    """

    def __init__(self, MPI: Any, comm: Any) -> None:
        self.MPI, self.comm, self.messages = MPI, comm, comm.Dup()
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        op = {"AVG": "SUM", "PRODUCT": "PROD"}
        self.ops: dict[RedOpType, Any] = {
            kind: getattr(MPI, op.get(kind.name, kind.name)) for kind in RedOpType if kind is not RedOpType.PREMUL_SUM
        }

    def all_reduce(self, array: np.ndarray, op: RedOpType) -> Requests:
        return [self.comm.Iallreduce(self.MPI.IN_PLACE, array, self.ops[op])]

    def reduce(self, array: np.ndarray, op: RedOpType, root: int) -> Requests:
        if self.rank == root:
            return [self.comm.Ireduce(self.MPI.IN_PLACE, array, self.ops[op], root)]
        return [self.comm.Ireduce(array, None, self.ops[op], root)]

    def reduce_scatter(self, source: np.ndarray, target: np.ndarray, op: RedOpType) -> Requests:
        return [self.comm.Ireduce_scatter_block(source, target, self.ops[op])]

    def broadcast(self, array: np.ndarray, root: int) -> Requests:
        return [self.comm.Ibcast(array, root)]

    def all_gather(self, source: np.ndarray, target: np.ndarray, counts: Sequence[int] | None = None) -> Requests:
        if counts is None:
            return [self.comm.Iallgather(source, target)]
        return [self.comm.Iallgatherv(source, [target, list(counts)])]

    def gather(self, source: np.ndarray, target: np.ndarray | None, root: int) -> Requests:
        return [self.comm.Igather(source, target, root)]

    def scatter(self, source: np.ndarray | None, target: np.ndarray, root: int) -> Requests:
        return [self.comm.Iscatter(source, target, root)]

    def all_to_all(
        self, source: np.ndarray, counts: Sequence[int], target: np.ndarray, target_counts: Sequence[int]
    ) -> Requests:
        return [self.comm.Ialltoallv([source, list(counts)], [target, list(target_counts)])]

    def barrier(self) -> Requests:
        return [self.comm.Ibarrier()]

    def send(self, array: np.ndarray, to: int, tag: int) -> Requests:
        return [self.messages.Isend(array, to, tag)]

    def receive(self, array: np.ndarray, source: int | None, tag: int) -> Requests:
        request = self.messages.Irecv(array, self.MPI.ANY_SOURCE if source is None else source, tag)
        return [Receipt(request, self.MPI.Status())]

    def part(self, ranks: Sequence[int], number: int) -> MPICommunicator:
        """The group of some ranks, by their numbers here: only they call this.

        Args:
            number: of the group, which all of them agree on.
        """
        mine = self.comm.Get_group()
        some = mine.Incl(list(ranks))
        comm = self.messages.Create_group(some, number % 16384)
        some.Free()
        mine.Free()
        return MPICommunicator(self.MPI, comm)

    def free(self) -> None:
        if not self.MPI.Is_finalized():
            self.messages.Free()
            self.comm.Free()
