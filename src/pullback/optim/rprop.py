"""Rprop."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..ops.pointwise import sign
from ..ops.where import clamp, where
from .elementwise_optimizer import Elementwise
from .optimizer import Options, ParamsT, check_options, number

__all__ = ["Rprop"]


class Rprop(Elementwise):
    """Steps along the signs of the gradient, longer while the sign stays and shorter when it turns.

    With factors η₋ < 1 < η₊ and the bounds of the steps, per step (Riedmiller and Braun 1993, in the form
    without backtracking of Igel and Hüsken 2003)::

        s = clamp(s * (η₊ if g * before > 0, η₋ if g * before < 0, otherwise 1), smallest, largest)
        g = 0 where g * before < 0
        p -= sign(g) * s
        before = g

    where s is ``lr`` at first. For whole batches: the gradients of small ones change sign by chance.

    Args:
        params: parameters, named parameters or groups; see :class:`Optimizer`.
        lr: the length of the first step, a number or a one-element tensor.
        etas: (η₋, η₊).
        step_sizes: the smallest and the largest step.
        maximize, foreach, capturable, differentiable: as in :class:`Adam`.

    Raises:
        ValueError: for a value out of range.

    >>> import pullback as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Rprop([w], lr=0.1)
    >>> for _ in range(2):
    ...     optimizer.zero_grad(); (w * w).sum().backward(); optimizer.step()
    >>> w
    tensor([0.7800, 1.7800], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(
            params,
            {
                "lr": lr,
                "etas": etas,
                "step_sizes": step_sizes,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def memory(self, o: Options) -> dict[str, float]:
        return {"prev": 0.0, "step_size": number(o["lr"])}

    def coefficients(self, o: Options, t: float, count: dict[str, Any]) -> tuple[Any, ...]:
        return *o["etas"], *o["step_sizes"]

    @staticmethod
    def update(g: Any, state: dict[str, Any], shorter: float, longer: float, smallest: float, largest: float) -> Any:
        turn = g * state["prev"]
        turned, s = turn < 0, state["step_size"]
        s = where(turned, shorter * s, where(turn > 0, longer * s, s))
        s = state["step_size"] = clamp(s, smallest, largest)
        g = state["prev"] = where(turned, 0.0, g)
        return sign(g) * s
