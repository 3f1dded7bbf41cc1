"""``functorch``: the function transforms at their first address, with the functions that only it has.

Under ``pullback run``, ``import functorch`` gives this module. New programs use ``torch.func``.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from ...core.tensor import Tensor
from ...func import (
    functional_call,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)
from ...nn.modules.module import Module

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "vjp",
    "vmap",
]

Tensors = tuple[Tensor, ...]


class FunctionalModule:
    """A module as a function of its parameters and its inputs."""

    _groups = 1

    def __init__(self, model: Module) -> None:
        self.stateless_model = copy.deepcopy(model)
        self._names = [
            [name for name, _ in model.named_parameters()],
            [name for name, _ in model.named_buffers()],
        ]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        state: dict[str, Tensor] = {}
        for names, values in zip(self._names, args[: self._groups]):
            state.update(zip(names, values, strict=True))
        return functional_call(self.stateless_model, state, args[self._groups :], kwargs)


class FunctionalModuleWithBuffers(FunctionalModule):
    """A module as a function of its parameters, its buffers and its inputs."""

    _groups = 2


def _parameters(model: Module, disable_autograd_tracking: bool) -> Tensors:
    return tuple(
        [
            p.detach() if disable_autograd_tracking else p.detach().clone().requires_grad_(p.requires_grad)
            for p in model.parameters()
        ]
    )


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, Tensors]:
    """A function ``f(parameters, *inputs)`` that does what the module does, and parameters to begin with.

    Args:
        model: a module without buffers.
        disable_autograd_tracking: the parameters do not ask for gradients.

    Raises:
        RuntimeError: for a module with buffers.

    >>> import pullback as torch
    >>> from pullback.functorch import make_functional
    >>> f, parameters = make_functional(torch.nn.Linear(2, 1))
    >>> f([torch.ones(1, 2), torch.zeros(1)], torch.tensor([3.0, 4.0])).item()
    7.0
    """
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    return FunctionalModule(model), _parameters(model, disable_autograd_tracking)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """A function ``f(parameters, buffers, *inputs)`` that does what the module does, and both to begin with.

    >>> import pullback as torch
    >>> from pullback.functorch import make_functional_with_buffers
    >>> f, parameters, buffers = make_functional_with_buffers(torch.nn.BatchNorm1d(2).eval())
    >>> f(parameters, buffers, torch.zeros(1, 2)).shape
    torch.Size([1, 2])
    """
    return (
        FunctionalModuleWithBuffers(model),
        _parameters(model, disable_autograd_tracking),
        tuple([b.detach().clone() for b in model.buffers()]),
    )


def combine_state_for_ensemble(models: Sequence[Module]) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """The function of one of several modules of one class, and the parameters and buffers of all, stacked: for
    :func:`vmap`.

    >>> import pullback as torch
    >>> from pullback.functorch import combine_state_for_ensemble
    >>> f, parameters, buffers = combine_state_for_ensemble([torch.nn.Linear(2, 1) for _ in range(3)])
    >>> torch.vmap(f, (0, 0, None))(parameters, buffers, torch.ones(5, 2)).shape
    torch.Size([3, 5, 1])
    """
    parameters, buffers = stack_module_state(models)
    return (
        FunctionalModuleWithBuffers(models[0]),
        tuple([p.detach() for p in parameters.values()]),
        tuple(buffers.values()),
    )
