"""The errors of ``torch.distributed``: PyTorch's classes, and those messages that several files need."""

from __future__ import annotations

from typing import Any

from ..base.errors import with_notes

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "QueueEmptyError"]

INSTALL = "pip install 'pullback[distributed]' brings MPI (the packages mpi4py and mpich), over which processes talk."


class DistError(RuntimeError):
    """Something went wrong between processes."""


class DistBackendError(DistError):
    """A collective failed: it took longer than its group's timeout, or another rank has ended."""


class DistNetworkError(DistError):
    """A connection could not be made, or broke."""


class DistStoreError(DistError):
    """A key of a store did not appear in time."""


class QueueEmptyError(DistStoreError):
    """A queue of a store is empty."""


class PeerEnded(DistBackendError):
    """What a rank raises because another has failed: the other's error is the one to look at.

    Attributes:
        rank: the one that failed first, None where that is not known.
        report: its traceback, if it could tell.
    """

    def __init__(self, message: str, rank: int | None = None, report: str = "") -> None:
        super().__init__(message)
        self.rank, self.report = rank, report


def refuse_options(function: str, **given: Any) -> None:
    """Refuse options that PyTorch's function has, and this one would ignore.

    Raises:
        NotImplementedError: for one that is given.
    """
    for name, value in given.items():
        if value is not None and value is not False:
            raise NotImplementedError(f"{function}: {name}={value!r} is not supported")


def not_initialized() -> Exception:
    """The error of functions that need a process group."""
    message = "Default process group has not been initialized, please make sure to call init_process_group."
    return with_notes(ValueError(message), "In one process: init_process_group('gloo', rank=0, world_size=1, ...).")


def mpi_missing(why: str) -> Exception:
    """The error of a group of several processes where MPI is not installed."""
    return with_notes(RuntimeError("Distributed package doesn't have MPI built in"), why, INSTALL)
