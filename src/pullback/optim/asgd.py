"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any, ClassVar

from ..core.tensor import Tensor
from .elementwise_optimizer import Elementwise, average
from .optimizer import Options, ParamsT, check_options, number

__all__ = ["ASGD"]


class ASGD(Elementwise):
    """Gradient descent that also keeps an average of where it has been.

    With weight decay λ', at step t (Polyak and Juditsky 1992; the schedules are Bottou's)::

        g = grad + λ' p
        p = (1 - λ η) p - η g
        a = a + μ (p - a)
        η = lr / (1 + λ lr t)^α
        μ = 1 / max(1, t - t0)

    where η is ``lr`` and μ is 1 at first. The average is ``state[p]["ax"]``.

    Args:
        params: parameters, named parameters or groups; see :class:`Optimizer`.
        lr: the learning rate, a number or a one-element tensor.
        lambd, alpha: λ and α, which let the rate decay.
        t0: the step after which averaging begins.
        weight_decay: λ'.
        maximize, foreach, capturable, differentiable: as in :class:`Adam`.

    Raises:
        ValueError: for a value out of range.

    >>> import pullback as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.ASGD([w], lr=0.1, t0=1)
    >>> for _ in range(3):
    ...     optimizer.zero_grad(); (w * w).sum().backward(); optimizer.step()
    >>> w, optimizer.state[w]["ax"]
    (tensor([0.5120, 1.0240], requires_grad=True), tensor([0.5120, 1.0240]))
    """

    reads_values: ClassVar[bool] = True

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_options(lr=lr, weight_decay=weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "lambd": lambd,
                "alpha": alpha,
                "t0": t0,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def counters(self, o: Options) -> dict[str, float]:
        return {"step": 0.0, "eta": number(o["lr"]), "mu": 1.0}

    def memory(self, o: Options) -> dict[str, float]:
        return {"ax": 0.0}

    def coefficients(self, o: Options, t: float, count: dict[str, Any]) -> tuple[Any, ...]:
        lr, lambd = number(o["lr"]), o["lambd"]
        eta, mu = float(count["eta"]), float(count["mu"])
        count["eta"] = lr / (1 + lambd * lr * t) ** o["alpha"]
        count["mu"] = 1 / max(1, t - o["t0"])
        return lambd * eta, eta, 1 - mu, mu

    @staticmethod
    def update(g: Any, state: dict[str, Any], decay: float, eta: float, keep: float, mu: float) -> Any:
        change = decay * state["value"] + eta * g
        average(state, "ax", state["value"] - change, keep, mu)
        return change
