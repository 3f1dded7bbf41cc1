"""``torch.distributed.checkpoint.state_dict``: states of models and optimizers by the names of parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.record import wrap
from ...core.tensor import Tensor
from ...nn.modules.module import Module
from ...optim.optimizer import Optimizer
from ..data_parallel import DistributedDataParallel
from ..tensor.dtensor import DTensor, local_part

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]

WRAPPERS = ("_fsdp_wrapped_module.", "_checkpoint_wrapped_module.", "_orig_mod.")


@dataclass
class StateDictOptions:
    """How states are got and set.

    Attributes:
        full_state_dict: wholes on all ranks, instead of parts.
        cpu_offload: with ``full_state_dict``, only rank 0 gets them.
        broadcast_from_rank0: the state that is set is that of rank 0.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


_default = StateDictOptions()


def clean(name: str) -> str:
    """A parameter's name without those of wrappers."""
    for part in WRAPPERS:
        name = name.replace(part, "")
    return name


def _inside(model: Module) -> Module:
    return model.module if isinstance(model, DistributedDataParallel) else model


def _names(model: Module) -> dict[int, str]:
    return {id(p): clean(name) for name, p in _inside(model).named_parameters()}


def _shown(value: Any, options: StateDictOptions) -> Any:
    if not isinstance(value, Tensor):
        return value
    value = value.detach()
    return value.full_tensor() if options.full_state_dict and isinstance(value, DTensor) else value


def _leave_to_rank_0(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    from ..world import get_rank, is_initialized

    alone = options.full_state_dict and options.cpu_offload and is_initialized() and get_rank()
    return {} if alone else state


def get_model_state_dict(
    model: Module, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """Parameters and buffers by their names, without those of wrappers."""
    chosen = options or _default
    state = Module.state_dict(_inside(model))
    frozen = {name for name, p in _inside(model).named_parameters() if not p.requires_grad}
    found = {
        clean(name): _shown(value, chosen)
        for name, value in state.items()
        if not (chosen.ignore_frozen_params and clean(name) in frozen)
    }
    return _leave_to_rank_0(found, chosen)


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Load parameters and buffers, whole or in parts."""
    chosen = options or _default
    inside = _inside(model)
    if chosen.broadcast_from_rank0:
        from ..object_collectives import sent
        from ..world import default_group

        model_state_dict = sent(default_group(), model_state_dict, 0, "set_model_state_dict")
    names = {clean(name): name for name in Module.state_dict(inside)}
    given = {names.get(name, name): value for name, value in model_state_dict.items()}
    return Module.load_state_dict(inside, given, chosen.strict)


def _in_parts(value: Any, p: Any) -> Any:
    """State of a parameter as it lies: tensors of its part's shape are parts."""
    if isinstance(value, Tensor) and isinstance(p, DTensor) and not isinstance(value, DTensor):
        if value._array.shape == p._array.shape and value._array.ndim:
            return DTensor(value.detach(), p.device_mesh, p.placements, p._whole)
    return value


def get_optimizer_state_dict(
    model: Module, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state of an optimizer by the names of parameters; created first, if it has not stepped yet."""
    chosen = options or _default
    names, state, groups = _names(model), {}, []
    for optimizer in optimizers if isinstance(optimizers, (list, tuple)) else (optimizers,):
        _make_state(optimizer)
        for group in optimizer.param_groups:
            groups.append({**group, "params": [names[id(p)] for p in group["params"]]})
            for p in group["params"]:
                if p in optimizer.state:
                    own = optimizer.state[p].items()
                    state[names[id(p)]] = {key: _shown(_in_parts(value, p), chosen) for key, value in own}
    if chosen.flatten_optimizer_state_dict:
        flat = {f"state.{name}.{key}": value for name, own in state.items() for key, value in own.items()}
        for group in groups:
            for name in group["params"]:
                flat.update({f"param_groups.{name}.{k}": v for k, v in group.items() if k != "params"})
        return _leave_to_rank_0(flat, chosen)
    return _leave_to_rank_0({"state": state, "param_groups": groups}, chosen)


def _make_state(optimizer: Optimizer) -> None:
    """Let an optimizer have its state before its first step: a step with gradients of 0 that changes nothing."""
    if optimizer.state:
        return
    everyone = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    gradients = [p._grad for p in everyone]
    values = [p._array.copy() for p in everyone]
    for p in everyone:
        p._grad = wrap(p._array * 0)
    optimizer.step()
    for p, grad, value in zip(everyone, gradients, values):
        p._grad = grad
        p._array[...] = value
    for own in optimizer.state.values():
        for value in own.values():
            if isinstance(value, Tensor):
                value._array[...] = 0


def by_number(model: Module, optimizer: Optimizer, state: dict[str, Any]) -> dict[str, Any]:
    """A state by names as one that ``load_state_dict`` takes, with this rank's parts."""
    names, found, groups = _names(model), {}, []
    numbers: dict[str, tuple[int, Any]] = {}
    for group in optimizer.param_groups:
        for p in group["params"]:
            numbers[names[id(p)]] = len(numbers), p
    for name, own in state["state"].items():
        number, p = numbers[name]
        found[number] = {key: _part_for(value, p) for key, value in own.items()}
    for group in state["param_groups"]:
        groups.append({**group, "params": [numbers[name][0] for name in group["params"]]})
    return {"state": found, "param_groups": groups}


def _part_for(value: Any, p: Any) -> Any:
    if isinstance(value, DTensor):
        return wrap(value._array)
    if isinstance(value, Tensor) and isinstance(p, DTensor) and tuple(value.shape) == p._whole and value.ndim:
        return local_part(value, p.device_mesh, p.placements)
    return value


def set_optimizer_state_dict(
    model: Module, optimizers: Any, optim_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> None:
    """Load the state of an optimizer by the names of parameters, whole or in parts."""
    several = optimizers if isinstance(optimizers, (list, tuple)) else (optimizers,)
    names = _names(model)
    for optimizer in several:
        own = {names[id(p)] for group in optimizer.param_groups for p in group["params"]}
        if "state" not in optim_state_dict:
            optim_state_dict = _unflattened(optim_state_dict, optimizer, names)
        state = {name: value for name, value in optim_state_dict["state"].items() if name in own}
        groups = [g for g in optim_state_dict["param_groups"] if set(g["params"]) & own]
        optimizer.load_state_dict(by_number(model, optimizer, {"state": state, "param_groups": groups}))


def _unflattened(flat: dict[str, Any], optimizer: Optimizer, names: dict[int, str]) -> dict[str, Any]:
    state: dict[str, dict[str, Any]] = {}
    groups = []
    for group in optimizer.param_groups:
        members = [names[id(p)] for p in group["params"]]
        options = dict(group)
        for name in members:
            head, options_head = f"state.{name}.", f"param_groups.{name}."
            found = {key[len(head) :]: value for key, value in flat.items() if key.startswith(head)}
            if found:
                state[name] = found
            options.update({k[len(options_head) :]: v for k, v in flat.items() if k.startswith(options_head)})
        groups.append({**options, "params": members})
    return {"state": state, "param_groups": groups}


def get_state_dict(
    model: Module, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of a model and of its optimizers."""
    return get_model_state_dict(model, options=options), get_optimizer_state_dict(model, optimizers, options=options)


def set_state_dict(
    model: Module,
    optimizers: Any,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Load the states of a model and of its optimizers."""
    result = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return result
