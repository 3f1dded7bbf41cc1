"""Records backward passes as they run, module calls, ``detach`` calls that cut the graph, and optimizer steps.

While a :class:`Recorder` watches, it is an observer of the engine (called with each node and its gradients), of module
calls and of ``Tensor.detach``. Calls and detaches get numbers from the clock that numbers nodes, so a node's number
tells which call it was recorded in.

Arrays are kept without copies, except those that the program can write into: leaves, seeds, gradients that hooks and
custom Functions saw, and those that ``autograd.grad`` returned.
"""

from __future__ import annotations

import math
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, reduce
from inspect import CO_OPTIMIZED
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ..base import thread_state
from ..base.forks import cached_property
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
from ..optim.optimizer import Optimizer
from .course import Course, growth_of
from .measure import SMALL

Place = tuple[str, int] | None
FRAMES = 8  # frames of the program that are searched for variables
ITEMS = 64  # longest list or dict that is searched
ROOM = 16  # calls and detaches are looked through for old ones when there are so many more
# Types of most variables, which are no tensors.
PLAIN = frozenset(
    {int, float, complex, bool, str, bytes, type(None), type, np.ndarray, ModuleType, FunctionType, BuiltinFunctionType}
)

CONTAINERS: frozenset[type] = frozenset({list, tuple, dict})
NAMED = Tensor, Module, Optimizer


class Visit:
    """A node's visit by the engine: what it had saved, its grad outputs and its grad inputs."""

    __slots__ = ("node", "saved", "grad_outputs", "grad_inputs")

    def __init__(self, node: Node, saved: Any, grad_outputs: Sequence[Any], grad_inputs: Sequence[Any]) -> None:
        self.node, self.saved, self.grad_outputs, self.grad_inputs = node, saved, grad_outputs, grad_inputs


class Call:
    """One call of a module: when it started and ended on the clock, and the instruction that made it."""

    __slots__ = ("module", "start", "end", "outer", "recording", "training", "_code", "_lasti")

    def __init__(self, module: Any, outer: Call | None, frame: FrameType | None) -> None:
        self.module, self.outer = module, outer
        self._code, self._lasti = instruction(frame)
        self.recording, self.training = thread_state.is_grad_enabled(), module.training
        self.start = self.end = clock()

    @property
    def place(self) -> Place:
        return source_line(self._code, self._lasti)


class Detach:
    """A ``detach()`` of a tensor with a history: where, by which function, and the leaves that were cut off."""

    __slots__ = ("how", "place", "leaves", "seq")

    def __init__(self, edge: Any, how: str, frame: FrameType | None) -> None:
        self.how = how
        self.place, self.leaves, self.seq = source_line(*instruction(frame)), reachable_leaves([edge]), clock()


def instruction(frame: FrameType | None) -> tuple[CodeType | None, int]:
    """The program's current instruction, in this frame or the nearest outer one that is the program's."""
    frame = user_frame(frame)
    return (None, 0) if frame is None else (frame.f_code, frame.f_lasti)


class Pass:
    """The raw recording of one backward pass.

    Attributes:
        number: counted from 1 in the program's life under this recorder.
        roots: pairs of an edge and the seed that entered there.
        visits: in the order visited.
        leaves: for each leaf its gradient of this pass, and the norm of what ``.grad`` held before.
        variables: what the program's variables held when it began, by name.
        start, end: the clock when it began and ended.
        complete: whether it ran to its end.
        shown: whether the program sees the gradients.
        outputs: the values of the roots, where their tensors are known.
        broken: tensors that held NaN or infinity when it ended and took part, or may have: leaves, buffers, and the
            program's variables. Looked for only if the pass itself was not finite.
        values: copies of small leaves; of the first pass that was not finite, of all.
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
        self.visits: list[Visit] = []
        self.leaves: dict[Any, tuple[Any, float]] = {}
        self.inside: list[Pass] = []
        self.outputs = outputs_in_callers(frame)
        frame = user_frame(frame)
        self._code, self._lasti = instruction(frame)
        self.variables = variables_in(frame)
        self.broken: list[Broken] = []
        self.values: dict[Any, np.ndarray] = {}
        self.complete, self._limited = False, limited
        self._noted: dict[Any, tuple[Any, float]] = {}
        self.start = self.end = clock()

    @property
    def place(self) -> Place:
        """The line that called backward."""
        return source_line(self._code, self._lasti)

    @cached_property
    def reachable_leaves(self) -> dict[Any, None]:
        """Every leaf that the roots depend on, as the keys of a dict."""
        return reachable_leaves([e for e, _ in self.roots])

    @property
    def limited(self) -> bool:
        """Whether only some of the gradients were asked for."""
        return self._limited or self.complete and any(leaf not in self.leaves for leaf in self.reachable_leaves)

    def note(self, node: Any, grad_outputs: Sequence[Any], grad_inputs: Sequence[Any]) -> None:
        """The engine's observer: called after each node, and for each leaf."""
        if node.__class__ is AccumulateGrad:
            self._note_leaf(node.variable, grad_outputs[0])
            return
        saved = node._saved
        if self.shown:
            if node._hooks is not None or node._op is None:
                grad_outputs, grad_inputs = tuple(map(copy_grad, grad_outputs)), tuple(map(copy_grad, grad_inputs))
            else:
                for e in node._edges:
                    if e is not None and is_shown_to_user(e):
                        grad_inputs = tuple(map(copy_grad, grad_inputs))
                        break
            if graph.hooked_leaves:  # a hook may run the optimizer at any time
                saved = self._early.of(saved)
        self.visits.append(Visit(node, saved, grad_outputs, grad_inputs))

    @cached_property
    def _early(self) -> Copies:
        return Copies(leaf._array for leaf in self.reachable_leaves)

    def _note_leaf(self, leaf: Any, g: Any) -> None:
        before, grad = 0.0, leaf._grad
        if g.__class__ is np.ndarray and grad is not None and grad._array is not g and grad._array.shape == g.shape:
            before = norm_of_finite(grad._array - g)
        self._noted[leaf] = copy_grad(g) if graph.hooked_leaves else g, before

    def finish(self) -> None:
        """End the pass: copy what the program may write into from now on."""
        self.complete, self.end = True, clock()
        arrived: dict[Any, list[Any]] = {}
        returned: list[Any] = []
        ran = {visit.node._seq for visit in self.visits}
        for e, g in self.roots:
            if e._seq == 0:
                arrived.setdefault(e, []).append(g)
        for visit in self.visits:
            for e, r in zip(visit.node._edges, visit.grad_inputs):
                if r is not None and e is not None:
                    if e._seq == 0:
                        arrived.setdefault(e, []).append(r)
                    elif (e._seq if e._seq > 0 else e.node._seq) not in ran:
                        returned.append(r)
        for leaf, (g, before) in self._noted.items():
            parts = arrived.pop(leaf, ())
            if len(parts) == 1 and leaf._hooks is None and parts[0].dtype == g.dtype:
                g = parts[0]  # equal, and nobody else has this array
            elif not graph.hooked_leaves:
                g = copy_grad(g)  # what is noted may be .grad itself
            self.leaves[leaf] = g, before
        for leaf, parts in arrived.items():  # asked for by autograd.grad or `inputs=`
            returned += parts
            self.leaves[leaf] = reduce(add_grads, parts[1:], copy_grad(parts[0]) if self.shown else parts[0]), 0.0
        self.values = {leaf: leaf._array.copy() for leaf in self.leaves if leaf._array.size <= SMALL}
        if self.shown:  # leaves, seeds, and gradients that were returned are in the program's hands
            copies = Copies([*[leaf._array for leaf in self.leaves], *[g for _, g in self.roots], *returned])
            self.roots = [(e, copies.of((g,))[0]) for e, g in self.roots]
            for visit in self.visits:
                if copies.any_of((*visit.saved, *visit.grad_outputs, *visit.grad_inputs)):
                    visit.saved, visit.grad_outputs, visit.grad_inputs = (
                        copies.of(visit.saved),
                        copies.of(visit.grad_outputs),
                        copies.of(visit.grad_inputs),
                    )


class Copies:
    """Copies of arrays that share memory with certain others, each made once."""

    def __init__(self, arrays: Iterable[Any]) -> None:
        self._memory = {id(owner_of(a)) for a in arrays if isinstance(a, np.ndarray)}
        self._made: dict[Any, np.ndarray] = {}

    def any_of(self, values: Sequence[Any]) -> bool:
        """Whether one of the values shares that memory."""
        for v in values:
            if v.__class__ is np.ndarray and id(v if v.base is None else owner_of(v)) in self._memory:
                return True
        return False

    def of(self, values: Sequence[Any]) -> Sequence[Any]:
        """The values, with copies of those that share that memory."""
        if not self.any_of(values):
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


def outputs_in_callers(frame: FrameType | None) -> list[Any]:
    """The arrays that backward was called on: the engine is given edges, but a caller's frame has the tensors."""
    while frame is not None and not is_users(frame.f_code.co_filename):
        names = frame.f_locals
        outputs = names.get("outs", names.get("outputs", (names.get("self"),)))
        if found := [y._array for y in outputs if isinstance(y, Tensor)]:
            return found
        frame = frame.f_back
    return []


def is_shown_to_user(e: Any) -> bool:
    """Whether user code sees the gradient at an edge: a hook, or a custom Function."""
    target = e if e._seq >= 0 else e.node
    return target._hooks is not None or target._seq != 0 and target._op is None


def copy_grad(g: Any) -> Any:
    if g.__class__ is np.ndarray:
        return g.copy("K")
    return g.holding(g.value.copy()) if isinstance(g, Coo) else g


def array_of(g: Any) -> Any:
    return g._array if isinstance(g, Tensor) else g


def norm_of_finite(a: np.ndarray) -> float:
    """The norm of an array's finite elements."""
    if not np.any(a):
        return 0.0
    a = np.asarray(a).astype(np.complex128 if a.dtype.kind == "c" else np.float64)
    return float(np.linalg.norm(np.where(np.isfinite(a), a, 0)))


def reachable_leaves(edges: Sequence[Any]) -> dict[Any, None]:
    """Every leaf that these edges lead to, as the keys of a dict."""
    found = {e: None for e in edges if e is not None and e._seq == 0}
    for node in reachable(edges):
        for e in node._edges:
            if e is not None and e._seq == 0:
                found[e] = None
    return found


def variables_in(frame: FrameType | None) -> dict[str, Any]:
    """The program's variables that hold tensors, modules or optimizers, by name; inner frames first."""
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
                for full_name, item in followed_items(name, value):
                    found.setdefault(full_name, item)
            elif is_named(value.__class__):
                found.setdefault(name, value)
    return found


def locals_of(frame: FrameType) -> dict[str, Any]:
    """A running function's variables. Before Python 3.13 ``f_locals`` is a dict that the frame keeps, with everything
    in it, until the function ends: it is emptied, unless the program holds it, too.
    """
    names: Any = frame.f_locals
    found = dict(names)
    if names.__class__ is dict and sys.getrefcount(names) <= 3:
        names.clear()
    return found


def followed_items(name: str, value: Any) -> list[tuple[str, Any]]:
    """The tensors and modules that a list, a dict or an object holds, with their names."""
    kind = value.__class__
    if kind not in CONTAINERS:
        return [
            (f"{name}.{key}", item)
            for key, item in list(getattr(value, "__dict__", {}).items())
            if is_named(item.__class__)
        ]
    if len(value) > ITEMS:
        return []
    pairs = value.items() if kind is dict else enumerate(value)
    return [(f"{name}[{key!r}]", item) for key, item in pairs if is_named(item.__class__)]


@lru_cache(maxsize=1024)
def is_named(kind: type) -> bool:
    """Whether variables of a type are noted with their names."""
    return issubclass(kind, NAMED)


class Broken:
    """A tensor with elements that are NaN or infinite, as it was when a pass ended.

    Attributes:
        tensor: which.
        owner: the array that owns its memory.
        name: of the variable that held it; None for leaves and buffers.
        nan, inf, size: how many elements are, and of how many.
        index: of the first of them; of a NaN, if there is one.
    """

    __slots__ = ("tensor", "owner", "name", "nan", "inf", "size", "index", "shape")

    def __init__(self, tensor: Any, name: str | None, finite: np.ndarray) -> None:
        array = tensor._array
        nan = np.isnan(array)
        self.tensor, self.owner, self.name = tensor, owner_of(array), name
        self.nan, self.size, self.shape = int(nan.sum()), array.size, array.shape
        self.inf = self.size - int(finite.sum()) - self.nan
        self.index = tuple(int(i) for i in np.argwhere(nan if self.nan else ~finite)[0])


def broken_tensors(recorded: Pass) -> list[Broken]:
    """The leaves, buffers and variables that hold NaN or infinity now."""
    named: dict[int, tuple[Any, str | None]] = {id(leaf): (leaf, None) for leaf in recorded.leaves}
    for name, value in recorded.variables.items():
        if isinstance(value, Module):
            for buffer in value.buffers():
                named.setdefault(id(buffer), (buffer, None))
        elif isinstance(value, Tensor) and value._fn is None:
            named.setdefault(id(value), (value, name))
    found = []
    for tensor, variable in named.values():
        array = tensor._array
        if isinstance(array, np.ndarray) and array.dtype.kind in "fc" and array.size:
            finite = np.isfinite(array)
            if not finite.all():
                found.append(Broken(tensor, variable, finite))
    return found


class Recorder:
    """Watches backward passes and optimizer steps. It keeps the newest passes, the first one, the first bad one (not
    finite, or with a loss far above the first) and the worst (the finite one with the largest gradient); of all others
    their figures.

    Args:
        last: how many of the newest passes to keep.
        only: keep this pass, by its number, instead of the newest.
        changes: whether to note how much the first optimizer step changed the parameters, too.

    Attributes:
        passes: the newest ones.
        first, worst: these passes; None if there was none.
        seen: how many there were.
        course: the figures of all passes and steps.
        calls, detaches: module calls and calls of ``detach()``, back to the oldest of the passes.
        raised: the error that ended the program, if one did, and where.
    """

    def __init__(self, last: int = 16, only: int | None = None, changes: bool = False) -> None:
        self.passes: deque[Pass] = deque(maxlen=last)
        self.first: Pass | None = None
        self._broken: Pass | None = None  # the first that was not finite
        self._grown: Pass | None = None  # the first with a loss far above the first one
        self.worst: Pass | None = None
        self._largest = 0.0  # the norm of its gradient
        self.seen = 0
        self.only = only
        self.course = Course(first=changes)
        self.calls: list[Call] = []
        self.detaches: list[Detach] = []
        self.raised: tuple[BaseException, Place] | None = None
        self._begun: deque[int] = deque(maxlen=2)
        self._room = ROOM
        self._running = threading.local()

    @property
    def first_bad(self) -> Pass | None:
        """The first pass that was not finite, or, of a training that diverged, the first with a loss far above the
        first one; None if there was none.
        """
        grown, broken = self._grown, self._broken
        if grown is not None and (broken is None or grown.number < broken.number):
            growth = growth_of(self.course.events)
            if growth is not None and not growth.falls:
                return grown
        return broken

    @property
    def kept(self) -> list[Pass]:
        """All passes that are kept, in order."""
        every = {id(p): p for p in (self.first, self._broken, self._grown, self.worst, *self.passes) if p is not None}
        return sorted(every.values(), key=lambda p: p.number)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch what this process does inside the block."""
        begin_observers.append(self._begin)
        watchers.append(self)
        on_detach.append(self._note_detach)
        try:
            yield from self.course.watch_optimizers()
        finally:
            begin_observers.remove(self._begin)
            watchers.remove(self)
            on_detach.remove(self._note_detach)

    def _begin(self, roots: Sequence[tuple[Any, Any]]) -> tuple[Callable[..., None] | None, Callable[[], None]]:
        running = self._at_this_depth()
        outermost = running[0][1] if running else None
        if not running:
            self.seen += 1
            self._begun.append(clock())
        now = Pass(self.seen, roots, sys._getframe(3))
        if outermost is not None:
            outermost.inside.append(now)
        elif self.only is None or self.only == self.seen:
            self.passes.append(now)
        running.append((thread_state.local.nested, now))

        def end() -> None:
            self._at_this_depth(1).pop()
            now.finish()
            if outermost is None:
                self.note_end(now)
            if self.seen > len(self.passes):
                self._forget()

        return now.note, end

    def note_end(self, now: Pass) -> None:
        """Note the figures of a pass, and keep it if it is the first, the first bad one, or the worst up to now."""
        if self.first is None:
            self.first = now
        bad = self.course.note_pass(now)
        norm = self.course.events[-1].norm
        if self._largest < norm < math.inf:
            self.worst, self._largest = now, norm
        if bad:
            finite = self.course.events[-1].finite
            now.broken = [] if finite else broken_tensors(now)
            if finite:
                self._grown = self._grown or now
            elif self._broken is None:
                self._broken = now
                now.values = {leaf: copy_grad(leaf._array) for leaf in now.leaves}

    def _at_this_depth(self, more: int = 0) -> list[tuple[int, Pass]]:
        """This thread's running passes, each with its nesting depth; drops those that failed."""
        running: list[tuple[int, Pass]] = self._running.__dict__.setdefault("passes", [])
        while running and running[-1][0] >= thread_state.local.nested + more:
            running.pop()
        return running

    def _forget(self) -> None:
        """Drop calls and detaches that belong neither to a pass that is kept nor to the next one."""
        if len(self.calls) + len(self.detaches) < self._room:
            return
        spans = [(p.visits[-1].node._seq, p.end) for p in self.kept if p.visits]
        spans.append((self._begun[0], clock()))
        inside = lambda start, end: any(end >= first and start <= last for first, last in spans)  # noqa: E731
        self.calls = [c for c in self.calls if inside(c.start, c.end) or c.end == c.start]
        self.detaches = [c for c in self.detaches if inside(c.seq, c.seq)]
        self._room = 2 * (len(self.calls) + len(self.detaches)) + ROOM

    def note_error(self, error: BaseException) -> None:
        """Note an error that ended the program, if it was raised in this package."""
        trace = error.__traceback__
        place, ours = None, False
        while trace is not None:
            if is_users(trace.tb_frame.f_code.co_filename):
                place, ours = (trace.tb_frame.f_code.co_filename, trace.tb_lineno), False
            else:
                ours = True
            trace = trace.tb_next
        if ours and isinstance(error, (RuntimeError, ValueError, IndexError, TypeError)):
            self.raised = error, place

    def _note_detach(self, tensor: Tensor, how: str) -> None:
        """Called before a tensor is detached. Leaves are not noted: detached to log or save them, they cut no graph."""
        e = gradient_edge(tensor)
        if e is not None and e._seq != 0:
            self.detaches.append(Detach(e, how, sys._getframe(2)))

    def enter(self, module: Any, frame: FrameType | None) -> None:
        """A module call begins; :meth:`leave` ends it."""
        local = self._running.__dict__
        local["call"] = call = Call(module, local.get("call"), frame)
        self.calls.append(call)

    def leave(self, module: Any, result: Any) -> None:
        local = self._running.__dict__
        call = local["call"]
        local["call"], call.end = call.outer, clock()
