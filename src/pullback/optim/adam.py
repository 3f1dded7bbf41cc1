"""Adam, and through ``decoupled_weight_decay`` AdamW."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..ops.where import maximum
from .elementwise_optimizer import Elementwise, average, blend
from .optimizer import Options, ParamsT, check_options, check_switches

__all__ = ["Adam"]


class Adam(Elementwise):
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
        foreach, fused: accepted for compatibility: there is one implementation.
        capturable: for GPUs: a step with it is refused.
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
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_options(lr=lr, eps=eps)
        for i, beta in enumerate(betas):
            if isinstance(beta, Tensor) and beta.numel() != 1:
                raise ValueError(f"Tensor betas[{i}] must be 1-element")
        check_options(betas=betas, weight_decay=weight_decay)
        if not any(all(isinstance(beta, kind) for beta in betas) for kind in (float, Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        if isinstance(betas[0], Tensor) and foreach and not capturable:
            raise ValueError("betas[0] as a Tensor is not supported for capturable=False and foreach=True")
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": tuple(beta.squeeze() if isinstance(beta, Tensor) and beta.dim() else beta for beta in betas),
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
                "fused": fused,
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )
        check_switches(fused, foreach, differentiable)

    def memory(self, o: Options) -> dict[str, float]:
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
        return dict.fromkeys(names if o["amsgrad"] else names[:2], 0.0)

    def coefficients(self, o: Options, t: float, count: dict[str, Any]) -> tuple[Any, ...]:
        beta1, beta2 = o["betas"]
        return 1 - beta1, beta2, 1 - beta2, o["lr"] / (1 - beta1**t), (1 - beta2**t) ** 0.5, o["eps"]

    @staticmethod
    def update(
        g: Any, state: dict[str, Any], new: Any, keep_sq: Any, new_sq: Any, size: Any, root: Any, eps: Any
    ) -> Any:
        m = blend(state, "exp_avg", g, new)
        v = average(state, "exp_avg_sq", g * g, keep_sq, new_sq)
        if "max_exp_avg_sq" in state:
            v = state["max_exp_avg_sq"] = maximum(state["max_exp_avg_sq"], v)
        return size * m / (v**0.5 / root + eps)

    def step_rows(self, p: Tensor, o: Options) -> None:
        raise RuntimeError("Adam does not support sparse gradients, please consider SparseAdam instead")
