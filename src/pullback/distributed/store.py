"""Stores: tables of keys that several processes share, by which they find each other.

:class:`HashStore` is one process's own, :class:`FileStore` is in a file, :class:`TCPStore` (see ``tcp_store.py``) is
served by one of the processes; :class:`PrefixStore` is the part of another whose keys begin alike.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from .errors import DistStoreError, QueueEmptyError
from .store_table import COMMANDS, Memory, timed_out

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store"]

DEFAULT_TIMEOUT = timedelta(seconds=300)
EVERY = 0.01  # seconds after which a file is looked at again


def as_bytes(value: Any, what: str) -> bytes:
    """A key or a value as bytes.

    Raises:
        TypeError: it is neither a string nor bytes.
    """
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, str):
        return value.encode()
    raise TypeError(f"{what} must be str or bytes, not {type(value).__name__}")


def seconds(timeout: timedelta | float) -> float:
    """A timeout as a number of seconds."""
    return timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)


class Store:
    """A table of keys and byte strings that processes share. The values of keys that are not there are waited for.

    Raises:
        DistStoreError: by all methods that wait: the key did not appear within :attr:`timeout`.
    """

    def __init__(self) -> None:
        self._timeout = DEFAULT_TIMEOUT

    def _run(self, command: str, fields: Sequence[bytes], timeout: float | None = None) -> list[bytes]:
        raise NotImplementedError(f"{type(self).__name__} has to say how it stores")

    def set(self, key: str, value: str | bytes) -> None:
        """Store a value under a key."""
        self._run("set", [as_bytes(key, "key"), as_bytes(value, "value")])

    def get(self, key: str) -> bytes:
        """The value of a key, as soon as it has one."""
        return self._run("get", [as_bytes(key, "key")])[0]

    def add(self, key: str, amount: int) -> int:
        """Add to the number under a key, 0 at first; what it is then."""
        if not isinstance(amount, int):
            raise TypeError(f"amount must be int, not {type(amount).__name__}")
        return int(self._run("add", [as_bytes(key, "key"), b"%d" % amount])[0])

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Replace a value if it is the expected one, or if there is none and ``""`` is expected; the value then."""
        expected, desired = as_bytes(expected_value, "expected_value"), as_bytes(desired_value, "desired_value")
        return self._run("compare_set", [as_bytes(key, "key"), expected, desired])[0]

    def append(self, key: str, value: str | bytes) -> None:
        """Add to the end of a value."""
        self._run("append", [as_bytes(key, "key"), as_bytes(value, "value")])

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        limit = None if timeout is None else seconds(timeout)
        self._run("wait", [as_bytes(key, "key") for key in keys], limit)

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys are there."""
        return self._run("check", [as_bytes(key, "key") for key in keys]) == [b"1"]

    def delete_key(self, key: str) -> bool:
        """Forget a key; whether it was there."""
        return self._run("delete", [as_bytes(key, "key")]) == [b"1"]

    def num_keys(self) -> int:
        """How many keys there are."""
        return int(self._run("num_keys", [])[0])

    def list_keys(self) -> list[str]:
        """The keys that there are."""
        return [key.decode() for key in self._run("list", [])]

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of several keys, as soon as all are there."""
        return self._run("get", [as_bytes(key, "key") for key in keys])

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Store several values at once."""
        if len(keys) != len(values):
            raise ValueError(f"multi_set: {len(keys)} keys and {len(values)} values")
        pairs = [(as_bytes(key, "key"), as_bytes(value, "value")) for key, value in zip(keys, values)]
        self._run("set_many", [part for pair in pairs for part in pair])

    def has_extended_api(self) -> bool:
        """Whether it has ``append``, ``multi_get`` and ``multi_set``: all have."""
        return True

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Add a value to the end of a queue."""
        self._run("queue_push", [as_bytes(key, "key"), as_bytes(value, "value")])

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue.

        Raises:
            QueueEmptyError: there is none, and ``block`` is False.
        """
        try:
            return self._run("queue_pop", [as_bytes(key, "key")], None if block else 0.0)[0]
        except DistStoreError:
            if block:
                raise
            raise QueueEmptyError("queue is empty") from None

    def queue_len(self, key: str) -> int:
        """How many values a queue has."""
        return int(self._run("queue_len", [as_bytes(key, "key")])[0])

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long to wait for keys."""
        self._timeout = timedelta(seconds=seconds(timeout))

    @property
    def timeout(self) -> timedelta:
        """How long to wait for keys."""
        return self._timeout

    def clone(self) -> Store:
        """A store with the same keys, to be used beside this one."""
        return self


class HashStore(Store):
    """A store in the memory of one process, for its threads.

    >>> import pullback as torch
    >>> store = torch.distributed.HashStore()
    >>> store.set("name", "value"); store.get("name"), store.add("count", 2), store.num_keys()
    (b'value', 2, 2)
    """

    def __init__(self) -> None:
        super().__init__()
        self._memory = Memory()

    def _run(self, command: str, fields: Sequence[bytes], timeout: float | None = None) -> list[bytes]:
        return self._memory.run(command, fields, seconds(self._timeout) if timeout is None else timeout)


class FileStore(Store):
    """A store in a file that all processes see. The file is removed by the last of ``world_size`` that is done with it.

    Args:
        file_name: the file, which may be there already, empty or a store's.
        world_size: how many processes use it; -1: not known, so that nobody removes it.

    >>> import pullback as torch, tempfile, os
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = torch.distributed.FileStore(os.path.join(folder.name, "store"), 1)
    >>> store.set("name", "value"); store.get("name")
    b'value'
    >>> del store; folder.cleanup()
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path, self._world_size, self._pid = os.fspath(file_name), world_size, os.getpid()
        with _opened(self.path, seconds(self._timeout)) as table:
            COMMANDS["add"](table, b"\0users", b"1")

    def _run(self, command: str, fields: Sequence[bytes], timeout: float | None = None) -> list[bytes]:
        limit = seconds(self._timeout) if timeout is None else timeout
        deadline = time.monotonic() + limit
        while True:
            with _opened(self.path, seconds(self._timeout)) as table:
                reply = COMMANDS[command](table, *fields)
            if reply is not None:
                return reply
            if time.monotonic() >= deadline:
                raise timed_out(command, fields, limit)
            time.sleep(EVERY)

    def __del__(self) -> None:
        if self.__dict__.get("_pid") != os.getpid() or self._world_size < 1:
            return
        with suppress(Exception):  # also at the interpreter's end
            with _opened(self.path, 1.0) as table:
                (gone,) = COMMANDS["add"](table, b"\0gone", b"1") or (b"0",)
            if int(gone) >= self._world_size:
                os.unlink(self.path)


class _opened(MutableMapping[bytes, bytes]):
    """The table in a file, locked while it is open: an SQLite database, which is safe across processes."""

    def __init__(self, path: str, patience: float) -> None:
        import sqlite3  # only now: not every Python has it

        self.connection = sqlite3.connect(path, timeout=patience, isolation_level=None)

    def __enter__(self) -> _opened:
        try:
            self.connection.execute("begin immediate")
            self.connection.execute("create table if not exists store (key blob primary key, value blob)")
        except BaseException:
            self.connection.close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.connection.execute("commit" if exc[0] is None else "rollback")
        self.connection.close()

    def __getitem__(self, key: bytes) -> bytes:
        row = self.connection.execute("select value from store where key = ?", (key,)).fetchone()
        if row is None:
            raise KeyError(key)
        return row[0]

    def __setitem__(self, key: bytes, value: bytes) -> None:
        self.connection.execute("insert or replace into store values (?, ?)", (key, value))

    def __delitem__(self, key: bytes) -> None:
        self.connection.execute("delete from store where key = ?", (key,))

    def __iter__(self) -> Iterator[bytes]:
        return iter([row[0] for row in self.connection.execute("select key from store")])

    def __len__(self) -> int:
        return int(self.connection.execute("select count(*) from store").fetchone()[0])


class PrefixStore(Store):
    """The part of a store whose keys begin with ``prefix/``, which its users do not write.

    >>> import pullback as torch
    >>> base = torch.distributed.HashStore()
    >>> torch.distributed.PrefixStore("part", base).set("name", "value"); base.get("part/name")
    b'value'
    """

    def __init__(self, prefix: str, store: Store) -> None:
        if not isinstance(store, Store):
            raise TypeError(f"store must be Store, not {type(store).__name__}")
        self.prefix, self.underlying_store = prefix, store

    def _run(self, command: str, fields: Sequence[bytes], timeout: float | None = None) -> list[bytes]:
        head = self.prefix.encode() + b"/"
        keys = range(0, len(fields), 2 if command == "set_many" else 1 if command in ("get", "wait", "check") else 9)
        changed = [head + field if i in keys else field for i, field in enumerate(fields)]
        return self.underlying_store._run(command, changed, timeout)

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long to wait for keys, in the whole store."""
        self.underlying_store.set_timeout(timeout)

    @property
    def timeout(self) -> timedelta:
        """How long to wait for keys."""
        return self.underlying_store.timeout

    def clone(self) -> Store:
        """A store with the same keys, to be used beside this one."""
        return PrefixStore(self.prefix, self.underlying_store.clone())
