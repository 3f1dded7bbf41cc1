"""Factories: ``tensor``, ``as_tensor``, ``from_numpy``, ``zeros``, ``full``, ``empty``, ``*_like``, ``new_*``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import dtypes, thread_state
from ..base.device import CPU, check_device, preserve_format, sparse_coo, strided
from ..base.device import device as Device
from ..base.dtypes import FLOATING, as_dtype, cast_number, fill_number, stored_number, type_name
from ..base.errors import not_a_tensor, with_notes
from ..base.layout import fill, format_order, from_memory_order
from ..base.shape import Size
from ..core import inplace, views
from ..core.geometry import check_geometry, contiguous_strides
from ..core.graph import LEAF
from ..core.level import note_made, per_example_copy
from ..core.op import add_method
from ..core.record import wrap
from ..core.tensor import Tensor
from .from_data import to_array
from .storage import StorageBase
from .values.meta import Meta, on_meta

__all__ = [
    "as_tensor",
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "from_numpy",
    "full",
    "full_like",
    "get_device",
    "is_floating_point",
    "is_inference",
    "is_nonzero",
    "is_storage",
    "is_tensor",
    "ones",
    "ones_like",
    "scalar_tensor",
    "tensor",
    "zeros",
    "zeros_like",
]


def new_leaf(array: Any, requires_grad: bool = False, layout: Any = strided, device: Any = None) -> Tensor:
    """A leaf around an array that was just made; see :func:`leaf_around`."""
    if thread_state.slow_path_reasons and thread_state.local.batches:
        note_made(array)
    return leaf_around(array, requires_grad, layout, device)


def leaf_around(array: Any, requires_grad: bool = False, layout: Any = strided, device: Any = None) -> Tensor:
    """A new leaf around an array; without its values where the device (or the default one) is ``meta``."""
    t = wrap(
        Meta.of(array)
        if device is not CPU and (device is not None or thread_state.slow_path_reasons) and on_meta(device)
        else array
    )
    if layout is not strided and layout is not None:
        t = t.to_sparse(layout=layout)
    if requires_grad:
        if dtypes.OF_NUMPY[array.dtype].category < FLOATING:
            raise with_notes(
                RuntimeError("Only Tensors of floating point and complex dtype can require gradients"),
                f"this one is {t.dtype}",
                page="integer-grad",
            )
        t._fn = LEAF
    return t


# --- from data --------------------------------------------------------------------------------------------------


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A new leaf tensor holding a copy of ``data``.

    Args:
        data: a number, nested lists of numbers (or of tensors), an array, a tensor.
        dtype: default: what the data have; for Python floats the default float type.
        requires_grad: whether operations on it are recorded.

    Raises:
        ValueError: for ragged lists.
        RuntimeError: if ``requires_grad`` is asked of integers.

    >>> import pullback as torch
    >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    tensor([[1., 2.],
            [3., 4.]], requires_grad=True)
    """
    if device is not None:
        check_device(device)
    if isinstance(data, Tensor):
        import warnings

        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
    return new_leaf(to_array(data, dtype), requires_grad, device=device)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """``data`` as a tensor, without a copy where none is needed: the same tensor, or an array's own memory.

    >>> import pullback as torch
    >>> torch.as_tensor([1, 2])
    tensor([1, 2])
    """
    check_device(device)
    if isinstance(data, Tensor):
        return data if dtype is None and device is None else data.to(device, dtype)
    if isinstance(data, np.ndarray) and data.dtype in dtypes.OF_NUMPY:
        data = from_numpy(data)._array
        return leaf_around(data if dtype is None else data.astype(as_dtype(dtype).numpy, copy=False), device=device)
    return new_leaf(to_array(data, dtype), device=device)


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor on the array's own memory: writes are seen on both sides.

    Raises:
        TypeError: for what is not an array, or holds no numbers.

    >>> import pullback as torch, numpy as np
    >>> torch.from_numpy(np.arange(3))
    tensor([0, 1, 2])
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    dtypes.of_numpy(array.dtype)
    if any(s < 0 for s in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array with array.copy().)"
        )
    return wrap(array if array.__class__ is np.ndarray else array.view(np.ndarray))  # a matrix turns into no other


def as_number(x: Any) -> Any:
    """A Python number, a NumPy scalar or a one-element tensor as a Python number."""
    return x.item() if isinstance(x, (Tensor, np.generic, np.ndarray)) else x


def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A 0-d tensor, by default of the default float type."""
    check_device(device)
    d = (dtypes.get_default_dtype() if dtype is None else as_dtype(dtype)).numpy
    return new_leaf(np.array(stored_number(as_number(s), d), d), requires_grad, device=device)


# --- from a value -----------------------------------------------------------------------------------------------


def parse_size(size: tuple[Any, ...], name: str = "zeros") -> tuple[int, ...]:
    """A shape given as numbers or as one sequence of them.

    Args:
        name: of the function, for its messages.

    Raises:
        RuntimeError: for negative dimensions.
        TypeError: for what is no shape.
    """
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    try:
        shape = tuple([n if n.__class__ is int else n.__index__() for n in size])
    except (AttributeError, TypeError):
        raise _not_a_size(size, name) from None
    for n in shape:
        if n < 0:
            raise with_notes(
                RuntimeError(
                    "zeros: Dimension size must be non-negative."
                    if name == "zeros"
                    else f"Trying to create tensor with negative dimension {n}: {list(shape)}"
                ),
                f"the shape asked for is {list(shape)}",
            )
    return shape


def _not_a_size(size: tuple[Any, ...], name: str) -> TypeError:
    for place, n in enumerate(size, 1):
        if not hasattr(n, "__index__") or isinstance(n, Tensor):
            kind = type(n).__name__
            if len(size) == 1:
                return TypeError(f"{name}(): argument 'size' (position 1) must be tuple of ints, not {kind}")
            return TypeError(
                f"{name}(): argument 'size' failed to unpack the object at pos {place} with error "
                f'"type must be tuple of ints,but got {kind}"'
            )
    return TypeError(f"{name}(): argument 'size' must be tuple of ints")


def fill_given(out: Any, shape: tuple[int, ...], fill: Any, name: str, requires_grad: bool = False) -> Tensor:
    """Let ``fill(out)`` fill a tensor given as ``out=`` to a function that makes one, resized without a warning."""
    inplace.check_target(out, name)
    if out._array.shape != shape:
        inplace.resize(out, shape, contiguous_strides(shape))
    fill(out)
    return out.requires_grad_() if requires_grad else out


LACKED = "Could not run 'aten::{}' with arguments from the 'SparseCPU' backend."
NOT_FULL = "{}(...) is not implemented for sparse layout"


def strided_only(layout: Any, function: str, message: str = LACKED) -> None:
    """Refuse a sparse layout for what fills every element, by a ``function`` that does not know it."""
    if layout is not None and layout is not strided:
        raise with_notes(
            NotImplementedError(message.format(function)),
            "Make a strided tensor, and convert it: x.to_sparse(). Only zeros and empty make sparse ones.",
        )


def kind_given(out: Any, dtype: Any, device: Any, layout: Any = None) -> tuple[Any, Any]:
    """The type and device for a function that makes a tensor: those of ``out=``, which others must not contradict."""
    if out is None or not isinstance(out, Tensor):
        return dtype, device
    if layout is not None and layout is not out.layout:
        raise RuntimeError(f"layout {layout.cpp_name} does not match layout of out parameter ({out.layout.cpp_name})")
    if dtype is not None and as_dtype(dtype) is not out.dtype:
        given, found = type_name(as_dtype(dtype)), type_name(out.dtype)
        raise RuntimeError(f"dtype {given} does not match dtype of out parameter ({found})")
    if device is not None and Device(device).type != out.device.type:
        raise RuntimeError(
            f"device type {Device(device).type} does not match device type of out parameter ({out.device.type})"
        )
    return out.dtype, out.device


def write_made(out: Any, made: Tensor, name: str) -> Tensor:
    """What was just made, put into ``out=``; a line of numbers takes the shape that ``out`` has if it has as many."""
    shape, values = made._array.shape, made.detach()
    if isinstance(out, Tensor) and len(shape) == 1 and out._array.size == shape[0]:
        shape = out._array.shape
        values = values.reshape(shape)
    return fill_given(out, shape, lambda o: views.write_result(o, values), name, made.requires_grad)


def _in_format(made: Any, memory_format: Any, like: Any = None) -> Any:
    """What was just made, with its dimensions in the order of a memory format (by default that of ``like``)."""
    if memory_format is None or memory_format is preserve_format:
        return from_memory_order(like, made) if like.__class__ is made.__class__ is np.ndarray else made
    order = format_order(memory_format, made.ndim)
    shape, back = [made.shape[d] for d in order], np.argsort(order)
    if isinstance(made, Meta):
        return Meta.of(Meta(shape, made.dtype).hollow().transpose(back))
    laid = np.empty(shape, made.dtype).transpose(back)
    laid[...] = made
    return laid


def _make_filled(make: Any, fill: Any, doc: str, name: str, *more: str) -> Any:
    def create(
        *args: Any,
        size: Any = None,
        out: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        **options: Any,
    ) -> Tensor:
        for option in options:
            if option not in more:
                raise TypeError(f"{name}() got an unexpected keyword argument '{option}'")
        memory_format = options.get("memory_format")
        if device is not None:
            check_device(device)
        shape = parse_size(args if size is None else (size,), name)
        if out is not None:
            kind_given(out, dtype, device, layout)
            if memory_format is not None:
                raise RuntimeError("'memory_format' argument is incompatible with 'out' tensor argument")
            return fill_given(out, shape, fill, name, requires_grad)
        if memory_format is preserve_format:
            raise RuntimeError("unsupported memory format Preserve")
        if make is np.ones:
            strided_only(layout, "full", NOT_FULL)
        d = dtypes.get_default_dtype().numpy if dtype is None else as_dtype(dtype).numpy
        hollow = (device is not None or thread_state.slow_path_reasons) and on_meta(device)
        return new_leaf(_in_format((Meta if hollow else make)(shape, d), memory_format), requires_grad, layout, device)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"""A tensor of the given shape, {doc}.

    Args:
        size: numbers, or one sequence of them.
        dtype: default: the default float type.

    >>> import pullback as torch
    >>> torch.{name}(2, 3).shape
    torch.Size([2, 3])
    """
    return create


zeros = _make_filled(np.zeros, lambda out: out.fill_(0), "filled with 0", "zeros")
ones = _make_filled(np.ones, lambda out: out.fill_(1), "filled with 1", "ones")
empty = _make_filled(
    np.zeros, lambda out: None, "uninitialised (0 here, so that programs are reproducible)", "empty", "memory_format"
)


def full(
    size: Any,
    fill_value: Any,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of the given shape, filled with one value, by default of that value's type.

    >>> import pullback as torch
    >>> torch.full((2,), 7)
    tensor([7, 7])
    """
    check_device(device)
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    shape = parse_size((size,), "full")
    if out is not None:
        kind_given(out, dtype, device, layout)
        return fill_given(out, shape, lambda o: o.fill_(fill_value), "full", requires_grad)
    strided_only(layout, "full", NOT_FULL)
    if dtype is None and isinstance(fill_value, complex):  # not complex32, whatever the default type
        dtype = dtypes.promote_types(dtypes.complex64, dtypes.get_default_dtype())
    d = dtypes.of_python(type(fill_value)) if dtype is None else as_dtype(dtype)
    made = _full(shape, fill_number(fill_value, shape, d.numpy), d.numpy, device)
    return new_leaf(made, requires_grad, device=device)


def _full(shape: tuple[int, ...], value: Any, dtype: np.dtype, device: Any) -> Any:
    return Meta(shape, dtype) if on_meta(device) else fill(np.empty(shape, dtype), value)


def _ones(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """``np.ones`` in half the time."""
    a = np.empty(shape, dtype)
    if dtype.kind == "V":
        return fill(a, 1)
    a.fill(1)
    return a


def like_sparse(x: Tensor, layout: Any, memory_format: Any, dtype: Any, make: Any) -> Any:
    """The value of a ``*_like`` of a sparse tensor; None if it is to be strided.

    Args:
        make: what makes another value of this one, and of a type.
    """
    held, layout = x._array, layout or x.layout
    if memory_format not in (None, preserve_format):
        raise RuntimeError("memory format option is only supported by strided tensors")
    if layout is strided and x.layout is sparse_coo:
        return None
    made = make(held, held.dtype if dtype is None else as_dtype(dtype).numpy)
    if layout is x.layout:
        return made
    if layout is strided or made.count:
        raise RuntimeError(
            f"empty_like with different sparse layout is not supported (self is {x.layout.cpp_name} but you requested "
            f"{layout.cpp_name})"
        )
    return wrap(made).to_sparse(layout=layout)._array


def _make_like(name: str, make: Any, what: str, of_sparse: Any) -> Any:
    def create(
        input: Any,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        memory_format: Any = None,
    ) -> Any:
        if input.__class__ is np.ndarray:  # in a rule that computes with arrays
            return make(input.shape, input.dtype)
        if not isinstance(input, Tensor):
            raise not_a_tensor(name, "input", 0, input)
        a = input._array
        if device is not None:
            check_device(device)
        else:
            device = CPU if a.__class__ is np.ndarray else a.device
        if a.__class__ is not np.ndarray and a.is_sparse:
            made = like_sparse(input, layout, memory_format, dtype, of_sparse)
            if made is not None:
                return new_leaf(made, requires_grad)
        elif layout is not None and make is _ones:
            strided_only(layout, "empty_strided")
        made = (make if device is CPU or not on_meta(device) else Meta)(
            a.shape, a.dtype if dtype is None else as_dtype(dtype).numpy
        )
        t = new_leaf(_in_format(made, memory_format, a), requires_grad, layout, device)
        return t if a.__class__ is np.ndarray else per_example_copy(input, t)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"""A tensor of ``input``'s shape and type, {what}.

    >>> import pullback as torch
    >>> torch.{name}(torch.tensor([1.0, 2.0])).shape
    torch.Size([2])
    """
    return create


zeros_like = _make_like("zeros_like", np.zeros, "filled with 0", lambda held, d: held.emptied(d))
ones_like = _make_like("ones_like", _ones, "filled with 1", lambda held, d: held.filled(1, d))
empty_like = _make_like("empty_like", np.zeros, "uninitialised", lambda held, d: held.unset(d))


def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of ``input``'s shape and type, filled with one value.

    >>> import pullback as torch
    >>> torch.full_like(torch.zeros(2), 7)
    tensor([7., 7.])
    """
    check_device(device)
    if not isinstance(input, Tensor):
        raise not_a_tensor("full_like", "input", 0, input)
    a = input._array
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    d = a.dtype if dtype is None else as_dtype(dtype).numpy
    if a.__class__ is not np.ndarray and a.is_sparse:
        made = like_sparse(input, layout, memory_format, dtype, lambda held, d: held.filled(cast_number(value, d), d))
        if made is not None:
            return new_leaf(made, requires_grad)
    else:
        strided_only(layout, "empty_strided")
    device = input.device if device is None else device
    made = _full(a.shape, fill_number(value, a.shape, d), d, device)
    t = new_leaf(_in_format(made, memory_format, a), requires_grad, device=device)
    return t if a.__class__ is np.ndarray else per_example_copy(input, t)


def _make_new(fill: Any, name: str) -> Any:
    def method(
        self: Tensor,
        *args: Any,
        size: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
    ) -> Tensor:
        check_device(device)
        layout = layout or self.layout
        if fill is np.ones:
            strided_only(layout, "fill_.Scalar")
        device = self.device if device is None else device
        make = Meta if on_meta(device) else fill
        t = new_leaf(
            make(
                parse_size(args if size is None else (size,)),
                self._array.dtype if dtype is None else as_dtype(dtype).numpy,
            ),
            requires_grad,
            layout,
            device,
        )
        return t if self._array.__class__ is np.ndarray else per_example_copy(self, t)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = "A new tensor of the given shape, by default of this tensor's type."
    return method


def _new_full(
    self: Tensor,
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor of the given shape, filled with one value, of this tensor's type."""
    strided_only(layout or self.layout, "fill_.Scalar")
    t = full(
        size,
        fill_value,
        dtype=self.dtype if dtype is None else dtype,
        device=self.device if device is None else device,
        requires_grad=requires_grad,
    )
    return t if self._array.__class__ is np.ndarray else per_example_copy(self, t)


def _new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A new tensor with these data, of this tensor's type."""
    check_device(device)
    return new_leaf(
        to_array(data, self.dtype if dtype is None else dtype),
        requires_grad,
        device=self.device if device is None else device,
    )


for _name, _make in {"new_zeros": np.zeros, "new_ones": np.ones, "new_empty": np.zeros}.items():
    add_method(_make_new(_make, _name), _name)


def _legacy_new(self: Tensor, *args: Any, size: Any = None, device: Any = None) -> Tensor:
    """A new tensor of this one's type: of a size given as numbers or as ``torch.Size``, else with data (a tensor shares
    its memory).
    """
    if size is not None:
        args = (Size(size),)
    if len(args) != 1 or isinstance(args[0], (int, np.integer)):
        return self.new_empty(args or (0,), device=device)
    (data,) = args
    if isinstance(data, Size):
        return self.new_empty(data, device=device)
    if isinstance(data, Tensor):
        if data.dtype is not self.dtype:
            raise TypeError(f"expected {self.dtype} (got {data.dtype})\n  x.to({self.dtype}) converts.")
        return data.detach()
    if not hasattr(data, "__len__"):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    return _new_tensor(self, data, device=device)


add_method(_new_full, "new_full")
add_method(_new_tensor, "new_tensor")
add_method(_legacy_new, "new")


def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """An uninitialised tensor of the given shape and strides (in elements)."""
    check_device(device)
    strided_only(layout, "empty_strided")
    d = (dtypes.get_default_dtype() if dtype is None else as_dtype(dtype)).numpy
    size = parse_size((size,), "empty_strided")
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})"
        )
    check_geometry(size, stride)
    extent = 1 + sum((n - 1) * s for n, s in zip(size, stride)) if all(size) else 0
    steps = tuple([s * d.itemsize for s in stride])
    hollow = (device is not None or thread_state.slow_path_reasons) and on_meta(device)
    return new_leaf(
        Meta(size, d, steps) if hollow else np.ndarray(tuple(size), d, np.zeros(extent, d), 0, steps),
        requires_grad,
        device=device,
    )


def _new_empty_strided(
    self: Tensor, size: Sequence[int], stride: Sequence[int], dtype: Any = None, **kwargs: Any
) -> Tensor:
    """:func:`empty_strided`, by default of this tensor's type and device."""
    kwargs.setdefault("device", self.device)
    t = empty_strided(size, stride, dtype=self.dtype if dtype is None else dtype, **kwargs)
    return t if self._array.__class__ is np.ndarray else per_example_copy(self, t)


add_method(_new_empty_strided, "new_empty_strided")


def empty_permuted(size: Sequence[int], physical_layout: Sequence[int], **kwargs: Any) -> Tensor:
    """An uninitialised tensor of the given shape, dense in memory, with the dimensions in another order there.

    Args:
        physical_layout: the dimensions, from the outermost in memory to the innermost.
        kwargs: as for :func:`empty_strided`.

    >>> import pullback as torch
    >>> torch.empty_permuted((2, 3, 5), (0, 2, 1)).stride()
    (15, 1, 3)
    """
    n, k = len(size), len(physical_layout)
    if n != k:
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {n} is not equal to len(physical_layout) = {k}"
        )
    stride, step = [-1] * n, 1
    for i in reversed(range(n)):
        d = physical_layout[i]
        if not 0 <= d < n:
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {n - 1}, but got {d} at index {i}).  NB: "
                "negative dims not currently supported; file an issue if you want it."
            )
        if stride[d] >= 0:
            raise RuntimeError("Duplicate dim not allowed")
        stride[d], step = step, step * size[d]
    return empty_strided(size, stride, **kwargs)


# --- asking -----------------------------------------------------------------------------------------------------


def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj: Any) -> bool:
    """Whether this is a storage, typed or not.

    >>> import pullback as torch
    >>> torch.is_storage(torch.ones(2).untyped_storage())
    True
    """
    return isinstance(obj, StorageBase)


def is_inference(input: Tensor) -> bool:
    """Whether a tensor was made in inference mode.

    >>> import pullback as torch
    >>> with torch.inference_mode(): x = torch.ones(2)
    >>> torch.is_inference(x)
    True
    """
    return input.is_inference()


def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are of a floating type."""
    return input.dtype.is_floating_point


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not 0."""
    return bool(input)


def _assert_async(input: Tensor, message: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """Raise RuntimeError if the one element is 0; there is no other device on which that could happen later."""
    if not input:
        raise RuntimeError(message)


def get_device(input: Tensor) -> int:
    """The number of the tensor's device: -1, the CPU."""
    return -1


for _fn in (is_floating_point, is_nonzero, get_device):
    add_method(_fn, _fn.__name__)
