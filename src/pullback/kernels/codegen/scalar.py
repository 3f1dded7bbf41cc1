"""Scalar expressions: the formula of one element, traced by calling a function of arrays with symbolic scalars.

    x = Scalar.argument(0, F32)
    trace_scalar(lambda g, out: g * (1 - out * out), [x, ...])

A :class:`Scalar` supports Python's arithmetic, NumPy's ufuncs, and the package's operations (through
``__pullback_op__``), and records them. So the forward functions and derivative rules of elementwise operations, written
for arrays, are at the same time the source of their kernels. Anything else (shapes, control flow that depends on
values) raises, and then there is no kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from . import bessel_math, quantile_math, special_math
from .half_precision import narrow, widen
from .llvm_ir import BF16, F16, F32, F64, I1, Function, Type, Value
from .vector_math import NAMES, Math

OF_ONE = (*special_math.OF_ONE, *bessel_math.OF_ONE, *quantile_math.OF_ONE)
OF_TWO = special_math.OF_TWO
SPECIAL: dict[str, Callable[..., Value]] = {function.__name__: function for function in (*OF_ONE, *OF_TWO)}
DTYPES: dict[Type, np.dtype] = {F32: np.dtype(np.float32), F64: np.dtype(np.float64), I1: np.dtype(np.bool_)}


class CannotTrace(TypeError):
    """The function needs more than one element's value."""


class Scalar:
    """A node of an expression (a DAG): a step's name and its operands.

    Attributes:
        op: ``argument`` (``operands`` is its number, and whether it is the same for all elements), ``number`` (its
            value), or the name of a step.
        type: the type of its value.
    """

    __slots__ = ("op", "operands", "type")
    __array_priority__ = 2000

    def __init__(self, op: str, operands: tuple, type: Type) -> None:
        self.op, self.operands, self.type = op, operands, type

    @staticmethod
    def argument(index: int, type: Type, common: bool = False) -> Scalar:
        return Scalar("argument", (index, common), type)

    @property
    def dtype(self) -> np.dtype:
        return DTYPES[self.type]

    @property
    def real(self) -> Scalar:
        return self

    def astype(self, dtype: Any, **options: Any) -> Scalar:
        return cast(self, np.dtype(dtype))

    # --- tracing --------------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        rule = UFUNCS.get(ufunc)
        if method != "__call__" or options or rule is None:
            raise CannotTrace(f"{ufunc.__name__} of a scalar expression")
        return rule(*inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.where and len(args) == 3:
            return where(*args)
        if function is np.clip and len(args) == 3 and not kwargs:
            return minimum(maximum(args[0], args[1]), args[2])
        raise CannotTrace(f"{function.__name__} of a scalar expression")

    def __pullback_op__(self, op: Any, args: Sequence[Any]) -> Any:
        if op.scalar:
            return FORMS[op.scalar](*args)
        if op.kind != "elementwise":
            raise CannotTrace(f"{op.name} of a scalar expression")
        return op.impl(*args)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise CannotTrace("a scalar expression has no array")

    def __bool__(self) -> bool:
        raise CannotTrace("a decision that depends on a value")

    __float__ = __int__ = __index__ = __complex__ = __len__ = __iter__ = __bool__

    def __add__(self, other: Any) -> Scalar:
        return arithmetic("add", self, other)

    def __radd__(self, other: Any) -> Scalar:
        return arithmetic("add", other, self)

    def __sub__(self, other: Any) -> Scalar:
        return arithmetic("sub", self, other)

    def __rsub__(self, other: Any) -> Scalar:
        return arithmetic("sub", other, self)

    def __mul__(self, other: Any) -> Scalar:
        return arithmetic("mul", self, other)

    def __rmul__(self, other: Any) -> Scalar:
        return arithmetic("mul", other, self)

    def __truediv__(self, other: Any) -> Scalar:
        return arithmetic("div", self, other)

    def __rtruediv__(self, other: Any) -> Scalar:
        return arithmetic("div", other, self)

    def __pow__(self, other: Any) -> Scalar:
        return power(self, other)

    def __rpow__(self, other: Any) -> Scalar:
        return power(other, self)

    def __neg__(self) -> Scalar:
        return unary("neg", self)

    def __abs__(self) -> Scalar:
        return unary("abs", self)

    def __lt__(self, other: Any) -> Scalar:
        return compared("lt", self, other)

    def __le__(self, other: Any) -> Scalar:
        return compared("le", self, other)

    def __gt__(self, other: Any) -> Scalar:
        return compared("gt", self, other)

    def __ge__(self, other: Any) -> Scalar:
        return compared("ge", self, other)

    def __eq__(self, other: Any) -> Scalar:  # type: ignore[override]
        return compared("eq", self, other)

    def __ne__(self, other: Any) -> Scalar:  # type: ignore[override]
        return compared("ne", self, other)

    def __and__(self, other: Any) -> Scalar:
        return logical("and", self, other)

    def __or__(self, other: Any) -> Scalar:
        return logical("or", self, other)

    def __xor__(self, other: Any) -> Scalar:
        return logical("xor", self, other)

    def __invert__(self) -> Scalar:
        return logical("xor", self, True)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        if self.op in ("argument", "number"):
            return f"{'x' if self.op == 'argument' else ''}{self.operands[0]}"
        return f"{self.op}({', '.join(map(repr, self.operands))})"


# --- making nodes -----------------------------------------------------------------------------------------------


def number(value: Any, type: Type) -> Scalar:
    if isinstance(value, (complex, np.complexfloating)):
        raise CannotTrace("complex numbers")
    return Scalar("number", (bool(value) if type == I1 else float(value),), type)


def _plain(x: Any) -> Any:
    """A NumPy scalar or 0-d array as a Python number."""
    return x.item() if isinstance(x, (np.generic, np.ndarray)) and x.ndim == 0 else x


def operands_of(*values: Any) -> list[Scalar]:
    """Operands in one type: numbers take that of the expressions beside them, bools become numbers."""
    values = tuple(map(_plain, values))
    types = [v.type for v in values if isinstance(v, Scalar)]
    type = F64 if F64 in types else F32 if F32 in types else I1
    if type == I1 and any(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
        raise CannotTrace("arithmetic of bools and numbers")
    result = []
    for v in values:
        if not isinstance(v, (Scalar, bool, int, float)):
            raise CannotTrace(f"a {v.__class__.__name__} in a scalar expression")
        result.append(cast(v, DTYPES[type]) if isinstance(v, Scalar) else number(v, type))
    return result


def cast(x: Scalar, dtype: np.dtype) -> Scalar:
    type = next((t for t, d in DTYPES.items() if d == dtype), None)
    if type is None:
        raise CannotTrace(f"conversion to {dtype}")
    if x.type == type:
        return x
    return x != 0 if type == I1 else Scalar("cast", (x,), type)


ROUNDINGS = {"to_half": F16, "to_bfloat": BF16}


def rounded(x: Scalar, half: Type) -> Scalar:
    """The number of half precision that is nearest, in single precision."""
    return Scalar(f"to_{half.name}", (x,), F32)


def arithmetic(op: str, a: Any, b: Any) -> Scalar:
    a, b = operands_of(a, b)
    if a.type == I1:
        raise CannotTrace("arithmetic of bools")
    return Scalar(op, (a, b), a.type)


def unary(op: str, x: Any) -> Scalar:
    (x,) = operands_of(x)
    if x.type == I1:
        raise CannotTrace(f"{op} of a bool")
    return Scalar(op, (x,), x.type)


def compared(op: str, a: Any, b: Any) -> Scalar:
    a, b = operands_of(a, b)
    return Scalar(op, (a, b), I1)


def logical(op: str, a: Any, b: Any) -> Scalar:
    a, b = operands_of(a, b)
    if a.type != I1:
        raise CannotTrace("bits of numbers")
    return Scalar(op, (a, b), I1)


def truth(x: Any) -> Any:
    """Whether a value is not 0."""
    return cast(x, DTYPES[I1]) if isinstance(x, Scalar) else bool(x)


def where(condition: Any, a: Any, b: Any) -> Scalar:
    if not isinstance(condition, Scalar):
        raise CannotTrace("a choice by what is no expression")
    if not (isinstance(a, Scalar) or isinstance(b, Scalar)):
        raise CannotTrace("a choice between numbers, of a type unknown")
    a, b = operands_of(a, b)
    return Scalar("select", (cast(condition, DTYPES[I1]), a, b), a.type)


def keep(x: Any, mask: Any) -> Scalar:
    return where(mask, x, 0)


def maximum(a: Any, b: Any) -> Scalar:
    """The larger; NaN if either is."""
    a, b = operands_of(a, b)
    return where((a >= b) | (a != a), a, b)


def minimum(a: Any, b: Any) -> Scalar:
    a, b = operands_of(a, b)
    return where((a <= b) | (a != a), a, b)


def ignoring_nan(choice: Callable, a: Any, b: Any) -> Scalar:
    """The choice between two numbers, ignoring NaN (fmax, fmin)."""
    a, b = operands_of(a, b)
    return where(a != a, b, where(b != b, a, choice(a, b)))


def power(a: Any, b: Any) -> Scalar:
    a, b = _plain(a), _plain(b)
    if isinstance(b, Scalar) and b.op == "argument" and b.operands[1]:
        raise CannotTrace("a power that is better known")
    if isinstance(b, (int, float)) and isinstance(a, Scalar):
        if b in (1, 2, 3):
            return a if b == 1 else a * a if b == 2 else a * a * a
        if b == 0.5:
            return unary("sqrt", a)
        if b == -1:
            return 1 / a
    if isinstance(a, Scalar) and isinstance(b, Scalar) and _is_common(b):  # as for a number that is known
        return where(b == 0.5, unary("sqrt", a), arithmetic("pow", a, b))
    return arithmetic("pow", a, b)


def _is_common(x: Scalar) -> bool:
    """Whether an expression has the same value for all elements."""
    if x.op == "argument":
        return bool(x.operands[1])
    return x.op == "number" or all(_is_common(o) for o in x.operands)


def between(x: Scalar, low: Any, high: Any) -> Scalar:
    x = x if low is None else maximum(x, low)
    return x if high is None else minimum(x, high)


def sign(x: Scalar) -> Scalar:
    negative = Scalar("select", (x < 0, number(-1, x.type), number(0, x.type)), x.type)
    return where(x > 0, 1, negative)


def relu(x: Scalar) -> Scalar:
    return maximum(x, 0)


def _function(name: str) -> Callable[[Any], Scalar]:
    return lambda x: unary(name, x)


_FUNCTIONS = {
    name: _function(name)
    for name in (
        "cos",
        "erf",
        "erfc",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log10",
        "log1p",
        "log2",
        "ndtr",
        "rsqrt",
        "sigmoid",
        "sin",
        "sqrt",
        "tanh",
        "floor",
        "ceil",
        "trunc",
        "rint",
        "abs",
    )
}
_SPECIAL: dict[str, Callable[..., Any]] = {f.__name__: _function(f.__name__) for f in OF_ONE}
_SPECIAL |= {f.__name__: partial(arithmetic, f.__name__) for f in OF_TWO}


def cylinder(x: Scalar, kind: str, order: int) -> Scalar:
    """A Bessel function as ``ops/bessel.py`` names them."""
    name = f"i{order}" + kind[1:]
    if kind[0] != "i" or name not in _SPECIAL:
        raise CannotTrace(f"the Bessel function {kind} of order {order}")
    return _SPECIAL[name](x)


UFUNCS: dict[Any, Callable[..., Any]] = {
    getattr(np, name): rule
    for name, rule in _FUNCTIONS.items()
    if name not in ("erf", "erfc", "ndtr", "rsqrt", "sigmoid", "abs")
} | {
    np.absolute: _FUNCTIONS["abs"],
    np.negative: lambda x: unary("neg", x),
    np.reciprocal: lambda x: 1 / x,
    np.square: lambda x: x * x,
    np.add: lambda a, b: arithmetic("add", a, b),
    np.subtract: lambda a, b: arithmetic("sub", a, b),
    np.multiply: lambda a, b: arithmetic("mul", a, b),
    np.true_divide: lambda a, b: arithmetic("div", a, b),
    np.power: power,
    np.maximum: maximum,
    np.minimum: minimum,
    np.fmax: lambda a, b: ignoring_nan(maximum, a, b),
    np.fmin: lambda a, b: ignoring_nan(minimum, a, b),
    np.copysign: lambda a, b: arithmetic("copysign", a, b),
    np.less: lambda a, b: compared("lt", a, b),
    np.less_equal: lambda a, b: compared("le", a, b),
    np.greater: lambda a, b: compared("gt", a, b),
    np.greater_equal: lambda a, b: compared("ge", a, b),
    np.equal: lambda a, b: compared("eq", a, b),
    np.not_equal: lambda a, b: compared("ne", a, b),
    np.logical_and: lambda a, b: logical("and", truth(a), truth(b)),
    np.logical_or: lambda a, b: logical("or", truth(a), truth(b)),
    np.logical_xor: lambda a, b: logical("xor", truth(a), truth(b)),
    np.logical_not: lambda x: ~truth(x),
    np.arccos: _SPECIAL["acos"],
    np.arccosh: _SPECIAL["acosh"],
    np.arcsin: _SPECIAL["asin"],
    np.arcsinh: _SPECIAL["asinh"],
    np.arctan: _SPECIAL["atan"],
    np.arctan2: _SPECIAL["atan2"],
    np.arctanh: _SPECIAL["atanh"],
    np.cosh: _SPECIAL["cosh"],
    np.sinh: _SPECIAL["sinh"],
    np.tan: _SPECIAL["tan"],
    np.isnan: lambda x: x != x,
    np.isfinite: lambda x: abs(x) < np.inf,
    np.isinf: lambda x: abs(x) == np.inf,
}
# Forward functions on scalars, for operations whose function on arrays can't be traced: they name it (scalar="erf").
FORMS: dict[str, Callable[..., Any]] = {
    "abs": _FUNCTIONS["abs"],
    "between": between,
    "conj": lambda x: x,
    "erf": _FUNCTIONS["erf"],
    "erfc": _FUNCTIONS["erfc"],
    "isfinite": UFUNCS[np.isfinite],
    "isinf": UFUNCS[np.isinf],
    "isnan": UFUNCS[np.isnan],
    "keep": keep,
    "ndtr": _FUNCTIONS["ndtr"],
    "pow": power,
    "relu": relu,
    "rsqrt": _FUNCTIONS["rsqrt"],
    "sigmoid": _FUNCTIONS["sigmoid"],
    "sign": sign,
    "where": where,
    "atan2": _SPECIAL["atan2"],
    "digamma": _SPECIAL["digamma"],
    "erfinv": _SPECIAL["erfinv"],
    "floor_divide": _SPECIAL["floor_divide"],
    "fmod": _SPECIAL["fmod"],
    "hypot": _SPECIAL["hypot"],
    "lgamma": _SPECIAL["lgamma"],
    "remainder": _SPECIAL["remainder"],
    "cylinder": cylinder,
    "entr": _SPECIAL["entr"],
    "i0": _SPECIAL["i0"],
    "i0e": _SPECIAL["i0e"],
    "i1": _SPECIAL["i1"],
    "i1e": _SPECIAL["i1e"],
    "ndtri": _SPECIAL["ndtri"],
}


def form_of(op: Any) -> Callable[..., Any]:
    """The forward function of an operation, as one that can be traced."""
    return FORMS[op.scalar] if op.scalar else op.impl


FAST_IN_NUMPY = ("add", "sub", "mul", "div", "neg", "pow", "tanh", "exp", "log")


def is_single_step(x: Scalar) -> bool:
    """Whether this is a single step, for which NumPy has a loop that is as fast."""
    return x.op in FAST_IN_NUMPY and all(o.op in ("argument", "number") for o in x.operands)


def trace_scalar(function: Callable, arguments: Sequence[Any]) -> Scalar | None:
    """The expression of a function of these arguments (scalars and numbers); None if it can't be traced."""
    try:
        result = function(*arguments)
    except Exception:  # anything that a function may raise for an argument that it does not know
        return None
    return result if isinstance(result, Scalar) else None


def substitute(x: Scalar, arguments: Sequence[Any]) -> Scalar:
    """An expression with its arguments replaced by others."""
    made: dict[Scalar, Scalar] = {}

    def of(x: Scalar) -> Scalar:
        if x.op == "number":
            return x
        if x.op == "argument":
            return arguments[x.operands[0]]
        if x not in made:
            made[x] = Scalar(x.op, tuple(map(of, x.operands)), x.type)
        return made[x]

    return of(x)


# --- lowering --------------------------------------------------------------------------------------------------


class Formula(NamedTuple):
    """Expressions as a list of steps in topological order, without common subexpressions.

    Attributes:
        steps: name, type and operands of each, by their index; those of arguments and numbers as in :class:`Scalar`.
        results: the indices of the expressions' steps.
    """

    steps: tuple[tuple[str, Type, tuple], ...]
    results: tuple[int, ...]


def formula_of(expressions: Sequence[Scalar]) -> Formula:
    """The formula of some expressions."""
    places: dict[Scalar, int] = {}
    alike: dict[Any, int] = {}
    steps: list[tuple[str, Type, tuple]] = []
    todo, seen = list(expressions), set()  # without recursion: an expression may be deep
    while todo:
        x = todo.pop()
        if x not in seen:
            seen.add(x)
            todo.append(x)
            if x.op not in ("argument", "number"):
                todo += [o for o in x.operands if o not in seen]
        elif x not in places:
            operands = x.operands if x.op in ("argument", "number") else tuple([places[o] for o in x.operands])
            places[x] = alike.setdefault((x.op, x.type, repr(operands)), len(steps))  # by repr, as 0.0 == -0.0
            if places[x] == len(steps):
                steps.append((x.op, x.type, operands))
    return Formula(tuple(steps), tuple([places[x] for x in expressions]))


def lower(f: Function, formula: Formula, arguments: Sequence[Value], lanes: int) -> list[Value]:
    """Lower a formula to instructions on vectors: the values of its expressions."""
    math = Math(f)
    values: list[Value] = []

    def compute(op: str, type: Type, v: Sequence[Any]) -> Value:
        if op == "argument":
            return arguments[v[0]]
        if op == "number":
            return f.constant(v[0], type)
        if op in ("add", "sub", "mul", "div", "and", "or", "xor"):
            return f.binary(op, *v)
        if op in ("lt", "le", "gt", "ge", "eq", "ne"):
            if v[0].type.name == "i1":
                a, b = v
                if op in ("eq", "ne"):
                    return a ^ b if op == "ne" else ~(a ^ b)
                return {"lt": ~a & b, "le": ~a | b, "gt": a & ~b, "ge": a | ~b}[op]
            return f.compare(op, *v)
        if op == "neg":
            return -v[0]
        if op == "select":
            return f.select(*v)
        if op == "cast":
            source = v[0].type
            if source.name == "i1":
                return f.select(v[0], f.constant(1.0, type), f.constant(0.0, type))
            return f.convert("fpext" if type.bits > source.bits else "fptrunc", v[0], type)
        if op in ("floor", "ceil", "trunc"):
            return f.intrinsic(op, *v)
        if op in ROUNDINGS:
            return widen(f, narrow(f, v[0], ROUNDINGS[op]), ROUNDINGS[op])
        return (NAMES.get(op) or SPECIAL[op])(math, *v)

    for op, type, operands in formula.steps:
        given = operands if op in ("argument", "number") else [values[i] for i in operands]
        values.append(compute(op, type.of(lanes), given))
    return [values[i] for i in formula.results]
