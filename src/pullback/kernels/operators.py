"""``x + y``, ``x - y``, ``x * y`` and ``x / y`` of small tensors as machine code: all of what the operator does, for the usual case.

Usual are float32 or float64 tensors of one shape and type, without gaps in memory, small and no views, and Python numbers in
the place of the second. Everything else is left to the operator as it is written in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from . import native
from .builder import F32, F64, I32, I64, PTR, Type, Value
from .memory import numpys
from .objects import TYPE_OF_ARRAY, Maker, Recording

SMALL = 1024  # elements, from which the larger kernels take over
FLAGS = TYPE_OF_ARRAY + 8
USABLE = 0x1 | 0x100  # NumPy's flags for C order without gaps, and for aligned data
NEW_ARRAY = 94  # where NumPy's table of functions has PyArray_NewFromDescr

native.provide("PyArray_NewFromDescr", numpys(NEW_ARRAY))


class Operator(Maker):
    """The function being written.

    Args:
        op: the operation, of two operands.
        plain: the classes of plain tensors.
        leaf: what ``_fn`` of a leaf holds.
        modes: the module whose ``special`` and ``silent`` say whether anything is unusual.
    """

    def __init__(self, op: Any, recording: Recording, plain: set[type], leaf: Any, modes: ModuleType) -> None:
        self.recording, self.leaf, self.op = recording, leaf, op
        self.node_type, self.fallback = op.node_type(op.node_name, False), op.operator
        self.modes, self.plain = modes, plain
        self.types = {np.dtype(np.float32): F32, np.dtype(np.float64): F64}
        super().__init__(f"operator_{op.name}", [*recording.known, plain, np.ndarray, *self.types, float, int, leaf, self.node_type,
                                                 self.fallback, modes.__dict__, "special", 0, modes.silent],
                         [("self", PTR), ("other", PTR)])  # fmt: skip

    def need(self, condition: Value) -> None:
        """Go on if so; else let Python do it."""
        (go_on,) = self._labels(1)
        self.lines += [f"br i1 {condition.text}, label %{go_on}, label %unusual", f"{go_on}:"]

    def kind(self, instance: Value) -> Value:
        """An object's class."""
        return self.load(self.at(instance, object.__basicsize__ // 8 - 1, PTR), PTR)

    def array_of(self, tensor: Value) -> Value:
        """The array of a plain tensor that is no view."""
        self.need(self.api("PySet_Contains", self.object(self.plain), self.kind(tensor), returns=I32).equals(1))
        cls = self.recording.tensor_class
        self.need(self.slot(tensor, cls, "_view").equals(self.object(None)))
        array = self.slot(tensor, cls, "_array")
        self.need(self.kind(array).equals(self.object(np.ndarray)))
        flags = self.load(self.at(array, FLAGS // 4, I32), I32)
        self.need((flags & USABLE).equals(USABLE))
        return array

    def edge_of(self, tensor: Value) -> Value:
        fn = self.slot(tensor, self.recording.tensor_class, "_fn")
        return self.select(fn.equals(self.object(self.leaf)), tensor, fn)

    def field(self, array: Value, at: int, type: Type = PTR) -> Value:
        return self.load(self.at(array, at * 8 // type.bits, type), type)


METHODS = {"add": "__add__", "sub": "__sub__", "mul": "__mul__", "div": "__truediv__"}  # by the operation's name


def method(op: Any, recording: Recording, plain: set[type], leaf: Any, modes: ModuleType) -> Any:
    """The method for tensors that is this operator; what is not usual it hands to ``op.operator``."""
    f = Operator(op, recording, plain, leaf, modes)
    x_tensor, other = f["self"], f["other"]
    x = f.array_of(x_tensor)
    dtype, rank, shape = f.field(x, TYPE_OF_ARRAY), f.field(x, native.RANK, I32), f.field(x, native.SHAPE)
    special = f.api("PyDict_GetItem", f.object(modes.__dict__), f.object("special"))
    f.need(special.equals(f.object(0)))
    f.need(f.field(f.object(modes.silent), object.__basicsize__, I64).equals(0))
    items = f.variable(1, I64)
    with f.loop(0, f.convert("sext", rank, I64)) as i:
        items.set(items.get() * f.load(f.at(shape, i, I64), I64))
    n = items.get()
    f.need(n < SMALL)
    e, none = f.edge_of(x_tensor), f.object(None)
    h = f.variable(none)
    number, y = f.variable(0.0, F64), f.variable(f.nothing())

    def of_float() -> None:
        number.set(f.api("PyFloat_AsDouble", other, returns=F64))

    def of_int() -> None:
        too_large = f.room(1, I32)
        value = f.api("PyLong_AsLongLongAndOverflow", other, too_large, returns=I64)
        f.need(f.load(too_large, I32).equals(0))
        number.set(f.convert("sitofp", value, F64))

    def of_tensor() -> None:
        array = f.array_of(other)
        f.need(f.field(array, TYPE_OF_ARRAY).equals(dtype) & f.field(array, native.RANK, I32).equals(rank))
        with f.loop(0, f.convert("sext", rank, I64)) as i:
            f.need(f.load(f.at(shape, i, I64), I64).equals(f.load(f.at(f.field(array, native.SHAPE), i, I64), I64)))
        y.set(array)
        h.set(f.edge_of(other))

    is_float, is_int = (f.kind(other).equals(f.object(kind)) for kind in (float, int))
    is_number = is_float | is_int
    f.choose(is_float, of_float, lambda: f.choose(is_int, of_int, of_tensor))
    result = f.variable(f.nothing())
    single, double = (dtype.equals(f.object(d)) for d in f.types)
    f.need(single | double)
    result.set(f.call("PyArray_NewFromDescr", f.object(np.ndarray), f.own(dtype), rank, shape, f.nothing(), f.nothing(),
                      f.constant(0, I32), f.nothing(), returns=PTR, outside=True))  # fmt: skip
    out = result.get()

    def compute(type: Type) -> None:
        p, to = f.field(x, native.DATA), f.field(out, native.DATA)

        def fill(second: Callable[[Value], Value]) -> None:
            with f.loop(0, n) as i:
                a, b = f.load(f.at(p, i, type), type), second(i)
                f.store(f.binary(op.name, a, b), f.at(to, i, type))

        def by_number() -> None:
            b = number.get() if type is F64 else f.convert("fptrunc", number.get(), F32)
            fill(lambda i: b)

        def by_tensor() -> None:
            q = f.field(y.get(), native.DATA)
            fill(lambda i: f.load(f.at(q, i, type), type))

        f.choose(is_number, by_number, by_tensor)

    f.choose(single, lambda: compute(F32), lambda: compute(F64))
    tensor = f.variable(f.nothing())
    wants, wanted = e.differs(none), h.get().differs(none)

    def record() -> None:
        edges, saved = (f.api("PyTuple_New", f.constant(k, I64)) for k in (2, len(op.getters)))
        for i, edge in enumerate((e, h.get())):
            f.api("PyTuple_SetItem", edges, f.constant(i, I64), f.own(edge), returns=I32)
        second = f.select(is_number, other, y.get())
        for i, (value, (_, _, users)) in enumerate(zip((x, second, out), op.getters)):
            needed = (wants if users == 1 else wanted if users == 2 else wants | wanted) if users else None
            kept = none if needed is None else f.select(needed, value, none)
            f.api("PyTuple_SetItem", saved, f.constant(i, I64), f.own(kept), returns=I32)
        node = f.node(recording, f.object(f.node_type), edges, saved, out, f.api("PyEval_GetFrame"))
        tensor.set(f.bare(recording.tensor_class, out, node))

    f.choose(wants | wanted, record, lambda: tensor.set(f.bare(recording.tensor_class, out, f.own(none))))
    f.line(f"ret ptr {tensor.get().text}")
    f.lines.append("unusual:")
    arguments = f.room(2, PTR)
    f.store(x_tensor, arguments)
    f.store(other, f.at(arguments, 1, PTR))
    address = f.address(f.api("PyObject_Vectorcall", f.object(f.fallback), arguments, f.constant(2, I64), f.nothing()))
    return native.as_method(recording.tensor_class, METHODS[op.name], address)
