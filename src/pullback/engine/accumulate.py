"""Gradient arithmetic: add, unbroadcast and cast on the way, accumulate into ``.grad`` at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ops
from ..base import forks, thread_state
from ..base.dtypes import COMPLEX_KINDS
from ..base.holding import holding
from ..core import graph, level, slow_call, versions
from ..core.graph import Node, Output
from ..core.level import sequence_number
from ..core.record import wrap
from . import messages

ndarray, asarray = np.ndarray, np.asarray
# several threads may share a leaf, and NumPy adds without the interpreter's lock
accumulating = forks.lock(forks.Order.GRADS)


def add_grads(a: Any, b: Any) -> Any:
    """The sum of two gradients; of 0-d arrays too an array."""
    if thread_state.slow_path_reasons and isinstance(a, level.Tensor):
        a, b = level.match_levels(a, b)
    total = a + b
    return asarray(total) if isinstance(total, np.generic) else total


def zeros(shape: tuple[int, ...], dtype: np.dtype, create: bool) -> Any:
    z = np.zeros(shape, dtype)
    return wrap(z) if create else z


def materialize(g: Sequence[Any], node: Node, create: bool) -> tuple[Any, ...]:
    """The gradients of a node's outputs, with zeros for those that did not arrive."""
    return tuple([zeros(s, d, create) if v is None else v for v, s, d in zip(g, node._shape, node._dtype)])


def without_zero_times_inf(g: Any, results: Sequence[Any], create: bool) -> list[Any]:
    """NaN replaced by 0 where the gradient that came in is 0."""
    kept = []
    for r in results:
        if r is not None:
            nothing = (g == 0) & (r != r)
            r = ops.where.where(nothing, 0, r)
        kept.append(r)
    return kept


def as_tensor(g: Any) -> Any:
    return g if isinstance(g, level.Tensor) else level.wrap_value(g) if isinstance(g, level.LevelValue) else wrap(g)


def as_array(g: Any) -> Any:
    return g._array if isinstance(g, level.Tensor) else g


def value_of(r: Any, e: Any) -> Any:
    """What a rule returned, as an array; or lifted, as the edge wants it."""
    if r.__class__ is ndarray:
        return r
    r = as_array(r)
    if not isinstance(r, level.LevelValue):
        return asarray(r)
    return level.lower_to(level.wrap_value(r), sequence_number(e))._array


def sum_rows(g: Any) -> Any:
    """The sum over the first dimension; machine code takes its place, too."""
    return asarray(ops.reduce.sum_array(g, (0,)))


def unbroadcast(g: Any, shape: tuple[int, ...], dtype: np.dtype, create: bool, node: Node) -> Any:
    """Make a gradient fit what it belongs to: sum over broadcast dimensions, cast, drop the imaginary part.

    Raises:
        RuntimeError: if the gradient is of another shape, and not one that broadcasting explains.
    """
    if g.__class__ is ndarray and g.dtype is dtype and g.ndim == len(shape) + 1 and g.shape[1:] == shape:
        return sum_rows(g)  # fast path: a bias, added to every row
    if not create and isinstance(g, level.LevelValue):
        return unbroadcast(as_tensor(g), shape, dtype, True, node)._array
    a = g._array if create else g
    if a.shape != shape:
        if not broadcasts(shape, a.shape):
            raise messages.wrong_shape_error(node, a.shape, shape)
        g = ops.reduce.sum_to(g, shape)
        a = g._array if create else g
    if a.dtype != dtype:
        if a.dtype.kind in COMPLEX_KINDS and dtype.kind not in COMPLEX_KINDS:
            g = ops.complex.real(g)
        g = ops.convert.cast(g, dtype)
    return g


def unbroadcast_all(results: Sequence[Any], edges: Sequence[Any], create: bool, node: Node) -> list[Any]:
    """A node's results in the shapes and types that its edges want."""
    return [
        None if e is None or r is None else unbroadcast_for_edge(r, e, create, node) for e, r in zip(edges, results)
    ]


def unbroadcast_for_edge(r: Any, e: Any, create: bool, node: Node) -> Any:
    """A rule's result in the shape and type that the edge wants."""
    r = level.lower_to(r, sequence_number(e)) if create else value_of(r, e)
    a = r._array if create else r
    if e._seq == 0:
        shape, dtype = e._array.shape, grad_dtype_for(e, a.dtype)
    else:
        shape, dtype = (e._shape, e._dtype) if e._seq > 0 else (e.node._shape[e.index], e.node._dtype[e.index])
    if e._seq == 0 and node._seq < versions.last_reshape:
        messages.check_shape_kept(node, e)
    if a.shape == shape and a.dtype == dtype:
        return r
    return unbroadcast(r, shape, dtype, create, node)


def grad_dtype_for(leaf: Any, given: np.dtype) -> np.dtype:
    """The type in which a leaf takes in a gradient of the type that was given."""
    if not graph.grad_dtypes:
        return leaf._array.dtype
    wanted = leaf.__dict__.get("_grad_dtype", leaf.dtype)
    return given if wanted is None else wanted.numpy


def broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether ``shape`` broadcasts to ``to``."""
    return len(shape) <= len(to) and all(a in (1, b) for a, b in zip(shape[::-1], to[::-1]))


def saved_as_tensors(node: Node) -> tuple[Any, ...]:
    """A node's saved arrays as tensors that remember where they came from, for recording the backward pass."""
    op, values = node._op, []
    if op is None:  # a custom Function hands out its own saved tensors
        return ()
    saved = node._saved
    if node._packs:
        saved = node._unpack(saved)
    for (kind, i, _), value in zip(op.saved_spec, saved):
        if not isinstance(value, (ndarray, level.LevelValue)):
            if op.takes_tensor_list and kind == "value" and i == 0 and value is not None:
                value = [saved_as_tensor(v, e) for v, e in zip(value, node._edges)]
            values.append(value)
        elif kind == "value":
            first = (
                len(node._edges) - len(op.tensors) if op.takes_tensor_list else 0
            )  # after the edges of a list of tensors
            values.append(saved_as_tensor(value, node._edges[first + op.tensors.index(i)] if i in op.tensors else None))
        elif node._shape.__class__ is not list:
            main = not op.outputs or i == op.differentiable[0]
            values.append(saved_as_tensor(value, node if kind == "out" and main else None))
        else:
            taking_part = op.differentiable.index(i) if i in op.differentiable else None
            values.append(saved_as_tensor(value, None if taking_part is None else Output(node, taking_part)))
    return tuple(values)


def saved_as_tensor(array: Any, e: Any) -> Any:
    """A saved array as the tensor it was: the leaf itself, or a tensor with the same edge."""
    if e is not None and e._seq == 0 and e._array is array:
        return e
    t = wrap(array)
    t._fn = graph.LEAF if e is not None and e._seq == 0 else e
    if e is not None and e._seq == 0:  # a leaf's value in another type: its gradient goes to the leaf all the same
        t._fn = ops.convert.identity_node(e, array)
    return t


def with_zero_dependency(node: Node, g: Any, e: Any) -> Any:
    """A gradient that depends, with derivative 0, on what edge ``e`` leads to, where the operation of ``node`` says so:
    as programs that ask for second derivatives expect.
    """
    if not node.name().startswith(node._op.zero_second_derivative_nodes):
        return g
    result, op = wrap(g._array), ops.compare.overwritten.op
    slow_call.attach_node(op, "ZerosBackward0", (e,), (g._array, g._array, "zeros"), (g._array,), result, 2)
    return result


def accumulate_in_leaf(leaf: Any, g: Any, owned: bool, create: bool) -> None:
    """Accumulate into ``leaf.grad`` if the leaf still requires grad: that is decided now, not when it was used.

    Raises:
        RuntimeError: for what is no leaf any more.
    """
    if leaf._fn is graph.LEAF:
        accumulate_grad(leaf, g, owned, create)
    elif leaf._fn is not None:
        raise messages.moved_leaf_error(leaf)


def accumulate_grad(leaf: Any, g: Any, owned: bool, create: bool) -> None:
    """Accumulate into ``leaf.grad``: in place, unless the gradient is itself recorded."""
    holding(accumulating, _accumulate, leaf, g, owned, create)


def _accumulate(leaf: Any, g: Any, owned: bool, create: bool) -> None:
    if graph.grad_dtypes and leaf.__dict__.get("_grad_dtype") is not None:
        g, owned = ops.convert.cast(g, leaf.__dict__["_grad_dtype"].numpy), False
    old = leaf._grad
    if g.__class__ is not ndarray or old is not None and old._array.__class__ is not ndarray:
        _accumulate_slow(leaf, g, owned, create)
    elif old is None:
        if g.ndim > 1 and g.strides != leaf._array.strides:
            g, owned = with_layout_of(g, leaf._array, owned)
        leaf._grad = wrap(g if owned else g.copy("K"))
    else:
        np.add(old._array, g, out=old._array)
        versions.bump_version(old._array)


def _accumulate_slow(leaf: Any, g: Any, owned: bool, create: bool) -> None:
    """Accumulate what is recorded, or lifted."""
    old = leaf._grad
    g = as_tensor(g) if create else level.without_tangents(as_tensor(level.unwrap_ended(g)))
    if thread_state.local.trace is not None and not create:
        thread_state.local.trace.accumulate(leaf, g._array)
    elif old is not None and g.is_sparse and not create:
        old.add_(g)  # in place, as usual
    elif old is None and create and g._array.__class__ is leaf._array.__class__ is ndarray:
        # A copy, laid out as the leaf: rules may hand out the seed itself, or one tensor to several leaves.
        leaf._grad = ops.fill_copy.copied(wrap(np.empty_like(leaf._array, g._array.dtype)), g)
    elif old is None and (create or g.is_sparse and not owned):
        leaf._grad = g.clone()
    else:
        leaf._grad = g if old is None else old + g


def with_layout_of(g: np.ndarray, x: Any, owned: bool) -> tuple[np.ndarray, bool]:
    """A gradient in the memory order of what it belongs to, if that has no gaps, else in C order; and whether it is
    new.
    """
    if not isinstance(x, ndarray):  # of a sparse tensor
        return g, owned
    dense = np.empty_like(x, g.dtype)
    if dense.strides != x.strides and g.itemsize == x.itemsize:
        dense = np.empty(x.shape, g.dtype)
    if owned and g.strides == dense.strides:
        return g, True
    dense[...] = g
    return dense, True


def may_alias(a: Any) -> bool:
    """Whether an array may hold one element in two places, or must not be written into."""
    base = a.base
    if base is None:
        return False
    return base.__class__ is not np.ndarray or 0 in a.strides or a.size > base.size or not a.flags.writeable
