"""Conjugates that share memory, as ``x.conj()`` does: a view whose memory mirrors that of the tensor.

No NumPy array conjugates what it reads. So the conjugate of an array gets memory of its own, and since writes are noted
anyway (:mod:`pullback.core.versions`), a write into either of the two is carried over to the other at that moment.
Elements lie as far apart in a mirror as in what it shows, which is how views of a mirror, the history of tensors
written into through them, and the conjugate of a conjugate find their places.

Only writes that are noted are carried over: not NumPy's own into the array that ``x.numpy()`` gave.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable

import numpy as np

from . import versions


class ConjView:
    """What is known of memory that shows the conjugate of an array.

    Attributes:
        shown: the array, which lives as long as the mirror.
        memory: the mirror's own.
    """

    __slots__ = ("shown", "memory")

    def __init__(self, shown: np.ndarray, memory: np.ndarray) -> None:
        self.shown, self.memory = shown, weakref.ref(memory)

    def seen(self) -> np.ndarray:
        """The conjugate, which lies in the mirror as the array does in its memory."""
        memory = self.memory()
        assert memory is not None
        return np.ndarray(self.shown.shape, self.shown.dtype, memory, 0, self.shown.strides)


def conj_view_of(array: np.ndarray) -> ConjView | None:
    """The mirror in whose memory the array lies, if it does."""
    echoes = versions.conj_views_of(versions.owner_of(array))
    return echoes if echoes.__class__ is ConjView else None


def make_conj_view(array: np.ndarray) -> np.ndarray:
    """The conjugate of an array, so that writes into either are carried over; the array itself if it is real."""
    if array.dtype.kind != "c":
        return array
    if conj_view_of(array) is not None:
        return viewed_array(array)
    reach = sum([(n - 1) * s for n, s in zip(array.shape, array.strides)]) if array.size else 0
    memory = np.zeros(1 - (-reach // array.itemsize), array.dtype)
    mirror = ConjView(array, memory)
    record, own = versions.version_counter(array), versions.version_counter(memory)
    own.echoes, own.count = mirror, record.count
    record.echoes = [*[m for m in record.echoes or () if m.memory() is not None], mirror]
    return np.conjugate(array, out=mirror.seen())


def viewed_array(array: np.ndarray) -> np.ndarray:
    """What an array in a mirror's memory shows there, itself; any other array as it is."""
    mirror = conj_view_of(array)
    if mirror is None:
        return array
    from .geometry import restrided

    there = mirror.shown if array.dtype.kind == "c" else mirror.shown.real
    return restrided(there, array.shape, array.strides, address(array) - address(there))


def address(array: np.ndarray) -> int:
    """Where an array begins, or, in a mirror's memory, what it shows."""
    at: Callable = lambda a: a.__array_interface__["data"][0]  # noqa: E731
    mirror = conj_view_of(array)
    return at(array) if mirror is None else at(array) - at(versions.owner_of(array)) + at(mirror.shown)


def differ_in_conj(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether one of two arrays lies in a mirror and the other does not."""
    return (conj_view_of(a) is None) is not (conj_view_of(b) is None)


def propagate_write(write: versions.WriteRecord) -> list[versions.WriteRecord]:
    """Bring memory up to date with what was written into some; returns the records of what changed."""
    changed, source, echoes = [], write.echoes, write.echoes
    if source.__class__ is ConjView:
        np.conjugate(source.seen(), out=source.shown)
        changed.append(versions.version_counter(source.shown))
        echoes = changed[0].echoes
    for mirror in echoes:
        memory = mirror.memory()
        if memory is not None and mirror is not source:
            np.conjugate(mirror.shown, out=mirror.seen())
            changed.append(versions.version_counter(memory))
    return changed
