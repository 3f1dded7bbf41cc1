"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import kernels
from ..base import thread_state
from ..base.thread_state import no_grad, set_grad_enabled
from ..core.record import wrap
from ..core.tensor import Tensor
from ..core.versions import bump_version
from .flat_params import work_type
from .optimizer import Options, ParamsT, Stepper, check_options, check_switches, dense, number, rows

__all__ = ["SGD"]


class SGD(Stepper):
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
        maximize, foreach, fused, differentiable: as in :class:`Adam`.

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
        check_options(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
                "foreach": foreach,
                "differentiable": differentiable,
                "fused": fused,
            },
        )
        check_switches(fused, foreach, differentiable)

    def state_shapes(self, p: Tensor, o: Options) -> dict[str, tuple[int, ...]]:
        return {"momentum_buffer": p._array.shape}

    def step_group(self, group: Options) -> None:
        """Update the parameters of a group."""
        params = [p for p in group["params"] if p._grad is not None]
        if group["differentiable"]:
            with set_grad_enabled(True):
                for param in params:
                    param.sub_(group["lr"] * self._direction(param, param.clone(), param.grad, group))
            return
        if thread_state.local.trace is not None:
            o = thread_state.local.trace.options(self, group)
            with no_grad():
                for param in params:
                    self._trace(thread_state.local.trace, param, o)
            return
        lr, dtype = number(group["lr"]), None
        plain = not (group["momentum"] or group["weight_decay"] or group["maximize"])
        for param in params:
            p, grad = param._array, param._grad
            if p.dtype is not dtype:  # NumPy takes a 0-d array faster than a Python float
                dtype = p.dtype
                rate = np.array(lr, work_type(dtype).type().real.dtype)
            if grad.is_sparse and plain:
                where, g = rows(grad)
                p[where] -= g * rate
                continue
            g = dense(param) if grad.is_sparse else grad._array
            if p.size >= kernels.LARGE and self._in_one_pass(param, p, g, lr, group):
                continue
            if not plain:
                g = self._direction(param, p, g, group)
            np.subtract(p, g * rate, p, casting="unsafe")
        bump_version(*[param._array for param in params])

    def _trace(self, trace: Any, param: Tensor, o: Options) -> None:
        """The update in operations, for a compiled step."""
        state = self.state[param]
        buffer = state.get("momentum_buffer")
        if buffer is not None:
            trace.guard_state(self, param, ["momentum_buffer"])
        direction = self._direction(param, param.detach(), param.grad, o)
        if buffer is not None:
            state["momentum_buffer"] = buffer.copy_(state["momentum_buffer"])
        elif state:
            trace.single_use = "the first step makes the momentum buffers"
        param.sub_(o["lr"] * direction)

    def _in_one_pass(self, param: Tensor, p: np.ndarray, g: np.ndarray, lr: float, o: Options) -> bool:
        """The update by a kernel, if there can be one. The first step with momentum makes the buffer, in NumPy."""
        buffer = self.state[param].get("momentum_buffer") if o["momentum"] else None
        if o["momentum"] and buffer is None or isinstance(o["weight_decay"], Tensor):
            return False
        return bool(kernels.run("optimizer", "sgd", p.size, p, g, None if buffer is None else buffer._array, lr, o))

    def _direction(self, param: Tensor, p: Any, g: Any, o: Options) -> Any:
        """The gradient ``g`` at ``p``, both arrays or both tensors, with weight decay and momentum."""
        momentum, decay = o["momentum"], o["weight_decay"]
        if o["maximize"]:
            g = -g
        if isinstance(decay, Tensor) or decay != 0:
            g = g + (decay if isinstance(p, Tensor) else number(decay)) * p
        if momentum == 0:
            return g
        state = self.state[param]
        b = state.get("momentum_buffer")
        if isinstance(p, Tensor):
            b = state["momentum_buffer"] = g.detach().clone() if b is None else momentum * b + (1 - o["dampening"]) * g
        elif b is None:
            b = np.array(g, p.dtype)
            state["momentum_buffer"] = wrap(b)
        else:
            b = b._array
            np.multiply(b, momentum, b, casting="unsafe")
            np.add(b, g if o["dampening"] == 0 else (1 - o["dampening"]) * g, b, casting="unsafe")
        return g + momentum * b if o["nesterov"] else b
