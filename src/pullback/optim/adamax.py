"""Adamax."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..ops.where import maximum
from .elementwise_optimizer import Elementwise, blend
from .optimizer import Options, ParamsT, check_options

__all__ = ["Adamax"]


class Adamax(Elementwise):
    """Adam with the largest gradient of late in place of the root mean square.

    With betas (β₁, β₂) and weight decay λ, at step t (Kingma and Ba 2015, algorithm 2)::

        g = grad + λ p
        m = β₁ m + (1 - β₁) g
        u = max(β₂ u, |g| + eps)
        p -= lr / (1 - β₁ᵗ) * m / u

    Args:
        params: parameters, named parameters or groups; see :class:`Optimizer`.
        lr: the learning rate, a number or a one-element tensor.
        betas: how much of m and of u stays from step to step.
        eps: keeps the division away from zero.
        weight_decay: λ.
        maximize, foreach, capturable, differentiable: as in :class:`Adam`.

    Raises:
        ValueError: for a value out of range.

    >>> import pullback as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adamax([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def memory(self, o: Options) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_inf": 0.0}

    def coefficients(self, o: Options, t: float, count: dict[str, Any]) -> tuple[Any, ...]:
        beta1, beta2 = o["betas"]
        return 1 - beta1, beta2, o["lr"] / (1 - beta1**t), o["eps"]

    @staticmethod
    def update(g: Any, state: dict[str, Any], new: float, beta2: float, size: Any, eps: float) -> Any:
        m = blend(state, "exp_avg", g, new)
        u = state["exp_inf"] = maximum(beta2 * state["exp_inf"], abs(g) + eps)
        return size * m / u
