"""``ProcessGroup``: some ranks of the program, which call collectives together."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from ..base import forks
from .communicator import Communicator
from .peers import Peers
from .store import PrefixStore, Store, seconds
from .work import Place, Stage, Work, background, here
from .work import wait as wait_for_work

__all__ = ["ProcessGroup"]


class ProcessGroup:
    """A group of ranks; :func:`init_process_group` and :func:`new_group` make them.

    Attributes:
        ranks: the numbers of its ranks in the whole program, by their numbers in the group.
        group_name: the same on all ranks.
        timeout: seconds.
        compare: with ``TORCH_DISTRIBUTED_DEBUG=DETAIL``, what compares a call with those of the other ranks.
    """

    def __init__(
        self,
        communicator: Communicator,
        ranks: Sequence[int],
        name: str,
        backend: str,
        store: Store,
        timeout: timedelta,
        peers: Peers | None = None,
        description: str = "",
    ) -> None:
        self.communicator, self.ranks, self.group_name, self.backend = communicator, list(ranks), name, backend
        self.store, self.timeout, self.peers = PrefixStore(name, store), seconds(timeout), peers
        self.group_desc = description or "undefined"
        self.global_rank = self.ranks[communicator.rank]
        self.count = 0  # collectives so far
        self.bytes_sent = 0  # given to collectives so far, by this rank
        self.works: deque[Work] = deque()
        self.lock = forks.lock(forks.Order.GRADS)
        self.compare: Callable[[ProcessGroup, str, dict[str, Any], Place], None] | None = None
        self.parts = 0  # groups made of it so far

    # --- what it is ---------------------------------------------------------------------------------------------

    def rank(self) -> int:
        """This process's number in the group."""
        return self.communicator.rank

    def size(self) -> int:
        """How many ranks it has."""
        return self.communicator.size

    def name(self) -> str:
        """The backend's name."""
        return self.backend

    def get_group_store(self) -> Store:
        """The store of this group."""
        return self.store

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long collectives may take."""
        self.timeout = seconds(timeout)

    # --- works --------------------------------------------------------------------------------------------------

    def start(
        self,
        name: str,
        stages: Sequence[Stage],
        outputs: list[Any],
        finish: Callable[[], None] | None = None,
        call: dict[str, Any] | None = None,
        nbytes: int = 0,
    ) -> Work:
        """Start a collective, which all ranks of the group do in the same order.

        Args:
            stages: each starts something, and returns its requests.
            outputs: the tensors that it fills.
            finish: called when the last stage is done.
            call: what has to be the same on all ranks, to be compared where that is asked for.
            nbytes: how much data there is.
        """
        at = here()
        with self.lock:
            self.count += 1
            number = self.count
        if self.compare is not None and call is not None:
            self.compare(self, name, call, at)
        work = Work(self, name, stages, finish, outputs, at, number, nbytes)
        with self.lock:
            self.bytes_sent += nbytes
            self.works.append(work)
            self._step_all()
        return work

    def message(self, name: str, stage: Stage, outputs: list[Any], finish: Callable[[], None] | None = None) -> Work:
        """Start to send or receive a message."""
        work = Work(self, name, [stage], finish, outputs, here(), None)
        with self.lock:
            work.step()
        if not work.done:
            background.watch(self, work)
        return work

    def advance(self, work: Work) -> bool:
        """Make progress, and say whether a work is done."""
        with self.lock:
            if not work.done:
                if work.number is None:
                    work.step()
                else:
                    self._step_all()
        return work.done

    def _step_all(self) -> None:
        works = self.works
        for work in list(works):
            begun = work.done or work.step()
            if not begun:
                break  # the next may not begin before
        while works and works[0].done:
            works.popleft()

    def wait_for(self, work: Work, timeout: float) -> None:
        """Wait until a work is done."""
        wait_for_work(self, work, timeout)

    def finish(self) -> None:
        """Wait for what runs."""
        for work in list(self.works):
            work.wait()

    def shutdown(self) -> None:
        """Finish what runs, and leave the group."""
        self.finish()
        self.communicator.free()

    abort = shutdown
