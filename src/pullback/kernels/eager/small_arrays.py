"""Machine code for functions of small arrays: guards on their layout, loops over them, recording.

A guard that fails branches to the slow path, the function in Python with the same arguments. The fast path is for
small, contiguous arrays of one shape and type, float32 or float64, and Python numbers beside them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ..codegen import jit
from ..codegen import object_layout as layout
from ..codegen.llvm_ir import F32, F64, I1, I32, I64, PTR, Type, Value
from ..codegen.memory import numpys
from ..codegen.scalar import Formula, lower
from .cpython_objects import PythonFunction, Recording

SMALL = 1024  # elements, from which the larger kernels take over
GAPLESS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400  # NumPy's flags: C-contiguous, ...
NEW_ARRAY, SET_BASE = 94, 282  # where NumPy's table of functions has PyArray_NewFromDescr and PyArray_SetBaseObject
FLOATS: dict[Type, np.dtype] = {F32: np.dtype(np.float32), F64: np.dtype(np.float64)}

jit.add_symbol("PyArray_NewFromDescr", numpys(NEW_ARRAY))
jit.add_symbol("PyArray_SetBaseObject", numpys(SET_BASE))


class SmallArrayFunction(PythonFunction):
    """A function of small arrays, being written.

    Args:
        name: of the function.
        fallback: the slow path, a function of the same arguments.
        constants: further objects that it refers to.
        params: of the function, all of them objects if they are given.
    """

    def __init__(self, name: str, fallback: Callable, constants: Sequence[Any] = (), **params: Any) -> None:
        self.fallback = fallback
        super().__init__(name, [*constants, fallback, np.ndarray, *FLOATS.values(), float, int], **params)

    def guard(self, condition: Value) -> None:
        """Go on if a condition holds; else take the slow path."""
        self.branch_unless(condition, "slow_path")

    def end(self, result: Value, arguments: Sequence[Value]) -> Value:
        """Return the result; on the slow path, that of the fallback."""
        self.line(f"ret ptr {result.text}")
        self.lines.append("slow_path:")
        return self.call_constant(self.fallback, *arguments)

    def check_array(self, array: Value) -> None:
        """Guard that this is an array, contiguous and aligned."""
        self.guard(self.type_of(array).equals(self.object(np.ndarray)))
        self.guard((self.field(array, layout.FLAGS, I32) & (GAPLESS | ALIGNED)).equals(GAPLESS | ALIGNED))

    def check_same_layout(self, array: Value, other: Value) -> None:
        """Guard that both have the same type and shape."""
        rank = self.field(array, layout.RANK, I32)
        self.guard(
            self.field(array, layout.DTYPE).equals(self.field(other, layout.DTYPE))
            & rank.equals(self.field(other, layout.RANK, I32))
        )
        with self.loop(0, self.convert("sext", rank, I64)) as i:
            sizes = [self.load(self.at(self.field(a, layout.SHAPE), i, I64), I64) for a in (array, other)]
            self.guard(sizes[0].equals(sizes[1]))

    def size(self, array: Value) -> Value:
        """How many elements an array has; guards that it is small, and float32 or float64."""
        dtype, items = self.field(array, layout.DTYPE), self.variable(1, I64)
        self.guard(dtype.equals(self.object(FLOATS[F32])) | dtype.equals(self.object(FLOATS[F64])))
        with self.loop(0, self.convert("sext", self.field(array, layout.RANK, I32), I64)) as i:
            items.set(items.get() * self.load(self.at(self.field(array, layout.SHAPE), i, I64), I64))
        n = items.get()
        self.guard(n < SMALL)
        return n

    def scalar_or_array(
        self, operand: Value, like: Value, array_of: Callable[[Value], Value]
    ) -> tuple[Value, Value, Value]:
        """Whether an operand is a Python number; its value; else its array, guarded to have the layout of another."""
        number, array = self.variable(0.0, F64), self.variable(self.null())
        is_float, is_int = (self.type_of(operand).equals(self.object(kind)) for kind in (float, int))

        def of_int() -> None:
            too_large = self.stack_array(1, I32)
            value = self.api("PyLong_AsLongLongAndOverflow", operand, too_large, returns=I64)
            self.guard(self.load(too_large, I32).equals(0))
            number.set(self.convert("sitofp", value, F64))

        def of_array() -> None:
            found = array_of(operand)
            self.check_same_layout(like, found)
            array.set(found)

        self.if_else(
            is_float,
            lambda: number.set(self.api("PyFloat_AsDouble", operand, returns=F64)),
            lambda: self.if_else(is_int, of_int, of_array),
        )
        return is_float | is_int, number.get(), array.get()

    def expanded_scalar_or_array(self, array: Value) -> tuple[Value, Value, Value]:
        """The same for an array that may be an expanded scalar (all strides 0), as the gradients of sums are."""
        strides, spread, number = self.field(array, layout.STRIDES), self.variable(True, I1), self.variable(0.0, F64)
        rank = self.convert("sext", self.field(array, layout.RANK, I32), I64)
        with self.loop(0, rank) as i:
            spread.set(spread.get() & self.load(self.at(strides, i, I64), I64).equals(0))
        spread.set(spread.get() & rank.differs(0))

        def read(type: Type) -> None:
            value = self.load(self.field(array, layout.DATA), type)
            number.set(value if type is F64 else self.convert("fpext", value, F64))

        def of_spread() -> None:
            self.guard(self.type_of(array).equals(self.object(np.ndarray)))
            self.guard((self.field(array, layout.FLAGS, I32) & ALIGNED).equals(ALIGNED) & self.size(array).differs(0))
            self.dispatch_dtype(array, read)

        self.if_else(spread.get(), of_spread, lambda: self.check_array(array))
        return spread.get(), number.get(), array

    def check_matrix(self, x: Value) -> tuple[Value, Value]:
        """The sizes of a matrix, which is guarded to be one, and small."""
        self.check_array(x)
        self.guard(self.field(x, layout.RANK, I32).equals(2))
        self.size(x)
        rows, columns = (self.load(self.at(self.field(x, layout.SHAPE), i, I64), I64) for i in range(2))
        return rows, columns

    def new_array(self, like: Value, rank: Any, shape: Value) -> Value:
        """A new array of the type of another."""
        rank = self.constant(rank, I32)
        return self.call(
            "PyArray_NewFromDescr",
            self.object(np.ndarray),
            self.incref(self.field(like, layout.DTYPE)),
            rank,
            shape,
            self.null(),
            self.null(),
            self.constant(0, I32),
            self.null(),
            returns=PTR,
            external=True,
        )

    def dispatch_dtype(self, x: Value, compute: Callable[[Type], None]) -> None:
        """A branch for each type that the array may have."""
        self.if_else(
            self.field(x, layout.DTYPE).equals(self.object(FLOATS[F32])), lambda: compute(F32), lambda: compute(F64)
        )

    def for_vectors(self, type: Type, n: Value, block: Callable[[Value, Value | None], None]) -> None:
        """``block(at, mask)`` for every vector of n elements; the mask is for the last."""
        lanes = jit.WIDTH * 8 // type.bits
        whole = n // lanes * lanes
        with self.loop(0, whole, lanes) as at:
            block(at, None)
        with self.if_then(whole < n):
            block(whole, self.mask_below(n - whole, lanes))

    def emit_elementwise(
        self,
        forms: dict[tuple[Any, ...], Formula],
        x: Value,
        n: Value,
        given: Sequence[tuple[Value, Value, Value]],
        exponents: Sequence[int] = (),
    ) -> Value:
        """A new array like x: a function of operands, element by element, in a vectorized loop.

        Args:
            forms: the function, see :func:`pullback.kernels.eager.small_operators.formulas`.
            x, n: an array of the result's type and shape, and its size.
            given: operands as :meth:`scalar_or_array` returns them.
            exponents: the last operand is guarded to be one of these numbers; each has a loop of its own.
        """
        if exponents:
            *given, (is_number, power, _) = given
            self.guard(is_number & functools.reduce(Value.__or__, [power.equals(float(k)) for k in exponents]))
        out = self.new_array(x, self.field(x, layout.RANK, I32), self.field(x, layout.SHAPE))

        def compute(type: Type, *fixed: int) -> None:
            lanes = jit.WIDTH * 8 // type.bits
            operands = []
            for is_number, number, array in given:  # a number is read, with stride 0, from a vector of copies of it
                room = self.stack_array(lanes, type)
                self.store(self.splat(number if type is F64 else self.convert("fptrunc", number, F32), lanes), room)
                data = self.variable(room)
                with self.if_then(is_number.equals(0)):
                    data.set(self.field(array, layout.DATA))
                operands.append((data.get(), self.select(is_number, self.constant(0, I64), 1)))
            to = self.field(out, layout.DATA)

            def block(at: Value, mask: Value | None) -> None:
                vectors = [self.load(self.at(p, at * step, type), type.of(lanes), mask) for p, step in operands]
                self.store(lower(self, forms[type, *fixed], vectors, lanes)[0], self.at(to, at, type), mask)

            self.for_vectors(type, n, block)

        if not exponents:
            self.dispatch_dtype(x, compute)
        for k in exponents:
            with self.if_then(power.equals(float(k))):
                self.dispatch_dtype(x, lambda type, k=k: compute(type, k))  # type: ignore[misc]
        return out


class RecordingFunction(SmallArrayFunction):
    """A function of small plain tensors that records what it does, being written.

    Args:
        name, fallback, params: see :class:`SmallArrayFunction`.
        node_types: of the nodes that it makes.
        recording: the objects that recording refers to.
        plain: the classes of plain tensors.
        leaf: the ``_fn`` of leaves.
        modes: the module :mod:`pullback.base.thread_state`, which has reasons for the slow path and grad modes.
        mark: ``mark(result, edge, *operands)`` marks results that are not recorded, if the thread asks for that.
    """

    def __init__(
        self,
        name: str,
        fallback: Callable,
        node_types: Sequence[type],
        recording: Recording,
        plain: set[type],
        leaf: Any,
        modes: ModuleType,
        mark: Callable,
        **params: Any,
    ) -> None:
        self.recording, self.plain, self.leaf, self.modes, self.mark = recording, plain, leaf, modes, mark
        constants = [
            *recording.constants,
            plain,
            leaf,
            *node_types,
            modes.__dict__,
            "slow_path_reasons",
            0,
            modes.no_grad_threads,
            modes.local,
            "grad",
            "made",
            True,
            mark,
        ]
        super().__init__(name, fallback, constants, **params)

    def array_of(self, tensor: Value) -> Value:
        """The array of a tensor, which is guarded to be plain, and no view."""
        self.guard(self.api("PySet_Contains", self.object(self.plain), self.type_of(tensor), returns=I32).equals(1))
        self.guard(self.tensor_slot(tensor, "_view").equals(self.object(None)))
        array = self.tensor_slot(tensor, "_array")
        self.check_array(array)
        return array

    def tensor_slot(self, tensor: Value, name: str) -> Value:
        """The value of a tensor's slot, borrowed; guarded to be there: ``object.__new__(Tensor)`` fills none."""
        value = self.slot(tensor, self.recording.tensor_class, name)
        self.guard(value.differs(self.null()))
        return value

    def gradient_edge(self, tensor: Value) -> Value:
        fn = self.tensor_slot(tensor, "_fn")
        return self.select(fn.equals(self.object(self.leaf)), tensor, fn)

    def thread_mode(self, name: str) -> Value:
        """One of the thread's modes, borrowed: they hold it, or their class does."""
        value = self.api("PyObject_GetAttr", self.object(self.modes.local), self.object(name))
        self.decref(value)
        return value

    def guard_modes(self) -> None:
        """Guard that there is no reason for the slow path; note whether to record, or to mark what is not recorded."""
        self.guard(
            self.api("PyDict_GetItem", self.object(self.modes.__dict__), self.object("slow_path_reasons")).equals(
                self.object(0)
            )
        )
        self.recording_on, self.marking = self.variable(True, I1), self.variable(False, I1)
        # Only if recording is off in some thread is it worth asking what it is in this one.
        with self.if_then(self.field(self.object(self.modes.no_grad_threads), layout.LENGTH, I64).differs(0)):
            self.recording_on.set(self.thread_mode("grad").equals(self.object(True)))
            self.marking.set(self.thread_mode("made").differs(self.object(None)))

    def new_tuple(self, *items: Value) -> Value:
        made = self.api("PyTuple_New", self.constant(len(items), I64))
        for i, item in enumerate(items):
            self.init_item(made, i, item)
        return made

    def result(
        self,
        out: Value,
        edges: Sequence[Value],
        node_type: Value,
        saved: Callable[[], Sequence[Value]],
        operands: Sequence[Value],
    ) -> Value:
        """A tensor around an array, with its node if there is an edge; ``saved`` gives owned references."""
        cls, none, tensor = self.recording.tensor_class, self.object(None), self.variable(self.null())
        edge = self.select(edges[0].differs(none), edges[0], edges[-1])

        def record() -> None:
            node = self.node(
                self.recording,
                node_type,
                self.new_tuple(*map(self.incref, edges)),
                self.new_tuple(*saved()),
                out,
                self.api("PyEval_GetFrame"),
            )
            tensor.set(self.bare(cls, out, node))

        def leave_unrecorded() -> None:
            tensor.set(self.bare(cls, out, self.incref(none)))
            with self.if_then(self.marking.get()):
                self.decref(self.call_constant(self.mark, tensor.get(), edge, *operands))

        self.if_else(self.recording_on.get() & edge.differs(none), record, leave_unrecorded)
        return tensor.get()
