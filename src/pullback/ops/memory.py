"""``clone``, ``contiguous``, ``stride``, ``untyped_storage``, ``set_``, ``resize_``, ``*_copy``: memory and layout.

Strides are NumPy's, in elements. A memory format is an order of dimensions from the outermost in memory to the
innermost.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index as integer
from typing import Any

import numpy as np

from ..base import dtypes, thread_state
from ..base.device import contiguous_format, preserve_format
from ..base.dtypes import OF_NUMPY
from ..base.errors import with_notes
from ..base.layout import FORMATS, contiguous_copy, copy_order, format_order, suggested_format
from ..core import inplace, op, record, versions, views
from ..core.conj_views import address
from ..core.geometry import check_geometry, contiguous_strides, regrown
from ..core.graph import Node, clock
from ..core.level import is_level_value, unbatched
from ..core.tensor import Tensor
from .complex import view_as_complex, view_as_real
from .create import parse_size
from .slices import read_part, view_part
from .slicing_views import as_strided, diagonal, narrow_part, select, split, split_with_sizes, unbind, unfold
from .storage import StorageBase, TypedStorage, UntypedStorage, class_of
from .view import expand, permute, squeeze, t, transpose, unsqueeze, wrap_dim

__all__ = [
    "alias_copy",
    "as_strided_copy",
    "clone",
    "detach_copy",
    "diagonal_copy",
    "expand_copy",
    "is_same_size",
    "narrow_copy",
    "numel",
    "permute_copy",
    "resize_as_",
    "select_copy",
    "slice_copy",
    "split_copy",
    "split_with_sizes_copy",
    "squeeze_copy",
    "t_copy",
    "transpose_copy",
    "unbind_copy",
    "unfold_copy",
    "unsqueeze_copy",
    "view_as_complex_copy",
    "view_as_real_copy",
    "view_copy",
]


# --- copies -----------------------------------------------------------------------------------------------------


@op.general(holomorphic=False, linear="input")
def clone(input: Tensor, memory_format: Any = preserve_format) -> Tensor:
    """A copy, through which gradients flow back.

    Args:
        memory_format: of the copy; by default that of the input, if it is dense.

    >>> import pullback as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> x.clone()
    tensor([1., 2.], grad_fn=<CloneBackward0>)
    """
    if memory_format in FORMATS:
        order = format_order(memory_format, input.ndim)
        return contiguous_copy(input.transpose(order)).transpose(np.argsort(order))
    return contiguous_copy(input) if memory_format is contiguous_format or copy_order(input) == "C" else input.copy("K")


clone.vjp(input=lambda g: g)


@op.composite
def is_contiguous(input: Tensor, memory_format: Any = contiguous_format) -> bool:
    """Whether the elements are in C order (or ``memory_format``) without gaps."""
    if memory_format in FORMATS:
        unbatched(
            "NYI: querying is_contiguous inside of vmap for memory_format other than torch.contiguous_format", input
        )
    return _is_in_format(input, memory_format)


def _is_in_format(input: Tensor, memory_format: Any) -> bool:
    array = input._array
    if memory_format in FORMATS:
        order = FORMATS[memory_format]
        if array.ndim != len(order):
            return False
        array = permute(input, order)._array if is_level_value(array) else array.transpose(order)
    return array.flags.c_contiguous


@op.composite
def contiguous(input: Tensor, memory_format: Any = contiguous_format) -> Tensor:
    """This tensor if it is contiguous, else a contiguous copy.

    >>> import pullback as torch
    >>> torch.zeros(2, 3).t().contiguous().stride()
    (2, 1)
    """
    if memory_format in FORMATS:
        format_order(memory_format, input._array.ndim)
    elif input._array.flags.c_contiguous:
        return input
    return input if _is_in_format(input, memory_format) else clone(input, memory_format)


# --- storage, strides and sizes ---------------------------------------------------------------------------------


@op.composite
def untyped_storage(input: Tensor) -> UntypedStorage:
    """The memory of this tensor, which other tensors may share. Under ``vmap``: NotImplementedError."""
    unbatched("Cannot access storage of BatchedTensorImpl", input, error=NotImplementedError)
    return UntypedStorage(versions.memory_root(input._array))


def typed_storage(self: Tensor) -> TypedStorage:
    """The memory of this tensor, which other tensors may share, as elements of its type.

    >>> import pullback as torch
    >>> len(torch.zeros(5)[:2].storage())
    5
    """
    return TypedStorage(wrap_storage=untyped_storage(self), dtype=self.dtype)


op.add_method(typed_storage, "storage")
op.add_method(typed_storage, "_typed_storage")


def storage_type(self: Tensor) -> Any:
    """The class of storages with this tensor's type of elements.

    >>> import pullback as torch
    >>> torch.zeros(2).storage_type() is torch.FloatStorage
    True
    """
    return class_of(self.dtype)


op.add_method(storage_type, "storage_type")


def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Make this tensor a view of the memory of ``source`` (a tensor or its storage). Returns it.

    Args:
        source: None for an empty tensor.
        storage_offset, size, stride: where in the memory, counted in elements; by default those of ``source``.

    Raises:
        RuntimeError: for a leaf that requires grad, a source of another type, and a place before the memory's start.
            What lies past its end is new: the tensor gets a copy.

    >>> import pullback as torch
    >>> torch.zeros(1).set_(torch.arange(4.0), 1, (2,))
    tensor([1., 2.])
    """
    views.check_writable(self)
    d = self._array.dtype
    if source is None:
        array = np.empty(0, d)
    else:
        if isinstance(source, Tensor):
            array, begins = source._array, source.storage_offset()
            if array.dtype != d:
                raise RuntimeError(
                    f"Could not set tensor of type {dtypes.CPP_NAMES[OF_NUMPY[array.dtype].name]} to a tensor of type "
                    f"{dtypes.CPP_NAMES[OF_NUMPY[d].name]}"
                )
        elif isinstance(source, StorageBase):
            elements = source._as_type(OF_NUMPY[d])
            array, begins = source._owner, 0
            if array.base is not None:  # a part of a storage
                begins = (address(array) - address(versions.owner_of(array))) // d.itemsize
            size = elements.shape if size is None else size
        else:
            raise TypeError(
                f"set_() received an invalid combination of arguments - got ({type(source).__name__})\n"
                "  It takes the memory of a tensor or of a storage."
            )
        if size is not None:
            if is_level_value(array):
                raise with_notes(
                    RuntimeError(
                        "aten::set_ is not possible inside of a transform: its argument has no memory of its own"
                    ),
                    "Use as_strided, which makes a view.",
                )
            shape = tuple(map(integer, size))
            steps = contiguous_strides(shape) if stride is None else tuple(map(integer, stride))
            check_geometry(shape, steps, storage_offset)
            array = regrown(array, shape, steps, begins + storage_offset, d)
    versions.bump_tensor_version(self)
    versions.set_array(self, array)
    return self


op.add_method(set_, "set_")


@op.composite
def data_ptr(input: Tensor) -> int:
    """The address of the first element."""
    unbatched("Cannot access data pointer of Tensor that doesn't have storage", input)
    _refuse_to_trace()
    return address(input._array)


@op.composite
def storage_offset(input: Tensor) -> int:
    """The offset of the first element in the storage, counted in elements."""
    array = input._array
    _refuse_to_trace()
    return (address(array) - address(versions.memory_root(array))) // array.itemsize


def _refuse_to_trace() -> None:
    if thread_state.local.trace is not None:
        thread_state.local.trace.refuse("the place of a tensor in memory is asked for")


def _one_or_all(values: tuple[int, ...], dim: Any) -> Any:
    if dim is None:
        return values
    if not values:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return values[wrap_dim(dim, len(values))]


@op.composite
def stride(input: Tensor, dim: int | None = None) -> Any:
    """The distance in memory of neighbours along each dimension (or along ``dim``), counted in elements."""
    array = input._array
    shape, strides = array.shape, [s // array.itemsize for s in array.strides]
    if 0 in shape:
        strides = list(contiguous_strides([n or 1 for n in shape]))
    for d in reversed(range(len(shape))):
        if shape[d] == 1 and not strides[d]:  # a new dimension; PyTorch's stride is the extent of the inner ones
            strides[d] = shape[d + 1] * strides[d + 1] if d + 1 < len(shape) else 1
    return _one_or_all(tuple(strides), dim)


@op.composite
def size(input: Tensor, dim: int | None = None) -> Any:
    """The shape, or the size of one dimension.

    >>> import pullback as torch
    >>> torch.zeros(2, 3).size(-1)
    3
    """
    return _one_or_all(input.shape, dim)


@op.composite
def numel(input: Tensor) -> int:
    """The number of elements."""
    return input._array.size


@op.composite
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""
    return input._array.shape == other._array.shape


@op.composite
def is_set_to(input: Tensor, tensor: Tensor) -> bool:
    """Whether both are the same elements of the same memory, in the same order."""
    a, b = input._array, tensor._array
    return address(a) == address(b) and (a.shape, a.strides, a.dtype) == (b.shape, b.strides, b.dtype)


op.add_method(numel, "nelement")
op.add_method(lambda self: self._array.ndim, "dim", "The number of dimensions.")
op.add_method(lambda self: self._array.ndim, "ndimension", "The number of dimensions.")
op.add_method(lambda self: self._array.itemsize, "element_size", "How many bytes an element takes.")


# --- in place ---------------------------------------------------------------------------------------------------


def _inplace_view(name: str, fn: Callable, node: Any) -> None:
    """Offer the in-place view ``name`` (``t_``, ``squeeze_``, ...); ``node`` is PyTorch's node for it."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        views.check_writable(self)
        changed = fn(self, *args, **kwargs)
        self._array = changed._array
        versions.bump_tensor_version(self)  # memory does not change, but PyTorch bumps the version
        if self._is_view():
            self._view = (changed._view[0], clock(), self._view[2])
        if isinstance(changed._fn, Node):
            made = node if isinstance(node, str) else node(type(changed._fn).__name__)
            changed._fn.__class__ = changed._fn._op.node_type(made)
            self._fn = changed._fn
        return self

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"In-place version of :func:`{fn.__name__}`: the memory stays, the shape changes."
    op.add_method(method, name)


_inplace_view("squeeze_", squeeze, lambda name: f"SqueezeBackward{int(name[-1]) + 3}")
_inplace_view("unsqueeze_", unsqueeze, "UnsqueezeBackward1")
_inplace_view("t_", t, "TBackward1")
_inplace_view("transpose_", transpose, "TransposeBackward1")
_inplace_view("swapaxes_", transpose, "TransposeBackward1")
_inplace_view("swapdims_", transpose, "TransposeBackward1")
_inplace_view("as_strided_", as_strided, "AsStridedBackward1")


def _resize(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Another shape, in place: the first elements of the memory, and uninitialised ones after its end.

    Args:
        memory_format: the order of the dimensions in memory, also of a tensor that has the shape already.

    Raises:
        RuntimeError: if the tensor requires grad, and for a format of another number of dimensions.
    """
    if self.requires_grad and not thread_state.local.inference:
        raise RuntimeError("cannot resize variables that require grad")
    shape = parse_size(sizes, "resize_")
    if memory_format is preserve_format:
        raise RuntimeError("Unsupported memory formatPreserve\n  resize_as_ takes the format of another tensor.")
    order = format_order(memory_format, len(shape))
    if shape != self._array.shape or memory_format is not None:
        self.__dict__.setdefault("_counter", versions.version_counter(self._array)).count += 1
        inplace.resize_in_order(self, shape, order)
    return self


@op.composite
def resize_as_(input: Tensor, other: Tensor, *, memory_format: Any = None) -> Tensor:
    """``input.resize_(other.shape)``; with ``preserve_format`` in the order of ``other``'s dimensions in memory."""
    form = suggested_format(other._array) if memory_format is preserve_format else memory_format
    return _resize(input, other.shape, memory_format=form)


op.add_method(_resize, "resize_")


# --- views that copy --------------------------------------------------------------------------------------------


def _copy_variant(fn: Callable, name: str) -> Callable:
    kinds: dict[type[Node], type[Node]] = {}

    def copied(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None) if kwargs else None
        seen = fn(*args, **kwargs)
        copies = tuple(map(copy, seen)) if isinstance(seen, tuple) else copy(seen)
        if out is None:
            return copies
        written = inplace.write_out(out, copies)
        return None if isinstance(copies, tuple) else written

    def copy(x: Tensor) -> Tensor:
        fn = x._fn
        if (
            x._view is None or thread_state.slow_path_reasons or thread_state.no_grad_threads
        ):  # not recorded as an ordinary view
            result = clone(x, contiguous_format)
            if result._fn is not None:
                result._fn.__class__ = clone.op.node_type(f"{getattr(fn, 'node', fn).name()}_copy")
            return result
        result = record.bare(x._array.copy())
        if fn is not None:  # the view's own node, which is not shared
            made = fn if isinstance(fn, Node) else fn.node
            kind = kinds.get(made.__class__)
            if kind is None:
                kind = made._op.node_type(f"{made.name()}_copy")
                kinds[made.__class__] = kinds[kind] = kind
            made.__class__ = kind
            result._fn = fn
        return result

    copied.__name__ = copied.__qualname__ = name
    copied.__doc__ = f"A copy of what the view ``{name.removesuffix('_copy')}`` shows."
    return copied


def _slice(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    return view_part(
        input, (slice(None),) * wrap_dim(dim, input.ndim) + (slice(start, end, step), ...), "SliceBackward0"
    )


def narrow_copy(input: Tensor, dim: int, start: int, length: int, *, out: Any = None) -> Tensor:
    """A copy of the view that ``narrow`` returns."""
    if dim >= max(input.ndim, 1) or length < 0:  # narrow() itself has another message
        ndim, n = input.ndim, input.shape[dim] if dim < input.ndim else 0
        raise RuntimeError(
            f"Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  There are {ndim} "
            f"dimensions, and dim is {dim}."
            if dim >= ndim
            else f"start ({start}) + length ({length}) exceeds dimension size ({n})."
        )
    part = narrow_part(input._array.shape, dim, start, length)
    result = read_part.op.call_ordered(input, part, "NarrowCopyBackward0")
    return result if out is None else inplace.write_out(out, result)


def _order_in_memory(self: Tensor) -> tuple[int, ...]:
    """The dimensions, from the outermost in memory to the innermost."""
    strides = self._array.strides
    return tuple(sorted(range(len(strides)), key=lambda d: -strides[d]))


op.add_method(_order_in_memory, "dim_order")
alias_copy = _copy_variant(lambda input: view_part(input, (...,), "AliasBackward0"), "alias_copy")
as_strided_copy = _copy_variant(as_strided, "as_strided_copy")
detach_copy = _copy_variant(Tensor.detach, "detach_copy")
diagonal_copy = _copy_variant(diagonal, "diagonal_copy")
expand_copy = _copy_variant(expand, "expand_copy")
permute_copy = _copy_variant(permute, "permute_copy")
select_copy = _copy_variant(select, "select_copy")
slice_copy = _copy_variant(_slice, "slice_copy")
split_copy = _copy_variant(split, "split_copy")
split_with_sizes_copy = _copy_variant(split_with_sizes, "split_with_sizes_copy")
squeeze_copy = _copy_variant(squeeze, "squeeze_copy")
t_copy = _copy_variant(t, "t_copy")
transpose_copy = _copy_variant(transpose, "transpose_copy")
unbind_copy = _copy_variant(unbind, "unbind_copy")
unfold_copy = _copy_variant(unfold, "unfold_copy")
unsqueeze_copy = _copy_variant(unsqueeze, "unsqueeze_copy")
view_as_complex_copy = _copy_variant(view_as_complex, "view_as_complex_copy")
view_as_real_copy = _copy_variant(view_as_real, "view_as_real_copy")
view_copy = _copy_variant(lambda input, size: input.view(size), "view_copy")
op.add_method(narrow_copy, "narrow_copy")
