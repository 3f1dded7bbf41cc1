"""``torch.utils.checkpoint``: activation checkpointing, recomputing forward values in backward instead of saving them.

A checkpointed call saves nothing but its inputs. Where an operation inside would save a value, its node gets a
:class:`Place` instead: the number of that value, counted in the order of saving. When backward asks the first place
for its value, the call runs once more, hooks collect what it saves, in the same order, and it stops as soon as the last
place is served. Calls nest: the inputs of an inner call are saved like everything else of the outer one.

The older re-entrant variant runs the call without recording, and in backward once more with.
"""

from __future__ import annotations

import functools
import itertools
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from ..autograd import Function, backward
from ..base import thread_state
from ..core.graph import user_frame
from ..core.interpose import Interposer
from ..core.record import wrap
from ..core.tensor import Tensor
from ..engine.current_task import current_task
from ..engine.saved_tensors import saved_tensors_hooks
from ..ops.random import fork_rng, get_rng_state, set_rng_state
from .selective_checkpoint import CheckpointPolicy, SelectiveCheckpointContext, create_selective_checkpoint_contexts
from .selective_checkpoint import _CachedTorchDispatchMode as _CachedTorchDispatchMode
from .selective_checkpoint import _CachingTorchDispatchMode as _CachingTorchDispatchMode

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]


class CheckpointError(RuntimeError):
    """A checkpointed function did not do in backward what it had done in forward."""


class _Settings(threading.local):
    early_stop: bool | None = None  # what contexts say, against the arguments of `checkpoint`
    debug: bool | None = None
    group: Any = None


_settings = _Settings()
NOT_PASSED: Any = object()
TIP = (
    "Tip: To see a more detailed error message, either pass `debug=True` to\n`torch.utils.checkpoint.checkpoint(...)` "
    "or wrap the code block\n"
    "with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to\nenable checkpoint-debug mode globally."
)


@contextmanager
def _setting(name: str, value: Any) -> Iterator[None]:
    before = getattr(_settings, name)
    setattr(_settings, name, value)
    try:
        yield
    finally:
        setattr(_settings, name, before)


def set_checkpoint_early_stop(enable: bool) -> Any:
    """A context: whether checkpoints made inside stop as soon as everything asked for is computed again.

    It goes before the argument of :func:`checkpoint`; of nested ones the innermost counts.
    """
    return _setting("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> Any:
    """A context: whether errors of checkpoints made inside list the operations that ran; None leaves it to the
    argument.
    """
    return _setting("debug", enabled)


class GraphExecGroup:
    """A context in which several backwards that do not overlap share what is computed again."""

    def __enter__(self) -> GraphExecGroup:
        if _settings.group is not None:
            raise RuntimeError("GraphExecGroup contexts cannot be nested.")
        _settings.group = self
        return self

    def __exit__(self, *exc: object) -> None:
        _settings.group = None


def noop_context_fn() -> tuple[Any, Any]:
    """No contexts: the default of ``context_fn``."""
    return nullcontext(), nullcontext()


class DefaultDeviceType:
    """Accepted for compatibility: everything is on the CPU."""

    _type = "cpu"

    @classmethod
    def set_device_type(cls, device: str = "cuda") -> None:
        cls._type = device

    @classmethod
    def get_device_type(cls) -> str:
        return cls._type


# --- keeping places ---------------------------------------------------------------------------------------------


class Place:
    """Stands in a node for the value of that number."""

    __slots__ = ("number", "__weakref__")

    def __init__(self, number: int) -> None:
        self.number = number


class StopRecomputation(Exception):
    """Everything that somebody waits for is there."""


class Region:
    """One checkpointed call.

    Attributes:
        places: the places given out, in order (weak: those whose nodes are gone need no value).
        metadata: shape and type of each value.
        values: for each backward that runs, what was computed again and not yet fetched, by number.
        counts: how many values each of them has seen saved.
    """

    def __init__(self, again: Callable[..., None], early_stop: bool, check: bool, log: Log | None) -> None:
        self.again, self.early_stop, self.check, self.log = again, early_stop, check, log
        self.places: list[weakref.ref[Place]] = []
        self.metadata: list[dict[str, Any]] = []
        self.values: weakref.WeakKeyDictionary[Any, dict[int, Tensor]] = weakref.WeakKeyDictionary()
        self.counts: dict[int, int] = {}
        self.complete = False  # forward has returned
        self.lenient = False  # backward ran inside of the call, so that the counts need not agree
        self.inputs: Any = None

    # Forward.

    def pack(self, x: Tensor) -> Place:
        place = Place(len(self.places))
        self.places.append(weakref.ref(place))
        self.metadata.append(_metadata(x))
        return place

    def unpack(self, place: Place) -> Tensor:
        who = _settings.group or _current_backward()
        try:
            if who not in self.values:
                self.compute_again(who)
            values = self.values[who]
            if place.number not in values:
                extra = (
                    (
                        "Performing two backward calls that overlap (i.e. require the same saved activation in order "
                        "to compute gradients) is "
                        "not allowed while under the torch.utils.checkpoint.GraphExecGroup context. "
                    )
                    if _settings.group
                    else ""
                )
                raise CheckpointError(
                    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. "
                    f"{extra}If you are calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise "
                    "please open an issue with details on your use case."
                )
            return values.pop(place.number)
        except CheckpointError as error:
            if self.log is not None:
                raise self.log.explained() from error
            raise

    # Recomputation.

    def compute_again(self, who: Any) -> None:
        """Run the call once more and collect what it saves."""
        args = self.inputs.args_of(self.inputs.saved_tensors)
        values: dict[int, Tensor] = {}
        self.values[who] = values
        count = itertools.count()

        def pack(x: Tensor) -> Tensor:
            kept = x.detach() if x.requires_grad else x
            number = next(count)
            if number >= len(self.places):
                if not self.complete:
                    self.lenient = True
                    return kept
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                    f"forward pass.\n{TIP}"
                )
            if self.places[number]() is not None:
                values[number] = kept
            if self.early_stop and number + 1 == len(self.places):
                raise StopRecomputation
            return kept

        try:
            with saved_tensors_hooks(pack, lambda x: x), thread_state.enable_grad():
                self.again(*args)
        except StopRecomputation:
            pass
        self.compare(next(count), values)

    def compare(self, seen: int, values: dict[int, Tensor]) -> None:
        """Refuse a call that did something else this time.

        Raises:
            CheckpointError: saying what differs.
        """
        if self.lenient:
            return
        if seen != len(self.places):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.places)}\n"
                f"Number of tensors saved during recomputation: {seen}.\n{TIP}"
            )
        differ = [
            f"tensor at position {i}:\nsaved metadata: {self.metadata[i]}\nrecomputed metadata: {_metadata(x)}"
            for i, x in values.items()
            if self.check and _metadata(x) != self.metadata[i]
        ]
        if differ:
            listed = "\n".join(differ)
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                "during "
                f"the forward pass.\n{listed}.\n{TIP}"
            )


def _metadata(x: Tensor) -> dict[str, Any]:
    return {"shape": x.shape, "dtype": x.dtype, "device": x.device}


class _Backward:
    """Identifies a backward that runs; values computed again for it live as long as it."""


def _current_backward() -> Any:
    task = current_task()
    if task is None:
        return _Backward()
    if task.checkpoint is None:
        task.checkpoint = _Backward()
    return task.checkpoint


class _SaveInputs(Function):
    """Saves the inputs of a call, under whatever hooks are on around it."""

    @staticmethod
    def forward(ctx: Any, dummy: Tensor, *args: Any) -> Tensor:
        tensors = [a for a in args if isinstance(a, Tensor)]
        others = [None if isinstance(a, Tensor) else a for a in args]
        at = [i for i, a in enumerate(args) if isinstance(a, Tensor)]

        def args_of(saved: Sequence[Tensor]) -> list[Any]:
            filled = list(others)
            for i, t in zip(at, saved):
                filled[i] = t
            return filled

        ctx.args_of = args_of
        ctx.save_for_backward(*tensors)
        return wrap(np.zeros(0, np.float32))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise AssertionError("Did not expect to backward on this graph")


class Log(Interposer):
    """Notes the operations of a call, and of its repetition, with the user's lines."""

    def __init__(self) -> None:
        self.runs: list[list[str]] = []

    @contextmanager
    def one_run(self) -> Iterator[None]:
        self.runs.append([])
        with self:
            yield

    def compute(self, op: Any, values: Sequence[Any]) -> Any:
        frame = user_frame(sys._getframe(1))
        where = "" if frame is None else f"  at {frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"
        shapes = ", ".join(f"{v.dtype}{list(v.shape)}" for v in values if isinstance(v, np.ndarray))
        self.runs[-1].append(f"{op.name}({shapes}){where}")
        return super().compute(op, values)

    def explained(self) -> CheckpointError:
        first, again = (self.runs + [[], []])[:2]
        return CheckpointError(
            "An error happened while unpacking tensors; the operations of both runs follow.\n\n"
            "Operations executed during the original forward:\n\n" + "\n".join(first) + "\n\n"
            "Operations executed during recomputation:\n\n" + "\n".join(again) + "\n\n"
            "ERROR: Detected non-determinism while running activation checkpointing\n\n"
            "You are seeing this error because you passed `debug=True` to checkpoint and tensors to be saved during "
            "the original forward differ from those saved during recomputation. Compare the two lists."
        )


# --- the public functions ---------------------------------------------------------------------------------------


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)``, whose intermediate values are not kept but computed again in backward.

    Args:
        use_reentrant: say False, the variant that works with everything. With True, the older one, only
            ``.backward()`` without ``inputs`` works, and some tensor argument has to require grad.
        context_fn: returns two contexts, around the first and around the repeated call
            (see :func:`create_selective_checkpoint_contexts`).
        determinism_check: ``"none"`` does not compare shapes and types of both calls.
        debug: list the operations of both calls when they differ.
        early_stop: stop the repeated call once everything needed is there.
        preserve_rng_state: True by default: the repeated call draws the same random numbers.

    Raises:
        CheckpointError: in backward, if the repeated call does something else.

    >>> import pullback as torch
    >>> from pullback.utils.checkpoint import checkpoint
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> checkpoint(lambda x: (x.exp() * x).sum(), x, use_reentrant=False).backward(); x.grad
    tensor([ 5.4366, 22.1672])
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch "
            "2.9, calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is "
            "recommended, but if you need to preserve the current default behavior, you can pass use_reentrant=True. "
            "Refer to docs for more details on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    debug = debug if _settings.debug is None else _settings.debug
    early_stop = early_stop if _settings.early_stop is None else _settings.early_stop
    first_context, second_context = context_fn()
    if not thread_state.is_grad_enabled():
        return function(*args, **kwargs)
    state = get_rng_state() if preserve else None
    casting = _autocast_now()
    log = Log() if debug else None

    def again(*inputs: Any) -> None:
        with fork_rng(enabled=preserve):
            if state is not None:
                set_rng_state(state)
            with nullcontext() if log is None else log.one_run(), casting(), second_context:
                function(*inputs, **kwargs)

    region = Region(again, early_stop, determinism_check == "default", log)
    dummy = wrap(np.zeros(0, np.float32))
    dummy.requires_grad = True
    region.inputs = _SaveInputs.apply(dummy, *args).grad_fn
    with (
        saved_tensors_hooks(region.pack, region.unpack),
        nullcontext() if log is None else log.one_run(),
        first_context,
    ):
        result = function(*args, **kwargs)
    region.complete = True
    return result


def _autocast_now() -> Callable[[], Any]:
    """Makes contexts in which autocast is as it is now; of none if nobody uses it."""
    amp = sys.modules.get("pullback.amp.autocast_mode")
    if amp is None:
        return nullcontext
    return functools.partial(
        amp.autocast, "cpu", dtype=amp.get_autocast_dtype("cpu"), enabled=amp.is_autocast_enabled("cpu")
    )


class CheckpointFunction(Function):
    """The re-entrant variant of :func:`checkpoint`."""

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], preserve: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.function, ctx.preserve = function, preserve
        ctx.state = get_rng_state() if preserve else None
        ctx.casting = _autocast_now()
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.at = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*[a for a in args if isinstance(a, Tensor)])
        with thread_state.no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        task = current_task()
        if task is not None and task.wanted is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.others)
        for i, t in zip(ctx.at, ctx.saved_tensors):
            inputs[i] = t
        detached = detach_variable(tuple(inputs))
        with fork_rng(enabled=ctx.preserve):
            if ctx.preserve:
                set_rng_state(ctx.state)
            with thread_state.enable_grad(), ctx.casting():
                outputs = ctx.function(*detached)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [(o, g) for o, g in zip(outputs, grads) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *[x.grad if isinstance(x, Tensor) else None for x in detached])


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, tensors among them without history, as leaves that require grad if they did."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple([a.detach().requires_grad_(a.requires_grad) if isinstance(a, Tensor) else a for a in inputs])


def check_backward_validity(inputs: Sequence[Any]) -> None:
    """Warn if no argument requires grad."""
    if not any([a.requires_grad for a in inputs if isinstance(a, Tensor)]):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """A sequence of functions, checkpointed in ``segments`` pieces; the last piece runs as usual.

    Args:
        functions: a :class:`~pullback.nn.Sequential`, or a list of functions or modules.

    >>> import pullback as torch
    >>> from pullback.utils.checkpoint import checkpoint_sequential
    >>> x = torch.ones(1, requires_grad=True)
    >>> checkpoint_sequential([torch.exp, torch.sin, torch.cos], 2, x, use_reentrant=False).backward(); x.grad
    tensor([0.9897])
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. "
            "In version 2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is "
            "recommended, but if you need to preserve the current default behavior, you can pass use_reentrant=True. "
            "Refer to docs for more details on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def piece(start: int, stop: int) -> Callable[[Any], Any]:
        def run(x: Any) -> Any:
            for f in functions[start:stop]:
                x = f(x)
            return x

        return run

    size = len(functions) // segments
    for k in range(segments - 1):
        input = checkpoint(
            piece(k * size, (k + 1) * size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve
        )
    return piece((segments - 1) * size, len(functions))(input)
