"""Watching a program: every backward pass, and of the forward pass which module ran when and where gradients were cut
off.

While a :class:`Recorder` watches, the engine hands over each node with its gradients, and modules tell of their calls,
and ``Tensor.detach`` of itself. The clock numbers these as it numbers nodes, so that a node's number tells which call
it was made in.

Arrays are held and not copied, but for those that the program can write into: what an optimizer will update, what hooks
and custom Functions were shown, and what ``autograd.grad`` returned.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, reduce
from inspect import CO_OPTIMIZED
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ..base import thread_state
from ..core import graph
from ..core.graph import AccumulateGrad, Node, clock, is_users, source_line, user_frame
from ..core.tensor import Tensor, on_detach
from ..core.versions import owner_of
from ..core.views import gradient_edge
from ..engine.accumulate import add_grads
from ..engine.hooks import begin_observers
from ..engine.plan import reachable
from ..nn import Module
from ..nn.modules.hooks import watchers
from ..ops.values.sparse_coo import Coo

Place = tuple[str, int] | None
FRAMES = 8  # how many frames of the program are searched for variables
ITEMS = 64  # and how many elements of a list or a dict
# Of such are no tensors, and most variables of a program are of such.
PLAIN = frozenset(
    {int, float, complex, bool, str, bytes, type(None), type, np.ndarray, ModuleType, FunctionType, BuiltinFunctionType}
)

CONTAINERS: frozenset[type] = frozenset({list, tuple, dict})


class Turn:
    """One node's turn, raw: what it had saved, the gradients that reached it and those that it gave."""

    __slots__ = ("node", "saved", "received", "handed")

    def __init__(self, node: Node, saved: Any, received: Sequence[Any], handed: Sequence[Any]) -> None:
        self.node, self.saved, self.received, self.handed = node, saved, received, handed


class Call:
    """One call of a module: the numbers on the clock between which it ran, and the instruction that made it."""

    __slots__ = ("module", "start", "end", "outer", "recording", "_code", "_lasti")

    def __init__(self, module: Any, outer: Call | None, frame: FrameType | None) -> None:
        self.module, self.outer = module, outer
        self._code, self._lasti = instruction(frame)
        self.recording = thread_state.is_grad_enabled()
        self.start = self.end = clock()

    @property
    def place(self) -> Place:
        return source_line(self._code, self._lasti)


class Cut:
    """A ``detach()`` of something that had a history: where, how it was said, and which leaves lay behind it."""

    __slots__ = ("how", "place", "leaves", "seq")

    def __init__(self, edge: Any, how: str, frame: FrameType | None) -> None:
        self.how = how
        self.place, self.leaves, self.seq = source_line(*instruction(frame)), leaves_behind([edge]), clock()


def instruction(frame: FrameType | None) -> tuple[CodeType | None, int]:
    """The program's instruction that is running, in this frame or outside of it."""
    frame = user_frame(frame)
    return (None, 0) if frame is None else (frame.f_code, frame.f_lasti)


class Pass:
    """One backward pass, raw.

    Attributes:
        number: counted from 1 in the program's life under this recorder.
        roots: pairs of an edge and the seed that entered there.
        turns: in the order visited.
        leaves: for each leaf its gradient of this pass, and the norm of what ``.grad`` held before.
        variables: what the program's variables held when it began, by name.
        start, end: the clock when it began and ended.
        complete: whether it ran to its end.
        shown: whether the program gets to see what is computed.
        outputs: the values of the roots, where their tensors are known.
        inside: passes that ran while this one did: of reentrant checkpoints, or called by a custom Function or a hook.
    """

    def __init__(
        self,
        number: int,
        roots: Sequence[tuple[Any, Any]],
        frame: FrameType | None,
        limited: bool = False,
        shown: bool = True,
    ) -> None:
        self.number, self.shown = number, shown
        self.roots = [(e, array_of(g)) for e, g in roots]
        self.turns: list[Turn] = []
        self.leaves: dict[Any, tuple[Any, float]] = {}
        self.inside: list[Pass] = []
        self.outputs = outputs_known_to(frame)
        frame = user_frame(frame)
        self._code, self._lasti = instruction(frame)
        self.variables = variables_in(frame)
        self.complete, self._limited = False, limited
        self._noted: dict[Any, tuple[Any, float]] = {}
        self.start = self.end = clock()

    @property
    def place(self) -> Place:
        """The line that called backward."""
        return source_line(self._code, self._lasti)

    @cached_property
    def behind(self) -> dict[Any, None]:
        """Every leaf that the roots depend on, as the keys of a dict."""
        return leaves_behind([e for e, _ in self.roots])

    @property
    def limited(self) -> bool:
        """Whether only some of the gradients were asked for."""
        return self._limited or self.complete and any(leaf not in self.leaves for leaf in self.behind)

    def note(self, node: Any, received: Sequence[Any], handed: Sequence[Any]) -> None:
        """What the engine reports after each node, and for each leaf."""
        if node.__class__ is AccumulateGrad:
            self._note_leaf(node.variable, received[0])
            return
        saved = node._saved
        if self.shown:
            if node._hooks is not None or node._op is None:
                received, handed = tuple(map(copied, received)), tuple(map(copied, handed))
            else:
                for e in node._edges:
                    if e is not None and shows(e):
                        handed = tuple(map(copied, handed))
                        break
            if graph.hooked_leaves:  # a hook may run the optimizer any time now
                saved = self._early.of(saved)
        self.turns.append(Turn(node, saved, received, handed))

    @cached_property
    def _early(self) -> Copies:
        return Copies(leaf._array for leaf in self.behind)

    def _note_leaf(self, leaf: Any, g: Any) -> None:
        before, grad = 0.0, leaf._grad
        if g.__class__ is np.ndarray and grad is not None and grad._array is not g and grad._array.shape == g.shape:
            before = norm_of_finite(grad._array - g)
        self._noted[leaf] = copied(g) if graph.hooked_leaves else g, before

    def finish(self) -> None:
        """The pass is over, and the program goes on: what it may write into is copied now."""
        self.complete, self.end = True, clock()
        arrived: dict[Any, list[Any]] = {}
        returned: list[Any] = []
        ran = {turn.node._seq for turn in self.turns}
        for e, g in self.roots:
            if e._seq == 0:
                arrived.setdefault(e, []).append(g)
        for turn in self.turns:
            for e, r in zip(turn.node._edges, turn.handed):
                if r is not None and e is not None:
                    if e._seq == 0:
                        arrived.setdefault(e, []).append(r)
                    elif (e._seq if e._seq > 0 else e.node._seq) not in ran:
                        returned.append(r)
        for leaf, (g, before) in self._noted.items():
            parts = arrived.pop(leaf, ())
            if len(parts) == 1 and leaf._hooks is None and parts[0].dtype == g.dtype:
                g = parts[0]  # the same numbers, in an array that nobody else has
            elif not graph.hooked_leaves:
                g = copied(g)  # what is noted may be .grad itself
            self.leaves[leaf] = g, before
        for leaf, parts in arrived.items():  # asked for by autograd.grad or `inputs=`
            returned += parts
            self.leaves[leaf] = reduce(add_grads, parts[1:], copied(parts[0]) if self.shown else parts[0]), 0.0
        if self.shown:  # leaves, seeds, and gradients that were returned are in the program's hands
            copies = Copies([*[leaf._array for leaf in self.leaves], *[g for _, g in self.roots], *returned])
            self.roots = [(e, copies.of((g,))[0]) for e, g in self.roots]
            for turn in self.turns:
                if copies.concern((*turn.saved, *turn.received, *turn.handed)):
                    turn.saved, turn.received, turn.handed = (
                        copies.of(turn.saved),
                        copies.of(turn.received),
                        copies.of(turn.handed),
                    )


class Copies:
    """Copies of arrays that lie in certain memory, each made once."""

    def __init__(self, arrays: Iterable[Any]) -> None:
        self._memory = {id(owner_of(a)) for a in arrays if isinstance(a, np.ndarray)}
        self._made: dict[Any, np.ndarray] = {}

    def concern(self, values: Sequence[Any]) -> bool:
        """Whether one of the values is an array in that memory."""
        for v in values:
            if v.__class__ is np.ndarray and id(v if v.base is None else owner_of(v)) in self._memory:
                return True
        return False

    def of(self, values: Sequence[Any]) -> Sequence[Any]:
        """The values, with copies in the place of arrays in that memory."""
        if not self.concern(values):
            return values
        return tuple(
            [self._copy(v) if v.__class__ is np.ndarray and id(owner_of(v)) in self._memory else v for v in values]
        )

    def _copy(self, array: np.ndarray) -> np.ndarray:
        key = id(array) if array.base is None else (array.__array_interface__["data"][0], array.shape, array.strides)
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = array.copy("K")
        return made


def outputs_known_to(frame: FrameType | None) -> list[Any]:
    """The values of what backward was called on: the engine is given edges alone, but one of its callers has the
    tensors.
    """
    while frame is not None and not is_users(frame.f_code.co_filename):
        names = frame.f_locals
        outputs = names.get("outs", names.get("outputs", (names.get("self"),)))
        if found := [y._array for y in outputs if isinstance(y, Tensor)]:
            return found
        frame = frame.f_back
    return []


def shows(e: Any) -> bool:
    """Whether the program is shown what arrives at an edge: by a hook, or because a custom Function is there."""
    target = e if e._seq >= 0 else e.node
    return target._hooks is not None or target._seq != 0 and target._op is None


def copied(g: Any) -> Any:
    if g.__class__ is np.ndarray:
        return g.copy("K")
    return g.holding(g.value.copy()) if isinstance(g, Coo) else g


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
    spaces: list[dict[str, Any]] = []
    seen = 0
    while frame is not None and seen < FRAMES:
        if is_users(frame.f_code.co_filename):
            seen += 1
            if frame.f_code.co_flags & CO_OPTIMIZED:
                spaces.append(locals_of(frame))
            elif frame.f_locals is not frame.f_globals:  # of a class
                spaces.append(dict(frame.f_locals))
            if frame.f_back is None or frame.f_back.f_globals is not frame.f_globals:
                spaces.append(frame.f_globals.copy())
        frame = frame.f_back
    found: dict[str, Any] = {}
    for space in spaces:
        for name, value in space.items():
            if value.__class__ in PLAIN:
                continue
            if value.__class__ in CONTAINERS or name == "self" and not isinstance(value, (Tensor, Module)):
                for full_name, item in held_by(name, value):
                    found.setdefault(full_name, item)
            elif isinstance(value, Module) or isinstance(value, Tensor) and value._fn is not None:
                found.setdefault(name, value)
    return found


def locals_of(frame: FrameType) -> dict[str, Any]:
    """The variables of a function that is running. Python until 3.12 keeps them in a dict of the frame from then on,
    and would let go of nothing
    before the function ends: it is emptied, unless the program has it, too."""
    names: Any = frame.f_locals
    found = dict(names)
    if names.__class__ is dict and sys.getrefcount(names) <= 3:
        names.clear()
    return found


def held_by(name: str, value: Any) -> list[tuple[str, Any]]:
    """What a list, a dict or an object holds of tensors with a history, leaves and modules, with their names."""
    kind = value.__class__
    if kind not in CONTAINERS:
        return [
            (f"{name}.{key}", item) for key, item in list(getattr(value, "__dict__", {}).items()) if is_followed(item)
        ]
    if len(value) > ITEMS:
        return []
    pairs = value.items() if kind is dict else enumerate(value)
    return [(f"{name}[{key!r}]", item) for key, item in pairs if is_followed(item)]


def is_followed(value: Any) -> bool:
    return value.__class__ not in PLAIN and (
        isinstance(value, Tensor) and value._fn is not None or isinstance(value, Module)
    )


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
        self._begun: deque[int] = deque(maxlen=2)
        self._running = threading.local()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch what this process does inside the block."""
        begin_observers.append(self._begin)
        watchers.append(self)
        on_detach.append(self._cut)
        try:
            yield
        finally:
            begin_observers.remove(self._begin)
            watchers.remove(self)
            on_detach.remove(self._cut)

    def _begin(self, roots: Sequence[tuple[Any, Any]]) -> tuple[Callable[..., None] | None, Callable[[], None]]:
        running = self._at_this_depth()
        if not running:
            self.seen += 1
            self._begun.append(clock())
        now: Pass | None = None
        if self.only is None or self.only == self.seen:
            now = Pass(self.seen, roots, sys._getframe(3))
            outermost = running[0][1] if running else None
            (self.passes if outermost is None else outermost.inside).append(now)
        running.append((thread_state.local.nested, now))

        def end() -> None:
            self._at_this_depth(1).pop()
            if now is not None:
                now.finish()
            if self.seen > len(self.passes):
                self._forget()

        return None if now is None else now.note, end

    def _at_this_depth(self, more: int = 0) -> list[tuple[int, Pass | None]]:
        """The passes of this thread that are running, each with how deep inside of others; those that failed are
        dropped.
        """
        running: list[tuple[int, Pass | None]] = self._running.__dict__.setdefault("passes", [])
        while running and running[-1][0] >= thread_state.local.nested + more:
            running.pop()
        return running

    def _forget(self) -> None:
        """Let go of calls and cuts that ended before everything that passes are made of: those kept, and the next
        one.
        """
        first = min([*self._begun, *(p.turns[-1].node._seq for p in self.passes if p.turns)])
        if self.calls and self.calls[0].end < first or self.cuts and self.cuts[0].seq < first:
            self.calls = [c for c in self.calls if c.end >= first or c.end == c.start]
            self.cuts = [c for c in self.cuts if c.seq >= first]

    def _cut(self, tensor: Tensor, how: str) -> None:
        """A tensor is about to be detached. Leaves are not noted: their values are wanted for logs and files, and
        graphs go on without.
        """
        e = gradient_edge(tensor)
        if e is not None and e._seq != 0:
            self.cuts.append(Cut(e, how, sys._getframe(2)))

    def enter(self, module: Any, frame: FrameType | None) -> None:
        """A module's call begins; :meth:`leave` ends it."""
        local = self._running.__dict__
        local["call"] = call = Call(module, local.get("call"), frame)
        self.calls.append(call)

    def leave(self, module: Any, result: Any) -> None:
        local = self._running.__dict__
        call = local["call"]
        local["call"], call.end = call.outer, clock()
