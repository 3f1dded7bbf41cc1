"""The level of ``vmap`` (JAX: ``BatchTracer``): a function for one example, computed for a whole batch at once.

Inside, a tensor holds a :class:`Batched` value: one array with the batch as its first dimension, which only the
operations' batching rules see (:mod:`pullback.levels.batch_rules`). An operation without a rule runs once for each
example.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from ..base import dtypes, thread_state
from ..base.errors import translate_error, with_notes
from ..core import record, versions, views
from ..core.boundary import cross_boundary
from ..core.geometry import contiguous, copies_of, same_place
from ..core.graph import LEAF, Output
from ..core.level import (
    Level,
    LevelValue,
    batches_in,
    format_level_value,
    map_arrays,
    needs_level,
    overwrite,
    sequence_number,
    traced_draw,
    traced_draw_from,
    without_tangents,
    wrap_value,
)
from ..core.slow_call import wrap_outputs, wrap_results
from ..core.tensor import PLAIN_TENSOR_TYPES, Tensor
from ..core.transform_inputs import is_memory_of_input, register_input
from ..engine.api import grad
from ..ops.concat import cat, stack
from ..ops.reduce import sum_to
from . import batch_backward, batch_rules

OUTSIDE = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args "
    "that has more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped "
    "over in a vmap. Please try to use out-of-place operators instead of inplace arithmetic. If said operator is being "
    "called inside the PyTorch framework, please file a bug report instead."
)


BATCHED_BUT_SAME = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch"
)


class Batched(LevelValue):
    """One value for each example: ``value`` has the batch as its first dimension.

    Attributes:
        dim: where the batch stood in the tensor that was handed to ``vmap``, which a custom Function may want to know.
    """

    __slots__ = ("dim",)
    parts = ("value",)
    dim: int

    def __init__(self, level: Level, value: Any, outer: bool = False, dim: int = 0) -> None:
        self.level, self.value, self.outer, self.dim = level, value, outer, dim

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape[1:]

    @property
    def strides(self) -> tuple[int, ...]:
        return self.value.strides[1:]

    @property
    def flags(self) -> Any:
        return ExampleFlags(self)

    def shown(self, made_by: str | None, requires_grad: bool, extra: tuple[str, ...] = ()) -> str:
        value = self.value if not self.dim else wrap_value(self.value).movedim(0, self.dim)._array
        inside = "\n".join(
            "    " + line if line else line
            for line in format_level_value(value, made_by, requires_grad, extra).split("\n")
        )
        return f"BatchedTensor(lvl={self.depth}, bdim={self.dim}, value=\n{inside}\n)"

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        return self.item()

    def truth(self) -> bool:
        raise with_notes(
            RuntimeError(
                "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't "
                "support that yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
            ),
            page="data-dependent",
        )

    def item(self) -> Any:
        raise RuntimeError(
            "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a "
            "Tensor, please try to rewrite what you're doing with other operations. If error is occurring somewhere "
            "inside PyTorch internals, please file a bug report."
        )

    def numpy(self) -> np.ndarray:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    tolist = numpy

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, Batched) and value.level is self.level:
            value, extra = value.value, self.ndim - value.ndim
            if extra:
                value = value.reshape(value.shape[:1] + (1,) * extra + value.shape[1:])
        self.value = overwrite(self.value, value)


class ExampleFlags:
    """NumPy's ``flags`` as they are of one example."""

    def __init__(self, value: Batched) -> None:
        self.value = value

    @property
    def c_contiguous(self) -> bool:
        v = self.value
        return not v.size or contiguous(v.shape, v.strides, v.itemsize)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.value.value.flags, name)


class Batch(Level):
    """The scope of one ``vmap``.

    Attributes:
        size: how many examples there are.
        randomness: ``'error'``, ``'different'`` or ``'same'``.
    """

    batches = True
    as_is = False  # whether custom Functions run on a batch as they are

    def __init__(self, size: int, randomness: str = "error") -> None:
        self.size, self.randomness = size, randomness

    def __enter__(self) -> Batch:
        super().__enter__()
        thread_state.local.batches += (self,)
        return self

    def __exit__(self, *exc: object) -> None:
        thread_state.local.batches = thread_state.local.batches[:-1]
        super().__exit__(*exc)

    def fast_call(self, op: Any, args: tuple[Any, ...]) -> Any:
        """Fast path of an op call: only arrays and batches of arrays, no modes; None for the slow path."""
        local = thread_state.local
        if (
            op.takes_tensor_list
            or op.index_params
            or op.check is not None
            or local.trace is not None
            or local.layers
            or local.packing
        ):
            return None
        if thread_state.no_grad_threads and local.made is not None:
            return None
        values, inside, batched = list(args), list(args), [False] * len(args)
        edges: list[Any] = []
        wanted, bit, outer = 0, 1, False
        for i in op.tensors:
            x, e = args[i], None
            c = x.__class__
            if c is Tensor or c in PLAIN_TENSOR_TYPES:
                e = x._fn
                if x._view is not None:
                    if x._view is views.INFERENCE_TENSOR:
                        return None
                    e = views.gradient_edge(x)
                values[i] = inside[i] = a = x._array
                if a.__class__ is Batched:
                    inside[i] = v = a.value
                    if a.level is not self or v.__class__ is not np.ndarray:
                        return None
                    batched[i] = True
                    outer = outer or a.outer
                elif a.__class__ is not np.ndarray:
                    return None
                if a.dtype in dtypes.NARROW:
                    return None
                if e is not None:
                    wanted += bit
                    e = x if e is LEAF else e
            elif x is not None and c is not float and c is not int:
                return None
            edges.append(e)
            bit += bit
        if True not in batched:
            return None
        if op.kind == "elementwise":
            out = self._elementwise_arrays(op, values)
        else:
            rule = batch_rules.rule_for(op)
            out = None if rule is None else self._apply_rule(rule, op, batched, inside)
        first: Any = None
        lifted: Any = None
        named, d = op.result is not None, None
        if out.__class__ is np.ndarray:
            first, d = Batched(self, out, outer), out.dtype
        elif out is NotImplemented or out is None:
            return None
        else:
            lifted = self._lift_all(out, outer)
            if named:
                first = lifted[op.differentiable[0]]
                d = first.dtype
        if d is not dtypes.FLOAT32 and d is not dtypes.FLOAT64:
            return wrap_results(op, args, edges, values, lifted or first, None, 2)
        if not wanted or not local.grad:
            return op.result(*map(record.bare, lifted)) if named else record.bare(first)
        node = op.node_type(op.node_name if op.node_name.__class__ is str else op.node_name(*args), "", True)
        saved = op.call_spec.saver(wanted)(values, lifted or (first,))
        result = record.with_node(first.value, node, tuple(edges), saved, sys._getframe(1))
        result._array, result._fn._shape = first, first.value.shape[1:]
        return wrap_outputs(op, result, lifted) if named else result

    def _elementwise_arrays(self, op: Any, values: Sequence[Any]) -> Any:
        """An elementwise operation on plain arrays of one type; None for others."""
        arrays = self._aligned_arrays(values)
        if arrays is None:
            return None
        try:
            return np.asarray(op.impl(*arrays))
        except ValueError as error:
            raise translate_error(op, [v for v in values if hasattr(v, "shape")], error) from None

    def compute(self, op: Any, values: Sequence[Any], outer: bool) -> Any:
        if op.random and self in thread_state.local.batches:  # its own part in that is done
            running = thread_state.local.batches
            try:
                thread_state.local.batches = running[: running.index(self)]
                return self.compute(op, values, outer)
            finally:
                thread_state.local.batches = running
        if op.kind == "elementwise":
            out = self._elementwise_arrays(op, values)
            if out is not None:
                return Batched(self, out, outer)
        rule = None if op.kind == "elementwise" else batch_rules.rule_for(op)
        if rule is None and op.shape_depends_on_values:
            raise batch_rules.dynamic_shape_error(op)
        args: list[Any] = []
        batched: list[Any] = []
        for v in values:
            if v.__class__ is list:  # of tensors; or an option that has index arrays in it, which stay arrays
                args.append([self._unwrap_own(w) for w in v])
                batched.append([self._owns(w) for w in v])
            else:
                holds = v.__class__ is Batched and v.level is self
                args.append(v.value if holds else v)
                batched.append(holds)
        out = NotImplemented
        if rule is not None and not thread_state.local.layers and not needs_level(args):  # all are arrays
            out = self._apply_rule(rule, op, batched, args)
            if out.__class__ is np.ndarray:
                return Batched(self, out, outer)
        if out is NotImplemented:
            args = [
                [wrap_value(w) for w in a]
                if a.__class__ is list and i == 0 and op.takes_tensor_list
                else wrap_value(a)
                if isinstance(a, (np.ndarray, LevelValue))
                else a
                for i, a in enumerate(args)
            ]
            with thread_state.no_grad():
                if op.kind == "elementwise":
                    out = self._elementwise_tensors(op, values, args, batched)
                elif rule is not None:
                    out = self._apply_rule(rule, op, batched, args)
                if out is NotImplemented:
                    out = self._for_each_example(op, batched, args)
        return self._lift_all(out, outer)

    def _apply_rule(self, rule: Callable, op: Any, batched: list[Any], args: list[Any]) -> Any:
        try:
            return rule(op, self.size, batched, *args)
        except batch_rules.NotBatchable as refusal:
            raise RuntimeError(str(refusal)) from None
        except Exception:  # each example alone gives the result, or an error of an example's own shapes
            return NotImplemented

    def _lift_all(self, out: Any, outer: bool) -> Any:
        return (
            [self._lift_result(o, outer) for o in out]
            if isinstance(out, (tuple, list))
            else self._lift_result(out, outer)
        )

    def _lift_result(self, out: Any, outer: bool) -> Batched:
        return Batched(self, out._array if isinstance(out, Tensor) else np.asarray(out), outer)

    def track(self, x: Tensor) -> Tensor:
        """A batch's tensors need no care at its end."""
        return x

    def _aligned_arrays(self, values: Sequence[Any]) -> list[Any] | None:
        """The operands of an elementwise operation as arrays that broadcast; None unless all are plain and of one
        type, and no trace has to see it.
        """
        if thread_state.local.trace is not None:
            return None
        d, ndim = None, 0
        for v in values:
            if isinstance(v, LevelValue):
                a, n = v.value, len(v.shape)
                if v.level is not self or a.__class__ is not np.ndarray:
                    return None
            elif v.__class__ is np.ndarray:
                a, n = v, v.ndim
            elif v.__class__ in (int, float):
                continue
            else:
                return None
            if d is None:
                d = a.dtype
                if not (d is dtypes.FLOAT32 or d is dtypes.FLOAT64):
                    return None
            elif a.dtype is not d:
                return None
            ndim = max(ndim, n)
        return [
            np.asarray(v, d)
            if not isinstance(v, LevelValue)
            else v.value
            if len(v.shape) == ndim
            else v.value.reshape((self.size,) + (1,) * (ndim - len(v.shape)) + v.shape)
            for v in values
        ]

    def _owns(self, v: Any) -> bool:
        return isinstance(v, Batched) and v.level is self

    def _unwrap_own(self, v: Any) -> Any:
        return v.value if self._owns(v) else v

    def _elementwise_tensors(self, op: Any, values: Sequence[Any], args: list[Any], batched: list[Any]) -> Any:
        """An elementwise operation on tensors: examples broadcast among themselves, not against the batch."""
        ndim = max(len(v.shape) for v in values if isinstance(v, (np.ndarray, LevelValue)))
        for i, (v, a) in enumerate(zip(values, args)):
            if batched[i] and len(v.shape) < ndim:
                args[i] = a.reshape((self.size,) + (1,) * (ndim - len(v.shape)) + v.shape)
        out = op.call(*args)
        if (
            len({v.dtype for v in values if isinstance(v, (np.ndarray, LevelValue))}) > 1
        ):  # 0-d examples do not decide the type
            like = lambda v: np.empty((1,) * min(len(v.shape), 1), v.dtype) if hasattr(v, "dtype") else v  # noqa: E731
            d = dtypes.result_type_of(map(like, values))
            wide = dtypes.result_type_of([like(a._array) if isinstance(a, Tensor) else a for a in args])
            if d is not wide and out.dtype is wide:
                out = out.to(d)
        return out

    def _for_each_example(self, op: Any, batched: list[Any], args: list[Any]) -> Any:
        """The operation once for each example, the results stacked."""

        def of(a: Any, b: Any, k: int) -> Any:
            return [of(x, y, k) for x, y in zip(a, b)] if isinstance(b, list) else a[k] if b else a

        rows = [op.call(*[of(a, b, k) for a, b in zip(args, batched)]) for k in range(self.size)]
        if isinstance(rows[0], (tuple, list)):
            return [stack(column) for column in zip(*rows)]
        return stack(rows)

    def lift(self, value: Any, outer: bool = False) -> Batched:
        return Batched(self, value, outer)

    def pull_values(self, node: Any, g: Any, saved: tuple[Any, ...], edges: Sequence[Any]) -> Any:
        return batch_backward.apply_vjps(self, node, g, saved, edges)

    def detached(self, value: Any) -> Any:
        inside = value.value.level.detached(value.value) if isinstance(value.value, LevelValue) else value.value
        return value if inside is value.value else Batched(self, inside, value.outer, value.dim)

    def raised(self, value: Any, in_batch: bool = False) -> Batched:
        """A tensor that was made inside, as one for each example, all of them the same so far.

        Raises:
            RuntimeError: with PyTorch's words, if its memory was made outside, or is not only its own.
        """

        def copied(array: np.ndarray, depth: int) -> np.ndarray:
            made_inside = in_batch or versions.made_after(array, self.start)
            conj = versions.conj_views_of(versions.owner_of(array))
            if not made_inside or conj is not None or is_memory_of_input(array):
                raise with_notes(RuntimeError(OUTSIDE), "Write into a copy for each example: y = x + 0 * batched.")
            memory = self.counterpart(array, lambda owner: copies_of(owner, self.size))
            versions.bump_version(array)  # what was saved of it is not what the tensor holds any more
            return same_place(array, memory, depth)

        return Batched(self, map_arrays(value, copied))

    def pull(self, pull: Callable, node: Any, g: Any, saved: tuple[Any, ...], edges: Sequence[Any]) -> Any:
        """A node's rule, once for each example."""
        own = lambda v: [w for w in batches_in(v._array if isinstance(v, Tensor) else v) if w.level is self]  # noqa: E731
        # for each other level, whether its values wrap those of this one: cotangents from outside do it otherwise
        above: dict[Level, bool] = {}
        for v in (*(g if g.__class__ is tuple else (g,)), *saved):
            a = getattr(v, "_array", v)
            while isinstance(a, LevelValue) and a.level is not self and own(a):
                above[a.level] = True
                a = next(part for part in (getattr(a, name) for name in a.parts) if own(part))
            a = a.value if isinstance(a, LevelValue) and a.level is self else None
            while isinstance(a, LevelValue):
                above[a.level], a = False, a.value
        outer = any([w.outer for v in (g if g.__class__ is tuple else (g,)) for w in own(v)])

        def inside(x: Tensor, f: Callable[[Tensor, int], Tensor], dim: int = 0) -> Any:
            """``f`` of the value of this level inside values of later levels, whose batches are the first ``dim``
            dimensions.
            """
            a = x._array
            if isinstance(a, LevelValue) and above.get(a.level, a.level.start > self.start):
                return a.level.inside(x, lambda part: wrap_value(inside(part, f, dim + a.level.batches)))._array
            return f(x, dim)._array

        def split(x: Tensor) -> Tensor:
            """The examples, stacked; an unbatched value is repeated, so that each example gives it a gradient."""
            return cross_boundary(
                inside(wrap_value(x._array), self.unwrap), (views.gradient_edge(x),), lambda h: (joined(h),)
            )

        def joined(x: Tensor) -> Tensor:
            """The opposite: stacked examples as a batch."""

            def back(h: Tensor) -> tuple[Tensor]:
                nonlocal outer
                outer = any([w.outer for w in own(h)])
                return (split(h),)

            value = inside(
                wrap_value(x._array), lambda part, dim: wrap_value(Batched(self, part.movedim(dim, 0)._array, outer))
            )
            return value.level.track(cross_boundary(value, (views.gradient_edge(x),), back))

        def apart(v: Any) -> Sequence[Any]:
            """A value for each example."""
            if v.__class__ in (list, tuple):
                return [v.__class__(parts) for parts in zip(*map(apart, v))] if v else [v] * self.size
            if not own(v) and (not isinstance(v, Tensor) or views.gradient_edge(v) is None):
                return [v] * self.size
            parts = split(wrap_value(v)).unbind(0)
            return parts if isinstance(v, Tensor) else [part._array for part in parts]

        def together(column: Sequence[Any], e: Any) -> Any:
            if column[0] is None:
                return None
            rows = [r if isinstance(r, Tensor) else wrap_value(np.asarray(r)) for r in column]
            if e is not None and len({r._array.shape for r in rows}) > 1:  # what masks of different sizes select
                node, k = (e.node, e.index) if e.__class__ is Output else (e, None)
                shape = e._array.shape if e._seq == 0 else node._shape if k is None else node._shape[k]
                rows = [sum_to(r, shape) for r in rows]
            return joined(stack(rows))

        rows = (
            [pull(node, h, values, edges) for h, values in zip(apart(g), zip(*map(apart, saved)))]
            if saved
            else [pull(node, h, (), edges) for h in apart(g)]
        )
        return [together(column, e) for column, e in zip_longest(zip(*rows), edges)]

    def leave(self, x: Tensor) -> Tensor:
        """The examples' cotangents for an unbatched value, summed."""
        from ..ops.reduce import sum

        return sum(self.unwrap(x), 0)

    def inside(self, x: Tensor, f: Callable[[Tensor], Tensor]) -> Tensor:
        return self._wrap_batched(f(self.unwrap(x)), x._array.outer, 0)

    def wrap(self, x: Tensor, dim: int = 0, outer: bool = False) -> Tensor:
        """A tensor as a batch of examples along its dimension ``dim``."""
        moved = x.movedim(dim, 0) if dim else x
        result = self._wrap_batched(moved, outer, dim)
        if outer:
            return result
        enter, leave = lambda *_: self._wrap_batched(moved, False, dim), lambda y: self.unwrap(y, dim)
        return register_input(result, self.start, enter, (x, leave))

    def _wrap_batched(self, x: Tensor, outer: bool, dim: int) -> Tensor:
        def back(g: Tensor) -> tuple[Tensor]:
            return (self.unwrap(g),)

        return self.track(cross_boundary(Batched(self, x._array, outer, dim), (views.gradient_edge(x),), back))

    def unwrap(self, x: Tensor, dim: int = 0) -> Tensor:
        """The examples as one tensor; an unbatched value is repeated."""

        def back(g: Tensor) -> tuple[Tensor]:
            return (self.wrap(g, 0, True),)

        e = views.gradient_edge(x)
        if e is None and self._owns(x._array):
            x = wrap_value(x._array.value)
        elif self._owns(x._array):
            x = cross_boundary(x._array.value, (e,), back)
        else:
            x = cross_boundary(
                wrap_value(x._array).unsqueeze(0).expand((self.size, *x._array.shape))._array, (e,), back
            )
        return x.movedim(0, dim) if dim else x

    def entered(self, g: Tensor) -> Tensor:
        """A cotangent from outside for an unbatched value: the first example's, zeros for the others."""
        if not self.size:
            return g
        return self.wrap(
            cat([g.unsqueeze(0), wrap_value(np.zeros((self.size - 1, *g._array.shape), g._array.dtype))]), 0, True
        )

    def shared(self, x: Tensor) -> Tensor:
        """An unbatched value, perhaps made inside, for use outside."""
        e = views.gradient_edge(x)
        return (
            x
            if e is None or sequence_number(e) < self.start
            else cross_boundary(x._array, (e,), lambda g: (self.entered(g),))
        )

    def left(self, x: Tensor) -> Tensor:
        """A value, batched or not, for use outside."""
        return self.unwrap(x) if self._owns(x._array) else self.shared(x)

    # --- random numbers: where they differ, one draw of the whole batch's shape, as in PyTorch ------------------------

    def refuse_randomness(self) -> None:
        if self.randomness == "unsupported":
            raise RuntimeError(
                "vmap: We do not yet support calling random operations inside of vmap. Please perform random "
                "operations outside of vmap as a workaround"
            )
        if self.randomness == "error":
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                "'different' randomness flags on vmap or perform the randomness operation out of vmap"
            )

    def sample(self, shape: tuple[int, ...], draw: Callable[[tuple[int, ...]], np.ndarray]) -> Any:
        """Random numbers from ``draw(shape)``, for the examples of every ``vmap`` of this thread."""
        different: list[Batch] = []
        for level in reversed(thread_state.local.batches):
            level.refuse_randomness()
            if level.randomness == "different":
                shape, different = (level.size, *shape), [*different, level]
        return _lift_through(traced_draw(lambda: draw(shape)), different)

    def sample_from(self, parameters: Sequence[Any], draw: Callable[..., np.ndarray]) -> Any:
        """Random numbers from ``draw(*parameters)``, arrays that broadcast and numbers, for every ``vmap``'s examples.

        Raises:
            RuntimeError: for batched parameters with ``randomness="same"``.
        """
        tensors = [without_tangents(wrap_value(p)) if hasattr(p, "shape") else p for p in parameters]
        shape = np.broadcast_shapes(*[t._array.shape for t in tensors if isinstance(t, Tensor)])
        tensors = [t.expand(shape) if isinstance(t, Tensor) and t._array.shape != shape else t for t in tensors]
        different: list[Batch] = []
        for level in reversed(thread_state.local.batches):
            level.refuse_randomness()
            batched = [
                isinstance(t, Tensor) and isinstance(t._array, Batched) and t._array.level is level for t in tensors
            ]
            if level.randomness == "different":
                tensors = [level.unwrap(t) if isinstance(t, Tensor) else t for t in tensors]
                different.append(level)
            elif any(batched):
                raise RuntimeError(BATCHED_BUT_SAME)
        return _lift_through(
            traced_draw_from([t._array if isinstance(t, Tensor) else t for t in tensors], draw), different
        )

    def sample_into(self, x: Tensor, draw: Callable[..., np.ndarray], *parameters: Any) -> Any:
        """Random numbers to be written into ``x``: ``draw(shape, *parameters)``.

        Args:
            parameters: values that broadcast to ``x``.

        Raises:
            RuntimeError: if examples shall get different numbers, but share ``x`` and the parameters.
        """
        concerned = {value.level for value in batches_in([x._array, *parameters])}
        for level in reversed(thread_state.local.batches):
            level.refuse_randomness()
            if level.randomness == "different" and level not in concerned:
                raise RuntimeError(
                    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like "
                    "same randomness. If this is necessary for your usage, please file an issue with functorch."
                )
        shape = x._array.shape
        if not parameters:
            return self.sample(shape, draw)
        repeated = [wrap_value(p).expand(shape)._array for p in parameters]
        return self.sample_from(repeated, lambda *arrays: draw(arrays[0].shape, *arrays))

    def repeat_parameters(self, op: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of an op that draws random numbers, batched where every example gets its own.

        Raises:
            RuntimeError: for batched ones with ``randomness="same"``.
        """
        repeated = list(args)
        for level in thread_state.local.batches:
            level.refuse_randomness()
            for i in op.tensors:
                x = repeated[i]
                own = level in {value.level for value in batches_in(x._array)}
                if own and level.randomness == "same":
                    raise RuntimeError(BATCHED_BUT_SAME)
                if not own and level.randomness == "different":
                    repeated[i] = x + wrap_value(Batched(level, np.zeros(level.size, x._array.dtype)))
        return tuple(repeated)


def _lift_through(value: Any, levels: Sequence[Batch]) -> Any:
    """A value whose first dimensions are the batches of these levels; the list begins with the innermost level."""
    for level in reversed(levels):
        value = Batched(level, value)
    return value


class BatchOfSeeds(Batch):
    """The batch of ``is_grads_batched=True``: what runs inside need not support ``vmap``.

    As in PyTorch, where that is another, older ``vmap``, custom Functions need no rule for batches there; random
    operations are refused.
    """

    as_is = True

    def __init__(self, size: int) -> None:
        super().__init__(size, "unsupported")


def batched_grad(
    outs: tuple, ins: tuple, seeds: tuple, retain: Any, create: bool, unused: Any, materialize: bool
) -> tuple:
    """One vector-Jacobian product for each entry of the seeds' first dimension, all at once."""
    sizes = {s._array.shape[:1] for s in seeds if s is not None}
    if len(sizes) != 1 or sizes == {()}:
        raise RuntimeError(
            "is_grads_batched=True needs seeds with one more dimension in front, of the same size for all; their "
            f"shapes are {[None if s is None else list(s.shape) for s in seeds]}"
        )
    for i, (o, s) in enumerate(zip(outs, seeds)):
        if s is not None and tuple(s.shape[1:]) != tuple(o.shape):
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{i}] has a shape of {s.shape} and output[{i}] has a "
                f"shape of {o.shape}. If you only want some tensors in `grad_output` to be considered batched, "
                "consider using vmap."
            )
    with BatchOfSeeds(sizes.pop()[0]) as batch:
        rows = [None if s is None else batch.wrap(s) for s in seeds]
        grads = grad(outs, ins, rows, retain, create, allow_unused=unused, materialize_grads=materialize)
        return tuple(None if g is None else batch.unwrap(g) for g in grads)
