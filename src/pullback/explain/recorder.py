"""Watching a program: every backward pass, and of the forward pass which module ran when and where gradients were cut off.

Nothing is installed before :meth:`Recorder.watching` is entered, and nothing is left after. While it watches, the
engine hands over each node with its gradients, which are held and not copied; ``Module.__call__`` and
``Tensor.detach`` are replaced by versions that note the clock, which numbers nodes, so that a node's number tells
which call it was made in.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from types import FrameType
from typing import Any

import numpy as np

from ..autograd import modes
from ..autograd.engine import observe, reachable
from ..autograd.graph import AccumulateGrad, Node, clock, is_users, line_of, user_frame
from ..storage import edge_of, owner_of
from ..tensor import Tensor

Place = tuple[str, int] | None
FRAMES = 8  # how many frames of the program are searched for variables
ITEMS = 64  # and how many elements of a list or a dict


class Turn:
    """One node's turn, raw: what it had saved, the gradients that reached it and those that it gave."""

    __slots__ = ("node", "saved", "received", "handed")

    def __init__(self, node: Node, saved: Any, received: Sequence[Any], handed: Sequence[Any]) -> None:
        self.node, self.saved, self.received, self.handed = node, saved, received, handed


class Call:
    """One call of a module: the numbers on the clock between which it ran."""

    __slots__ = ("module", "start", "end", "outer", "recording", "place")

    def __init__(self, module: Any, outer: Call | None, place: Place) -> None:
        self.module, self.outer, self.place = module, outer, place
        self.recording = modes.is_grad_enabled()
        self.start = self.end = clock()


class Cut:
    """A ``detach()`` of something that had a history: where, and which leaves lay behind it."""

    __slots__ = ("place", "leaves", "seq")

    def __init__(self, edge: Any, place: Place) -> None:
        self.place, self.leaves, self.seq = place, leaves_behind([edge]), clock()


class Pass:
    """One backward pass, raw.

    Attributes:
        number: counted from 1 in the program's life under this recorder.
        roots: pairs of an edge and the seed that entered there.
        turns: in the order visited.
        leaves: for each leaf its gradient of this pass, and the norm of what ``.grad`` held before.
        behind: every leaf that the roots depend on.
        variables: what the program's variables held when it began, by name.
        place: the line that called backward.
        start: the clock when it began.
        complete: whether it ran to its end.
        limited: whether only some of the gradients were asked for.
    """

    def __init__(self, number: int, roots: Sequence[tuple[Any, Any]], frame: FrameType | None) -> None:
        self.number = number
        self.roots = [(e, array_of(g)) for e, g in roots]
        self.turns: list[Turn] = []
        self.leaves: dict[Any, tuple[Any, float]] = {}
        self.behind = leaves_behind([e for e, _ in roots])
        frame = user_frame(frame)
        self.place: Place = None if frame is None else line_of(frame.f_code, frame.f_lasti)
        self.variables = variables_in(frame)
        self.start = clock()
        self.complete = False
        self.limited = False
        self._memory = {id(owner_of(leaf._array)) for leaf in self.behind if isinstance(leaf._array, np.ndarray)}
        self._copies: dict[tuple, np.ndarray] = {}
        self._arrived: dict[Any, Any] = {e: None for e, _ in roots if e._seq == 0}

    def note(self, node: Any, received: Sequence[Any], handed: Sequence[Any]) -> None:
        """What the engine reports after each node, and for each leaf."""
        if node.__class__ is AccumulateGrad:
            leaf, (g,) = node.variable, received
            before = 0.0
            if g.__class__ is np.ndarray and leaf._grad is not None and leaf._grad._array.shape == g.shape:
                before = norm_of_finite(leaf._grad._array - g) if leaf._grad._array is not g else 0.0
            # A sum of several gradients may itself have become .grad, which the program will change.
            self.leaves[leaf] = (g if self._arrived.get(leaf) is g else g.copy(), before)
            return
        for e, r in zip(node._edges, handed):
            if r is not None and e is not None and e._seq == 0:
                self._arrived[e] = None if e in self._arrived else r
        self.turns.append(Turn(node, self._safe(node._saved), received, handed))

    def _safe(self, saved: Sequence[Any]) -> Sequence[Any]:
        """Saved values that the program may overwrite, which are those of leaves (an optimizer will), as copies."""
        if any(isinstance(v, np.ndarray) and id(owner_of(v)) in self._memory for v in saved):
            return tuple(self._copy(v) if isinstance(v, np.ndarray) and id(owner_of(v)) in self._memory else v for v in saved)
        return saved

    def _copy(self, array: np.ndarray) -> np.ndarray:
        key = array.ctypes.data, array.shape, array.strides
        if key not in self._copies:
            self._copies[key] = array.copy()
        return self._copies[key]

    def finish(self) -> None:
        """Totals of leaves that accumulated nothing, because ``autograd.grad`` or ``inputs=`` asked for gradients."""
        self.complete = True
        sums: dict[Any, Any] = {e: g for e, g in self.roots if e._seq == 0 and e not in self.leaves}
        for turn in self.turns:
            for e, r in zip(turn.node._edges, turn.handed):
                if r is not None and e is not None and e._seq == 0 and e not in self.leaves:
                    sums[e] = sums[e] + r if e in sums else r
        for leaf, g in sums.items():
            if g.__class__ is np.ndarray or isinstance(g, np.generic):
                self.leaves[leaf] = np.asarray(g), 0.0
        self.limited = self.limited or any(leaf not in self.leaves for leaf in self.behind)


def array_of(g: Any) -> Any:
    return g._array if isinstance(g, Tensor) else g


def norm_of_finite(a: np.ndarray) -> float:
    """The norm of an array, leaving out what is not finite."""
    if not np.any(a):
        return 0.0
    a = np.asarray(a).astype(np.complex128 if a.dtype.kind == "c" else np.float64)
    return float(np.linalg.norm(np.where(np.isfinite(a), a, 0)))


def leaves_behind(edges: Sequence[Any]) -> dict[Any, None]:
    """Every leaf that these edges lead to, as the keys of a dict."""
    found = {e: None for e in edges if e is not None and e._seq == 0}
    for node in reachable(edges):
        for e in node._edges:
            if e is not None and e._seq == 0:
                found[e] = None
    return found


def variables_in(frame: FrameType | None) -> dict[str, Any]:
    """The tensors with a history, leaves and modules that a program's variables hold, by name; inner frames first."""
    from ..nn import Module

    found: dict[str, Any] = {}
    wanted = (Tensor, Module)

    def take(name: str, value: Any) -> None:
        if isinstance(value, Module) or isinstance(value, Tensor) and value._fn is not None:
            found.setdefault(name, value)

    spaces, seen = [], 0
    while frame is not None and seen < FRAMES:
        if is_users(frame.f_code.co_filename):
            spaces.append(frame.f_locals)
            seen += 1
            if frame.f_back is None or frame.f_back.f_globals is not frame.f_globals:
                spaces.append(frame.f_globals)
        frame = frame.f_back
    for space in spaces:
        for name, value in list(space.items()):
            if isinstance(value, wanted):
                take(name, value)
            elif value.__class__ in (list, tuple) and len(value) <= ITEMS:
                for i, item in enumerate(value):
                    take(f"{name}[{i}]", item)
            elif value.__class__ is dict and len(value) <= ITEMS and not name.startswith("__"):
                for key, item in value.items():
                    take(f"{name}[{key!r}]", item)
            elif name == "self":
                for key, item in list(getattr(value, "__dict__", {}).items()):
                    take(f"self.{key}", item)
    return found


class Recorder:
    """Watches backward passes and keeps the newest of them.

    Args:
        last: how many passes to keep.
        only: keep this pass alone, by its number.
    """

    def __init__(self, last: int = 16, only: int | None = None) -> None:
        self.passes: deque[Pass] = deque(maxlen=last)
        self.seen = 0
        self.only = only
        self.calls: list[Call] = []
        self.cuts: list[Cut] = []
        self._running = threading.local()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch what this process does inside the block."""
        with observe(self._note, self._begin), listening(self):
            yield

    def _begin(self, roots: Sequence[tuple[Any, Any]]) -> Callable[[], None]:
        self.seen += 1
        now: Pass | None = None
        if self.only is None or self.only == self.seen:
            now = Pass(self.seen, roots, sys._getframe(2))
            self.passes.append(now)
        stack = self._running.__dict__.setdefault("stack", [])
        stack.append(now)

        def end() -> None:
            while stack and stack.pop() is not now:  # what lies above failed without an end
                pass
            if now is not None:
                now.finish()

        return end

    def _note(self, node: Any, received: Sequence[Any], handed: Sequence[Any]) -> None:
        stack = self._running.__dict__.get("stack")
        if stack and stack[-1] is not None:
            stack[-1].note(node, received, handed)

    def enter(self, module: Any, place: Place) -> Call:
        """A module's call begins; :meth:`leave` ends it."""
        local = self._running.__dict__
        call = Call(module, local.get("call"), place)
        self.calls.append(call)
        local["call"] = call
        return call

    def leave(self, call: Call) -> None:
        self._running.__dict__["call"] = call.outer
        call.end = clock()


# --- the forward pass -----------------------------------------------------------------------------------------------

_listening: list[Recorder] = []
_lock = threading.Lock()
_undo = ExitStack()


@contextmanager
def listening(recorder: Recorder) -> Iterator[None]:
    """Tell a recorder of every call of a module and every ``detach()``. Blocks may overlap in any order, in several threads."""
    from ..nn import Module

    with _lock:
        if not _listening:
            _undo.enter_context(replaced(Module, "__call__", noting_calls(Module.__call__)))
            _undo.enter_context(replaced(Tensor, "detach", noting_cuts(Tensor.detach)))
        _listening.append(recorder)
    try:
        yield
    finally:
        with _lock:
            _listening.remove(recorder)
            if not _listening:
                _undo.close()


def noting_calls(original: Callable) -> Callable:
    @wraps(original)
    def __call__(module: Any, *args: Any, **kwargs: Any) -> Any:
        place = line_here(sys._getframe(1))
        open_calls = [(recorder, recorder.enter(module, place)) for recorder in tuple(_listening)]
        try:
            return original(module, *args, **kwargs)
        finally:
            for recorder, call in open_calls:
                recorder.leave(call)

    return __call__


def noting_cuts(original: Callable) -> Callable:
    @wraps(original)
    def detach(tensor: Tensor) -> Tensor:
        edge = edge_of(tensor)
        if edge is not None:
            cut = Cut(edge, line_here(sys._getframe(1)))
            for recorder in tuple(_listening):
                recorder.cuts.append(cut)
        return original(tensor)

    return detach


def line_here(frame: FrameType | None) -> Place:
    """The program's line that a frame belongs to."""
    frame = user_frame(frame)
    return None if frame is None else line_of(frame.f_code, frame.f_lasti)


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Another attribute in the place of a class's own, for a while."""
    before = owner.__dict__[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)
