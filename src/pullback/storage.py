"""Memory that tensors share: who wrote into it and when, and writing in place without losing gradients.

Tensors share memory when their arrays do, so no bookkeeping is needed until somebody writes. A write is noted
for the array that owns the memory, with a number from the clock that also numbers graph nodes: a value saved by
node 7 was overwritten if its memory has a write numbered above 7.

A write into a tensor moves its history on: the tensor's ``_fn`` becomes the node of the operation. A write
through a view also moves the base on, which then depends on its old self outside the view and on what was
written inside it; other views of that base notice, when next used, that the memory is newer than they are, and
take their place in the base's new history.
"""

from __future__ import annotations

import sys
import weakref
from collections import deque
from types import CodeType
from typing import Any

import numpy as np

from .autograd import modes
from .autograd.graph import FREED, LEAF, Node, clock, line_of, user_frame
from .complaint import noted

# How a view came to be, which decides whether it may be written into: ``Tensor._view`` is (base, clock, kind).
ORDINARY, NO_GRAD, ONE_OF_SEVERAL, FROM_FUNCTION = range(4)

last_write = 0  # the clock at the newest write anywhere: nothing saved later needs a check


class Write:
    """The newest write into one piece of memory."""

    __slots__ = ("owner", "seq", "count", "recent", "code", "lasti")

    def __init__(self, owner: np.ndarray) -> None:
        key = id(owner)
        self.owner = weakref.ref(owner, lambda _: _writes.pop(key, None))
        self.count = self.seq = 0
        self.recent: deque[int] = deque(maxlen=32)
        self.code: CodeType | None = None
        self.lasti = 0

    @property
    def location(self) -> tuple[str, int] | None:
        """File and line of the user's code that wrote."""
        return line_of(self.code, self.lasti)


_writes: dict[int, Write] = {}


def owner_of(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory."""
    base = array.base
    while isinstance(base, np.ndarray):
        array, base = base, base.base
    return array


def written(*arrays: np.ndarray) -> None:
    """Note that the memory of these arrays was written into just now."""
    global last_write
    frame = user_frame(sys._getframe(1))
    code, lasti = (None, 0) if frame is None else (frame.f_code, frame.f_lasti)
    last_write = clock()
    for array in arrays:
        owner = owner_of(array)
        write = _writes.get(id(owner))
        if write is None:
            write = _writes[id(owner)] = Write(owner)
        write.count += 1
        write.seq = last_write
        write.recent.append(last_write)
        write.code, write.lasti = code, lasti


def wrote(x: Any) -> None:
    """Note that tensor ``x`` was written into, unless that is to go unnoticed (``x.data``)."""
    if not ("_unnoticed" in x.__dict__ or x._view is not None and "_unnoticed" in x._view[0].__dict__):
        written(x._array)


def write_since(array: np.ndarray, seq: int) -> Write | None:
    """The newest write into the array's memory, if it came after ``seq``."""
    write = _writes.get(id(owner_of(array)))
    return write if write is not None and write.seq > seq else None


def version(array: np.ndarray) -> int:
    """How often the array's memory was written into in place."""
    write = _writes.get(id(owner_of(array)))
    return 0 if write is None else write.count


# --- history ----------------------------------------------------------------------------------------------------


def edge_of(x: Any) -> Any:
    """Where a gradient for tensor ``x`` goes: its node, itself if it is a leaf, None if it wants none."""
    if x._view is not None and last_write > x._view[1]:
        catch_up(x)
    e = x._fn
    return x if e is LEAF else e


def catch_up(view: Any) -> None:
    """Give a view its place in its base's present history, if the memory was written into since."""
    base, seq, kind = view._view
    if view._fn is LEAF or write_since(view._array, seq) is None:
        return
    view._view = (base, clock(), kind)
    e = edge_of(base)
    if e is not None:
        from .ops.part import window_node

        view._fn = window_node(e, base._array, view._array)


def check_writable(x: Any, what: str = "a leaf") -> None:
    """Refuse an in-place operation that autograd cannot follow, before anything is changed.

    Args:
        what: how to call a leaf ("a view of a leaf" if only a part of it is to be written).

    Raises:
        RuntimeError: for a leaf that requires grad, a view of one, and views that share a node with others.
    """
    if not modes.is_grad_enabled():
        return
    if x._view is None:
        if x._fn is LEAF:
            raise noted(RuntimeError(f"{what} Variable that requires grad is being used in an in-place operation."),
                        "Its old value would be lost to backward. Wrap the update in torch.no_grad(), or write into a copy: x.clone().")
        return
    base, _, kind = x._view
    if x._fn is LEAF:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if edge_of(base) is None and edge_of(x) is None:
        return
    if base._fn is LEAF:
        raise noted(RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation."),
                    "Wrap the update in torch.no_grad(), or write into a copy of the leaf: leaf.clone().")
    if kind == ONE_OF_SEVERAL:
        raise RuntimeError(f"Output {getattr(x._fn, 'index', 0)} of {node_name(x)} is a view and is being modified inplace. "
                           "This view is the output of a function that returns multiple views. Such functions do not "
                           "allow the output views to be modified inplace. You should replace the inplace operation by an "
                           "out-of-place one.")  # fmt: skip
    if kind == NO_GRAD:
        raise RuntimeError("A view was created in no_grad mode and is being modified inplace with grad mode enabled. "
                           "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
                           "code by moving both the view and the inplace either both inside the no_grad block (if you "
                           "don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked).")  # fmt: skip
    if kind == FROM_FUNCTION:
        raise RuntimeError(f"Output 0 of {node_name(x)} is a view and is being modified inplace. This view was created "
                           "inside a custom Function (or because an input was returned as-is) and the autograd logic to "
                           "handle view+inplace would override the custom backward associated with the custom Function, "
                           "leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the "
                           "output of the custom Function.")  # fmt: skip


def node_name(x: Any) -> str:
    node = getattr(x._fn, "node", x._fn)
    return node.name().partition("Backward")[0] if isinstance(node, Node) else "None"


def refuse_repeats(array: np.ndarray) -> None:
    """Refuse to write into an expanded tensor.

    Raises:
        RuntimeError: naming the way out.
    """
    if 0 in array.strides and array.size and any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape)):
        raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                           "Please clone() the tensor before performing the operation.")  # fmt: skip


def adopt(x: Any, result: Any) -> Any:
    """Make the result of an operation the new value and history of ``x``, in place. Returns ``x``.

    Args:
        x: the tensor to write into; :func:`check_writable` has passed.
        result: a tensor of x's shape, whose type may be cast to x's.
    """
    target, source, e = x._array, result._array, result._fn
    refuse_repeats(target)
    if isinstance(e, Node) and e._saved is not FREED:
        # The old value, if saved, must survive; the new one is shared with x rather than kept twice.
        shared = source.dtype == target.dtype
        owner = owner_of(target)
        e._saved = tuple(target if s is source and shared else s.copy() if isinstance(s, np.ndarray) and owner_of(s) is owner else s
                         for s in e._saved)  # fmt: skip
    target[...] = source
    wrote(x)
    if e is not None:
        move_on(x, e)
    return x


def move_on(x: Any, e: Any) -> None:
    """Give ``x``, whose memory was just written, the history that ends in edge ``e``."""
    if isinstance(e, Node):
        e._seq = clock()  # newer than the write: what it saved is the new value
        if e._dtype.__class__ is not list:
            e._dtype = x._array.dtype
    x._fn = e
    if x._view is not None:
        move_base_on(x, e, x._array)


def move_base_on(view: Any, e: Any, array: np.ndarray) -> None:
    """Give the base of ``view`` a history in which ``array``, part of its memory, holds what edge ``e`` leads to."""
    from .ops.part import window_written_node

    base, _, kind = view._view
    base._fn = window_written_node(base, e, array)
    view._view = (base, 0, kind)  # older than the write: catches up when next used
