"""What a store does with its table of keys: one command at a time, the same for tables in memory and in a file.

A command is a name and byte strings. It answers with a list of byte strings, or with None as long as a key that it
needs is not there: who asked then waits and asks again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, MutableMapping, Sequence

from ..base import forks
from .errors import DistStoreError

Table = MutableMapping[bytes, bytes]
Reply = list[bytes] | None
HIDDEN = b"\0"  # how keys begin that programs do not see: queues, and what ranks tell each other about failures
QUEUE = HIDDEN + b"queue/"
ENDED = HIDDEN + b"ended/"  # and a rank: how it ended


def pack(items: Sequence[bytes]) -> bytes:
    """Byte strings in one, each after its length."""
    return b"".join(len(item).to_bytes(8, "big") + item for item in items)


def unpack(packed: bytes) -> list[bytes]:
    """The byte strings in one that :func:`pack` made."""
    items, at = [], 0
    while at < len(packed):
        end = at + 8 + int.from_bytes(packed[at : at + 8], "big")
        items.append(packed[at + 8 : end])
        at = end
    return items


def _set(table: Table, key: bytes, value: bytes) -> Reply:
    table[key] = value
    return []


def _get(table: Table, *keys: bytes) -> Reply:
    return [table[key] for key in keys] if all(key in table for key in keys) else None


def _set_many(table: Table, *pairs: bytes) -> Reply:
    for key, value in zip(pairs[::2], pairs[1::2]):
        table[key] = value
    return []


def _wait(table: Table, *keys: bytes) -> Reply:
    return [] if all(key in table for key in keys) else None


def _check(table: Table, *keys: bytes) -> Reply:
    return [b"%d" % all(key in table for key in keys)]


def _add(table: Table, key: bytes, amount: bytes) -> Reply:
    table[key] = b"%d" % (int(table.get(key, b"0")) + int(amount))
    return [table[key]]


def _compare_set(table: Table, key: bytes, expected: bytes, desired: bytes) -> Reply:
    if table.get(key, b"") == expected:
        table[key] = desired
    return [table.get(key, expected)]


def _append(table: Table, key: bytes, value: bytes) -> Reply:
    table[key] = table.get(key, b"") + value
    return []


def _delete(table: Table, key: bytes) -> Reply:
    return [b"%d" % (table.pop(key, None) is not None)]


def _list(table: Table) -> Reply:
    return [key for key in table if not key.startswith(HIDDEN)]


def _count(table: Table) -> Reply:
    return [b"%d" % len(_list(table) or ())]


def _push(table: Table, key: bytes, value: bytes) -> Reply:
    table[QUEUE + key] = table.get(QUEUE + key, b"") + pack([value])
    return []


def _pop(table: Table, key: bytes) -> Reply:
    values = unpack(table.get(QUEUE + key, b""))
    if not values:
        return None
    table[QUEUE + key] = pack(values[1:])
    return [values[0]]


def _find(table: Table, head: bytes) -> Reply:
    return [part for key in sorted(table) if key.startswith(head) for part in (key, table[key])]


def _length(table: Table, key: bytes) -> Reply:
    return [b"%d" % len(unpack(table.get(QUEUE + key, b"")))]


COMMANDS: dict[str, Callable[..., Reply]] = {
    "add": _add,
    "append": _append,
    "check": _check,
    "compare_set": _compare_set,
    "delete": _delete,
    "find": _find,
    "get": _get,
    "list": _list,
    "num_keys": _count,
    "queue_len": _length,
    "queue_pop": _pop,
    "queue_push": _push,
    "set": _set,
    "set_many": _set_many,
    "wait": _wait,
}


def timed_out(command: str, fields: Sequence[bytes], timeout: float) -> DistStoreError:
    """The error of a command whose keys did not appear."""
    keys = ", ".join("/" + key.lstrip(HIDDEN).decode(errors="replace") for key in fields)
    return DistStoreError(f"wait timeout after {round(timeout * 1000)}ms, keys: {keys}")


class Memory:
    """A table in the memory of this process, which several threads use."""

    def __init__(self) -> None:
        self.table: dict[bytes, bytes] = {}
        self.changed = threading.Condition(forks.lock(forks.Order.STATE))
        self.unanswered = 0

    def answering(self, change: int) -> None:
        """Count the questions that are being answered."""
        with self.changed:
            self.unanswered += change

    def run(self, command: str, fields: Sequence[bytes], timeout: float) -> list[bytes]:
        """Do what the command says, as soon as the keys that it needs are there.

        Raises:
            DistStoreError: they were not, for ``timeout`` seconds.
        """
        deadline = time.monotonic() + timeout
        with self.changed:
            while (reply := COMMANDS[command](self.table, *fields)) is None:
                if not self.changed.wait(max(0.0, min(deadline - time.monotonic(), 60.0))) and (
                    time.monotonic() >= deadline
                ):
                    raise timed_out(command, fields, timeout)
            self.changed.notify_all()
        return reply
