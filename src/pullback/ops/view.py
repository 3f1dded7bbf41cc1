"""Views: ``view``, ``reshape``, ``flatten``, ``squeeze``, ``transpose``, ``permute``, ``movedim``, ``expand``.

A view shares memory with its base: a write into either is visible in both, and autograd follows
(:mod:`pullback.core.versions`). Only :func:`reshape` and the functions built on it copy, where no strides describe the
result. A negative dimension counts from the last. Views of some elements are in :mod:`pullback.ops.slicing_views` and
:mod:`pullback.ops.index`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from operator import index as integer
from typing import Any

import numpy as np

from .. import ops
from ..base import errors
from ..base.dtypes import OF_NUMPY, type_name
from ..base.errors import with_notes
from ..base.shape import Size
from ..core import op
from ..core.geometry import reshapes_in_place
from ..core.level import is_level_value
from ..core.override import overridable
from ..core.tensor import Tensor
from ..core.versions import owner_of

__all__ = [
    "adjoint",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_shapes",
    "broadcast_tensors",
    "broadcast_to",
    "flatten",
    "moveaxis",
    "movedim",
    "permute",
    "ravel",
    "reshape",
    "squeeze",
    "swapaxes",
    "swapdims",
    "t",
    "transpose",
    "unflatten",
    "unsqueeze",
]

ndarray = np.ndarray


def wrap_dim(dim: int, ndim: int) -> int:
    """A dimension as a non-negative number.

    Raises:
        IndexError: if there is no such dimension (a 0-d tensor counts as having one).
    """
    n, dim = ndim or 1, integer(dim)
    if -n <= dim < n:
        return dim if dim >= 0 else dim + n
    raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")


def _as_dim(dim: Any, name: str, param: str, position: int) -> int:
    """A dimension given to a function as an integer."""
    try:
        return integer(dim)
    except TypeError:
        kind = type(dim).__name__
        raise TypeError(f"{name}(): argument '{param}' (position {position}) must be int, not {kind}") from None


def varargs(fn: Any, name: str, keyword: str) -> None:
    """Offer ``fn(input, sizes)`` as a method that also takes the sizes as separate arguments."""

    def method(self: Tensor, *sizes: Any, **named: Any) -> Any:
        if named and sizes:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(named))}'")
        if sizes and sizes[0].__class__ is int:
            return fn(self, sizes)
        if len(sizes) == 1 and not hasattr(sizes[0], "__index__"):
            return fn(self, sizes[0])
        if not sizes:
            if list(named) != [keyword]:
                raise TypeError(f'{name}() missing 1 required positional arguments: "{keyword}"')
            return fn(self, named[keyword])
        return fn(self, sizes)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = fn.__doc__
    op.add_method(method, name)


# --- other shapes -----------------------------------------------------------------------------------------------


def reshape_array(array: np.ndarray, shape: Any) -> np.ndarray:
    """NumPy's reshape with PyTorch's errors."""
    try:
        out = array.reshape(shape)
        if out.shape == shape or min(shape, default=0) >= -1:
            return out
    except (ValueError, TypeError):
        pass
    shape = [integer(n) for n in shape]
    for i, n in enumerate(shape):
        if n < -1:
            raise RuntimeError(f"invalid shape dimension {n} at index {i} of shape {shape}")
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if not array.size and 0 in shape and -1 in shape:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {shape} because the unspecified dimension "
            "size -1 can be any value and is ambiguous"
        )
    raise RuntimeError(f"shape '{shape}' is invalid for input of size {array.size}")


@op.view(name="view", method=False)
def view_shape(input: Tensor, shape: Sequence[int]) -> Tensor:
    """The same elements in another shape, never copied."""
    out = reshape_array(input, shape)
    if not input.flags.c_contiguous and owner_of(out) is not owner_of(input):
        raise no_view(input, shape)
    return out


def no_view(array: Any, shape: Sequence[int]) -> RuntimeError:
    """The error of ``view`` for elements that lie so that only a copy could have the shape."""
    return with_notes(
        RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        ),
        f"input has size {list(array.shape)} and stride {[s // array.itemsize for s in array.strides]}, "
        f"the view would have size {[integer(n) for n in shape]}",
    )


@op.view(name="reshape_alias", method=False)
def _reshape_alias(input: Tensor, shape: Sequence[int]) -> Tensor:
    return input.reshape(shape)


@op.general(name="unsafe_view", method=False, holomorphic=False, linear="input")
def _unsafe_view(input: Tensor, shape: Sequence[int]) -> Tensor:
    """Another shape of a temporary that no one else references, so that the result need not be a view."""
    return reshape_array(input, shape)


view_shape.vjp(input=lambda g, input_shape: reshape(g, input_shape))
_reshape_alias.vjp(input=lambda g, input_shape: reshape(g, input_shape))
_unsafe_view.vjp(input=lambda g, input_shape: reshape(g, input_shape))


def reshape(input: Tensor, shape: Sequence[int]) -> Tensor:
    """The same elements in another shape: a view where strides allow it (always, if the input is contiguous), else a
    copy.

    Args:
        shape: the sizes; one of them may be -1, to be inferred.

    Raises:
        RuntimeError: if the number of elements differs.

    >>> import pullback as torch
    >>> torch.reshape(torch.tensor([1, 2, 3, 4]), (2, -1))
    tensor([[1, 2],
            [3, 4]])
    """
    if not isinstance(input, Tensor):
        if isinstance(input, (ndarray, np.generic)):
            return input.reshape(shape)
        raise TypeError(f"reshape(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    array = input._array
    if array.flags.c_contiguous:
        return view_shape.op.call_ordered(input, shape)
    if is_level_value(array):
        if not reshapes_in_place(array.shape, array.strides, shape):
            return _unsafe_view(input.contiguous() if array.parts else input, shape)
        return _reshape_alias(input, shape)
    try:
        np.reshape(array, shape, copy=False)
    except (ValueError, TypeError):
        return _unsafe_view(input.contiguous(), shape)
    return _reshape_alias(input, shape)


varargs(reshape, "reshape", "shape")


@op.composite
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.view(other.shape)``."""
    return view_shape(input, other.shape)


@op.composite
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.reshape(other.shape)``."""
    return reshape(input, other.shape)


@op.composite
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from ``start_dim`` through ``end_dim`` flattened to one. A 0-d tensor becomes 1-d.

    >>> import pullback as torch
    >>> torch.flatten(torch.zeros(2, 3, 4), 1).shape
    torch.Size([2, 12])
    """
    if start_dim.__class__ is not int or end_dim.__class__ is not int:
        start_dim = _as_dim(start_dim, "flatten", "start_dim", 1)
        end_dim = _as_dim(end_dim, "flatten", "end_dim", 2)
    shape = _flat_shape(input._array.shape, start_dim, end_dim)
    return input if shape is None else reshape(input, shape)


@lru_cache(256)
def _flat_shape(shape: tuple[int, ...], start_dim: int, end_dim: int) -> tuple[int, ...] | None:
    """The shape with these dimensions flattened; None if nothing changes."""
    first, last = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    return None if first == last and shape else (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :])


@op.composite
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension."""
    array = input._array
    return view_shape.op.call_ordered(input if array.flags.c_contiguous else input.contiguous(), (array.size,))


@op.composite
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dimension split into several, of which one may be -1.

    Raises:
        RuntimeError: if the sizes do not multiply up to the dimension's.

    >>> import pullback as torch
    >>> torch.unflatten(torch.zeros(2, 12), 1, (3, -1)).shape
    torch.Size([2, 3, 4])
    """
    dim = _as_dim(dim, "unflatten", "dim", 1)
    if not isinstance(sizes, (tuple, list)):
        kind = type(sizes).__name__
        raise TypeError(f"unflatten(): argument 'sizes' (position 2) must be tuple of ints, not {kind}")
    return view_shape.op.call_ordered(input, _unflat_shape(input._array.shape, dim, tuple(map(integer, sizes))))


@lru_cache(256)
def _unflat_shape(shape: tuple[int, ...], dim: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with that dimension split into these."""
    d = wrap_dim(dim, len(shape))
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if sizes.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    known = -prod(sizes) if -1 in sizes else prod(sizes)
    if known != shape[d] if -1 not in sizes else not known or shape[d] % known:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({shape[d]}) in the "
            f"input tensor"
        )
    return (*shape[:d], *[shape[d] // known if n == -1 else n for n in sizes], *shape[d + 1 :])


def _squeeze_name(input: Any, dim: Any) -> str:
    return (
        "SqueezeBackward0"
        if dim is None
        else "SqueezeBackward2"
        if isinstance(dim, (tuple, list))
        else "SqueezeBackward1"
    )


@op.view(node=_squeeze_name)
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Without the dimensions of size 1: all of them, or those among ``dim`` (an int or several).

    >>> import pullback as torch
    >>> torch.squeeze(torch.zeros(1, 2, 1), 0).shape
    torch.Size([2, 1])
    """
    shape = input.shape
    if dim is None:
        return input.squeeze()
    if dim.__class__ is int:
        d = wrap_dim(dim, len(shape))
        return input.reshape(shape[:d] + shape[d + 1 :]) if shape and shape[d] == 1 else input
    dims = [wrap_dim(integer(d), len(shape)) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))]
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return input[tuple([0 if d in dims and n == 1 else slice(None) for d, n in enumerate(shape)]) + (...,)]


@op.view
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """With a new dimension of size 1 at ``dim``.

    >>> import pullback as torch
    >>> torch.unsqueeze(torch.zeros(2, 3), -1).shape
    torch.Size([2, 3, 1])
    """
    shape = _unsqueezed_shape(input.shape, integer(dim))
    return input[..., None] if shape is None else input.reshape(shape)


@lru_cache(256)
def _unsqueezed_shape(shape: tuple[int, ...], dim: int) -> tuple[int, ...] | None:
    """The new shape; None for a new last dimension, which as a reshape of an array with gaps had its stride."""
    d = wrap_dim(dim, len(shape) + 1)
    return None if d == len(shape) else shape[:d] + (1,) + shape[d:]


squeeze.vjp(input=lambda g, input_shape: reshape(g, input_shape))
unsqueeze.vjp(input=lambda g, input_shape: reshape(g, input_shape))


# Where the missing dimensions are inserted, by the wanted and by the present number of dimensions.
MISSING: dict[int, dict[int, tuple[int, ...]]] = {1: {}, 2: {1: (0,)}, 3: {1: (0, -1), 2: (-1,)}}


def at_least_nd(x: Tensor, n: int) -> Tensor:
    """The tensor with at least ``n`` dimensions."""
    rank = x._array.ndim
    if not rank:
        return reshape(x, (1,) * n)
    for dim in MISSING[n].get(rank, ()):
        x = unsqueeze.op.call_ordered(x, dim)
    return x


def _at_least(n: int) -> Any:
    def at_least(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return at_least_nd(tensors[0], n)
        return tuple([at_least(x) for x in (tensors[0] if len(tensors) == 1 else tensors)])

    at_least.__name__ = at_least.__qualname__ = f"atleast_{n}d"
    at_least.__doc__ = (
        f"Each tensor with at least {n} dimension{'s' * (n > 1)}: one for a tensor, a tuple for several or a list."
    )
    return at_least


atleast_1d, atleast_2d, atleast_3d = map(_at_least, (1, 2, 3))


# --- other orders -----------------------------------------------------------------------------------------------


@op.view(dims=("dim0", "dim1"))
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged.

    >>> import pullback as torch
    >>> torch.transpose(torch.tensor([[1, 2], [3, 4]]), 0, 1)
    tensor([[1, 3],
            [2, 4]])
    """
    if not input.ndim:
        dim0, dim1 = wrap_dim(dim0, 0), wrap_dim(dim1, 0)
        return input
    return input.swapaxes(dim0, dim1)


transpose.vjp(input=lambda g, dim0, dim1: transpose(g, dim0, dim1))
swapaxes = swapdims = transpose
op.add_method(lambda self, axis0, axis1: transpose(self, axis0, axis1), "swapaxes")
op.add_method(transpose, "swapdims")


@op.view(node="TBackward0")
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; 1-d and 0-d tensors as they are.

    >>> import pullback as torch
    >>> torch.t(torch.zeros(2, 3)).shape
    torch.Size([3, 2])
    """
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return input.T


t.vjp(input=lambda g: t(g))


@op.view(method=False, dims=("dims",))
def permute(input: Tensor, dims: Sequence[int]) -> Tensor:
    """The dimensions in the order ``dims``.

    Raises:
        RuntimeError: if ``dims`` is not one number for each dimension.

    >>> import pullback as torch
    >>> torch.permute(torch.zeros(2, 3, 4), (2, 0, -2)).shape
    torch.Size([4, 2, 3])
    """
    try:
        return input.transpose(dims)
    except ValueError:
        n = input.ndim
        if len(dims) != n:
            raise RuntimeError(
                "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
                f"desired ordering of dimensions i.e. input.dim() = {n} is not equal to len(dims) = {len(dims)}"
            ) from None
        for d in dims:
            wrap_dim(d, n)
        raise RuntimeError(f"permute(): duplicate dims are not allowed.\n  got {list(dims)}") from None


def inverse_permutation(dims: Sequence[int]) -> tuple[int, ...]:
    """The inverse of a permutation."""
    n = len(dims)
    out = [0] * n
    for i, d in enumerate(dims):
        out[d] = i
    return tuple(out)


permute.vjp(input=lambda g, dims: permute(g, inverse_permutation(dims)))
varargs(permute, "permute", "dims")


@op.composite
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """The dimensions ``source`` moved to the places ``destination`` (an int each, or several); the others keep their
    order.

    >>> import pullback as torch
    >>> torch.movedim(torch.zeros(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    source, destination = ((d,) if isinstance(d, int) else tuple(map(integer, d)) for d in (source, destination))
    return permute(input, _movedim_order(input._array.ndim, source, destination))


@lru_cache(256)
def _movedim_order(n: int, source: tuple[int, ...], destination: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation of ``n`` dimensions that moves ``source`` to ``destination``."""
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number "
            f"of dims as destination ({list(destination)} dims)"
        )
    places = []
    for what, dims in (("source", source), ("destination", destination)):
        places.append([wrap_dim(d, n) for d in dims])
        if len(set(places[-1])) < len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{what}` ({list(dims)})")
    order = [d for d in range(n) if d not in places[0]]
    for to, d in sorted(zip(places[1], places[0])) if n else ():
        order.insert(to, d)
    return tuple(order)


moveaxis = movedim
op.add_method(movedim, "moveaxis")


@op.composite
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged, and conjugated."""
    return _matrix_transpose(input, "tensor.adjoint()").conj()


def _matrix_transpose(x: Tensor, what: str) -> Tensor:
    if x._array.ndim < 2:
        raise RuntimeError(
            f"{what} is only supported on matrices or batches of matrices. Got {x._array.ndim}-D tensor."
        )
    return transpose(x, -2, -1)


def _T(self: Tensor) -> Tensor:
    """The dimensions in reverse order."""
    n = self._array.ndim
    if n > 2:
        warnings.warn(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will "
            "throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.",
            UserWarning,
            stacklevel=2,
        )
    return permute(self, tuple(range(n))[::-1])


def _H(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix."""
    n = self._array.ndim
    if n not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {n}-D tensor."
            + (" For batches of matrices, consider using tensor.mH" if n > 2 else "")
        )
    return adjoint(self) if n else self


Tensor.T = property(_T)  # type: ignore[assignment, method-assign]
Tensor.H = property(_H)  # type: ignore[assignment, method-assign]
Tensor.mT = property(lambda self: _matrix_transpose(self, "tensor.mT") if self._array.ndim else self)  # type: ignore[assignment, method-assign]
Tensor.mH = property(lambda self: adjoint(self) if self._array.ndim else self)  # type: ignore[assignment, method-assign]


# --- stretched --------------------------------------------------------------------------------------------------


@op.view(method=False)
def expand(input: Tensor, size: Sequence[int]) -> Tensor:
    """Dimensions of size 1 stretched to ``size``, and new ones in front, without copying. -1 keeps a size.

    Its elements share memory, so it must not be written into.

    Raises:
        RuntimeError: if another dimension would change.

    >>> import pullback as torch
    >>> torch.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    if input.shape == size:
        return input
    try:
        if input.flags.c_contiguous:  # then the strides follow without an iterator
            whole, strides = _expand_geometry(input.shape, input.strides, tuple(size))
            return ndarray(whole or size, input.dtype, input, 0, strides)
    except (ValueError, TypeError):
        pass
    try:
        least = min(size, default=0)
        if least >= 0 or least == -1 and min(size[: len(size) - input.ndim], default=0) >= 0:
            return np.nditer((input,), *EXPAND_FLAGS, size).itviews[0]
    except ValueError:
        pass
    raise RuntimeError(expand_error(input, [integer(n) for n in size]))


@lru_cache(256)
def _expand_geometry(
    shape: tuple[int, ...], strides: tuple[int, ...], size: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape (if it is not ``size`` itself) and the strides of an array expanded to ``size``.

    Raises:
        ValueError: if it cannot be.
        TypeError: for sizes that are not plain numbers, such as tensors, which may change.
    """
    if any([n.__class__ is not int for n in size]):
        raise TypeError
    lead = len(size) - len(shape)
    result = size[:lead] + tuple([m if n == -1 else n for n, m in zip(size[lead:], shape)])
    if lead < 0 or min(result, default=0) < 0 or any([n != m != 1 for n, m in zip(result[lead:], shape)]):
        raise ValueError
    return result if -1 in size else (), (0,) * lead + tuple(
        [0 if m == 1 != n else s for n, m, s in zip(result[lead:], shape, strides)]
    )


# np.broadcast_to's iterator flags, but readwrite: a slice of the result may be writable.
EXPAND_FLAGS = (["multi_index", "reduce_ok", "zerosize_ok"], ["readwrite"], None, "C", "safe", None)


def expand_error(array: np.ndarray, size: list[int]) -> str:
    shape, lead = list(array.shape), len(size) - array.ndim
    if lead < 0:
        kind = type_name(OF_NUMPY[array.dtype])
        return (
            f"expand(torch.{kind}Tensor{{{shape}}}, size={size}): the number of sizes provided ({len(size)}) must be "
            f"greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    for i in reversed(range(len(size))):
        if i < lead and size[i] < 0:
            return f"The expanded size of the tensor ({size[i]}) isn't allowed in a leading, non-existing dimension {i}"
        if i >= lead and size[i] != shape[i - lead] != 1:
            return (
                f"The expanded size of the tensor ({size[i]}) must match the existing size ({shape[i - lead]}) at "
                f"non-singleton dimension {i}.  Target sizes: {size}.  Tensor sizes: {shape}"
            )
    return f"The expanded size of the tensor must not be negative.  Target sizes: {size}.  Tensor sizes: {shape}"


expand.vjp(input=lambda g, input_shape: ops.reduce.sum_to(g, input_shape))
varargs(expand, "expand", "size")


@op.composite
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.expand(other.shape)``."""
    return expand.op.call_ordered(input, other._array.shape)


@op.composite(method=False)
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """:func:`expand <Tensor.expand>` as a function.

    >>> import pullback as torch
    >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return expand(input, size)


op.add_method(lambda self, *size: self.expand(*size), "broadcast_to", "The same as :meth:`expand`.")


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes (tuples, or ints for one dimension) broadcast to.

    >>> import pullback as torch
    >>> torch.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    out: list[int] = []
    for k, shape in enumerate(shapes):
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        out = [1] * (len(shape) - len(out)) + out
        for i in range(-1, -1 - len(shape), -1):
            if shape[i] < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if shape[i] != 1 != out[i] != shape[i]:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[i]} at {i}! Mismatching argument at index "
                    f"{k} had {shape}; but expected shape should be broadcastable to {out}"
                )
            out[i] = shape[i] if out[i] == 1 else out[i]
    return Size(out)


_common_shape = lru_cache(256)(broadcast_shapes)


@overridable
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """All tensors expanded to their common shape; those that have it are returned as they are.

    >>> import pullback as torch
    >>> a, b = torch.broadcast_tensors(torch.zeros(2, 1), torch.zeros(3)); a.shape
    torch.Size([2, 3])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    shapes = [x._array.shape for x in tensors]
    try:
        shape = _common_shape(*shapes)
    except RuntimeError:
        raise errors.broadcast_error("broadcast_tensors", shapes) or RuntimeError from None
    return tuple([x if x._array.shape == shape else expand.op.call_ordered(x, shape) for x in tensors])
