"""Parameters cut into parts: whole only while their module computes, or its backward does.

The parameters of one module form a group, which is gathered at once into one flat array. What backward saves of it is
not the memory but the place in it; whoever needs it again gathers the group anew. When all gradients of a group have
arrived, they are added up over the ranks, each of which keeps its part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base import dtypes
from ...core.record import wrap
from ...core.tensor import Tensor
from ...core.versions import bump_version, owner_of
from ...engine.current_task import current_task, queue_callback
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ..buffers import BYTE, as_bytes
from ..collectives import reducing, start_reduce_scatter
from ..device_mesh import DeviceMesh
from ..process_group import ProcessGroup
from ..reduce_op import ReduceOp
from ..tensor.dtensor import DTensor
from ..tensor.placement_types import Placement, Replicate, Shard, _StridedShard, part_of
from ..work import Stage, Work


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The types in which a module computes, and in which its gradients are reduced; None: that of the parameters."""

    param_dtype: dtypes.dtype | None = None
    reduce_dtype: dtypes.dtype | None = None
    output_dtype: dtypes.dtype | None = None
    cast_forward_inputs: bool = True


class Entry:
    """One parameter: its part, the whole while that is there, and the modules that have it."""

    def __init__(
        self, original: Tensor, owners: list[tuple[Module, str]], mesh: DeviceMesh, group: ProcessGroup
    ) -> None:
        self.owners, self.shape = owners, tuple(original._array.shape)
        self.dtype = original._array.dtype
        rows = self.shape[0] if self.shape else 1
        self.row = int(np.prod(self.shape[1:], dtype=np.int64)) if self.shape else 1
        self.bounds = [part_of(rows, group.size(), rank) for rank in range(group.size())]
        begin, end = self.bounds[group.rank()]
        if original.is_meta:  # to be filled later
            part = np.zeros((end - begin, *self.shape[1:]), self.dtype)
        else:
            part = np.ascontiguousarray(original._array.reshape(rows, *self.shape[1:])[begin:end]).copy()
        whole = wrap(np.broadcast_to(np.zeros((), self.dtype), self.shape))
        placements: list[Placement] = [Replicate()] * (mesh.ndim - 1)
        if isinstance(original, DTensor):  # which others have cut before
            factor = 1
            for dim, placement in enumerate(original.placements):
                factor *= original.device_mesh.size(dim) if placement.is_shard(0) else 1
            placements += [_StridedShard(0, factor) if factor > 1 else Shard(0), *original.placements]
            shard = DTensor(wrap(part), mesh.joined_with(original.device_mesh), placements, original.shape)
            whole = DTensor(whole, original.device_mesh, original.placements, original.shape)
        else:
            shard = DTensor(wrap(part), mesh, [*placements, Shard(0)], self.shape or (1,))
        self.shard: Any = Parameter(shard, original.requires_grad)
        self.whole: Any = Parameter(whole, original.requires_grad)
        self.whole._grad = None
        self.longest = self.bounds[0][1] * self.row  # elements that each rank sends, the last ones padded
        self.show(self.shard)

    def show(self, value: Any) -> None:
        """Let the modules have the part, or the whole."""
        for module, name in self.owners:
            module._parameters[name] = value


class Pinned:
    """A saved value that lies in a group's flat array: where, but not the memory."""

    def __init__(self, group: ShardGroup, offset: int, array: np.ndarray) -> None:
        self.group, self.offset = group, offset
        self.shape, self.strides, self.dtype = array.shape, array.strides, array.dtype

    def array(self) -> np.ndarray:
        """The array, in the memory of now."""
        flat = self.group.needed_in_backward()
        return np.ndarray(self.shape, self.dtype, flat, self.offset, self.strides)


class ShardGroup:
    """The parameters of one module, and what of their wholes is there.

    Attributes:
        flat: the memory of the wholes; None while they are not there.
        free_after_forward: whether they go after forward.
        order: the groups of the model in the order of the first forward.
    """

    def __init__(
        self,
        entries: list[Entry],
        group: ProcessGroup,
        replicas: ProcessGroup | None,
        policy: MixedPrecisionPolicy,
        free_after_forward: bool,
    ) -> None:
        self.entries, self.group, self.replicas, self.policy = entries, group, replicas, policy
        self.free_after_forward = free_after_forward
        self.flat: np.ndarray | None = None
        self.work: tuple[Work, np.ndarray] | None = None
        self.order: list[ShardGroup] = []
        self.sync = True
        self.depth = 0
        self.arrived = 0
        self.task: Any = None
        self.divisor: float | None = None
        for entry in entries:
            if entry.whole.requires_grad:
                entry.whole.register_post_accumulate_grad_hook(self._arrival)

    def _kind(self, entry: Entry) -> np.dtype:
        asked = self.policy.param_dtype
        return entry.dtype if asked is None or entry.dtype.kind not in "fV" else asked.numpy

    # --- gathering ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start to gather the wholes, unless they are there."""
        if self.flat is not None or self.work is not None or not self.entries:
            return
        parts = []
        for entry in self.entries:
            part = np.zeros(entry.longest, self._kind(entry))
            own = entry.shard._array.reshape(-1)
            part[: own.size] = own
            parts.append(as_bytes(part))
        source = np.concatenate(parts)
        target = np.empty(source.size * self.group.size(), BYTE)
        stages: list[Stage] = [lambda: self.group.communicator.all_gather(source, target)]
        call = {"parameters": len(self.entries), "bytes": source.nbytes}
        self.work = self.group.start("all_gather", stages, [], None, call, source.nbytes), target

    def gather(self) -> np.ndarray:
        """The memory of the wholes, which are gathered if they are not there."""
        if self.flat is None:
            self.start()
            if self.work is None:
                return np.empty(0, BYTE)
            work, target = self.work
            work.wait()
            self.work = None
            self._lay_out(target.reshape(self.group.size(), -1))
        assert self.flat is not None
        return self.flat

    def _lay_out(self, rows: np.ndarray) -> None:
        """Put what the ranks have sent together to wholes, one after the other."""
        kinds = [self._kind(entry) for entry in self.entries]
        sizes = [
            entry.row * (entry.shape[0] if entry.shape else 1) * k.itemsize for entry, k in zip(self.entries, kinds)
        ]
        starts = np.cumsum([0, *(-(-size // 64) * 64 for size in sizes)])
        flat = np.empty(int(starts[-1]), BYTE)
        at = 0
        self.places = []
        for entry, kind, size, start in zip(self.entries, kinds, sizes, starts):
            whole = flat[start : start + size]
            filled = 0
            for rank, (begin, end) in enumerate(entry.bounds):
                length = (end - begin) * entry.row * kind.itemsize
                whole[filled : filled + length] = rows[rank, at : at + length]
                filled += length
            at += entry.longest * kind.itemsize
            self.places.append((int(start), kind))
        self.flat = flat
        for entry, (start, kind) in zip(self.entries, self.places):
            size = int(np.prod(entry.shape, dtype=np.int64)) * kind.itemsize
            entry.whole._array = flat[start : start + size].view(kind).reshape(entry.shape)

    def unshard(self) -> None:
        """Let the modules have the wholes."""
        self.depth += 1
        self.gather()
        for entry in self.entries:
            entry.show(entry.whole)

    def reshard(self, free: bool) -> None:
        """Let the modules have the parts again; the wholes go, if asked for."""
        self.depth = max(0, self.depth - 1)
        if self.depth:
            return
        for entry in self.entries:
            entry.show(entry.shard)
        if free:
            self.free()

    def free(self) -> None:
        """Let the memory of the wholes go; places keep their shapes."""
        if self.work is not None:
            self.work[0].wait()
            self.work = None
        self.flat = None
        for entry, (_, kind) in zip(self.entries, getattr(self, "places", ())):
            entry.whole._array = np.broadcast_to(np.zeros((), kind), entry.shape)

    def needed_in_backward(self) -> np.ndarray:
        """The memory of the wholes, for backward; the group before it is gathered meanwhile."""
        task = current_task()
        if task is not None and task is not self.task:
            self.task = task
            queue_callback(self.end)
        here = self.flat is not None
        flat = self.gather()
        if not here:
            self.prefetch(-1)
        return flat

    def prefetch(self, step: int) -> None:
        """Start to gather the next group, in the order of forward or against it."""
        if self in self.order:
            place = self.order.index(self) + step
            if 0 <= place < len(self.order) and self.order[place].depth == 0:
                self.order[place].start()

    # --- saved values -------------------------------------------------------------------------------------------

    def pack(self, tensor: Tensor) -> Any:
        """A saved tensor, or its place in the wholes."""
        array = tensor._array
        if self.flat is None or array.__class__ is not np.ndarray or owner_of(array) is not self.flat:
            return tensor
        first = self.flat.__array_interface__["data"][0]
        return Pinned(self, array.__array_interface__["data"][0] - first, array)

    # --- gradients ----------------------------------------------------------------------------------------------

    def _arrival(self, p: Tensor) -> None:
        task = current_task()
        if task is not None and task is not self.task:
            self.task = task
            queue_callback(self.end)
        self.arrived += 1
        if self.arrived == sum(entry.whole.requires_grad for entry in self.entries):
            self.reduce()

    def end(self) -> None:
        """At the end of backward: reduce what is left."""
        self.task = None
        if self.arrived:
            self.reduce()
        elif self.flat is not None and self.depth == 0:
            self.free()

    def reduce(self) -> None:
        """Add the gradients up over the ranks, keep this rank's parts, and let the wholes go."""
        self.arrived = 0
        if self.depth == 0:
            self.free()
        if not self.sync:
            return
        kinds: dict[np.dtype, list[Entry]] = {}
        for entry in self.entries:
            if entry.whole.requires_grad:
                asked = self.policy.reduce_dtype
                kinds.setdefault(self._kind(entry) if asked is None else asked.numpy, []).append(entry)
        for kind, entries in kinds.items():
            self._reduce(kind, entries)

    def _reduce(self, kind: np.dtype, entries: Sequence[Entry]) -> None:
        ranks, longest = self.group.size(), sum(entry.longest for entry in entries)
        rows = np.zeros((ranks, longest), kind)
        at = 0
        for entry in entries:
            if entry.whole._grad is not None:
                grad = entry.whole._grad._array.reshape(-1)
                for rank, (begin, end) in enumerate(entry.bounds):
                    part = grad[begin * entry.row : end * entry.row]
                    rows[rank, at : at + part.size] = part
            at += entry.longest
        result = np.empty(longest, kind)
        output = wrap(result)
        call = {"gradients": len(entries), "elements": longest}
        start_reduce_scatter(self.group, output, rows.reshape(-1), ReduceOp.SUM, "reduce_scatter", call).wait()
        result = output._array
        replicas = 1
        if self.replicas is not None:
            replicas = self.replicas.size()
            stages, left = reducing(self.replicas, result, ReduceOp.SUM)
            self.replicas.start("all_reduce", stages, [], left, call, result.nbytes).wait()
        result = result / result.dtype.type(self.divisor or ranks * replicas)
        at = 0
        for entry in entries:
            touched = entry.whole._grad is not None
            entry.whole._grad = None
            own = entry.shard._array
            part = result[at : at + own.size].reshape(own.shape).astype(entry.dtype)
            at += entry.longest
            if entry.shard._grad is None:
                if touched or part.any():
                    entry.shard._grad = wrap(part)
            else:
                entry.shard._grad._array[...] += part
                bump_version(entry.shard._grad._array)


def cut(
    parameters: Sequence[tuple[Tensor, list[tuple[Module, str]]]], mesh: DeviceMesh
) -> tuple[list[Entry], ProcessGroup, ProcessGroup | None]:
    """Cut parameters along the last dimension of a mesh; along the first of two, they are replicated."""
    if mesh.ndim > 2:
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    group = mesh.get_group(mesh.ndim - 1)
    replicas = mesh.get_group(0) if mesh.ndim == 2 else None
    return [Entry(p, owners, mesh, group) for p, owners in parameters], group, replicas


def unpack(kept: Any) -> Any:
    """What :meth:`ShardGroup.pack` has kept, as a tensor."""
    return wrap(kept.array()) if isinstance(kept, Pinned) else kept
