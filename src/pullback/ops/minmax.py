"""``max``, ``min``, ``amax``, ``amin``, ``aminmax``, ``argmax``, ``argmin``.

Maxima and minima of anything with NaN are NaN. Of several NaNs, and of equal elements, the first is found. Reductions
to values alone share the gradient evenly between equal elements; where indices are returned as well, the element they
point at gets all of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import kernels
from ..base.dtypes import HALVES, kind_of
from ..base.errors import with_notes
from ..base.layout import as_contiguous
from ..core import inplace, op
from ..core.tensor import Tensor
from ..kernels.dispatch import as_type, wide
from .compare import isnan, not_implemented
from .index import gather_index, sum_at
from .reduce import canonical_dim, canonical_dims, extreme_array, in_numpys_names, keepdim_shape, share_evenly
from .view import reshape, wrap_dim
from .where import maximum, minimum

__all__ = ["amax", "amin", "aminmax", "argmax", "argmin", "max", "min"]

HIGHEST, LOWEST = (np.maximum.reduce, np.ndarray.argmax), (np.minimum.reduce, np.ndarray.argmin)
FEW = 512  # elements up to which argmax is faster than max (measured)

# --- shared by operations that return values and indices ----------------------------------------------------


def check_not_empty(x: np.ndarray, name: str, dims: tuple[int, ...] | None) -> None:
    """Refuse a maximum or minimum of no elements: of all if ``dims`` is None, else along one of the dimensions.

    Raises:
        RuntimeError, IndexError: in PyTorch's words.
    """
    if dims is None and not x.size:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
            f"the 'dim' argument."
        )
    for d in dims or ():
        if not x.shape[d]:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


def indices_vjp(g: Any, indices: Any, input_shape: tuple[int, ...], dim: int, keepdim: bool = True) -> Any:
    """The gradient of the input of which elements were selected by ``indices`` along ``dim``: scattered into zeros."""
    if not input_shape:
        return g
    d = wrap_dim(dim, len(input_shape))
    at = indices._array if isinstance(indices, Tensor) else np.asarray(indices)
    if not keepdim:
        g, at = reshape(g, keepdim_shape(input_shape, (d,))), at.reshape(keepdim_shape(input_shape, (d,)))
    return sum_at(g, [at], input_shape, d)


def take_along(x: np.ndarray, indices: np.ndarray, d: int) -> np.ndarray:
    """``np.take_along_axis``."""
    return x[tuple(gather_index(indices, d))]


def drop_dim(x: np.ndarray, d: int, keepdim: bool) -> np.ndarray:
    """An array without its dimension ``d`` of size 1, unless ``keepdim``."""
    return x if keepdim else x.reshape(x.shape[:d] + x.shape[d + 1 :])


# --- values alone -------------------------------------------------------------------------------------------


def _extreme_of_all(x: np.ndarray, which: str) -> np.ndarray:
    """The ``"largest"`` or ``"smallest"`` of all elements."""
    if x.size <= FEW and x.dtype.kind != "V":
        return x.flat[x.argmax() if which == "largest" else x.argmin()]
    return extreme_array(x, tuple(range(x.ndim)), False, which)


def _extreme_dims(x: np.ndarray, dims: tuple[int, ...], keepdim: bool, which: str) -> np.ndarray:
    """The ``"largest"`` or ``"smallest"`` along dimensions."""
    return (
        as_contiguous(extreme_array(x, dims, keepdim, which))
        if keepdim or len(dims) < x.ndim
        else _extreme_of_all(x, which)
    )


def _amax_or_amin(x: np.ndarray, name: str, dim: Any, keepdim: bool, which: str) -> np.ndarray:
    dims = canonical_dims(dim, x.ndim)
    if not x.size:
        whole = dim is None or dim.__class__ in (tuple, list) and not dim
        check_not_empty(x, name, None if whole else dims)
    return _extreme_dims(x, dims, keepdim, which)


def _amax_vjp(g: Any, input: Any, out: Any, dim: Any, keepdim: bool) -> Any:
    dims = canonical_dims(dim, len(input.shape))
    if not keepdim:
        g, out = (reshape(v, keepdim_shape(input.shape, dims)) for v in (g, out))
    return share_evenly(g, input == out, dims)


_same_dtype = inplace.same_dtype(
    "Expected the dtype for input and out to match, but got {0} for input's dtype and {1} for out's dtype."
)


@op.general(dims=("dim",), check_out=_same_dtype)
def amax(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The largest elements, of all or along dimensions (an int or several). Equal ones share the gradient.

    Raises:
        RuntimeError, IndexError: for the largest of no elements.

    >>> import pullback as torch
    >>> torch.amax(torch.tensor([[1.0, 5.0], [3.0, 2.0]]), (0, 1))
    tensor(5.)
    """
    return _amax_or_amin(real_only(input, "max_values_cpu"), "amax", dim, keepdim, "largest")


@op.general(dims=("dim",), check_out=_same_dtype)
def amin(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The smallest elements, of all or along dimensions (an int or several). Equal ones share the gradient.

    Raises:
        RuntimeError, IndexError: for the smallest of no elements.

    >>> import pullback as torch
    >>> torch.amin(torch.tensor([[1.0, 5.0], [3.0, 2.0]]), 0)
    tensor([1., 2.])
    """
    return _amax_or_amin(real_only(input, "min_values_cpu"), "amin", dim, keepdim, "smallest")


def real_only(x: np.ndarray, kernel: str, kinds: str = "c") -> np.ndarray:
    """Refuse complex arrays, or those of other NumPy kinds."""
    if kind_of(x.dtype) in kinds + "W":
        raise not_implemented(kernel, x)
    return x


amax.vjp(input=_amax_vjp)
amin.vjp(input=_amax_vjp)


@op.general(outputs="min max", check_out=inplace.same_dtypes)
def aminmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """:func:`amin` and :func:`amax` at once, of all elements or along one dimension.

    >>> import pullback as torch
    >>> torch.aminmax(torch.tensor([3.0, 1.0]))
    torch.return_types.aminmax(
    min=tensor(1.),
    max=tensor(3.))
    """
    x = real_only(input, "aminmax_cpu")
    if dim is None:
        if not x.size:
            raise RuntimeError(
                "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
            )
        if not keepdim:
            return _extreme_of_all(x, "smallest"), _extreme_of_all(x, "largest")
    dims = canonical_dims(dim, x.ndim)
    if not x.size:
        check_not_empty(x, "aminmax", dims)
    return _extreme_dims(x, dims, keepdim, "smallest"), _extreme_dims(x, dims, keepdim, "largest")


@aminmax.vjp_all
def _aminmax_vjp(g: Any, wanted: list[bool], input: Any, min: Any, max: Any, dim: Any, keepdim: bool) -> Any:
    return (_amax_vjp(g[0], input, min, dim, keepdim) + _amax_vjp(g[1], input, max, dim, keepdim),)


@op.general(node="MaxBackward1", method=False, check_out=inplace.castable)
def max_all(input: Tensor) -> Tensor:
    if not input.size:
        check_not_empty(input, "max", None)
    return _extreme_of_all(real_only(input, "max_all"), "largest")


@op.general(node="MinBackward1", method=False, check_out=inplace.castable)
def min_all(input: Tensor) -> Tensor:
    if not input.size:
        check_not_empty(input, "min", None)
    return _extreme_of_all(real_only(input, "min_all"), "smallest")


def equal_elements_vjp(g: Any, input: Any, out: Any) -> Any:
    """The gradient of a maximum, minimum or median of all elements, shared between those equal to it (NaN to NaN)."""
    return share_evenly(g, isnan(input) if isnan(out) else input == out, tuple(range(len(input.shape))))


max_all.vjp(input=equal_elements_vjp)
min_all.vjp(input=equal_elements_vjp)

# --- values and indices -------------------------------------------------------------------------------------


def _extreme_along(x: np.ndarray, name: str, dim: int, keepdim: bool, ways: Any) -> tuple[np.ndarray, np.ndarray]:
    if x.dtype.kind == "c":
        raise RuntimeError(f"{name}(): does not support complex input")
    reduce, find = ways
    d = canonical_dim(name, dim, x.ndim)
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    check_not_empty(x, name, (d,))
    if x.dtype in HALVES:
        values, at = _extreme_along(wide(x), name, d, keepdim, ways)
        return as_type(values, x.dtype), at
    fast = _extremes_of_columns(x, d, reduce is HIGHEST[0])
    if fast is not None:
        return drop_dim(fast[0], d, keepdim), drop_dim(fast[1], d, keepdim)
    return as_contiguous(reduce(x, d, None, None, keepdim)), _places(find, x, d, keepdim)


def _extremes_of_columns(x: np.ndarray, d: int, largest: bool) -> Any:
    """Extremes and their indices by a kernel, but for rows, where NumPy's functions do as well."""
    return kernels.run("minmax", "down_columns", x.size, x, d, largest) if d < x.ndim - 1 else None


def _places(find: Any, x: np.ndarray, axis: int | None, keepdims: bool) -> np.ndarray:
    found = find(comparable(x), axis=axis, keepdims=keepdims)
    return found.astype(np.int64, copy=False)  # in WebAssembly NumPy's are int32


def comparable(x: np.ndarray) -> np.ndarray:
    """Half precision as float32: NumPy's argmax and sort take bfloat16's NaN for a number, and are slow for float16."""
    return wide(x)


@op.general(
    name="max",
    outputs="values indices",
    differentiable="values",
    method=False,
    check_out=inplace.same_dtypes,
    dims=("dim",),
)
def max_along(input: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return _extreme_along(input, "max", dim, keepdim, HIGHEST)


@op.general(
    name="min",
    outputs="values indices",
    differentiable="values",
    method=False,
    check_out=inplace.same_dtypes,
    dims=("dim",),
)
def min_along(input: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return _extreme_along(input, "min", dim, keepdim, LOWEST)


max_along.vjp(input=lambda g, indices, input_shape, dim, keepdim: indices_vjp(g, indices, input_shape, dim, keepdim))
min_along.vjp(input=lambda g, indices, input_shape, dim, keepdim: indices_vjp(g, indices, input_shape, dim, keepdim))


def _dispatch_overload(
    name: str, whole: Any, along: Any, between: Any, input: Any, dim: Any, keepdim: bool, other: Any, out: Any
) -> Any:
    if input.__class__ is Tensor and dim is None and other is None and out is None and not keepdim:
        return whole(input)
    if not isinstance(input, (Tensor, np.ndarray)):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if isinstance(dim, (Tensor, np.ndarray)):
        other, dim = dim, None
    if other is not None and dim is None:
        return between(input, other, out=out)
    if other is not None or dim is None and keepdim:
        error = TypeError(f"{name}() received an invalid combination of arguments")
        raise with_notes(error, "It takes (input), (input, dim, keepdim) or (input, other).")
    return whole(input, out=out) if dim is None else along(input, dim, keepdim, out=out)


@op.composite
@in_numpys_names
def max(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None, out: Any = None) -> Any:
    """The largest element; the largest along one dimension and where they are; the larger of two tensors.

    ``max(input)``, ``max(input, dim, keepdim=False)``, ``max(input, other)``.

    Returns:
        A tensor; with ``dim`` a named tuple ``(values, indices)``.

    Raises:
        RuntimeError, IndexError: for the largest of no elements.

    Gradients: equal elements share it in the first and third form, the element found gets it in the second.

    >>> import pullback as torch
    >>> x = torch.tensor([[1.0, 5.0], [3.0, 2.0]])
    >>> x.max(), x.max(1).indices, torch.max(x, torch.tensor(2.5))
    (tensor(5.), tensor([1, 0]), tensor([[2.5000, 5.0000],
            [3.0000, 2.5000]]))
    """
    return _dispatch_overload("max", max_all, max_along, maximum, input, dim, keepdim, other, out)


@op.composite
@in_numpys_names
def min(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None, out: Any = None) -> Any:
    """The smallest element; the smallest along one dimension and where they are; the smaller of two tensors.

    In the three forms of :func:`max`.

    >>> import pullback as torch
    >>> torch.min(torch.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=0).values
    tensor([1., 2.])
    """
    return _dispatch_overload("min", min_all, min_along, minimum, input, dim, keepdim, other, out)


# --- indices alone ------------------------------------------------------------------------------------------


def _argmax_or_argmin(x: np.ndarray, name: str, dim: Any, keepdim: bool, find: Any) -> np.ndarray:
    if x.dtype.kind in "cb":
        raise RuntimeError(f"{name}(): does not support {'complex' if x.dtype.kind == 'c' else 'bool'} input")
    if dim is None:
        if not x.size:
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        return _places(find, x, None, keepdim)
    d = canonical_dim(name, dim, x.ndim)
    if not x.ndim:
        return np.zeros((), np.int64)
    check_not_empty(x, name, (d,))
    fast = _extremes_of_columns(x, d, find is HIGHEST[1])
    if fast is not None:
        return drop_dim(fast[1], d, keepdim)
    return _places(find, x, d, keepdim)


@op.general
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the largest element, the first of equal ones, in the flattened tensor or along ``dim``.

    Raises:
        RuntimeError: for bool and complex tensors.
        IndexError: for the largest of no elements.

    >>> import pullback as torch
    >>> x = torch.tensor([[1.0, 5.0], [3.0, 2.0]])
    >>> torch.argmax(x), torch.argmax(x, 0)
    (tensor(1), tensor([1, 0]))
    """
    return _argmax_or_argmin(input, "argmax", dim, keepdim, np.ndarray.argmax)


@op.general
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the smallest element, the first of equal ones, in the flattened tensor or along ``dim``.

    Raises:
        RuntimeError: for bool and complex tensors.
        IndexError: for the smallest of no elements.

    >>> import pullback as torch
    >>> torch.argmin(torch.tensor([3.0, 1.0, 2.0]))
    tensor(1)
    """
    return _argmax_or_argmin(input, "argmin", dim, keepdim, np.ndarray.argmin)
