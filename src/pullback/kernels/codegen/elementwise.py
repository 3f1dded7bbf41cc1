"""Elementwise kernels: traced and compiled for the types and layouts at hand when first called with large arrays.

:class:`Kernels` wraps a NumPy function: called like it, it looks up (or compiles) the kernel for these operands, and
calls the NumPy function if there can be none. Arrays of one shape, all contiguous, are one long loop. All others are
loops over rows: dimensions with compatible strides are merged, and in the innermost each operand is contiguous, fixed
(a number, a broadcast dimension) or strided.

Half precision is computed in float32; bools are bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from ml_dtypes import bfloat16

from ... import kernels
from ...base.layout import result_dim_order
from ..numpy_blocks import Blocks
from . import jit
from .entry import entry_point, load_function
from .half_precision import in_memory, narrow, widen
from .llvm_ir import BF16, F16, F32, F64, I1, I8, I64, PTR, Function, Type, Value, module
from .scalar import Formula, Scalar, formula_of, is_single_step, lower, trace_scalar

ndarray, empty = np.ndarray, np.empty

STORED: dict[np.dtype, Type] = {
    np.dtype(np.float32): F32,
    np.dtype(np.float64): F64,
    np.dtype(np.bool_): I1,
    np.dtype(np.float16): F16,
    np.dtype(bfloat16): BF16,
}
FEW = 256  # elements
MOST_SPECIALIZED = 16  # specializations of one function on numbers
SEGMENT = 1 << 14  # elements of a row that one task does
GRAIN = 1 << 14  # elements worth handing to another thread, if an operation on each is cheap


def compute_type(stored: Type) -> Type:
    return F32 if stored in (F16, BF16) else stored


# --- loads and stores -------------------------------------------------------------------------------------------


def load(f: Function, pointer: Value, stored: Type, lanes: int, mask: Value | None) -> Value:
    """A vector from memory, in the type to compute in."""
    return widen(f, f.load(pointer, in_memory(stored).of(lanes), mask), stored)


def store(f: Function, value: Value, pointer: Value, stored: Type, mask: Value | None) -> None:
    f.store(narrow(f, value, stored), pointer, mask)


def gather(f: Function, pointer: Value, stride: Value, stored: Type, lanes: int, count: Value) -> Value:
    """A vector of elements so many bytes apart, the first ``count`` of them (the others are copies of the first)."""
    size = in_memory(stored)
    vector: Value | None = None
    for i in range(lanes):
        offset = f.select(count > i, stride * i, f.constant(0, I64))
        vector = f.with_lane(vector, i, f.load(f.at(pointer, offset, I8), size), lanes)
    assert vector is not None
    room = f.stack_array(lanes, size)
    f.store(vector, room)
    return load(f, room, stored, lanes, None)


# --- writing kernels --------------------------------------------------------------------------------------------

NUMBER = "number"  # the signature's entry of an operand that is a Python number
CONTIGUOUS, FIXED, STRIDED = "c", "s", "g"  # how an operand goes along a row


class Signature(NamedTuple):
    """The types of operands (numbers: None) and results of a kernel, and how each goes along rows."""

    inputs: tuple[Type | None, ...]
    outputs: tuple[Type, ...]
    patterns: str = ""  # of inputs that are arrays, then outputs; none: all contiguous

    @property
    def kinds(self) -> str:
        return "".join("f" if t is None else "a" for t in self.inputs) + "a" * len(self.outputs)


def kernel(name: str, expressions: Sequence[Scalar], signature: Signature, compute: Type) -> Callable:
    """The kernel of some expressions, as a function for Python."""
    key = formula_of(expressions), signature, compute
    return load_function(name, lambda: emit_kernel(*key), "elementwise", key)


def emit_kernel(formula: Formula, signature: Signature, compute: Type) -> str:
    """The IR of a kernel and of its entry point."""
    lanes = jit.WIDTH * 8 // compute.bits
    rows = bool(signature.patterns)
    f = Function("task.$$", [("slots", PTR), ("from", I64), ("to", I64)], internal=True)
    kinds = ("a" if rows else "") + signature.kinds
    slots = [f.at(f["slots"], i, I64) for i in range(len(kinds))]
    plan = f.load(slots.pop(0), PTR) if rows else None
    bases, numbers = [], {}
    for i, type in enumerate((*signature.inputs, *signature.outputs)):
        if type is None:
            value = f.load(slots[i], F64)
            numbers[i] = f.splat(f.convert("fptrunc", value, F32) if compute == F32 else value, lanes)
        else:
            bases.append((i, type, f.load(slots[i], PTR)))
    n_in = len(signature.inputs)

    def block(
        at: Value, pointers: Sequence[Value], strides: Sequence[Value], fixed: dict[int, Value], left: Value | None
    ) -> None:
        """One vector's worth of elements from ``at`` on; ``left`` of them in the last one."""
        mask = None if left is None else f.mask_below(left, lanes)
        arguments: list[Value] = [None] * n_in  # type: ignore[list-item]
        for i, v in (numbers | fixed).items():
            if i < n_in:
                arguments[i] = v
        for (i, type, _), pointer, stride, pattern in zip(
            bases, pointers, strides, signature.patterns or "c" * len(bases)
        ):
            if i < n_in and pattern == CONTIGUOUS:
                arguments[i] = load(f, f.at(pointer, at, in_memory(type)), type, lanes, mask)
            elif i < n_in and pattern == STRIDED:
                arguments[i] = gather(
                    f,
                    f.at(pointer, at * stride, I8),
                    stride,
                    type,
                    lanes,
                    f.constant(lanes, I64) if left is None else left,
                )
        results = lower(f, formula, arguments, lanes)
        for (i, type, _), pointer in zip(bases, pointers):
            if i >= n_in:
                store(f, results[i - n_in], f.at(pointer, at, in_memory(type)), type, mask)

    def run(low: Value, high: Value, pointers: Sequence[Value], strides: Sequence[Value]) -> None:
        fixed = {}
        for (i, type, _), pointer, pattern in zip(bases, pointers, signature.patterns):
            if pattern == FIXED:
                one = in_memory(type)
                room = f.stack_array(lanes, one)
                f.store(f.splat(f.load(pointer, one), lanes), room)
                fixed[i] = load(f, room, type, lanes, None)
        unrolled = 2 if STRIDED not in signature.patterns else 1
        step = lanes * unrolled
        middle = low + (high - low) // step * step
        with f.loop(low, middle, step) as at:
            for u in range(unrolled):
                block(at + u * lanes, pointers, strides, fixed, None)
        with f.loop(middle, high, lanes) as at:
            block(at, pointers, strides, fixed, high - at)

    if plan is None:
        run(f["from"], f["to"], [p for _, _, p in bases], [f.constant(0, I64)] * len(bases))
    else:
        _for_rows(f, plan, [p for _, _, p in bases], run)
    return module(f, entry_point(f.name, kinds, 1 if rows else GRAIN))


def _for_rows(f: Function, plan: Value, pointers: Sequence[Value], run: Callable[..., None]) -> None:
    """Tasks are segments of rows. The plan: [segments a row, row length, dimensions above, then for each of these its
    size and the byte strides of all operands; and at last the strides along the row]."""
    count = len(pointers)

    def planned(i: Any) -> Value:
        return f.load(f.at(plan, i, I64), I64)

    segments, length, above = planned(0), planned(1), planned(2)
    inner = [planned(above * (count + 1) + (3 + k)) for k in range(count)]
    with f.loop(f["from"], f["to"]) as task:
        row, segment = f.variable(task // segments), task % segments
        at = [f.variable(p) for p in pointers]
        with f.loop(0, above) as back:
            entry = (above - 1 - back) * (count + 1) + 3
            size, rest = planned(entry), row.get()
            row.set(rest // size)
            index = rest % size
            for k in range(count):
                at[k].set(f.at(at[k].get(), index * planned(entry + (1 + k)), I8))
        low = segment * SEGMENT
        run(low, f.smaller(low + SEGMENT, length), [a.get() for a in at], inner)


# --- layouts ----------------------------------------------------------------------------------------------------


class RowPlan(NamedTuple):
    """The iteration over arrays that are not all contiguous: loops over rows, planned from shapes and strides."""

    patterns: str
    plan: np.ndarray
    tasks: int
    shape: tuple[int, ...]
    order: tuple[int, ...]  # dimensions of the results from the outermost in memory to the innermost


def plan_rows(arrays: Sequence[np.ndarray], shape: tuple[int, ...], outputs: Sequence[int]) -> RowPlan:
    """Plan the loops: merge dimensions and choose the innermost.

    Args:
        arrays: the operands.
        shape: what their shapes broadcast to.
        outputs: sizes of the elements of results.
    """
    n = len(shape)
    strides: list[tuple[int, ...]] = [
        (0,) * (n - a.ndim) + tuple(0 if size == 1 else s for s, size in zip(a.strides, a.shape)) for a in arrays
    ]
    order, _ = result_dim_order(shape, *[(a.shape, a.strides) for a in arrays])
    made = []
    for size in outputs:
        own, step = [0] * n, size
        for d in reversed(order):
            own[d] = step
            step *= shape[d]
        made.append(tuple(own))
    everything = strides + made
    dims: list[Any] = []  # size, strides; from the outermost
    for d in order:
        if shape[d] == 1:
            continue
        entry: Any = [shape[d], [s[d] for s in everything]]
        if dims and all(outer == inner * shape[d] for outer, inner in zip(dims[-1][1], entry[1])):
            dims[-1] = [dims[-1][0] * shape[d], entry[1]]
        else:
            dims.append(entry)
    length, inner = dims.pop() if dims else (1, [a.itemsize for a in arrays] + list(outputs))
    sizes = [a.itemsize for a in arrays] + list(outputs)
    patterns = "".join(FIXED if s == 0 else CONTIGUOUS if s == size else STRIDED for s, size in zip(inner, sizes))
    segments = -(-length // SEGMENT)
    rows = int(np.prod([size for size, _ in dims], dtype=np.int64))
    flat = [segments, length, len(dims)] + [x for size, own in dims for x in (size, *own)] + list(inner)
    return RowPlan(patterns, np.array(flat, np.int64), rows * segments, shape, tuple(order))


# --- calling ----------------------------------------------------------------------------------------------------


def placed(rows: RowPlan) -> tuple[RowPlan, list[int], list[int] | None]:
    """A plan, the shape in memory of its results, and how to put their dimensions back in order, if need be."""
    order = rows.order
    back = None if order == tuple(range(len(order))) else [order.index(d) for d in range(len(order))]
    return rows, [rows.shape[d] for d in order], back


def _along_rows(ready: tuple[Any, ...], given: Sequence[Any]) -> Any:
    """The results of a kernel of rows: ``ready`` is the kernel, their types, and what :func:`placed` gives."""
    call, types, rows, shape, back = ready
    outs = [empty(shape, t) for t in types]
    call(rows.tasks, rows.plan, *given, *outs)
    if back is not None:
        outs = [o.transpose(back) for o in outs]
    return outs[0] if len(outs) == 1 else outs


def _each(result: Any, function: Callable[[np.ndarray], np.ndarray]) -> Any:
    """A function of a result, or of each of several; None where the fallback gives none."""
    if result is None:
        return None
    return [function(r) for r in result] if result.__class__ is list else function(result)


class Kernels:
    """The kernels of one elementwise function: one a signature, compiled when it is first met.

    Args:
        name: for the machine code.
        function: of scalars as well as of arrays; or several, with the same arguments, each giving one result.
        fallback: what to call where there is no kernel, or is no need for one.
        even_plain: use kernels also where NumPy does as well.
        sharing: whether an operand may be the result itself, as a gradient may be.
    """

    def __init__(
        self,
        name: str,
        functions: Sequence[Callable],
        fallback: Callable,
        even_plain: bool = False,
        sharing: bool = False,
    ) -> None:
        self.name, self.functions, self.fallback, self.even_plain = name, functions, fallback, even_plain
        self.sharing = sharing
        self.in_blocks = fallback if even_plain else Blocks(fallback)  # where there is no kernel
        self._flat: dict[Any, Any] = {}
        self._rows: dict[Any, Any] = {}
        self._layouts: dict[Any, RowPlan] = {}
        self._ready: dict[Any, Any] = {}  # for these layouts, all that a call needs, unless its numbers are built in
        self._specializations = 0

    def __call__(self, *values: Any) -> Any:
        shape: Any = None
        key: list[Any] = []
        for v in values:  # a single loop: it is most of what a few numbers cost
            if v.__class__ is ndarray:
                key.append(v.dtype)
                if shape is None:
                    shape, n = v.shape, v.size
                if v.shape != shape or not v.flags.c_contiguous:
                    return self._not_contiguous(values, [v for v in values if v.__class__ is ndarray])
            else:
                key.append(v.__class__)
        if shape is None:
            return self.fallback(*values)
        made = self._flat.get(tuple(key))
        if made is None:
            made = self._flat[tuple(key)] = self._make(values, "")
        given: Any = values
        if made.__class__ is dict:  # specialized on numbers, which are constants in the kernel
            made, given = self._specialized(made, values, ""), [v for v in values if v.__class__ is ndarray]
        if made.__class__ is int:  # the gradient itself
            return values[made]
        if made is False:
            return self.in_blocks(*values)
        call, types, plain = made
        if plain and n < kernels.SHARED:
            return self.fallback(*values)
        if len(types) == 1:
            return call(n, *given, empty(shape, types[0]))
        outs = [empty(shape, t) for t in types]
        call(n, *given, *outs)
        return outs

    def _not_contiguous(self, values: tuple, arrays: list[np.ndarray]) -> Any:
        """Dense arrays of one shape whose dimensions are permuted alike are contiguous in the order of memory."""
        first = arrays[0]
        if len(arrays) == 1 and first.size < FEW and not first.flags.forc and 0 not in first.strides:
            dense = first.copy("K")
            if dense.flags.forc:  # a copy of a few numbers takes less than planning
                return self(*[dense if v is first else v for v in values])
        if first.flags.f_contiguous:
            for a in arrays:
                if a.shape != first.shape or not a.flags.f_contiguous:
                    break
            else:
                return _each(self(*[v.T if v.__class__ is ndarray else v for v in values]), ndarray.transpose)
        elif first.ndim == 4 and all([a.shape == first.shape and a.strides == first.strides for a in arrays]):
            if first.transpose(0, 2, 3, 1).flags.c_contiguous:  # channels last
                made = self(*[v.transpose(0, 2, 3, 1) if v.__class__ is ndarray else v for v in values])
                return _each(made, lambda v: v.transpose(0, 3, 1, 2))
        return self._by_rows(values, arrays)

    def _by_rows(self, values: tuple, arrays: list[np.ndarray]) -> Any:
        key = tuple([(v.shape, v.strides, v.dtype) if v.__class__ is ndarray else v.__class__ for v in values])
        ready: Any = self._ready.get(key)
        if ready is not None:
            return _along_rows(ready, values)
        types = self._result_types(values)
        if types is None:
            return self.in_blocks(*values)
        rows = self._layouts.get(key)
        if rows is None:
            if len(self._layouts) > 256:
                self._layouts.clear()
                self._ready.clear()
            try:
                shape = np.broadcast_shapes(*[a.shape for a in arrays])
            except ValueError:  # for the words of the error
                return self.fallback(*values)
            rows = self._layouts[key] = plan_rows(arrays, shape, [t.itemsize for t in types])
        if not rows.tasks or 0 in rows.shape:
            return self.fallback(*values)
        which = (rows.patterns, *[v.dtype if v.__class__ is ndarray else v.__class__ for v in values])
        made = self._rows.get(which)
        if made is None:
            made = self._rows[which] = self._make(values, rows.patterns)
        if made.__class__ is dict:
            made = self._specialized(made, values, rows.patterns)
            return self.in_blocks(*values) if made is False else _along_rows((made[0], types, *placed(rows)), arrays)
        if made is False:
            return self.in_blocks(*values)
        self._ready[key] = ready = (made[0], types, *placed(rows))
        return _along_rows(ready, values)

    def _result_types(self, values: tuple) -> list[np.dtype] | None:
        """The types of the results; None if these operands have no kernel."""
        key = tuple([v.dtype if v.__class__ is ndarray else v.__class__ for v in values])
        made = self._flat.get(key)
        if made is None:
            made = self._flat[key] = self._make(values, "")
        if made.__class__ is dict:
            made = self._specialized(made, values, "")
        return None if made is False or made.__class__ is int else made[1]

    def _specialized(self, made: dict, values: tuple, patterns: str) -> Any:
        numbers = repr(
            [v for v in values if v.__class__ is not ndarray]
        )  # which tells 0.0 from -0.0, 1 and 1.0 from True
        found = made.get(numbers)
        if found is None:
            if self._specializations >= MOST_SPECIALIZED:
                return False
            self._specializations += 1
            found = made[numbers] = self._make(values, patterns, specialize=True)
        return found

    def _make(self, values: tuple, patterns: str, specialize: bool = False) -> Any:
        """(what to call, types of results, whether NumPy does as well on contiguous arrays); a dict if numbers have to
        be known; the number of an operand that is the result itself; False if there can be no kernel."""
        stored: list[Type | None] = []
        for v in values:
            if v.__class__ is ndarray:
                if v.dtype not in STORED or not v.dtype.isnative:
                    return False
                stored.append(STORED[v.dtype])
            elif v.__class__ in (int, float):
                stored.append(None)
            elif v.__class__ in (bool, tuple, type(None), str):
                if not specialize:
                    return {}
                stored.append(None)
            else:
                return False
        floats = {t for t in stored if t is not None and t != I1}
        if len(floats) != 1:
            return False
        (kind,) = floats
        compute = compute_type(kind)
        arguments: list[Any] = []
        inputs: list[Type | None] = []
        for v, t in zip(values, stored):
            if specialize and v.__class__ is not ndarray:
                arguments.append(v)
            else:
                arguments.append(Scalar.argument(len(inputs), compute if t is None else compute_type(t), t is None))
                inputs.append(t)
        expressions = [trace_scalar(function, arguments) for function in self.functions]
        if any(x is None for x in expressions):
            return False if specialize or None not in stored else {}
        if any(x.op == "argument" for x in expressions):  # type: ignore[union-attr]  # nothing to compute
            number, common = expressions[0].operands  # type: ignore[union-attr]
            return number if self.sharing and not common and not specialize else False
        types = tuple(kind if x.type == compute else x.type for x in expressions)  # type: ignore[union-attr]
        if any(compute_type(t) not in (compute, I1) for t in types):
            return False
        call = kernel(self.name, expressions, Signature(tuple(inputs), types, patterns), compute)  # type: ignore[arg-type]
        of = {t: d for d, t in STORED.items()}
        plain = not self.even_plain and len(expressions) == 1 and is_single_step(expressions[0]) and kind in (F32, F64)  # type: ignore[arg-type]
        return call, [of[t] for t in types], plain
