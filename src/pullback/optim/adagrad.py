"""Adagrad."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.record import wrap
from ..core.tensor import Tensor
from .elementwise_optimizer import Elementwise, filled
from .flat_params import counting
from .optimizer import Options, ParamsT, check_options, check_switches

__all__ = ["Adagrad"]


class Adagrad(Elementwise):
    """The gradient over the root of the sum of all its squares so far: elements that move rarely move far.

    With weight decay λ and learning rate decay η, at step t (Duchi, Hazan and Singer 2011)::

        g = grad + λ p
        s = s + g²
        p -= lr / (1 + (t - 1) η) * g / (sqrt(s) + eps)

    Sparse gradients change the rows that they hold, and cannot be combined with weight decay.

    Args:
        params: parameters, named parameters or groups; see :class:`Optimizer`.
        lr: the learning rate, a number or a one-element tensor.
        lr_decay, weight_decay: η and λ.
        initial_accumulator_value: s at the start.
        eps: keeps the division away from zero.
        maximize, foreach, fused, differentiable: as in :class:`Adam`.

    Raises:
        ValueError: for a value out of range.

    >>> import pullback as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adagrad([w], lr=0.1)
    >>> (w * w).sum().backward(); optimizer.step(); w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_options(
            lr=lr,
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "eps": eps,
                "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "fused": fused,
            },
        )
        check_switches(fused, foreach, differentiable)
        for group in self.param_groups:  # unlike the others', its state is there before the first step
            for p in group["params"]:
                self.state[p] = {
                    "step": wrap(np.array(0.0, counting())),
                    "sum": filled(p, group["initial_accumulator_value"]),
                }

    def share_memory(self) -> None:
        """Move the sums to shared memory; the same as in :meth:`Tensor.share_memory_`."""
        for own in self.state.values():
            own["sum"].share_memory_()

    def memory(self, o: Options) -> dict[str, float]:
        return {"sum": o["initial_accumulator_value"]}

    def coefficients(self, o: Options, t: float, count: dict[str, Any]) -> tuple[Any, ...]:
        return o["lr"] / (1 + (t - 1) * o["lr_decay"]), o["eps"]

    @staticmethod
    def update(g: Any, state: dict[str, Any], size: Any, eps: float) -> Any:
        state["sum"] += g * g
        return size * g / (state["sum"] ** 0.5 + eps)

    def step_rows(self, p: Tensor, o: Options) -> None:
        if o["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        self.change_rows(p, o, self._advance_alone(p, o))
