"""RAdam."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from .elementwise_optimizer import Elementwise, average, blend
from .optimizer import Options, ParamsT, check_options

__all__ = ["RAdam"]


class RAdam(Elementwise):
    """Adam that warms up by itself: momentum alone until the variance can be trusted, then rectified.

    With betas (β₁, β₂) and weight decay λ, at step t (Liu et al. 2020, algorithm 2)::

        g = grad + λ p
        m = β₁ m + (1 - β₁) g
        v = β₂ v + (1 - β₂) g²
        ρ∞ = 2 / (1 - β₂) - 1
        ρ  = ρ∞ - 2 t β₂ᵗ / (1 - β₂ᵗ)
        r  = sqrt((ρ - 4) (ρ - 2) ρ∞ / ((ρ∞ - 4) (ρ∞ - 2) ρ))
        p -= lr * m / (1 - β₁ᵗ) * (r * sqrt(1 - β₂ᵗ) / (sqrt(v) + eps) if ρ > 5 else 1)

    Decoupled weight decay replaces the first line by ``p -= lr λ p``.

    Args:
        params: parameters, named parameters or groups; see :class:`Optimizer`.
        lr: the learning rate, a number or a one-element tensor.
        betas: how much of m and of v stays from step to step.
        eps: keeps the division away from zero.
        weight_decay: λ.
        decoupled_weight_decay: as in :class:`AdamW`.
        maximize, foreach, capturable, differentiable: as in :class:`Adam`.

    Raises:
        ValueError: for a value out of range.

    >>> import pullback as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.RAdam([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "decoupled_weight_decay": decoupled_weight_decay,
                "differentiable": differentiable,
            },
        )

    def memory(self, o: Options) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    def coefficients(self, o: Options, t: float, count: dict[str, Any]) -> tuple[Any, ...]:
        beta1, beta2 = o["betas"]
        size, correction = o["lr"] / (1 - beta1**t), 1 - beta2**t
        most = 2 / (1 - beta2) - 1
        rho = most - 2 * t * beta2**t / correction
        rectified = bool(rho > 5)
        if rectified:
            rectification = (rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho)
            size = size * (correction * rectification) ** 0.5
        return 1 - beta1, beta2, 1 - beta2, size, rectified, o["eps"]

    @staticmethod
    def update(
        g: Any,
        state: dict[str, Any],
        new: float,
        keep_sq: float,
        new_sq: float,
        size: Any,
        rectified: bool,
        eps: float,
    ) -> Any:
        m = blend(state, "exp_avg", g, new)
        v = average(state, "exp_avg_sq", g * g, keep_sq, new_sq)
        return size * m / (v**0.5 + eps) if rectified else size * m
