"""The slow path of an op call: type promotion, scalars first, ``out=``, levels, modes, sparse values, errors.

The fast paths of :mod:`pullback.core.fast_call` and :mod:`pullback.core.general_call` fall through to here.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..base import dtypes, thread_state
from ..base.dtypes import FLOAT32, FLOAT64, FLOATING, HALVES, INTEGRAL, NARROW, OF_NUMPY, WIDE
from ..base.errors import not_a_tensor, translate_error, with_notes
from ..base.layout import match_layout
from ..kernels.dispatch import as_type, compute_in_half
from . import interpose, level, record, slots, versions, views
from .graph import Output, clock, finish_node
from .inplace import compute_into, refuse_overlap, write_out
from .override import NOT_OVERRIDDEN, dispatch, overridden
from .record import wrap
from .rules import variety_of
from .tensor import PLAIN_TENSOR_TYPES, Tensor

if TYPE_CHECKING:
    from .op import Op

ndarray, asarray = np.ndarray, np.asarray
getframe = sys._getframe


def elementwise_slow(op: Op, args: tuple, out: Any = None, operator: bool = False) -> Any:
    """Every other case: mixed types, integers, half precision, complex, scalars first, arrays, errors, ``out=``."""
    if out is None and not thread_state.slow_path_reasons and not thread_state.no_grad_threads:
        try:
            result = half_call(op, args)
            if result is not None:
                return result
            values = integer_arrays(args, op.result_category)
            if values is not None:
                if op.check is not None:
                    op.check(*args)
                value = asarray(op.impl(*values))
                return record.bare(value if value.ndim < 2 else match_layout(values, value))
        except Exception:  # such as a number that the type can't hold: below it is said better
            pass
    result = intercepted(op, args, out, operator)
    if result is not NOT_OVERRIDDEN:
        return result
    if out is not None:
        refuse_overlap(out, *args, partial=True)
    tensors = [i for i in op.tensors if isinstance(args[i], Tensor)]
    if not tensors:
        if any(isinstance(a, (ndarray, np.generic)) for a in args):
            return op.raw(*args)
        if op.takes_numbers and not operator and all([isinstance(a, (int, float, complex)) for a in args]):
            first = asarray(args[0], dtypes.of_python(type(args[0])).numpy)
            return op.call(record.bare(first), *args[1:], out=out)
        return foreign_argument(op, args, out=out, operator=operator)
    values = [a._array if isinstance(a, Tensor) else a for a in args]  # a mask, too, may have come as a tensor
    edges, recording = [], False
    for i in op.tensors:
        a = args[i]
        if isinstance(a, Tensor):
            edges.append(views.gradient_edge(a))
            values[i] = a._array  # after the edge: a view may just have caught up with its base
            recording = recording or edges[-1] is not None
            continue
        edges.append(None)
        if not isinstance(a, (ndarray, int, float, complex, np.generic)):
            return foreign_argument(op, args, i, out, operator)
    if op.check is not None:
        op.check(*args)
    if thread_state.slow_path_reasons and level.needs_level(values):
        narrow = narrow_type(values)
        if (
            narrow not in op.narrow_types
            and narrow is not None
            and dtypes.result_type_of([values[i] for i in op.tensors]).numpy is narrow
        ):
            refuse_narrow(op, narrow)
        return wrap_results(op, args, edges, values, level.compute(op, values), out, 2)
    return promoted(op, args, edges, values, out, recording, len(tensors))


def narrow_type(values: Sequence[Any]) -> np.dtype | None:
    """The type of ``NARROW`` that one of these values has, or one in a list among them."""
    for v in values:
        if v.__class__ is ndarray or isinstance(v, level.LevelValue):
            if v.dtype in NARROW:
                return v.dtype
        elif v.__class__ in (list, tuple):
            found = narrow_type(v)
            if found is not None:
                return found
    return None


def refuse_narrow(op: Op, d: np.dtype) -> NoReturn:
    """Refuse complex32 or float8, which few operations take (:mod:`pullback.ops.narrow_types`).

    Raises:
        NotImplementedError: naming the operation.
    """
    raise with_notes(
        NotImplementedError(f"\"{op.name}\" not implemented for '{dtypes.type_name(OF_NUMPY[d])}'"),
        f"Compute in {OF_NUMPY[WIDE[d]].name}: x.to({OF_NUMPY[WIDE[d]]}).",
    )


def widened(op: Op, values: list[Any], d: np.dtype) -> list[Any]:
    """The arguments of an operation that refuses type ``d``, converted first if its ``dtype=`` says so."""
    to = values[op.params.index("dtype")] if "dtype" in op.params else None
    if to is None or to is OF_NUMPY[d]:
        refuse_narrow(op, d)
    return [v.astype(WIDE[d]) if narrow_type((v,)) is not None else v for v in values]


def promoted(
    op: Op, args: tuple, edges: list[Any], values: list[Any], out: Any, recording: bool, tensor_count: int
) -> Any:
    """An elementwise operation on arrays and numbers in their common type; half precision computes in single."""
    operands = [values[i] for i in op.tensors]
    d = dtypes.result_type_of(operands)
    if op.result_category > d.category:
        d = dtypes.get_default_dtype() if op.result_category == FLOATING else d
    if d.numpy in NARROW and d.numpy not in op.narrow_types:
        refuse_narrow(op, d.numpy)
    wide = WIDE.get(d.numpy)
    half, compute = wide is not None, d.numpy if wide is None else wide
    if half and op.number is dtypes.exact_number:  # compared in the type of the tensors
        for i in op.tensors:
            if not isinstance(values[i], ndarray):
                values[i] = (complex if d.is_complex else float)(op.number(values[i], d.numpy))
    value = compute_in_half(op, values, d.numpy) if half and not thread_state.slow_path_reasons else None
    for i in op.tensors if value is None else ():
        v = values[i]
        if not isinstance(v, ndarray):
            values[i] = op.number(v, compute)
        elif v.dtype != compute:
            values[i] = as_type(v, compute)
    if (
        out is not None
        and not half
        and not (recording and thread_state.is_grad_enabled())
        and compute_into(out, op, values, compute)
    ):
        return out
    if (
        thread_state.slow_path_reasons
        and thread_state.local.packing
        and recording
        and not half
        and d.category >= FLOATING
    ):
        pack_inputs(op, args, edges, values)
    try:
        if value is None:
            value = asarray(interpose.interposed(op)(*values))
    except Exception as failure:
        raise translate_error(op, [v for v in values if isinstance(v, ndarray)], failure) from None
    if value.ndim > 1 and tensor_count > 1:
        value = match_layout(values, value)
    if half and (value.dtype == compute or value.dtype == FLOAT32):
        value = as_type(value, d.numpy if value.dtype == compute else d.to_real().numpy)
        values = [as_type(v, d.numpy) if v.__class__ is ndarray and v.dtype == compute else v for v in values]
    result = wrap(value)
    if thread_state.slow_path_reasons and thread_state.local.batches:
        level.note_made(value)
    if recording and thread_state.is_grad_enabled() and OF_NUMPY[value.dtype].category >= FLOATING:
        scalar = op.node_name[:-1] + "0" if tensor_count < len(op.tensors) else op.node_name
        # numbers stay numbers
        kept = [a if a.__class__ is float or a.__class__ is int else v for a, v in zip(args, values)]
        attach_node(op, scalar, tuple(edges), kept, (value,), result, 3)
        if thread_state.inference_used:
            views.refuse_inference(args, result._fn)
    elif thread_state.no_grad_threads and thread_state.local.made is not None:
        views.mark_unrecorded(result, recording or None, *args)
    return result if out is None else write_out(out, result, op.name, op.check_out)


def intercepted(op: Op, args: tuple, out: Any, operator: bool = False) -> Any:
    """What function modes, overriding classes or ``vmap`` make of a call; ``NOT_OVERRIDDEN`` if none of them does."""
    if thread_state.function_modes or thread_state.overridden:
        result = dispatch(op.call, args, {} if out is None else {"out": out}, operator)
        if result is not NOT_OVERRIDDEN:
            return result
    elif out is not None and not isinstance(out, Tensor):
        result = overridden(op.call, args, {"out": out})
        if result is not NOT_OVERRIDDEN:
            return result
    if thread_state.local.batches and out is None:
        result = thread_state.local.batches[-1].fast_call(op, args)
        if result is not None:
            return result
    return NOT_OVERRIDDEN


NONE = -2  # lower than any category
INTEGER_CATEGORIES = {t.numpy: t.category for t in OF_NUMPY.values() if t.category <= INTEGRAL}


def integer_arrays(args: tuple, to: int) -> list[Any] | None:
    """The arrays of tensors that share a type of integers, or bool, which is the result's, too; None if they are
    others.
    """
    values, d = [], None
    for a in args:
        c = a.__class__
        if c is Tensor or c in PLAIN_TENSOR_TYPES:
            if a._view is not None:
                views.gradient_edge(a)
            a = a._array
            if d is None:
                d = a.dtype
                if a.__class__ is not ndarray or INTEGER_CATEGORIES.get(d, NONE) < to:
                    return None
            elif a.dtype is not d:
                return None
        elif c is not int or d is None or d.kind == "b":
            return None
        else:
            a = np.array(a, d)
        values.append(a)
    return values


def half_call(op: Op, args: tuple) -> Any:
    """An operation on plain tensors of one type of half precision, by its kernel; None if there is none."""
    first: Any = args[op.tensors[0]]
    c = first.__class__
    d = first._array.dtype if c in PLAIN_TENSOR_TYPES else None
    if d not in HALVES:
        return None
    values, edges, recording, number = list(args), [], False, False
    for i in op.tensors:
        a, e = args[i], None
        c = a.__class__
        if c in PLAIN_TENSOR_TYPES:
            e = a._fn
            if e is not None or a._view is not None:
                e = views.gradient_edge(a)
                recording = recording or e is not None
            values[i] = x = a._array
            if x.dtype is not d or x.__class__ is not ndarray:
                return None
        elif (c is float or c is int) and op.number is not dtypes.exact_number:
            number = True
        else:
            return None
        edges.append(e)
    if op.check is not None:
        op.check(*args)
    value = op.compute_half(*values)
    if len(edges) > 1 and value.ndim > 1:
        value = match_layout(values, value)
    result = record.bare(value)
    if recording and OF_NUMPY[value.dtype].category >= FLOATING:
        name = op.node_name[:-1] + "0" if number else op.node_name
        attach_node(op, name, tuple(edges), values, (value,), result, 3)
    return result


def pack_inputs(op: Op, args: tuple, edges: Sequence[Any], values: Sequence[Any]) -> None:
    """Let the hooks for saved tensors have the inputs before the operation computes: they may stop it."""
    if thread_state.is_grad_enabled() and not op.takes_tensor_list:
        slots.pack_inputs(op, args, edges, values)


def foreign_argument(op: Op, args: tuple, i: int = 0, out: Any = None, operator: bool = False) -> Any:
    """The argument at `i` is no tensor, array or number: it, or another, may say itself what operations do to it.

    Args:
        operator: whether Python is to ask for its own method otherwise.
    """
    for a in args:
        if not operator and hasattr(a, "__pullback_op__"):
            return a.__pullback_op__(op, args)
    result = overridden(op.call, args, {} if out is None else {"out": out})
    if result is not NOT_OVERRIDDEN:
        return result
    if operator:
        return NotImplemented
    raise not_a_tensor(op.name, op.params[i], i, args[i])


def general_slow(op: Op, args: tuple, out: Any = None) -> Any:
    """Several tensors, lists of tensors, optional tensors, several results."""
    if op.random and thread_state.local.batches:
        args = thread_state.local.batches[-1].repeat_parameters(op, args)
    result = intercepted(op, args, out)
    if result is not NOT_OVERRIDDEN:
        return result
    if isinstance(out, Tensor):
        refuse_overlap(out, *args, *(args[0] if op.takes_tensor_list else ()), partial=True)
        category = min([t.dtype.category for t in (out, args[0]) if isinstance(t, Tensor)])
        if category >= op.typed_by_out and args[-1] is None:
            args = (*args[:-1], out.dtype)
    values = list(args)
    edges: list[Any] = []
    found = False
    if op.takes_tensor_list:
        if not isinstance(args[0], (tuple, list)):
            raise TypeError(
                f"{op.name}(): argument '{op.params[0]}' (position 1) must be tuple of Tensors, not "
                f"{type(args[0]).__name__}"
            )
        values[0] = items = []
        for i, t in enumerate(args[0]):
            if not isinstance(t, (Tensor, ndarray)):
                result = overridden(op.call, args, {} if out is None else {"out": out})
                if result is not NOT_OVERRIDDEN:
                    return result
                raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
            edges.append(views.gradient_edge(t) if isinstance(t, Tensor) else None)
            items.append(t._array if isinstance(t, Tensor) else t)
            found = found or isinstance(t, Tensor)
    for i in op.tensors:
        a = args[i]
        if isinstance(a, Tensor):
            edges.append(views.gradient_edge(a))
            values[i], found = a._array, True
            continue
        edges.append(None)
        if not (a is None and op.defaults[i] is None or isinstance(a, (ndarray, int, float, complex, np.generic))):
            return foreign_argument(op, args, i, out)
    if not found and (not op.takes_tensor_list or args[0]):
        if op.tensors and not any(isinstance(args[i], (ndarray, np.generic)) for i in op.tensors):
            return foreign_argument(op, args)
        return op.raw(*[asarray(a) if isinstance(a, np.generic) else a for a in args])
    narrow = narrow_type(values)
    if narrow is not None and narrow not in op.narrow_types:
        values = widened(op, values, narrow)
    if thread_state.slow_path_reasons and thread_state.local.packing:
        pack_inputs(op, args, edges, values)
    try:
        if not thread_state.slow_path_reasons:
            value = op.impl(*values)
        else:
            value = level.compute(op, values) if level.needs_level(values) else interpose.interposed(op)(*values)
    except Exception as failure:
        raise translate_error(op, [v for v in values if isinstance(v, ndarray)], failure, args) from None
    return wrap_results(op, args, edges, values, value, out, 2)


def view_slow(op: Op, args: tuple) -> Any:
    """A view in every other case: nothing recorded, several views, levels, sparse values, errors."""
    input = args[0]
    c = input.__class__
    if thread_state.function_modes or c is not Tensor and c not in PLAIN_TENSOR_TYPES:
        result = (dispatch if isinstance(input, Tensor) else overridden)(op.call, args, {})
        if result is not NOT_OVERRIDDEN:
            return result
    if not isinstance(input, Tensor):
        if isinstance(input, np.generic):  # what NumPy makes of a 0-d array between two steps of a rule
            return op.impl(asarray(input), *args[1:])
        raise not_a_tensor(op.name, op.params[0], 0, input)
    e = views.gradient_edge(input)
    x, options = input._array, args[1:]  # after the edge: a view may just have caught up with its base
    try:
        if x.__class__ is ndarray and not (thread_state.slow_path_reasons and level.needs_level(())):
            value = (
                op.impl(x, *options) if not thread_state.slow_path_reasons else interpose.interposed(op)(x, *options)
            )
        else:
            value = level.compute(op, (x, *options))
    except Exception as error:
        raise translate_error(op, (x,), error) from None
    base, kind = input, views.ORDINARY
    if input._view is not None:
        base, kind = input._view[0], input._view[2]
    if value.__class__ in (list, tuple):
        return wrap_several(op, args, [e], value, 1)
    lifted = value.__class__ is not ndarray
    if e is None or base is None or thread_state.no_grad_threads and not thread_state.is_grad_enabled():
        result = record.bare(value)
        views.unrecorded_view(result, base, clock(), kind, e)
    else:
        node = op.node_type(op.node_name if isinstance(op.node_name, str) else op.node_name(*args))
        make = record.with_node if not lifted else record.with_node_in_python
        result = make(value, node, (e,), (x.shape, *options), getframe(2))
        result._view = (base, result._fn._seq, kind)
    if lifted:
        value.level.track(result)
    if thread_state.slow_path_reasons and thread_state.local.batches:
        versions.note_alias(result)
    return result


def wrap_results(op: Op, args: tuple, edges: list[Any], values: list[Any], value: Any, out: Any, depth: int) -> Any:
    """Wrap and record what an operation computed."""
    if thread_state.slow_path_reasons and thread_state.local.batches and op.kind != "view":
        level.note_made(value, values)
    narrow = narrow_type((value,))
    if narrow is not None and narrow not in op.narrow_types:
        refuse_narrow(op, narrow)
    if value.__class__ in (tuple, list):
        result = wrap_several(op, tuple(values), edges, value, depth + 1)
        if thread_state.no_grad_threads and thread_state.local.made is not None:
            for r in result:
                views.mark_unrecorded(r, next((e for e in edges if e is not None), None), *args)
    else:
        value = as_value(value)
        result = wrap(value)
        if value.__class__ is not ndarray:
            value.level.track(result)
        if (
            any(e is not None for e in edges)
            and thread_state.is_grad_enabled()
            and OF_NUMPY[value.dtype].category >= FLOATING
        ):
            name = op.node_name if isinstance(op.node_name, str) else op.node_name(*args)
            attach_node(op, name, tuple(edges), values, (value,), result, depth + 1)
            if thread_state.inference_used:
                views.refuse_inference(args, result._fn)
        elif thread_state.no_grad_threads and thread_state.local.made is not None:
            views.mark_unrecorded(result, next((e for e in edges if e is not None), None), *args)
    if out is None:
        return result
    return write_out(out, result, op.name, op.check_out)


def as_value(value: Any) -> Any:
    """What a forward function returned, as an array or a level's value."""
    return value if value.__class__ is ndarray or isinstance(value, level.LevelValue) else asarray(value)


def wrap_several(op: Op, args: tuple, edges: list[Any], values: Sequence[Any], depth: int) -> Any:
    """Wrap and record several results: named ones, or a list of like ones (the views of ``unbind``)."""
    results = []
    for v in values:
        r = wrap(v if v.__class__ is ndarray else as_value(v))
        if r._array.__class__ is not ndarray:
            r._array.level.track(r)
        results.append(r)
    recording = any([e is not None for e in edges]) and (
        not thread_state.no_grad_threads or thread_state.is_grad_enabled()
    )
    if op.kind == "view":
        if thread_state.slow_path_reasons and thread_state.local.batches:
            for r in results:
                versions.note_alias(r)
        input = args[0]
        base = input if input._view is None else input._view[0]
        if base is None or thread_state.no_grad_threads and not thread_state.is_grad_enabled():
            for r in results:
                views.unrecorded_view(r, base, clock(), views.ONE_OF_SEVERAL, edges[0])
        else:
            view = (base, clock(), views.ONE_OF_SEVERAL)
            for r in results:
                r._view = view
        args = (input._array, *args[1:])
    if recording:
        taking_part = [results[i] for i in op.differentiable] if op.outputs else results
        taking_part = [
            r for r in taking_part if r._array.dtype is FLOAT32 or OF_NUMPY[r._array.dtype].category >= FLOATING
        ]
        if taking_part:
            name = op.node_name if isinstance(op.node_name, str) else op.node_name(*args)
            attach_node(
                op,
                name,
                tuple(edges),
                args if not isinstance(args[0], Tensor) else (args[0]._array, *args[1:]),
                [r._array for r in results],
                taking_part,
                depth + 1,
            )
    return op.result(*results) if op.result is not None else tuple(results)


def wrap_outputs(op: Op, result: Any, values: Sequence[Any]) -> Any:
    """All results of an operation that names them: around these values, of which ``result``, the first that takes part,
    is recorded.
    """
    results, node = [], result._fn
    shapes: list[Any] = []
    kinds: list[Any] = []
    first, branches = op.differentiable[0], len(op.differentiable) > 1
    for i, v in enumerate(values):
        part = result if i == first else record.bare(v)
        results.append(part)
        d = v.dtype
        if branches and i in op.differentiable and (d is FLOAT32 or d is FLOAT64 or OF_NUMPY[d].category >= FLOATING):
            part._fn = Output(node, len(shapes))
            shapes.append(v.shape)
            kinds.append(d)
    if len(shapes) > 1:
        node._shape, node._dtype = shapes, kinds
    else:
        result._fn = node
    return op.result(*results)  # type: ignore[misc]


def attach_node(
    op: Op, name: str, edges: tuple, args: Sequence[Any], values: Sequence[np.ndarray], results: Any, depth: int
) -> None:
    """Make the node that goes with a result (or a list of results) and hang it on."""
    several = results.__class__ is list
    first = results[0] if several else results
    d = first._array.dtype
    lifted = thread_state.slow_path_reasons and (level.any_level_value(args) or level.any_level_value(values))
    node = op.node_type(name, "" if d is FLOAT32 or d is FLOAT64 else variety_of(d), bool(lifted))()
    wanted = sum([1 << i for i, e in enumerate(edges) if e is not None]) if not op.takes_tensor_list else -1
    shape, dtype = first._array.shape, d
    if several and not (len(results) == 1 and op.outputs):  # values beside indices are one output
        shape, dtype = [r._array.shape for r in results], [r._array.dtype for r in results]
        for i, r in enumerate(results):
            r._fn = Output(node, i)
    else:
        first._fn = node
    finish_node(node, edges, op.call_spec.saver(wanted)(args, values), shape, dtype, getframe(depth + 1))
    if thread_state.slow_path_reasons and thread_state.local.packing:
        slots.pack_saved(node)
