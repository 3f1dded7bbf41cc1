"""What the ranks tell each other beside the data: who waits where, who has ended, and why.

They tell it through the store by which they found each other, under keys that programs do not see. A rank that waits
longer than a moment looks there: so it learns of a rank that will not come, and says so instead of waiting for good.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress

from .errors import DistNetworkError, PeerEnded
from .store import PrefixStore, Store
from .store_table import ENDED, HIDDEN
from .tcp_store import TCPStore

WAITING = HIDDEN + b"waiting/"  # and a rank: what it waits for


def bottom(store: Store) -> Store:
    """The store that a part of is given."""
    while isinstance(store, PrefixStore):
        store = store.underlying_store
    return store


class Peers:
    """The other ranks of a program, as far as the store knows them.

    Attributes:
        silent: whether this rank has ended, for the others.
    """

    def __init__(self, store: Store, rank: int, size: int) -> None:
        self.store = bottom(store).clone()
        self.rank, self.size, self.silent = rank, size, False
        if isinstance(self.store, TCPStore):
            self.store.say_hello(rank)

    def waiting(self, what: str, group: str, number: int) -> None:
        """Say what this rank waits for; ``""`` for nothing."""
        self._set(WAITING, json.dumps([what, group, number]))

    def failed(self, report: str) -> None:
        """Say that this rank ends because of an error; the others will end, too."""
        self._end("failed\n" + report)

    def left(self, counts: dict[str, int]) -> None:
        """Say that this rank takes no part any more.

        Args:
            counts: how many collectives it took part in, by the names of groups.
        """
        self._end("left\n" + json.dumps(counts))

    def _end(self, how: str) -> None:
        if self.silent:
            return
        self.silent = True
        with suppress(Exception):
            self._set(ENDED, how)
            if isinstance(self.store, TCPStore):
                self.store.say_goodbye()

    def _set(self, key: bytes, value: str) -> None:
        self._ask("set", [key + b"%d" % self.rank, value.encode()])

    def _ask(self, command: str, fields: list[bytes]) -> list[bytes]:
        try:
            return self.store._run(command, fields)
        except DistNetworkError:
            raise PeerEnded("Rank 0 has ended, which served the store.", 0) from None

    def _find(self, key: bytes) -> dict[int, str]:
        found = self._ask("find", [key])
        return {int(k.removeprefix(key)): v.decode() for k, v in zip(found[::2], found[1::2])}

    def check(self, ranks: Iterable[int], group: str, number: int | None) -> None:
        """Look whether one has ended for whom this rank waits.

        Args:
            ranks: of the group.
            number: of the collective; None for a message.

        Raises:
            PeerEnded: some rank has failed, or one of these has left too early.
        """
        for rank, text in self._find(ENDED).items():
            how, _, report = text.partition("\n")
            if rank == self.rank:
                continue
            if how == "failed":
                raise PeerEnded(f"Rank {rank} failed:\n{report}", rank, report)
            if how == "lost":
                raise PeerEnded(f"Rank {rank} has ended without a word: it was killed, or it crashed.", rank)
            if rank in ranks and (number is None or json.loads(report).get(group, 0) < number):
                raise PeerEnded(f"Rank {rank} has ended, and will not come.", rank)

    def where(self, ranks: Iterable[int], group: str, number: int) -> list[str]:
        """A line for each rank that has not come to a collective: where it is."""
        lines, known = [], self._find(WAITING)
        for rank in ranks:
            what, of, count = json.loads(known.get(rank, '["", "", 0]'))
            if rank == self.rank or of == group and count == number:
                continue
            lines.append(f"rank {rank} did not come: it {f'waits in {what}' if what else 'does not wait anywhere'}")
        return lines

    def broken(self) -> bool:
        """Whether another rank has failed or is lost: then nobody is waited for at the end."""
        with suppress(Exception):
            return any(not text.startswith("left") for rank, text in self._find(ENDED).items() if rank != self.rank)
        return True
