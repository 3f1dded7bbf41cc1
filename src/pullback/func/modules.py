"""``functional_call``, ``stack_module_state`` and ``replace_all_batch_norm_modules_``: modules in transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.tensor import Tensor
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from ..nn.utils.stateless import _call
from ..ops.concat import stack


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """``module(*args, **kwargs)`` with other tensors for its parameters and buffers.

    Args:
        parameter_and_buffer_dicts: tensors by dotted name, or several dicts with different names.
        args: one argument or a tuple of them.
        tie_weights: a tensor that the module holds under several names is replaced under all of them.
        strict: refuse missing and unknown names.

    >>> import pullback as torch
    >>> layer = torch.nn.Linear(2, 1)
    >>> parameters = {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
    >>> torch.func.functional_call(layer, parameters, torch.tensor([1.0, 2.0]))
    tensor([3.])
    """
    given = parameter_and_buffer_dicts
    if not isinstance(given, dict):
        if not all(isinstance(d, dict) for d in given):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        names = [k for d in given for k in d]
        repeated = {k for k in names if names.count(k) > 1}
        if repeated:
            raise ValueError(
                f"{sorted(repeated)} appeared in multiple dictionaries; behavior of functional call is ambiguous"
            )
        given = {k: v for d in given for k, v in d.items()}
    return _call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of like modules, each stacked along a new first dimension, for :func:`vmap` over
    an ensemble.

    >>> import pullback as torch
    >>> params, buffers = torch.func.stack_module_state([torch.nn.Linear(2, 1) for _ in range(3)])
    >>> params["weight"].shape
    torch.Size([3, 1, 2])
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or not any(m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(name: str, tensors: list[Tensor]) -> Tensor:
        wanted = tensors[0].requires_grad
        if any(t.requires_grad != wanted for t in tensors):
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        if wanted and all(t.is_leaf for t in tensors):
            return stack(tensors).detach().requires_grad_()
        return stack(tensors)

    parameters = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return (
        {k: stacked(k, [p[k] for p in parameters]) for k in parameters[0]},
        {k: stacked(k, [b[k] for b in buffers]) for k in buffers[0]},
    )


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let every batch norm in a module forget its running statistics, which cannot be written inside ``vmap``.

    Returns:
        the module.

    >>> import pullback as torch
    >>> net = torch.nn.Sequential(torch.nn.BatchNorm1d(2))
    >>> torch.func.replace_all_batch_norm_modules_(net)[0].running_mean is None
    True
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
