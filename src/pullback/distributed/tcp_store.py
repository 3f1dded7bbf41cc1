"""``TCPStore``: a store in the memory of one process, which serves it to the others by TCP.

A message is a number of byte strings, each after its length, and the whole after its length. A request is a command's
name, a timeout in milliseconds and the command's fields; the answer begins with ``ok`` or with the name of what went
wrong. Nothing that is received is run or unpickled.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from ..base.errors import with_notes
from .errors import DistNetworkError, DistStoreError
from .store import DEFAULT_TIMEOUT, Store, seconds
from .store_table import COMMANDS, ENDED, Memory, pack, timed_out, unpack

__all__ = ["TCPStore"]

JOINED = "init/"  # the key that counts who has connected, as in PyTorch
HELLO, GOODBYE = b"hello", b"goodbye"
RETRY = 0.05  # seconds between attempts to connect


def send(connection: socket.socket, items: Sequence[bytes]) -> None:
    """Send one message."""
    connection.sendall(pack([pack(items)]))


def receive(connection: socket.socket) -> list[bytes]:
    """Receive one message.

    Raises:
        ConnectionError: the other side has gone.
    """
    return unpack(_exactly(connection, int.from_bytes(_exactly(connection, 8), "big")))


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(min(size - len(parts), 1 << 20))
        if not part:
            raise ConnectionError("the connection was closed")
        parts += part
    return bytes(parts)


class Server:
    """Serves a table of keys to whoever connects; a thread for each."""

    def __init__(self, port: int, backlog: int = 2048) -> None:
        self.memory = Memory()
        try:
            self.listener = _listening(port, backlog)
        except OSError as error:
            raise with_notes(
                DistNetworkError(
                    "The server socket has failed to listen on any local network address. The server socket has "
                    f"failed to bind to [::]:{port} (errno: {error.errno} - {os.strerror(error.errno or 0)})."
                ),
                "Choose another MASTER_PORT, or 0 in TCPStore(port=0), which finds a free one.",
            ) from None
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=_accept, args=(self.listener, self.memory), daemon=True, name="TCPStore").start()
        weakref.finalize(self, _close, self.listener)


def _listening(port: int, backlog: int) -> socket.socket:
    if socket.has_dualstack_ipv6():
        with suppress(OSError):
            return socket.create_server(
                ("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=backlog, reuse_port=False
            )
    return socket.create_server(("", port), backlog=backlog)


def _close(listener: socket.socket) -> None:
    with suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)  # the thread that accepts returns
    listener.close()


def _accept(listener: socket.socket, memory: Memory) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=_serve, args=(connection, memory), daemon=True, name="TCPStore client").start()


def _serve(connection: socket.socket, memory: Memory) -> None:
    rank, busy = None, False
    try:
        while True:
            if busy:
                memory.answering(-1)
            busy = False
            command, timeout, *fields = receive(connection)
            memory.answering(1)
            busy = True
            if command in (HELLO, GOODBYE):
                rank = fields[0] if command == HELLO else None
                send(connection, [b"ok"])
                continue
            limit = int(timeout) / 1000
            try:
                reply = memory.run(command.decode(), fields, limit)
            except DistStoreError:
                send(connection, [b"timeout"])
            except Exception as error:
                send(connection, [b"error", f"{type(error).__name__}: {error}".encode()])
            else:
                send(connection, [b"ok", *reply])
    except OSError:
        pass
    finally:
        connection.close()
        if busy:
            memory.answering(-1)
        if rank is not None:
            memory.run("compare_set", [ENDED + rank, b"", b"lost"], 0.0)


def _close_all(connections: list[socket.socket]) -> None:
    for connection in connections:
        connection.close()


_servers: weakref.WeakValueDictionary[int, Server] = weakref.WeakValueDictionary()


class TCPStore(Store):
    """A store that one process serves to others, which connect to it.

    Args:
        host_name, port: where it is served; the port 0 finds a free one, see :attr:`port`.
        world_size: how many processes there are, for ``wait_for_workers``; None: not known.
        is_master: whether this is the process that serves it.
        timeout: how long to wait for keys, and for the connection.
        wait_for_workers: whether the master waits until all have connected.
        multi_tenant: whether several stores of one process may share a port, and so their keys.

    Raises:
        DistNetworkError: there is no connection, or the port is taken.

    >>> import pullback as torch
    >>> store = torch.distributed.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    >>> store.set("name", "value"); store.get("name")
    b'value'
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        self._timeout, self._server = timedelta(seconds=seconds(timeout)), None
        if is_master:
            server = _servers.get(port) if multi_tenant and port else None
            self._server = Server(port) if server is None else server
            if multi_tenant:
                _servers[self._server.port] = self._server
            port = self._server.port
        self._start(host_name, port)
        joined = self.add(JOINED, 1)
        if is_master and wait_for_workers and world_size is not None and world_size > 0:
            deadline = time.monotonic() + seconds(timeout)
            while joined < world_size:
                if time.monotonic() > deadline:
                    raise DistStoreError(
                        f"Timed out after {round(seconds(timeout))} seconds waiting for clients. "
                        f"{joined}/{world_size} clients joined."
                    )
                time.sleep(RETRY / 5)
                joined = self.add(JOINED, 0)

    def _start(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        # one connection for each thread, as an answer may take long; none is shared with a forked child
        self._connections = threading.local()
        self._open: list[socket.socket] = []
        self._lost = False
        weakref.finalize(self, _close_all, self._open)
        self._connection()

    def _connection(self) -> socket.socket:
        known: tuple[int, socket.socket] | None = getattr(self._connections, "known", None)
        if known is not None and known[0] == os.getpid():
            return known[1]
        limit = 0.0 if self._lost else seconds(self._timeout)  # the master may start later, but not anew
        deadline = time.monotonic() + limit
        local = "localhost" if self._server is not None else self.host
        while True:
            try:
                connection = socket.create_connection((local, self.port), max(0.01, deadline - time.monotonic()))
                break
            except OSError:
                if time.monotonic() + RETRY > deadline:
                    raise with_notes(
                        DistNetworkError(
                            f"The client socket has timed out after {round(limit * 1000)}ms while trying to connect "
                            f"to ({self.host}, {self.port})."
                        ),
                        "Is rank 0 running, at that address (MASTER_ADDR and MASTER_PORT)?",
                    ) from None
                time.sleep(RETRY)
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connections.known = os.getpid(), connection
        self._open.append(connection)
        return connection

    def _ask(self, items: Sequence[bytes]) -> list[bytes]:
        connection = self._connection()
        try:
            send(connection, items)
            return receive(connection)
        except OSError as error:
            self._connections.known, self._lost = None, True
            raise with_notes(
                DistNetworkError(f"The connection to the store at {self.host}:{self.port} broke: {error}"),
                "The process that serves it (rank 0) has ended.",
            ) from None

    def _run(self, command: str, fields: Sequence[bytes], timeout: float | None = None) -> list[bytes]:
        assert command in COMMANDS
        limit = seconds(self._timeout) if timeout is None else timeout
        outcome, *reply = self._ask([command.encode(), b"%d" % round(limit * 1000), *fields])
        if outcome == b"timeout":
            raise timed_out(command, fields, limit)
        if outcome == b"error":
            raise RuntimeError(f"TCPStore: {command} failed: {reply[0].decode()}")
        return reply

    @property
    def serves(self) -> bool:
        """Whether this process serves the store."""
        return self._server is not None

    def answered(self, timeout: float) -> None:
        """Where this process serves the store: wait until all questions that have come are answered."""
        deadline = time.monotonic() + timeout
        while self._server is not None and self._server.memory.unanswered and time.monotonic() < deadline:
            time.sleep(0.001)

    def say_hello(self, rank: int) -> None:
        """Have the server note that a rank has ended if this thread's connection breaks before a goodbye."""
        self._ask([HELLO, b"0", b"%d" % rank])

    def say_goodbye(self) -> None:
        """Take back :meth:`say_hello`."""
        self._ask([GOODBYE, b"0"])

    def clone(self) -> TCPStore:
        """A store with the same keys and connections of its own."""
        other = object.__new__(TCPStore)
        Store.__init__(other)
        other._timeout, other._server = self._timeout, self._server
        other._start(self.host, self.port)
        return other

    def __repr__(self) -> str:
        return f"TCPStore({self.host!r}, {self.port}, is_master={self._server is not None})"
