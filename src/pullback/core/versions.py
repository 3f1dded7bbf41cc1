"""Version counters: who wrote into a piece of memory, when, and at which line.

Tensors share memory when their arrays do, so no bookkeeping is needed until somebody writes. A write is noted for the
array that owns the memory, with a number from the clock that also numbers graph nodes: a value saved by node 7 was
overwritten if its memory has a write numbered above 7.
"""

from __future__ import annotations

import sys
import weakref
from collections import deque
from collections.abc import Sequence
from functools import partial
from types import CodeType
from typing import Any

import numpy as np

from ..base import thread_state
from ..base.holding import holding
from .graph import LEAF, USER_FILES, clock, counting, source_line, user_frame

last_write = 0  # the clock at the newest write anywhere: nothing saved later needs a check
MOST_SHAPES = 64  # that a leaf remembers having had
last_reshape = 0  # and when a leaf was last given memory of another shape


class WriteRecord:
    """The newest write into one piece of memory.

    Attributes:
        size: how many bytes the memory is said to have, if ``UntypedStorage.resize_`` said so.
        conj_views: the conjugates that show this memory (:mod:`pullback.core.conj_views`), a list; of the memory of
            such a view: the view.
        made: the clock when the memory was made, if that was inside of ``vmap``; else 0.
        aliases: references to other tensors on the memory, by their ids, if it was made there.
        attributes: of the memory's ``UntypedStorage``.
    """

    __slots__ = (
        "owner",
        "seq",
        "count",
        "recent",
        "code",
        "lasti",
        "size",
        "conj_views",
        "made",
        "aliases",
        "attributes",
    )
    size: int | None
    conj_views: Any
    aliases: dict[int, weakref.ref[Any]] | None
    attributes: dict[str, Any] | None

    def __init__(self, owner: np.ndarray) -> None:
        self.belong_to(owner)
        self.count = self.seq = self.made = 0
        self.recent: deque[int] = deque(maxlen=32)
        self.code: CodeType | None = None
        self.size = self.conj_views = self.aliases = self.attributes = None
        self.lasti = 0

    def belong_to(self, owner: np.ndarray) -> None:
        """Enter this as the record of an array's memory."""
        key = id(owner)
        forget = _writes.pop  # bound now: at the interpreter's end the module's names may be gone before the array
        self.owner = weakref.ref(owner, lambda _: forget(key, None))
        _writes[key] = self

    @property
    def location(self) -> tuple[str, int] | None:
        """File and line of the user's code that wrote."""
        return source_line(self.code, self.lasti)


_writes: dict[int, WriteRecord] = {}


def _note_writes(records: Sequence[WriteRecord], code: CodeType | None, lasti: int) -> None:
    """Note that this instruction wrote all that just now."""
    global last_write
    now = clock()
    if now > last_write:  # else another thread wrote meanwhile, later than this one
        last_write = now
    for write in records:
        write.seq = now
        write.count += 1
        write.recent.append(now)
        write.code, write.lasti = code, lasti


if not thread_state.global_lock:
    _note_writes = partial(holding, counting, _note_writes)


def owner_of(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory."""
    base = array.base
    while isinstance(base, np.ndarray):
        array, base = base, base.base
    return array


def bump_version(*arrays: np.ndarray | WriteRecord) -> None:
    """Note that the memory of these arrays, or of which these are the records, was written into just now."""
    frame = user_frame(sys._getframe(1))
    code, lasti = (None, 0) if frame is None else (frame.f_code, frame.f_lasti)
    records = [a if isinstance(a, WriteRecord) else version_counter(a) for a in arrays]
    for record in records[:]:
        if record.conj_views is not None:
            records += propagate_write(record)
    _note_writes(records, code, lasti)


def propagate_write(write: WriteRecord) -> list[WriteRecord]:
    """Bring the memory that shows conjugates of some that was written into up to date, and the other way round.

    Returns:
        the records of what changed.
    """
    changed, source, views = [], None, write.conj_views
    if not isinstance(views, list):  # written into was a view
        source = views
        changed.append(version_counter(source.write_back()))
        views = changed[0].conj_views
    for view in views:
        memory = view.refresh() if view is not source else None
        if memory is not None:
            changed.append(version_counter(memory))
    return changed


def bump_tensor_version(x: Any, inside: int = 0) -> None:
    """Note that tensor ``x`` was written into, unless that is to go unnoticed (``x.data``).

    Args:
        inside: how many calls further out the nearest frame is that may be the user's.
    """
    noted = x.__dict__
    if not noted and (x._view is None or x._view[0] is not None and not x._view[0].__dict__):  # nothing to look at
        record, caller = version_counter(x._array), sys._getframe(1 + inside)
        if record.conj_views is None:
            frame = caller if caller.f_code.co_filename in USER_FILES else user_frame(caller)
            _note_writes((record,), None if frame is None else frame.f_code, 0 if frame is None else frame.f_lasti)
            return
    if not (
        "_unnoticed" in noted or x._view is not None and x._view[0] is not None and "_unnoticed" in x._view[0].__dict__
    ):
        bump_version(x._array)
        if "_counter" in noted and noted["_counter"] is not version_counter(x._array):
            noted["_counter"].count += 1
    elif conj_views_of(owner_of(x._array)) is not None:
        propagate_write(version_counter(x._array))


def set_array(x: Any, array: Any) -> None:
    """Let tensor ``x`` look at other memory from now on; its versions go on counting."""
    global last_reshape
    x.__dict__.setdefault("_counter", version_counter(x._array))
    if x._fn is LEAF and array.shape != x._array.shape:
        last_reshape = clock()
        shapes = x.__dict__.setdefault("_reshaped", [])
        shapes.append((last_reshape, x._array.shape))  # until then
        del shapes[:-MOST_SHAPES]
    x._array = array


def version_counter(array: np.ndarray) -> WriteRecord:
    """The record of writes into the array's memory, made now if there is none."""
    owner = owner_of(array)
    write = _writes.get(id(owner))
    return _writes.setdefault(id(owner), WriteRecord(owner)) if write is None else write  # another thread's, perhaps


def move_counter(owner: np.ndarray, to: np.ndarray) -> None:
    """Let the record of the memory of an array be that of another, to which it moves."""
    write = version_counter(owner)
    del _writes[id(owner)]
    write.size = None
    write.belong_to(to)


def conj_views_of(owner: np.ndarray) -> Any:
    """What is known of conjugates that share this memory; see :class:`Write`."""
    write = _writes.get(id(owner))
    return None if write is None else write.conj_views


def memory_root(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory, or, for the conjugate of a tensor, that which owns the tensor's."""
    owner = owner_of(array)
    shown = getattr(conj_views_of(owner), "shown", None)
    return owner if shown is None else owner_of(shown)


def storage_nbytes(owner: np.ndarray) -> int:
    """How many bytes the memory has, or is said to have."""
    write = _writes.get(id(owner))
    return owner.nbytes if write is None or write.size is None else write.size


def note_made(array: np.ndarray) -> None:
    """Note that the array's memory was made just now, inside of ``vmap``."""
    version_counter(array).made = clock()


def note_alias(x: Any) -> None:
    """Note that a tensor shares its memory with another, if the memory was made inside of ``vmap``."""
    write = _writes.get(id(owner_of(x._array)))
    if write is not None and write.made:
        aliases = write.aliases = {} if write.aliases is None else write.aliases
        key, forget = id(x), aliases.pop
        aliases[key] = weakref.ref(x, lambda _: forget(key, None))


def aliases_of(array: np.ndarray) -> list[Any]:
    """The tensors noted as sharing the array's memory."""
    write = _writes.get(id(owner_of(array)))
    refs = () if write is None or write.aliases is None else tuple(write.aliases.values())
    return [x for x in [ref() for ref in refs] if x is not None]


def made_after(array: np.ndarray, seq: int) -> bool:
    """Whether the array's memory is known to have been made after ``seq``."""
    write = _writes.get(id(owner_of(array)))
    return write is not None and write.made > seq


def write_after(array: np.ndarray, seq: int) -> WriteRecord | None:
    """The newest write into the array's memory, if it came after ``seq``."""
    write = _writes.get(id(owner_of(array)))
    return write if write is not None and write.seq > seq else None


def version(array: np.ndarray) -> int:
    """How often the array's memory was written into in place."""
    write = _writes.get(id(owner_of(array)))
    return 0 if write is None else write.count


# --- history ----------------------------------------------------------------------------------------------------


def refuse_repeats(array: np.ndarray) -> None:
    """Refuse to write into an expanded tensor.

    Raises:
        RuntimeError: naming the way out.
    """
    if 0 in array.strides and array.size and any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )


class _unsafe_preserve_version_counter:
    """Inside, writes into these tensors do not count in their ``_version`` (backward notices them all the same)."""

    def __init__(self, tensors: Any) -> None:
        self.tensors = tensors if isinstance(tensors, tuple) else (tensors,)

    def __enter__(self) -> None:
        from . import versions

        self.counters = [t.__dict__.get("_counter") or versions.version_counter(t._array) for t in self.tensors]
        self.before = [c.count for c in self.counters]

    def __exit__(self, *exc: object) -> None:
        for counter, count in zip(self.counters, self.before):
            counter.count = count
