"""What a fork must not break: the child gets every lock of the package free, and whole what they guard.

A child has the thread that forked, and no other. A lock that another thread held would stay held in the child for good,
and what that thread was changing would stay half changed. So the forking thread first takes every lock, in the order in
which threads take one while they hold another, and both processes let go of them. All locks are made here, or told to
:func:`keep`; native code, whose locks Python must not wait for, is repaired in the child (:func:`in_child`).
"""

from __future__ import annotations

import _imp
import functools
import importlib
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from enum import IntEnum
from typing import Any, TypeVar

T = TypeVar("T")
NEEDED = ("pullback", "numpy", "scipy", "llvmlite")
PATIENCE = 30.0  # seconds to wait for locks, such as of a traced function that itself waits for the forking thread


class Order(IntEnum):
    """Who holds one of these may take a later one, or another of its own kind."""

    TRACING = 0  # the user's code runs inside
    PLAN = 1
    GRADS = 2
    RANDOM = 3
    IMPORT = 4
    KERNELS = 5
    LLVM = 6
    STATE = 7  # nothing else is taken inside


_locks: weakref.WeakKeyDictionary[Any, Order] = weakref.WeakKeyDictionary()
_hooks: list[Callable[[], object]] = []
_taken = threading.local()


def lock(order: Order) -> threading.RLock:
    """A new lock that is free in a forked child; reentrant, as the thread that forks may be the one that holds it."""
    new = threading.RLock()
    keep(new, order)
    return new


def keep(lock: Any, order: Order) -> None:
    """Let a lock that others made be free in a forked child, too."""
    _locks[lock] = order


def in_child(hook: Callable[[], object]) -> None:
    """Call a function in every forked child, before anything else of the package runs there."""
    _hooks.append(hook)


class cached_property(functools.cached_property[T]):
    """``functools.cached_property``, without the lock that it holds while it computes before Python 3.12."""

    def __init__(self, func: Callable[[Any], T]) -> None:
        super().__init__(func)
        self.lock = nullcontext()


class _ImportLock:
    """Held while no other thread imports what the package needs: the child could never import it."""

    def acquire(self, timeout: float) -> bool:
        deadline = time.monotonic() + timeout
        while True:
            _imp.acquire_lock()  # no import begins from now on
            if not any(name.partition(".")[0] in NEEDED for name in _imported_elsewhere()):
                return True
            _imp.release_lock()
            if time.monotonic() > deadline:
                return False
            time.sleep(0.001)

    def release(self) -> None:
        _imp.release_lock()

    def _at_fork_reinit(self) -> None:
        pass  # the interpreter does it


_module_locks: dict[str, Any] = getattr(importlib._bootstrap, "_module_locks", {})


def _imported_elsewhere() -> list[str]:
    """The modules that other threads are importing."""
    locks = [(name, ref()) for name, ref in list(_module_locks.items())]
    return [name for name, lock in locks if lock is not None and lock.owner not in (None, threading.get_ident())]


def _drop_half_imported() -> None:
    """Let the child import anew what was not waited for."""
    for name in _imported_elsewhere():
        del _module_locks[name]
        sys.modules.pop(name, None)


class _NumpyRandomLock:
    """That of NumPy's global stream, which may be another at each fork, and is not there before somebody draws."""

    def acquire(self, timeout: float) -> bool:
        find = getattr(sys.modules.get("numpy.random"), "get_bit_generator", None)
        self._lock: Any = threading.RLock() if find is None else find().lock
        return bool(self._lock.acquire(timeout=timeout))

    def release(self) -> None:
        self._lock.release()

    def _at_fork_reinit(self) -> None:
        self._lock._at_fork_reinit()


OUTSIDE = _ImportLock(), _NumpyRandomLock()
keep(OUTSIDE[0], Order.IMPORT)
keep(OUTSIDE[1], Order.RANDOM)
in_child(_drop_half_imported)


def _before() -> None:
    deadline = time.monotonic() + PATIENCE
    _taken.locks = []
    locks = [lock for ref in _locks.keyrefs() if (lock := ref()) is not None]
    for lock in sorted(locks, key=lambda lock: (_locks[lock], id(lock))):
        if lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            _taken.locks.append(lock)


def _release() -> None:
    for lock in reversed(_taken.locks):
        lock.release()
    _taken.locks = []


def _in_child() -> None:
    for ref in _locks.keyrefs():
        lock = ref()
        if lock is not None and lock not in _taken.locks:
            lock._at_fork_reinit()
    for hook in _hooks:
        hook()
    _release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_release, after_in_child=_in_child)
