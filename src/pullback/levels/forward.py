"""Forward mode: dual numbers (JAX: ``JVPTracer``), tensors that carry a tangent beside their value.

Nothing here knows a derivative. What an operation does to tangents follows from its rule for gradients: for
elementwise operations the Jacobian is diagonal and the rule itself serves; views and operations declared linear
are applied to the tangent; for all others the rule, which is linear in ``g``, is recorded and transposed.

The cotangent of a dual number ``p + εt`` that meets it from outside is kept with its parts exchanged,
``(cotangent of t) + ε (cotangent of p)``. Then the rules, computed with dual numbers, give exactly the reverse
mode of the forward mode, because second derivatives are symmetric (dual numbers are a Frobenius algebra).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base import thread_state
from ..base.dtypes import COMPLEX_KINDS, FLOATING, OF_NUMPY
from ..base.errors import with_notes
from ..core import versions, views
from ..core.boundary import cross_boundary, saved_tensors
from ..core.geometry import same_place
from ..core.graph import LEAF, Output
from ..core.level import (
    Level,
    LevelValue,
    apply,
    format_level_value,
    map_arrays,
    memory_owners,
    note_made,
    overwrite,
    sequence_number,
    with_outer_marks,
    without_outer_marks,
    wrap_value,
)
from ..core.tensor import Tensor
from ..core.transform_inputs import register_input
from ..engine import accumulate, engine


class Dual(LevelValue):
    """A primal ``value`` and its ``tangent``, of the same shape and type.

    Their memory layouts are the same: a view of one, ``as_strided`` too, is the corresponding part of the other.
    """

    __slots__ = ("tangent",)
    parts = ("value", "tangent")
    tangent: Any

    def __init__(self, level: Level, value: Any, tangent: Any, outer: bool = False) -> None:
        if (
            tangent.__class__ is np.ndarray
            and (0 in tangent.strides or not tangent.flags.writeable)
            and 0 not in value.strides
        ):
            tangent = tangent.copy()  # one may write into the value, and then writes into the tangent
        if tangent.strides != value.strides:
            tangent = with_layout(tangent, value)
        self.level, self.value, self.tangent, self.outer = level, value, tangent, outer

    def item(self) -> Any:
        return self.value.item()

    def numpy(self) -> np.ndarray:
        if self.level is not _current:
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
        return self.value if isinstance(self.value, np.ndarray) else self.value.numpy()

    def tolist(self) -> Any:
        return self.value.tolist()

    def __setitem__(self, key: Any, value: Any) -> None:
        tangent = 0
        if isinstance(value, Dual) and value.level is self.level:
            value, tangent = value.value, value.tangent
        self.value = overwrite(self.value, value)
        self.tangent = overwrite(self.tangent, tangent)
        versions.bump_version(self.tangent)

    def shown(self, made_by: str | None, requires_grad: bool, extra: tuple[str, ...] = ()) -> str:
        return format_level_value(
            self.value, made_by, requires_grad, (f"tangent={format_level_value(self.tangent)}", *extra)
        )


class Forward(Level):
    """A scope in which tensors may carry tangents."""

    def ended(self, tensor: Tensor) -> None:
        tensor._array = tensor._array.value

    def compute(self, op: Any, values: Sequence[Any], outer: bool) -> Any:
        if not thread_state.local.tangents or self.start < thread_state.local.tangents_since:
            return self._without_tangents(op, values)
        if op.rules and len(op.rules) < len(op.tensors):
            self._refuse_missing(op, values)
        if op.kind == "elementwise" and op.joint_vjp is None:
            complex_ = any([v.dtype.kind in COMPLEX_KINDS for v in values if isinstance(v, (np.ndarray, LevelValue))])
            if not complex_ or op.holomorphic:
                return self._elementwise(op, values, outer)
        outside: set[Level] = set()
        values = [
            without_outer_marks(v, outside) for v in values
        ]  # marked, they would leave their levels inside of here
        args: list[Any] = []  # the primals, as tensors; those with a tangent as leaves
        tangents: list[Any] = []  # one for each edge of the node
        for i, v in enumerate(values):
            if i == 0 and op.takes_tensor_list:
                args.append([self._primal(w, tangents) for w in v])
            elif i in op.tensors:
                args.append(self._primal(v, tangents))
            else:
                args.append(v)
        with thread_state.enable_grad():
            out = op.call(*args)
        several = isinstance(out, (tuple, list))
        outputs = list(out) if several else [out]
        source = next((o._fn for o in outputs if o._fn is not None), None)
        if source is None:
            return (
                [with_outer_marks(o._array, outside) for o in outputs]
                if several
                else with_outer_marks(out._array, outside)
            )
        node = source.node if source.__class__ is Output else source
        with thread_state.no_grad():
            along = self._tangents(op, args, outputs, node, tangents)
        results = [
            o._array
            if t is None
            else Dual(self, o._array, t._array if op.kind == "view" else apart(t._array, o._array, values))
            for o, t in zip(outputs, along)
        ]
        return [with_outer_marks(r, outside) for r in results] if several else with_outer_marks(results[0], outside)

    def _refuse_missing(self, op: Any, values: Sequence[Any]) -> None:
        """Refuse tangents of arguments whose derivative nobody has stated.

        Raises:
            NotImplementedError: naming the argument.
        """
        for i in op.tensors:
            v = values[i]
            if isinstance(v, Dual) and v.level is self and op.params[i] not in op.rules:
                raise with_notes(
                    NotImplementedError(
                        f"Trying to use forward AD with {op.name} that does not support it because it has not been "
                        "implemented yet."
                    ),
                    f"The derivative for '{op.params[i]}' is missing: detach that argument, "
                    f"or state {op.name}.vjp({op.params[i]}=...).",
                )

    def _without_tangents(self, op: Any, values: Sequence[Any]) -> Any:
        def primal(v: Any) -> Any:
            if v.__class__ is list:
                return [primal(w) for w in v]
            v = v.value if isinstance(v, Dual) and v.level is self else v
            return wrap_value(v) if isinstance(v, (np.ndarray, LevelValue)) else v

        with thread_state.no_grad():
            out = op.call(*map(primal, values))
        return [o._array for o in out] if isinstance(out, (tuple, list)) else out._array

    def _elementwise(self, op: Any, values: Sequence[Any], outer: bool) -> Any:
        """The Jacobian is diagonal: what a rule does to gradients it does to tangents."""
        args: list[Any] = []
        tangents: list[tuple[int, Tensor]] = []
        for i, v in enumerate(values):
            if isinstance(v, Dual) and v.level is self:
                tangents.append((i, wrap_value(v.tangent)))
                v = v.value
            args.append(wrap_value(v) if isinstance(v, (np.ndarray, LevelValue)) else v)
        with thread_state.no_grad():
            y = apply(op, args)
            if thread_state.local.batches:
                note_made(y._array)
            vjps = op.vjps_for(y._array.dtype)
            if vjps[0] is None or OF_NUMPY[y._array.dtype].category < FLOATING:
                return y._array
            saved = [
                y if kind == "out" else args[i] if kind == "value" else args[i].shape for kind, i, _ in op.saved_spec
            ]
            total: Any = None
            for i, t in tangents:
                if t._array.dtype != y._array.dtype:
                    t = t.to(y.dtype)
                total = add_optional(total, match_tangent(vjps[op.tensors.index(i)](t, saved), y))
        return y._array if total is None else Dual(self, y._array, apart(total._array, y._array, values), outer)

    def _primal(self, v: Any, tangents: list[Any]) -> Any:
        if not isinstance(v, (np.ndarray, LevelValue)):
            tangents.append(None)
            return v
        if isinstance(v, Dual) and v.level is self:
            x = wrap_value(v.value)
            x._fn = LEAF
            tangents.append(wrap_value(v.tangent))
            return x
        tangents.append(None)
        return wrap_value(v)

    def _tangents(self, op: Any, args: list[Any], outputs: list[Tensor], node: Any, tangents: list[Any]) -> list[Any]:
        """The tangent of each output, None where it has none."""
        if op.kind == "view":
            moved = op.call(tangents[0], *args[1:])
            return list(moved) if len(outputs) > 1 or isinstance(moved, (tuple, list)) else [moved]
        total: Any = None
        if op.linear and not op.takes_tensor_list:
            left_over: list[Any] = [None] * len(tangents)
            for k, (i, t) in enumerate(zip(op.tensors, tangents)):
                if t is None:
                    continue
                if op.params[i] in op.linear:
                    there = [
                        None if op.params[j] in op.added else wrap_value(a._array) if isinstance(a, Tensor) else a
                        for j, a in enumerate(args)
                    ]
                    there[i] = t
                    total = add_optional(total, op.call(*there))
                else:
                    left_over[k] = t
            if not any([t is not None for t in left_over]):
                return [total]
            tangents = left_over
        elif op.linear and all([t is not None for t in tangents]):
            return [op.call(tangents, *args[1:])]
        rest = transpose_vjp(node, outputs, tangents)
        return rest if total is None else [add_optional(total, rest[0])]

    def detached(self, value: Any) -> Any:
        return value.value.level.detached(value.value) if isinstance(value.value, LevelValue) else value.value

    def raised(self, value: Any, in_batch: bool = False) -> Dual:
        """A value whose tangent is zero; the tangents of what shares memory share theirs."""
        zeros = lambda owner: np.zeros(owner.nbytes, np.uint8)  # noqa: E731
        return Dual(self, value, map_arrays(value, lambda array, _: same_place(array, self.counterpart(array, zeros))))

    def leave(self, x: Tensor) -> Tensor:
        return self.part(x, True)

    def inside(self, x: Tensor, f: Callable[[Tensor], Tensor]) -> Tensor:
        join = self.mark_outer if x._array.outer else self._pack
        return join(f(self.part(x, False)), f(self.part(x, True)))

    def make_dual(self, primal: Tensor, tangent: Tensor) -> Tensor:
        """A dual tensor."""
        t = tangent if tangent._array.dtype == primal._array.dtype else tangent.to(primal.dtype)

        def enter(dual: Tensor, primal_too: bool, tangent_too: bool) -> Tensor:
            return self._pack(
                primal if primal_too else self.part(dual, False), t if tangent_too else self.part(dual, True)
            )

        ways = (primal, lambda x: self.part(x, False)), (t, lambda x: self.part(x, True))
        return register_input(self._pack(primal, t), self.start, enter, *ways)

    def _pack(self, primal: Tensor, tangent: Tensor) -> Tensor:
        def back(g: Tensor) -> tuple[Any, Any]:
            a = g._array
            if isinstance(a, Dual) and a.level is self and a.outer:
                return self.part(g, True), self.part(g, False)
            return g, None

        value = Dual(self, primal._array, tangent._array)
        return self.track(cross_boundary(value, (views.gradient_edge(primal), views.gradient_edge(tangent)), back))

    def part(self, x: Tensor, tangent: bool) -> Tensor:
        """The tangent of a tensor (zeros if it carries none), or its primal."""
        a = x._array
        dual = isinstance(a, Dual) and a.level is self
        if not dual and tangent:
            return zeros_like(x)
        if not dual:
            e = views.gradient_edge(x)
            return (
                x
                if e is None or sequence_number(e) < self.start
                else cross_boundary(x._array, (e,), lambda g: (self.entered(g),))
            )

        def back(g: Tensor) -> tuple[Any]:
            zero = zeros_like(g)
            p, t = (zero, g) if not tangent else (g, zero)
            return (self.mark_outer(p, t),)

        return cross_boundary(a.tangent if tangent else a.value, (views.gradient_edge(x),), back)

    def unpack_linked(self, dual: Tensor, tangent: bool) -> Tensor:
        """The tangent or the primal of a dual tensor: a write into one is seen in the other."""

        def leave(x: Tensor) -> Tensor:
            if not self.live:
                return x
            other = self.part(dual, not tangent)
            return self._pack(other, x) if tangent else self._pack(x, other)

        return register_input(self.part(dual, tangent), self.start, lambda *_: self.part(dual, tangent), (dual, leave))

    def entered(self, g: Tensor) -> Tensor:
        """A cotangent from outside for something that was made inside and has no tangent."""
        return self.mark_outer(zeros_like(g), g)

    def mark_outer(self, p: Tensor, t: Tensor) -> Tensor:
        """A cotangent from outside, whose parts may have a history."""

        def back(g: Tensor) -> tuple[Any, Any]:
            return self.part(g, True), self.part(g, False)

        return self.track(
            cross_boundary(Dual(self, p._array, t._array, True), (views.gradient_edge(p), views.gradient_edge(t)), back)
        )


def check_types(primal: Tensor, tangent: Tensor) -> None:
    """Refuse what has no derivative, and complex tangents of real numbers.

    Raises:
        ValueError: if either is not floating point.
        RuntimeError: for such a tangent.
    """
    for name, x in (("primal", primal), ("tangent", tangent)):
        if not isinstance(x, Tensor) or OF_NUMPY[x._array.dtype].category < FLOATING:
            raise ValueError(
                f"Expected {name} to be floating point or complex, but got: {getattr(x, 'dtype', type(x).__name__)}"
            )
    if tangent._array.dtype.kind in COMPLEX_KINDS and primal._array.dtype.kind not in COMPLEX_KINDS:
        raise with_notes(
            RuntimeError(f"a tensor of {primal.dtype} can't have a tangent of {tangent.dtype}"), "Give its real part."
        )


def check_size(x: Tensor, tangent: Tensor) -> None:
    """Refuse a tangent of another shape.

    Raises:
        RuntimeError: with both shapes.
    """
    if x._array.shape != tangent._array.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(x.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )


def with_layout(tangent: Any, value: Any) -> Any:
    """A tangent with the memory layout of its value."""
    if all([s == t or n < 2 for n, s, t in zip(value.shape, value.strides, tangent.strides)]) or 0 in value.shape:
        return tangent
    if isinstance(tangent, np.ndarray) and isinstance(value, np.ndarray):
        copy = zeros_like_storage(value)
        copy[...] = tangent
        return copy
    order = sorted(range(len(value.shape)), key=lambda d: -value.strides[d])
    with thread_state.no_grad():
        return (
            wrap_value(tangent).permute(order).contiguous().permute([order.index(d) for d in range(len(order))])._array
        )


def apart(tangent: Any, value: Any, operands: Sequence[Any]) -> Any:
    """The tangent of a result: a copy if an operand has its memory, but not that of the value, for either may be
    written into.
    """
    theirs = memory_owners(operands)
    return tangent.copy() if theirs & memory_owners(tangent) and not theirs & memory_owners(value) else tangent


def zeros_like_storage(array: np.ndarray) -> np.ndarray:
    """Zeros in a storage of the same size, at the same offset and with the same strides."""
    owner = versions.owner_of(array)
    if owner.base is not None or not owner.flags.forc or 0 in array.strides:
        return np.empty_like(array)
    memory = np.zeros(owner.nbytes // array.itemsize, array.dtype)
    return np.ndarray(array.shape, array.dtype, memory, array.ctypes.data - owner.ctypes.data, array.strides)


def add_optional(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else a + b


def zeros_like(x: Tensor) -> Tensor:
    return wrap_value(np.zeros(x._array.shape, x._array.dtype))


def match_tangent(t: Any, like: Tensor) -> Any:
    """A tangent in the shape and type of the value that it belongs to."""
    if t is None:
        return None
    t = wrap_value(np.asarray(t)) if not isinstance(t, Tensor) else t
    if t._array.dtype != like._array.dtype:
        t = t.to(like.dtype)
    return t if t._array.shape == like._array.shape else t.expand(like._array.shape)


def transpose_vjp(node: Any, outputs: list[Tensor], tangents: list[Any]) -> list[Any]:
    """Tangents of a node's outputs: the transpose of its rule, which is linear in ``g``, by reverse mode."""
    taking_part = [o for o in outputs if o._fn is not None]
    probes = []
    with thread_state.enable_grad():
        for o in taking_part:
            u = zeros_like(o)
            u._fn = LEAF
            probes.append(u)
        g = tuple(probes) if node._shape.__class__ is list else probes[0]
        edges = [e if t is not None else None for e, t in zip(node._edges, tangents)]
        results = node._vjp(g, saved_tensors(node, node._saved), edges)
        roots = []
        for r, e, t in zip(results, edges, tangents):
            if t is not None and isinstance(r, Tensor):
                r = accumulate.unbroadcast_for_edge(r, e, True, node)
                end = views.gradient_edge(r)
                if end is not None:
                    roots.append((end, t._array if t._array.dtype == r._array.dtype else t.to(r.dtype)._array))
    found = (
        engine.run(roots, retain=False, create=False, wanted=probes, accumulate=False)
        if roots
        else [None] * len(probes)
    )
    values = iter(found)
    along: list[Any] = []
    for o in outputs:
        if o._fn is None:
            along.append(None)
            continue
        value = next(values)
        along.append(zeros_like(o) if value is None else wrap_value(value))
    return along


# --- PyTorch's interface ----------------------------------------------------------------------------------------

_current: Forward | None = None
_current_level = -1  # as PyTorch numbers it: 0 inside of a dual level


class UnpackedDualTensor(NamedTuple):
    """What :func:`unpack_dual` returns."""

    primal: Tensor
    tangent: Tensor | None


class dual_level:
    """The scope in which :func:`make_dual` tensors carry their tangents; one at a time.

    >>> import pullback as torch
    >>> import pullback.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(torch.tensor(2.0), torch.tensor(1.0))
    ...     fwAD.unpack_dual(x ** 3).tangent
    tensor(12.)
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()


def enter_dual_level() -> int:
    """Begin a scope; returns its number, 0."""
    global _current, _current_level
    if _current is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _current = Forward()
    _current.__enter__()
    _current_level = 0
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the scope: tensors lose their tangents."""
    global _current, _current_level
    if _current is None:
        raise RuntimeError("Dual level must be a positive number.")
    if level not in (None, 0):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    _current.__exit__()
    _current, _current_level = None, -1


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """``tensor`` with a tangent: the direction in which derivatives are taken.

    The tangent keeps its memory if it has the layout of the tensor, and is copied otherwise.

    Raises:
        RuntimeError: outside of :class:`dual_level`, if shapes differ, or if either has a tangent already.
        ValueError: if either is not floating point.
    """
    if _current is None or level is not None and level < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    check_types(tensor, tangent)
    if not thread_state.local.tangents:
        return tensor.view_as(tensor)
    check_size(tensor, tangent)
    p, t = tensor._array, tangent._array
    if isinstance(p, Dual) and p.level is _current:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
            "supported."
        )
    if isinstance(t, Dual) and t.level is _current:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not supported."
        )
    dual = _current.make_dual(tensor, tangent)
    a = dual._array
    if (
        isinstance(p, np.ndarray)
        and isinstance(t, np.ndarray)
        and t.size
        and versions.owner_of(t).nbytes != versions.owner_of(p).nbytes
    ):
        a.tangent = zeros_like_storage(p)  # as_strided may reach the rest of the primal's storage
        a.tangent[...] = t
    dual.__dict__["_given"] = tangent, dual._fn
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value and the tangent of a tensor, as views; the tangent is None if it carries none.

    What :func:`make_dual` was given as a tangent, and did not copy, comes back as the same tensor.
    """
    if level is not None and level < 0 or _current is None:
        return UnpackedDualTensor(tensor, None)
    views.gradient_edge(tensor)  # a view may have to catch up with its base
    a = tensor._array
    if not (isinstance(a, Dual) and a.level is _current):
        return UnpackedDualTensor(tensor, None)
    given, made_by = tensor.__dict__.get("_given", (None, None))
    if given is None or given._array is not a.tangent or tensor._fn is not made_by:  # or written into since
        given = _current.unpack_linked(tensor, True)
    return UnpackedDualTensor(_current.unpack_linked(tensor, False), given if thread_state.local.tangents else None)


def _is_fwd_grad_enabled() -> bool:
    """Whether tangents are computed in this thread."""
    return thread_state.local.tangents


class _set_fwd_grad_enabled(thread_state.Mode):
    """Compute tangents, or do not, inside of a block."""

    def __init__(self, mode: bool) -> None:
        self.before, self.mode = thread_state.local.tangents, mode
        thread_state.local.tangents = mode

    def __exit__(self, *exc: object) -> None:
        thread_state.local.tangents = self.before

    def clone(self) -> _set_fwd_grad_enabled:
        return _set_fwd_grad_enabled(self.mode)
