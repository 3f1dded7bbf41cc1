"""Adadelta."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from .elementwise_optimizer import Elementwise, average
from .optimizer import Options, ParamsT, check_options

__all__ = ["Adadelta"]


class Adadelta(Elementwise):
    """Steps in the units of the parameter: the gradient times the ratio of two running root mean squares.

    With ρ the share of the averages that stays and λ the weight decay, per step (Zeiler 2012, algorithm 1)::

        g = grad + λ p
        v = ρ v + (1 - ρ) g²
        d = sqrt(u + eps) / sqrt(v + eps) * g
        u = ρ u + (1 - ρ) d²
        p -= lr * d

    Args:
        params: parameters, named parameters or groups; see :class:`Optimizer`.
        lr: a factor on the step, a number or a one-element tensor.
        rho, eps, weight_decay: ρ, the size of the first steps squared, and λ.
        maximize, foreach, capturable, differentiable: as in :class:`Adam`.

    Raises:
        ValueError: for a value out of range.

    >>> import pullback as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adadelta([w], lr=100.0)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.6838, 1.6838], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr=lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_options(eps=eps, weight_decay=weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "rho": rho,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "capturable": capturable,
                "foreach": foreach,
                "differentiable": differentiable,
            },
        )

    def memory(self, o: Options) -> dict[str, float]:
        return {"square_avg": 0.0, "acc_delta": 0.0}

    def coefficients(self, o: Options, t: float, count: dict[str, Any]) -> tuple[Any, ...]:
        return o["lr"], o["rho"], 1 - o["rho"], o["eps"]

    @staticmethod
    def update(g: Any, state: dict[str, Any], lr: Any, rho: float, new: float, eps: float) -> Any:
        v = average(state, "square_avg", g * g, rho, new)
        d = (state["acc_delta"] + eps) ** 0.5 / (v + eps) ** 0.5 * g
        average(state, "acc_delta", d * d, rho, new)
        return lr * d
