"""Building blocks of the compiled fast path of calls: unpacking arguments, wrapping results, nodes, views.

:mod:`pullback.kernels.eager.op_calls` puts them together for each kind of operation.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...base import dtypes
from ...base.dtypes import exact_number
from ...base.layout import match_layout
from ..codegen import object_layout as layout
from ..codegen.llvm_ir import F32, F64, I1, I8, I32, I64, PTR, Value
from .small_arrays import FLOATS, GAPLESS, RecordingFunction

MOST = 9  # arguments of an operation; and results
MOST_TENSORS = 60  # in a list
# What an argument may be, as in core/call_spec.py: options of elementwise operations are plain values.
TENSOR, NUMBER, NONE, OPTION, MASK = 1, 2, 4, 8, 16
SHAPE = 32  # what a node saves: 0 None, 1 + i the value of argument i, 1 + MOST + i a result, that + SHAPE its shape
NARROW, HALVES = sorted(dtypes.NARROW, key=str), sorted(dtypes.HALVES, key=str)
SCALARS = set(np.sctypeDict.values())  # NumPy returns these instead of arrays without dimensions
BOOL = np.dtype(bool)


class NodeClasses(dict[str, type]):
    """An operation's node classes for real results, by name, made when they are first asked for."""

    def __init__(self, op: Any) -> None:
        self.op = op

    def __missing__(self, name: str) -> type:
        self[name] = self.op.node_type(name)
        return self[name]


class NativeCallSpec(NamedTuple):
    """The facts about one operation that compiled calls read: its ``CallSpec`` as bytes, and what it calls.

    Attributes:
        compute: the operation on arrays.
        fallback: the call in Python, of all arguments.
        node, scalar_node: the node classes; the second if an argument is a number instead of a tensor. None if they
            have names that depend on arguments: on the one at ``node_at``, or if this is -1, ``node_name(*args)``.
        nodes: the classes by these names.
        node_of: ``node_of(node, dtype)``, the class if the result is neither float32 nor float64; None if it has no
            gradient.
        places: a byte for each argument: what it may be.
        plans: for each set of tensors whose gradients are wanted, as bits, what the node saves, a byte each.
        limit: elements of a tensor from which on kernels are faster.
        elementwise: whether tensors have to be of one type, which is float32, float64, one of ``integer_dtypes`` or of
            half precision.
        integer_dtypes: integer types and bool, if the operation computes in them as they are.
        half_numbers: whether Python numbers may stand beside half precision.
        compute_half: the operation on arrays of half precision.
        check: ``check(*args)`` refuses operands that are not of float32 or float64; or None.
        result_type: the class of several results.
        differentiable: for each of these whether it has a gradient.
        first_differentiable: the first that has one.
    """

    compute: Callable
    fallback: Callable
    node: type | None
    scalar_node: type | None
    node_at: int
    node_name: Callable
    nodes: dict[str, type]
    node_of: Callable
    places: bytes
    plans: tuple[bytes, ...] = ()
    limit: int = sys.maxsize
    elementwise: bool = False
    integer_dtypes: frozenset[np.dtype] = frozenset()
    half_numbers: bool = False
    compute_half: Callable | None = None
    check: Callable | None = None
    result_type: type | None = None
    differentiable: bytes = b""
    first_differentiable: int = 0


def call_kind(op: Any) -> str:
    """Which of the compiled functions calls an operation."""
    if op.kind == "view":
        return "view" if op.impl.__annotations__["return"] == "Tensor" else "views"
    return "named" if op.result else "listed" if op.takes_tensor_list else "call"


def native_call_spec(
    op: Any, fallback: Callable, node_of: Callable, integer_categories: dict[np.dtype, int], large: int, shared: int
) -> NativeCallSpec:
    """The spec of an operation of at most MOST arguments."""
    spec, elementwise, name = op.call_spec, op.kind == "elementwise", op.node_name

    def plan(wanted: int) -> bytes:
        """What a node saves when those gradients are wanted."""
        base = {"value": 1, "shape": 1 + SHAPE, "out": 1 + MOST}
        return bytes([base[source[0]] + source[1] if source else 0 for source in spec.sources(wanted)])

    if op.kind == "view":  # a node keeps its tensor's shape, and all options
        plans = [b"", bytes([1 + SHAPE, *range(2, len(op.params) + 1)])]
    else:
        plans = [plan(wanted) for wanted in range(1 << len(op.tensors))] if op.tensors else [b"", plan(-1)]
    node, scalar_node = (
        op.node_type(n) if isinstance(n, str) else None for n in (name, name[:-1] + "0" if elementwise else name)
    )
    compute, limit = (
        (op.impl, shared)
        if op.impl_large is not op.impl
        else (op.impl_small, large)
        if elementwise
        else (op.impl, sys.maxsize)
    )
    integer_dtypes = frozenset(
        t for t, category in integer_categories.items() if category >= op.result_category and t.kind not in op.refuses
    )
    return NativeCallSpec(
        compute,
        fallback,
        node,
        scalar_node,
        op.node_at,
        name,
        NodeClasses(op),
        node_of,
        bytes(spec.places),
        tuple(plans),
        limit,
        elementwise,
        integer_dtypes,
        op.number is not exact_number,
        op.compute_half if elementwise else None,
        op.check,
        op.result,
        bytes([i in op.differentiable for i in range(len(op.outputs))]),
        min(op.differentiable, default=0),
    )


class OpCall(RecordingFunction):
    """The call of an operation, being written.

    Args:
        gradient_edge: ``gradient_edge(view)``, where a gradient for it goes.
        options: the classes that options of elementwise operations may have.
        view_kinds: how views are marked: ordinary ones, those under no_grad, and one of several.
        output: the class of edges to one of several results.
        given: from ``recording`` to ``mark`` as for :class:`RecordingFunction`.
    """

    def __init__(
        self,
        name: str,
        gradient_edge: Callable,
        options: set[type],
        view_kinds: tuple[Any, Any, Any],
        output: type,
        *given: Any,
    ) -> None:
        super().__init__(name, gradient_edge, (), *given)  # each operation has a fallback of its own, see `finish`
        self.constants += [
            options,
            *view_kinds,
            output,
            SCALARS,
            np.asarray,
            (),
            Exception,
            BOOL,
            list,
            tuple,
            *NARROW,
            *HALVES,
            np.array,
            match_layout,
        ]
        self.view_edge, self.options, self.view_kinds, self.output_class = (
            gradient_edge,
            options,
            view_kinds,
            output,
        )
        views = gradient_edge.__globals__  # its module's, which knows when memory was last written into
        self.versions, self.inference_tensor = views["versions"].__dict__, views["INFERENCE_TENSOR"]
        self.constants += [self.versions, "last_write", self.inference_tensor]
        # Owned references: the values of arguments (arrays for tensors), behind them results; and edges. Counters say
        # how many there are of each, so that every way out of the function can release just those.
        self.values, self.edges = self.stack_array(2 * MOST, PTR), self.stack_array(MOST_TENSORS, PTR)
        self.valued, self.edged, self.made = (self.variable(0, I64) for _ in range(3))
        self.items, self.raw, self.fn = (self.variable(self.null()) for _ in range(3))
        self.others: list[Any] = []  # those of these variables that hold an owned reference until the end
        # The tensors whose gradients are wanted, a bit each, and the bit of the next one.
        self.wanted, self.bit = self.variable(0, I64), self.variable(1, I64)
        # Whether any argument was of these kinds: all tensors, or all arrays, is what the fast path takes.
        self.tensors, self.arrays, self.numbers = (self.variable(False, I1) for _ in range(3))
        # Elementwise: the first array, its type, whether there is another array, whether one is not contiguous, and
        # whether one has its dimensions in another order.
        self.first = self.variable(self.null())
        self.integral, self.half, self.several, self.gaps, self.turned = (self.variable(False, I1) for _ in range(5))

    def spec_field(self, field: str) -> Value:
        """A field of the :class:`NativeCallSpec` that the function is bound to, as its ``self``."""
        return self.field(self["self"], layout.TUPLE_ITEMS + 8 * NativeCallSpec._fields.index(field))

    def spec_int(self, field: str) -> Value:
        return self.api("PyLong_AsSsize_t", self.spec_field(field), returns=I64)

    def length(self, sequence: Value) -> Value:
        """Of a tuple, a list or a bytes object."""
        return self.field(sequence, layout.LENGTH, I64)

    def is_floating(self, dtype: Value) -> Value:
        return dtype.equals(self.object(FLOATS[F32])) | dtype.equals(self.object(FLOATS[F64]))

    # --- arguments ----------------------------------------------------------------------------------------------

    def take_arguments(self, listed: bool = False) -> None:
        """Guard the modes and unpack all arguments into ``values``: all tensors, or all arrays."""
        self.guard_modes()
        places = self.spec_field("places")
        self.guard(self["count"].equals(self.length(places)))
        if listed:
            self.take_list(self.argument(0))
        with self.loop(int(listed), self["count"]) as i:
            allowed = self.load(self.at(places, i + layout.BYTES, I8), I8)
            taken = self.take_argument(
                self.load(self.at(self["args"], i, PTR), PTR), self.convert("zext", allowed, I32)
            )
            self.store(self.incref(taken), self.at(self.values, i, PTR))
            self.valued.set(i + 1)
        self.guard(self.tensors.get().differs(self.arrays.get()))
        with self.if_then(self.integral.get() | self.half.get()):
            self.call_check()
            with self.if_then(self.numbers.get()):
                self.take_numbers(places)

    def call_check(self) -> None:
        """Let the operation refuse operands of other types than float32 and float64."""
        check = self.spec_field("check")
        with self.if_then(check.differs(self.object(None))):
            passed = self.api("PyObject_Vectorcall", check, self["args"], self["count"], self.null())
            self.guard(passed.differs(self.null()))
            self.decref(passed)

    def take_numbers(self, places: Value) -> None:
        """Guard the numbers beside integers, which become arrays of their type, or beside half precision."""
        dtype, field = self.field(self.first.get(), layout.DTYPE), self.spec_field
        allowed = self.integral.get() | field("half_numbers").equals(self.object(True))
        self.guard(allowed & dtype.differs(self.object(BOOL)))
        with self.loop(0, self["count"]) as i:
            value, allowed = (
                self.load(self.at(self.values, i, PTR), PTR),
                self.load(self.at(places, i + layout.BYTES, I8), I8),
            )
            kind = self.type_of(value)
            with self.if_then((allowed & TENSOR).differs(0) & kind.differs(self.object(np.ndarray))):
                is_int = kind.equals(self.object(int))
                self.guard(is_int | (self.half.get() & kind.equals(self.object(float))))
                with self.if_then(self.integral.get()):
                    array = self.call_constant(np.array, value, dtype)
                    self.guard(array.differs(self.null()))
                    self.store(array, self.at(self.values, i, PTR))
                    self.decref(value)

    def take_list(self, given: Value) -> None:
        """Unpack a list of tensors into a list of arrays."""
        kind = self.type_of(given)
        self.others = [self.items]
        self.guard(kind.equals(self.object(list)) | kind.equals(self.object(tuple)))
        self.items.set(self.api("PySequence_Tuple", given))  # a copy: the list may change under our hands
        n = self.length(self.items.get())
        self.guard((n > 0) & (n <= MOST_TENSORS))
        self.store(self.api("PyList_New", n), self.values)
        self.valued.set(1)
        with self.loop(0, n) as i:
            array = self.take_argument(self.item(self.items.get(), i), self.constant(TENSOR, I32))
            self.api("PyList_SetItem", self.load(self.values, PTR), i, self.incref(array), returns=I32)
        self.wanted.set(self.select(self.wanted.get().differs(0), self.constant(1, I64), 0))  # all gradients, or none

    def take_argument(self, argument: Value, allowed: Value) -> Value:
        """The value of an argument, borrowed; where a tensor may be, its edge is added, too."""
        value, kind = self.variable(argument), self.type_of(argument)

        def may_be_tensor() -> None:
            is_tensor = self.variable(kind.equals(self.object(self.recording.tensor_class)))
            with self.if_then(is_tensor.get().equals(0)):
                is_tensor.set(self.api("PySet_Contains", self.object(self.plain), kind, returns=I32).equals(1))
            self.if_else(
                is_tensor.get(),
                lambda: self.take_tensor(argument, value),
                lambda: self.take_other(argument, kind, allowed),
            )
            self.bit.set(self.bit.get() + self.bit.get())

        def is_option() -> None:
            with self.if_then((allowed & OPTION).differs(0)):
                self.guard(self.api("PySet_Contains", self.object(self.options), kind, returns=I32).equals(1))
            with self.if_then((allowed & MASK).differs(0)):
                self.guard(kind.equals(self.object(np.ndarray)))
                self.note_order(argument)
                self.several.set(True)

        self.if_else((allowed & TENSOR).differs(0), may_be_tensor, is_option)
        return value.get()

    def take_tensor(self, tensor: Value, value: Any) -> None:
        """Set ``value`` to a tensor's array, and add its edge."""
        edge, view = self.variable(self.gradient_edge(tensor)), self.tensor_slot(tensor, "_view")
        # A view whose memory was written into since has another edge (and INFERENCE_TENSOR is no view at all).
        with self.if_then(view.differs(self.object(None))):
            newest = self.api("PyDict_GetItem", self.object(self.versions), self.object("last_write"))
            older = self.api("PyObject_RichCompareBool", self.item(view, 1), newest, self.constant(0, I32), returns=I32)
            with self.if_then(older.differs(0) | view.equals(self.object(self.inference_tensor))):
                found = self.call_constant(self.view_edge, tensor)
                self.guard(found.differs(self.null()))
                self.decref(found)  # the tensor holds it
                edge.set(found)
        # Read after the edge: asking for that may have regenerated the view.
        array = self.tensor_slot(tensor, "_array")
        self.guard(self.type_of(array).equals(self.object(np.ndarray)))
        value.set(array)
        dtype = self.field(array, layout.DTYPE)
        self.refuse_narrow(dtype)
        # Elementwise operations: no type promotion, and small enough that no kernel is faster.
        with self.if_then(self.spec_field("elementwise").equals(self.object(True))):
            self.if_else(
                self.first.get().equals(self.null()),
                lambda: self.check_type(dtype),
                lambda: self.guard(dtype.equals(self.field(self.first.get(), layout.DTYPE))),
            )
            again = self.first.get().differs(self.null())
            self.several.set(self.several.get() | again)
            self.first.set(self.select(again, self.first.get(), array))
            self.note_order(array)
            items = self.variable(1, I64)
            with self.loop(0, self.convert("sext", self.field(array, layout.RANK, I32), I64)) as i:
                items.set(items.get() * self.load(self.at(self.field(array, layout.SHAPE), i, I64), I64))
            self.guard(items.get() < self.spec_int("limit"))
        self.tensors.set(True)
        self.wanted.set(self.wanted.get() + self.select(edge.get().differs(self.object(None)), self.bit.get(), 0))
        self.add_edge(edge.get())

    def check_type(self, dtype: Value) -> None:
        """Guard the type of the first tensor of an elementwise operation."""
        with self.if_then(self.is_floating(dtype).equals(0)):
            for half in HALVES:
                self.half.set(self.half.get() | dtype.equals(self.object(half)))
            self.integral.set(self.half.get().equals(0))
            self.if_else(
                self.half.get(),
                lambda: self.guard(self.spec_field("compute_half").differs(self.object(None))),
                lambda: self.guard(
                    self.api("PySet_Contains", self.spec_field("integer_dtypes"), dtype, returns=I32).equals(1)
                ),
            )

    def is_contiguous(self, array: Value) -> Value:
        flags, rank = (self.field(array, at, I32) for at in (layout.FLAGS, layout.RANK))
        return (flags & GAPLESS).differs(0) | (rank < 2)

    def dimensions(self, array: Value) -> Value:
        return self.convert("sext", self.field(array, layout.RANK, I32), I64)

    def note_order(self, array: Value) -> None:
        """Note if an array is not contiguous, and if its dimensions are not in order."""
        with self.if_then(self.is_contiguous(array).equals(0)):
            self.gaps.set(True)
            outer = self.variable((1 << 63) - 1, I64)
            with self.loop(0, self.dimensions(array)) as i:
                size, stride = (
                    self.load(self.at(self.field(array, at), i, I64), I64) for at in (layout.SHAPE, layout.STRIDES)
                )
                with self.if_then(size.differs(1) & stride.differs(0)):
                    self.turned.set(self.turned.get() | (stride < outer.get()).equals(0))
                    outer.set(stride)

    def match_layout(self) -> None:
        """Give the result the strides that it has in PyTorch; NumPy's may differ if an operand is not contiguous."""
        out = self.result_at(0)
        in_order = self.turned.get().equals(0) & self.is_contiguous(out)
        with self.if_then(self.several.get() & self.gaps.get() & in_order.equals(0)):
            operands = self.api("PyTuple_New", self.valued.get())
            with self.loop(0, self.valued.get()) as i:
                self.init_item(operands, i, self.incref(self.load(self.at(self.values, i, PTR), PTR)))
            matched = self.call_constant(match_layout, operands, out)
            self.decref(operands)
            self.guard(matched.differs(self.null()))
            self.store(matched, self.at(self.values, MOST, PTR))
            self.decref(out)

    def take_other(self, argument: Value, kind: Value, allowed: Value) -> None:
        """Guard that an argument is an array, as rules pass them, or a number or None where those may be."""
        is_array = kind.equals(self.object(np.ndarray))
        number = (kind.equals(self.object(float)) | kind.equals(self.object(int))) & (allowed & NUMBER).differs(0)
        absent = argument.equals(self.object(None)) & (allowed & NONE).differs(0)
        self.guard(is_array | number | absent)
        self.arrays.set(self.arrays.get() | is_array)
        self.numbers.set(self.numbers.get() | is_array.equals(0))
        self.add_edge(self.object(None))

    def add_edge(self, edge: Value) -> None:
        """Where the gradient of one more tensor argument goes."""
        self.store(self.incref(edge), self.at(self.edges, self.edged.get(), PTR))
        self.edged.set(self.edged.get() + 1)

    # --- results ------------------------------------------------------------------------------------------------

    def compute(self) -> Value:
        """The operation on the values; an owned reference."""
        function = self.select(self.half.get(), self.spec_field("compute_half"), self.spec_field("compute"))
        value = self.api("PyObject_Vectorcall", function, self.values, self.valued.get(), self.null())
        self.guard(value.differs(self.null()))
        return value

    def refuse_narrow(self, dtype: Value) -> None:
        """Leave complex32 and float8, which few operations take, to the slow path."""
        for narrow in NARROW:
            self.guard(dtype.differs(self.object(narrow)))

    def result_at(self, i: Any) -> Value:
        return self.load(self.at(self.values, MOST + i, PTR), PTR)

    def add_result(self, value: Value) -> None:
        """Add a result as an array; steals the reference."""
        array = self.variable(value)
        with self.if_then(self.type_of(value).differs(self.object(np.ndarray))):
            is_scalar = self.api("PySet_Contains", self.object(SCALARS), self.type_of(value), returns=I32).equals(1)
            array.set(self.null())
            with self.if_then(is_scalar):
                array.set(self.call_constant(np.asarray, value))
            self.decref(value)
            self.guard(array.get().differs(self.null()))
        self.refuse_narrow(self.field(array.get(), layout.DTYPE))
        self.store(array.get(), self.at(self.values, MOST + self.made.get(), PTR))
        self.made.set(self.made.get() + 1)

    def saved_values(self) -> Value:
        """The tuple that a node saves, by the plan for the gradients that are wanted."""
        plan = self.item(self.spec_field("plans"), self.wanted.get())
        length = self.length(plan)
        made = self.api("PyTuple_New", length)
        with self.loop(0, length) as j:
            code = self.convert("zext", self.load(self.at(plan, j + layout.BYTES, I8), I8), I64)
            place, item = code & (SHAPE - 1), self.variable(self.object(None))
            with self.if_then(place.differs(0)):
                item.set(self.load(self.at(self.values, place - 1, PTR), PTR))
            self.if_else(
                (code & SHAPE).differs(0), lambda: item.set(self.shape_of(item.get())), lambda: self.incref(item.get())
            )
            self.init_item(made, j, item.get())
        return made

    def shape_of(self, value: Value) -> Value:
        """The shape of an array, a list of shapes for a list of arrays, () for a number."""
        shape = self.variable(self.object(()))

        def of_array() -> None:
            shape.set(self.api("PyObject_GetAttr", value, self.object("shape")))

        def of_list() -> None:
            shape.set(self.api("PyList_New", self.length(value)))
            with self.loop(0, self.length(value)) as i:
                each = self.api("PyObject_GetAttr", self.api("PyList_GetItem", value, i), self.object("shape"))
                self.api("PyList_SetItem", shape.get(), i, each, returns=I32)

        self.if_else(
            self.type_of(value).equals(self.object(np.ndarray)),
            of_array,
            lambda: self.if_else(
                self.type_of(value).equals(self.object(list)), of_list, lambda: self.incref(shape.get())
            ),
        )
        return shape.get()

    def node_type(self) -> Value:
        """The node class for a real result, borrowed from the operation."""
        node = self.variable(self.select(self.numbers.get(), self.spec_field("scalar_node"), self.spec_field("node")))
        with self.if_then(node.get().equals(self.object(None))):
            at, name = self.spec_int("node_at"), self.variable(self.null())
            with self.if_then(at >= 0):
                name.set(self.incref(self.load(self.at(self.values, at, PTR), PTR)))
            with self.if_then(at < 0):
                name.set(
                    self.api(
                        "PyObject_Vectorcall", self.spec_field("node_name"), self["args"], self["count"], self.null()
                    )
                )
            self.guard(name.get().differs(self.null()))
            node.set(self.api("PyObject_GetItem", self.spec_field("nodes"), name.get()))
            self.decref(name.get())
            self.guard(node.get().differs(self.null()))
            self.decref(node.get())
        return node.get()

    def node_type_of(self, array: Value) -> Value:
        """The node class for a result, borrowed from the operation; None if it can have no gradient."""
        dtype, node = self.field(array, layout.DTYPE), self.variable(self.object(None))

        def of_others() -> None:
            with self.if_then(dtype.differs(self.object(BOOL))):
                pair = self.stack_array(2, PTR)
                self.store(self.node_type(), pair)
                self.store(dtype, self.at(pair, 1, PTR))
                node.set(
                    self.api(
                        "PyObject_Vectorcall", self.spec_field("node_of"), pair, self.constant(2, I64), self.null()
                    )
                )
                self.guard(node.get().differs(self.null()))
                self.decref(node.get())

        self.if_else(self.is_floating(dtype), lambda: node.set(self.node_type()), of_others)
        return node.get()

    def record(self, array: Value, node_type: Callable[[Value], Value]) -> None:
        """Make the node of this result (``fn``), if a gradient is wanted and the node class is not None."""
        with self.if_then(self.recording_on.get() & self.wanted.get().differs(0)):
            found = node_type(array)
            with self.if_then(found.differs(self.object(None))):
                edges = self.api("PyTuple_New", self.edged.get())
                self.copy(self.at(edges, layout.TUPLE_ITEMS // 8, PTR), self.edges, self.edged.get() * 8)
                self.edged.set(0)
                self.fn.set(
                    self.node(self.recording, found, edges, self.saved_values(), array, self.api("PyEval_GetFrame"))
                )

    def recorded(self) -> Value:
        """Whether a node was made."""
        return self.fn.get().differs(self.null())

    def begin_outputs(self) -> None:
        """Turn the node into one of several results, none so far."""
        for name in ("_shape", "_dtype"):
            self.decref(self.slot(self.fn.get(), self.recording.node_class, name))
            self.init_slot(
                self.fn.get(), self.recording.node_class, name, self.api("PyList_New", self.constant(0, I64))
            )

    def output_edge(self, array: Value) -> Value:
        """An owned edge to one more of the node's several results."""
        node, edge = self.fn.get(), self.allocate(self.object(self.output_class))
        shapes, dtypes = (self.slot(node, self.recording.node_class, name) for name in ("_shape", "_dtype"))
        self.init_slot(edge, self.output_class, "node", self.incref(node))
        self.init_slot(edge, self.output_class, "index", self.api("PyLong_FromSsize_t", self.length(shapes)))
        shape = self.api("PyObject_GetAttr", array, self.object("shape"))
        self.api("PyList_Append", shapes, shape, returns=I32)
        self.decref(shape)
        self.api("PyList_Append", dtypes, self.field(array, layout.DTYPE), returns=I32)
        return edge

    def tensor_around(self, array: Value, fn: Value, view: Value | None = None) -> Value:
        """A tensor around a result; steals the references; ``fn`` may be null."""
        edge = self.variable(fn)
        with self.if_then(fn.equals(self.null())):
            edge.set(self.incref(self.object(None)))
        tensor = self.bare(self.recording.tensor_class, array, edge.get(), view)
        with self.if_then(self.marking.get() & self.recorded().equals(0)):
            self.mark_unrecorded(tensor)
        return tensor

    def take_base(self) -> tuple[Any, Any]:
        """The base of views of the first argument, and how they are marked."""
        base, kind = self.variable(self.argument(0)), self.variable(self.object(self.view_kinds[0]))
        with self.if_then(self.tensors.get()):
            self.guard(self.marking.get().equals(0))
            view = self.slot(self.argument(0), self.recording.tensor_class, "_view")
            with self.if_then(view.differs(self.object(None))):
                base.set(self.item(view, 0))
                kind.set(self.item(view, 2))
                self.guard(base.get().differs(self.object(None)))
        return base, kind

    def view_of(self, array: Value, base: Any, kind: Value) -> tuple[Value, Value]:
        """Record one view or several; whether that was done, and their ``_view``: (base, time, kind). Sets ``fn``."""
        self.record(array, lambda array: self.node_type())
        recorded, time = self.recorded(), self.variable(self.null())
        self.if_else(
            recorded,
            lambda: time.set(self.incref(self.slot(self.fn.get(), self.recording.node_class, "_seq"))),
            lambda: time.set(self.api("PyIter_Next", self.object(self.recording.counter))),
        )
        now = self.select(self.recording_on.get(), kind, self.object(self.view_kinds[1]))
        base_wants = self.slot(base.get(), self.recording.tensor_class, "_fn").differs(self.object(None))
        with self.if_then(self.recording_on.get().equals(0) & self.wanted.get().differs(0) & base_wants):
            self.fn.set(self.incref(self.object(self.leaf)))
        return recorded, self.new_tuple(self.incref(base.get()), time.get(), self.incref(now))

    def mark_unrecorded(self, tensor: Value) -> None:
        """Call ``mark(tensor, edge, *arguments)`` for a result that was not recorded."""
        edge, room = self.variable(self.object(None)), self.stack_array(2 + MOST, PTR)
        with self.loop(0, self.edged.get()) as i:
            found = self.load(self.at(self.edges, i, PTR), PTR)
            edge.set(self.select(found.differs(self.object(None)), found, edge.get()))
        self.store(tensor, room)
        self.store(edge.get(), self.at(room, 1, PTR))
        self.copy(self.at(room, 2, PTR), self["args"], self["count"] * 8)
        self.decref(self.api("PyObject_Vectorcall", self.object(self.mark), room, self["count"] + 2, self.null()))

    def release_all(self) -> None:
        """Drop all owned references."""
        for held, room in (
            (self.valued, self.values),
            (self.made, self.at(self.values, MOST, PTR)),
            (self.edged, self.edges),
        ):
            with self.loop(0, held.get()) as i:
                self.decref(self.load(self.at(room, i, PTR), PTR))
        for one in self.others:
            self.decref(one.get())

    def finish(self, result: Value) -> Value:
        """Return the result; at the label ``slow_path``, where guards lead, the result of the call in Python.

        An ordinary exception of the operation is dropped there: the call in Python raises it again, with more to say.
        """
        self.release_all()
        self.line(f"ret ptr {result.text}")
        self.lines.append("slow_path:")
        self.release_all()
        failed = self.api("PyErr_Occurred").differs(self.null())
        with self.if_then(failed):
            ordinary = self.api("PyErr_ExceptionMatches", self.object(Exception), returns=I32).differs(0)
            self.branch_unless(ordinary, "interrupted")
            self.api("PyErr_Clear", returns=None)
        said = self.api("PyObject_Vectorcall", self.spec_field("fallback"), self["args"], self["count"], self.null())
        self.line(f"ret ptr {said.text}")
        self.lines.append("interrupted:")  # by KeyboardInterrupt and the like, which stay raised
        return self.null()
