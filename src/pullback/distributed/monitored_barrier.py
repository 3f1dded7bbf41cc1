"""``monitored_barrier``: a barrier that names who did not come."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from ..base.errors import with_notes
from .errors import DistBackendError, DistStoreError
from .store import seconds
from .work import here, line_of
from .world import is_outside, resolved

__all__ = ["monitored_barrier"]


def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """Wait until all ranks of the group have come here; rank 0 says who has not in time.

    Args:
        wait_all_ranks: whether rank 0 waits for all, and names all who did not come, or the first.

    Raises:
        RuntimeError: somebody did not come.
    """
    if is_outside(group, "monitored_barrier"):
        return
    found = resolved(group)
    if found.size() == 1:
        return
    limit = found.timeout if timeout is None else seconds(timeout)
    found.count += 1
    key, store, line = f"barrier/{found.count}", found.store, line_of(here())
    if found.peers is not None:
        found.peers.waiting(f"monitored_barrier at {line}", found.group_name, found.count)
    if found.rank():
        store.set(f"{key}/{found.rank()}", "")
        try:
            store.wait([f"{key}/done"], timedelta(seconds=2 * limit + 10))
            verdict = store.get(f"{key}/done").decode()
        except DistStoreError:
            verdict = "rank 0 did not come"
        if verdict:
            raise DistBackendError(
                f"Rank {found.rank()} successfully reached monitoredBarrier, but received errors while waiting for "
                f"send/recv from rank 0. Please check rank 0 logs for faulty rank.\n  {verdict}"
            )
        return
    deadline, missing = time.monotonic() + limit, list(range(1, found.size()))
    while missing and time.monotonic() < deadline:
        missing = [rank for rank in missing if not store.check([f"{key}/{rank}"])]
        time.sleep(0.001)
    named = missing if wait_all_ranks else missing[:1]
    if not named:
        store.set(f"{key}/done", "")
        return
    ranks = ", ".join(str(found.ranks[rank]) for rank in named)
    verdict = (
        f"{'Ranks' if len(named) > 1 or wait_all_ranks else 'Rank'} {ranks} failed to pass monitoredBarrier in "
        f"{round(limit * 1000)} ms"
    )
    store.set(f"{key}/done", verdict)
    notes = []
    if found.peers is not None:
        notes = found.peers.where([found.ranks[rank] for rank in named], found.group_name, found.count)
    raise with_notes(DistBackendError(f"[Rank {found.rank()}]: {verdict}"), *notes)
