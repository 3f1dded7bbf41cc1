"""Processes that end with the one that started them, also where it is killed and cannot tell them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from multiprocessing.connection import wait
from typing import Any

EVERY = 1.0  # seconds after which a child looks again
GRACE = 5.0  # seconds that a handler of SIGTERM is given


def require_processes(what: str) -> None:
    """Refuse what starts processes where there is only one, in WebAssembly.

    Raises:
        RuntimeError: there are none.
    """
    if sys.platform in ("emscripten", "wasi"):
        raise RuntimeError(f"{what} starts processes, which WebAssembly does not have")


def parent_for(context: Any) -> tuple[int, bool]:
    """What a process that this one is about to start must be told for :func:`end_with`: this one's id, and whether it
    will be the parent in the eyes of the system.
    """
    return os.getpid(), context.get_start_method() != "forkserver"


def end_with(parent: tuple[int, bool]) -> None:
    """In a child: end, from now on, as soon as the parent has, even if it already has."""
    if parent[0] != os.getpid():  # else it is a thread that stands for a process
        threading.Thread(target=_watch, args=parent, daemon=True).start()


def _watch(parent: int, direct: bool) -> None:
    process = multiprocessing.parent_process()
    # a pipe that the parent's end closes, unless a sibling that was forked later has it open, too
    sentinels = [] if process is None else [process.sentinel]
    while not (direct and os.getppid() != parent) and not wait(sentinels, EVERY):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(1)
