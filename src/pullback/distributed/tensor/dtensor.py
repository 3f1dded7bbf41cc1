"""``DTensor``: a tensor of which each rank of a mesh holds a part, or all, or a term of a sum.

Its array is the rank's own, so that the engine, optimizers and hooks work on parts as on any tensor. Its shape is that
of the whole. Operations work on the parts where :mod:`.names` knows how, and norms add up over the ranks; all others
gather the whole first, on all ranks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import thread_state
from ...base.shape import Size
from ...core.record import wrap
from ...core.tensor import Tensor
from ...core.versions import bump_version
from ...core.views import gradient_edge
from ...ops.convert import identity_node
from ...overrides import DisableTorchFunctionSubclass
from .. import collectives
from ..device_mesh import DeviceMesh
from ..reduce_op import ReduceOp
from .class_parallel import cut_cross_entropy
from .dispatch import distributed_call, flattened, mapped
from .layouts import Add, Gather, Split, own_part
from .placement_types import Partial, Placement, Replicate, Shard, cut_order, part_of

__all__ = ["DTensor", "distribute_module", "distribute_tensor"]

# what concerns the tensor itself, and no values
OF_ITSELF = frozenset("register_hook register_post_accumulate_grad_hook retain_grad data_ptr".split())
NORMS = frozenset({"norm", "vector_norm", "linalg_vector_norm", "linalg_norm"})


class DTensor(Tensor):
    """A tensor on the ranks of a mesh: see :func:`distribute_tensor` and :meth:`from_local`.

    Attributes:
        device_mesh: the ranks.
        placements: how it lies along each dimension of the mesh.
    """

    device_mesh: DeviceMesh
    placements: tuple[Placement, ...]
    _whole: tuple[int, ...]

    def __new__(
        cls, local: Tensor, device_mesh: DeviceMesh, placements: Sequence[Placement], shape: Sequence[int]
    ) -> Any:
        self = object.__new__(cls)
        self._array, self._view, self._grad, self._hooks = local._array, local._view, None, None
        e = gradient_edge(local)
        self._fn = identity_node(e, local._array) if e is local else e
        self.__dict__.update(device_mesh=device_mesh, placements=tuple(placements), _whole=tuple(shape))
        return self

    # --- what it is ---------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """The size of each dimension of the whole."""
        return Size(self._whole)

    def size(self, dim: int | None = None) -> Any:
        """The shape of the whole, or one of its numbers."""
        return self.shape if dim is None else self._whole[dim]

    def numel(self) -> int:
        """How many elements the whole has."""
        return int(np.prod(self._whole, dtype=np.int64))

    def dim(self) -> int:
        """How many dimensions it has."""
        return len(self._whole)

    def __len__(self) -> int:
        return self._whole[0]

    @property
    def _local_tensor(self) -> Tensor:
        return wrap(self._array)

    @property
    def grad(self) -> Any:
        """The gradient, which lies as this tensor does."""
        return None if self._grad is None else DTensor(self._grad, self.device_mesh, self.placements, self._whole)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._grad = None if value is None else wrap(value._array)

    @property
    def data(self) -> Any:
        """The same memory without history."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        if isinstance(value, DTensor) and value.placements != self.placements:
            value = value.detach().redistribute(placements=self.placements)
        self._array = value._array

    def detach(self) -> Any:
        """The same memory without history."""
        return DTensor(wrap(self._array), self.device_mesh, self.placements, self._whole)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return (
            f"DTensor(local_tensor={wrap(self._array)!r}, device_mesh={self.device_mesh!r}, "
            f"placements={self.placements!r})"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            copy = DTensor(wrap(self._array.copy()), self.device_mesh, self.placements, self._whole)
            copy.requires_grad = self.requires_grad
            copy.__dict__.update({k: v for k, v in self.__dict__.items() if k == "_is_param"})
            memo[id(self)] = copy
        return memo[id(self)]

    # --- to and from the parts ----------------------------------------------------------------------------------

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: DeviceMesh,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Any = None,
        stride: Any = None,
        grad_placements: Any = None,
    ) -> DTensor:
        """The tensor whose parts the ranks have; by default each has the whole.

        Args:
            shape: of the whole, if the parts have different sizes.
        """
        placements = [Replicate()] * device_mesh.ndim if placements is None else placements
        whole = list(local_tensor.shape)
        if shape is not None:
            whole = list(shape)
        else:
            for dim, placement in enumerate(placements):
                if isinstance(placement, Shard):
                    whole[placement.dim] *= device_mesh.size(dim)
        return DTensor(local_tensor, device_mesh, _checked(placements, device_mesh, len(whole)), whole)

    def to_local(self, *, grad_placements: Any = None) -> Tensor:
        """This rank's part; gradients flow back to this tensor."""
        local = wrap(self._array)
        e = gradient_edge(self) if thread_state.is_grad_enabled() else None
        if e is not None:
            local._fn = identity_node(e, self._array) if e is self else e
        return local

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
        forward_dtype: Any = None,
        backward_dtype: Any = None,
    ) -> DTensor:
        """The same tensor, lying otherwise.

        Raises:
            RuntimeError: to ``Partial``, or to another mesh.
        """
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        wanted = _checked(placements, self.device_mesh, len(self._whole))
        if device_mesh is not None and device_mesh != self.device_mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        local, now, order = self.to_local(), list(self.placements), cut_order(self.placements)
        for i, dim in reversed(list(enumerate(order))):  # to whole, the dimension that was cut last first
            if now[dim] != wanted[dim] or any(now[d] != wanted[d] for d in order[:i]):
                local = self._whole_along(local, now, dim, order[:i])
                now[dim] = Replicate()
        for dim in cut_order(wanted):
            target = wanted[dim]
            if now[dim] == target:
                continue
            if not isinstance(target, Shard):
                raise RuntimeError(
                    f"Can not redistribute from {now[dim]} to {target}, redistributing to Partial is for internal use "
                    "only!"
                )
            local = Split.apply(local, target.dim, self.device_mesh.get_group(dim))
        return DTensor(local, self.device_mesh, wanted, self._whole)

    def _whole_along(self, local: Tensor, placements: Sequence[Placement], dim: int, before: Sequence[int]) -> Tensor:
        """A local tensor after the ranks along a dimension of the mesh, which cut after others, have joined theirs."""
        placement, group = placements[dim], self.device_mesh.get_group(dim)
        if isinstance(placement, Partial):
            return Add.apply(local, placement.reduce_op, group)
        if isinstance(placement, Shard):
            length = self._whole[placement.dim]
            for outer in before:
                if placements[outer].is_shard(placement.dim):
                    begin, end = part_of(length, self.device_mesh.size(outer), self.device_mesh.get_local_rank(outer))
                    length = end - begin
            return Gather.apply(local, placement.dim, length, group)
        return local

    def full_tensor(self, *, grad_placements: Any = None) -> Tensor:
        """The whole, on all ranks."""
        return self.redistribute(placements=[Replicate()] * self.device_mesh.ndim).to_local()

    # --- operations ---------------------------------------------------------------------------------------------

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Set whether gradients are computed."""
        self.requires_grad = requires_grad
        return self

    def backward(self, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
        """The gradients of the whole, by all ranks together."""
        if gradient is not None:
            gradient = gradient.full_tensor() if isinstance(gradient, DTensor) else gradient
        self.full_tensor().backward(gradient, *args, **kwargs)

    @classmethod
    def __torch_function__(cls, func: Callable, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        with DisableTorchFunctionSubclass():
            name = getattr(func, "__name__", "")
            if name == "copy_" and isinstance(args[0], DTensor):
                return _copied(args[0], args[1])
            if name in OF_ITSELF:
                return func(*args, **kwargs)
            if name == "cross_entropy":
                result = cut_cross_entropy(DTensor, *args, **kwargs)
                if result is not NotImplemented:
                    return result
            args, kwargs = _distributed(name, args, kwargs)
            first = next(x for x in flattened((args, kwargs)) if isinstance(x, DTensor))
            if name in NORMS and (result := _norm(first, args, kwargs)) is not None:
                return result
            in_place = name.endswith("_") and not name.endswith("__") and isinstance(args[0], DTensor)
            result = distributed_call(func, args, kwargs, DTensor, in_place)
            if result is not NotImplemented:
                return result
            wholes = mapped((args, kwargs), DTensor, DTensor.full_tensor)
            whole = func(*wholes[0], **wholes[1])
            return _copied(args[0], whole) if in_place else _as_whole(whole, first.device_mesh)


DTensor.__module__ = DTensor.__module__.rpartition(".")[0]  # where programs, and pickles, find it


def _distributed(name: str, args: Any, kwargs: Any) -> Any:
    """Arguments in which tensors that each rank has whole are distributed, if that was asked for.

    Raises:
        RuntimeError: it was not, and they are more than numbers.
    """
    values = list(flattened((args, kwargs)))
    plain = [x for x in values if isinstance(x, Tensor) and not isinstance(x, DTensor) and x.numel() != 1]
    if not plain:
        return args, kwargs
    if not implicit.replication:
        raise RuntimeError(
            f"{name}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling "
            "distributed operators! Please see https://docs.pytorch.org/docs/main/distributed.tensor.html"
            "#mixed-tensor-and-dtensor-operations for more details."
        )
    mesh = next(x.device_mesh for x in values if isinstance(x, DTensor))

    def whole(x: Tensor) -> Tensor:
        return x if isinstance(x, DTensor) or x.numel() == 1 else DTensor.from_local(x, mesh)

    return mapped((args, kwargs), Tensor, whole)


class _Implicit(threading.local):
    replication = False  # whether plain tensors among operands count as whole on each rank


implicit = _Implicit()


def _checked(placements: Sequence[Placement], mesh: DeviceMesh, ndim: int) -> tuple[Placement, ...]:
    if len(placements) != mesh.ndim:
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found placements length: "
            f"{len(placements)}, and device_mesh.ndim: {mesh.ndim}."
        )
    for p in placements:
        if isinstance(p, Shard) and p.dim >= ndim:
            raise AssertionError(f"Sharding dim {p.dim} greater than tensor ndim {ndim}")
    return tuple(Shard(p.dim + ndim) if isinstance(p, Shard) and p.dim < 0 else p for p in placements)


def _as_whole(value: Any, mesh: DeviceMesh) -> Any:
    """Results that each rank has whole."""
    if isinstance(value, Tensor):
        return DTensor(value, mesh, [Replicate()] * mesh.ndim, value.shape)
    if isinstance(value, (list, tuple)):
        items = [_as_whole(item, mesh) for item in value]
        return items if isinstance(value, list) else type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def local_part(whole: Tensor, mesh: DeviceMesh, placements: Sequence[Placement]) -> Tensor:
    """This rank's part of a tensor that it has whole."""
    for dim in cut_order(placements):
        placement = placements[dim]
        if isinstance(placement, Shard):
            whole = own_part(whole, placement.dim, mesh.get_group(dim))
    return whole


def _copied(target: DTensor, source: Any) -> DTensor:
    """The target, after the values of the source were written into it."""
    if isinstance(source, DTensor):
        if source.placements != target.placements:
            source = source.detach().redistribute(placements=target.placements)
        part = source._array
    else:
        whole = source.detach().expand(target._whole)
        part = local_part(whole, target.device_mesh, target.placements)._array
    target._array[...] = part
    bump_version(target._array)
    return target


def _norm(x: DTensor, args: Any, kwargs: Any) -> DTensor | None:
    """A norm of all elements, added up over the parts; None if it is another one."""
    given = dict(zip(("x", "ord", "dim"), args)) | kwargs
    order = given.get("ord", given.get("p", 2))
    order = 2 if order in (None, "fro") else order
    partial = any(p.is_partial() for p in x.placements)
    if given.get("dim") is not None or partial or not isinstance(order, (int, float)) or x.requires_grad:
        return None
    values = np.abs(x._array.astype(np.float64)).reshape(-1)
    infinite = np.isinf(order)
    local = values.max(initial=0.0) if infinite else float((values**order).sum())
    total = wrap(np.array(local))
    for dim, placement in enumerate(x.placements):
        if placement.is_shard():
            collectives.all_reduce(total, ReduceOp.MAX if infinite else ReduceOp.SUM, x.device_mesh.get_group(dim))
    value = float(total._array) if infinite else float(total._array) ** (1 / order)
    mesh = x.device_mesh
    return DTensor(wrap(np.array(value, x._array.dtype)), mesh, [Replicate()] * mesh.ndim, ())


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """A tensor that all ranks have, lying on a mesh.

    Args:
        placements: how it lies along each dimension of the mesh; by default whole on each rank.
        src_data_rank: the rank whose values count; None: each rank takes its own.

    >>> import pullback as torch, pullback.distributed as dist
    >>> from pullback.distributed.tensor import Shard, distribute_tensor
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = distribute_tensor(torch.arange(4.0), dist.init_device_mesh("cpu", (1,)), [Shard(0)])
    >>> (x * 2).full_tensor()
    tensor([0., 2., 4., 6.])
    >>> dist.destroy_process_group()
    """
    if device_mesh is None:
        from ..device_mesh import init_device_mesh
        from ..world import get_world_size

        device_mesh = init_device_mesh("cpu", (get_world_size(),))
    wanted = _checked(placements or [Replicate()] * device_mesh.ndim, device_mesh, tensor.ndim)
    whole = tensor.detach().contiguous().clone()
    if src_data_rank is not None:
        for dim in range(device_mesh.ndim):
            collectives.broadcast(whole, group=device_mesh.get_group(dim), group_src=src_data_rank)
    part = local_part(whole, device_mesh, wanted).clone()
    result = DTensor(part, device_mesh, wanted, tensor.shape)
    result.requires_grad = tensor.requires_grad
    return result


def distribute_module(
    module: Any,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[..., None] | None = None,
    input_fn: Callable[..., Any] | None = None,
    output_fn: Callable[..., Any] | None = None,
) -> Any:
    """A module whose parameters and buffers lie on a mesh.

    Args:
        partition_fn: ``partition_fn(name, module, mesh)`` puts them there; what it leaves is whole on each rank.
    """
    from ...nn.parameter import Parameter

    if device_mesh is None:
        from ..device_mesh import init_device_mesh
        from ..world import get_world_size

        device_mesh = init_device_mesh("cpu", (get_world_size(),))
    for name, child in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, child, device_mesh)
        for key, p in list(child._parameters.items()):
            if p is not None and not isinstance(p, DTensor):
                child.register_parameter(key, Parameter(distribute_tensor(p.data, device_mesh), p.requires_grad))
        for key, b in list(child._buffers.items()):
            if b is not None and not isinstance(b, DTensor):
                child._buffers[key] = distribute_tensor(b, device_mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda m, inputs: input_fn(m, inputs, device_mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda m, inputs, outputs: output_fn(m, outputs, device_mesh))
    return module
