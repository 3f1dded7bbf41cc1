"""``DTensor``: a tensor of which each rank of a mesh holds a part, or all, or a term of a sum.

Its array is the rank's own, so that the engine, optimizers and hooks work on parts as on any tensor. Its shape is that
of the whole. Elementwise operations on tensors that lie alike work on the parts; norms add up over the ranks; all other
operations gather the whole first, on all ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...base import thread_state
from ...base.shape import Size
from ...core.record import wrap
from ...core.tensor import Tensor
from ...core.versions import bump_version
from ...core.views import gradient_edge
from ...ops.convert import identity_node
from ...overrides import PUBLIC, DisableTorchFunctionSubclass
from .. import collectives
from ..device_mesh import DeviceMesh
from ..reduce_op import ReduceOp
from .layouts import Add, Gather, Split, own_part
from .placement_types import Partial, Placement, Replicate, Shard, part_of

__all__ = ["DTensor", "distribute_module", "distribute_tensor"]

# public functions with another function in front of the op, and others that work on each element by itself
BY_NAME = frozenset(
    """
    add sub mul div true_divide pow neg abs exp log sqrt rsqrt sigmoid tanh relu gelu silu clamp where detach clone
    copy_ zero_ fill_ zeros_like ones_like empty_like full_like rand_like randn_like to float double half bfloat16
    add_ sub_ mul_ div_ clamp_ addcmul_ addcdiv_ lerp_ lerp addcmul addcdiv contiguous requires_grad_ type normal_
    uniform_ isfinite isnan rsub
    """.split()
)
LINEAR = frozenset("detach clone zeros_like empty_like contiguous add sub neg add_ sub_ requires_grad_".split())
NORMS = frozenset({"norm", "vector_norm", "linalg_vector_norm", "linalg_norm"})
ELEMENTWISE = {fn.__name__ for op, fn in PUBLIC.items() if op.kind == "elementwise"} | BY_NAME


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
        local, now = self.to_local(), list(self.placements)
        for dim in reversed(range(self.device_mesh.ndim)):  # to whole, the dimension that was cut last first
            if now[dim] != wanted[dim] or any(now[d] != wanted[d] for d in range(dim)):
                local = self._whole_along(local, now, dim)
                now[dim] = Replicate()
        for dim in range(self.device_mesh.ndim):
            target = wanted[dim]
            if now[dim] == target:
                continue
            if not isinstance(target, Shard):
                raise RuntimeError(f"Can not redistribute from {now[dim]} to {target}!")
            local = Split.apply(local, target.dim, self.device_mesh.get_group(dim))
        return DTensor(local, self.device_mesh, wanted, self._whole)

    def _whole_along(self, local: Tensor, placements: Sequence[Placement], dim: int) -> Tensor:
        """A local tensor after the ranks along a dimension of the mesh have joined what they have."""
        placement, group = placements[dim], self.device_mesh.get_group(dim)
        if isinstance(placement, Partial):
            return Add.apply(local, placement.reduce_op, group)
        if isinstance(placement, Shard):
            length = self._whole[placement.dim]
            for outer in range(dim):  # which cut the same dimension before
                if placements[outer] == placement:
                    begin, end = part_of(length, self.device_mesh.size(outer), self.device_mesh.get_local_rank(outer))
                    length = end - begin
            return Gather.apply(local, placement.dim, length, group)
        return local

    def full_tensor(self, *, grad_placements: Any = None) -> Tensor:
        """The whole, on all ranks."""
        return self.redistribute(placements=[Replicate()] * self.device_mesh.ndim).to_local()

    # --- operations ---------------------------------------------------------------------------------------------

    @classmethod
    def __torch_function__(cls, func: Callable, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        with DisableTorchFunctionSubclass():
            found = list(_dtensors((args, kwargs)))
            name = getattr(func, "__name__", "")
            if name == "copy_" and isinstance(args[0], DTensor):
                return _copied(args[0], args[1])
            if name in NORMS:
                result = _norm(found[0], args, kwargs)
                if result is not None:
                    return result
            if _is_elementwise(func, name) and (lead := _lead(found, args, kwargs, name)) is not None:
                result = func(*_map(args, DTensor.to_local), **_map(kwargs, DTensor.to_local))
                if name.endswith("_") and not name.endswith("__") and isinstance(args[0], DTensor):
                    return args[0]
                return _wrapped(result, lead.device_mesh, lead.placements, lead._whole)
            whole = func(*_map(args, DTensor.full_tensor), **_map(kwargs, DTensor.full_tensor))
            mesh = found[0].device_mesh
            if name.endswith("_") and not name.endswith("__") and isinstance(args[0], DTensor):
                return _copied(args[0], whole)
            return _wrapped(whole, mesh, [Replicate()] * mesh.ndim, None)


def _checked(placements: Sequence[Placement], mesh: DeviceMesh, ndim: int) -> tuple[Placement, ...]:
    if len(placements) != mesh.ndim:
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found placements length: "
            f"{len(placements)}, and device_mesh.ndim: {mesh.ndim}."
        )
    return tuple(Shard(p.dim + ndim) if isinstance(p, Shard) and p.dim < 0 else p for p in placements)


def _dtensors(value: Any) -> Iterator[DTensor]:
    if isinstance(value, DTensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _dtensors(item)
    elif isinstance(value, dict):
        yield from _dtensors(list(value.values()))


def _map(value: Any, f: Callable[[DTensor], Any]) -> Any:
    if isinstance(value, DTensor):
        return f(value)
    if isinstance(value, (list, tuple)):
        items = [_map(item, f) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: _map(item, f) for key, item in value.items()}
    return value


def _wrapped(value: Any, mesh: DeviceMesh, placements: Sequence[Placement], shape: Any) -> Any:
    if isinstance(value, Tensor):
        return DTensor(value, mesh, placements, value.shape if shape is None else shape)
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(_wrapped(item, mesh, placements, shape) for item in value)
    if isinstance(value, list):
        return [_wrapped(item, mesh, placements, shape) for item in value]
    return value


def _is_elementwise(func: Callable, name: str) -> bool:
    op = getattr(func, "op", None)
    return name in ELEMENTWISE or op is not None and op.kind == "elementwise"


def _lead(found: list[DTensor], args: Any, kwargs: Any, name: str) -> DTensor | None:
    """The tensor as which all others lie, so that an elementwise operation may work on the parts; else None."""
    lead = max(found, key=lambda d: len(d._whole))
    for d in found:
        single = d._array.ndim == 0 and all(p.is_replicate() for p in d.placements)
        if not single and (d.placements != lead.placements or d._whole != lead._whole):
            return None
    plain = [x for x in _flat((args, kwargs)) if isinstance(x, Tensor) and not isinstance(x, DTensor)]
    cut = not all(p.is_replicate() for p in lead.placements)
    if any(x._array.ndim for x in plain) and cut:
        return None
    if any(p.is_partial() for p in lead.placements) and (name not in LINEAR or plain):
        return None
    return lead


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _flat(item)
    elif isinstance(value, dict):
        yield from _flat(list(value.values()))
    else:
        yield value


def local_part(whole: Tensor, mesh: DeviceMesh, placements: Sequence[Placement]) -> Tensor:
    """This rank's part of a tensor that it has whole."""
    for dim, placement in enumerate(placements):
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
