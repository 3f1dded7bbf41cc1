"""``torch.distributed.checkpoint.state_dict``: state dicts in which optimizers, too, name parameters.

One process has everything, so a full state dict is the state dict.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ....nn.modules.module import Module

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]


@dataclass
class StateDictOptions:
    """What a state dict has: ``ignore_frozen_params`` leaves those out, ``strict`` is that of loading."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def get_model_state_dict(model: Module, *, submodules: Any = None, options: Any = None) -> dict[str, Any]:
    """The model's state dict."""
    state = model.state_dict()
    if options is not None and options.ignore_frozen_params:
        frozen = {name for name, p in model.named_parameters() if not p.requires_grad}
        state = {name: value for name, value in state.items() if name not in frozen}
    return state


def set_model_state_dict(model: Module, model_state_dict: dict[str, Any], *, options: Any = None) -> Any:
    """Load it."""
    return model.load_state_dict(model_state_dict, strict=options is None or options.strict)


def get_optimizer_state_dict(
    model: Module, optimizers: Any, *, submodules: Any = None, options: Any = None
) -> dict[str, Any]:
    """The state of one optimizer or several, by the names of parameters instead of their numbers."""
    names = {id(p): name for name, p in model.named_parameters()}
    merged: dict[str, Any] = {"state": {}, "param_groups": []}
    for optimizer in _several(optimizers):
        own = optimizer.state_dict()
        by_number = [names[id(p)] for group in optimizer.param_groups for p in group["params"]]
        merged["state"].update({by_number[i]: state for i, state in own["state"].items()})
        merged["param_groups"] += [{**g, "params": [by_number[i] for i in g["params"]]} for g in own["param_groups"]]
    return merged


def set_optimizer_state_dict(
    model: Module, optimizers: Any, optim_state_dict: dict[str, Any], *, options: Any = None
) -> None:
    """Load what :func:`get_optimizer_state_dict` gave."""
    names = {id(p): name for name, p in model.named_parameters()}
    saved = {name: group for group in optim_state_dict["param_groups"] for name in group["params"]}
    for optimizer in _several(optimizers):
        own = optimizer.state_dict()
        by_number = [names[id(p)] for group in optimizer.param_groups for p in group["params"]]
        state = {
            i: optim_state_dict["state"][name] for i, name in enumerate(by_number) if name in optim_state_dict["state"]
        }
        groups = [
            {**group, **saved.get(by_number[group["params"][0]], {}), "params": group["params"]}
            for group in own["param_groups"]
            if group["params"]
        ]
        optimizer.load_state_dict({"state": state, "param_groups": groups})


def get_state_dict(
    model: Module, optimizers: Any, *, submodules: Any = None, options: Any = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Those of the model and of its optimizers."""
    return get_model_state_dict(model, options=options), get_optimizer_state_dict(model, optimizers)


def set_state_dict(
    model: Module, optimizers: Any, *, model_state_dict: Any, optim_state_dict: Any, options: Any = None
) -> Any:
    """Load both."""
    if optim_state_dict:
        set_optimizer_state_dict(model, optimizers, optim_state_dict)
    return set_model_state_dict(model, model_state_dict, options=options)


def _several(optimizers: Any) -> list[Any]:
    return list(optimizers) if isinstance(optimizers, Iterable) else [optimizers]
