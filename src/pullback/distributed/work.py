"""``Work``: a collective that has been started, and how ranks wait for one.

A collective has one or several stages; each starts something and is done when all its requests are. MPI pairs the
collectives of a group by their order, which has to be the same on all ranks. So the stages of a group's works start in
the order of the works: a work begins when all stages of those before it have begun.

MPI makes progress only inside its calls. A rank that waits makes them, and while works run that nobody waits for, so
does a thread in the background.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from types import CodeType
from typing import TYPE_CHECKING, Any

from ..autograd.profiler import note_elsewhere
from ..base import forks
from ..compat.futures import Future
from ..core.graph import source_line, user_frame
from .errors import DistBackendError, PeerEnded
from .store import seconds

if TYPE_CHECKING:
    from .process_group import ProcessGroup

__all__ = ["Work"]

SPIN = 0.001  # seconds for which a waiting rank looks all the time
BANDWIDTH = 300e6  # bytes a second: for large data it looks longer
PAUSE = 0.0002  # seconds between later looks
PATIENCE = 0.5  # seconds after which it asks, and asks again, whether the others are still there
GRACE = 2.0  # seconds for which a message may still be under way from a rank that has left
BACKGROUND = 0.001  # seconds between the looks of the thread in the background

Stage = Callable[[], list[Any]]
Place = tuple[CodeType | None, int]  # of an instruction


def here() -> Place:
    """The instruction of the user's program that is running."""
    frame = user_frame(sys._getframe(1))
    return (None, 0) if frame is None else (frame.f_code, frame.f_lasti)


def line_of(place: Place) -> str:
    """An instruction's ``file:line``."""
    found = source_line(*place)
    return "an unknown line" if found is None else f"{found[0]}:{found[1]}"


class Work:
    """A collective that has been started, or a message.

    Attributes:
        name, at: what it is, and where the user's program started it.
        number: its place among the collectives of its group; None for a message.
        began, over: when, by ``time.perf_counter``; 0 while it runs.
    """

    def __init__(
        self,
        group: ProcessGroup,
        name: str,
        stages: Sequence[Stage],
        finish: Callable[[], None] | None,
        outputs: list[Any],
        at: Place,
        number: int | None,
        nbytes: int = 0,
    ) -> None:
        self.group, self.name, self.at, self.number, self.nbytes = group, name, at, number, nbytes
        self.stages, self.finish, self.outputs = deque(stages), finish, outputs
        self.requests: list[Any] | None = None
        self.done = False
        self.error: BaseException | None = None
        self.receipt: Any = None  # of a message that is received
        self.began, self.over = time.perf_counter(), 0.0
        self._future: WorkFuture | None = None

    @property
    def line(self) -> str:
        """The user's line, as ``file:line``."""
        return line_of(self.at)

    # --- PyTorch's methods --------------------------------------------------------------------------------------

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until it is done.

        Raises:
            DistBackendError: it took longer than ``timeout``, by default that of its group; or a rank has ended.
        """
        if not self.done:
            self.group.wait_for(self, seconds(timeout) if timeout else self.group.timeout)
        if self.error is not None:
            raise self.error
        return True

    synchronize = wait

    def is_completed(self) -> bool:
        """Whether it is done."""
        return self.done or self.group.advance(self)

    def is_success(self) -> bool:
        """Whether it is done, and without an error."""
        return self.is_completed() and self.error is None

    def exception(self) -> BaseException | None:
        """The error, if there was one."""
        return self.error

    def result(self) -> list[Any]:
        """The tensors that it fills, when it is done."""
        self.wait()
        return self.outputs

    def source_rank(self) -> int:
        """Of a message that was received: who sent it."""
        self.wait()
        if self.receipt is None:
            raise RuntimeError("sourceRank() may only be called on work objects that correspond to a recv or irecv.")
        return self.group.ranks[self.receipt.source]

    def get_future(self) -> Future:
        """A future of the list of tensors that it fills."""
        if self._future is None:
            self._future = WorkFuture(self)
            if self.done:
                self._resolve()
            else:
                background.watch(self.group, self)
        return self._future

    # --- progress -----------------------------------------------------------------------------------------------

    def step(self) -> bool:
        """Go on as far as that goes without waiting; whether all stages have begun. The group's lock is held."""
        try:
            while True:
                if self.requests is None:
                    self.requests = self.stages.popleft()() if self.stages else []
                    if self.number is None and self.requests and hasattr(self.requests[0], "source"):
                        self.receipt = self.requests[0]
                if not all([request.Test() for request in self.requests]):
                    return not self.stages
                if not self.stages:
                    break
                self.requests = None
            if self.finish is not None:
                self.finish()
        except Exception as error:
            self.error = self._explained(error)
        self.done, self.requests, self.finish = True, [], None
        self.over = time.perf_counter()
        note_elsewhere(f"{self.group.backend}:{self.name}", self.began, self.over)
        self.stages.clear()
        if self._future is not None:
            self._resolve()
        return True

    def _explained(self, error: Exception) -> Exception:
        if type(error).__module__.partition(".")[0] != "mpi4py":
            return error
        message = DistBackendError(f"{self.name} failed: {error}")
        message.add_note(
            "  Did the ranks call it with different shapes or dtypes? With TORCH_DISTRIBUTED_DEBUG=DETAIL in the "
            "environment, the calls of all ranks are compared."
        )
        return message

    def _resolve(self) -> None:
        future = self._future
        if future is None or future.done():
            return
        if self.error is None:
            future.set_result(self.outputs)
        else:
            future.set_exception(self.error)

    def __repr__(self) -> str:
        state = "failed" if self.error is not None else "done" if self.done else "running"
        return f"<torch.distributed.Work {self.name} at {self.line}, {state}>"


class WorkFuture(Future):
    """The future of a work, and those made of it by ``then``: to wait for one makes progress."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work

    def wait(self) -> Any:
        """The result, when it is there; the error is raised, if that was set."""
        if not self.done():
            try:
                self._work.wait()
            except Exception:
                if not self.done():
                    raise
        return super().wait()

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """The future of what a function makes of this one."""
        after = WorkFuture(self._work)

        def go_on(_: Future) -> None:
            try:
                after.set_result(callback(self))
            except Exception as error:
                after.set_exception(error)

        self.add_done_callback(go_on)
        return after


def wait(group: ProcessGroup, work: Work, timeout: float) -> None:
    """Wait until a work is done.

    Raises:
        DistBackendError: it took longer; the message says who did not come, and where they are.
    """
    began = time.perf_counter()
    spin, asked, published = SPIN + work.nbytes / BANDWIDTH, PATIENCE, False
    while not group.advance(work):
        waited = time.perf_counter() - began
        if waited > asked and group.peers is not None:
            asked = waited + PATIENCE
            if not published:
                published = True
                group.peers.waiting(f"{work.name} at {work.line}", group.group_name, work.number or 0)
            if work.number is not None or waited > GRACE:
                group.peers.check(group.ranks, group.group_name, work.number)
        if waited > timeout:
            raise _timed_out(group, work, timeout)
        time.sleep(0 if waited < spin else PAUSE)
    if published and group.peers is not None:
        group.peers.waiting("", "", 0)


def _timed_out(group: ProcessGroup, work: Work, timeout: float) -> DistBackendError:
    error = DistBackendError(
        f"Timed out waiting {round(timeout * 1000)}ms for {work.name} at {work.line} (rank {group.global_rank})"
    )
    if group.peers is not None:
        try:
            lines = group.peers.where(group.ranks, group.group_name, work.number or 0)
        except PeerEnded as ended:
            lines = [str(ended)]
        for line in lines:
            error.add_note("  " + line)
    return error


class Background:
    """A thread that makes progress while works run for which nobody waits."""

    def __init__(self) -> None:
        self.works: list[tuple[ProcessGroup, Work]] = []
        self.wake = threading.Event()
        self.pid = 0

    def watch(self, group: ProcessGroup, work: Work) -> None:
        """Make progress with a work until it is done."""
        if group.size() == 1:
            return
        self.works.append((group, work))
        if self.pid != os.getpid():
            self.pid, self.wake = os.getpid(), threading.Event()
            threading.Thread(target=self._run, args=(self.wake,), daemon=True, name="distributed progress").start()
        self.wake.set()

    def _run(self, wake: threading.Event) -> None:
        while True:
            wake.wait()
            wake.clear()
            while self.works and not ended.is_set():
                for entry in list(self.works):
                    if entry[1].done or entry[0].advance(entry[1]):
                        self.works.remove(entry)
                time.sleep(BACKGROUND)


ended = threading.Event()  # set before MPI is finalized: nothing of it may be called from then on
background = Background()
forks.in_child(lambda: background.works.clear())
