"""Adam for sparse gradients."""

from __future__ import annotations

import numpy as np

from ..core.record import wrap
from ..core.tensor import Tensor
from ..core.versions import bump_version
from .adam import Adam
from .optimizer import Options, ParamsT, Stepper, check_options, number, rows

__all__ = ["SparseAdam"]


class SparseAdam(Stepper):
    """Adam that changes only what a sparse gradient holds: other rows keep their values and their averages.

    The formula is that of :class:`Adam` with eps inside the correction, at step t::

        p -= lr * sqrt(1 - β₂ᵗ) / (1 - β₁ᵗ) * m / (sqrt(v) + eps)

    Args:
        params: dense parameters whose gradients are sparse, named parameters or groups; see :class:`Optimizer`.
        lr: the learning rate, a number or a one-element tensor.
        betas: how much of the averages m and v stays from step to step.
        eps: keeps the division away from zero.
        maximize: go up instead of down.

    Raises:
        ValueError: for a value out of range, or a parameter that is sparse or complex.
        RuntimeError: at a step, for a dense gradient.

    >>> import pullback as torch
    >>> w = torch.zeros(3, 1, requires_grad=True)
    >>> w.grad = torch.sparse_coo_tensor([[1]], [[5.0]], (3, 1))
    >>> torch.optim.SparseAdam([w], lr=0.1).step(); w.squeeze()
    tensor([ 0.0000, -0.1000,  0.0000], grad_fn=<SqueezeBackward0>)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_options(lr=lr)
        if number(lr) == 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_options(betas=betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        places = [([i, k], p) for i, group in enumerate(self.param_groups) for k, p in enumerate(group["params"])]
        if sparse := [place for place, p in places if p.is_sparse]:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        if complex_ := [place for place, p in places if p.is_complex()]:
            raise ValueError(f"Complex params at indices {complex_}: SparseAdam does not support complex parameters")

    def state_shapes(self, p: Tensor, o: Options) -> dict[str, tuple[int, ...]]:
        return {"exp_avg": p.shape, "exp_avg_sq": p.shape}

    def step_group(self, group: Options) -> None:
        """Update the parameters of a group."""
        lr, (beta1, beta2) = number(group["lr"]), group["betas"]
        for param in group["params"]:
            if param._grad is None:
                continue
            if not param._grad.is_sparse:
                raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
            p, own = param._array, self.state[param]
            if not own:
                own |= {"step": 0, "exp_avg": wrap(np.zeros_like(p)), "exp_avg_sq": wrap(np.zeros_like(p))}
            own["step"] += 1
            where, g = rows(param._grad)
            state = {name: own[name]._array[where] for name in ("exp_avg", "exp_avg_sq")}
            root = (1 - beta2 ** own["step"]) ** 0.5
            size = lr / (1 - beta1 ** own["step"])
            g = -g if group["maximize"] else g
            p[where] -= Adam.update(g, state, 1 - beta1, beta2, 1 - beta2, size, root, group["eps"] / root)
            for name, values in state.items():
                own[name]._array[where] = values
            bump_version(p)
