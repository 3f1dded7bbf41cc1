"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.modes import enable_grad, set_grad_enabled
from ..op import wrap
from ..storage import written
from ..tensor import Tensor
from .optimizer import Optimizer, ParamsT, check_switches, number

__all__ = ["SGD"]


class SGD(Optimizer):
    """Gradient descent: ``p -= lr * g``, where g may be smoothed by momentum.

    With momentum μ, dampening τ and weight decay λ, per step::

        g = grad + λ p
        b = g                       at the first step, afterwards
        b = μ b + (1 - τ) g
        p -= lr * (g + μ b if nesterov else b)

    (Sutskever et al. 2013, with the learning rate outside the velocity, as in PyTorch.)

    Args:
        params: parameters, named parameters or groups; see :class:`Optimizer`.
        lr: the learning rate, a number or a one-element tensor.
        momentum, dampening, weight_decay: μ, τ and λ.
        nesterov: look ahead by one momentum step; needs momentum, and no dampening.
        maximize: go up instead of down.
        foreach, fused: accepted for compatibility: there is one implementation.
        differentiable: record the step, for gradients through it; parameters must not be leaves then.

    Raises:
        ValueError: for a value out of range.

    >>> import pullback as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if number(lr) < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if number(weight_decay) < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_switches(fused, foreach, differentiable)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name in ("nesterov", "maximize", "differentiable", "fused"):
                group.setdefault(name, False)
            group.setdefault("foreach", None)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step; see :meth:`Optimizer.step`."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            if group["differentiable"]:
                self._record(group)
            else:
                self._update(group)
        return loss

    def _update(self, group: dict[str, Any]) -> None:
        lr = number(group["lr"])
        plain = not (group["momentum"] or group["weight_decay"] or group["maximize"])
        sub, mul, dtype = np.subtract, np.multiply, None
        touched = []
        for param in group["params"]:
            grad = param._grad
            if grad is None:
                continue
            p, g = param._array, grad._array
            if p.dtype is not dtype:  # NumPy takes a 0-d array faster than a Python float
                dtype = p.dtype
                rate = np.array(lr, np.float32 if dtype.itemsize == 2 else p.real.dtype)
            if not plain:
                g = self._direction(param, g, group)
            sub(p, mul(g, rate), p)
            touched.append(p)
        written(*touched)

    def _direction(self, param: Tensor, g: np.ndarray, group: dict[str, Any]) -> np.ndarray:
        """The gradient with weight decay and momentum."""
        p, momentum = param._array, group["momentum"]
        if group["maximize"]:
            g = -g
        if group["weight_decay"]:
            g = g + p * number(group["weight_decay"])
        if not momentum:
            return g
        state = self.state[param]
        buffer = state.get("momentum_buffer")
        if buffer is None:
            state["momentum_buffer"] = wrap(np.array(g, p.dtype))
            b = g
        else:
            b = buffer._array
            b *= momentum
            b += g * (1 - group["dampening"]) if group["dampening"] else g
        return g + b * momentum if group["nesterov"] else b

    def _record(self, group: dict[str, Any]) -> None:
        """The same update in recorded operations."""
        lr, momentum, weight_decay = group["lr"], group["momentum"], group["weight_decay"]
        with set_grad_enabled(True):
            for param in group["params"]:
                g = param.grad
                if g is None:
                    continue
                g = -g if group["maximize"] else g
                if not isinstance(weight_decay, (int, float)) or weight_decay:
                    g = g + weight_decay * param
                if momentum:
                    state = self.state[param]
                    b = state.get("momentum_buffer")
                    b = g.detach().clone() if b is None else b * momentum + (1 - group["dampening"]) * g
                    state["momentum_buffer"] = b
                    g = g + momentum * b if group["nesterov"] else b
                param.sub_(lr * g)
