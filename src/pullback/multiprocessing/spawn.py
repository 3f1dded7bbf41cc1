"""``spawn``: one function in several processes; if one fails, the others are stopped and its traceback is shown."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import wait
from typing import Any

from .parent import end_with, parent_for, require_processes

__all__ = [
    "ProcessContext",
    "ProcessExitedException",
    "ProcessException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]

on_failure: list[Callable[[BaseException], None]] = []  # who is told in a process whose function has failed


class ProcessException(Exception):
    """A process failed: ``error_index`` says which, ``error_pid`` its id."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """A process raised an exception, whose traceback is in the message."""


class ProcessExitedException(ProcessException):
    """A process ended with an exit code other than 0, or by a signal."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _run(fn: Callable[..., Any], index: int, args: tuple[Any, ...], errors: Any, parent: tuple[int, bool]) -> None:
    end_with(parent)
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the main process has it too
    except Exception as error:
        for tell in on_failure:
            tell(error)
        errors.send(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes, self._errors = processes, errors
        self._running = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """Their ids."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one has ended, or some have; True once all are done.

        Args:
            timeout: seconds to wait at most.
            grace_period: seconds that the others are given when one fails, before they are stopped.

        Raises:
            ProcessRaisedException, ProcessExitedException: if one failed. The others are stopped first.
        """
        if not self._running:
            return True
        failed = None
        for sentinel in wait(list(self._running), timeout):
            index = self._running.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode:
                failed = index
                break
        if failed is None:
            return not self._running
        self._stop(grace_period or 0)
        raise self._failure(failed)

    def _stop(self, grace: float) -> None:
        deadline = time.monotonic() + grace
        for process in self.processes:
            process.join(max(0.0, deadline - time.monotonic()))
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(30)
            if process.is_alive():
                process.kill()
                process.join()

    def _failure(self, index: int) -> ProcessException:
        process, errors = self.processes[index], self._errors[index]
        text = None
        try:
            if errors.poll():
                text = errors.recv()
        except EOFError:
            pass
        if text is not None:
            message = f"\n\n-- Process {index} terminated with the following error:\n{text}"
            return ProcessRaisedException(message, index, process.pid)
        code = process.exitcode
        if code >= 0:
            return ProcessExitedException(f"process {index} terminated with exit code {code}", index, process.pid, code)
        name = next((s.name for s in signal.Signals if s == -code), f"<Unknown signal {-code}>")
        return ProcessExitedException(f"process {index} terminated with signal {name}", index, process.pid, code, name)


SpawnContext = ProcessContext


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run ``fn(index, *args)`` in ``nprocs`` processes, which end when this one does, even if it is killed.

    Args:
        join: whether to wait for all of them; else what is returned can be waited for.
        start_method: ``"spawn"``, ``"fork"`` or ``"forkserver"``.

    Raises:
        ProcessRaisedException, ProcessExitedException: if one failed.
    """
    require_processes("torch.multiprocessing")
    context: Any = multiprocessing.get_context(start_method)
    processes, errors = [], []
    for i in range(nprocs):
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, i, args, theirs, parent_for(context)), daemon=daemon)
        process.start()
        theirs.close()
        processes.append(process)
        errors.append(ours)
    started = ProcessContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """:func:`start_processes` with fresh interpreters.

    Example::

        def work(rank, size): ...
        torch.multiprocessing.spawn(work, args=(4,), nprocs=4)
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)
