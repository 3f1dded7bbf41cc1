"""Elementwise operations and derivative rules: NumPy's way for small arrays, kernels for large ones, half precision.

Kernels are compiled when the first large array comes. Whether one is used never depends on whether it is loaded
already: the same call gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from .. import kernels
from ..base.dtypes import BOOLEAN, FLOAT32, FLOAT64, HALVES, OF_NUMPY, WIDE, as_numbers_of
from ..base.layout import converted
from .numpy_blocks import Blocks


def elementwise_kernel(
    name: str,
    functions: Sequence[Callable],
    fallback: Callable,
    *,
    scalar: str = "",
    even_plain: bool = False,
    sharing: bool = False,
) -> Callable:
    """A function that computes with elementwise kernels what ``fallback`` computes with NumPy; without kernels, in
    blocks.

    Args:
        name: for the machine code.
        functions: of scalars as of arrays, each giving one result.
        fallback: the same on arrays.
        scalar: the form of all functions on scalars, where theirs on arrays can't be traced; see
            :data:`pullback.kernels.codegen.scalar.FORMS`.
        even_plain: use kernels also where NumPy does as well.
        sharing: whether an operand may be the result itself.
    """
    compiled: Any = None

    def call(*values: Any) -> Any:
        nonlocal compiled
        if compiled is None:
            compiled = fallback
            if kernels.start():
                from .codegen.elementwise import Kernels
                from .codegen.scalar import FORMS

                traceable = [FORMS[scalar]] * len(functions) if scalar else functions
                compiled = Kernels(name, traceable, fallback, even_plain, sharing)
            elif not even_plain:
                compiled = Blocks(fallback)
        return compiled(*values)

    return call


def kernel_if_large(
    name: str,
    compute: Callable,
    count: int,
    *,
    first_only: bool = False,
    at_any_size: bool = False,
    scalar: str = "",
) -> Callable:
    """A function of so many arrays that runs a kernel where one of them is large.

    Args:
        first_only: only the first is an array, the others are options.
        at_any_size: it takes so many steps that a kernel wins at any size.
        name, scalar: see :func:`elementwise_kernel`.
    """
    kernel = elementwise_kernel(name, [compute], compute, scalar=scalar)
    if at_any_size and kernels.MODE != "off":
        return kernel

    # The number of arguments decides which of these is returned: a loop over them would cost a small array too much.
    def unary(x: Any) -> Any:
        return kernel(x) if x.__class__ is ndarray and x.size >= kernels.LARGE else compute(x)

    def variadic(x: Any, *others: Any) -> Any:
        if x.__class__ is ndarray and x.size >= kernels.LARGE:
            return kernel(x, *others)
        for y in others:
            if y.__class__ is ndarray and y.size >= kernels.LARGE:
                return kernel(x, *others)
        return compute(x, *others)

    def with_options(x: Any, *options: Any) -> Any:
        large = x.__class__ is ndarray and x.size >= kernels.LARGE
        return kernel(x, *options) if large else compute(x, *options)

    return unary if count == 1 else with_options if first_only else variadic


FEW = 256  # numbers up to which NumPy converts half precision as fast, and computes slow functions
# NumPy calls the C library for each number, or nearly so.
SLOW_UFUNCS = {
    *(np.arccos, np.arccosh, np.arcsin, np.arcsinh, np.arctan, np.arctan2, np.arctanh, np.sinh, np.cosh, np.tan),
    *(np.sin, np.cos, np.logical_and, np.logical_or, np.logical_xor, np.logical_not),
    *(np.expm1, np.log1p, np.exp2, np.log2, np.log10),
}
PLAIN = {int, float, bool, str, type(None)}


def compute_in_half(op: Any, values: Sequence[Any], d: Any) -> Any:
    """An elementwise operation on half precision, widened in registers and rounded once; None if NumPy is to do it.

    Args:
        d: the type of all the arrays.
    """
    for v in values:
        if v.__class__ is ndarray:
            if v.dtype is not d and v.dtype is not BOOLEAN:
                return None
        elif v.__class__ not in PLAIN:
            return None
    return op.half_kernel(*values)


def compute_in_float32(op: Any, values: Sequence[Any]) -> Any:
    """An elementwise operation on half precision by way of float32, for which it has no kernel."""
    given = list(values)
    for i in op.tensors:
        v = given[i]
        if v.__class__ is ndarray:
            half, given[i] = v.dtype, as_type(v, FLOAT32)
        else:
            given[i] = op.number(v, FLOAT32)
    value = np.asarray(op.impl(*given))
    return as_type(value, half) if value.dtype == FLOAT32 else value


def as_type(x: ndarray, d: Any, copy: bool = True) -> ndarray:
    """A copy in a type, in the order of memory that ``preserve_format`` gives it; ``x`` itself where it is of that type
    and ``copy`` is False.
    """
    if not copy and x.dtype == d:
        return x
    if x.size < FEW and x.flags.c_contiguous:
        return as_numbers_of(x, d)
    made = kernels.run("convert", "as_type", x.size, x, d) if d in HALVES or x.dtype in HALVES else None
    return converted(x, d) if made is None else made


def wide(v: Any) -> Any:
    """An array or a tensor in half precision as float32 or complex64, and a tuple of them; anything else as it is."""
    c = v.__class__
    if c in PLAIN:
        return v
    if c is ndarray:
        d = v.dtype
        return v if d is FLOAT32 or d is FLOAT64 or d not in WIDE else as_type(v, WIDE[d])
    if c is tuple:
        return tuple(map(wide, v))
    d = v.dtype if isinstance(v, ndarray) else getattr(getattr(v, "dtype", None), "numpy", None)
    if d not in WIDE:
        return v
    return as_type(v, WIDE[d]) if isinstance(v, ndarray) else v.to(OF_NUMPY[WIDE[d]])


def in_float32(rule: Callable) -> Callable:
    """A rule on arrays that computes in float32 (or complex64) where the gradient is in half precision, and rounds
    once.
    """

    def compute(g: Any, *values: Any) -> Any:
        if g.dtype not in WIDE:
            return rule(g, *values)
        widened, half = wide(g), OF_NUMPY[g.dtype]
        r = rule(widened, *map(wide, values))
        if r is None or r is widened:  # the gradient itself
            return None if r is None else g
        return as_type(r, (half.to_complex() if OF_NUMPY[r.dtype].is_complex else half.to_real()).numpy)

    return compute


# --- derivative rules -------------------------------------------------------------------------------------------


def kernel_vjps(op: Any) -> tuple[Callable, ...]:
    """The derivative rules of an operation on arrays, one for each tensor argument, each a kernel where there can be
    one.

    Rules of pointwise operations are traced like forward functions. For others an operation may state in
    ``array_rules`` what is faster on arrays than the formula that its rule is.
    """
    if op.kernel_vjps is None:
        vjps = [_in_half_too(vjp) for vjp in op.vjps] if op.widens else list(op.vjps)
        accumulating: list[Callable | None] = [None] * len(vjps)
        for k, p in enumerate(op.tensors):
            param = op.params[p]
            rule = op.rules.get(param)
            if param in op.array_rules:
                vjps[k] = _of_saved(op, op.array_rules[param], in_float32(op.array_rules[param]))
            elif op.pointwise and rule is not None:
                name, adding = f"{op.name}_{param}", _adding(rule)
                vjps[k] = _of_saved(op, rule, elementwise_kernel(name, [rule], in_float32(rule), sharing=True))
                accumulating[k] = _of_saved(op, rule, elementwise_kernel(name + "_onto", [adding], in_float32(adding)))
        op.accumulating_vjps, op.kernel_vjps = tuple(accumulating), tuple(vjps)
    return op.kernel_vjps


def _in_half_too(vjp: Callable) -> Callable:
    """A rule of the gradient and what a node saved that computes in float32 where the gradient is in half precision."""
    return lambda g, saved: vjp(g, saved) if g.dtype not in HALVES else vjp(wide(g), tuple(map(wide, saved)))


def _adding(rule: Callable) -> Callable:
    """The rule's gradient added to one that is there already: one pass over memory instead of two."""

    def add(g: Any, *values: Any) -> Any:
        *saved, waiting = values
        r = rule(g, *saved)
        return waiting if r is None else waiting + r

    return add


def _of_saved(op: Any, rule: Callable, compute: Callable) -> Callable:
    """``compute``, which takes what the rule takes, as a function of the gradient and what a node saved (and what it is
    to add to).
    """
    at = [op.saved_names.index(n) for n in rule.__code__.co_varnames[1 : rule.__code__.co_argcount]]
    if not at:
        return lambda g, saved, *onto: compute(g, *onto)
    if len(at) == 1:
        (i,) = at
        return lambda g, saved, *onto: compute(g, saved[i], *onto)
    return lambda g, saved, *onto: compute(g, *[saved[i] for i in at], *onto)
