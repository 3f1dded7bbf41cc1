"""Adam, and through ``decoupled_weight_decay`` AdamW."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..autograd.modes import enable_grad, set_grad_enabled
from ..op import wrap
from ..tensor import Tensor
from .optimizer import Optimizer, ParamsT, check_switches, number
from .packing import Packs

__all__ = ["Adam"]


class Adam(Optimizer):
    """Adam: steps of about the size of the learning rate, along the gradient's mean over its deviation.

    With betas (β₁, β₂) and weight decay λ, at step t (Kingma and Ba 2015, algorithm 1)::

        g = grad + λ p
        m = β₁ m + (1 - β₁) g
        v = β₂ v + (1 - β₂) g²
        p -= lr * m / (1 - β₁ᵗ) / (sqrt(v / (1 - β₂ᵗ)) + eps)

    Decoupled weight decay replaces the first line by ``p -= lr λ p`` (Loshchilov and Hutter 2019). With
    ``amsgrad``, v in the last line is the largest one so far (Reddi et al. 2018). The real and imaginary
    parts of complex parameters count as parameters of their own.

    Args:
        params: parameters, named parameters or groups; see :class:`Optimizer`.
        lr: the learning rate, a number or a one-element tensor.
        betas: how much of the averages stays from step to step: two floats, or two one-element tensors.
        eps: keeps the division away from zero.
        weight_decay: λ.
        amsgrad: never let v shrink.
        maximize: go up instead of down.
        foreach, fused, capturable: accepted for compatibility: there is one implementation.
        differentiable: record the step, for gradients through it; parameters must not be leaves then.
        decoupled_weight_decay: as in :class:`AdamW`.

    Raises:
        ValueError: for a value out of range.

    >>> import pullback as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, Tensor):
            if foreach and not capturable:
                raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
            if lr.numel() != 1:
                raise ValueError("Tensor lr must be 1-element")
        if not number(lr) >= 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 <= eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for i, beta in enumerate(betas):
            if isinstance(beta, Tensor) and beta.numel() != 1:
                raise ValueError(f"Tensor betas[{i}] must be 1-element")
            if not 0.0 <= number(beta) < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if not any(all(isinstance(beta, kind) for beta in betas) for kind in (float, Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        if isinstance(betas[0], Tensor) and foreach and not capturable:
            raise ValueError("betas[0] as a Tensor is not supported for capturable=False and foreach=True")
        defaults = {
            "lr": lr,
            "betas": tuple(
                beta.squeeze() if isinstance(beta, Tensor) and beta.dim() else beta for beta in betas
            ),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        self._packs = Packs()
        check_switches(fused, foreach, differentiable)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._packs = Packs()
        for group in self.param_groups:
            for name in ("amsgrad", "maximize", "capturable", "differentiable", "decoupled_weight_decay"):
                group.setdefault(name, False)
            for name in ("foreach", "fused"):
                group.setdefault(name, None)
            for p in group["params"]:
                own = self.state.get(p)
                if own and not isinstance(own["step"], Tensor):  # saved by an old PyTorch
                    own["step"] = _step_tensor(float(own["step"]))

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
        lr, decay = number(group["lr"]), number(group["weight_decay"])
        beta1, beta2 = map(number, group["betas"])
        decoupled, amsgrad, maximize = group["decoupled_weight_decay"], group["amsgrad"], group["maximize"]
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
        add, sub, mul, div = np.add, np.subtract, np.multiply, np.divide
        for pack in self._packs.of(group, self.state, names if amsgrad else names[:2]):
            t = pack.advance()
            size, root = lr / (1 - beta1**t), (1 - beta2**t) ** 0.5
            keep1, new1, keep2, new2, root_, eps, size_, decay_, shrink = pack.constants(
                beta1, 1 - beta1, beta2, 1 - beta2, root, group["eps"], size, decay, 1 - lr * decay
            )
            for block in pack.blocks:
                g, u, (m, v, *largest) = block.load()
                if maximize:
                    np.negative(g, g)
                if decay and not decoupled:
                    mul(block.values(), decay_, u)
                    add(g, u, g)
                sub(g, m, u)
                if beta1 > 0.5:  # the larger of m and g is the one that is not multiplied away
                    mul(u, new1, u)
                    add(m, u, m)
                else:
                    mul(u, keep1, u)
                    sub(g, u, m)
                mul(g, new2, u)
                mul(u, g, u)
                mul(v, keep2, v)
                add(v, u, v)
                if largest:
                    v = np.maximum(largest[0], v, out=largest[0])
                np.sqrt(v, g)
                div(g, root_, g)
                add(g, eps, g)
                mul(m, size_, u)
                div(u, g, u)
                block.store(shrink if decay and decoupled else None)
            pack.written()

    def _record(self, group: dict[str, Any]) -> None:
        """The same update in recorded operations."""
        lr, (beta1, beta2), decay = group["lr"], group["betas"], group["weight_decay"]
        with set_grad_enabled(True):
            for param in group["params"]:
                if param.grad is None:
                    continue
                own = self.state[param]
                own.setdefault("step", _step_tensor(0.0))
                for name in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")[: 3 if group["amsgrad"] else 2]:
                    own.setdefault(name, wrap(np.zeros(param.shape, param._array.dtype)))
                step = own["step"].add_(1)
                p, g, m, v = (
                    t.view_as_real() if t.is_complex() else t
                    for t in (param, param.grad, own["exp_avg"], own["exp_avg_sq"])
                )
                g = -g if group["maximize"] else g
                if decay and group["decoupled_weight_decay"]:
                    p.mul_(1 - lr * decay)
                elif decay:
                    g = g + decay * p
                m.mul_(beta1).add_((1 - beta1) * g)
                v.mul_(beta2).add_((1 - beta2) * g * g)
                if group["amsgrad"]:
                    largest = own["max_exp_avg_sq"]
                    largest = largest.view_as_real() if largest.is_complex() else largest
                    v = largest.copy_(largest.clone().maximum(v.clone()))
                root = (1 - beta2**step).sqrt()
                p.sub_(lr / (1 - beta1**step) * m.clone() / (v.sqrt() / root + group["eps"]))


def _step_tensor(count: float) -> Tensor:
    return wrap(np.array(count, np.float64 if dtypes.get_default_dtype() is dtypes.float64 else np.float32))
