"""The profiler: which operations ran, how often, for how long, and how much memory their results took.

Operations are seen by a layer below autograd (:mod:`pullback.core.interpose`), so while a profiler is on they take the
slow
path: times of small operations are upper bounds. Backward is seen node by node. Events nest: what an operation did
itself, and what those inside of it did, are told apart.
"""

from __future__ import annotations

import functools
import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..base import thread_state
from ..base.device import placeholder_class
from ..core.interpose import Interposer
from ..engine import hooks

UNITS = ((1e6, "s"), (1e3, "ms"), (1.0, "us"))


class FunctionEvent:
    """One thing that ran: an operation, a node of backward, or a range of the user's.

    Attributes:
        name, id, thread: what it was, its number, and where.
        time_range: when, in microseconds.
        cpu_children: the events directly inside.
        input_shapes: of its tensor arguments, if asked for.
        cpu_memory_usage: bytes of its results, if asked for.
        sequence_nr: the node's number, which a forward operation shares with its backward; -1 for none.
    """

    count = 1
    device_time_total = self_device_time_total = 0
    is_async = is_remote = is_legacy = False

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        node_id: int = -1,
        fwd_thread: int | None = None,
        input_shapes: Any = None,
        cpu_memory_usage: int = 0,
        sequence_nr: int = -1,
        **ignored: Any,
    ) -> None:
        self.id, self.name, self.thread, self.node_id, self.fwd_thread = id, name, thread, node_id, fwd_thread
        self.time_range = Interval(start_us, end_us)
        self.input_shapes = input_shapes or []
        self.cpu_memory_usage, self.sequence_nr = cpu_memory_usage, sequence_nr
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    @property
    def key(self) -> str:
        return self.name

    @property
    def cpu_time_total(self) -> float:
        """Microseconds from its beginning to its end."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        """The same without the events inside."""
        return self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        return self.cpu_memory_usage - sum(c.cpu_memory_usage for c in self.cpu_children)

    cpu_time = cpu_time_total

    def __repr__(self) -> str:
        taken = format_time(self.cpu_time_total)
        return f"<FunctionEvent id={self.id} name={self.name} cpu_time={taken} input_shapes={self.input_shapes}>"


class Interval:
    """From when to when, in microseconds."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        return self.end - self.start


class FunctionEventAvg:
    """All events of one name, added up."""

    device_time_total = self_device_time_total = 0

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.input_shapes: Any = None

    def add(self, other: Any) -> FunctionEventAvg:
        """Add an event, or an average of some."""
        if self.key is None:
            self.key, self.input_shapes = other.key, other.input_shapes
        for name in ("count", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    __iadd__ = add

    @property
    def cpu_time(self) -> float:
        """The average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def __repr__(self) -> str:
        taken = format_time(self.self_cpu_time_total)
        return f"<FunctionEventAvg key={self.key} self_cpu_time={taken} count={self.count}>"


class EventList(list[Any]):
    """Events, in the order of their beginnings."""

    def __init__(self, events: Iterable[Any] = (), profile_memory: bool = False) -> None:
        super().__init__(events)
        self.profile_memory = profile_memory

    def _populate_cpu_children(self) -> None:
        """Find out from the times which events lie inside of which (each thread by itself)."""
        for thread in sorted({e.thread for e in self}):
            open_events: list[FunctionEvent] = []
            for event in sorted(
                (e for e in self if e.thread == thread), key=lambda e: (e.time_range.start, -e.time_range.end)
            ):
                while open_events and (
                    event.time_range.start >= open_events[-1].time_range.end
                    or event.time_range.end > open_events[-1].time_range.end
                ):
                    open_events.pop()
                if open_events:
                    open_events[-1].cpu_children.append(event)
                    event.cpu_parent = open_events[-1]
                open_events.append(event)

    @property
    def self_cpu_time_total(self) -> float:
        return sum(e.self_cpu_time_total for e in self)

    def key_averages(self, group_by_input_shapes: bool = False) -> EventList:
        """The events added up by name (and shapes)."""
        groups: dict[Any, FunctionEventAvg] = {}
        for e in self:
            groups.setdefault((e.key, str(e.input_shapes) if group_by_input_shapes else ""), FunctionEventAvg()).add(e)
        return EventList(groups.values(), self.profile_memory)

    def total_average(self) -> FunctionEventAvg:
        """All events added up."""
        total = FunctionEventAvg()
        for e in self:
            total.add(e)
            total.key = None
        total.key = "Total"
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """A table of names, times and calls.

        Args:
            sort_by: an attribute, such as ``"cpu_time_total"`` or ``"self_cpu_time_total"``; most first.
            row_limit: at most so many rows (-1: all).
        """
        events = [e for e in self if not top_level_events_only or getattr(e, "cpu_parent", None) is None]
        if sort_by is not None:
            events.sort(key=lambda e: getattr(e, sort_by.replace("cuda_", "device_")), reverse=True)
        if row_limit >= 0:
            events = events[:row_limit]
        shapes = any(e.input_shapes for e in events)
        total = self.self_cpu_time_total
        part = lambda t: f"{100 * t / total:.2f}%" if total else "NaN"  # noqa: E731
        titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
        titles += ["CPU Mem", "Self CPU Mem"] if self.profile_memory else []
        titles += ["# of Calls"] + (["Input Shapes"] if shapes else [])
        rows = []
        for e in events:
            name = e.key if len(e.key) <= max_name_column_width else e.key[: max_name_column_width - 3] + "..."
            row = [
                name,
                part(e.self_cpu_time_total),
                format_time(e.self_cpu_time_total),
                part(e.cpu_time_total),
                format_time(e.cpu_time_total),
                format_time(e.cpu_time),
            ]
            row += (
                [format_memory(e.cpu_memory_usage), format_memory(e.self_cpu_memory_usage)]
                if self.profile_memory
                else []
            )
            rows.append(row + [str(e.count)] + ([str(e.input_shapes)[:max_shapes_column_width]] if shapes else []))
        widths = [max(len(r[i]) for r in [titles, *rows]) for i in range(len(titles))]
        rule = "  ".join("-" * w for w in widths)
        lines = [] if header is None else [rule, header]
        lines += [rule, "  ".join(t.rjust(w) for t, w in zip(titles, widths)), rule]
        lines += ["  ".join(c.rjust(w) for c, w in zip(row, widths)) for row in rows]
        return "\n".join([*lines, rule, f"Self CPU time total: {format_time(total)}", ""])

    def export_chrome_trace(self, path: str) -> None:
        """Write the events for ``chrome://tracing``."""
        traced = [
            {
                "name": e.name,
                "ph": "X",
                "ts": e.time_range.start,
                "dur": e.cpu_time_total,
                "tid": e.thread,
                "pid": "CPU functions",
                "args": {},
            }
            for e in self
        ]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(traced, file)

    def __str__(self) -> str:
        return self.table()


def format_time(us: float) -> str:
    """Microseconds in the unit that fits."""
    for size, unit in UNITS:
        if us >= size:
            return f"{us / size:.3f}{unit}"
    return f"{us:.3f}us"


_format_time = format_time


def format_memory(size: int) -> str:
    """Bytes in the unit that fits."""
    for power, unit in ((3, "GB"), (2, "MB"), (1, "KB")):
        if abs(size) >= 1024**power:
            return f"{size / 1024**power:.2f} {unit}"
    return f"{size} B"


# --- recording ------------------------------------------------------------------------------------------------------


def now() -> float:
    return time.perf_counter() * 1e6


_running: list[profile] = []  # the profilers that are on, in all threads
ELSEWHERE = 1  # the thread under which what runs beside a program is shown


def note_elsewhere(name: str, start: float, end: float) -> None:
    """Let profilers that are on know of something that ran beside the program, such as a collective.

    Args:
        start, end: when, in seconds of ``time.perf_counter``.
    """
    for p in list(_running):
        event = FunctionEvent(p.count, name, ELSEWHERE, start * 1e6, end * 1e6, fwd_thread=0)
        event.is_async = True
        p.count += 1
        p.function_events.append(event)


class profile(Interposer):
    """Record what runs in this thread while the context is entered.

    Args:
        enabled: False makes it do nothing.
        record_shapes: note the shapes of arguments.
        profile_memory: note how many bytes results take.

    Other arguments of PyTorch's are accepted.

    >>> import pullback as torch
    >>> with torch.autograd.profiler.profile() as prof:
    ...     _ = torch.ones(2) * 2 + 1
    >>> [e.name for e in prof.function_events]
    ['aten::mul', 'aten::add']
    >>> "Self CPU time total" in prof.key_averages().table(sort_by="self_cpu_time_total")
    True
    """

    def __init__(
        self, enabled: bool = True, *, record_shapes: bool = False, profile_memory: bool = False, **ignored: Any
    ) -> None:
        self.enabled, self.record_shapes, self.profile_memory = enabled, record_shapes, profile_memory
        self.function_events: EventList = EventList(profile_memory=profile_memory)
        self.stack: list[FunctionEvent] = []
        self.count = 0

    def __enter__(self) -> profile:
        if self.enabled:
            super().__enter__()
            self.thread = threading.get_ident()
            self.watch = hooks.observe(self.after_node, self.backward_begins)
            self.watch.__enter__()
            _running.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        if self.enabled:
            _running.remove(self)
            self.watch.__exit__(None, None, None)
            super().__exit__(*exc)

    # What happens.

    def begin(self, name: str, shapes: Any = None) -> FunctionEvent:
        event = FunctionEvent(self.count, name, 0, now(), 0.0, fwd_thread=0, input_shapes=shapes)
        self.count += 1
        self.function_events.append(event)
        if self.stack:
            event.cpu_parent = self.stack[-1]
            self.stack[-1].cpu_children.append(event)
        self.stack.append(event)
        return event

    def end(self, event: FunctionEvent) -> None:
        event.time_range.end = now()
        if event in self.stack:  # one may be ended after those that began around it
            self.stack.remove(event)

    def compute(self, op: Any, values: Sequence[Any]) -> Any:
        from ..levels.aten import overload_of

        shapes = [list(v.shape) if isinstance(v, np.ndarray) else [] for v in values] if self.record_shapes else None
        event = self.begin(f"aten::{overload_of(op, values).overloadpacket.__name__}", shapes)
        try:
            result = super().compute(op, values)
        finally:
            self.end(event)
        if self.profile_memory:
            for r in result if isinstance(result, (tuple, list)) else (result,):
                event.cpu_memory_usage += r.nbytes if isinstance(r, np.ndarray) and r.base is None else 0
        return result

    def backward_begins(self, roots: Any) -> tuple[None, Callable[[], None]]:
        self.since = now()
        return None, lambda: None

    def after_node(self, node: Any, grad_outputs: Any, grad_inputs: Any) -> None:
        if threading.get_ident() != self.thread:
            return
        event = FunctionEvent(
            self.count, node.name(), 0, self.since, now(), fwd_thread=0, sequence_nr=node._sequence_nr()
        )
        self.count += 1
        self.function_events.append(event)
        if self.stack:
            event.cpu_parent = self.stack[-1]
            self.stack[-1].cpu_children.append(event)
        self.since = now()

    # What was seen.

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """The events added up by name."""
        return self.function_events.key_averages(group_by_input_shape)

    def total_average(self) -> FunctionEventAvg:
        """All events added up."""
        return self.function_events.total_average()

    def table(self, *args: Any, **kwargs: Any) -> str:
        """See :meth:`EventList.table`; of all events, added up by name."""
        return self.key_averages().table(*args, **kwargs)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events for ``chrome://tracing``."""
        self.function_events.export_chrome_trace(path)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds in all events."""
        return self.function_events.self_cpu_time_total

    def __str__(self) -> str:
        return self.table()


class record_function:
    """A named range among the events; a context, or a decorator.

    >>> import pullback as torch
    >>> with torch.autograd.profiler.profile() as prof:
    ...     with torch.autograd.profiler.record_function("mine"): _ = torch.ones(2).exp()
    >>> [(e.name, len(e.cpu_children)) for e in prof.function_events]
    [('mine', 1), ('aten::exp', 0)]
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self.events: list[tuple[profile, FunctionEvent]] = []

    def __enter__(self) -> record_function:
        here = threading.get_ident()
        self.events = [(p, p.begin(self.name)) for p in _running if p.thread == here]
        return self

    def __exit__(self, *exc: object) -> None:
        for p, event in self.events:
            p.end(event)
        self.events = []

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return fn(*args, **kwargs)

        return wrapped


# marks for profilers of devices
emit_nvtx, emit_itt = (placeholder_class(name, "torch.autograd.profiler") for name in ("emit_nvtx", "emit_itt"))


def profiler_enabled() -> bool:
    """Whether a profiler is on in this thread."""
    return any(isinstance(layer, profile) for layer in thread_state.local.layers)


_profiler_enabled = profiler_enabled  # under which name ``torch.autograd`` has it
