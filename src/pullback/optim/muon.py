"""Muon."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base import dtypes, thread_state
from ..core import versions
from ..core.record import wrap
from ..core.tensor import Tensor
from .elementwise_optimizer import blend
from .flat_params import work_type
from .optimizer import Options, ParamsT, Stepper, check_rate, number

__all__ = ["Muon"]


class Muon(Stepper):
    """Momentum whose matrix is made nearly orthogonal before each step; for the matrices of hidden layers.

    With momentum μ and weight decay λ, per step (Jordan et al. 2024)::

        b = μ b + (1 - μ) grad
        u = μ b + (1 - μ) grad if nesterov else b
        p -= lr λ p + lr * scale(p.shape) * orthogonal(u)

    ``orthogonal`` replaces the singular values of a matrix by numbers near 1: it divides by the Frobenius norm
    and iterates ``X = a X + (b X Xᵀ + c (X Xᵀ)²) X``, in bfloat16.

    Args:
        params: parameters with two dimensions, named parameters or groups; see :class:`Optimizer`.
        lr: the learning rate, a number or a one-element tensor.
        weight_decay, momentum: λ and μ.
        nesterov: look ahead by one momentum step.
        ns_coefficients: a, b and c.
        eps: the least norm to divide by.
        ns_steps: the number of iterations, less than 100.
        adjust_lr_fn: scale of the steps of an m by n matrix: ``"original"`` (or None), sqrt(max(1, m / n)), or
            ``"match_rms_adamw"``, 0.2 sqrt(max(m, n)), which makes steps as large as those of AdamW.

    Raises:
        ValueError: for a value out of range, or a parameter that is no matrix.

    >>> import pullback as torch
    >>> w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> optimizer = torch.optim.Muon([w], lr=0.1, weight_decay=0.0)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([[1.0684, 1.9184],
            [2.9266, 3.9753]], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_rate(lr, "Learning rate should be >= 0 but is:")
        if not 0.0 <= momentum:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(
            params,
            {
                "lr": lr,
                "weight_decay": weight_decay,
                "momentum": momentum,
                "nesterov": nesterov,
                "ns_coefficients": ns_coefficients,
                "eps": eps,
                "ns_steps": ns_steps,
                "adjust_lr_fn": adjust_lr_fn,
            },
        )
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}"
                    )

    def state_shapes(self, p: Tensor, o: Options) -> dict[str, tuple[int, ...]]:
        return {"momentum_buffer": p.shape}

    def step_group(self, group: Options) -> None:
        """Update the parameters of a group."""
        trace = thread_state.local.trace
        o = group if trace is None else trace.options(self, group)
        options = ("weight_decay", "momentum", "nesterov", "ns_coefficients", "ns_steps", "eps", "adjust_lr_fn")
        numbers = [number(o["lr"]), *(o[name] for name in options)]
        for param in group["params"]:
            if param._grad is None:
                continue
            if param.is_complex():
                raise RuntimeError("Muon does not support complex parameters")
            if param._grad.is_sparse:
                raise RuntimeError("Muon does not support sparse gradients")
            own = self.state[param]
            if "momentum_buffer" not in own:
                own["momentum_buffer"] = wrap(np.zeros(param._array.shape, param._array.dtype))
            if trace is not None:
                trace.guard_state(self, param, ["momentum_buffer"])
                trace.record_update("muon", _update, [param, own["momentum_buffer"]], param._grad, *numbers)
                continue
            _update(param._array, own["momentum_buffer"]._array, param._grad._array, *numbers)
            versions.bump_version(param._array)


def _update(
    p: np.ndarray,
    buffer: np.ndarray,
    g: np.ndarray,
    lr: float,
    decay: float,
    momentum: float,
    nesterov: bool,
    coefficients: tuple[float, float, float],
    steps: float,
    eps: float,
    adjust: str | None,
) -> None:
    """Update a parameter and its momentum."""
    work = work_type(p.dtype)
    state, g = {"b": buffer.astype(work)}, g.astype(work)
    update = blend(state, "b", g, 1 - momentum)
    buffer[...] = update
    if nesterov:
        update = blend({"g": g}, "g", update, momentum)
    update = orthogonal(update, coefficients, int(steps), eps)
    p *= 1 - lr * decay
    p -= lr * _scale(p.shape, adjust) * update.astype(work)


def orthogonal(matrix: np.ndarray, coefficients: tuple[float, float, float], steps: int, eps: float) -> np.ndarray:
    """The matrix with its singular values replaced by some near 1, to the precision of bfloat16."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    if matrix.shape[0] > matrix.shape[1]:
        return orthogonal(matrix.T, coefficients, steps, eps).T
    # Sums are formed in double precision, and so rounded once, as by a fused multiply-add.
    a, b, c = np.array(coefficients, np.float32).astype(np.float64)
    x = _rounded(matrix)
    norm = _rounded(np.sqrt(np.sum(np.square(x, dtype=np.float64))))
    x = _rounded(x / np.maximum(norm, _rounded(np.float64(eps))))
    for _ in range(steps):
        gram = _rounded(x @ x.T)
        gram = _rounded(b * gram + c * (gram @ gram))
        x = _rounded(a * x + gram @ x)
    return x


def _rounded(x: Any) -> Any:
    """Numbers of bfloat16, in float32."""
    return x.astype(np.float32, copy=False).astype(dtypes.as_dtype(dtypes.bfloat16).numpy).astype(np.float32)


def _scale(shape: tuple[int, ...], how: str | None) -> float:
    rows, columns = shape
    if how == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))
