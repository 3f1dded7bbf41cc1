"""Compiled operators, derivative rules, sums and biases of small arrays, where the interpreter takes most of the time.

Only expressions of which IEEE 754 rounds every step correctly are compiled, so that results are NumPy's to the bit.
Arguments off the fast path of :mod:`pullback.kernels.eager.small_arrays` go to the function in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..codegen import jit
from ..codegen import object_layout as layout
from ..codegen.entry import as_function, as_method
from ..codegen.llvm_ir import F64, I1, I32, I64, PTR, Type, Value
from ..codegen.scalar import Formula, Scalar, form_of, formula_of, trace_scalar
from .small_arrays import FLOATS, WRITEABLE, RecordingFunction, SmallArrayFunction

MOST_DIMENSIONS = 16  # of a small array
# Steps of scalar expressions that have one correctly rounded result, in NumPy and in LLVM.
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


def expression(function: Callable, operands: Sequence[int | None], type: Type) -> Scalar | None:
    """The scalar expression of a function of operands, numbers or not; None unless every step is exact."""
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
    """The formulas of a function of so many operands, by type, and by the last operand if that is one of ``exponents``;
    None unless every step is exact.
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


def method(attribute: str, op: Any, reflected: bool, exponents: Sequence[int], *given: Any) -> Any:
    """The compiled method of tensors for an operator; the slow path is ``op.operator`` or ``op.reflected``.

    Args:
        attribute: the method's name.
        op: the operation, of two operands.
        reflected: whether the operands stand the other way round.
        exponents: of a power: those for which it is products.
        given: from ``recording`` to ``mark`` as for :class:`RecordingFunction`.
    """
    # with a number, with a tensor
    node_types = [op.node_type(name) for name in (op.node_name[:-1] + "0", op.node_name)]
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
    """Write it.

    Args:
        users: of each saved value (the first operand, the second, the result) whose rule needs it: 1 the first
            operand's, 2 the second's, 3 both, 0 none.
    """
    tensor, other, none = f["self"], f["other"], f.object(None)
    x = f.array_of(tensor)
    n = f.size(x)
    f.guard_modes()
    is_number, number, y = f.scalar_or_array(other, x, f.array_of)
    e, h = f.gradient_edge(tensor), f.variable(none)
    with f.if_then(is_number.equals(0)):
        h.set(f.gradient_edge(other))
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
        out, [edge for _, edge in operands], f.select(is_number, *map(f.object, node_types)), saved, [tensor, other]
    )
    return f.end(made, [tensor, other])


BLOCK = 128  # elements that NumPy sums without splitting them


def sum_all(fallback: Callable, node_type: type, *given: Any) -> Callable:
    """The sum of all elements of a plain tensor, in the order in which NumPy adds them.

    Args:
        fallback: the slow path, a function of the tensor.
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
    f.guard_modes()
    out = f.new_array(x, 0, f.null())

    def compute(type: Type) -> None:
        data, sum = f.field(x, layout.DATA), f.variable(0.0, type)
        by_eights = n // 8 * 8
        with f.if_then(n >= 8):
            parts = f.variable(f.load(data, type.of(8)))
            with f.loop(8, by_eights, 8) as at:
                parts.set(parts.get() + f.load(f.at(data, at, type), type.of(8)))
            p = [f.lane(parts.get(), k) for k in range(8)]
            sum.set(((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7])))

        with f.loop(by_eights, n) as at:
            sum.set(sum.get() + f.load(f.at(data, at, type), type))
        f.store(sum.get() + 0.0, f.field(out, layout.DATA))  # 0, and not -0

    f.dispatch_dtype(x, compute)
    made = f.result(
        out,
        [f.gradient_edge(tensor)],
        f.object(node_type),
        lambda: [f.api("PyObject_GetAttr", x, f.object("shape"))],
        [tensor],
    )
    return f.end(made, [tensor])


def expand_sum(plain: Callable) -> Callable:
    """The rule of a sum: the scalar gradient expanded to the saved shape, a view; ``plain`` is the slow path."""
    f = SmallArrayFunction("expand_sum", plain, [tuple])
    return as_function("expand_sum", f.address(lambda: _expand_sum(f)))


def _expand_sum(f: SmallArrayFunction) -> Value:
    g, saved = f.argument(0), f.argument(1)
    f.check_array(g)
    f.guard(f.field(g, layout.RANK, I32).equals(0))
    f.size(g)  # checks the type
    f.guard(f.type_of(saved).equals(f.object(tuple)))
    shape = f.api("PyTuple_GetItem", saved, f.constant(0, I64))
    rank = f.api("PyTuple_Size", shape, returns=I64)
    f.guard((rank > 0) & (rank <= MOST_DIMENSIONS))
    sizes, strides = f.stack_array(MOST_DIMENSIONS, I64), f.stack_array(MOST_DIMENSIONS, I64)
    with f.loop(0, rank) as i:
        f.store(f.api("PyLong_AsSsize_t", f.api("PyTuple_GetItem", shape, i), returns=I64), f.at(sizes, i, I64))
        f.store(f.constant(0, I64), f.at(strides, i, I64))
    dtype, flags = f.incref(f.field(g, layout.DTYPE)), f.field(g, layout.FLAGS, I32) & WRITEABLE
    out = f.call(
        "PyArray_NewFromDescr",
        f.object(np.ndarray),
        dtype,
        f.convert("trunc", rank, I32),
        sizes,
        strides,
        f.field(g, layout.DATA),
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
    """The rule for a tensor argument as a function of (g, saved), like those in ``op.vjps``: the slow path."""
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

    def checked(array: Value) -> Value:
        f.check_array(array)
        return array

    others = [f.scalar_or_array(f.api("PyTuple_GetItem", saved, f.constant(i, I64)), g, checked) for i in at]
    given = [f.expanded_scalar_or_array(g), *others]
    return f.end(f.emit_elementwise(forms, g, n, given, exponents), [g, saved])


def sum_rows(plain: Callable) -> Callable:
    """The sum of a small matrix' rows, in the order in which NumPy adds them; ``plain`` is the slow path."""
    f = SmallArrayFunction("sum_rows", plain)
    return as_function("sum_rows", f.address(lambda: _sum_rows(f)))


def _sum_rows(f: SmallArrayFunction) -> Value:
    x = f.argument(0)
    rows, columns = f.check_matrix(x)
    f.guard((columns > 1) | (rows < 8))  # NumPy sums a single long column by eights
    out = f.new_array(x, 1, f.at(f.field(x, layout.SHAPE), 1, I64))

    def sums(type: Type, at: Value, mask: Value | None) -> None:
        vector = type.of(jit.WIDTH * 8 // type.bits)
        total = f.variable(f.constant(0.0, vector))
        with f.loop(0, rows) as i:
            total.set(total.get() + f.load(f.at(f.field(x, layout.DATA), i * columns + at, type), vector, mask))
        f.store(total.get(), f.at(f.field(out, layout.DATA), at, type), mask)

    f.dispatch_dtype(x, lambda type: f.for_vectors(type, columns, lambda at, mask: sums(type, at, mask)))
    return f.end(out, [x])


def add_row(plain: Callable) -> Callable:
    """A row added to every row of a small matrix, in place; ``plain`` is the slow path."""
    f = SmallArrayFunction("add_row", plain)
    return as_function("add_row", f.address(lambda: _add_row(f)))


def _add_row(f: SmallArrayFunction) -> Value:
    x, row = f.argument(0), f.argument(1)
    rows, columns = f.check_matrix(x)
    f.check_array(row)
    f.guard(f.field(row, layout.DTYPE).equals(f.field(x, layout.DTYPE)) & f.field(row, layout.RANK, I32).equals(1))
    f.guard(f.load(f.field(row, layout.SHAPE), I64).equals(columns))

    def sums(type: Type, at: Value, mask: Value | None) -> None:
        vector = type.of(jit.WIDTH * 8 // type.bits)
        term = f.load(f.at(f.field(row, layout.DATA), at, type), vector, mask)
        with f.loop(0, rows) as i:
            place = f.at(f.field(x, layout.DATA), i * columns + at, type)
            f.store(f.load(place, vector, mask) + term, place, mask)

    f.dispatch_dtype(x, lambda type: f.for_vectors(type, columns, lambda at, mask: sums(type, at, mask)))
    return f.end(f.incref(x), [x, row])
