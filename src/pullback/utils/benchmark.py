"""``torch.utils.benchmark``: :class:`Timer`, which measures how long a statement takes.

>>> from pullback.utils.benchmark import Timer
>>> Timer("x + 1", globals={"x": 1}).timeit(100).number_per_run
100
"""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..core import slots

__all__ = ["Compare", "Measurement", "Timer"]


@dataclass
class Measurement:
    """Times of several runs of a statement.

    Attributes:
        number_per_run: how often it ran in each. raw_times: how long each took, in seconds.
        label, sub_label, description, env, stmt, num_threads: what the timer was told.
    """

    number_per_run: int
    raw_times: list[float]
    stmt: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1
    metadata: dict[Any, Any] | None = field(default=None, repr=False)

    @property
    def times(self) -> list[float]:
        """Seconds for the statement once, in each run."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def mean(self) -> float:
        """The mean of :attr:`times`."""
        return statistics.mean(self.times)

    @property
    def median(self) -> float:
        """The median of :attr:`times`."""
        return statistics.median(self.times)

    @property
    def iqr(self) -> float:
        """The interquartile range of :attr:`times`."""
        if len(self.times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return high - low

    def __repr__(self) -> str:
        title = self.label or self.stmt
        lines = [f"<pullback.utils.benchmark.Measurement>\n{title}", *filter(None, (self.sub_label, self.description))]
        spread = f"Median of {len(self.times)} runs, IQR {_shown(self.iqr)}" if len(self.times) > 1 else "1 measurement"
        return "\n".join(
            [
                *lines,
                f"  {_shown(self.median)}",
                f"  {spread}, {self.number_per_run} per run, {self.num_threads} thread(s)",
            ]
        )


def _shown(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds / 1e-9:.2f} ns"


class Timer:
    """Measures a statement.

    Args:
        stmt, setup, global_setup: Python code. timer: the clock. globals: names that the code can use.
        label, sub_label, description, env: to tell measurements apart.
        num_threads: for ``torch.set_num_threads`` meanwhile.
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timeit.default_timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = None,
    ) -> None:
        space = {"torch": slots.namespace, **(globals or {})}
        exec(global_setup, space)
        self._timer = timeit.Timer(stmt, setup, timer, space)
        self._facts: dict[str, Any] = {
            "stmt": stmt,
            "label": label,
            "sub_label": sub_label,
            "description": description,
            "env": env,
            "num_threads": num_threads,
        }

    def _run(self, number: int) -> float:
        from ..kernels import get_num_threads, set_num_threads

        before = get_num_threads()
        set_num_threads(self._facts["num_threads"])
        try:
            return self._timer.timeit(number)
        finally:
            set_num_threads(before)

    def timeit(self, number: int = 1000000) -> Measurement:
        """Run it so often, in one run, after a hundredth as often to warm up."""
        self._run(max(number // 100, 2))
        return Measurement(number, [self._run(number)], **self._facts)

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """Run it in blocks that are long against the clock, until ``min_run_time`` seconds have passed."""
        number = self._block(min_run_time)
        times = [self._run(number)]
        while sum(times) < min_run_time:
            times.append(self._run(number))
        return Measurement(number, times, **self._facts)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0, callback: Any = None
    ) -> Measurement:
        """:meth:`blocked_autorange`, until the interquartile range is within ``threshold`` of the median."""
        number = self._block(min_run_time)
        found = Measurement(number, [self._run(number)], **self._facts)
        while sum(found.raw_times) < max_run_time:
            found.raw_times.append(self._run(number))
            if sum(found.raw_times) >= min_run_time and len(found.times) > 3 and found.iqr < threshold * found.median:
                break
        return found

    def _block(self, min_run_time: float) -> int:
        number = 1
        while (took := self._run(number)) < min(min_run_time / 100, 1e-2) and number < 1 << 30:
            number *= 10 if took < 1e-4 else 2
        return number


class Compare:
    """A table of measurements: a row a label, a column a description."""

    def __init__(self, results: list[Measurement]) -> None:
        self.results = list(results)

    def __str__(self) -> str:
        columns = list(dict.fromkeys(r.description or "" for r in self.results))
        rows = list(dict.fromkeys(r.sub_label or r.label or r.stmt for r in self.results))
        cells = {(r.sub_label or r.label or r.stmt, r.description or ""): _shown(r.median) for r in self.results}
        width = max([len(row) for row in rows] + [0])
        table = [
            [" " * width, *columns],
            *([row.ljust(width), *(cells.get((row, c), "") for c in columns)] for row in rows),
        ]
        return "\n".join("  ".join(cell.rjust(12) if i else cell for i, cell in enumerate(line)) for line in table)

    def print(self) -> None:
        """Print it."""
        print(self)

    def trim_significant_figures(self) -> None:
        """Accepted: three are shown."""

    def colorize(self, rowwise: bool = False) -> None:
        """Accepted: there are no colours."""
