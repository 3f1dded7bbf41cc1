"""With ``TORCH_DISTRIBUTED_DEBUG=DETAIL``: before each collective, the ranks compare what they are about to call.

They compare through the store, where a rank that does not come keeps nobody from reading what the others say.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from .errors import DistBackendError
from .work import PATIENCE, Place, line_of

if TYPE_CHECKING:
    from .process_group import ProcessGroup

__all__ = ["DebugLevel", "get_debug_level", "set_debug_level", "set_debug_level_from_env"]


class DebugLevel(IntEnum):
    """How much is checked."""

    OFF = 0
    INFO = 1
    DETAIL = 2

    def __str__(self) -> str:
        return f"DebugLevel.{self.name}"


_level: DebugLevel | None = None


def get_debug_level() -> DebugLevel:
    """How much is checked: as ``TORCH_DISTRIBUTED_DEBUG`` says, or :func:`set_debug_level`."""
    if _level is None:
        set_debug_level_from_env()
    assert _level is not None
    return _level


def set_debug_level(level: DebugLevel) -> None:
    """Set how much is checked, in groups that are made from now on."""
    global _level
    _level = DebugLevel(level)


def set_debug_level_from_env() -> None:
    """Set how much is checked, as the variable says.

    Raises:
        RuntimeError: it says something else.
    """
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        raise RuntimeError(f"The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO or DETAIL, not {name}.")
    set_debug_level(DebugLevel[name])


def comparing() -> Callable[[ProcessGroup, str, dict[str, Any], Place], None] | None:
    """What groups call before each collective; None where nothing is compared."""
    return compare if get_debug_level() is DebugLevel.DETAIL else None


def compare(group: ProcessGroup, name: str, call: dict[str, Any], at: Place) -> None:
    """Wait for the calls of all ranks, and compare them.

    Raises:
        RuntimeError: two differ; the message has both ranks, calls and lines.
        DistBackendError: some rank did not come in time.
    """
    store, number, line = group.store, group.count, line_of(at)
    text = f"{name}({', '.join(f'{key}={value}' for key, value in call.items())})"
    store.set(f"call/{number}/{group.rank()}", json.dumps([text, line]))
    if number > 2:  # nobody reads that any more
        store.delete_key(f"call/{number - 2}/{group.rank()}")
    keys = [f"call/{number}/{rank}" for rank in range(group.size())]
    deadline = time.monotonic() + group.timeout
    asked = time.monotonic() + PATIENCE
    while not store.check(keys):
        now = time.monotonic()
        if now > asked and group.peers is not None:
            asked = now + PATIENCE
            group.peers.waiting(f"{text} at {line}", group.group_name, number)
            group.peers.check(group.ranks, group.group_name, number)
        if now > deadline:
            error = DistBackendError(f"Timed out waiting {round(group.timeout * 1000)}ms for {text} at {line}")
            missing = [group.ranks[i] for i, key in enumerate(keys) if not store.check([key])]
            if group.peers is not None:
                for note in group.peers.where(missing, "", -1):
                    error.add_note("  " + note)
            raise error
        time.sleep(0.001)
    calls = [json.loads(value) for value in store.multi_get(keys)]
    for rank, (other, where) in enumerate(calls):
        if other != text:
            mine = group.global_rank
            mismatch = RuntimeError(
                f"Detected mismatch between collectives on ranks. Rank {mine} is running collective: {text} at {line}, "
                f"but Rank {group.ranks[rank]} is running collective: {other} at {where}."
            )
            mismatch.add_note("  All ranks of a group have to call the same collectives in the same order.")
            raise mismatch
