"""In-place variants of operations (``add_``) and ``out=``: writing a result into a tensor that exists."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import dtypes, thread_state
from ..base.dtypes import CPP_NAMES, FLOAT32, FLOAT64, OF_NUMPY, TYPE_NAMES, type_name
from ..base.errors import with_notes
from ..base.layout import is_dense
from . import versions, views
from .conj_views import address
from .geometry import regrown
from .override import NOT_OVERRIDDEN, dispatch
from .tensor import PLAIN_TENSOR_TYPES, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from .op import Op

DTYPES_DIFFER = "Expected out tensor to have dtype {}, but got {} instead"
LARGE = 1 << 14  # elements, from which on a copy costs more than to find out that none is needed


def inplace_call(op: Op) -> Callable:
    """``x.op_(...)``: the operation, whose result becomes x's value and history."""

    def call(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if thread_state.function_modes or thread_state.overridden:
            result = dispatch(call, (input, *args), kwargs)
            if result is not NOT_OVERRIDDEN:
                return result
        refuse_overlap(input, *args, partial=True)
        if op.impl.__class__ is np.ufunc and may_compute_into(input, args, kwargs.values()):
            return op.call(input, *args, **kwargs, out=input)
        return assign(input, op.name + "_", op.call(input, *args, **kwargs))

    call.__name__ = call.__qualname__ = op.name + "_"
    call.__doc__ = f"In-place version of :func:`{op.name}`: writes the result into this tensor and returns it."
    return call


def may_compute_into(x: Any, *operands: Iterable[Any]) -> bool:
    """Whether a function of x can compute right into x's memory: that is large, nothing is recorded, types and shape
    stay.

    Args:
        operands: what else the function is given.
    """
    a = x._array
    if a.__class__ is not np.ndarray or a.size < LARGE or thread_state.function_modes:
        return False
    for t in (x, *chain(*operands)):
        kind = t.__class__
        if kind in PLAIN_TENSOR_TYPES:
            if (
                thread_state.is_grad_enabled()
                and views.gradient_edge(t) is not None
                or t._array.dtype != a.dtype
                or t._array.__class__ is not np.ndarray
            ):
                return False
            if t._array.shape != a.shape and broadcast(t._array.shape, a.shape) != a.shape:
                return False
        elif kind is not float and kind is not int:
            return False
    return True


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape that these broadcast to; None if they do not."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def compute_into(out: Any, op: Op, values: Sequence[Any], d: np.dtype) -> bool:
    """Let NumPy compute a function of floats right into ``out``, if that is large and is to hold just the result;
    whether it did.

    Args:
        values: the operands, of type ``d``; nothing is recorded.
    """
    kind = out.__class__
    if (
        op.impl.__class__ is not np.ufunc
        or kind not in PLAIN_TENSOR_TYPES
        or thread_state.slow_path_reasons
        or d not in (FLOAT32, FLOAT64)
    ):
        return False
    a = out._array
    if (
        a.__class__ is not np.ndarray
        or a.size < LARGE
        or a.dtype != d
        or out._fn is not None
        and thread_state.is_grad_enabled()
    ):
        return False
    if thread_state.local.made is not None or broadcast(*[v.shape for v in values]) != a.shape:
        return False
    views.check_writable(out)
    versions.refuse_repeats(a)
    op.impl(*values, out=a)
    versions.bump_tensor_version(out)
    return True


def assign(x: Tensor, name: str, result: Tensor) -> Tensor:
    """Write an operation's result into ``x``, if autograd and the types allow it."""
    if result._fn is None and views.write_plainly(x, result._array):
        return x
    views.check_writable(x, source=result._fn)
    if result._array.shape != x._array.shape:
        raise with_notes(
            RuntimeError(
                f"output with shape {list(x._array.shape)} doesn't match the broadcast shape "
                f"{list(result._array.shape)}"
            ),
            f"{name} writes into the tensor that it is called on, whose shape can't change.",
        )
    source, target = OF_NUMPY[result._array.dtype], OF_NUMPY[x._array.dtype]
    if source is not target and not dtypes.can_cast(source, target):
        raise RuntimeError(
            f"result type {type_name(source)} can't be cast to the desired output type {type_name(target)}"
        )
    return views.write_result(x, result)


def same_dtype(*messages: str, names: dict[str, str] = TYPE_NAMES) -> Callable[[Any, Any, int], None]:
    """A ``check_out`` for operations that write only into tensors of exactly their result's type.

    Args:
        messages: PyTorch's, one for each result, the last for all that follow; {0}: the type of the result, {1}: that
            of ``out=``.
        names: how they call the types.
    """

    def check(result: Any, out: Any, place: int) -> None:
        if result is not out:
            message = messages[min(place, len(messages) - 1)]
            raise RuntimeError(message.format(names[result.name], names[out.name]))

    return check


same_dtypes = same_dtype(DTYPES_DIFFER, names=CPP_NAMES)
found_dtype = same_dtype("Found dtype {1} but expected {0}")


def castable(result: Any, out: Any, place: int = 0) -> None:
    """The ``check_out`` of operations that write into tensors of any type that theirs can be cast to."""
    if result is not out and not dtypes.can_cast(result, out):
        raise RuntimeError(f"result type {type_name(result)} can't be cast to the desired output type {type_name(out)}")


def write_out(out: Any, result: Any, name: str = "", check: Callable = same_dtypes) -> Any:
    """Put results into the tensors given as ``out=``, resizing those of another shape; all are checked before any is
    changed.

    Args:
        name: of the operation; by default it is the function that calls.
        check: ``check(dtype of the result, dtype of out, place among several)`` raises an error if it has to.
    """
    name = name or sys._getframe(1).f_code.co_name
    if not isinstance(result, tuple):
        check_out_tensor(out, result, name, check, 0)
        return fill_out(out, result)
    if not isinstance(out, (tuple, list)) or len(out) != len(result):
        raise TypeError(f"out= must be a tuple of {len(result)} tensors, one for each result")
    for i, (o, r) in enumerate(zip(out, result)):
        check_out_tensor(o, r, name, check, i)
    written = [fill_out(o, r) for o, r in zip(out, result)]
    return type(result)(*written) if hasattr(result, "_fields") else tuple(written)


def check_out_tensor(out: Any, result: Tensor, name: str, check: Callable, place: int) -> None:
    """Refuse a tensor that a result can't be put into."""
    check_target(out, name, result)
    check(OF_NUMPY[result._array.dtype], OF_NUMPY[out._array.dtype], place)
    if out._array.shape == result._array.shape and out._array.__class__ is np.ndarray:
        versions.refuse_repeats(out._array)


def check_target(out: Any, name: str, *sources: Tensor) -> None:
    """Refuse an ``out=`` that is no tensor or elsewhere than the sources, and differentiation of one of them."""
    if not isinstance(out, Tensor):
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}")
    if out._fn is not None and thread_state.is_grad_enabled() or any([r._fn is not None for r in sources]):
        raise with_notes(
            RuntimeError(
                f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                "arguments requires grad."
            ),
            "Leave out= away, or detach the arguments.",
        )
    if any([hasattr(t._array, "tangent") for t in (out, *sources)]):
        raise with_notes(
            NotImplementedError(
                f"Trying to use forward AD with {name}_out that does not support it because it is an out= function"
            ),
            "Leave out= away.",
        )
    for r in sources:
        if out.device != r.device:
            raise RuntimeError(
                f"Attempting to copy from device {r.device} to device {out.device}, but cross-device copies are not "
                "allowed!"
            )
    views.check_writable(out)


def fill_out(out: Tensor, result: Tensor) -> Tensor:
    """Write a result into a tensor that has passed :func:`check_out_tensor`."""
    shape = result._array.shape
    if out._array.shape != shape:
        if out._array.size:
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(out._array.shape)}, which "
                f"does not match the required output shape {list(shape)}. Give out= the result's shape, or empty it "
                "first: out.resize_(0).",
                stacklevel=4,
            )
        resize(out, shape, result._array.strides)
    return views.write_result(out, result)


def resize(x: Tensor, shape: tuple[int, ...], strides: Sequence[int]) -> None:
    """:func:`resize_in_order`, in that of the strides of a dense array of that shape."""
    resize_in_order(x, shape, sorted(range(len(shape)), key=lambda d: (-strides[d], d)))


def resize_in_order(x: Tensor, shape: tuple[int, ...], order: Sequence[int]) -> None:
    """Give ``x`` another shape from where it begins in its memory on; what lies past the memory's end is new.

    Args:
        order: the dimensions, from the outermost in memory to the innermost.
    """
    old, steps, step = x._array, [0] * len(shape), 1
    for d in reversed(order):
        steps[d], step = step, step * shape[d]
    if old.__class__ is not np.ndarray:
        x._array = old.reshaped(shape, [s * old.itemsize for s in steps])
        return
    owner = versions.owner_of(old)
    if not old.size and old is not owner:  # NumPy does not keep where an empty slice begins
        old = owner = np.empty(0, old.dtype)
    versions.set_array(x, regrown(old, shape, steps, (address(old) - address(owner)) // old.itemsize))


def refuse_overlap(out: Any, *given: Any, partial: bool = False) -> None:
    """Refuse an ``out=`` that shares memory with what is read.

    Args:
        partial: unless they are the very same elements, in the same order.

    Raises:
        RuntimeError: with the way out. What has gaps is not looked at.
    """
    if not isinstance(out, Tensor):
        return
    if partial:
        for x in given:
            if x is out:
                return
    for x in given:
        if isinstance(x, Tensor):
            refuse_shared(out._array, x._array, partial)


def _steps(a: np.ndarray) -> list[tuple[int, int]]:
    """Sizes and strides of the dimensions with more than one element."""
    return [(n, stride) for n, stride in zip(a.shape, a.strides) if n != 1]


def refuse_shared(a: Any, b: Any, partial: bool = False) -> None:
    """:func:`refuse_overlap` of an array to be written into and one that is read."""
    if a.__class__ is not np.ndarray:
        a = getattr(a, "memory", None)
    if b.__class__ is not np.ndarray:
        b = getattr(b, "memory", None)
    if (
        a.__class__ is b.__class__ is np.ndarray
        and (a.base is not None or b.base is not None or a is b)
        and np.may_share_memory(a, b)
        and is_dense(a)
        and is_dense(b)
    ):
        if partial and address(a) == address(b) and _steps(a) == _steps(b):
            return
        raise RuntimeError(
            "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
            "memory location. Please clone() the tensor before performing the operation."
        )


def write_picked(out: Any, result: Tensor, *given: Tensor) -> Any:
    """:func:`write_out` of a function that looks elements up: ``out`` has the type of the result, and is apart from
    what was given.
    """
    if isinstance(out, Tensor):
        if out.dtype is not result.dtype:
            raise RuntimeError(DTYPES_DIFFER.format(CPP_NAMES[result.dtype.name], CPP_NAMES[out.dtype.name]))
        refuse_overlap(out, *given)
    return write_out(out, result, sys._getframe(1).f_code.co_name)
