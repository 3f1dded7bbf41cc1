"""Fused optimizer steps: parameter, gradient and state are read once and written once.

An elementwise optimizer's formula (see :mod:`pullback.optim.elementwise_optimizer`) is traced with scalars, like an
operation's. Options are constants in the kernel, but not the learning rate and what else changes from step to step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .codegen.elementwise import Signature, kernel
from .codegen.kernel_builder import TYPES
from .codegen.scalar import Scalar

_kernels: dict[Any, Any] = {}
MOST = 256  # kernels kept: options that change all the time make new ones


def _made(
    key: Any,
    d: np.dtype,
    arrays: int,
    numbers: Sequence[float],
    formulas: Sequence[Callable[[list[Any], list[Any]], Any]],
) -> Any:
    """The kernel of the first formula that can be traced, or False; it is kept under the key."""
    made = _kernels.get((key, d, arrays))
    if made is None:
        if len(_kernels) >= MOST:
            _kernels.clear()
        type, made = TYPES[d], False
        arguments = [Scalar.argument(i, type) for i in range(arrays + len(numbers))]
        for formula in formulas:
            try:
                results = formula(arguments[:arrays], arguments[arrays:])
            except Exception:  # anything that a formula may raise for an argument that it does not know
                continue
            if all(isinstance(r, Scalar) and r.type == type for r in results):
                signature = Signature((type,) * arrays + (None,) * len(numbers), (type,) * len(results))
                made = kernel("optimize", results, signature, type)
                break
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
    options: dict[str, Any],
    coefficients: tuple[Any, ...],
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
    fixed = {k: v for k, v in options.items() if k not in ("lr", "params")}
    known = {
        v for value in fixed.values() for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, float)
    }
    numbers = [float(c) for c in coefficients] + [1.0 if shrink is None else shrink]

    def formula(fixing: bool) -> Callable[[list[Any], list[Any]], Any]:
        def compute(arrays: list[Any], given: list[Any]) -> Any:
            p, g, *memory = arrays
            values = dict(zip(names, memory))
            some = [c if fixing and c in known else s for c, s in zip(coefficients, given)]
            update = optimizer._change(options, tuple(some), g, values, lambda: p)
            return [(p if shrink is None else p * given[-1]) - update, *[values[name] for name in names]]

        return compute

    key = (type(optimizer), shrink is None, tuple(names), tuple(sorted((k, repr(v)) for k, v in fixed.items())))
    # parameters of a pack are of one type
    call = _made(key, jobs[0][0].dtype, len(jobs[0]), numbers, [formula(False), formula(True)])
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
    call = _made(("sgd", bool(decay), maximize, nesterov, new == 1), p.dtype, len(arrays), numbers, [formula])
    if call is False:
        return None
    call(p.size, *arrays, *numbers, *(arrays[:1] + arrays[2:]))
    return True
