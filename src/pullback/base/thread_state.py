"""Thread-local state, and the grad modes: ``no_grad``, ``enable_grad``, ``set_grad_enabled``, ``inference_mode``.

Process-wide counters (``no_grad_threads``, ``slow_path_reasons``) are the guards of fast paths: while they are 0, every
thread is in the default mode, and the thread-local state need not be read.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any, Self, TypeVar, overload

from . import forks
from .holding import holding

F = TypeVar("F", bound=Callable[..., Any])

# one entry for each thread whose recording is off (list.append and pop are atomic)
no_grad_threads: list[None] = []
slow_path_reasons = 0  # reasons to take the slow path in every op
function_modes = 0  # those of them that may replace the whole call (function modes, autocasting)
overridden = False  # whether some class overrides operations (``__torch_function__``)
zero_times_inf = 0  # threads in which 0 * inf in backward is 0
anomaly = 0  # the sequence number at which anomaly mode began; 0 while it is off
as_torch = False  # whether `import torch` imports Pullback in this process
inference_used = False  # whether inference mode was ever on
# whether one thread at a time runs Python; once that is so, it stays so
global_lock: bool = getattr(sys, "_is_gil_enabled", lambda: True)()
inference_mark: Any = None  # the mark of tensors made in inference mode, see :mod:`pullback.core.versions`
_lock = forks.lock(forks.Order.STATE)


class _PerThread(threading.local):
    grad = True
    times_off = 0  # how often recording was turned off
    inference = False
    tangents = True  # whether forward mode computes them
    tangents_since = 0  # in which levels it does: those that began since this time on the clock of the graph
    zeros_win = False  # whether 0 * inf in backward is 0
    graph_task: Any = None  # the backward that is running, see :mod:`pullback.engine.graph_task`
    nested = 0  # depth of backward calls inside of backward
    layers: tuple[Any, ...] = ()  # see :mod:`pullback.core.interpose`
    packing: tuple[Any, ...] = ()  # saved_tensors_hooks, see :mod:`pullback.engine.saved_tensors`
    packed_inputs: tuple[Any, Any] = (None, {})  # of the current operation
    packing_refused: str | None = None
    made: Any = None  # the mark of tensors made now: by inference mode, or a custom Function's forward
    multithreading = True
    overrides = True
    ruling = False  # whether a rule computes with level values
    transforms = 0  # the number of running transforms of ``torch.func``
    ends: tuple[Any, ...] = ()  # for each of these transforms the placeholder leaf of what is outside of it
    batches: tuple[Any, ...] = ()  # the levels of ``vmap`` that are entered, the innermost last
    devices: tuple[Any, ...] = (None,)  # default devices of new tensors, the innermost last: None is the CPU
    recorded_backwards = 0  # how many backward passes were recorded
    module_runner: Any = None  # what calls of modules go to, see :mod:`pullback.compiler.nested`
    trace: Any = None  # the tracer that records every operation of this thread, see :mod:`pullback.compiler`

    def __init__(self) -> None:
        # the inputs of running transforms, as weak references, the oldest first
        self.arguments: list[Any] = []


local = _PerThread()


def _forget_other_threads() -> None:
    no_grad_threads[:] = () if local.grad else (None,)


forks.in_child(_forget_other_threads)


def add_slow_path_reason(change: int, intercepts: bool = False) -> None:
    """Add ``change`` (1 or -1) to the count of reasons to take the slow path."""
    holding(_lock, _add, change, change if intercepts else 0, 0)


def _add(reasons: int, modes: int, zeros: int) -> None:
    global slow_path_reasons, function_modes, zero_times_inf
    slow_path_reasons += reasons
    function_modes += modes
    zero_times_inf += zeros


def set_default_devices(devices: tuple[Any, ...]) -> None:
    """Make the last of these the default device of this thread's new tensors; other devices than the CPU are a reason
    for the slow path.
    """
    before, after = ([d for d in stack if d is not None and d.type != "cpu"] for stack in (local.devices, devices))
    add_slow_path_reason(len(after) - len(before))
    local.devices = devices


def is_grad_enabled() -> bool:
    """Whether operations are being recorded in this thread."""
    return local.grad


def is_marking_tensors() -> bool:
    """Whether tensors made now get a mark, which fast paths that make tensors must not skip."""
    return bool(no_grad_threads) and local.made is not None


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside :class:`inference_mode`."""
    return local.inference


def set_grad(value: bool) -> None:
    """Turn recording on or off in this thread.

    In an order in which an interruption leaves at most an entry too many, which costs speed only.
    """
    if value and not local.grad:
        local.grad = True
        no_grad_threads.pop()
    elif local.grad and not value:
        no_grad_threads.append(None)
        local.times_off += 1
        local.grad = False


def set_inference(value: bool) -> None:
    """Let tensors made from now on in this thread be marked as those of inference mode, or not."""
    local.inference, local.made = value, inference_mark if value else None


class Mode:
    """A context manager that is also a decorator, for functions, generators and coroutines."""

    def __enter__(self) -> None: ...

    def __exit__(self, *exc: object) -> None: ...

    def clone(self) -> Mode:
        return self.__class__()

    def __call__(self, fn: F) -> F:
        if inspect.isclass(fn):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                "functions or methods. To preserve the current behavior of class decoration, you can directly "
                "decorate the `__init__` method and nothing else.",
                FutureWarning,
                stacklevel=2,
            )
        if inspect.isgeneratorfunction(fn):
            return _generator(self, fn)  # type: ignore[return-value]

        @functools.wraps(fn)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return fn(*args, **kwargs)

        return decorated  # type: ignore[return-value]


def _generator(mode: Mode, fn: Callable[..., Any]) -> Callable[..., Any]:
    """The mode applies while the generator runs; at each yield the caller's mode is restored."""

    @functools.wraps(fn)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        gen = fn(*args, **kwargs)
        step, payload = gen.send, None
        while True:
            try:
                with mode.clone():
                    value = step(payload)
            except StopIteration as stop:
                return stop.value
            try:
                payload, step = (yield value), gen.send
            except GeneratorExit:
                with mode.clone():
                    gen.close()
                raise
            except BaseException as error:
                payload, step = error, gen.throw

    return decorated


class no_grad(Mode):
    """Do not record: results do not require grad. Also a decorator.

    >>> import pullback as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad(): (x * 2).requires_grad
    False
    """

    @overload
    def __new__(cls, fn: None = None) -> Self: ...
    @overload
    def __new__(cls, fn: F) -> F: ...  # type: ignore[misc]
    def __new__(cls, fn: Any = None) -> Any:
        self = object.__new__(cls)
        return self if fn is None else self(fn)  # `@no_grad` without parentheses

    def __enter__(self) -> None:
        self.before = local.grad
        set_grad(False)

    def __exit__(self, *exc: object) -> None:
        set_grad(self.before)


class enable_grad(no_grad):
    """Record, also inside :class:`no_grad`; inside :class:`inference_mode` nothing is recorded all the same."""

    def __enter__(self) -> None:
        self.before = local.grad
        set_grad(not local.inference)


class set_grad_enabled(Mode):
    """Turn recording on or off: at once when called, restored at the end when used as a context manager."""

    def __init__(self, mode: bool) -> None:
        self.before, self.mode = local.grad, mode
        set_grad(mode and not local.inference)

    def __call__(self, fn: F) -> F:
        set_grad(self.before)
        return super().__call__(fn)

    def __enter__(self) -> None:
        set_grad(self.mode and not local.inference)

    def __exit__(self, *exc: object) -> None:
        set_grad(self.before)

    def clone(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)


class inference_mode(Mode):
    """Like :class:`no_grad`, for code whose results are never used in autograd.

    >>> import pullback as torch
    >>> with torch.inference_mode(): torch.is_inference_mode_enabled()
    True
    """

    mode: bool

    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    @overload
    def __new__(cls, mode: F) -> F: ...  # type: ignore[misc]
    def __new__(cls, mode: Any = True) -> Any:
        self = object.__new__(cls)
        if isinstance(mode, bool):
            self.mode = mode
            return self
        self.mode = True
        return self(mode)

    def __enter__(self) -> None:
        global inference_used
        inference_used = True
        self.before = local.grad, local.inference, local.tangents
        set_inference(self.mode)
        local.tangents = not self.mode
        set_grad(not self.mode)

    def __exit__(self, *exc: object) -> None:
        grad, inference, local.tangents = self.before
        set_inference(inference)
        set_grad(grad)

    def clone(self) -> inference_mode:
        return inference_mode(self.mode)


class zero_times_inf_is_zero(Mode):
    """Inside, an elementwise operation whose incoming gradient is 0 passes on 0 in backward, even where its derivative
    is infinite.

    By IEEE arithmetic that would be NaN, which is PyTorch's result and the default here. A typical case is the branch
    that ``where`` did not select.

    >>> import pullback as torch
    >>> x = torch.tensor([0.0, 4.0], requires_grad=True)
    >>> y = torch.where(x > 0, x.sqrt(), 0)
    >>> with torch.autograd.zero_times_inf_is_zero(): y.sum().backward()
    >>> x.grad
    tensor([0.0000, 0.2500])
    """

    def __enter__(self) -> None:
        self.before, local.zeros_win = local.zeros_win, True
        holding(_lock, _add, 0, 0, 1)

    def __exit__(self, *exc: object) -> None:
        local.zeros_win = self.before
        holding(_lock, _add, 0, 0, -1)


def is_multithreading_enabled() -> bool:
    """The value set by :class:`set_multithreading_enabled`; it has no effect."""
    return local.multithreading


class set_multithreading_enabled(Mode):
    """Accepted for compatibility: the engine runs in the calling thread in any case."""

    def __init__(self, mode: bool) -> None:
        self.before, self.mode = local.multithreading, mode
        local.multithreading = mode

    def __exit__(self, *exc: object) -> None:
        local.multithreading = self.before

    def clone(self) -> set_multithreading_enabled:
        return set_multithreading_enabled(self.mode)
