"""``DistributedDataParallel``: the same model on all ranks, each with a part of the batch; gradients are averaged."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..base import thread_state
from ..base.device import device as device_type
from ..base.errors import with_notes
from ..core.tensor import Tensor
from ..nn.modules.module import Module
from ..nn.modules.sparse import Embedding, EmbeddingBag
from .algorithms.join import Join, Joinable, JoinHook, count
from .buffers import refuse_tracing
from .collectives import start_broadcast
from .errors import refuse_options
from .gradient_buckets import Reducer
from .object_collectives import gathered
from .process_group import ProcessGroup
from .reduce_op import ReduceOp
from .world import resolved

__all__ = ["DistributedDataParallel"]

MEGABYTE = 1 << 20
IGNORED = "_ddp_params_and_buffers_to_ignore"


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors in an output: in lists, tuples, dicts and dataclasses, one in another."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from tensors_in(getattr(value, field.name, None))


def broadcast_all(group: ProcessGroup, tensors: Sequence[Tensor], root: int) -> None:
    """Give all ranks the values of tensors of one, those of one type together."""
    kinds: dict[Any, list[Tensor]] = {}
    for tensor in tensors:
        kinds.setdefault(tensor.dtype, []).append(tensor.detach())
    for alike in kinds.values():
        start_broadcast(group, alike, root).wait()


class DistributedDataParallel(Module, Joinable):
    """A module whose gradients are the averages over all ranks, so that all make the same step.

    The parameters of rank 0 are given to all at the beginning. While backward runs, gradients are collected in buckets,
    and each bucket is reduced as soon as it is full.

    Args:
        module: the model; all ranks have the same.
        device_ids, output_device: None, as there is but the CPU.
        broadcast_buffers: whether each forward begins with the buffers of rank 0.
        init_sync: whether the parameters of rank 0 are given to all.
        process_group: the ranks; by default all.
        bucket_cap_mb: the size of a bucket, in MB.
        find_unused_parameters: find out in each step which parameters take part, for models in which some may not.
        gradient_as_bucket_view: let ``.grad`` be a view of the bucket, which saves memory and a copy.
        static_graph: the same parameters take part in each step, however often.

    Raises:
        RuntimeError: no parameter requires a gradient; or the ranks have different models.
        ValueError: devices are named.

    >>> import pullback as torch, pullback.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    >>> model(torch.ones(3, 2)).sum().backward(); model.module.weight.grad
    tensor([[3., 3.]])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
    ) -> None:
        refuse_options(
            "DistributedDataParallel",
            delay_all_reduce_named_params=delay_all_reduce_named_params,
            param_to_hook_all_reduce=param_to_hook_all_reduce,
            mixed_precision=mixed_precision,
        )
        Module.__init__(self)
        Joinable.__init__(self)
        if device_mesh is not None:
            if process_group is not None:
                raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
            process_group = device_mesh.get_group()
        self.process_group = resolved(process_group)
        ignored = set(getattr(module, IGNORED, ()))
        self.parameters_to_ignore = ignored
        named = [(n, p) for n, p in module.named_parameters() if n not in ignored]
        trained = [(n, p) for n, p in named if p.requires_grad]
        if not trained:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a "
                "gradient."
            )
        if device_ids or output_device is not None:
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with "
                "single-device/multiple-device GPU modules or CPU modules, but got device_ids "
                f"{device_ids}, output_device {output_device}, and module parameters {{device(type='cpu')}}."
            )
        for name, p in named:
            if hasattr(p, "materialize") and hasattr(p, "cls_to_become"):
                raise with_notes(
                    RuntimeError(
                        "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. Run a "
                        "dummy forward pass to correctly initialize the modules"
                    ),
                    f"{name} is not initialized.",
                )
        self.device_ids, self.output_device, self.dim = None, None, dim
        self.device, self.device_type = device_type("cpu"), "cpu"
        self.module = module
        self.broadcast_buffers, self.find_unused_parameters = broadcast_buffers, find_unused_parameters
        self.gradient_as_bucket_view, self.static_graph = gradient_as_bucket_view, static_graph
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._buffers_to_sync = [b for n, b in module.named_buffers() if n not in ignored and b is not None]
        self._named = named
        if init_sync:
            self._check_same_model(named)
            broadcast_all(self.process_group, [p for _, p in named] + self._buffers_to_sync, 0)
        sparse = {
            id(m.weight) for m in module.modules() if isinstance(m, (Embedding, EmbeddingBag)) and m.sparse is True
        }
        cap = 25 if bucket_cap_mb is None else bucket_cap_mb
        self.reducer = Reducer(
            [p for _, p in trained],
            self.process_group,
            sparse,
            int(cap * MEGABYTE),
            find_unused_parameters and not static_graph,
            static_graph,
            gradient_as_bucket_view,
            [n for n, _ in trained],
        )

    def _check_same_model(self, named: Sequence[tuple[str, Tensor]]) -> None:
        shapes = [(tuple(p.shape), str(p.dtype)) for _, p in named]
        everyones = gathered(self.process_group, shapes, "shapes of parameters")
        first, mine = everyones[0], self.process_group.rank()
        for rank in sorted(range(len(everyones)), key=lambda rank: rank != mine):  # all raise if any differs
            others = everyones[rank]
            if len(first) != len(others):
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but Rank 0 has {len(first)} params, while rank {rank} "
                    f"has inconsistent {len(others)} params."
                )
            for i, (expected, found) in enumerate(zip(first, others)):
                if expected != found:
                    raise with_notes(
                        RuntimeError(
                            f"[{rank}]: params[{i}] in this process with sizes {list(found[0])} appears not to match "
                            "sizes of the same param in process 0."
                        ),
                        f"{named[i][0]} is {found[0]} {found[1]} on rank {rank}, and {expected[0]} {expected[1]} on 0.",
                    )

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, params_and_buffers_to_ignore: Any) -> None:
        """Leave parameters and buffers of these names alone, in a model that is to be wrapped."""
        setattr(module, IGNORED, params_and_buffers_to_ignore)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module; the backward that follows averages the gradients."""
        refuse_tracing("DistributedDataParallel")
        reducing = thread_state.is_grad_enabled() and self.require_backward_grad_sync
        work = Join.notify_join_context(self)
        if work is not None:
            work.wait()
            if not self._divide_by_initial:
                self.reducer.divisor = int(work.outputs[0].item())
        joining = self._join_config.enable
        if joining:
            count(self.process_group, int(reducing))[1].wait()
        if reducing:
            self.reducer.begin()
        if self._syncs_buffers():
            self._sync_buffers(joining)
        output = self.module(*inputs, **kwargs)
        if reducing:
            self.require_forward_param_sync = True
            self.reducer.expect(tensors_in(output))
        else:
            self.require_forward_param_sync = False
        return output

    _divide_by_initial = True

    def _syncs_buffers(self) -> bool:
        return self.require_forward_param_sync and self.broadcast_buffers and bool(self._buffers_to_sync)

    def _sync_buffers(self, joining: bool) -> None:
        root = self._last_working(True) if joining else 0
        broadcast_all(self.process_group, self._buffers_to_sync, root)

    def _last_working(self, working: bool) -> int:
        """The last rank that has inputs."""
        last, work = count(self.process_group, self.process_group.rank() if working else -1, ReduceOp.MAX)
        work.wait()
        return int(last[0])

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Inside, gradients of this rank add up in ``.grad``; the first backward outside averages the sums."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: Any, hook: Callable[[Any, Any], Any]) -> None:
        """Let a function reduce the buckets.

        Args:
            hook: called with ``state`` and a ``GradBucket``; returns a future of the reduced, averaged flat tensor.

        Raises:
            TypeError: it cannot be called.
            RuntimeError: there is one already.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self.reducer.hook, self.reducer.state = hook, state

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """A context for loops of different lengths on the ranks: see :class:`Join`.

        Args:
            divide_by_initial_world_size: average over all ranks, or over those that still have inputs.
        """
        return Join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What this rank does when it has no more inputs."""
        self._divide_by_initial = kwargs.get("divide_by_initial_world_size", True)
        self.reducer.divisor = self.process_group.size()
        return _Shadow(self)

    @property
    def join_device(self) -> Any:
        return self.device

    @property
    def join_process_group(self) -> ProcessGroup:
        return self.process_group

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """What is known of the model, and of the buckets: their sizes, and how many bytes were given to collectives."""
        buckets, trained = self.reducer.buckets, [p for _, p in self._named if p.requires_grad]
        return {
            "module_name": type(self.module).__name__,
            "backend_name": self.process_group.name(),
            "num_parameter_tensors": len(trained),
            "total_parameter_size_bytes": sum(p.numel() * p.element_size() for p in trained),
            "find_unused_parameters": int(self.find_unused_parameters),
            "broadcast_buffers": int(self.broadcast_buffers),
            "gradient_as_bucket_view": int(self.gradient_as_bucket_view),
            "world_size": self.process_group.size(),
            "rank": self.process_group.rank(),
            "bucket_sizes": ", ".join(str(bucket.flat.nbytes) for bucket in buckets),
            "num_buckets_reduced": len(buckets) * self.reducer.steps,
            "bytes_sent": self.process_group.bytes_sent,
            "iteration": self.reducer.steps,
        }


class _Shadow(JoinHook):
    """The collectives of a step of :class:`DistributedDataParallel`, without a step."""

    def __init__(self, model: DistributedDataParallel) -> None:
        self.model = model

    def main_hook(self) -> None:
        model = self.model
        reducing, work = count(model.process_group, 0)
        work.wait()
        if reducing[0]:
            model.reducer.begin()
        if model._syncs_buffers():
            broadcast_all(model.process_group, model._buffers_to_sync, model._last_working(False))
        model.require_forward_param_sync = bool(reducing[0])
        if reducing[0]:
            model.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        model = self.model
        root = model._last_working(is_last_joiner)
        broadcast_all(model.process_group, [p for _, p in model._named] + model._buffers_to_sync, root)
        model._divide_by_initial, model.reducer.divisor = True, model.process_group.size()
