"""``fully_shard``: a module whose parameters are cut into parts, gathered while it computes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...base import thread_state
from ...core.tensor import Tensor
from ...engine.saved_tensors import saved_tensors_hooks
from ...nn.modules.container import ModuleDict, ModuleList
from ...nn.modules.module import Module
from ..buffers import refuse_tracing
from ..device_mesh import DeviceMesh, init_device_mesh
from ..errors import refuse_options
from ..world import default_group
from .shards import MixedPrecisionPolicy, ShardGroup, cut, unpack

__all__ = [
    "CPUOffloadPolicy",
    "FSDPModule",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
]


@dataclass
class OffloadPolicy:
    """Where parts are kept: where they are."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """In the memory of the CPU, which is where all is."""

    pin_memory: bool = True


class _Running(threading.local):
    modules: tuple[Any, ...] = ()  # whose forward runs, the outermost first


_running = _Running()


FULL, NOWHERE = MixedPrecisionPolicy(), OffloadPolicy()


class UnshardHandle:
    """What :meth:`FSDPModule.unshard` returns with ``async_op``."""

    def __init__(self, groups: Sequence[ShardGroup]) -> None:
        self._groups = groups

    def wait(self) -> None:
        """Wait until the wholes are there."""
        for group in self._groups:
            group.unshard()
        self._groups = ()


class FSDPModule:
    """What a module is after :func:`fully_shard`, besides what it was."""

    _shards: ShardGroup

    def _groups(self, recurse: bool) -> list[ShardGroup]:
        modules = self.modules() if recurse else (self,)  # type: ignore[attr-defined]
        return [module._shards for module in modules if isinstance(module, FSDPModule)]

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather the parameters of this module, until :meth:`reshard`."""
        if async_op:
            self._shards.start()
            return UnshardHandle([self._shards])
        self._shards.unshard()
        return None

    def reshard(self) -> None:
        """Keep only this rank's parts."""
        self._shards.depth = 0
        self._shards.reshard(True)

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Set whether backward adds gradients up over the ranks, or only here, to be added up later."""
        for group in self._groups(recurse):
            group.sync = requires_gradient_sync

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Set whether the wholes go after forward, and are gathered again for backward."""
        for group in self._groups(recurse):
            group.free_after_forward = reshard_after_forward

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Set what sums of gradients are divided by; by default the number of ranks."""
        self._shards.divisor = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Say whether more backwards follow before the step: nothing depends on it."""

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Say whether replicas add their gradients up: they always do."""
        if not requires_all_reduce:
            raise NotImplementedError("set_requires_all_reduce(False) is not supported")

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Say whether the wholes go after backward: they do."""

    def set_modules_to_forward_prefetch(self, modules: Sequence[Any]) -> None:
        """Say what to gather ahead in forward: the next module is, once its order is known."""

    def set_modules_to_backward_prefetch(self, modules: Sequence[Any]) -> None:
        """Say what to gather ahead in backward: the module before is."""

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Say whether backward needs the wholes: it gathers those that it needs."""


def _cast(value: Any, policy: MixedPrecisionPolicy, output: bool) -> Any:
    """Floating-point tensors in the type that the policy wants."""
    wanted = policy.output_dtype if output else policy.param_dtype
    if wanted is None or not output and not policy.cast_forward_inputs:
        return value
    if isinstance(value, Tensor):
        return value.to(wanted) if value.is_floating_point() else value
    if isinstance(value, dict):
        return {key: _cast(item, policy, output) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_cast(item, policy, output) for item in value)
    return value


def _compute(module: Any, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A forward with the wholes."""
    refuse_tracing("A sharded module")
    shards: ShardGroup = module._shards
    before = _running.modules
    root = before[0] if before else module
    if shards.order is not root._shards.order:
        shards.order = root._shards.order
    if shards not in shards.order:
        shards.order.append(shards)
    _running.modules = (*before, module)
    try:
        shards.unshard()
        shards.prefetch(1)
        args, kwargs = _cast(args, shards.policy, False), _cast(kwargs, shards.policy, False)
        if thread_state.is_grad_enabled():
            with saved_tensors_hooks(shards.pack, unpack):
                result = forward(module, *args, **kwargs)
        else:
            result = forward(module, *args, **kwargs)
    finally:
        _running.modules = before
        free = shards.free_after_forward and module is not root
        shards.reshard(free or not thread_state.is_grad_enabled())
    return _cast(result, shards.policy, True)


def _parameters_of(module: Module, ignored: set[int]) -> Iterator[tuple[Tensor, list[tuple[Module, str]]]]:
    """The parameters of a module and those inside that are not cut yet, with all the modules that have each."""
    found: dict[int, tuple[Tensor, list[tuple[Module, str]]]] = {}

    def visit(inner: Module) -> None:
        for name, p in inner._parameters.items():
            if p is not None and id(p) not in ignored:
                found.setdefault(id(p), (p, []))[1].append((inner, name))
        for child in inner.children():
            if not isinstance(child, FSDPModule):
                visit(child)

    visit(module)
    yield from found.values()


def fully_shard(
    module: Any,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Any = None,
    mp_policy: MixedPrecisionPolicy = FULL,
    offload_policy: OffloadPolicy = NOWHERE,
    ignored_params: set[Tensor] | None = None,
    dp_mesh_dims: Any = None,
) -> Any:
    """Cut the parameters of a module into parts, one for each rank, which gathers them while the module computes.

    Apply it to inner modules first, then to the whole: each call takes what is not cut yet. The parameters become
    ``DTensor`` objects, and so do their gradients; make the optimizer afterwards.

    Args:
        module: a module, or a list of them; changed in place, to a class that is also an :class:`FSDPModule`.
        mesh: of one dimension; of two, the first replicates. By default all ranks.
        reshard_after_forward: whether the wholes go after forward, and are gathered again for backward; by default for
            all but the outermost module, which needs them at once.
        mp_policy: the types to compute and to reduce in.
        ignored_params: parameters that stay whole.

    Raises:
        ValueError: the module is cut already; a mesh of more dimensions.
        NotImplementedError: ``shard_placement_fn``: parameters are cut along their first dimension.

    >>> import pullback as torch, pullback.distributed as dist
    >>> from pullback.distributed.fsdp import fully_shard
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = fully_shard(torch.nn.Linear(2, 1))
    >>> model(torch.ones(3, 2)).sum().backward(); model.weight.grad.full_tensor()
    tensor([[3., 3.]])
    >>> dist.destroy_process_group()
    """
    refuse_options("fully_shard", dp_mesh_dims=dp_mesh_dims)
    if isinstance(module, (list, tuple)):
        for one in module:
            fully_shard(
                one,
                mesh=mesh,
                reshard_after_forward=reshard_after_forward,
                mp_policy=mp_policy,
                ignored_params=ignored_params,
            )
        return module
    if isinstance(module, FSDPModule):
        raise AssertionError(
            "Each distinct composable distributed API can only be applied to a module once. fully_shard has already "
            f"been applied to the following module:\n{module}"
        )
    if isinstance(module, (ModuleList, ModuleDict)):
        raise ValueError(f"fully_shard does not support containers that do not implement forward: {module}")
    if shard_placement_fn is not None:
        raise NotImplementedError("fully_shard: shard_placement_fn: parameters are cut along their first dimension")
    mesh = init_device_mesh("cpu", (default_group().size(),)) if mesh is None else mesh
    parameters = list(_parameters_of(module, {id(p) for p in ignored_params or ()}))
    entries, group, replicas = cut(parameters, mesh)
    free = True if reshard_after_forward is None else bool(reshard_after_forward)
    module.__dict__["_shards"] = ShardGroup(entries, group, replicas, mp_policy, free)
    kind = type(module)
    original = kind.forward

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _compute(self, original, args, kwargs)

    module.__class__ = type(f"FSDP{kind.__name__}", (FSDPModule, kind), {"forward": forward})
    return module


def register_fsdp_forward_method(module: Any, method_name: str) -> None:
    """Let another method of a module have the wholes, as ``forward`` has."""
    if not isinstance(module, FSDPModule):
        return
    original = getattr(type(module), method_name)

    def method(*args: Any, **kwargs: Any) -> Any:
        return _compute(module, original, args, kwargs)

    setattr(module, method_name, method)
