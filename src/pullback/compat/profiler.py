"""``torch.profiler``: :mod:`pullback.autograd.profiler` under PyTorch's newer interface."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import Any

from ..autograd.profiler import EventList, record_function
from ..autograd.profiler import profile as _profile

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(enum.Enum):
    """The activities to record; only the CPU is there."""

    CPU = 0
    CUDA = 1
    XPU = 2


class ProfilerAction(enum.Enum):
    """The action of a step, as :func:`schedule` gives it."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def kineto_available() -> bool:
    """Whether PyTorch's own tracer is there: False."""
    return False


def supported_activities() -> set[ProfilerActivity]:
    """The activities that can be looked at."""
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Cycles of ``wait`` steps without, ``warmup`` steps to be ignored, ``active`` steps recorded; ``repeat`` cycles
    (0: endless).
    """
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0 or repeat and step >= repeat * length:
            return ProfilerAction.NONE
        within = step % length
        if within < wait:
            return ProfilerAction.NONE
        if within < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if within == length - 1 else ProfilerAction.RECORD

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """For ``on_trace_ready``: writes each trace into a directory."""
    import os

    def handler(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker_name or 'worker'}.{prof.step_num}.pt.trace.json"))

    return handler


class profile:
    """Record what runs while the context is entered, or between :meth:`start` and :meth:`stop`.

    Args:
        activities: accepted; the CPU is what there is.
        schedule: from :func:`schedule`: which steps to record; call :meth:`step` after each.
        on_trace_ready: called with this object after the last step of a cycle, and at the end.
        record_shapes, profile_memory: note shapes of arguments, bytes of results.

    >>> import pullback as torch
    >>> with torch.profiler.profile(record_shapes=True) as prof:
    ...     with torch.profiler.record_function("product"): _ = torch.ones(2, 2) @ torch.ones(2, 2)
    >>> [e.key for e in prof.key_averages()]
    ['product', 'aten::mm']
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        **ignored: Any,
    ) -> None:
        self.schedule, self.on_trace_ready = schedule, on_trace_ready
        self.options = {"record_shapes": record_shapes, "profile_memory": profile_memory}
        self.step_num = 0
        self.profiler: _profile = _profile(**self.options)
        self.on = False

    def start(self) -> None:
        """Begin, as entering the context does."""
        self._go(self._action())

    def stop(self) -> None:
        """End, as leaving the context does."""
        was_on = self.on
        self._pause()
        if was_on and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def step(self) -> None:
        """The next step begins."""
        done = self._action() is ProfilerAction.RECORD_AND_SAVE
        if done and self.on:
            self._pause()
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
        self.step_num += 1
        self._go(self._action())

    def _action(self) -> ProfilerAction:
        return ProfilerAction.RECORD if self.schedule is None else self.schedule(self.step_num)

    def _go(self, action: ProfilerAction) -> None:
        recording = action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if recording and not self.on:
            self.profiler = _profile(**self.options)
            self.profiler.__enter__()
            self.on = True
        elif not recording:
            self._pause()

    def _pause(self) -> None:
        if self.on:
            self.profiler.__exit__(None, None, None)
            self.on = False

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def events(self) -> EventList:
        """The recorded events."""
        return self.profiler.function_events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """The events added up by name; print its ``.table(sort_by="cpu_time_total")``."""
        return self.profiler.key_averages(group_by_input_shape)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events for ``chrome://tracing``."""
        self.profiler.export_chrome_trace(path)
