"""Fused optimizer steps: parameter, gradient and state are read once and written once.

An elementwise optimizer's formula (see :mod:`pullback.optim.elementwise_optimizer`) is traced with scalars, like an
operation's. All its numbers are arguments of the kernel, since schedules and users change them from step to step; only
decisions (bools, and whether a term is there) are built in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .codegen.elementwise import Signature, kernel
from .codegen.kernel_builder import TYPES
from .codegen.scalar import Scalar

_kernels: dict[Any, Any] = {}


def _made(
    key: Any,
    d: np.dtype,
    arrays: int,
    numbers: int,
    formula: Callable[[list[Any], list[Any]], Any],
) -> Any:
    """The kernel of a formula of so many arrays and numbers, or False if it can't be traced; kept under the key."""
    made = _kernels.get((key, d, arrays))
    if made is None:
        type, made = TYPES[d], False
        arguments = [Scalar.argument(i, type) for i in range(arrays + numbers)]
        try:
            results = formula(arguments[:arrays], arguments[arrays:])
        except Exception:  # anything that a formula may raise for an argument that it does not know
            results = [None]
        if all(isinstance(r, Scalar) and r.type == type for r in results):
            signature = Signature((type,) * arrays + (None,) * numbers, (type,) * len(results))
            made = kernel("optimize", results, signature, type)
        _kernels[key, d, arrays] = made
    return made


def _fit(arrays: Sequence[np.ndarray]) -> bool:
    d, n = arrays[0].dtype, arrays[0].size
    if d not in TYPES:
        return False
    for a in arrays:
        if a.size != n or not a.flags.c_contiguous or a.dtype != d:
            return False
    return True


def step(
    optimizer: Any,
    names: Sequence[str],
    jobs: Iterable[Sequence[np.ndarray]],
    maximize: bool,
    coefficients: tuple[Any, ...],
    decay: float | None,
    shrink: float | None,
) -> bool | None:
    """Update parameters; None if some array does not suit, or the formula can't be traced.

    Args:
        names: of what the optimizer keeps.
        jobs: of each parameter its array, that of its gradient, and what is kept.
    """
    jobs = list(jobs)
    if not all(map(_fit, jobs)):
        return None
    given = (*coefficients, decay, shrink)
    decisions = tuple([c if c is None or c is True or c is False else "number" for c in given])
    numbers = [float(c) for c, decision in zip(given, decisions) if decision == "number"]

    def formula(arrays: list[Any], numbers: list[Any]) -> Any:
        p, g, *memory = arrays
        values, rest = dict(zip(names, memory)), iter(numbers)
        *known, decay, shrink = [next(rest) if decision == "number" else decision for decision in decisions]
        update = optimizer._change(maximize, decay, tuple(known), g, values, lambda: p)
        return [(p if shrink is None else p * shrink) - update, *[values[name] for name in names]]

    key = type(optimizer), tuple(names), bool(maximize), decisions
    # parameters of a pack are of one type
    call = _made(key, jobs[0][0].dtype, len(jobs[0]), len(numbers), formula)
    if call is False:
        return None
    for job in jobs:
        call(job[0].size, *job, *numbers, job[0], *job[2:])
    return True


def sgd(p: np.ndarray, g: np.ndarray, buffer: np.ndarray | None, lr: float, options: dict[str, Any]) -> bool | None:
    """One parameter's update by :class:`pullback.optim.SGD`; None if some array does not suit."""
    arrays = (p, g) if buffer is None else (p, g, buffer)
    if not _fit(arrays):
        return None
    decay, momentum, new = float(options["weight_decay"]), float(options["momentum"]), 1 - options["dampening"]
    maximize, nesterov = options["maximize"], options["nesterov"]

    def formula(arrays: list[Any], given: list[Any]) -> Any:
        (p, g, *buffer), (lr, decay_, momentum_, new_) = arrays, given
        g = -g if maximize else g
        g = g + decay_ * p if decay else g
        if not buffer:
            return [p - g * lr]
        b = buffer[0] * momentum_ + (g if new == 1 else new_ * g)
        return [p - (g + momentum_ * b if nesterov else b) * lr, b]

    numbers = [lr, decay, momentum, float(new)]
    call = _made(("sgd", bool(decay), maximize, nesterov, new == 1), p.dtype, len(arrays), len(numbers), formula)
    if call is False:
        return None
    call(p.size, *arrays, *numbers, *(arrays[:1] + arrays[2:]))
    return True
