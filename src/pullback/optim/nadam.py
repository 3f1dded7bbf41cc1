"""NAdam."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from .elementwise_optimizer import Elementwise, average, blend
from .optimizer import Options, ParamsT, check_options

__all__ = ["NAdam"]


class NAdam(Elementwise):
    """Adam with Nesterov's momentum: the step looks ahead along the mean gradient.

    With betas (β₁, β₂), weight decay λ and momentum decay ψ, at step t (Dozat 2016)::

        g  = grad + λ p
        μₜ = β₁ (1 - 0.96^(t ψ) / 2)
        m  = β₁ m + (1 - β₁) g
        v  = β₂ v + (1 - β₂) g²
        p -= lr * (μₜ₊₁ m / (1 - Π₁ᵗ⁺¹ μᵢ) + (1 - μₜ) g / (1 - Π₁ᵗ μᵢ)) / (sqrt(v / (1 - β₂ᵗ)) + eps)

    Decoupled weight decay replaces the first line by ``p -= lr λ p``.

    Args:
        params: parameters, named parameters or groups; see :class:`Optimizer`.
        lr: the learning rate, a number or a one-element tensor.
        betas: how much of m and of v stays from step to step.
        eps: keeps the division away from zero.
        weight_decay, momentum_decay: λ and ψ.
        decoupled_weight_decay: as in :class:`AdamW`.
        maximize, foreach, capturable, differentiable: as in :class:`Adam`.

    Raises:
        ValueError: for a value out of range.

    >>> import pullback as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.NAdam([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.8944, 1.8944], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay, momentum_decay=momentum_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum_decay": momentum_decay,
                "decoupled_weight_decay": decoupled_weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
            },
        )

    def counters(self, o: Options) -> dict[str, float]:
        return {"step": 0.0, "mu_product": 1.0}

    def memory(self, o: Options) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    def coefficients(self, o: Options, t: float, count: dict[str, Any]) -> tuple[Any, ...]:
        lr, (beta1, beta2) = o["lr"], o["betas"]
        mu, ahead = (beta1 * (1 - 0.5 * 0.96 ** (i * o["momentum_decay"])) for i in (t, t + 1))
        count["mu_product"] *= mu
        product = float(count["mu_product"])
        of_g, of_m = lr * (1 - mu) / (1 - product), lr * ahead / (1 - product * ahead)
        return 1 - beta1, beta2, 1 - beta2, of_g, of_m, 1 - beta2**t, o["eps"]

    @staticmethod
    def update(
        g: Any,
        state: dict[str, Any],
        new: float,
        keep_sq: float,
        new_sq: float,
        of_g: Any,
        of_m: Any,
        correction: float,
        eps: float,
    ) -> Any:
        m = blend(state, "exp_avg", g, new)
        v = average(state, "exp_avg_sq", g * g, keep_sq, new_sq)
        return (of_g * g + of_m * m) / ((v / correction) ** 0.5 + eps)
