"""The course of training: cheap figures of every backward pass and of every optimizer step.

Whole passes are kept only of a few (see :class:`pullback.explain.recorder.Recorder`); these figures are kept of all, so
that what takes several passes to be seen is seen: a loss that grows, gradients that nobody zeroes, parameters that
never change.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import kernels
from ..base import thread_state
from ..core.graph import clock, source_line, user_frame
from ..core.level import LevelValue
from ..nn import Parameter
from ..ops.values.sparse_coo import Coo
from ..optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from .measure import LARGE

if TYPE_CHECKING:
    from .recorder import Pass

DETAILED = 64  # so many events keep the figures of each leaf
MOST = 4096  # so many events are kept; beyond, every second one of the middle is dropped
BEGINNING, NEWEST = 64, 1024  # which are not dropped
SINGLE = np.dtype(np.float32)
GROWN = 50.0  # a loss so many times the first one may be bad
GREW = 100.0  # divergence: the loss grows by so much over its beginning
STEADILY = 10.0  # or by so much, in each of the last steps
IN_A_ROW = 3  # so many
LEAST = 1e-3  # losses below this are as good as none


class PassFigures:
    """What one backward pass leaves behind.

    Attributes:
        number: of the pass.
        start, end: the clock when it began and ended.
        loss: the value of the output, if it has one element; else None.
        norm: of all leaves' gradients together; infinite or NaN if an element is.
        values: the norm of all leaves' values together.
        finite: whether outputs, gradients and leaves are.
        leaves: for each leaf the sum of squares of its gradient, the norm of what ``.grad`` held before, and the sum
            of squares of its values; None for old passes.
        trial: whether it ran inside of an optimizer's step, as a trial of its line search.
        norms: the norm of each parameter's gradient, by its number in the course; NaN where none came.
    """

    __slots__ = (
        "number",
        "start",
        "end",
        "loss",
        "norm",
        "values",
        "finite",
        "leaves",
        "norms",
        "trial",
        "code",
        "lasti",
    )

    def __init__(self, recorded: Pass) -> None:
        self.number, self.start, self.end = recorded.number, recorded.start, recorded.end
        self.code: CodeType | None = recorded._code
        self.lasti = recorded._lasti
        outputs = recorded.outputs
        first: Any = outputs[0] if len(outputs) == 1 else None
        self.loss = float(first.reshape(-1)[0]) if is_real(first) and first.size == 1 else None
        leaves = recorded.leaves
        squares = squares_of([*[g for g, _ in leaves.values()], *[leaf._array for leaf in leaves]])
        self.leaves: dict[Any, tuple[float, float, float]] | None = {
            leaf: (g, before, value)
            for (leaf, (_, before)), g, value in zip(leaves.items(), squares, squares[len(leaves) :])
        }
        count = len(leaves)
        self.norm, self.values = math.sqrt(sum(squares[:count])), math.sqrt(sum(squares[count:]))
        sound = all(map(is_finite, outputs)) if self.loss is None else math.isfinite(self.loss)
        self.finite = sound and math.isfinite(self.norm) and math.isfinite(self.values)
        self.norms: np.ndarray | None = None
        self.trial = False

    @property
    def place(self) -> tuple[str, int] | None:
        """The line that called backward."""
        return source_line(self.code, self.lasti)


class StepFigures:
    """What one step of an optimizer leaves behind.

    Attributes:
        optimizer: whose.
        time: the clock when it began.
        rates: the learning rate of each group.
        gradients: for each parameter whether it has a gradient; None for old steps.
        norm: of all gradients together.
        values: the norm of all parameters before.
        update: the norm of their change; None until the step has ended.
        closure: whether the step computed its gradients itself.
    """

    __slots__ = (
        "optimizer",
        "time",
        "rates",
        "gradients",
        "norm",
        "values",
        "update",
        "closure",
        "code",
        "lasti",
        "finite",
        "_before",
    )

    def __init__(self, optimizer: Any, closure: bool, change: bool) -> None:
        self.optimizer, self.closure, self.time = optimizer, closure, clock()
        frame = user_frame(sys._getframe(3))
        self.code: CodeType | None = None if frame is None else frame.f_code
        self.lasti = 0 if frame is None else frame.f_lasti
        self.rates = [number(group.get("lr")) for group in optimizer.param_groups]
        parameters = list(parameters_of(optimizer))
        self.gradients: dict[Any, bool] | None = {p: p._grad is not None for p in parameters}
        self.norm = math.sqrt(sum(squares_of([p._grad._array for p in parameters if p._grad is not None])))
        self.update: float | None = None
        self.values, self.finite = 0.0, True
        self._before = copies_of(parameters) if change else None

    @property
    def place(self) -> tuple[str, int] | None:
        """The line that called ``step()``."""
        return source_line(self.code, self.lasti)

    def end(self) -> None:
        """Note the change of the parameters."""
        before, self._before = self._before, None
        after = copies_of(self.gradients or ()) if before else []
        if before and [a.shape for a in before] == [a.shape for a in after]:
            with np.errstate(all="ignore"):
                changes = [np.subtract(new, old, new) for new, old in zip(after, before)]
            self.update = math.sqrt(sum(squares_of(changes)))
            self.values = math.sqrt(sum(squares_of(before)))
            self.finite = math.isfinite(self.update)


class Course:
    """The events of training, in order: a :class:`PassFigures` or :class:`StepFigures` for each.

    Args:
        first: whether to note how much the first step of all changed the parameters; it makes explaining a single step
            cheaper not to.

    Attributes:
        events: of the newest, the leaves' own figures are kept as well.
        reached: parameters that a gradient has reached, with their numbers.
        held: the parameters of all optimizers that have made a step, with the optimizer.
    """

    def __init__(self, first: bool = False) -> None:
        self.events: list[Any] = []
        self._change = first
        self.reached: dict[Any, int] = {}
        self.held: dict[Any, Any] = {}
        self._first: dict[Any, float] = {}  # the first loss at each place
        self._begun: dict[int, StepFigures] = {}  # by optimizer, while it steps

    @property
    def passes(self) -> list[PassFigures]:
        return [event for event in self.events if isinstance(event, PassFigures)]

    @property
    def steps(self) -> list[StepFigures]:
        return [event for event in self.events if isinstance(event, StepFigures)]

    def note_pass(self, recorded: Pass) -> bool:
        """Note a pass that ended; whether it is bad: not finite, or with a loss far above the first."""
        figures = PassFigures(recorded)
        self._append(figures)
        for leaf in recorded.leaves:
            if (isinstance(leaf, Parameter) or leaf in self.held) and leaf not in self.reached:
                self.reached[leaf] = len(self.reached)
        figures.trial = bool(self._begun)
        if not figures.finite:
            return True
        if figures.loss is None or figures.trial:
            return False
        first = abs(self._first.setdefault((figures.code, figures.lasti), figures.loss))
        return first > 0 and figures.loss > GROWN * first

    def _append(self, event: Any) -> None:
        self.events.append(event)
        old = self.events[-DETAILED - 1] if len(self.events) > DETAILED else None
        if isinstance(old, PassFigures):
            old.norms, old.leaves = self.norms_of(old), None
        elif old is not None:
            old.gradients = None
        if len(self.events) > MOST:
            middle = self.events[BEGINNING:-NEWEST]
            self.events[BEGINNING:-NEWEST] = middle[::2]

    def norms_of(self, figures: PassFigures) -> np.ndarray:
        """The norm of each parameter's gradient in a pass, by its number; NaN where none came."""
        if figures.norms is not None:
            return figures.norms
        found = np.full(len(self.reached), np.nan, np.float32)
        for leaf, (square, _, _) in (figures.leaves or {}).items():
            if leaf in self.reached:
                with np.errstate(over="ignore"):
                    found[self.reached[leaf]] = math.sqrt(square) if square >= 0 else math.nan
        return found

    def watch_optimizers(self) -> Iterator[None]:
        """Note the steps of all optimizers, as the body of a context manager."""
        hooks = (
            register_optimizer_step_pre_hook(self._before_step),
            register_optimizer_step_post_hook(self._after_step),
        )
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if thread_state.local.trace is not None:  # a step that is being compiled has no values
            return
        step = StepFigures(optimizer, any(a is not None for a in (*args[1:], *kwargs.values())), self._change)
        self._change = True
        assert step.gradients is not None
        if not self.held.keys() >= step.gradients.keys():
            self.held.update(dict.fromkeys(step.gradients, optimizer))
        self._begun[id(optimizer)] = step

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        step = self._begun.pop(id(optimizer), None)
        if step is not None:
            step.end()
            self._append(step)


class Growth(NamedTuple):
    """A loss that diverges: the passes of its line, the last of those that show it, and whether it falls instead."""

    passes: list[PassFigures]
    last: int
    falls: bool


def growth_of(events: Iterable[Any]) -> Growth | None:
    """Whether the loss of some line of the program diverges, over passes between which an optimizer made steps."""
    events = list(events)
    steps = [e for e in events if isinstance(e, StepFigures)]
    by_place: dict[Any, list[PassFigures]] = {}
    for e in events:
        if isinstance(e, PassFigures) and e.loss is not None and not e.trial:
            by_place.setdefault((e.code, e.lasti), []).append(e)
    for those in by_place.values():
        while those and those[0].loss is not None and abs(those[0].loss) < LEAST:
            those = those[1:]  # as good as none: nothing can be said of growth
        losses = [p.loss for p in those if p.loss is not None]
        finite = [x for x in losses if math.isfinite(x)]
        if len(finite) < IN_A_ROW or not steps or steps[0].time > those[-1].start:
            continue
        start = abs(finite[0])
        falls = finite[-1] < -STEADILY * max(1.0, start) and all(a > b for a, b in zip(finite, finite[1:]))
        if falls and len(finite) > IN_A_ROW:
            return Growth(those, len(those) - 1, True)
        over = finite[-1] > STEADILY * start or not math.isfinite(losses[-1])
        grown = max(finite) > GREW * max(start, LEAST) and over
        tail = finite[-IN_A_ROW - 1 :]
        steadily = (
            len(tail) > IN_A_ROW
            and all(a < b for a, b in zip(tail, tail[1:]))
            and tail[-1] > STEADILY * max(abs(tail[0]), LEAST)
            and all(a.norm < b.norm for a, b in zip(those[-IN_A_ROW:], those[-IN_A_ROW + 1 :]))
        )
        if grown or steadily:
            low = STEADILY * max(start, LEAST)
            first = next((i for i, x in enumerate(losses) if not math.isfinite(x) or x > low), len(losses) - 1)
            return Growth(those, min(len(losses) - 1, max(first + 2, IN_A_ROW)), False)
    return None


def parameters_of(optimizer: Any) -> Iterator[Any]:
    """The parameters that an optimizer holds."""
    for group in optimizer.param_groups:
        yield from group["params"]


def number(value: Any) -> float:
    """A learning rate, which may be a tensor; NaN where there is none."""
    return math.nan if value is None else float(value)


def is_real(a: Any) -> bool:
    return isinstance(a, np.ndarray) and a.dtype.kind not in "cbO"


def copies_of(tensors: Iterable[Any]) -> list[np.ndarray]:
    """Copies of the values: one of all small tensors of the commonest type together, and one of each other."""
    small, copies = [], []
    for a in [t._array for t in tensors]:
        if a.__class__ is not np.ndarray:
            continue
        if a.dtype is SINGLE and a.size < LARGE:
            small.append(a.reshape(-1))
        else:
            copies.append(a.copy())
    return [np.concatenate(small), *copies] if small else copies


def squares_of(arrays: Iterable[Any]) -> list[float]:
    """The sum of squares of each array."""
    found = []
    for a in arrays:
        if a.__class__ is np.ndarray and a.dtype is SINGLE and a.size < LARGE:
            flat = a.reshape(-1)
            total = float(flat.dot(flat))
            found.append(total if total < math.inf else sum_of_squares(a))
        else:
            found.append(sum_of_squares(a))
    return found


def sum_of_squares(a: Any) -> float:
    """The sum of an array's squares, in double precision where single overflows; of sparse ones, of what is stored."""
    if isinstance(a, LevelValue):
        a = a.coalesce().value if isinstance(a, Coo) else a.value
    if not isinstance(a, np.ndarray):
        return 0.0
    flat = a.reshape(-1)
    if flat.size >= LARGE:
        numbers = kernels.run("summary", "describe", flat.size, flat)
        if numbers is not None:
            return numbers[1]
    if flat.dtype.itemsize >= 4:
        total = float(np.vdot(flat, flat).real)
        if math.isfinite(total):
            return total
    with np.errstate(all="ignore"):
        wide = flat.astype(np.complex128 if flat.dtype.kind == "c" else np.float64)
        return float(np.vdot(wide, wide).real)


def is_finite(a: Any) -> bool:
    """Whether an array's elements all are."""
    return not isinstance(a, np.ndarray) or a.dtype.kind not in "fc" or bool(np.isfinite(a).all())
