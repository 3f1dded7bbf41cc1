"""``sort``, ``argsort``, ``topk``, ``kthvalue``, ``unique``, ``searchsorted``, ``bincount``, ``histc``, ``histogram``.

NaN comes after every number. Sorting is always stable. Values are differentiable: their gradient goes to the elements
that the indices point at.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import isfinite, prod
from typing import Any

import numpy as np

from .. import kernels
from ..base import dtypes
from ..base.dtypes import FLOAT32, INT64_MAX, OF_NUMPY, check_numbers
from ..base.errors import with_notes
from ..core import inplace, op, record
from ..core.level import traced_numpy
from ..core.tensor import Tensor
from ..kernels.dispatch import as_type, wide
from ..return_types import named
from .argsort import argsort_array, kth_value, topk_array
from .compare import not_implemented
from .minmax import check_not_empty, comparable, drop_dim, indices_vjp, real_only, take_along
from .reduce import canonical_dim, has_nan
from .slices import basic_index
from .view import reshape

__all__ = [
    "argsort",
    "bincount",
    "bucketize",
    "histc",
    "histogram",
    "histogramdd",
    "kthvalue",
    "msort",
    "searchsorted",
    "sort",
    "topk",
    "unique",
    "unique_consecutive",
]

# --- sorting ------------------------------------------------------------------------------------------------


def _sortable(x: np.ndarray, name: str) -> np.ndarray:
    if x.dtype.kind == "c":
        raise RuntimeError(f" {name} does not support complex dtypes on CPU")
    return x


@op.general(
    node=lambda input, dim, descending, stable: f"SortBackward{int(stable is not None)}",
    outputs="values indices",
    differentiable="values",
    check_out=inplace.same_dtypes,
    dims=("dim",),
)
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool | None = None) -> tuple[Tensor, Tensor]:
    """The elements along a dimension in ascending (or descending) order, and where they were.

    >>> import pullback as torch
    >>> torch.sort(torch.tensor([3.0, 1.0, 2.0]), descending=True)
    torch.return_types.sort(
    values=tensor([3., 2., 1.]),
    indices=tensor([0, 2, 1]))
    """
    d = canonical_dim("sort", dim, _sortable(input, "Sort").ndim)
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)
    values = as_type(np.sort(comparable(input), axis=d), input.dtype, copy=False)
    return values[basic_index(d, slice(None, None, -1))].copy() if descending else values, argsort_array(
        input, d, descending
    )


sort.vjp(input=lambda g, indices, input_shape, dim: indices_vjp(g, indices, input_shape, dim))


@op.general(dims=("dim",))
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that sort along a dimension in ascending (or descending) order.

    >>> import pullback as torch
    >>> torch.argsort(torch.tensor([3.0, 1.0, 2.0]))
    tensor([1, 2, 0])
    """
    d = canonical_dim("argsort", dim, _sortable(input, "Sort").ndim)
    return argsort_array(input, d, descending) if input.ndim else np.zeros((), np.int64)


@op.composite
def msort(input: Tensor, *, out: Any = None) -> Tensor:
    """The elements along the first dimension in ascending order.

    >>> import pullback as torch
    >>> torch.msort(torch.tensor([[3, 1], [2, 4]]))
    tensor([[2, 1],
            [3, 4]])
    """
    values = sort(input, 0).values
    return values if out is None else inplace.write_out(out, values, check=inplace.same_dtypes)


@op.general(outputs="values indices", differentiable="values", check_out=inplace.same_dtypes, dims=("dim",))
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """The ``k`` largest (or smallest) elements along a dimension, in order, and where they are.

    Raises:
        RuntimeError: if there are fewer than ``k``; for bool and complex tensors.

    >>> import pullback as torch
    >>> torch.topk(torch.tensor([3.0, 1.0, 4.0, 1.0, 5.0]), 2)
    torch.return_types.topk(
    values=tensor([5., 4.]),
    indices=tensor([4, 2]))
    """
    x: Any = input if input.ndim else input.reshape(1)
    d = canonical_dim("topk", dim, _sortable(input, "topk").ndim)
    n = x.shape[d]
    if not 0 <= k <= n:
        raise with_notes(RuntimeError("selected index k out of range"), f"k is {k}, dimension {d} has size {n}")
    if x.dtype.kind == "b":
        raise RuntimeError("topk does not support bool dtypes on CPU")
    values, indices = topk_array(x, k, d, largest)
    return (values, indices) if input.ndim or k != 1 else (values.reshape(()), indices.reshape(()))


topk.vjp(input=lambda g, indices, input_shape, dim: indices_vjp(g, indices, input_shape, dim))


@op.general(
    outputs="values indices",
    differentiable="values",
    check_out=inplace.same_dtype(
        "output values must be of same type as input", "output indices must be of scalar type {}"
    ),
    dims=("dim",),
)
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The ``k``-th smallest element along a dimension, counted from 1, and where it is.

    >>> import pullback as torch
    >>> torch.kthvalue(torch.tensor([3.0, 1.0, 2.0]), 2)
    torch.return_types.kthvalue(
    values=tensor(2.),
    indices=tensor(2))
    """
    d = canonical_dim("kthvalue", dim, real_only(input, "kthvalue_cpu", "cb").ndim)
    if input.ndim:
        check_not_empty(input, "kthvalue", (d,))
    n = input.shape[d] if input.ndim else 1
    if not 1 <= k <= n:
        error = RuntimeError(f"kthvalue(): selected number k out of range for dimension {d}")
        raise with_notes(error, f"k is {k}, the dimension has size {n}")
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)
    values, indices = kth_value(input, k - 1, d)
    return drop_dim(values, d, keepdim), drop_dim(indices, d, keepdim)


kthvalue.vjp(input=lambda g, indices, input_shape, dim, keepdim: indices_vjp(g, indices, input_shape, dim, keepdim))

# --- distinct elements --------------------------------------------------------------------------------------


def _row_keys(rows: np.ndarray) -> np.ndarray:
    """One key for each row of a matrix: bytes that sort as the rows do, lexicographically."""
    if rows.dtype.kind == "c":
        rows = rows.view(rows.real.dtype)
    rows = comparable(rows)
    if rows.dtype.kind == "f":
        rows = np.where(rows != rows, rows.dtype.type(np.nan), rows + rows.dtype.type(0))  # one NaN, one zero
    bits = rows.view(f"u{rows.dtype.itemsize}")
    top = bits.dtype.type(1 << 8 * bits.itemsize - 1)
    if rows.dtype.kind == "i":
        bits = bits ^ top
    elif rows.dtype.kind == "f":  # sign and magnitude
        bits = np.where(bits & top, ~bits, bits | top)
    return np.ascontiguousarray(bits, f">u{bits.itemsize}").view(f"V{bits.itemsize * bits.shape[1]}").reshape(-1)


def _equal_runs(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The starts of runs of equal rows, each row's run, and the lengths of the runs."""
    differs = np.empty(len(rows) + 1, bool)  # from the row before,
    differs[0] = differs[-1] = True  # or there is none
    unlike = rows[1:] != rows[:-1]
    differs[1:-1] = unlike if rows.ndim == 1 else unlike.any(axis=tuple(range(1, rows.ndim)))
    ends = differs.nonzero()[0]
    counts = ends[1:] - ends[:-1]
    return ends[:-1], np.repeat(np.arange(len(counts), dtype=np.int64), counts), counts.astype(np.int64, copy=False)


@op.general(
    name="unique_values",
    outputs="output inverse counts",
    differentiable="output",
    method=False,
    shape_depends_on_values=True,
)
def _unique(input: Tensor, dim: int | None) -> tuple[Tensor, Tensor, Tensor]:
    if dim is None:
        rows = input.reshape(-1)
        order = comparable(rows).argsort()
    else:
        rows = np.ascontiguousarray(np.moveaxis(input, dim, 0)).reshape(input.shape[dim], -1 if input.size else 1)  # type: ignore[assignment, type-var]
        order = _row_keys(rows).argsort(kind="stable")
    starts, runs, counts = _equal_runs(rows[order])
    inverse = np.empty(len(rows), np.int64)
    inverse[order] = runs
    return input.take(order[starts], dim), inverse.reshape(input.shape) if dim is None else inverse, counts


@op.general(
    name="unique_consecutive_values",
    outputs="output inverse counts",
    differentiable="output",
    method=False,
    shape_depends_on_values=True,
)
def _unique_consecutive(input: Tensor, dim: int | None) -> tuple[Tensor, Tensor, Tensor]:
    x, d = (input.reshape(-1), 0) if dim is None else (input, dim)
    starts, inverse, counts = _equal_runs(np.moveaxis(x, d, 0) if d else x)
    return x.take(starts, d), inverse.reshape(input.shape) if dim is None else inverse, counts


_unique.vjp()
_unique_consecutive.vjp()


def _select_results(results: Any, return_inverse: bool, return_counts: bool) -> Any:
    output, inverse, counts = results
    if not return_inverse and not return_counts:
        return output
    return (output, *((inverse,) if return_inverse else ()), *((counts,) if return_counts else ()))


def _unique_dim(input: Tensor, dim: int | None, name: str) -> int | None:
    if dim is None:
        return None
    shape = input._array.shape
    if not shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = canonical_dim(name, dim, len(shape))
    if 0 in shape[:d] + shape[d + 1 :]:
        raise RuntimeError(f"There are 0 sized dimensions, and they aren't selected, so {name} cannot be applied")
    return d


@op.composite
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements, or slices along ``dim``, ascending even if not ``sorted``. NaNs are distinct.

    Returns:
        The distinct elements; with ``return_inverse`` the index among them of each element, and with
        ``return_counts`` how often each occurs.

    >>> import pullback as torch
    >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    return _select_results(_unique(input, _unique_dim(input, dim, "unique")), return_inverse, return_counts)


@op.composite
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements, or slices along ``dim``, without those that equal the one before.

    Returns:
        As :func:`unique`.

    >>> import pullback as torch
    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    return _select_results(
        _unique_consecutive(input, _unique_dim(input, dim, "unique_consecutive")),
        return_inverse,
        return_counts,
    )


# --- places in sorted sequences -----------------------------------------------------------------------------


@op.general(method=False)
def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where to insert ``input`` into sorted sequences to keep them sorted. NaN goes to the end, as the largest.

    Args:
        sorted_sequence: ascending along the last dimension.
        input: a tensor with the same leading dimensions, any tensor or number if the sequence is 1-d.
        right: insert after equal elements rather than before; ``side="right"`` says the same.
        sorter: the indices that sort the sequence, if it is not sorted.

    Returns:
        Indices of the shape of ``input``, int64 (or int32).

    >>> import pullback as torch
    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 6]))
    tensor([1, 3])
    """
    edges: Any
    edges, values = sorted_sequence, np.asarray(input)
    if side is not None:
        if side not in ("left", "right"):
            raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
        if side == "left" and right:
            raise RuntimeError(
                "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
            )
        right = side == "right"
    if edges.ndim != 1:
        _check_boundaries(edges, values)
    if sorter is not None:
        edges = _apply_sorter(sorter, edges)
    if edges.dtype.kind == "V" or values.dtype.kind == "V":
        edges, values = comparable(edges), comparable(values)
    size = values.size if edges.ndim == 1 else kernels.NEVER - 1  # row by row NumPy is slow even where there are few
    places = kernels.run("searchsorted", "searchsorted", size, edges, values, right) if values.size else None
    if places is None:
        which: Any = "right" if right else "left"
        places = edges.searchsorted(values, which) if edges.ndim == 1 else _searchsorted_rows(edges, values, which)
        if not right and has_nan(values if edges.ndim > 1 else edges[-1:]):  # NaN comes after other NaN, too
            places = np.where(np.isnan(values), edges.shape[-1], places)
    return places.astype(np.int32 if out_int32 else np.int64, copy=False)


def _check_boundaries(edges: np.ndarray, values: np.ndarray) -> None:
    """Refuse boundaries whose leading dimensions are not those of the values."""
    name = "torch.searchsorted(): "
    if not edges.ndim:
        raise RuntimeError(f"{name}boundaries tensor should have positive dimension, but got 0 dimension")
    if not values.ndim:
        raise RuntimeError(
            f"{name}input value can be a scalar only when boundaries tensor dimension is 1, but we "
            f"got boundaries tensor dim({edges.ndim}) and input value's dim(0) numel(1)"
        )
    if edges.ndim != values.ndim or edges.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            f"{name}boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            "tensor and input value tensor must match, but we got boundaries tensor "
            f"{list(edges.shape)} and input value tensor {list(values.shape)}"
        )


def _apply_sorter(sorter: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The boundaries in the order of ``sorter``, row by row."""
    name = "torch.searchsorted(): "
    if sorter.dtype != np.int64:
        raise RuntimeError(
            f"{name}sorter must be a tensor of long dtype but got dtype "
            f"{dtypes.type_name(dtypes.OF_NUMPY[sorter.dtype])}"
        )
    if sorter.shape != edges.shape:
        raise RuntimeError(
            f"{name}boundary and sorter must have the same size, but got boundary tensor {list(edges.shape)}and got "
            f"sorter tensor {list(sorter.shape)}"
        )
    if sorter.size and (sorter.min() < 0 or sorter.max() >= edges.shape[-1]):
        raise RuntimeError(f"{name}sorter index out of range")
    return take_along(edges, sorter, sorter.ndim - 1)


def _searchsorted_rows(edges: np.ndarray, values: np.ndarray, side: Any) -> np.ndarray:
    places = np.empty(values.shape, np.int64)
    for row in np.ndindex(edges.shape[:-1]):
        places[row] = edges[row].searchsorted(values[row], side)
    return places


@op.composite(method=False)
def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False, out: Any = None
) -> Tensor:
    """Which bucket between the sorted 1-d ``boundaries`` each element falls into, by :func:`searchsorted`.

    >>> import pullback as torch
    >>> torch.bucketize(torch.tensor([0, 3, 6]), torch.tensor([1, 3, 5]))
    tensor([0, 1, 3])
    """
    if boundaries._array.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries._array.ndim})")
    return searchsorted(boundaries, input, out_int32, right, None, None, out=out)


# --- histograms ---------------------------------------------------------------------------------------------


@op.general(shape_depends_on_values=True)
def bincount(input: Tensor, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each number from 0 occurs in a 1-d tensor of integers, or the sum of the weights there.

    Args:
        weights: as many numbers as ``input`` has; the result is of their type (float64 for integers).
        minlength: make the result at least as long.

    >>> import pullback as torch
    >>> torch.bincount(torch.tensor([1, 3, 1]))
    tensor([0, 2, 0, 1])
    """
    x: Any = input
    if x.dtype.kind not in "iu":
        raise not_implemented("bincount_cpu", x)
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if x.ndim != 1 or x.size and x.item(x.argmin()) < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if x.size and x.item(x.argmax()) >= INT64_MAX:  # NumPy adds 1 unchecked
        raise RuntimeError(
            f"maximum value of input overflowed, it should be < {INT64_MAX} but got {x.item(x.argmax())}"
        )
    w = weights._array if isinstance(weights, Tensor) else weights
    if w is not None and w.shape != x.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    counts = np.bincount(x.astype(np.int64, copy=False), w, minlength)
    if w is None:
        return counts.astype(np.int64, copy=False)
    return counts.astype(FLOAT32) if w.dtype == FLOAT32 else counts


def _histogram_range(x: np.ndarray, low: Any, high: Any, name: str) -> tuple[Any, Any]:
    """The range of a histogram: as given, or of the data if the given one is empty; never of width 0."""
    if low == high:
        x = comparable(x)
        low, high = (x.item(x.argmin()), x.item(x.argmax())) if x.size else (0, 1)
    if not (isfinite(low) and isfinite(high)):
        raise RuntimeError(f"{name}: range of [{low:g}, {high:g}] is not finite")
    if low == high:
        wide = 1 if name == "torch.histc" else 0.5
        low, high = low - wide, high + wide
    if not low < high:
        raise RuntimeError(f"{name}: max must be larger than min")
    return low, high


def _floats_only(x: np.ndarray, kernel: str) -> np.ndarray:
    return wide(real_only(x, kernel, "biuc"))


@op.general
def histc(input: Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> Tensor:
    """How many elements fall into equal bins from ``min`` to ``max`` (both 0: those of the input).

    >>> import pullback as torch
    >>> torch.histc(torch.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    x = real_only(input, "histogram_cpu", "biuc").reshape(-1)
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    check_numbers(x.dtype, min, max)
    low, high = _histogram_range(x, min, max, "torch.histc")
    low, high = np.asarray(low, x.dtype), np.asarray(high, x.dtype)
    x = x[(x >= low) & (x <= high)]
    x -= low
    x *= bins
    x /= high - low
    counts = np.bincount(x.astype(np.int64), None, bins + 1)
    counts[bins - 1] += counts[bins]  # the last bin includes its upper edge
    return counts[:bins].astype(x.dtype)


def _histogram(points: np.ndarray, edges: list[np.ndarray], weight: np.ndarray | None, density: bool) -> np.ndarray:
    """Count points (rows), all inside, in the boxes between edges."""
    flat: Any = 0
    for x, e in zip(points.T, edges):
        flat = flat * (e.size - 1) + e[1:-1].searchsorted(x, "right")
    sizes = [e.size - 1 for e in edges]
    counts = np.bincount(flat, weight, prod(sizes)).astype(points.dtype).reshape(sizes)
    if density:
        volume = reduce(np.multiply.outer, [e[1:] - e[:-1] for e in edges])
        counts = counts / volume / np.add.reduce(counts, None)
    return counts


def _bin_edges(points: np.ndarray, bins: Any, range: Any, name: str) -> list[np.ndarray]:
    """The edges of bins, given as edges or as the number of bins along each dimension."""
    dims = points.shape[1]
    if range is not None and len(range) != 2 * dims:
        raise RuntimeError(
            f"torch.histogramdd: for a {dims}-dimensional histogram range should have {2 * dims} elements, but got "
            f"{len(range)}"
        )
    if isinstance(bins, int):
        bins = [bins] * dims
    if len(bins) != dims:
        error = RuntimeError(f"{name}: The size of bins must be equal to the innermost dimension of the input.")
        raise with_notes(error, f"They are {len(bins)} and {dims}.")
    if isinstance(bins[0], np.ndarray):
        return list(bins)
    made = []
    for k, n in enumerate(bins):
        if n <= 0:
            raise RuntimeError(f"torch.{name}(): bins must be > 0, but got {n} for dimension {k}")
        limits: tuple[Any, Any] = (0, 0) if range is None else range[2 * k : 2 * k + 2]
        low, high = _histogram_range(points[:, k], *limits, name)
        steps = np.arange(n + 1.0) * ((high - low) / n) + low
        steps[-1] = high
        made.append(steps.astype(points.dtype))
    return made


def _check_weight(input: Tensor, weight: Tensor) -> None:
    """Refuse weights that are not one for each point ``(..., D)``, in its type."""
    condition = "torch.histogramdd: if weight tensor is provided"
    if weight.shape != input.shape[:-1]:
        raise RuntimeError(
            f"{condition} it should have the same shape as the input tensor excluding its innermost dimension, but got "
            f"input with shape {list(input.shape)} and weight with shape {list(weight.shape)}"
        )
    if weight.dtype is not input.dtype:
        kinds = f"input({dtypes.CPP_NAMES[input.dtype.name]}), and weight({dtypes.CPP_NAMES[weight.dtype.name]})"
        raise RuntimeError(f"{condition}, input tensor and weight tensor should have the same dtype, but got {kinds}")


def _histogram_and_edges(
    input: Tensor, bins: Any, range: Any, weight: Tensor | None, density: bool, name: str
) -> list[Tensor]:
    """The histogram of points ``(..., D)``, then the edges of the bins of each dimension."""
    if weight is not None:
        _check_weight(input, weight)
    edges = [b._array for b in bins] if isinstance(bins, (list, tuple)) and bins and isinstance(bins[0], Tensor) else []
    for k, e in enumerate(edges):
        if e.ndim != 1:
            raise RuntimeError(
                f"torch.histogramdd: bins tensor should have one dimension, but got {e.ndim} dimensions in the bins "
                f"tensor for dimension {k}"
            )
        if e.dtype != input._array.dtype:
            given, found = (dtypes.CPP_NAMES[OF_NUMPY[d].name] for d in (input._array.dtype, e.dtype))
            raise RuntimeError(
                "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
                f"{given} and bins for dimension {k} with dtype {found}"
            )

    def computed(x: np.ndarray, weight: np.ndarray | None, *edges: np.ndarray) -> list[np.ndarray]:
        x = _floats_only(x, "histogramdd")
        points = x.reshape(-1, x.shape[-1])
        made = _bin_edges(points, list(edges) or bins, range, name)
        w = None if weight is None else weight.reshape(-1)
        if edges or range is not None:
            inside = np.logical_and.reduce([(x >= e[0]) & (x <= e[-1]) for x, e in zip(points.T, made)])
            points, w = points[inside], None if w is None else w[inside]
        return [_histogram(points, made, w, density), *made]

    return [
        record.wrap(x) for x in traced_numpy(computed, input._array, None if weight is None else weight._array, *edges)
    ]


def histogramdd(
    input: Tensor,
    bins: Any,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """Count points in boxes.

    Args:
        input: float tensor ``(..., D)`` of points.
        bins: the number of bins of each dimension (an int for all, or D of them), or D tensors of edges.
        range: lowest and highest edge of each dimension, one after the other. Default: those of the points.
        weight: of each point.
        density: divide by the total and by the volume of each box.

    Returns:
        A named tuple of ``hist``, D-dimensional, and ``bin_edges``, a tuple of D tensors.

    >>> import pullback as torch
    >>> torch.histogramdd(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), [2, 2]).hist
    tensor([[0., 1.],
            [1., 0.]])
    """
    hist, *edges = _histogram_and_edges(input, bins, range, weight, density, "histogramdd")
    return HistogramDD(hist, tuple(edges))


@op.composite
def histogram(
    input: Tensor,
    bins: Any = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: Any = None,
) -> Any:
    """Count elements in bins.

    Args:
        bins: how many bins, or a 1-d tensor of their edges.
        range: the lowest and the highest edge. Default: those of the elements.
        weight: of each element.
        density: divide by the total and by the width of each bin.

    Returns:
        A named tuple ``(hist, bin_edges)``.

    >>> import pullback as torch
    >>> torch.histogram(torch.tensor([1.0, 2.0, 1.0]), bins=2).hist
    tensor([2., 1.])
    """
    result = Histogram(
        *_histogram_and_edges(
            reshape(input, (-1, 1)),
            bins if isinstance(bins, int) else [bins],
            range,
            None if weight is None else reshape(weight, (-1,)),
            density,
            "histogram",
        )
    )
    return result if out is None else inplace.write_out(out, result)


Histogram = named("histogram", ("hist", "bin_edges"))
HistogramDD = named("histogramdd", ("hist", "bin_edges"))
