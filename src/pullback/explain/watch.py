"""``watch(module)``: gradient and update norms of every layer over training, at under 5 % of its time.

The backward pass is left alone. Hooks around ``optimizer.step()`` take the norms of gradients, of parameters and of
their change, at as many steps as the time budget allows.
"""

from __future__ import annotations

import html
import math
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from .. import kernels
from ..core.level import LevelValue
from ..ops.values.sparse_coo import Coo
from ..optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from .page import asset, fill_template, script_json
from .schema import Finding, plain

BUDGET = 0.01  # share of time that recording may take; hooks and cache misses cost as much again
FACTOR = 100  # exploding: so many times the median
USUAL = 10  # records that a median needs
ROW = 10  # consecutive records that make a finding
LARGE, TINY = 0.1, 1e-8  # norm of the update over that of the weights: too large, and no change
TELLING = 1e-4  # norm of the gradient over that of the weights, above which it is not just near a minimum


@dataclass(frozen=True, slots=True)
class Record:
    """The norms at one optimizer step, for each layer it trains: of gradients, updates (the change of parameters) and
    parameters.
    """

    step: int
    gradients: dict[str, float]
    updates: dict[str, float]
    values: dict[str, float]


@dataclass(slots=True)
class Trained:
    """The layers that one optimizer trains, and the next step to record."""

    optimizer: Any
    layers: dict[str, list[Any]]
    due: int = 0


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
        self._cost = math.inf  # seconds a record takes: the least so far, as the first one imports
        self._last = 0, perf_counter()  # the newest step that was recorded, and when
        self._before: dict[int, np.ndarray] = {}  # the parameters before a step that is recorded
        self._gradients: dict[str, float] = {}
        self._largest: dict[str, float] = {}
        self._bad: dict[tuple[str, str], int] = defaultdict(int)
        self._handle = register_optimizer_step_pre_hook(self._before_step)
        self._after: Any = None

    def close(self) -> None:
        """Stop watching."""
        self._handle.remove()
        if self._after is not None:
            self._after.remove()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *problem: Any) -> None:
        self.close()

    # --- recording ----------------------------------------------------------------------------------------------

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        trained = self._trained.get(id(optimizer)) or self._meet(optimizer)
        if not trained.layers:
            return
        self.steps += 1
        if self.steps < trained.due:
            return
        now = perf_counter()
        self._each = (now - self._last[1]) / (self.steps - self._last[0])
        self._gradients = {
            name: math.sqrt(sum(square_of(p._grad._array) for p in ps if p._grad is not None))
            for name, ps in trained.layers.items()
        }
        for ps in trained.layers.values():
            for p in ps:
                room = self._before.get(id(p))
                if room is None or room.shape != p._array.shape or room.dtype != p._array.dtype:
                    self._before[id(p)] = p._array.copy()
                else:
                    room[...] = p._array
        self._after = register_optimizer_step_post_hook(self._after_step)
        self._spent = perf_counter() - now

    def _meet(self, optimizer: Any) -> Trained:
        """The layers that an optimizer trains, on its first step."""
        those = {id(p) for group in optimizer.param_groups for p in group["params"]}
        layers = {name: [p for p in ps if id(p) in those] for name, ps in self._layers.items()}
        trained = self._trained[id(optimizer)] = Trained(optimizer, {name: ps for name, ps in layers.items() if ps})
        return trained

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        trained = self._trained.get(id(optimizer))
        if trained is None or not trained.layers:
            return
        now = perf_counter()
        self._after.remove()
        self._after, updates, values = None, {}, {}
        for name, ps in trained.layers.items():
            both = [squares(p._array, self._before[id(p)]) for p in ps]
            updates[name], values[name] = (math.sqrt(sum(part)) for part in zip(*both))
        record = Record(self.steps, self._gradients, updates, values)
        self.records.append(record)
        self._check(record)
        if self._writer is not None:
            for kind in ("gradients", "updates"):
                for name, norm in getattr(record, kind).items():
                    self._writer.add_scalar(f"{kind}/{name}", norm, record.step)
        end = perf_counter()
        self._cost = min(self._cost, self._spent + end - now)
        self._last = self.steps, end
        affordable = math.ceil(self._cost / (BUDGET * self._each)) if len(self.records) > 1 else 1
        trained.due = self.steps + (self._every or affordable)

    def _check(self, record: Record) -> None:
        for name, norm in record.gradients.items():
            if not math.isfinite(norm):
                self._found("nan", name, f"The gradient of `{name}` is not finite at step {record.step}.", "error")
                continue
            usual, largest = (
                [r.gradients[name] for r in self.records[-50:-1] if name in r.gradients],
                self._largest.get(name, 0.0),
            )
            self._largest[name] = max(norm, largest)
            if len(usual) >= USUAL and norm > FACTOR * median(usual) > 0 and norm > largest:
                self._found(
                    "exploding",
                    name,
                    f"The gradient of `{name}` has norm {norm:.3g} at step {record.step}: {norm / median(usual):.0f} "
                    f"times its median over the {len(usual)} records before, and more than ever.",
                )
            trains = any(p._fn is not None for p in self._layers[name])
            self._in_a_row(
                "no-gradient",
                name,
                norm == 0 and trains,
                f"The gradient of `{name}` was 0 in the last {ROW} records, up to step {record.step}.",
            )
            size, update = record.values[name], record.updates[name]
            ratio = update / size if size else 0.0
            self._in_a_row(
                "large-update",
                name,
                ratio > LARGE,
                f"Each step changed `{name}` by more than {LARGE:.0%} of its norm, in {ROW} "
                f"records up to step {record.step}; the last by {ratio:.0%}.",
            )
            self._in_a_row(
                "stalled",
                name,
                norm > TELLING * size > 0 and ratio < TINY,
                f"`{name}` has gradients of norm {norm:.3g}, but {ROW} steps "
                f"up to step {record.step} changed it by less than {TINY:g} of its norm.",
            )

    def _in_a_row(self, kind: str, name: str, bad: bool, text: str) -> None:
        self._bad[kind, name] = self._bad[kind, name] + 1 if bad else 0
        if self._bad[kind, name] == ROW:
            self._found(kind, name, text)

    def _found(self, kind: str, name: str, text: str, severity: str = "warning") -> None:
        if any(f.kind == kind and f.leaves == [name] for f in self.findings):
            return
        finding = Finding(kind, text, severity, leaves=[name])
        self.findings.append(finding)
        if self._on_finding is not None:
            self._on_finding(finding)
        else:
            warnings.warn(text, stacklevel=2)

    # --- showing ------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The records and the findings as dicts, lists, numbers and strings."""
        records = [
            {"step": r.step, "gradients": r.gradients, "updates": r.updates, "values": r.values} for r in self.records
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


def squares(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """The sums of the squares of ``a - b`` and of ``b``."""
    found = kernels.run("summary", "squares", a.size, a, b)
    found = [square_of(a - b), square_of(b)] if found is None else found
    return tuple(x if math.isfinite(x) else math.inf for x in found)  # type: ignore[return-value]


def watch(
    module: Any, every: int | None = None, writer: Any = None, on_finding: Callable[[Finding], Any] | None = None
) -> Watch:
    """Record each layer's gradient and update norms while optimizers train a module.

    Args:
        module: an ``nn.Module``.
        every: record every so many steps; by default as often as keeps the cost under 5 % of the time.
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
