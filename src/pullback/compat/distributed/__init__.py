"""``torch.distributed``: unavailable; programs ask, and go on as a single process.

>>> import pullback as torch
>>> torch.distributed.is_available() and torch.distributed.is_initialized()
False
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ...base.errors import no_process_group, with_notes
from . import device_mesh as device_mesh

__all__ = [
    "Backend",
    "FileStore",
    "GroupMember",
    "HashStore",
    "PrefixStore",
    "ProcessGroup",
    "ReduceOp",
    "Store",
    "TCPStore",
    "destroy_process_group",
    "group",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
]

# Functions that need a process group, which there is none of.
COLLECTIVE = """
    all_gather all_gather_into_tensor all_gather_object all_reduce all_to_all all_to_all_single barrier broadcast
    broadcast_object_list gather gather_object get_backend get_rank get_world_size init_process_group irecv isend
    monitored_barrier new_group recv reduce reduce_scatter reduce_scatter_tensor scatter scatter_object_list send
""".split()
__all__ += COLLECTIVE


def is_available() -> bool:
    """Whether processes can form a group: they cannot, here."""
    return False


def is_initialized() -> bool:
    """Whether this process belongs to a group of processes: it does not."""
    return False


is_gloo_available = is_mpi_available = is_nccl_available = is_ucc_available = is_xccl_available = is_available


def is_backend_available(backend: str) -> bool:
    """Whether processes could talk by this means: there is none."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether ``torchrun`` started this process: it did not."""
    return False


def destroy_process_group(group: Any = None) -> None:
    """Leave a group, at a program's end: there is none to leave."""


class ProcessGroup:
    """A group of processes: programs may name the class, and none can make an instance."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise no_process_group()


class Store:
    """The key-value store of a rendezvous: for ``isinstance``, as the classes below; none can be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise with_notes(
            RuntimeError(f"{type(self).__name__}: processes cannot form a group here"),
            "Pullback runs in one process: ask torch.distributed.is_available() first, which is False.",
        )


class FileStore(Store): ...


class HashStore(Store): ...


class PrefixStore(Store): ...


class TCPStore(Store): ...


class GroupMember:
    """The group of all processes, and the mark of those that do not belong to one: there is none."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


group = GroupMember


class ReduceOp:
    """The reduction of a collective."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = (
        "SUM AVG PRODUCT MIN MAX BAND BOR BXOR PREMUL_SUM".split()
    )


class Backend(str):
    """The means by which processes talk, by name."""

    GLOO, MPI, NCCL, UCC, UNDEFINED = "gloo mpi nccl ucc undefined".split()


def _collective(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise no_process_group()

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Refused: there is no group of processes."
    return refuse


globals().update({name: _collective(name) for name in COLLECTIVE})
