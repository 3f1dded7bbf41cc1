"""``watch(module)``: the loss, and gradient and update norms of every layer over training.

The backward pass is left alone. Hooks around ``optimizer.step()`` take the norms of gradients, of parameters and of
their change: at every step of short runs, and rarely in long ones. Which steps these are depends on nothing
but their numbers, so a program has the same records each time.
"""

from __future__ import annotations

import html
import math
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from .. import kernels
from ..core.graph import user_frame
from ..core.level import LevelValue
from ..engine.hooks import beginnings
from ..ops.values.sparse_coo import Coo
from ..optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from .course import SINGLE
from .measure import LARGE
from .page import asset, fill_template, script_json
from .recorder import outputs_in_callers
from .replay import to_dense
from .schema import Finding, plain

ALL = 100  # so many steps are all recorded
RARE = 20  # then one of so many, and from 100 times as many on ever fewer
FACTOR = 100  # exploding: so many times the median
USUAL = 10  # records that a median needs
ROW = 10  # consecutive records that make a finding
TOO_LARGE, TINY = 0.1, 1e-8  # norm of the update over that of the weights: too large, and no change
MOST_NAMES = 6  # how many layers a finding lists
TELLING = 1e-4  # norm of the gradient over that of the weights, above which it is not just near a minimum


@dataclass(frozen=True, slots=True)
class Record:
    """The norms at one optimizer step, for each layer it trains: of gradients, updates (the change of parameters) and
    parameters; and the loss, the newest output of one element that backward was called on.
    """

    step: int
    loss: float | None
    gradients: dict[str, float]
    updates: dict[str, float]
    values: dict[str, float]


class Trained:
    """The layers that one optimizer trains, and the next step to record.

    Small parameters of the commonest type are looked at in one piece: a call costs more than they do.
    """

    def __init__(self, optimizer: Any, layers: dict[str, list[Any]]) -> None:
        self.optimizer, self.layers, self.due = optimizer, layers, 0
        self._pairs = [(p, name) for name, ps in layers.items() for p in ps]
        self._shapes: list[Any] = []

    def _arrange(self) -> None:
        """Tell small parameters from large ones."""
        self._shapes = [p._array.shape for p, _ in self._pairs]
        self._small = [p for p, _ in self._pairs if is_small(p._array)]
        self._large = [(p, name) for p, name in self._pairs if not is_small(p._array)]
        self._rooms = [p._array.copy() for p, _ in self._large]
        self._zeros = [np.zeros(p._array.size, SINGLE) for p in self._small]  # where no gradient came
        starts: dict[str, int] = {}  # where a layer begins in the piece
        size = 0
        for p, name in self._pairs:
            if is_small(p._array):
                starts.setdefault(name, size)
                size += p._array.size
        self._size, self._names = size, [*starts]
        self._starts = np.add.outer(np.arange(3) * size, [*starts.values()]).reshape(-1)

    def begin(self) -> None:
        """Keep the gradients, or what tells of them, and the parameters."""
        if self._shapes != [p._array.shape for p, _ in self._pairs]:
            self._arrange()
        if self._small:
            gradients = [none if p._grad is None else p._grad._array for p, none in zip(self._small, self._zeros)]
            if any(g.__class__ is not np.ndarray for g in gradients):
                gradients = [to_dense(g) for g in gradients]
            self._before = np.concatenate([*gradients, *[p._array for p in self._small]], axis=None)
        self._gradients = [0.0 if p._grad is None else square_of(p._grad._array) for p, _ in self._large]
        for (p, _), room in zip(self._large, self._rooms):
            room[...] = p._array

    def end(self) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
        """The norms of the gradients of each layer, of its change, and of what it was: infinite if an element is not
        finite.
        """
        squares = [dict.fromkeys(self.layers, 0.0) for _ in range(3)]
        for g, (p, name), room in zip(self._gradients, self._large, self._rooms):
            for found, square in zip(squares, (g, *squares_of_change(p._array, room))):
                found[name] += square
        if self._small:
            with np.errstate(all="ignore"):
                now = np.concatenate([p._array for p in self._small], axis=None)
                now -= self._before[self._size :]
                piece = np.concatenate((self._before[: self._size], now, self._before[self._size :]))
                sums = np.add.reduceat(np.multiply(piece, piece, dtype=np.float64), self._starts).tolist()
            for k, found in enumerate(squares):
                for name, square in zip(self._names, sums[k * len(self._names) :]):
                    found[name] += square
        gradients, changes, values = (
            {name: math.sqrt(square) if square < math.inf else math.inf for name, square in found.items()}
            for found in squares
        )
        return gradients, changes, values


class Watch:
    """The result of :func:`watch`.

    Attributes:
        records: one :class:`Record` for each step that was recorded.
        steps: how many steps were seen.
        findings: what looked wrong, as it appeared.
    """

    def __init__(
        self, module: Any, every: int | None, writer: Any, on_finding: Callable[[Finding], Any] | None
    ) -> None:
        self.records: list[Record] = []
        self.findings: list[Finding] = []
        self.steps = 0
        self._every, self._writer, self._on_finding = every, writer, on_finding
        self._layers: dict[str, list[Any]] = {}
        for name, p in module.named_parameters():
            self._layers.setdefault(name.rpartition(".")[0] or type(module).__name__, []).append(p)
        self._trained: dict[int, Trained] = {}
        self._loss: float | None = None
        self._new: dict[str, list[tuple[str, str, str]]] = {}  # what one record found, by kind: layer, text, severity
        self._recording: Trained | None = None  # whose step is being recorded
        self._largest: dict[str, float] = {}
        self._bad: dict[tuple[str, str], int] = defaultdict(int)
        self._hooks = (
            register_optimizer_step_pre_hook(self._before_step),
            register_optimizer_step_post_hook(self._after_step),
        )
        self._listen(True)

    def _listen(self, listen: bool) -> None:
        """Be told of backward passes, or not."""
        if listen != (self._begin in beginnings):
            (beginnings.append if listen else beginnings.remove)(self._begin)

    def close(self) -> None:
        """Stop watching."""
        for hook in self._hooks:
            hook.remove()
        self._listen(False)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *problem: Any) -> None:
        self.close()

    # --- recording ----------------------------------------------------------------------------------------------

    def _begin(self, roots: Any) -> None:
        """Called before each backward pass: notes its output."""
        outputs = outputs_in_callers(sys._getframe(1))
        if len(outputs) == 1 and isinstance(outputs[0], np.ndarray) and outputs[0].size == 1:
            self._loss = None if outputs[0].dtype.kind == "c" else float(outputs[0].item())

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        trained = self._trained.get(id(optimizer)) or self._meet(optimizer)
        if not trained.layers:
            return
        self.steps += 1
        if self.steps < trained.due:
            if self.steps + 1 == trained.due:
                self._listen(True)
            return
        trained.begin()
        self._recording = trained

    def _meet(self, optimizer: Any) -> Trained:
        """The layers that an optimizer trains, on its first step."""
        those = {id(p) for group in optimizer.param_groups for p in group["params"]}
        layers = {name: [p for p in ps if id(p) in those] for name, ps in self._layers.items()}
        trained = self._trained[id(optimizer)] = Trained(optimizer, {name: ps for name, ps in layers.items() if ps})
        return trained

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        trained = self._recording
        if trained is None or trained.optimizer is not optimizer:
            return
        self._recording = None
        record = Record(self.steps, self._loss, *trained.end())
        self.records.append(record)
        self._check(record)
        if self._writer is not None:
            for kind in ("gradients", "updates"):
                for name, norm in getattr(record, kind).items():
                    self._writer.add_scalar(f"{kind}/{name}", norm, record.step)
        trained.due = self.steps + (self._every or stride(self.steps))
        self._listen(self.steps + 1 == trained.due)

    def _check(self, record: Record) -> None:
        for name, norm in record.gradients.items():
            if norm == math.inf:
                self._found("nan", name, f"The gradient of `{name}` is not finite at step {record.step}.", "error")
                continue
            largest = self._largest.get(name, 0.0)
            if norm > largest:
                self._largest[name] = norm
                self._check_growth(name, norm, record.step)
            if self._in_a_row("no-gradient", name, norm == 0 and self._trains(name)):
                text = f"The gradient of `{name}` was 0 in the last {ROW} records, up to step {record.step}."
                self._found("no-gradient", name, text)
            size, update = record.values[name], record.updates[name]
            ratio = update / size if size else 0.0
            if self._in_a_row("large-update", name, ratio > TOO_LARGE):
                self._found(
                    "large-update",
                    name,
                    f"Each step changed `{name}` by more than {TOO_LARGE:.0%} of its norm, in {ROW} "
                    f"records up to step {record.step}; the last by {ratio:.0%}.",
                )
            if self._in_a_row("stalled", name, ratio < TINY and norm > TELLING * size > 0):
                self._found(
                    "stalled",
                    name,
                    f"`{name}` has gradients of norm {norm:.3g}, but {ROW} steps "
                    f"up to step {record.step} changed it by less than {TINY:g} of its norm.",
                )
        if self._new:
            self._say_new()

    def _check_growth(self, name: str, norm: float, step: int) -> None:
        """Whether a gradient that is larger than ever is far from what is usual."""
        usual = [r.gradients[name] for r in self.records[-50:-1] if name in r.gradients]
        if len(usual) >= USUAL and norm > FACTOR * median(usual) > 0:
            self._found(
                "exploding",
                name,
                f"The gradient of `{name}` has norm {norm:.3g} at step {step}: {norm / median(usual):.0f} "
                f"times its median over the {len(usual)} records before, and more than ever.",
            )

    def _trains(self, name: str) -> bool:
        """Whether a layer is not frozen."""
        return any(p._fn is not None for p in self._layers[name])

    def _in_a_row(self, kind: str, name: str, bad: bool) -> bool:
        """Whether something has been bad for so many records that it is worth a finding, as of now."""
        count = self._bad[kind, name] = self._bad[kind, name] + 1 if bad else 0
        return count == ROW

    def _say_new(self) -> None:
        """Say what this record found, layers of one fault together."""
        for kind, those in self._new.items():
            layers, text = [name for name, _, _ in those], those[0][1]
            if len(layers) > 1:
                shown = ", ".join(f"`{name}`" for name in layers[1:MOST_NAMES])
                more = f" and {len(layers) - MOST_NAMES} more" if len(layers) > MOST_NAMES else ""
                text += f" Likewise {shown}{more}."
            self._say(Finding(kind, text, those[0][2], leaves=layers))
        self._new.clear()

    def _found(self, kind: str, name: str, text: str, severity: str = "warning") -> None:
        if not any(f.kind == kind and name in f.leaves for f in self.findings):
            self._new.setdefault(kind, []).append((name, text, severity))

    def _say(self, finding: Finding) -> None:
        """Note a finding, and tell who asked to be told, or warn at the program's line."""
        self.findings.append(finding)
        frame = user_frame(sys._getframe(1))
        if frame is not None:
            finding.file, finding.line = frame.f_code.co_filename, frame.f_lineno
        if self._on_finding is not None:
            self._on_finding(finding)
        elif frame is not None:
            warnings.warn_explicit(
                str(finding),
                UserWarning,
                frame.f_code.co_filename,
                frame.f_lineno,
                registry=frame.f_globals.setdefault("__warningregistry__", {}),
            )
        else:
            warnings.warn(str(finding), stacklevel=2)

    # --- showing ------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The records and the findings as dicts, lists, numbers and strings."""
        records = [
            {"step": r.step, "loss": r.loss, "gradients": r.gradients, "updates": r.updates, "values": r.values}
            for r in self.records
        ]
        return plain(
            {
                "format": 1,
                "steps": self.steps,
                "layers": list(self._layers),
                "records": records,
                "findings": self.findings,
            }
        )

    def to_html(self) -> str:
        """A page with plots, which needs no network."""
        return fill_template(
            "watch.html",
            {
                "title": "Training",
                "css": asset("page.css") + asset("uPlot.min.css"),
                "uplot": f"/*! uPlot, MIT license\n{asset('uPlot.LICENSE.txt')}*/\n{asset('uPlot.iife.min.js')}",
                "script": asset("watch.js"),
                "data": script_json(self.to_dict()),
            },
        )

    def save(self, path: str | Path) -> None:
        """Write the page."""
        Path(path).write_text(self.to_html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        text = html.escape(self.to_html())
        return f'<iframe srcdoc="{text}" style="width:100%;height:640px;border:0" title="Training"></iframe>'

    def _mime_(self) -> tuple[str, str]:
        return "text/html", self._repr_html_()

    def __str__(self) -> str:
        # deferred: rich is slow to import
        from .text import rendered, watch_text

        return rendered(watch_text(self))

    def __repr__(self) -> str:
        return f"<Watch: {len(self.records)} of {self.steps} steps recorded, {len(self.findings)} findings>"


def stride(step: int) -> int:
    """How many steps after this one the next is recorded. A record costs less than a step, so later ones cost less than
    a twentieth of the time; and a run has a few hundred, however long it is.
    """
    return 1 if step < ALL else max(RARE, step // ALL)


def is_small(a: Any) -> bool:
    """Whether an array is looked at together with others."""
    return a.__class__ is np.ndarray and a.dtype is SINGLE and 0 < a.size < LARGE


def square_of(a: Any) -> float:
    """The sum of an array's squares, dense or sparse; infinite if an element is not finite, or on overflow."""
    if isinstance(a, LevelValue):
        a = a.coalesce().value if isinstance(a, Coo) else a.value
    numbers = kernels.run("summary", "describe", a.size, a)
    if numbers is not None:
        return numbers[1] if math.isfinite(numbers[1]) else math.inf
    flat = a.reshape(-1)
    flat = flat.astype(np.complex128 if flat.dtype.kind == "c" else np.float64, copy=False)
    total = float(np.vdot(flat, flat).real)
    return total if math.isfinite(total) else math.inf


def squares_of_change(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """The sums of the squares of ``a - b`` and of ``b``."""
    found = None if a.size < LARGE else kernels.run("summary", "squares", a.size, a, b)
    found = [square_of(a - b), square_of(b)] if found is None else found
    return tuple(x if math.isfinite(x) else math.inf for x in found)  # type: ignore[return-value]


def watch(
    module: Any, every: int | None = None, writer: Any = None, on_finding: Callable[[Finding], Any] | None = None
) -> Watch:
    """Record each layer's gradient and update norms while optimizers train a module.

    Args:
        module: an ``nn.Module``.
        every: record every so many steps; by default each of the first 100, then every twentieth, and from step 2,000
            on each time 1 % later.
        writer: a TensorBoard ``SummaryWriter`` (any object with ``add_scalar(tag, value, step)``), to be told as well.
        on_finding: called with each finding as it appears; by default it is a warning.

    Returns:
        a :class:`Watch`: ``records``, ``findings``, ``save("training.html")``, ``close()``. Also a context manager.

    >>> import pullback as torch
    >>> net = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    >>> with torch.watch(net, every=1) as w:
    ...     for _ in range(3):
    ...         optimizer.zero_grad()
    ...         net(torch.ones(4, 2)).sum().backward()
    ...         optimizer.step()
    >>> [round(r.gradients["Linear"], 3) for r in w.records]
    [6.928, 6.928, 6.928]
    """
    return Watch(module, every, writer, on_finding)
