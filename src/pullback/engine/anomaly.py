"""Finding where a backward goes wrong: anomaly mode, and the first NaN or infinity.

Every exception that a rule raises says as a note which node it came from, and the user's line that made it. Anomaly
mode adds PyTorch's warning, and looks for NaN after each node. :class:`detect_nan` looks after each operation, too.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import thread_state
from ..base.errors import with_notes
from ..core.graph import Node, clock, format_line, parents, source_line, user_frame
from ..core.interpose import Interposer
from . import hooks
from .messages import warn_where

ndarray = np.ndarray


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return thread_state.anomaly > 0


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode, if it is on, looks for NaN."""
    return _state.check_nan


class _State:
    check_nan = True


_state = _State()


def _switch(on: bool, check_nan: bool) -> None:
    if (thread_state.anomaly > 0) is not on:
        thread_state.anomaly = clock() if on else 0  # when it began: what was made before is not in full known
    _state.check_nan = check_nan
    watching = refuse_nan in hooks.observers
    if (on and check_nan) is not watching:
        (hooks.observers.remove if watching else hooks.observers.append)(refuse_nan)


class set_detect_anomaly:
    """Turn anomaly mode on or off: at once when called, undone at the end when used as a context.

    Args:
        mode: on or off.
        check_nan: raise when backward computes a NaN.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.before = is_anomaly_enabled(), _state.check_nan
        _switch(mode, check_nan)

    def __enter__(self) -> None: ...

    def __exit__(self, *exc: object) -> None:
        _switch(*self.before)


class detect_anomaly:
    """Inside, a backward that fails warns with the line of forward that it comes from, and NaN is a failure.

    The exception carries, as notes, the node, that line, and the shapes and first values of what the node was given.

    Args:
        check_nan: whether NaN is a failure.

    >>> import pullback as torch, warnings
    >>> x = torch.tensor([0.0], requires_grad=True)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     with torch.autograd.detect_anomaly():
    ...         try: (x.sqrt() * 0).backward()
    ...         except RuntimeError as error: print(error)
    Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self.before = is_anomaly_enabled(), _state.check_nan
        _switch(True, self.check_nan)

    def __exit__(self, *exc: object) -> None:
        _switch(*self.before)


def refuse_nan(node: Any, grad_outputs: Sequence[Any], grad_inputs: Sequence[Any]) -> None:
    """Look at what a node computed.

    Raises:
        RuntimeError: if there is a NaN.
    """
    for i, g in enumerate(grad_inputs):
        if isinstance(g, ndarray) and g.dtype.kind in "fc" and np.isnan(g).any():
            warn_where(node)
            raise with_notes(
                RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output."),
                f"made at {format_line(node.location)}",
                *[f"in the backward of {n.name()}, made at {format_line(n.location)}" for n in parents(node)],
                *[f"it was given a gradient {described(g)}" for g in grad_outputs if isinstance(g, ndarray)],
                *saved_values(node),
                page="nan-in-backward",
            )


def described(a: ndarray) -> str:
    """Shape and first values of an array."""
    first = ", ".join(str(v) for v in a.reshape(-1)[:4].tolist())
    return f"of shape {list(a.shape)}: {first}{', ...' if a.size > 4 else ''}"


def saved_values(node: Any) -> list[str]:
    """What a node kept for its rule, described."""
    names = node._op.saved_names if node._op is not None else ()
    return [f"it kept {name} {described(v)}" for name, v in zip(names, node._saved) if isinstance(v, ndarray)]


# --- the first NaN ------------------------------------------------------------------------------------------------


class detect_nan(Interposer):
    """Inside, the first NaN or infinity is reported where it appears: in which operation of forward, or node of
    backward.

    "Appears" means that what the operation was given had none. Nothing is run again. The price is that every operation
    takes its slow path and one look at its result: small operations take about three times as long, large ones are read
    once more.

    Args:
        inf: look for infinities, too.
        stop: raise; otherwise go on, and keep the first message in ``first``.

    Raises:
        FloatingPointError: naming the operation, the user's line, and the shapes and first values of its operands.

    >>> import pullback as torch
    >>> x = torch.tensor([0.0, 1.0], requires_grad=True)
    >>> with torch.autograd.detect_nan(stop=False) as found:
    ...     x.sqrt().sum().backward()
    >>> print(found.first.splitlines()[0])
    inf appeared in the backward of SqrtBackward0
    """

    def __init__(self, inf: bool = True, stop: bool = True) -> None:
        self.inf, self.stop, self.first = inf, stop, None

    first: str | None

    def __enter__(self) -> detect_nan:
        super().__enter__()
        hooks.observers.append(self.after_node)
        return self

    def __exit__(self, *exc: object) -> None:
        hooks.observers.remove(self.after_node)
        super().__exit__(*exc)

    def compute(self, op: Any, values: Sequence[Any]) -> Any:
        result = super().compute(op, values)
        what = self.appears(result if isinstance(result, (tuple, list)) else (result,), values)
        if what:
            frame = user_frame(sys._getframe(1))
            where = format_line(None if frame is None else source_line(frame.f_code, frame.f_lasti))
            given = [f"{n} is {described(v)}" for n, v in zip(op.params, values) if isinstance(v, ndarray)]
            self.report(f"{what} appeared in {op.name}", where, given)
        return result

    def after_node(self, node: Node, grad_outputs: Sequence[Any], grad_inputs: Sequence[Any]) -> None:
        what = self.appears(grad_inputs, grad_outputs)
        if what:
            given = [f"its gradient is {described(g)}" for g in grad_outputs if isinstance(g, ndarray)]
            self.report(
                f"{what} appeared in the backward of {node.name()}",
                format_line(node.location),
                given + saved_values(node),
            )

    def appears(self, results: Sequence[Any], given: Sequence[Any]) -> str:
        """``"NaN"`` or ``"inf"`` if the results have it and what was given has not."""
        finite = True
        for r in results:
            if isinstance(r, (ndarray, np.generic)) and r.dtype.kind in "fc" and not np.isfinite(r).all():
                finite = False
        if finite:
            return ""
        numbers = [
            v for v in given if isinstance(v, (ndarray, np.generic)) and v.dtype.kind in "fc" or isinstance(v, float)
        ]
        has_nan, was_nan = (
            any([bool(np.isnan(v).any()) for v in vs if isinstance(v, (ndarray, np.generic, float)) and _floats(v)])
            for vs in (results, numbers)
        )
        if has_nan and not was_nan:
            return "NaN"
        return "inf" if self.inf and not has_nan and not any([not np.isfinite(v).all() for v in numbers]) else ""

    def report(self, what: str, where: str, details: list[str]) -> None:
        if self.first is None:
            self.first = "\n".join([what, f"  at {where}", *[f"  {d}" for d in details]])
        if self.stop:
            raise with_notes(FloatingPointError(what), f"at {where}", *details)


def _floats(v: Any) -> bool:
    return isinstance(v, float) or v.dtype.kind in "fc"
