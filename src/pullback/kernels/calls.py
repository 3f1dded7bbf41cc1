"""The usual call of an operation as machine code: arrays out of tensors, the operation on them, a tensor and its node around the result.

What :mod:`pullback.calling` does in Python around the computation takes longer than the computation of a small array. One
function here serves all operations of one result: what it has to know of each stands in a tuple that it is bound to, see
:class:`Usual`. Whatever is unusual it leaves, undone, to the function that is written in Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import native
from .builder import F32, F64, I1, I8, I32, I64, PTR, Value
from .objects import TYPE_OF_ARRAY
from .operators import FLAGS, FLOATS, GAPLESS, Recorded

MOST = 8  # arguments of an operation
TENSOR, NUMBER, NOTHING, OPTION, MASK = 1, 2, 4, 8, 16  # what may stand in a place; options of elementwise operations are plain values
SHAPE, RESULT = 32, 64  # what a node saves: 0 None, 1 + i the value in place i, that + SHAPE its shape, RESULT the result
SCALARS = set(np.sctypeDict.values())  # what NumPy gives instead of arrays without dimensions
BOOL = np.dtype(bool)
OF_TUPLE, OF_BYTES = tuple.__basicsize__, bytes.__basicsize__ - 1  # where their items begin


class Usual(NamedTuple):
    """What is to be known of an operation.

    Attributes:
        compute: the operation on arrays.
        fallback: the call in Python, of all arguments.
        node, scalar_node: the types of nodes; the second where a number stands in the place of a tensor.
        node_of: ``node_of(node, dtype)``, the type where the result is neither float32 nor float64; None if it has no gradient.
            Of views that ``node_of(*args)``, where the type depends on the arguments.
        places: a byte for each argument: what may stand there.
        plans: for each set of tensors whose gradients are wanted, as bits, what the node saves, a byte each.
        limit: elements of a tensor from which kernels do better.
        elementwise: whether tensors have to be of one type, which is float32 or float64.
    """

    compute: Callable
    fallback: Callable
    node: type | None
    scalar_node: type | None
    node_of: Callable
    places: bytes
    plans: tuple[bytes, ...]
    limit: int
    elementwise: bool


def usual(op: Any, fallback: Callable, node_of: Callable, large: int, shared: int) -> Usual | None:
    """What is to be known of an operation; None if its call is of another kind."""
    total, tensors, elementwise = len(op.params), op.tensors, op.kind == "elementwise"
    if op.result or op.listed or not tensors or not isinstance(op.node_name, str) or total > MOST:
        return None
    places = [(MASK if i in op.indices else OPTION) if elementwise else 0 for i in range(total)]
    for i in tensors:
        optional = i != tensors[0] and op.defaults[i] is None
        places[i] = TENSOR | (NUMBER if i or elementwise else 0) | (NOTHING if optional else 0)

    def plan(wanted: int) -> bytes:
        """What a node keeps when those gradients are wanted."""
        of = {"value": 1, "shape": 1 + SHAPE, "out": 1 + RESULT}
        return bytes([of[kind] + i if users & wanted else 0 for kind, i, users in op.getters])

    node, scalar_node = (op.node_type(name, False) for name in (op.node_name, op.node_name[:-1] + "0" if elementwise else op.node_name))
    compute, limit = (op.impl, shared) if op.large is not op.impl else (op.small, large) if elementwise else (op.impl, sys.maxsize)
    return Usual(compute, fallback, node, scalar_node, node_of, bytes(places), tuple(map(plan, range(1 << len(tensors)))), limit, elementwise)


def usual_view(op: Any, fallback: Callable) -> Usual | None:
    """The same of an operation that looks at its tensor's memory; None if it gives several views."""
    name, total = op.node_name, len(op.params)
    if op.impl.__annotations__["return"] != "Tensor" or total > MOST:
        return None
    node = op.node_type(name, False) if isinstance(name, str) else None
    places = bytes([TENSOR, *[0] * (total - 1)])
    return Usual(op.impl, fallback, node, None, lambda *args: op.node_type(name(*args), False), places, (), 0, False)


class Call(Recorded):
    """The call of an operation, being written.

    Args:
        edge_of: ``edge_of(view)``, where a gradient for it goes.
        options: the classes that options of elementwise operations may have.
        ordinary: what views of an ordinary tensor hold of their kind.
        given: from ``recording`` to ``mark`` as for :class:`Recorded`.
    """

    def __init__(self, name: str, edge_of: Callable, options: set[type], ordinary: Any, *given: Any) -> None:
        super().__init__(name, edge_of, (), *given)  # each call has a fallback of its own
        self.known += [options, ordinary, SCALARS, np.asarray, (), Exception, BOOL]
        self.edge_of_view, self.options, self.ordinary = edge_of, options, ordinary
        self.values, self.edges = self.room(MOST, PTR), self.room(MOST, PTR)  # references of our own, so many of each:
        self.valued, self.edged = self.variable(0, I64), self.variable(0, I64)
        self.wanted, self.bit = self.variable(0, I64), self.variable(1, I64)
        self.tensors, self.arrays, self.numbers = (self.variable(False, I1) for _ in range(3))  # whether there are any
        self.first, self.several, self.gaps = self.variable(self.nothing()), self.variable(False, I1), self.variable(False, I1)

    def known_of(self, field: str) -> Value:
        return self.field(self["self"], OF_TUPLE + 8 * Usual._fields.index(field))

    def number_of(self, field: str) -> Value:
        return self.api("PyLong_AsSsize_t", self.known_of(field), returns=I64)

    def is_floating(self, dtype: Value) -> Value:
        return dtype.equals(self.object(FLOATS[F32])) | dtype.equals(self.object(FLOATS[F64]))

    # --- arguments ----------------------------------------------------------------------------------------------

    def take_all(self) -> None:
        """Check the modes, and put all arguments among the values; they have tensors, or else arrays."""
        self.check_modes()
        places = self.known_of("places")
        self.need(self["count"].equals(self.field(places, object.__basicsize__, I64)))
        with self.loop(0, self["count"]) as i:
            allowed = self.load(self.at(places, i + OF_BYTES, I8), I8)
            self.take(self.load(self.at(self["args"], i, PTR), PTR), self.convert("zext", allowed, I32))
        self.need(self.tensors.get().differs(self.arrays.get()))

    def take(self, argument: Value, allowed: Value) -> None:
        """Put an argument among the values; an edge, too, where a tensor may stand."""
        value, kind = self.variable(argument), self.kind(argument)

        def may_be_tensor() -> None:
            is_tensor = self.variable(kind.equals(self.object(self.recording.tensor_class)))
            with self.when(is_tensor.get().equals(0)):
                is_tensor.set(self.api("PySet_Contains", self.object(self.plain), kind, returns=I32).equals(1))
            self.choose(is_tensor.get(), lambda: self.take_tensor(argument, value), lambda: self.take_other(argument, kind, allowed))
            self.bit.set(self.bit.get() + self.bit.get())

        def is_option() -> None:
            with self.when((allowed & OPTION).differs(0)):
                self.need(self.api("PySet_Contains", self.object(self.options), kind, returns=I32).equals(1))
            with self.when((allowed & MASK).differs(0)):
                self.need(kind.equals(self.object(np.ndarray)))
                self.look_for_gaps(argument)
                self.several.set(True)

        self.choose((allowed & TENSOR).differs(0), may_be_tensor, is_option)
        self.store(self.own(value.get()), self.at(self.values, self.valued.get(), PTR))
        self.valued.set(self.valued.get() + 1)

    def take_tensor(self, tensor: Value, value: Any) -> None:
        edge = self.variable(self.edge_of(tensor))
        with self.when(self.slot(tensor, self.recording.tensor_class, "_view").differs(self.object(None))):
            found = self.call_object(self.edge_of_view, tensor)
            self.need(found.differs(self.nothing()))
            self.drop(found)  # the tensor holds it
            edge.set(found)
        array = self.slot(tensor, self.recording.tensor_class, "_array")  # after the edge: a view may just have caught up with its base
        self.need(self.kind(array).equals(self.object(np.ndarray)))
        value.set(array)
        with self.when(self.known_of("elementwise").equals(self.object(True))):
            dtype = self.field(array, TYPE_OF_ARRAY)
            self.choose(self.first.get().equals(self.nothing()), lambda: self.need(self.is_floating(dtype)),
                        lambda: self.need(dtype.equals(self.field(self.first.get(), TYPE_OF_ARRAY))))  # fmt: skip
            again = self.first.get().differs(self.nothing())
            self.several.set(self.several.get() | again)
            self.first.set(self.select(again, self.first.get(), array))
            self.look_for_gaps(array)
            items = self.variable(1, I64)
            with self.loop(0, self.convert("sext", self.field(array, native.RANK, I32), I64)) as i:
                items.set(items.get() * self.load(self.at(self.field(array, native.SHAPE), i, I64), I64))
            self.need(items.get() < self.number_of("limit"))
        self.tensors.set(True)
        self.wanted.set(self.wanted.get() + self.select(edge.get().differs(self.object(None)), self.bit.get(), 0))
        self.add_edge(edge.get())

    def look_for_gaps(self, array: Value) -> None:
        gapless = (self.field(array, FLAGS, I32) & GAPLESS).differs(0) | (self.field(array, native.RANK, I32) < 2)
        self.gaps.set(self.gaps.get() | gapless.equals(0))

    def take_other(self, argument: Value, kind: Value, allowed: Value) -> None:
        """An array, of which rules are made; or a number or None, where they may stand."""
        is_array = kind.equals(self.object(np.ndarray))
        number = (kind.equals(self.object(float)) | kind.equals(self.object(int))) & (allowed & NUMBER).differs(0)
        absent = argument.equals(self.object(None)) & (allowed & NOTHING).differs(0)
        self.need(is_array | number | absent)
        self.arrays.set(self.arrays.get() | is_array)
        self.numbers.set(self.numbers.get() | is_array.equals(0))
        self.add_edge(self.object(None))

    def add_edge(self, edge: Value) -> None:
        self.store(self.own(edge), self.at(self.edges, self.edged.get(), PTR))
        self.edged.set(self.edged.get() + 1)

    # --- results ------------------------------------------------------------------------------------------------

    def computed_array(self) -> Value:
        """What the operation makes of the values, as an array of our own."""
        result = self.variable(self.api("PyObject_Vectorcall", self.known_of("compute"), self.values, self.valued.get(), self.nothing()))
        self.need(result.get().differs(self.nothing()))
        with self.when(self.kind(result.get()).differs(self.object(np.ndarray))):
            value = result.get()
            is_scalar = self.api("PySet_Contains", self.object(SCALARS), self.kind(value), returns=I32).equals(1)
            result.set(self.nothing())
            with self.when(is_scalar):
                result.set(self.call_object(np.asarray, value))
            self.drop(value)
            self.need(result.get().differs(self.nothing()))
        return result.get()

    def saved(self, result: Value) -> Value:
        """The tuple that a node keeps, as the plan for the gradients wanted says."""
        plan = self.load(self.at(self.known_of("plans"), self.wanted.get() + OF_TUPLE // 8, PTR), PTR)
        length = self.field(plan, object.__basicsize__, I64)
        made = self.api("PyTuple_New", length)
        with self.loop(0, length) as j:
            code = self.convert("zext", self.load(self.at(plan, j + OF_BYTES, I8), I8), I64)
            item = self.variable(self.object(None))
            with self.when((code & (SHAPE - 1)).differs(0)):
                item.set(self.load(self.at(self.values, (code & (SHAPE - 1)) - 1, PTR), PTR))
            with self.when((code & RESULT).differs(0)):
                item.set(result)
            self.own(item.get())
            with self.when((code & SHAPE).differs(0)):
                whole = item.get()
                item.set(self.own(self.object(())))
                with self.when(self.kind(whole).equals(self.object(np.ndarray))):
                    item.set(self.api("PyObject_GetAttr", whole, self.object("shape")))
                self.drop(whole)
            self.api("PyTuple_SetItem", made, j, item.get(), returns=I32)
        return made

    def around(self, array: Value) -> Value:
        """A tensor around the result, recorded if a gradient is wanted and the result can have one."""
        node, none = self.variable(self.select(self.numbers.get(), self.known_of("scalar_node"), self.known_of("node"))), self.object(None)
        tensor, recording = self.variable(self.nothing()), self.variable(self.on.get() & self.wanted.get().differs(0))
        dtype = self.field(array, TYPE_OF_ARRAY)
        recording.set(recording.get() & dtype.differs(self.object(BOOL)))
        with self.when(recording.get() & self.is_floating(dtype).equals(0)):
            pair = self.room(2, PTR)
            self.store(node.get(), pair)
            self.store(dtype, self.at(pair, 1, PTR))
            found = self.api("PyObject_Vectorcall", self.known_of("node_of"), pair, self.constant(2, I64), self.nothing())
            self.need(found.differs(self.nothing()))
            self.drop(found)  # its operation holds it
            node.set(found)
            recording.set(found.differs(none))

        def record() -> None:
            edges = self.api("PyTuple_New", self.edged.get())
            with self.loop(0, self.edged.get()) as i:
                self.api("PyTuple_SetItem", edges, i, self.load(self.at(self.edges, i, PTR), PTR), returns=I32)
            self.edged.set(0)
            made = self.node(self.recording, node.get(), edges, self.saved(array), array, self.api("PyEval_GetFrame"))
            tensor.set(self.bare(self.recording.tensor_class, array, made))

        def leave_unrecorded() -> None:
            tensor.set(self.bare(self.recording.tensor_class, array, self.own(none)))
            with self.when(self.marked.get()):
                self.mark_unrecorded(tensor.get())

        self.choose(recording.get(), record, leave_unrecorded)
        return tensor.get()

    def mark_unrecorded(self, tensor: Value) -> None:
        edge, room = self.variable(self.object(None)), self.room(2 + MOST, PTR)
        with self.loop(0, self.edged.get()) as i:
            found = self.load(self.at(self.edges, i, PTR), PTR)
            edge.set(self.select(found.differs(self.object(None)), found, edge.get()))
        self.store(tensor, room)
        self.store(edge.get(), self.at(room, 1, PTR))
        self.copy(self.at(room, 2, PTR), self["args"], self["count"] * 8)
        self.drop(self.api("PyObject_Vectorcall", self.object(self.mark), room, self["count"] + 2, self.nothing()))

    def give_back(self) -> None:
        for held, room in ((self.valued, self.values), (self.edged, self.edges)):
            with self.loop(0, held.get()) as i:
                self.drop(self.load(self.at(room, i, PTR), PTR))

    def finish(self, result: Value) -> Value:
        """Return the result; or, from where something was unusual, what the function in Python says."""
        self.give_back()
        self.line(f"ret ptr {result.text}")
        self.lines.append("unusual:")
        self.give_back()
        failed = self.api("PyErr_Occurred").differs(self.nothing())
        with self.when(failed):
            ordinary = self.api("PyErr_ExceptionMatches", self.object(Exception), returns=I32).differs(0)
            self.unless(ordinary, "interrupted")
            self.api("PyErr_Clear", returns=None)
        said = self.api("PyObject_Vectorcall", self.known_of("fallback"), self["args"], self["count"], self.nothing())
        self.line(f"ret ptr {said.text}")
        self.lines.append("interrupted:")
        return self.nothing()


def calls(node_of: Callable, large: int, shared: int, *given: Any) -> Callable[[Any, Callable], Callable]:
    """What makes the call of an operation, from it and its call in Python.

    Args:
        node_of: see :class:`Usual`.
        large, shared: elements from which elementwise operations are kernels; and those that are one NumPy function.
        given: for :class:`Call`.
    """
    call, view = Call("call", *given), Call("view", *given)
    of_call = native.bound("call", call.address(lambda: _call(call)))
    of_view = native.bound("view", view.address(lambda: _view(view)))

    def call_of(op: Any, fallback: Callable) -> Callable:
        known = usual_view(op, fallback) if op.kind == "view" else usual(op, fallback, node_of, large, shared)
        return fallback if known is None else (of_view if op.kind == "view" else of_call)(known)

    return call_of


def _call(f: Call) -> Value:
    f.take_all()
    f.need((f.several.get() & f.gaps.get()).equals(0))  # else the result's memory might be laid out in another way
    result = f.variable(f.computed_array())
    with f.when(f.tensors.get()):
        result.set(f.around(result.get()))
    return f.finish(result.get())


def _view(f: Call) -> Value:
    """Where it is recorded; a view knows its base, the time it was made, and how it came to be."""
    tensor, none, tensor_class = f.given(0), f.object(None), f.recording.tensor_class
    f.take_all()
    base, kind = f.variable(tensor), f.variable(f.object(f.ordinary))
    with f.when(f.tensors.get()):
        f.need(f.on.get() & f.wanted.get().differs(0))
        view = f.slot(tensor, tensor_class, "_view")
        with f.when(view.differs(none)):
            base.set(f.field(view, OF_TUPLE))
            kind.set(f.field(view, OF_TUPLE + 16))
            f.need(base.get().differs(none))
    array = f.computed_array()
    result = f.variable(array)
    with f.when(f.tensors.get()):
        saved = f.api("PyTuple_New", f["count"])
        f.api("PyTuple_SetItem", saved, f.constant(0, I64), f.api("PyObject_GetAttr", f.load(f.values, PTR), f.object("shape")), returns=I32)
        with f.loop(1, f["count"]) as i:
            f.api("PyTuple_SetItem", saved, i, f.own(f.load(f.at(f.values, i, PTR), PTR)), returns=I32)
        node_type = f.variable(f.known_of("node"))
        with f.when(node_type.get().equals(none)):
            node_type.set(f.api("PyObject_Vectorcall", f.known_of("node_of"), f["args"], f["count"], f.nothing()))
            f.drop(node_type.get())  # the operation holds it
        node = f.node(f.recording, node_type.get(), f.tuple(f.own(f.load(f.edges, PTR))), saved, array, f.api("PyEval_GetFrame"))
        view = f.tuple(f.own(base.get()), f.own(f.slot(node, f.recording.node_class, "_seq")), f.own(kind.get()))
        result.set(f.bare(tensor_class, array, node, view))
    return f.finish(result.get())
