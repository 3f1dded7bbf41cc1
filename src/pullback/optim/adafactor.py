"""Adafactor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import dtypes, thread_state
from ..core import versions
from ..core.record import wrap
from ..core.tensor import Tensor
from .elementwise_optimizer import blend
from .flat_params import counting, work_type
from .optimizer import Options, ParamsT, Stepper, check_rate, number

__all__ = ["Adafactor"]


class Adafactor(Stepper):
    """Adam's variance from sums over rows and columns: memory of n + m numbers for an n by m matrix.

    With weight decay λ, at step t (Shazeer and Stern 2018, algorithms 4 and 5)::

        ρ = min(lr, 1 / sqrt(t))
        β = 1 - t^beta2_decay
        p -= lr λ p
        r = β r + (1 - β) mean(grad², columns)
        c = β c + (1 - β) mean(grad², rows)
        v = r c / mean(r)                        vectors: v = β v + (1 - β) grad²
        u = grad / sqrt(max(v, eps₁²))
        p -= max(eps₂, rms(p)) ρ * u / max(1, rms(u) / d)

    where rms is the root mean square, and rms(p) is taken before the decay. More than two dimensions are
    matrices in their last two.

    Args:
        params: parameters, named parameters or groups; see :class:`Optimizer`.
        lr: the largest relative step size ρ, a number or a one-element tensor.
        beta2_decay: how β approaches 1.
        eps: (eps₁, eps₂); None for eps₁ is the distance from 1 to the next number of the parameter's type.
        d: the largest root mean square of an update.
        weight_decay: λ.
        foreach: accepted for compatibility: there is one implementation.
        maximize: go up instead of down.

    Raises:
        ValueError: for a value out of range.

    >>> import pullback as torch
    >>> w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> optimizer = torch.optim.Adafactor([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([[0.7879, 1.7000],
            [2.7154, 3.7317]], requires_grad=True)
    >>> list(optimizer.state[w])
    ['step', 'row_var', 'col_var']
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_rate(lr, "Learning rate should be >= 0 but is:")
        if not 0.0 >= beta2_decay:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not 0.0 <= eps[0]:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not 0.0 <= eps[1]:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not 1.0 <= d:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(
            params,
            {
                "lr": lr,
                "beta2_decay": beta2_decay,
                "eps": eps,
                "d": d,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
            },
        )

    def state_shapes(self, p: Tensor, o: Options) -> dict[str, tuple[int, ...]]:
        shape = tuple(p.shape)
        if len(shape) > 1:
            return {"step": (), "row_var": (*shape[:-1], 1), "col_var": (*shape[:-2], 1, shape[-1])}
        return {"step": (), "variance": shape}

    def step_group(self, group: Options) -> None:
        """Update the parameters of a group."""
        trace = thread_state.local.trace
        o = group if trace is None else trace.options(self, group)
        numbers = [number(o["lr"]), *o["eps"], *(o[name] for name in ("beta2_decay", "d", "weight_decay", "maximize"))]
        for param in group["params"]:
            if param._grad is None:
                continue
            if param.is_complex():
                raise RuntimeError("Adafactor does not support complex parameters")
            if param._grad.is_sparse:
                raise RuntimeError("Adafactor does not support sparse gradients")
            shapes, own = self.state_shapes(param, group), self.state[param]
            if not own:
                own |= {name: wrap(np.zeros(shape, param._array.dtype)) for name, shape in shapes.items()}
                own["step"] = wrap(np.array(0.0, counting()))
            written = [param, *(own[name] for name in shapes)]
            if trace is not None:
                trace.guard_state(self, param, own)
                trace.record_update("adafactor", _update, written, param._grad, *numbers)
                continue
            _update(*[t._array for t in written], param._grad._array, *numbers)
            versions.bump_version(param._array)


def _update(p: np.ndarray, step: np.ndarray, *rest: Any) -> None:
    """Update a parameter and its state: the count of steps, and variances of each element, or of rows and of
    columns.
    """
    *variances, g, lr, eps1, eps2, beta2_decay, d, decay, maximize = rest
    step += 1
    t, g = step.item(), g.astype(work_type(p.dtype))
    if maximize:
        g = -g
    least = dtypes.finfo(dtypes.OF_NUMPY[p.dtype]).eps if eps1 is None else eps1
    variance = _variance(variances, g, t**beta2_decay, least)
    update = g / np.sqrt(np.maximum(variance, least * least))
    size = max(eps2, _rms(p)) * min(lr, 1 / t**0.5) / max(1.0, _rms(update) / d)
    if decay != 0:
        p *= 1 - lr * decay
    p -= size * update


def _variance(averages: Sequence[np.ndarray], g: np.ndarray, weight: float, least: float) -> np.ndarray:
    """Move the variances on; returns that of each element."""
    square = g * g
    if len(averages) == 1:
        return _blend(averages[0], square, weight)
    rows = _blend(averages[0], square.mean(-1, keepdims=True), weight)
    columns = _blend(averages[1], square.mean(-2, keepdims=True), weight)
    return rows * columns / np.maximum(rows.mean(-2, keepdims=True), least)


def _blend(average: np.ndarray, x: np.ndarray, weight: float) -> np.ndarray:
    state = {"": average.astype(x.dtype)}
    average[...] = blend(state, "", x, weight)
    return state[""]


def _rms(x: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(x.astype(work_type(x.dtype)))))) if x.size else 0.0
