"""What small tensors cost most often, as machine code: Python's operators, derivative rules of elementwise operations,
biases.

NativeCallSpec are float32 or float64 arrays of one shape and type, without gaps in memory, small, and Python numbers beside
them. Everything else is left to the function as it is written in Python. Only expressions whose every step IEEE 754
rounds correctly are taken, so that the results are NumPy's to the bit.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ..codegen import jit
from ..codegen.entry import as_function, as_method
from ..codegen.llvm_ir import F32, F64, I1, I32, I64, PTR, Type, Value
from ..codegen.memory import numpys
from ..codegen.scalar import Formula, Scalar, form_of, formula_of, lower, trace_scalar
from .cpython_objects import TYPE_OF_ARRAY, PythonFunction, Recording

SMALL = 1024  # elements, from which the larger kernels take over
FLAGS = TYPE_OF_ARRAY + 8
GAPLESS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400  # NumPy's flags: in C order without gaps, ...
MOST_DIMENSIONS = 16  # of what is small here
NEW_ARRAY, SET_BASE = 94, 282  # where NumPy's table of functions has PyArray_NewFromDescr and PyArray_SetBaseObject
EXACT = {
    "argument",
    "number",
    "add",
    "sub",
    "mul",
    "div",
    "neg",
    "select",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
    "and",
    "or",
    "xor",
}
FLOATS: dict[Type, np.dtype] = {F32: np.dtype(np.float32), F64: np.dtype(np.float64)}

jit.add_symbol("PyArray_NewFromDescr", numpys(NEW_ARRAY))
jit.add_symbol("PyArray_SetBaseObject", numpys(SET_BASE))


def expression(function: Callable, operands: Sequence[int | None], type: Type) -> Scalar | None:
    """What a function does to one element of each operand (or to the number given), if every step is exact."""
    x = trace_scalar(
        function, [Scalar.argument(i, type) if number is None else number for i, number in enumerate(operands)]
    )
    todo = [x]
    while todo:
        s = todo.pop()
        if s is None or s.op not in EXACT:
            return None
        if s.op not in ("argument", "number"):
            todo += s.operands
    return x


def formulas(function: Callable, count: int, exponents: Sequence[int] = ()) -> dict[tuple[Any, ...], Formula] | None:
    """What a function of so many operands does, for each type and each number that the last may be, if only some are
    usual.
    """
    made = {}
    fixing: list[tuple[int, ...]] = [(k,) for k in exponents] or [()]
    for type in FLOATS:
        for fixed in fixing:
            x = expression(function, [*[None] * (count - len(fixed)), *fixed], type)
            if x is None:
                return None
            made[type, *fixed] = formula_of([x])
    return made


class SmallArrayFunction(PythonFunction):
    """A function of small arrays, being written.

    Args:
        name: of the function.
        fallback: what takes the same arguments where anything is unusual.
        known: further objects that it refers to.
        params: of the function, all of them objects if they are given.
    """

    def __init__(self, name: str, fallback: Callable, known: Sequence[Any] = (), **params: Any) -> None:
        self.fallback = fallback
        super().__init__(name, [*known, fallback, np.ndarray, *FLOATS.values(), float, int], **params)

    def guard(self, condition: Value) -> None:
        """Go on if so; else let Python do it."""
        self.branch_unless(condition, "slow_path")

    def end(self, result: Value, arguments: Sequence[Value]) -> Value:
        """Return the result; or, from where something was unusual, what the fallback says of the arguments."""
        self.line(f"ret ptr {result.text}")
        self.lines.append("slow_path:")
        return self.call_constant(self.fallback, *arguments)

    def check_array(self, array: Value) -> None:
        self.guard(self.type_of(array).equals(self.object(np.ndarray)))
        self.guard((self.field(array, FLAGS, I32) & (GAPLESS | ALIGNED)).equals(GAPLESS | ALIGNED))

    def check_same_layout(self, array: Value, other: Value) -> None:
        """Both of the same type and shape."""
        rank = self.field(array, jit.RANK, I32)
        self.guard(
            self.field(array, TYPE_OF_ARRAY).equals(self.field(other, TYPE_OF_ARRAY))
            & rank.equals(self.field(other, jit.RANK, I32))
        )
        with self.loop(0, self.convert("sext", rank, I64)) as i:
            sizes = [self.load(self.at(self.field(a, jit.SHAPE), i, I64), I64) for a in (array, other)]
            self.guard(sizes[0].equals(sizes[1]))

    def size(self, array: Value) -> Value:
        """How many elements an array has, if it is small and of a type that is usual."""
        dtype, items = self.field(array, TYPE_OF_ARRAY), self.variable(1, I64)
        self.guard(dtype.equals(self.object(FLOATS[F32])) | dtype.equals(self.object(FLOATS[F64])))
        with self.loop(0, self.convert("sext", self.field(array, jit.RANK, I32), I64)) as i:
            items.set(items.get() * self.load(self.at(self.field(array, jit.SHAPE), i, I64), I64))
        n = items.get()
        self.guard(n < SMALL)
        return n

    def scalar_or_array(
        self, operand: Value, like: Value, array_of: Callable[[Value], Value]
    ) -> tuple[Value, Value, Value]:
        """Whether an operand is a Python number; its value; and the array that it is otherwise, which has to be like
        another.
        """
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
        """The same of an array that may be one number spread over a shape, as the gradients of sums are."""
        strides, spread, number = self.field(array, jit.STRIDES), self.variable(True, I1), self.variable(0.0, F64)
        rank = self.convert("sext", self.field(array, jit.RANK, I32), I64)
        with self.loop(0, rank) as i:
            spread.set(spread.get() & self.load(self.at(strides, i, I64), I64).equals(0))
        spread.set(spread.get() & rank.differs(0))

        def read(type: Type) -> None:
            value = self.load(self.field(array, jit.DATA), type)
            number.set(value if type is F64 else self.convert("fpext", value, F64))

        def of_spread() -> None:
            self.guard(self.type_of(array).equals(self.object(np.ndarray)))
            self.guard((self.field(array, FLAGS, I32) & ALIGNED).equals(ALIGNED) & self.size(array).differs(0))
            self.dispatch_dtype(array, read)

        self.if_else(spread.get(), of_spread, lambda: self.check_array(array))
        return spread.get(), number.get(), array

    def check_matrix(self, x: Value) -> tuple[Value, Value]:
        """The sizes of a small matrix."""
        self.check_array(x)
        self.guard(self.field(x, jit.RANK, I32).equals(2))
        self.size(x)
        rows, columns = (self.load(self.at(self.field(x, jit.SHAPE), i, I64), I64) for i in range(2))
        return rows, columns

    def array(self, like: Value, rank: Any, shape: Value) -> Value:
        """A new array of the type of another."""
        rank = self.constant(rank, I32)
        return self.call(
            "PyArray_NewFromDescr",
            self.object(np.ndarray),
            self.incref(self.field(like, TYPE_OF_ARRAY)),
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
        self.if_else(
            self.field(x, TYPE_OF_ARRAY).equals(self.object(FLOATS[F32])), lambda: compute(F32), lambda: compute(F64)
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
        """A new array like x of a function of operands, which are as :meth:`scalar_or_array` says; the forms are its
        :func:`formulas`.

        Where the last of those is an exponent, it has to be one of the numbers given, for each of which there is a
        loop.
        """
        if exponents:
            *given, (is_number, power, _) = given
            self.guard(is_number & functools.reduce(Value.__or__, [power.equals(float(k)) for k in exponents]))
        out = self.array(x, self.field(x, jit.RANK, I32), self.field(x, jit.SHAPE))

        def compute(type: Type, *fixed: int) -> None:
            lanes = jit.WIDTH * 8 // type.bits
            operands = []
            for is_number, number, array in given:  # a number is a vector that the loop does not leave
                room = self.stack_array(lanes, type)
                self.store(self.splat(number if type is F64 else self.convert("fptrunc", number, F32), lanes), room)
                data = self.variable(room)
                with self.if_then(is_number.equals(0)):
                    data.set(self.field(array, jit.DATA))
                operands.append((data.get(), self.select(is_number, self.constant(0, I64), 1)))
            to = self.field(out, jit.DATA)

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
        recording: what recording refers to.
        plain: the classes of plain tensors.
        leaf: what ``_fn`` of a leaf holds.
        modes: the module whose ``special`` and ``silent`` say whether anything is unusual.
        mark: ``mark(result, edge, *operands)`` marks what is made where nothing is recorded, if that is asked for.
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
        known = [
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
        super().__init__(name, fallback, known, **params)

    def array_of(self, tensor: Value) -> Value:
        """The array of a plain tensor that is no view."""
        self.guard(self.api("PySet_Contains", self.object(self.plain), self.type_of(tensor), returns=I32).equals(1))
        self.guard(self.slot(tensor, self.recording.tensor_class, "_view").equals(self.object(None)))
        array = self.slot(tensor, self.recording.tensor_class, "_array")
        self.check_array(array)
        return array

    def edge_of(self, tensor: Value) -> Value:
        fn = self.slot(tensor, self.recording.tensor_class, "_fn")
        return self.select(fn.equals(self.object(self.leaf)), tensor, fn)

    def mode(self, name: str) -> Value:
        """What the thread's modes say, borrowed: they hold it, or their class does."""
        value = self.api("PyObject_GetAttr", self.object(self.modes.local), self.object(name))
        self.decref(value)
        return value

    def check_modes(self) -> None:
        """Note whether to record, and to mark what is not recorded."""
        self.guard(
            self.api("PyDict_GetItem", self.object(self.modes.__dict__), self.object("slow_path_reasons")).equals(
                self.object(0)
            )
        )
        self.on, self.marked = self.variable(True, I1), self.variable(False, I1)
        # in some thread recording is off
        with self.if_then(self.field(self.object(self.modes.no_grad_threads), object.__basicsize__, I64).differs(0)):
            self.on.set(self.mode("grad").equals(self.object(True)))
            self.marked.set(self.mode("made").differs(self.object(None)))

    def tuple(self, *items: Value) -> Value:
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
        """A tensor around an array, with its node if there is an edge; ``saved`` makes references of our own."""
        cls, none, tensor = self.recording.tensor_class, self.object(None), self.variable(self.null())
        edge = self.select(edges[0].differs(none), edges[0], edges[-1])

        def record() -> None:
            node = self.node(
                self.recording,
                node_type,
                self.tuple(*map(self.incref, edges)),
                self.tuple(*saved()),
                out,
                self.api("PyEval_GetFrame"),
            )
            tensor.set(self.bare(cls, out, node))

        def leave_unrecorded() -> None:
            tensor.set(self.bare(cls, out, self.incref(none)))
            with self.if_then(self.marked.get()):
                self.decref(self.call_constant(self.mark, tensor.get(), edge, *operands))

        self.if_else(self.on.get() & edge.differs(none), record, leave_unrecorded)
        return tensor.get()


def method(attribute: str, op: Any, reflected: bool, exponents: Sequence[int], *given: Any) -> Any:
    """The method for tensors that is an operator; what is not usual it hands to ``op.operator`` or ``op.reflected``.

    Args:
        attribute: the method's name.
        op: the operation, of two operands.
        reflected: whether the operands stand the other way round.
        exponents: of a power: those for which it is products.
        given: from ``recording`` to ``mark`` as for :class:`RecordingFunction`.
    """
    # with a number, with a tensor
    node_types = [op.node_type(name, False) for name in (op.node_name[:-1] + "0", op.node_name)]
    f = RecordingFunction(
        f"operator{attribute}",
        op.reflected if reflected else op.operator,
        node_types,
        *given,
        params=[("self", PTR), ("other", PTR)],
    )
    function = op.impl if exponents else form_of(op)
    forms = formulas((lambda a, b: function(b, a)) if reflected else function, 2, exponents)
    assert forms is not None
    key = forms, reflected, [users for _, _, users in op.saved_spec], exponents
    return as_method(f.recording.tensor_class, attribute, f.address(lambda: _method(f, node_types, *key), *key))


def _method(
    f: RecordingFunction,
    node_types: Sequence[type],
    forms: dict[tuple[Any, ...], Formula],
    reflected: bool,
    users: Sequence[int],
    exponents: Sequence[int],
) -> Value:
    """Users of a value of (the first operand, the second, the result): 1 the rule of the first, 2 of the second, 3
    both.
    """
    x_tensor, other, none = f["self"], f["other"], f.object(None)
    x = f.array_of(x_tensor)
    n = f.size(x)
    f.check_modes()
    is_number, number, y = f.scalar_or_array(other, x, f.array_of)
    e, h = f.edge_of(x_tensor), f.variable(none)
    with f.if_then(is_number.equals(0)):
        h.set(f.edge_of(other))
    first = f.constant(False, I1), f.constant(0.0, F64), x
    operands = [(x, e), (f.select(is_number, other, y), h.get())]
    if reflected:
        f.guard(is_number)
        operands.reverse()
    out = f.emit_elementwise(forms, x, n, [first, (is_number, number, y)], exponents)

    def saved() -> list[Value]:
        first, second = (edge.differs(none) for _, edge in operands)
        saving, values = {1: first, 2: second, 3: first | second}, [*[v for v, _ in operands], out]
        return [f.incref(f.select(saving[of], value, none) if of else none) for value, of in zip(values, users)]

    made = f.result(
        out, [edge for _, edge in operands], f.select(is_number, *map(f.object, node_types)), saved, [x_tensor, other]
    )
    return f.end(made, [x_tensor, other])


BLOCK = 128  # elements that NumPy sums without splitting them


def sum_all(fallback: Callable, node_type: type, *given: Any) -> Callable:
    """The sum of all elements of a plain tensor, in the order in which NumPy adds them.

    Args:
        fallback: what takes the tensor where anything is unusual.
        node_type: of the nodes, whose rule is :func:`expand_sum`.
        given: from ``recording`` to ``mark`` as for :class:`RecordingFunction`.
    """
    f = RecordingFunction("sum_all", fallback, [node_type], *given)
    return as_function("sum_all", f.address(lambda: _sum_all(f, node_type)))


def _sum_all(f: RecordingFunction, node_type: type) -> Value:
    tensor = f.argument(0)
    x = f.array_of(tensor)
    n = f.size(x)
    f.guard(n <= BLOCK)
    f.check_modes()
    out = f.array(x, 0, f.null())

    def compute(type: Type) -> None:
        data, sum = f.field(x, jit.DATA), f.variable(0.0, type)
        by_eights = n // 8 * 8
        with f.if_then(n >= 8):
            parts = f.variable(f.load(data, type.of(8)))
            with f.loop(8, by_eights, 8) as at:
                parts.set(parts.get() + f.load(f.at(data, at, type), type.of(8)))
            p = [f.lane(parts.get(), k) for k in range(8)]
            sum.set(((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7])))

        with f.loop(by_eights, n) as at:
            sum.set(sum.get() + f.load(f.at(data, at, type), type))
        f.store(sum.get() + 0.0, f.field(out, jit.DATA))  # 0, and not -0

    f.dispatch_dtype(x, compute)
    made = f.result(
        out,
        [f.edge_of(tensor)],
        f.object(node_type),
        lambda: [f.api("PyObject_GetAttr", x, f.object("shape"))],
        [tensor],
    )
    return f.end(made, [tensor])


def expand_sum(plain: Callable) -> Callable:
    """The rule of a sum: the number that came in, spread over the small shape saved; ``plain`` takes what is not
    usual.
    """
    f = SmallArrayFunction("expand_sum", plain, [tuple])
    return as_function("expand_sum", f.address(lambda: _expand_sum(f)))


def _expand_sum(f: SmallArrayFunction) -> Value:
    g, saved = f.argument(0), f.argument(1)
    f.check_array(g)
    f.guard(f.field(g, jit.RANK, I32).equals(0))
    f.size(g)  # checks the type
    f.guard(f.type_of(saved).equals(f.object(tuple)))
    shape = f.api("PyTuple_GetItem", saved, f.constant(0, I64))
    rank = f.api("PyTuple_Size", shape, returns=I64)
    f.guard((rank > 0) & (rank <= MOST_DIMENSIONS))
    sizes, strides = f.stack_array(MOST_DIMENSIONS, I64), f.stack_array(MOST_DIMENSIONS, I64)
    with f.loop(0, rank) as i:
        f.store(f.api("PyLong_AsSsize_t", f.api("PyTuple_GetItem", shape, i), returns=I64), f.at(sizes, i, I64))
        f.store(f.constant(0, I64), f.at(strides, i, I64))
    dtype, flags = f.incref(f.field(g, TYPE_OF_ARRAY)), f.field(g, FLAGS, I32) & WRITEABLE
    out = f.call(
        "PyArray_NewFromDescr",
        f.object(np.ndarray),
        dtype,
        f.convert("trunc", rank, I32),
        sizes,
        strides,
        f.field(g, jit.DATA),
        flags,
        f.null(),
        returns=PTR,
        external=True,
    )
    f.call("PyArray_SetBaseObject", out, f.incref(g), returns=I32, external=True)
    return f.end(out, [g, saved])


def rules(op: Any, exponents: Sequence[int] = ()) -> tuple[Callable, ...]:
    """The rules of an operation, one a tensor argument, as ``op.install_vjps`` takes them."""
    return tuple([rule(op, i, exponents) for i in range(len(op.tensors))])


def rule(op: Any, position: int, exponents: Sequence[int] = ()) -> Callable:
    """The rule for a tensor argument as a function of (g, saved), as ``op.vjps`` has it, which takes what is not
    usual.
    """
    param = op.tensors[position]
    compute = op.rules.get(op.params[param])
    plain = op.bind_rule(compute, param)
    if compute is None:
        return plain
    code = compute.__code__
    at = [op.saved_names.index(name) for name in code.co_varnames[1 : code.co_argcount]]
    forms = formulas(compute, 1 + len(at), exponents)
    if forms is None:
        return plain
    f = SmallArrayFunction(f"rule_{op.name}_{position}", plain, [tuple])
    return as_function(op.name, f.address(lambda: _rule(f, forms, at, exponents), forms, at, exponents))


def _rule(
    f: SmallArrayFunction, forms: dict[tuple[Any, ...], Formula], at: Sequence[int], exponents: Sequence[int]
) -> Value:
    g, saved = f.argument(0), f.argument(1)
    f.guard(f.type_of(g).equals(f.object(np.ndarray)))
    n = f.size(g)
    f.guard(f.type_of(saved).equals(f.object(tuple)))

    def as_it_is(array: Value) -> Value:
        f.check_array(array)
        return array

    others = [f.scalar_or_array(f.api("PyTuple_GetItem", saved, f.constant(i, I64)), g, as_it_is) for i in at]
    given = [f.expanded_scalar_or_array(g), *others]
    return f.end(f.emit_elementwise(forms, g, n, given, exponents), [g, saved])


def sum_rows(plain: Callable) -> Callable:
    """The sum of a small matrix' rows, in the order in which NumPy adds them; ``plain`` takes what is not usual."""
    f = SmallArrayFunction("sum_rows", plain)
    return as_function("sum_rows", f.address(lambda: _sum_rows(f)))


def _sum_rows(f: SmallArrayFunction) -> Value:
    x = f.argument(0)
    rows, columns = f.check_matrix(x)
    f.guard((columns > 1) | (rows < 8))  # NumPy sums a single long column by eights
    out = f.array(x, 1, f.at(f.field(x, jit.SHAPE), 1, I64))

    def sums(type: Type, at: Value, mask: Value | None) -> None:
        vector = type.of(jit.WIDTH * 8 // type.bits)
        total = f.variable(f.constant(0.0, vector))
        with f.loop(0, rows) as i:
            total.set(total.get() + f.load(f.at(f.field(x, jit.DATA), i * columns + at, type), vector, mask))
        f.store(total.get(), f.at(f.field(out, jit.DATA), at, type), mask)

    f.dispatch_dtype(x, lambda type: f.for_vectors(type, columns, lambda at, mask: sums(type, at, mask)))
    return f.end(out, [x])


def add_row(plain: Callable) -> Callable:
    """A row added to every row of a small matrix, in its memory; ``plain`` takes what is not usual."""
    f = SmallArrayFunction("add_row", plain)
    return as_function("add_row", f.address(lambda: _add_row(f)))


def _add_row(f: SmallArrayFunction) -> Value:
    x, row = f.argument(0), f.argument(1)
    rows, columns = f.check_matrix(x)
    f.check_array(row)
    f.guard(f.field(row, TYPE_OF_ARRAY).equals(f.field(x, TYPE_OF_ARRAY)) & f.field(row, jit.RANK, I32).equals(1))
    f.guard(f.load(f.field(row, jit.SHAPE), I64).equals(columns))

    def sums(type: Type, at: Value, mask: Value | None) -> None:
        vector = type.of(jit.WIDTH * 8 // type.bits)
        term = f.load(f.at(f.field(row, jit.DATA), at, type), vector, mask)
        with f.loop(0, rows) as i:
            place = f.at(f.field(x, jit.DATA), i * columns + at, type)
            f.store(f.load(place, vector, mask) + term, place, mask)

    f.dispatch_dtype(x, lambda type: f.for_vectors(type, columns, lambda at, mask: sums(type, at, mask)))
    return f.end(f.incref(x), [x, row])
