"""Custom Functions under transforms: their ``jvp`` and ``vmap`` methods.

The level calls the Function once more below itself, on primals or on whole batches, and that is recorded. In the level
the Function is one node, whose saved tensors are those of the level. A cotangent from inside of the level goes through
that node; one from outside goes through the graph below, which the user's ``jvp`` or ``vmap`` recorded. So whichever
transform is the inner one, the user's own rule for it is used, as in PyTorch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..base import thread_state
from ..base.dtypes import FLOATING, OF_NUMPY
from ..base.pytree import tree_flatten, tree_map, tree_unflatten
from ..core import versions as versions_module
from ..core import views
from ..core.graph import clock, note_user_line
from ..core.level import LevelValue, concrete_array, innermost_level, wrap_value
from ..core.tensor import Tensor
from ..levels.api import broadcast_dims
from ..levels.forward import Dual, Forward, check_size, zeros_like
from ..levels.vmap import Batch, Batched
from .function import BackwardNode, Function

SEE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """The first argument of a ``vmap`` method: the size of the batch, and what random operations do."""

    batch_size: int
    randomness: str


def apply(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``cls.apply`` under a transform; ``NotImplemented`` where the Function runs on its arguments as they are.

    Raises:
        NotImplementedError: without a ``jvp`` method, for tangents.
        RuntimeError: without a ``vmap`` method, for a batch of the user's; if what these methods return does not fit.
    """
    values = [t._array for t in tree_flatten(args)[0] if isinstance(t, Tensor)]
    level = innermost_level(values)
    if not all([batch.as_is for batch in thread_state.local.batches]):
        _check_vmap(cls)
    if isinstance(level, Batch):
        if level.as_is:
            return NotImplemented
        if not cls.generate_vmap_rule:
            return _apply_vmap(level, cls, args, kwargs)
        # generated rule: the jvp of a batch is the batch of jvps
        level = next((found for v in values if (found := _forward_level(v)) is not None), None)
    return _apply_jvp(level, cls, args, kwargs) if isinstance(level, Forward) else NotImplemented


# --- the node -----------------------------------------------------------------------------------------------------


class TwoLevelNode:
    """Mixed into the class of a Function's node: edges behind the first ``_own`` lead to the outputs below the
    level.
    """

    _split: Callable[[Any], list[Any]]
    _level: Any
    _own: int

    def _vjp(self, g: Any, saved: Any, edges: Sequence[Any]) -> Sequence[Any]:
        gs = g if g.__class__ is tuple else (g,)
        if not any([_is_outer(v._array if isinstance(v, Tensor) else v, self._level) for v in gs]):
            own = super()._vjp(g, saved, edges[: self._own])  # type: ignore[misc]
            return [*own, *[None] * (len(edges) - self._own)]
        below = [part for v in gs for part in self._split(v if v is None else wrap_value(v))]
        if not any([isinstance(v, Tensor) for v in gs]):
            below = [v if v is None else v._array for v in below]
        return [*[None] * self._own, *below]


def _is_outer(value: Any, level: Any) -> bool:
    """Whether a cotangent entered the level from outside."""
    return isinstance(value, LevelValue) and (value.outer if value.level is level else _is_outer(value.value, level))


def _record_node(
    level: Any, cls: Any, args: tuple[Any, ...], outputs: Sequence[Any], several: bool, below: list[Any], split: Any
) -> Any:
    """Make the outputs those of one node, whose last edges lead to tensors ``below`` the level."""
    node_cls = cls.__dict__.get("_two_levels")
    if node_cls is None:
        plain = cls._backward_cls
        node_cls = cls._two_levels = type(plain.__name__, (TwoLevelNode, plain), {"__module__": plain.__module__})
    node = node_cls()
    edges = [views.gradient_edge(a) for a in args if isinstance(a, Tensor)]
    recording = thread_state.is_grad_enabled() and any([e is not None for e in edges])
    number = iter(range(len(edges)))
    node._where = [next(number) if isinstance(a, Tensor) else -1 for a in args]
    node._wanted, node._hooks, node._saved, node._edges = edges, None, (), ()
    node._level, node._own, node._split = level, len(edges), split
    own = {name: node.__dict__.pop(name) for name in ("_level", "_own", "_split")}
    local = thread_state.local
    made, local.made = local.made, views.INSIDE_FUNCTION if recording and local.made is None else local.made
    try:
        with thread_state.no_grad():
            cls.setup_context(node, args, tuple(outputs) if several else outputs[0])
    finally:
        local.made = made
    written = [o for o in outputs if any([o is t for t in node.dirty_tensors])]  # whose version was bumped below
    for o in written:
        o.__dict__["_unnoticed"] = True
    try:
        results = cls._placed(node, args, tuple(outputs), recording)
    finally:
        for o in written:
            del o.__dict__["_unnoticed"]
    for r in results:
        if isinstance(r, Tensor) and isinstance(r._array, LevelValue):
            r._array.level.track(r)
    if recording:
        cls._keep(node, node.__dict__, args, tuple(outputs))
        node.__dict__.update(own)
        node._edges = (*edges, *[None if t is None else views.gradient_edge(t) for t in below])
        note_user_line(node, sys._getframe(1))
        node._seq = clock()
    return tuple(results) if several else results[0]


def _outer_levels(values: Sequence[Any]) -> set[Any]:
    """The levels that some of these cotangents entered from outside."""
    levels = set()
    for value in values:
        while isinstance(value, LevelValue):
            if value.outer:
                levels.add(value.level)
            value = value.value
    return levels


def _viewed_argument(output: Any, given: Sequence[Any]) -> int | None:
    """The position of the argument that an output is a view of."""
    if isinstance(output, Tensor) and output._is_view():
        for k, a in enumerate(given):
            if isinstance(a, Tensor) and (output._view[0] is a or a._is_view() and output._view[0] is a._view[0]):
                return k
    return None


def _mark_view(out: Tensor, of: Tensor | None) -> Tensor:
    """Make an output a view of an argument."""
    if of is not None:
        out._view = (of._view[0] if of._is_view() else of, clock(), views.ORDINARY)
    return out


# --- forward mode -------------------------------------------------------------------------------------------------


def _forward_level(value: Any) -> Forward | None:
    """The forward-mode level inside of batches."""
    while isinstance(value, Batched):
        value = value.value
    return value.level if isinstance(value, Dual) else None


def _unpack(x: Tensor, level: Forward, tangent: bool) -> Tensor:
    """The primal or the tangent of a level, perhaps for each example of a batch."""
    a = x._array
    if not isinstance(a, Batched):
        return level.part(x, tangent)
    return a.level.inside(x, lambda each: _unpack(each, level, tangent))


def _pack(level: Forward, batches: Sequence[Batch], primal: Tensor, tangent: Tensor, outer: set[Any]) -> Any:
    """A dual value, perhaps for each example of a batch."""
    if not batches:
        return Dual(level, primal._array, tangent._array, level in outer)
    batch, *rest = batches
    return Batched(batch, _pack(level, rest, batch.unwrap(primal), batch.unwrap(tangent), outer), batch in outer)


def _apply_jvp(level: Forward, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The Function on primals, and its ``jvp`` on tangents."""
    if cls.setup_context is Function.setup_context:
        cls = _with_setup_context(cls)
    dual = [isinstance(a, Tensor) and _forward_level(a._array) is level for a in args]
    primals = tuple(
        [
            _unpack(a, level, False) if d else level.part(a, False) if isinstance(a, Tensor) else a
            for a, d in zip(args, dual)
        ]
    )
    results = cls.apply(*primals, **kwargs)
    several = isinstance(results, tuple)
    below = list(results) if several else [results]
    ctx = cls._backward_cls()
    ctx._where, ctx._wanted = None, [views.gradient_edge(p) if isinstance(p, Tensor) else None for p in primals]
    with thread_state.no_grad():
        cls.setup_context(ctx, primals, results)
    ctx._saved, ctx._plain, ctx._seq, ctx._edges = list(ctx.__dict__.get("saved_for_forward", ())), True, clock(), ()
    tangents = [_tangent(a, p, level, d, ctx.materialize_grads) for a, p, d in zip(args, primals, dual)]
    versions = [0 if t is None else versions_module.version(t._array) for t in tangents]
    along = cls.jvp(ctx, *tangents)
    along = list(along) if isinstance(along, tuple) else [along]
    if len(along) != len(below):
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(below)} but got "
            f"{len(along)})"
        )
    batches: list[Batch] = []
    chain = next(a._array for a, d in zip(args, dual) if d)
    while isinstance(chain, Batched):
        batches.append(chain.level)
        chain = chain.value
    outer = _outer_levels([a._array for a, d in zip(args, dual) if d])
    outputs: list[Any] = []
    for i, (o, t) in enumerate(zip(below, along)):
        k = next((k for k, p in enumerate(primals) if o is p and isinstance(o, Tensor)), None)
        along[i] = t = _checked_tangent(ctx, i, o, t)
        of = _viewed_argument(o, primals)
        if t is not None and k is not None and any([o is d for d in ctx.dirty_tensors]):
            _check_written(t, tangents[k], versions[k])
        elif t is not None and of is not None and dual[of]:
            _check_view(t, tangents[of], args[of]._is_view())
        if k is not None:
            outputs.append(args[k])
        elif t is None:
            outputs.append(wrap_value(o._array) if isinstance(o, Tensor) else o)
        else:
            outputs.append(_mark_view(wrap_value(_pack(level, batches, o, t, outer)), None if of is None else args[of]))

    def split(g: Any) -> list[Any]:
        if g is None or not _is_outer(g._array, level):
            return [g, None]
        parts = [_unpack(g, level, True), _unpack(g, level, False)]  # exchanged, as cotangents from outside are
        # nothing: asks for no backward
        return [p if p._fn is not None or concrete_array(p._array).any() else None for p in parts]

    ends = [end if isinstance(end, Tensor) else None for pair in zip(below, along) for end in pair]
    return _record_node(level, cls, args, outputs, several, ends, split)


def _tangent(a: Any, primal: Any, level: Forward, dual: bool, materialize: bool) -> Tensor | None:
    """The tangent of an argument, as ``jvp`` gets it."""
    if not dual:
        return (
            zeros_like(primal)
            if materialize and isinstance(a, Tensor) and OF_NUMPY[a._array.dtype].category >= FLOATING
            else None
        )
    return _unpack(a, level, True)


def _check_written(t: Tensor, given: Tensor | None, version: int) -> None:
    """Refuse a tangent of an input that was written into which is not the one that ``jvp`` was handed, written into.

    Raises:
        RuntimeError: with what to do.
    """
    if given is None or versions_module.version(given._array) == version:
        raise RuntimeError(
            "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
            "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
        )
    if t is not given:
        raise RuntimeError(
            "An inplace custom Function is not returning the forward mode gradients as-is. If the forward is "
            "modifying an input inplace, then the jvp function must modify the gradient inplace and return it as-is."
        )


def _check_view(t: Tensor, given: Tensor | None, input_is_view: bool) -> None:
    """Refuse a tangent of a view of an input that is not a view of that input's tangent.

    Raises:
        RuntimeError: with what it should be a view of.
    """
    if not t._is_view():
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
        )
    if _viewed_argument(t, [given]) is None:
        base = "the same base as " if input_is_view else ""
        raise RuntimeError(
            f"A custom Function is returning a view but the jvp is not returning a view of {base}the given grad input."
        )


def _checked_tangent(ctx: BackwardNode, i: int, o: Any, t: Any) -> Any:
    """The tangent of output ``i`` that ``jvp`` returned: zeros for None; None if the output has no derivative.

    Raises:
        RuntimeError: if it does not fit.
    """
    if t is not None and not isinstance(t, Tensor):
        raise RuntimeError(f"expected Variable or None (got {type(t).__name__}) for grad output {i}.")
    if (
        not isinstance(o, Tensor)
        or OF_NUMPY[o._array.dtype].category < FLOATING
        or any([o is n for n in ctx.non_differentiable])
    ):
        if t is not None:
            raise RuntimeError(
                f"Function's jvp returned a gradient at position {i}, but  the corresponding forward output is not a "
                "differentiable Tensor.You should return None at that position instead."
            )
        return None
    if t is None:
        return zeros_like(o)
    check_size(o, t)
    return t if t._array.dtype == o._array.dtype else t.to(o.dtype)


def _with_setup_context(cls: Any) -> Any:
    """A Function whose ``forward`` takes ``ctx``, as one with ``setup_context``: that copies what ``forward`` left on
    its ctx.
    """
    ran: list[Any] = []

    def forward(*args: Any, **kwargs: Any) -> Any:
        ctx = cls._backward_cls()
        ctx._where = [i if isinstance(a, Tensor) else -1 for i, a in enumerate(args)]
        ctx._wanted = [views.gradient_edge(a) if isinstance(a, Tensor) else None for a in args]
        output = cls.forward(ctx, *args, **kwargs)
        ran[:] = ctx.__dict__, (*args, *(output if isinstance(output, tuple) else (output,)))
        return output

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        attributes, tensors = ran
        here = {
            id(a): b
            for a, b in zip(tensors, (*inputs, *(output if isinstance(output, tuple) else (output,))))
            if isinstance(a, Tensor)
        }
        ctx.__dict__.update({name: tree_map(lambda v: here.get(id(v), v), value) for name, value in attributes.items()})

    return type(
        cls.__name__,
        (cls,),
        {"forward": staticmethod(forward), "setup_context": staticmethod(setup_context), "__module__": cls.__module__},
    )


# --- batches ------------------------------------------------------------------------------------------------------


def _check_vmap(cls: Any) -> None:
    """Refuse a Function that does not say what it does to a batch.

    Raises:
        RuntimeError: with the way out.
    """
    if cls.setup_context is Function.setup_context:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
            f"override the setup_context staticmethod. {SEE}"
        )
    own = cls.vmap is not Function.vmap
    if own and cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
            f"ambiguity. {SEE}"
        )
    if not own and not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement "
            f"the vmap staticmethod or set generate_vmap_rule=True. {SEE}"
        )


def _physical(x: Tensor, level: Batch, depth: int = 0) -> Tensor:
    """A tensor with the examples of a level as its first dimension, behind those of levels that are further in."""
    a = x._array
    if not isinstance(a, LevelValue) or a.level is level:
        return level.unwrap(x, depth)
    return a.level.inside(x, lambda part: _physical(part, level, depth + a.level.batches))


def _apply_vmap(level: Batch, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The Function's ``vmap`` on whole batches."""

    def here(x: Any) -> bool:
        return isinstance(x, Tensor) and isinstance(x._array, Batched) and x._array.level is level

    flat, spec = tree_flatten(args)
    dims = [x._array.dim if here(x) else None for x in flat]
    given = [
        level.unwrap(x, d) if d is not None else level.shared(x) if isinstance(x, Tensor) else x
        for x, d in zip(flat, dims)
    ]
    returned = cls.vmap(
        VmapInfo(level.size, level.randomness), tree_unflatten(dims, spec), *tree_unflatten(given, spec), **kwargs
    )
    if not isinstance(returned, tuple) or len(returned) != 2:
        got = f"{len(returned)} returns" if isinstance(returned, tuple) else f"a {type(returned)}"
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure "
            f"compatible with the output. Got {got} instead"
        )
    output, out_dims = returned
    flat_out, out_spec = tree_flatten(output)
    where = broadcast_dims(out_dims, output)
    if where is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has structure "
            f"{tree_flatten(out_dims)[1]} but output has structure {out_spec}. {SEE}"
        )
    outer = level in _outer_levels([x._array for x in flat if here(x)])
    below: list[Any] = []
    outputs: list[Any] = []
    for o, d in zip(flat_out, where):
        k = next((k for k, x in enumerate(given) if x is o and isinstance(o, Tensor)), None)
        whole = o.movedim(d, 0) if isinstance(o, Tensor) and d else o
        below.append(whole if isinstance(o, Tensor) else None)
        if k is not None:
            outputs.append(flat[k])
        elif isinstance(o, Tensor):
            of = _viewed_argument(o, given)
            outputs.append(
                _mark_view(
                    wrap_value(o._array if d is None else Batched(level, whole._array, outer)),
                    None if of is None else flat[of],
                )
            )
        else:
            outputs.append(o)
    return _record_node(
        level,
        cls,
        args,
        outputs,
        isinstance(output, tuple),
        below,
        lambda g: [None if g is None else _physical(g, level)],
    )
