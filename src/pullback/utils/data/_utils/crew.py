"""The worker processes of one ``DataLoader`` iterator, seen from the main process."""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from typing import Any

from ....base.errors import with_notes
from ....multiprocessing.parent import parent_for, require_processes
from .worker import CHECK, Fetcher, receive, worker_loop


class Crew:
    """Worker processes, each with a pipe of its own, so that none can spoil what others send.

    Raises:
        what pickling raises: if the start method needs to pickle dataset, ``collate_fn`` or ``worker_init_fn``, and
            cannot.
    """

    def __init__(
        self, context: Any, count: int, fetcher: Fetcher, base_seed: int, init_fn: Callable[[int], Any] | None
    ) -> None:
        require_processes(f"DataLoader(num_workers={count})")
        self.processes: list[Any] = []
        self.pipes: list[Any] = []
        self.owner = os.getpid()
        try:
            for i in range(count):
                ours, theirs = context.Pipe()
                process = context.Process(
                    target=worker_loop,
                    args=(theirs, fetcher, i, count, base_seed, init_fn, parent_for(context)),
                    daemon=True,
                )
                self.pipes.append(ours)
                process.start()
                self.processes.append(process)
                theirs.close()  # or else its death could not be heard
        except BaseException as error:
            self.stop()
            if isinstance(error, (TypeError, AttributeError, pickle.PicklingError)):
                with_notes(
                    error,
                    f"A worker process started by {context.get_start_method()!r} gets dataset, collate_fn and "
                    f"worker_init_fn pickled:",
                    "define what they are made of at the top of a module, or pass multiprocessing_context='fork' (not "
                    "on Windows).",
                )
            raise

    def send(self, worker: int, task: Any) -> None:
        """Give a worker something to do; None tells it to end."""
        try:
            self.pipes[worker].send(task)
        except OSError:
            if task is not None:
                raise self._death([worker]) from None

    def hear(self, workers: list[int], timeout: float) -> tuple[int, Any] | None:
        """The next answer of any of these workers, and whose it is; None if there is none in that many seconds (0: no
        limit).

        Raises:
            RuntimeError: if one of them is no longer alive.
        """
        deadline = time.monotonic() + timeout if timeout else None
        voices: dict[Any, int] = {self.pipes[w]: w for w in workers} | {self.processes[w].sentinel: w for w in workers}
        while True:
            left = CHECK if deadline is None else max(0.0, deadline - time.monotonic())
            ready: list[Any] = wait(list(voices), min(CHECK, left))
            for pipe in ready:
                if not isinstance(pipe, int):  # an answer, or the end of the pipe
                    try:
                        return voices[pipe], receive(pipe)
                    except (EOFError, OSError):
                        raise self._death([voices[pipe]]) from None
            if ready:  # sentinels only
                raise self._death([voices[sentinel] for sentinel in ready])
            if deadline is not None and time.monotonic() >= deadline:
                return None

    def _death(self, workers: list[int]) -> RuntimeError:
        for w in workers:
            self.processes[w].join(CHECK)
        pids = ", ".join([str(self.processes[w].pid) for w in workers])
        return with_notes(
            RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly"),
            *[f"Worker {w} {_ending(self.processes[w].exitcode)}" for w in workers],
            "Rerun with num_workers=0 to see where.",
        )

    def stop(self) -> None:
        """End all processes: by asking them, and after a few seconds by force. Harmless if called again, or in a forked
        copy.
        """
        if self.owner != os.getpid():
            return
        for i, pipe in enumerate(self.pipes):
            self.send(i, None)
            pipe.close()
        self.pipes = []
        processes, self.processes = self.processes, []
        deadline = time.monotonic() + CHECK
        for process in processes:
            process.join(max(0.0, deadline - time.monotonic()))
        for process in processes:
            if process.is_alive():
                process.terminate()
                process.join(1.0)
            if process.is_alive():
                process.kill()
                process.join()


def _ending(code: int | None) -> str:
    if code is None:
        return "closed its pipe, but runs on."
    if code >= 0:
        return f"ended with exit code {code}."
    try:
        return f"was killed by signal {signal.Signals(-code).name}."
    except ValueError:
        return f"was killed by signal {-code}."
