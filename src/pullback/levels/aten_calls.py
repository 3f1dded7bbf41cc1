"""How PyTorch's kernels are called for an operation: their overload and arguments, as ``__torch_dispatch__`` gets them.

An operation here may take an index where PyTorch calls ``select`` and ``slice``, a NumPy type where it takes a dtype.
:func:`aten_calls` gives the calls, one after the other; :data:`RUN` computes those that no public function computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.device import preserve_format
from ..base.dtypes import OF_NUMPY
from ..core.op import OpTable
from ..core.tensor import Tensor
from ..ops.arithmetic import elementwise_add, elementwise_div, elementwise_pow, elementwise_sub, mul, scaled_sum
from ..ops.compare import eq, ge, gt, le, lt, ne
from ..ops.concat import repeat
from ..ops.convert import cast
from ..ops.flip_roll import flip, roll
from ..ops.index import take_at
from ..ops.mask import _masked_fill
from ..ops.memory import clone
from ..ops.minmax import amax, amin, max_along, min_along
from ..ops.reduce import logsumexp, mean, sum_all, sum_dims
from ..ops.slices import view_part
from ..ops.slicing_views import split_views, unbind
from ..ops.softmax import _log_softmax, _softmax
from ..ops.statistics import deviation, variance
from ..ops.view import expand, permute, squeeze, transpose, view_shape
from ..ops.where import between, elementwise_where

END = 2**63 - 1  # of a slice that has none


class AtenCall(NamedTuple):
    """A call of a kernel; its first argument is the operation's, or what the call before gave."""

    name: str
    overload: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}


Rule = Callable[..., "list[AtenCall] | None"]
aten_form = OpTable()  # rule(*values) gives the calls, without their first argument


def aten_calls(op: Any, values: Sequence[Any]) -> list[AtenCall] | None:
    """The calls of kernels that an operation with these arguments is; None where its own arguments are PyTorch's."""
    rule = aten_form.get(op)
    return None if rule is None else rule(*values)


def without_defaults(op: Any, values: Sequence[Any]) -> list[Any]:
    """Arguments without those at the end that are as they would be if they were left out."""
    given, defaults = list(values), getattr(op, "defaults", ())  # an operation of the user's has none
    while given and len(given) <= len(defaults) and len(given) > op.required and given[-1] is defaults[len(given) - 1]:
        given.pop()
    return given


@aten_form(view_part)
def part(x: Any, index: tuple[Any, ...], name: str) -> list[AtenCall]:
    """``x[...]``: a call for each step that selects, cuts or adds a dimension."""
    calls, before, taken = [], True, sum([i is not None and i is not Ellipsis for i in index])
    dim, shape = 0, list(x.shape)
    for i in index:
        if i is Ellipsis:
            dim, before = dim + len(shape) - dim - (taken if before else 0), False
            continue
        if i is None:
            calls.append(AtenCall("unsqueeze", "default", (dim,)))
            shape.insert(dim, 1)
            dim += 1
            continue
        taken -= 1
        if not isinstance(i, slice):
            calls.append(AtenCall("select", "int", (dim, int(i))))
            del shape[dim]
            continue
        if i != slice(None):
            start, stop, step = (0 if i.start is None else i.start), (END if i.stop is None else i.stop), i.step
            calls.append(AtenCall("slice", "Tensor", (dim, start, stop, *(() if step in (None, 1) else (step,)))))
            shape[dim] = len(range(*i.indices(shape[dim])))
        dim += 1
    return calls or [AtenCall("alias", "default")]


@aten_form(take_at)
def indexed(x: Any, at: list[Any], name: str = "", dim: int | None = None) -> list[AtenCall]:
    if dim is None:
        return [AtenCall("index", "Tensor", ([None if isinstance(i, slice) else i for i in at],))]
    if name.startswith("Gather"):
        return [AtenCall("gather", "default", (dim, at[-1]))]
    if name.startswith("IndexSelect"):
        return [AtenCall("index_select", "default", (dim, at[-1]))]
    return [AtenCall("take", "default", (at[-1],))]


@aten_form(cast)
def converted(x: Any, dtype: np.dtype) -> list[AtenCall]:
    return [AtenCall("_to_copy", "default", (), {"dtype": OF_NUMPY[dtype]})]


@aten_form(sum_all)
def total(x: Any, dtype: Any = None) -> list[AtenCall]:
    return [AtenCall("sum", "default", (), {} if dtype is None else {"dtype": dtype})]


def _along(name: str, overload: str) -> Rule:
    def rule(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> list[AtenCall]:
        options = {} if dtype is None else {"dtype": dtype}
        if dim is None:
            return [AtenCall(name, "default", (), options)]
        dims = [dim] if isinstance(dim, int) else list(dim)
        return [AtenCall(name, overload, (dims, True) if keepdim else (dims,), options)]

    return rule


aten_form(sum_dims)(_along("sum", "dim_IntList"))
aten_form(mean)(_along("mean", "dim"))


def _extreme(name: str) -> Rule:
    return lambda x, dim, keepdim=False: [AtenCall(name, "dim", (dim, True) if keepdim else (dim,))]


aten_form(max_along)(_extreme("max"))
aten_form(min_along)(_extreme("min"))


def _is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex))


def _compared(name: str) -> Rule:
    return lambda x, y: [AtenCall(name, "Scalar" if _is_number(y) else "Tensor", (y,))]


for _function in (eq, ne, lt, le, gt, ge):
    aten_form(_function)(_compared(_function.op.name))


def _arithmetic(name: str) -> Rule:
    return lambda x, y: [AtenCall(name, "Tensor", (y,))]


for _function in (elementwise_add, elementwise_sub, mul, elementwise_div):
    aten_form(_function)(_arithmetic(_function.op.name))


@aten_form(scaled_sum)
def added(x: Any, y: Any, alpha: Any) -> list[AtenCall]:
    return [AtenCall("add", "Tensor", (y,), {"alpha": alpha})]


@aten_form(elementwise_pow)
def power(x: Any, y: Any) -> list[AtenCall]:
    kinds = {(False, True): "Tensor_Scalar", (False, False): "Tensor_Tensor"}
    return [AtenCall("pow", kinds.get((_is_number(x), _is_number(y)), "Scalar"), (y,))]


@aten_form(transpose)
def turned(x: Any, dim0: int, dim1: int) -> list[AtenCall]:
    return [AtenCall("transpose", "int", (dim0, dim1))]


def _with_list(name: str) -> Rule:
    """One of sizes or dimensions, which come as a list."""
    return lambda x, sizes, *more: [AtenCall(name, "default", (list(sizes), *more))]


for _function, _name in {
    view_shape: "view",
    permute: "permute",
    expand: "expand",
    repeat: "repeat",
    flip: "flip",
}.items():
    aten_form(_function)(_with_list(_name))


@aten_form(roll)
def rolled(x: Any, shifts: Any, dims: Any = ()) -> list[AtenCall]:
    along = [[i] if isinstance(i, int) else list(i) for i in (shifts, dims)]
    return [AtenCall("roll", "default", tuple(along if along[1] else along[:1]))]


def _extremes(name: str) -> Rule:
    def rule(x: Any, dim: Any = None, keepdim: bool = False) -> list[AtenCall]:
        dims = [] if dim is None else [dim] if isinstance(dim, int) else list(dim)
        return [AtenCall(name, "default", (dims, True) if keepdim else (dims,) if dims else ())]

    return rule


for _function in (amax, amin, logsumexp):
    aten_form(_function)(_extremes(_function.op.name))


@aten_form(clone)
def cloned(x: Any, memory_format: Any = preserve_format) -> list[AtenCall]:
    return [
        AtenCall("clone", "default", (), {} if memory_format is preserve_format else {"memory_format": memory_format})
    ]


@aten_form(squeeze)
def squeezed(x: Any, dim: Any = None) -> list[AtenCall]:
    if dim is None or isinstance(dim, int):
        return [AtenCall("squeeze", "default") if dim is None else AtenCall("squeeze", "dim", (dim,))]
    return [AtenCall("squeeze", "dims", (list(dim),))]


@aten_form(between)
def clamped(x: Any, min: Any, max: Any) -> list[AtenCall]:
    return [AtenCall("clamp", "default", (min,) if max is None else (min, max))]


def _normalized(name: str) -> Rule:
    return lambda x, dim: [AtenCall(name, "default", (dim, False))]


aten_form(_softmax)(_normalized("_softmax"))
aten_form(_log_softmax)(_normalized("_log_softmax"))


def _spread(name: str) -> Rule:
    def rule(x: Any, dim: Any, correction: Any, keepdim: bool) -> list[AtenCall]:
        options = {} if dim is None and correction == 1 else {"correction": correction}
        dims = () if dim is None else ([dim] if isinstance(dim, int) else list(dim),)
        return [AtenCall(name, "correction", dims, options | ({"keepdim": True} if keepdim else {}))]

    return rule


aten_form(variance)(_spread("var"))
aten_form(deviation)(_spread("std"))


@aten_form(elementwise_where)
def chosen(condition: Any, x: Any, y: Any) -> list[AtenCall]:
    return [AtenCall("where", "self", (x, y))]


@aten_form(_masked_fill)
def filled(x: Any, value: Any, mask: Any) -> list[AtenCall]:
    return [AtenCall("masked_fill", "Scalar" if _is_number(value) else "Tensor", (mask, value))]


@aten_form(unbind)
def taken_apart(x: Any, dim: int = 0) -> list[AtenCall]:
    return [AtenCall("unbind", "int", (dim,) if dim else ())]


@aten_form(split_views)
def cut(x: Any, sizes: Sequence[int], dim: int = 0, name: str = "") -> list[AtenCall]:
    along = (dim,) if dim else ()
    if len(set(sizes[:-1])) < 2 and sizes[-1] <= sizes[0]:
        return [AtenCall("split", "Tensor", (sizes[0], *along))]
    return [AtenCall("split_with_sizes", "default", (list(sizes), *along))]


def _slice(x: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)]


def _index(x: Tensor, indices: Sequence[Any]) -> Tensor:
    return x[tuple([slice(None) if i is None else i for i in indices])]


def _to_copy(x: Tensor, *, dtype: Any = None, device: Any = None, **options: Any) -> Tensor:
    return x.to(device=device, dtype=dtype, copy=True)


# What kernels compute whose name no public function has, or has with other arguments.
RUN: dict[tuple[str, str], Callable[..., Any]] = {
    ("slice", "Tensor"): _slice,
    ("index", "Tensor"): _index,
    ("_to_copy", "default"): _to_copy,
    ("_softmax", "default"): lambda x, dim, half_to_float: _softmax(x, dim),
    ("_log_softmax", "default"): lambda x, dim, half_to_float: _log_softmax(x, dim),
    ("alias", "default"): lambda x: x.view_as(x),
    ("split_with_sizes", "default"): lambda x, sizes, dim=0: x.split(sizes, dim),
    ("unbind", "int"): lambda x, dim=0: list(x.unbind(dim)),
    ("split", "Tensor"): lambda x, size, dim=0: list(x.split(size, dim)),
}
