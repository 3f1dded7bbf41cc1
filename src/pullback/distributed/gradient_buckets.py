"""The gradients of a model in buckets, each reduced over the ranks as soon as backward has filled it.

The buckets follow the order in which backward gives gradients, as far as it is known: at first the parameters' order
from the last to the first, then that of the first backward on rank 0. All ranks reduce them in this order, whatever
the order of their own backward is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..base.errors import with_notes
from ..core.record import wrap
from ..core.tensor import Tensor
from ..core.versions import bump_version
from ..core.views import current_array, gradient_edge
from ..engine.current_task import current_task, queue_callback
from ..engine.plan import reachable
from ..ops.sparse import sparse_coo_tensor
from .collectives import start_all_reduce
from .object_collectives import gathered, sent
from .process_group import ProcessGroup
from .reduce_op import ReduceOp

__all__ = ["GradBucket"]

FIRST_BUCKET = 1 << 20  # bytes: a small first bucket, so that reducing begins early
Hook = Callable[[Any, Any], Any]


class GradBucket:
    """The gradients of some parameters in one flat tensor: what communication hooks are given."""

    def __init__(self, index: int, parameters: Sequence[Tensor], dtype: np.dtype) -> None:
        self._index, self._parameters, self._last = index, list(parameters), False
        sizes = [p.numel() for p in self._parameters]
        self._ends = np.cumsum(sizes).tolist()
        self.flat = np.zeros(self._ends[-1], dtype)
        self._buffer = wrap(self.flat)
        self.pending = 0
        self.result: Any = None  # the future of the reduced gradients, once it is started

    def index(self) -> int:
        """The bucket's number."""
        return self._index

    def buffer(self) -> Tensor:
        """The gradients, one after the other."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Replace the gradients."""
        self._buffer = buffer

    def parameters(self) -> list[Tensor]:
        """The parameters whose gradients these are."""
        return list(self._parameters)

    def gradients(self) -> list[Tensor]:
        """The gradients, in the parameters' shapes: views of the buffer."""
        flat = current_array(self._buffer)
        return [wrap(self.part(flat, i)) for i in range(len(self._parameters))]

    def is_last(self) -> bool:
        """Whether it is the last one that is reduced."""
        return self._last

    def part(self, flat: np.ndarray, place: int) -> np.ndarray:
        """The part of a flat array that belongs to a parameter, in its shape."""
        shape = self._parameters[place].shape
        return flat[self._ends[place - 1] if place else 0 : self._ends[place]].reshape(shape)

    def __repr__(self) -> str:
        return f"GradBucket(index={self._index}, {len(self._parameters)} parameters, {self.flat.nbytes} bytes)"


class Reducer:
    """Reduces the gradients of parameters over the ranks of a group while backward computes them.

    Args:
        sparse: ids of the parameters whose gradients are sparse; these are reduced at the end.
        cap: bytes of a bucket.
        find_unused: whether parameters may be unused in a step.
        static: whether those that are unused are the same in each step.
        as_views: whether ``.grad`` is a view of the bucket.
    """

    def __init__(
        self,
        parameters: Sequence[Tensor],
        group: ProcessGroup,
        sparse: set[int],
        cap: int,
        find_unused: bool,
        static: bool,
        as_views: bool,
        names: Sequence[str],
    ) -> None:
        self.parameters, self.group, self.cap = list(parameters), group, cap
        self.find_unused, self.static, self.as_views, self.names = find_unused, static, as_views, list(names)
        self.sparse = [p for p in parameters if id(p) in sparse]
        self.divisor = group.size()
        self.hook: Hook | None = None
        self.state: Any = None
        self.place: dict[int, tuple[GradBucket, int]] = {}
        dense = [p for p in self.parameters if id(p) not in sparse]
        self.make_buckets(dense[::-1])
        self.order: list[int] = []  # of arrival in the first backward
        self.rebuilt = self.expecting = False
        self.steps = 0
        self.arrived: set[int] = set()
        self.uses: dict[int, int] = {}  # how often the gradients of parameters arrive in a step of a static graph
        self.unused: set[int] = set()
        self.counted: dict[int, int] = {}
        self.task: Any = None
        self.started = 0
        self.marked = False
        for i, p in enumerate(self.parameters):
            p.register_post_accumulate_grad_hook(self.arrival(i))

    def make_buckets(self, order: Sequence[Tensor]) -> None:
        """Put the parameters into buckets in this order; those of one type together."""
        self.place.clear()
        open_buckets: dict[np.dtype, list[Tensor]] = {}
        full: list[list[Tensor]] = []
        room = {p._array.dtype: min(FIRST_BUCKET, self.cap) for p in order}
        for p in order:
            kind = p._array.dtype
            members = open_buckets.setdefault(kind, [])
            members.append(p)
            if sum(q._array.nbytes for q in members) >= room[kind]:
                full.append(open_buckets.pop(kind))
                room[kind] = self.cap
        full += open_buckets.values()
        self.buckets = [GradBucket(i, members, members[0]._array.dtype) for i, members in enumerate(full)]
        for bucket in self.buckets:
            self.place.update({id(p): (bucket, i) for i, p in enumerate(bucket._parameters)})
        if self.buckets:
            self.buckets[-1]._last = True

    # --- a step -------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Before a forward: check that the last step was finished, and put the parameters in the order of arrival.

        Raises:
            RuntimeError: some parameter got no gradient.
        """
        if self.expecting and self.arrived:
            raise self._unfinished()
        if self.steps == 1 and not self.rebuilt and not self.find_unused:
            self.rebuilt = True
            order = sent(self.group, self.order, 0, "bucket order")
            missing = [i for i in range(len(self.parameters)) if i not in set(order)]
            dense = [self.parameters[i] for i in [*order, *missing] if id(self.parameters[i]) in self.place]
            if len(dense) == len(self.place):
                self.make_buckets(dense)

    def _unfinished(self) -> RuntimeError:
        missing = [self.names[i] for i in range(len(self.parameters)) if i not in self.arrived]
        return with_notes(
            RuntimeError(
                "Expected to have finished reduction in the prior iteration before starting a new one. This error "
                "indicates that your module has parameters that were not used in producing loss. You can enable "
                "unused parameter detection by passing the keyword argument `find_unused_parameters=True` to "
                "`torch.nn.parallel.DistributedDataParallel`, and by making sure all `forward` function outputs "
                "participate in calculating loss."
            ),
            f"Parameters which did not receive grad for rank {self.group.global_rank}: {', '.join(missing)}",
        )

    def expect(self, outputs: Iterable[Tensor] | None) -> None:
        """After a forward: gradients are going to arrive.

        Args:
            outputs: of the forward, to find out which parameters they depend on; None: on all.
        """
        self.expecting, self.task, self.started, self.marked = True, None, 0, False
        self.arrived, self.counted = set(), {}
        for bucket in self.buckets:
            bucket.pending, bucket.result = len(bucket._parameters), None
            bucket.set_buffer(wrap(bucket.flat))
        if outputs is not None and self.find_unused:
            self.unused = self._unused(outputs)
            if len(self.unused) == len(self.parameters):
                self._mark_unused()

    def _unused(self, outputs: Iterable[Tensor]) -> set[int]:
        """The numbers of the parameters that the outputs do not depend on."""
        edges = [e for e in map(gradient_edge, outputs) if e is not None]
        nodes = reachable(edges)
        used = {id(e) for node in nodes for e in node._edges if e is not None and e._seq == 0}
        used |= {id(e) for e in edges if e._seq == 0}
        return {i for i, p in enumerate(self.parameters) if id(p) not in used}

    def arrival(self, number: int) -> Callable[[Tensor], None]:
        """The hook of a parameter, called when its gradient is there."""

        def hook(p: Tensor) -> None:
            if not self.expecting:
                return
            task = current_task()
            if task is not None and task is not self.task:
                self.task = task
                queue_callback(self.end)
            if self.static:
                self.counted[number] = self.counted.get(number, 0) + 1
                if self.steps == 0 or self.counted[number] < self.uses.get(number, 1):
                    if self.steps == 0 and number not in self.order:
                        self.order.append(number)
                    return
            if not self.marked:
                self._mark_unused()
            self._ready(number)

        return hook

    def _mark_unused(self) -> None:
        self.marked = True
        for number in sorted(self.unused):
            if number not in self.arrived:
                self._ready(number)

    def _ready(self, number: int) -> None:
        """A parameter's gradient is complete: put it into its bucket, and reduce what is full."""
        p = self.parameters[number]
        if number in self.arrived:
            raise with_notes(
                RuntimeError(
                    "Expected to mark a variable ready only once. This error is caused by one of the following "
                    "reasons: 1) Use of a module parameter outside the `forward` function. 2) Reused parameters in "
                    "multiple reentrant backward passes."
                ),
                f"Parameter {self.names[number]} has been marked as ready twice. static_graph=True allows it.",
            )
        self.arrived.add(number)
        if self.steps == 0 and number not in self.order:
            self.order.append(number)
        if id(p) not in self.place:
            return  # sparse
        bucket, place = self.place[id(p)]
        part = bucket.part(bucket.flat, place)
        grad = None if p._grad is None else p._grad._array
        scale = 1 if self.hook is not None else 1 / self.divisor
        if grad is None:
            part[...] = 0
        elif scale == 1:
            part[...] = grad
        else:
            np.multiply(grad, grad.dtype.type(scale), out=part)
        bucket.pending -= 1
        while self.started < len(self.buckets) and self.buckets[self.started].pending == 0:
            self.start(self.buckets[self.started])
            self.started += 1

    def start(self, bucket: GradBucket) -> None:
        """Reduce a bucket: by the hook, if there is one."""
        if self.hook is not None:
            bucket.result = self.hook(self.state, bucket)
        else:
            bucket.result = start_all_reduce(self.group, [bucket.buffer()], ReduceOp.SUM, "all_reduce").get_future()

    def end(self) -> None:
        """At the end of a backward: wait for the buckets, and put the gradients where they belong."""
        if self.static and self.steps == 0:
            self.uses = dict(self.counted)
            self.unused = {i for i in range(len(self.parameters)) if i not in self.counted}
            self._mark_unused()
            for number in list(self.order):
                if number not in self.arrived:
                    self._ready(number)
        if self.started < len(self.buckets) or any(self._number(p) not in self.arrived for p in self.sparse):
            return  # an inner backward, or an error that the next forward raises
        self.finish(self._used_anywhere())
        self.expecting = False
        self.steps += 1

    def _number(self, p: Tensor) -> int:
        return next(i for i, q in enumerate(self.parameters) if q is p)

    def _used_anywhere(self) -> np.ndarray | None:
        """For each parameter whether any rank has used it; None if none was unused."""
        if not self.find_unused:
            return None
        used = np.array([i not in self.unused for i in range(len(self.parameters))], np.int32)
        start_all_reduce(self.group, [wrap(used)], ReduceOp.SUM, "all_reduce").wait()
        return used > 0

    def finish(self, used: np.ndarray | None) -> None:
        """Wait for the reduced gradients and store them.

        Args:
            used: for each parameter whether any rank has used it: the gradients of others stay as they are.
        """
        numbers = {id(p): i for i, p in enumerate(self.parameters)}
        for bucket in self.buckets:
            value = bucket.result.wait()
            value = value[0] if isinstance(value, (list, tuple)) else value
            flat = current_array(value).reshape(-1)
            if self.as_views and flat is not bucket.flat and flat.base is not bucket.flat:
                bucket.flat[...] = flat
                flat = bucket.flat
            for i, p in enumerate(bucket._parameters):
                number = numbers[id(p)]
                if used is not None and not used[number] or self.static and number in self.unused:
                    continue
                part = bucket.part(flat, i)
                if self.as_views:
                    if p._grad is None or p._grad._array.base is not bucket.flat:
                        p._grad = wrap(part)
                elif p._grad is None:
                    p._grad = wrap(np.empty_like(p._array))
                    p._grad._array[...] = part
                else:
                    p._grad._array[...] = part
                if p._grad is not None:
                    bump_version(p._grad._array)
        for p in self.sparse:
            self._reduce_sparse(p)

    def _reduce_sparse(self, p: Tensor) -> None:
        """Add up gradients of which only some rows are there: every rank gets the rows of all."""
        grad = p._grad
        mine = None
        if grad is not None:
            grad = grad.coalesce()
            mine = grad.indices().numpy(), (grad.values() / self.divisor).numpy()
        parts = [part for part in gathered(self.group, mine, "sparse gradient") if part is not None]
        if parts:
            indices = np.concatenate([part[0] for part in parts], 1)
            rows = np.concatenate([part[1] for part in parts])
            p._grad = sparse_coo_tensor(wrap(indices), wrap(rows), tuple(p.shape)).coalesce()

    def shadow(self) -> None:
        """Take part in the step of the other ranks, with gradients of 0."""
        for bucket in self.buckets:
            bucket.flat[...] = 0
            bucket.set_buffer(wrap(bucket.flat))
            self.start(bucket)
        for bucket in self.buckets:
            bucket.result.wait()
        if self.find_unused:
            self.unused = set(range(len(self.parameters)))
            self._used_anywhere()
        for _ in self.sparse:
            gathered(self.group, None, "sparse gradient")
        self.steps += 1
