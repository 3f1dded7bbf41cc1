"""RMSprop."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from .elementwise_optimizer import Elementwise, average, blend
from .optimizer import Options, ParamsT, check_options

__all__ = ["RMSprop"]


class RMSprop(Elementwise):
    """The gradient over the root of its mean square.

    With momentum μ and weight decay λ, per step (Tieleman and Hinton 2012; centred: Graves 2013)::

        g = grad + λ p
        v = α v + (1 - α) g²
        a = α a + (1 - α) g                  if centered, and v - a² in place of v below
        b = μ b + g / (sqrt(v) + eps)
        p -= lr * b

    Args:
        params: parameters, named parameters or groups; see :class:`Optimizer`.
        lr: the learning rate, a number or a one-element tensor.
        alpha: how much of the averages stays from step to step.
        eps: keeps the division away from zero.
        weight_decay, momentum: λ and μ.
        centered: divide by the deviation instead of the root mean square.
        maximize, foreach, capturable, differentiable: as in :class:`Adam`.

    Raises:
        ValueError: for a value out of range.

    >>> import pullback as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.RMSprop([w], lr=0.1, alpha=0.75)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.8000, 1.8000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "alpha": alpha,
                "eps": eps,
                "centered": centered,
                "weight_decay": weight_decay,
                "capturable": capturable,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
            },
        )

    def memory(self, o: Options) -> dict[str, float]:
        names = ["square_avg", *["momentum_buffer"] * (o["momentum"] > 0), *["grad_avg"] * bool(o["centered"])]
        return dict.fromkeys(names, 0.0)

    def coefficients(self, o: Options, t: float, count: dict[str, Any]) -> tuple[Any, ...]:
        return o["lr"], o["alpha"], 1 - o["alpha"], o["momentum"], o["eps"]

    @staticmethod
    def update(g: Any, state: dict[str, Any], lr: Any, alpha: float, new: float, momentum: float, eps: float) -> Any:
        v = average(state, "square_avg", g * g, alpha, new)
        if "grad_avg" in state:
            a = blend(state, "grad_avg", g, new)
            v = v - a * a
        b = g / (v**0.5 + eps)
        if "momentum_buffer" in state:
            b = state["momentum_buffer"] = momentum * state["momentum_buffer"] + b
        return lr * b
