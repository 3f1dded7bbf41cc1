"""``FullyShardedDataParallel``: PyTorch's older interface to cut modules, a wrapper around each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from ...base import dtypes, thread_state
from ...core.tensor import Tensor
from ...nn.modules.module import Module
from ...nn.utils.clip_grad import clip_grad_norm_
from ..data_parallel import broadcast_all
from ..device_mesh import DeviceMesh
from ..errors import refuse_options
from ..tensor.dtensor import DTensor
from ..world import resolved
from .fully_shard import FSDPModule, fully_shard
from .shards import MixedPrecisionPolicy
from .wrap import wrap_inside

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "FullyShardedDataParallel",
    "LocalStateDictConfig",
    "MixedPrecision",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictType",
]

PREFIX = "_fsdp_wrapped_module."


class ShardingStrategy(Enum):
    """What is cut, and when it is gathered."""

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When the next parameters are gathered in backward: before the gradients of these are computed."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """What ``state_dict`` holds: wholes, or parts."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class MixedPrecision:
    """The types in which modules compute and reduce."""

    param_dtype: dtypes.dtype | None = None
    reduce_dtype: dtypes.dtype | None = None
    buffer_dtype: dtypes.dtype | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True


@dataclass
class CPUOffload:
    """Whether parts are kept in the CPU's memory, where they are anyway."""

    offload_params: bool = False


@dataclass
class FullStateDictConfig:
    """Options of whole states: ``rank0_only`` leaves them out on other ranks."""

    offload_to_cpu: bool = False
    rank0_only: bool = False


@dataclass
class ShardedStateDictConfig:
    """Options of states in parts."""

    offload_to_cpu: bool = False


LocalStateDictConfig = ShardedOptimStateDictConfig = ShardedStateDictConfig
FullOptimStateDictConfig = FullStateDictConfig


class FullyShardedDataParallel(Module):
    """A wrapper around a module whose parameters are cut into parts: see :func:`fully_shard`.

    Args:
        module: the module; its ``auto_wrap_policy`` may make units of inner modules.
        process_group: the ranks; by default all.
        sharding_strategy: ``FULL_SHARD`` lets wholes go after forward, ``SHARD_GRAD_OP`` after backward.
        mixed_precision: the types to compute in.
        sync_module_states: whether the values of rank 0 are given to all first.
        use_orig_params: accepted: parameters always keep their names.
    """

    _type = StateDictType.FULL_STATE_DICT
    _config: Any = FullStateDictConfig()

    def __init__(
        self,
        module: Module,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: Any = None,
        auto_wrap_policy: Callable[..., bool] | None = None,
        backward_prefetch: Any = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Any = None,
        param_init_fn: Any = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Any = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        refuse_options("FullyShardedDataParallel", param_init_fn=param_init_fn)
        super().__init__()
        group = device_mesh.get_group() if device_mesh is not None else resolved(process_group)
        if sync_module_states:
            broadcast_all(group, [*module.parameters(), *module.buffers()], 0)
        options = {
            "process_group": process_group,
            "sharding_strategy": sharding_strategy,
            "mixed_precision": mixed_precision,
            "device_mesh": device_mesh,
            "ignored_modules": ignored_modules,
            "ignored_states": ignored_states,
        }
        if auto_wrap_policy is not None:
            wrap_inside(
                module,
                auto_wrap_policy,
                lambda inner: FullyShardedDataParallel(inner, **options),
                FullyShardedDataParallel,
            )
        mixed = mixed_precision or MixedPrecision()
        ignored = {p for m in ignored_modules or () for p in m.parameters()}
        ignored |= {p for p in ignored_states or () if isinstance(p, Tensor)}
        fully_shard(
            module,
            mesh=device_mesh or DeviceMesh.from_group(group, "cpu"),
            reshard_after_forward=sharding_strategy in (None, ShardingStrategy.FULL_SHARD),
            mp_policy=MixedPrecisionPolicy(mixed.param_dtype, mixed.reduce_dtype, None, True),
            ignored_params=ignored,
        )
        self._fsdp_wrapped_module = module
        self.process_group, self.sharding_strategy = group, sharding_strategy or ShardingStrategy.FULL_SHARD

    @property
    def module(self) -> Any:
        """The module inside."""
        return self._fsdp_wrapped_module

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._fsdp_wrapped_module, name)

    def __getitem__(self, key: Any) -> Any:
        return self.module[key]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self._fsdp_wrapped_module(*args, **kwargs)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Parameters with the names that they had before they were cut."""
        for name, p in super().named_parameters(*args, **kwargs):
            yield name.replace(PREFIX, ""), p

    def named_buffers(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Buffers with the names that they had before."""
        for name, b in super().named_buffers(*args, **kwargs):
            yield name.replace(PREFIX, ""), b

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """The units in a module."""
        found = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        return found[:1] if root_only else found

    def _cut(self) -> list[FSDPModule]:
        return [m for m in self.modules() if isinstance(m, FSDPModule)]

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Inside, gradients add up here; the first backward outside adds them up over the ranks."""
        for module in self._cut():
            module._shards.sync = False
        try:
            yield
        finally:
            for module in self._cut():
                module._shards.sync = True

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale the gradients of all ranks down to a total norm; the norm before."""
        total = clip_grad_norm_(self.parameters(), max_norm, norm_type)
        return total.full_tensor() if isinstance(total, DTensor) else total

    @staticmethod
    @contextmanager
    def summon_full_params(
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """Inside, the parameters are whole; what was written into them is kept, with ``writeback``."""
        refuse_options("summon_full_params", with_grads=with_grads)
        cut = [m for m in module.modules() if isinstance(m, FSDPModule)]
        for one in cut:
            one._shards.unshard()
        try:
            yield
        finally:
            for one in cut:
                if writeback:
                    for entry in one._shards.entries:
                        with thread_state.set_grad_enabled(False):
                            entry.shard.copy_(entry.whole.detach().to(entry.shard.dtype))
                one._shards.reshard(True)

    # --- states -------------------------------------------------------------------------------------------------

    @classmethod
    def set_state_dict_type(
        cls, module: Module, state_dict_type: StateDictType, state_dict_config: Any = None, optim_config: Any = None
    ) -> None:
        """Choose what ``state_dict`` of a module holds."""
        for unit in cls.fsdp_modules(module):
            unit._type, unit._config = state_dict_type, state_dict_config or FullStateDictConfig()

    @classmethod
    @contextmanager
    def state_dict_type(
        cls, module: Module, state_dict_type: StateDictType, state_dict_config: Any = None, optim_config: Any = None
    ) -> Iterator[None]:
        """Inside, ``state_dict`` of a module holds wholes, or parts."""
        before = [(unit, unit._type, unit._config) for unit in cls.fsdp_modules(module)]
        cls.set_state_dict_type(module, state_dict_type, state_dict_config)
        try:
            yield
        finally:
            for unit, kind, config in before:
                unit._type, unit._config = kind, config

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """The parameters and buffers, with the names that they had before."""
        if destination is not None:
            return super().state_dict(destination=destination, prefix=prefix, keep_vars=keep_vars)
        state = super().state_dict(prefix=prefix, keep_vars=keep_vars)
        whole = self._type is StateDictType.FULL_STATE_DICT
        result = type(state)()
        for name, value in state.items():
            if whole and isinstance(value, DTensor):
                value = value.detach().full_tensor()
            result[name.replace(PREFIX, "")] = value
        if whole and getattr(self._config, "rank0_only", False) and self.process_group.rank():
            return type(state)()
        return result

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Take over parameters and buffers, whole or in parts, by the names that they had before."""
        names = super().state_dict(keep_vars=True)
        given = {name.replace(PREFIX, ""): value for name, value in state_dict.items()}
        renamed = {name: given.pop(name.replace(PREFIX, "")) for name in names if name.replace(PREFIX, "") in given}
        return super().load_state_dict({**renamed, **given}, strict, assign)

    @staticmethod
    def optim_state_dict(model: Module, optim: Any, optim_state_dict: Any = None, group: Any = None) -> dict[str, Any]:
        """The state of an optimizer by the names of parameters, as the model's state is chosen."""
        from ..checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict

        whole = getattr(model, "_type", StateDictType.FULL_STATE_DICT) is StateDictType.FULL_STATE_DICT
        return get_optimizer_state_dict(model, optim, options=StateDictOptions(full_state_dict=whole))

    full_optim_state_dict = optim_state_dict

    @staticmethod
    def optim_state_dict_to_load(
        model: Module, optim: Any, optim_state_dict: dict[str, Any], *args: Any, **kwargs: Any
    ) -> dict[str, Any]:
        """A state by names as one that ``optim.load_state_dict`` takes."""
        from ..checkpoint.state_dict import by_number

        return by_number(model, optim, optim_state_dict)
