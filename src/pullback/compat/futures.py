"""``torch.futures``: ``Future`` on top of ``concurrent.futures``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future as _Future
from concurrent.futures import InvalidStateError
from types import GenericAlias
from typing import Any

from ..base import forks

__all__ = ["Future", "collect_all", "wait_all"]


class Future:
    """A result that one thread sets and others wait for.

    >>> import pullback as torch
    >>> future = torch.futures.Future()
    >>> doubled = future.then(lambda f: 2 * f.wait())
    >>> future.set_result(3); doubled.wait()
    6
    """

    __class_getitem__: Any = classmethod(GenericAlias)  # ``Future[Tensor]`` in annotations

    def __init__(self, *, devices: Any = None) -> None:
        self._future: _Future[Any] = _Future()
        self._future._condition = threading.Condition(forks.lock(forks.Order.STATE))

    def done(self) -> bool:
        """Whether there is a result or an error."""
        return self._future.done()

    def wait(self) -> Any:
        """The result, when it is there; the error is raised, if that was set."""
        return self._future.result()

    def value(self) -> Any:
        """The result, which has to be there."""
        if not self.done():
            raise RuntimeError("Future.value(): there is no result yet\n  wait() waits for it.")
        return self._future.result()

    def set_result(self, result: Any) -> None:
        """Set the result, once.

        Raises:
            RuntimeError: it was set already.
        """
        try:
            self._future.set_result(result)
        except InvalidStateError:
            raise RuntimeError("Future can only be marked completed once") from None

    def set_exception(self, result: BaseException) -> None:
        """Set an error, for those who wait to get."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._future.set_exception(result)

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call a function with this future when the result is there."""
        self._future.add_done_callback(lambda _: callback(self))

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """The future of what a function makes of this one."""
        after = Future()

        def go_on(_: Any) -> None:
            try:
                after.set_result(callback(self))
            except Exception as error:
                after.set_exception(error)

        self._future.add_done_callback(go_on)
        return after


def collect_all(futures: list[Future]) -> Future:
    """A future of the list of futures, which has its result when all of them have."""
    together, left, lock = Future(), [len(futures)], forks.lock(forks.Order.STATE)

    def one_more(_: Future) -> None:
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            together.set_result(futures)

    for future in futures:
        future.add_done_callback(one_more)
    if not futures:
        together.set_result(futures)
    return together


def wait_all(futures: list[Future]) -> list[Any]:
    """The results of all, when they are there."""
    return [future.wait() for future in futures]
