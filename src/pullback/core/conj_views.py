"""Conjugates that share memory, as ``x.conj()`` does: a view whose memory mirrors that of the tensor.

No NumPy array conjugates what it reads. So the conjugate of an array gets memory of its own, and since writes are noted
anyway (:mod:`pullback.core.versions`), a write into either of the two is carried over to the other at that moment.
Negatives that share memory, which ``torch._neg_view`` makes of real numbers, are the same with another sign.
Elements lie as far apart in a mirror as in what it shows, which is how views of a mirror, the history of tensors
written into through them, and the conjugate of a conjugate find their places.

Only writes that are noted are carried over: not NumPy's own into the array that ``x.numpy()`` gave.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.device import CPU
from ..base.dtypes import COMPLEX_KINDS, real_of
from . import versions
from .geometry import restrided


class ConjView:
    """What is known of memory that shows the conjugate of an array, or the negative of a real one.

    Attributes:
        shown: the array, which lives as long as the mirror.
        memory: the mirror's own.
        turn: ``np.conjugate`` or ``np.negative``.
    """

    __slots__ = ("shown", "memory", "turn")

    def __init__(self, shown: np.ndarray, memory: np.ndarray, turn: np.ufunc) -> None:
        self.shown, self.memory, self.turn = shown, weakref.ref(memory), turn

    def write_back(self) -> np.ndarray:
        """Bring the array up to date with the view's own memory; returns the array."""
        return self.turn(self.seen(), out=self.shown)

    def refresh(self) -> np.ndarray | None:
        """Bring the view's memory up to date with the array; returns it, None if nobody looks at it any more."""
        memory = self.memory()
        if memory is not None:
            self.turn(self.shown, out=self.seen())
        return memory

    def seen(self) -> np.ndarray:
        """The conjugate (or the negative), which lies in the mirror as the array does in its memory."""
        memory = self.memory()
        assert memory is not None
        return np.ndarray(self.shown.shape, self.shown.dtype, memory, 0, self.shown.strides)


def conj_view_of(array: np.ndarray) -> ConjView | None:
    """The mirror in whose memory the array lies, if it does."""
    view = versions.conj_views_of(versions.owner_of(array))
    return view if view.__class__ is ConjView else None


def make_conj_view(array: np.ndarray) -> np.ndarray:
    """The conjugate of an array, so that writes into either are carried over; the array itself if it is real."""
    return _mirrored(array, np.conjugate) if array.dtype.kind in COMPLEX_KINDS else array


def make_neg_view(array: np.ndarray) -> np.ndarray:
    """The negative of an array of real numbers, so that writes into either are carried over."""
    return _mirrored(array, np.negative)


def _mirrored(array: np.ndarray, turn: np.ufunc) -> np.ndarray:
    if conj_view_of(array) is not None:  # turned once already
        return viewed_array(array)
    reach = sum([(n - 1) * s for n, s in zip(array.shape, array.strides)]) if array.size else 0
    memory = np.zeros(1 - (-reach // array.itemsize), array.dtype)
    mirror = ConjView(array, memory, turn)
    record, own = versions.version_counter(array), versions.version_counter(memory)
    own.conj_views, own.count = mirror, record.count
    record.conj_views = [*[m for m in record.conj_views or () if m.memory() is not None], mirror]
    return turn(array, out=mirror.seen())


def viewed_array(array: np.ndarray) -> np.ndarray:
    """What an array in a mirror's memory shows there, itself; any other array as it is."""
    mirror = conj_view_of(array)
    if mirror is None:
        return array
    there = mirror.shown if array.dtype.kind in COMPLEX_KINDS else real_of(mirror.shown)
    return restrided(there, array.shape, array.strides, address(array) - address(there))


def address(array: Any) -> int:
    """Where the first element lies in memory; in a conjugate's memory, where the element that it shows lies.

    Of a level's value: the first example's, the primal's; 0 where there is no memory (``meta``).
    """
    while not isinstance(array, np.ndarray):
        if array.device is not CPU:
            return 0
        array = array.value
    at: Callable = lambda a: a.__array_interface__["data"][0]
    view = conj_view_of(array)
    return at(array) if view is None else at(array) - at(versions.owner_of(array)) + at(view.shown)


def turns(base: np.ndarray, view: np.ndarray) -> tuple[bool, bool]:
    """How a view shows its base: whether it is the conjugate, and whether, as real numbers, of the other sign then."""
    here, there = conj_view_of(base), conj_view_of(view)
    if base.dtype.kind not in COMPLEX_KINDS:
        return False, (here is None) is not (there is None)
    conj = (here is None) is not (there is None or there.turn is np.negative)
    return conj, there is not None and there.turn is np.negative


def differ_in_conj(a: Any, b: Any) -> bool:
    """Whether one of two arrays (or values of levels) lies in a mirror and the other does not."""
    return (conj_view_of(a) is None) is not (conj_view_of(b) is None)
