"""How processes find each other: from an address, a store, this process's rank and how many there are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from ..base.errors import with_notes
from . import mpi_job
from .store import FileStore, Store
from .tcp_store import TCPStore

__all__ = ["register_rendezvous_handler", "rendezvous"]

Found = tuple[Store, int, int]
DEFAULT_TIMEOUT = timedelta(minutes=30)


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Iterator[Found]:
    """The store, rank and world size that an address stands for.

    Args:
        url: ``env://``, ``tcp://host:port``, ``file:///path``, or of a scheme that
            :func:`register_rendezvous_handler` knows.

    Raises:
        RuntimeError: nobody knows the scheme.
        ValueError: the rank or the world size is not said anywhere.
    """
    if not isinstance(url, str):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    scheme = urlsplit(url).scheme
    if scheme not in _handlers:
        raise with_notes(
            RuntimeError(f"No rendezvous handler for {scheme}://"), f"There are: {', '.join(sorted(_handlers))}."
        )
    return _handlers[scheme](url, rank=rank, world_size=world_size, **kwargs)


def register_rendezvous_handler(scheme: str, handler: Callable[..., Iterator[Found]]) -> None:
    """Let addresses of another scheme be understood, by a generator that yields the store, rank and world size."""
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def _asked(url: str, rank: int, size: int) -> tuple[int, int]:
    """The rank and the world size, as given, else as in the address."""
    query = dict(parse_qsl(urlsplit(url).query))
    rank = int(query["rank"]) if rank < 0 and "rank" in query else rank
    size = int(query["world_size"]) if size < 0 and "world_size" in query else size
    return rank, size


def _need(url: str, rank: int, size: int) -> tuple[int, int]:
    rank, size = _asked(url, rank, size)
    if (rank < 0 or size < 0) and mpi_job.is_started_by_launcher():
        rank, size = mpi_job.place()
    scheme = urlsplit(url).scheme
    for value, name in ((rank, "rank"), (size, "world size")):
        if value < 0:
            raise ValueError(
                f"Error initializing torch.distributed using {scheme}:// rendezvous: {name} parameter missing"
            )
    return rank, size


def _tcp(url: str, rank: int = -1, world_size: int = -1, timeout: timedelta = DEFAULT_TIMEOUT) -> Iterator[Found]:
    parts = urlsplit(url)
    if not parts.port:
        raise ValueError("Error initializing torch.distributed using tcp:// rendezvous: port number missing")
    rank, size = _need(url, rank, world_size)
    yield _served(parts.hostname or "localhost", parts.port, rank, size, timeout), rank, size


def _file(url: str, rank: int = -1, world_size: int = -1, timeout: timedelta = DEFAULT_TIMEOUT) -> Iterator[Found]:
    parts = urlsplit(url)
    path = unquote(parts.netloc + parts.path)
    if os.name == "nt" and path[:1] == "/" and path[2:3] == ":":  # file:///C:/folder
        path = path[1:]
    if not path:
        raise ValueError("Error initializing torch.distributed using file:// rendezvous: path missing")
    rank, size = _need(url, rank, world_size)
    yield FileStore(path, size), rank, size


def _env(url: str, rank: int = -1, world_size: int = -1, timeout: timedelta = DEFAULT_TIMEOUT) -> Iterator[Found]:
    rank, size = _asked(url, rank, world_size)
    rank = int(os.environ["RANK"]) if rank < 0 and "RANK" in os.environ else rank
    size = int(os.environ["WORLD_SIZE"]) if size < 0 and "WORLD_SIZE" in os.environ else size
    if (rank < 0 or size < 0) and mpi_job.is_started_by_launcher():
        rank, size = mpi_job.place()
    missing = {"RANK": rank < 0, "WORLD_SIZE": size < 0}
    started = mpi_job.is_started_by_launcher() and not missing["RANK"] and not missing["WORLD_SIZE"]
    if not (started and "MASTER_ADDR" not in os.environ):
        missing |= {name: name not in os.environ for name in ("MASTER_ADDR", "MASTER_PORT")}
    for name, absent in missing.items():
        if absent:
            raise with_notes(
                ValueError(
                    "Error initializing torch.distributed using env:// rendezvous: environment variable "
                    f"{name} expected, but not set"
                ),
                "pullback run --nproc N script.py starts N processes, and sets the variables.",
            )
    if "MASTER_ADDR" in os.environ:
        yield _served(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), rank, size, timeout), rank, size
    else:
        yield _told_by_mpi(rank, size, timeout), rank, size


def _served(host: str, port: int, rank: int, size: int, timeout: timedelta) -> Store:
    """The store that rank 0 serves."""
    return TCPStore(host, port, size, rank == 0, timeout, multi_tenant=True)


def _told_by_mpi(rank: int, size: int, timeout: timedelta) -> Store:
    """The store that rank 0 serves, at an address that the others learn through MPI."""
    import socket

    if size == 1:
        return TCPStore("localhost", 0, 1, True, timeout)
    everyone = mpi_job.load().COMM_WORLD
    address: tuple[str, int] | None = None
    if rank == 0:
        store = TCPStore("localhost", 0, size, True, timeout, wait_for_workers=False)
        address = socket.gethostname(), store.port
        if everyone.Split_type(mpi_job.load().COMM_TYPE_SHARED).Get_size() == everyone.Get_size():
            address = "localhost", store.port
        everyone.bcast(address, 0)
        return store
    everyone.Split_type(mpi_job.load().COMM_TYPE_SHARED)
    host, port = everyone.bcast(None, 0)
    return TCPStore(host, port, size, False, timeout)


_handlers: dict[str, Callable[..., Iterator[Found]]] = {"env": _env, "file": _file, "tcp": _tcp}
