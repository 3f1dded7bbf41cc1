"""``swap_in_optimizer_params_and_state``: lend an optimizer other parameters and state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..base.thread_state import no_grad
from ..core.tensor import Tensor
from .optimizer import Optimizer, Options, StateDict

__all__ = ["swap_in_optimizer_params_and_state"]

_NAME = "swap_in_optimizer_params_and_state"


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: StateDict
) -> Iterator[None]:
    """Let an optimizer work on other parameters, with other state and options, inside a ``with`` block.

    Args:
        optimizer: has made a step, so that it has state.
        swapin_parameters: the other parameters, in the order of the optimizer's own.
        swapin_optim_state: the other state, as :meth:`Optimizer.state_dict` gives it. Tensors in it are changed
            in place; nothing else in it changes.

    Raises:
        RuntimeError: what is given does not fit the optimizer.

    >>> import pullback as torch
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5, momentum=0.9)
    >>> optimizer.param_groups[0]["params"][0].grad = torch.ones(1); optimizer.step()
    >>> other = torch.zeros(1, requires_grad=True); other.grad = torch.ones(1)
    >>> state = {"state": {}, "param_groups": optimizer.state_dict()["param_groups"]}
    >>> with torch.optim.swap_in_optimizer_params_and_state(optimizer, {"w": other}, state):
    ...     optimizer.step()
    >>> other, optimizer.param_groups[0]["params"]
    (tensor([-0.5000], requires_grad=True), [tensor([-0.5000], requires_grad=True)])
    """
    if not optimizer.state:
        raise RuntimeError(f"{_NAME} requires initialized optimizer state.")
    given, groups = _checked(optimizer.param_groups, swapin_optim_state)
    params = iter(swapin_parameters.values())
    if len(swapin_parameters) < sum(len(group["params"]) for group in groups):
        raise RuntimeError(f"{_NAME} requires the explicit parameter state to match optimizer.param_groups ordering.")
    state: defaultdict[Any, Any] = defaultdict(dict)
    names: dict[Any, Tensor] = {}
    own_state, own_groups = optimizer.state, [group.copy() for group in optimizer.param_groups]
    try:
        for group, other in zip(optimizer.param_groups, groups):
            group |= other | {"params": [next(params) for _ in other["params"]]}
            names |= zip(other["params"], group["params"])
        for name, p in names.items():
            state[p] = dict(given.get(name, {}))
        optimizer.state = state
        yield
    finally:
        for group, own in zip(optimizer.param_groups, own_groups):
            group.clear()
            group |= own
        optimizer.state = own_state
        for name, values in given.items():
            _write_back(values, state[names[name]])


@no_grad()
def _write_back(given: dict[str, Any], used: dict[str, Any]) -> None:
    """State that the optimizer has moved into memory of its own, back to where it was given."""
    for key, value in given.items():
        if isinstance(value, Tensor) and used.get(key, value) is not value:
            value.copy_(used[key])


def _checked(groups: list[Options], state_dict: Any) -> tuple[dict[Any, Any], list[Options]]:
    """The state and the groups of a state dict, if they fit."""
    if not isinstance(state_dict, dict):
        raise RuntimeError(f"{_NAME} requires a DCP-style optimizer state_dict.")
    state, others = state_dict.get("state"), state_dict.get("param_groups")
    if not isinstance(state, dict):
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['state'] to be a dict mapping packed parameter ids to per-param "
            f"state dicts, got {type(state).__name__}."
        )
    if any(isinstance(key, Tensor) for key in state):
        raise RuntimeError(f"{_NAME} requires optimizer.state_dict()-style state keyed by packed parameter ids.")
    if not all(isinstance(value, dict) for key, value in state.items() if isinstance(key, int)):
        raise RuntimeError(f"{_NAME} requires per-parameter optimizer state entries to be dictionaries.")
    if not isinstance(others, list):
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['param_groups'] to be a list of param-group dicts, "
            f"got {type(others).__name__}."
        )
    if len(groups) != len(others):
        raise RuntimeError("swapin_optim_state has a different number of parameter groups than the live optimizer.")
    for i, (group, other) in enumerate(zip(groups, others)):
        if not isinstance(other, dict):
            raise RuntimeError(f"{_NAME} requires each optimizer param group to be a dictionary.")
        numbers = other.get("params")
        if not isinstance(numbers, list) or not all(isinstance(n, int) for n in numbers):
            raise RuntimeError(
                f"{_NAME} requires optimizer.state_dict()-style param_groups[*]['params'] entries keyed by packed "
                "parameter ids."
            )
        if len(group["params"]) != len(numbers):
            raise RuntimeError(
                f"swapin_optim_state param group {i} has a different number of params than the live optimizer "
                "param group."
            )
        if group.keys() != other.keys():
            raise RuntimeError(
                f"{_NAME} requires optimizer.state_dict()-style param group keys to exactly match the live optimizer "
                f"group keys for group {i}. Keys only in swap-in: {[k for k in other if k not in group]}. "
                f"Keys only in live: {[k for k in group if k not in other]}."
            )
    known = {n for other in others for n in other["params"]}
    if extra := [key for key in state if key not in known]:
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['state'] to be keyed only by packed parameter ids from "
            f"param_groups[*]['params']; got extra keys {extra!r}."
        )
    return state, others
