"""Factories: ``tensor``, ``as_tensor``, ``from_numpy``, ``zeros``, ``full``, ``empty``, ``*_like``, ``new_*``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import dtypes, thread_state
from ..base.device import CPU, channels_last, channels_last_3d, check_device, preserve_format, strided
from ..base.dtypes import FLOATING, as_dtype, cast_number
from ..base.errors import with_notes
from ..base.layout import channels_last_copy, from_memory_order
from ..base.shape import Size
from ..core import inplace
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
    "asarray",
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "frombuffer",
    "from_dlpack",
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
        return leaf_around(data if dtype is None else data.astype(as_dtype(dtype).numpy, copy=False), device=device)
    return new_leaf(to_array(data, dtype), device=device)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """``obj`` as a tensor; ``copy=True`` always copies, ``False`` never.

    >>> import pullback as torch
    >>> torch.asarray([1, 2])
    tensor([1, 2])
    """
    obj = getattr(obj, "_owner", obj)  # the bytes of a torch.UntypedStorage
    t = as_tensor(obj, dtype, device)
    source = obj._array if isinstance(obj, Tensor) else obj
    if copy is False and not (isinstance(source, np.ndarray) and np.shares_memory(source, t._array)):
        raise ValueError("can't alias an object that is not a tensor or an array of the same type (copy=False)")
    return new_leaf(t._array.copy(), requires_grad) if copy else t if not requires_grad else t.requires_grad_()


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
    return wrap(array)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A one-dimensional tensor on the memory of a buffer.

    >>> import pullback as torch
    >>> torch.frombuffer(bytearray(b"\\x01\\x02"), dtype=torch.uint8)
    tensor([1, 2], dtype=torch.uint8)
    """
    return leaf_around(np.frombuffer(buffer, as_dtype(dtype).numpy, count, offset), requires_grad)


def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor on the memory of any object that speaks DLPack.

    >>> import pullback as torch, numpy as np
    >>> torch.from_dlpack(np.ones(2))
    tensor([1., 1.], dtype=torch.float64)
    """
    return wrap(np.from_dlpack(ext_tensor))


def as_number(x: Any) -> Any:
    """A Python number, a NumPy scalar or a one-element tensor as a Python number."""
    return x.item() if isinstance(x, (Tensor, np.generic, np.ndarray)) else x


def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A 0-d tensor, by default of the default float type."""
    check_device(device)
    d = (dtypes.get_default_dtype() if dtype is None else as_dtype(dtype)).numpy
    return new_leaf(np.array(cast_number(as_number(s), d), d), requires_grad, device=device)


# --- from a value -----------------------------------------------------------------------------------------------


def parse_size(size: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape given as numbers or as one sequence of them.

    Raises:
        RuntimeError: for negative dimensions.
    """
    if len(size) == 1 and not isinstance(size[0], (int, np.integer, Tensor)):
        size = tuple(size[0])
    shape = tuple([n if n.__class__ is int else n.__index__() for n in size])
    for n in shape:
        if n < 0:
            raise with_notes(
                RuntimeError("zeros: Dimension size must be non-negative."), f"the shape asked for is {list(shape)}"
            )
    return shape


def _make_filled(make: Any, doc: str, name: str) -> Any:
    def create(
        *args: Any,
        size: Any = None,
        out: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        memory_format: Any = None,
        names: Any = None,
    ) -> Tensor:
        if device is not None:
            check_device(device)
        d = dtypes.get_default_dtype().numpy if dtype is None else as_dtype(dtype).numpy
        shape = parse_size(args if size is None else (size,))
        hollow = (device is not None or thread_state.slow_path_reasons) and on_meta(device)
        made = (Meta if hollow else make)(shape, d)
        if memory_format in (channels_last, channels_last_3d):
            n, c, *spatial = shape
            made = (
                Meta.of(np.moveaxis(Meta((n, *spatial, c), d).hollow(), -1, 1)) if hollow else channels_last_copy(made)
            )
        t = new_leaf(made, requires_grad, layout, device)
        return t if out is None else inplace.write_out(out, t)

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


zeros = _make_filled(np.zeros, "filled with 0", "zeros")
ones = _make_filled(np.ones, "filled with 1", "ones")
empty = _make_filled(np.zeros, "uninitialised (0 here, so that programs are reproducible)", "empty")


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
    names: Any = None,
) -> Tensor:
    """A tensor of the given shape, filled with one value, by default of that value's type.

    >>> import pullback as torch
    >>> torch.full((2,), 7)
    tensor([7, 7])
    """
    check_device(device)
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    d = dtypes.of_python(type(fill_value)) if dtype is None else as_dtype(dtype)
    made = _full(parse_size((size,)), cast_number(fill_value, d.numpy), d.numpy, device)
    t = new_leaf(made, requires_grad, device=device)
    return t if out is None else inplace.write_out(out, t)


def _full(shape: tuple[int, ...], value: Any, dtype: np.dtype, device: Any) -> Any:
    return Meta(shape, dtype) if on_meta(device) else np.full(shape, value, dtype)


def _ones(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """``np.ones`` in half the time."""
    a = np.empty(shape, dtype)
    a.fill(1)
    return a


def _make_like(name: str, make: Any, what: str) -> Any:
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
        a = input._array
        if device is not None:
            check_device(device)
        else:
            device = CPU if a.__class__ is np.ndarray else a.device
        made = (make if device is CPU or not on_meta(device) else Meta)(
            a.shape, a.dtype if dtype is None else as_dtype(dtype).numpy
        )
        if a.__class__ is np.ndarray and made.__class__ is np.ndarray and memory_format in (None, preserve_format):
            made = from_memory_order(a, made)
        t = new_leaf(made, requires_grad, layout or input.layout, device)
        return t if a.__class__ is np.ndarray else per_example_copy(input, t)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"""A tensor of ``input``'s shape and type, {what}.

    >>> import pullback as torch
    >>> torch.{name}(torch.tensor([1.0, 2.0])).shape
    torch.Size([2])
    """
    return create


zeros_like = _make_like("zeros_like", np.zeros, "filled with 0")
ones_like = _make_like("ones_like", _ones, "filled with 1")
empty_like = _make_like("empty_like", np.zeros, "uninitialised")


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
    a = input._array
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    d = a.dtype if dtype is None else as_dtype(dtype).numpy
    device = input.device if device is None else device
    made = _full(a.shape, cast_number(value, d), d, device)
    if a.__class__ is made.__class__ is np.ndarray and memory_format in (None, preserve_format):
        made = from_memory_order(a, made)
    t = new_leaf(made, requires_grad, device=device)
    return t if a.__class__ is np.ndarray else per_example_copy(input, t)


def _make_new(fill: Any) -> Any:
    def method(
        self: Tensor, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **kwargs: Any
    ) -> Tensor:
        check_device(device)
        size = (kwargs["size"],) if "size" in kwargs else size
        device = self.device if device is None else device
        make = Meta if on_meta(device) else fill
        t = new_leaf(
            make(parse_size(size), self._array.dtype if dtype is None else as_dtype(dtype).numpy),
            requires_grad,
            device=device,
        )
        return t if self._array.__class__ is np.ndarray else per_example_copy(self, t)

    method.__doc__ = "A new tensor of the given shape, by default of this tensor's type."
    return method


def _new_full(
    self: Tensor,
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **kwargs: Any,
) -> Tensor:
    """A new tensor of the given shape, filled with one value, of this tensor's type."""
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
    add_method(_make_new(_make), _name)


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
    device: Any = None,
    requires_grad: bool = False,
    **kwargs: Any,
) -> Tensor:
    """An uninitialised tensor of the given shape and strides (in elements)."""
    check_device(device)
    d = (dtypes.get_default_dtype() if dtype is None else as_dtype(dtype)).numpy
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
