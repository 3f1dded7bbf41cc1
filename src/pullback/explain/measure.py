"""``Values``: summary statistics of arrays (norm, mean, min, max, zeros, NaN, inf), many at a time.

Explaining a step should cost little more than the step, so there are several paths to the same numbers: Python for a
few elements, one concatenation for many small arrays, a kernel for large ones. Sums are in double precision.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from .. import kernels
from ..core.level import LevelValue

SMALL = 64  # up to this size arrays are given in full
FEW = 16  # up to this size they are measured in Python
LARGE = 1024  # from this size on arrays are measured one by one
SAFE = 1e-280, 1e300  # range in which a sum of squares has neither over- nor underflowed

dtype_name = lru_cache(lambda dtype: dtype.name)  # dtype.name is slow


@dataclass(slots=True)
class Values:
    """Summary statistics of an array.

    Attributes:
        shape, dtype: of the array.
        norm: Euclidean, over all elements. NaN or infinite if an element is.
        mean, min, max: over all elements; of complex ones the mean of the absolute values, and so on.
        zeros: the share of elements that are exactly 0, from 0 to 1.
        nan, inf: how many elements are.
        stored: of a sparse array, how many elements it stores, the others being 0; else None.
        elements: the array, or a list of what is in it, if there are no more than 64; see :attr:`values`.
    """

    shape: tuple[int, ...]
    dtype: str
    norm: float
    mean: float
    min: float
    max: float
    zeros: float
    nan: int
    inf: int
    elements: Any = field(default=None, repr=False, compare=False)
    stored: int | None = None

    @classmethod
    def of(cls, array: Any) -> Values:
        """Measure an array.

        >>> import numpy as np
        >>> v = Values.of(np.array([3.0, 0.0, -4.0, 0.0]))
        >>> v.norm, v.mean, v.min, v.max, v.zeros
        (5.0, -0.25, -4.0, 3.0, 0.5)
        """
        return measure([array])[id(array)]

    @property
    def values(self) -> Any:
        """All elements, as nested lists, if there are no more than 64; else None."""
        return self.elements.tolist() if isinstance(self.elements, np.ndarray) else self.elements

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def rms(self) -> float:
        """Root mean square: the norm, comparable between sizes."""
        return self.norm / math.sqrt(self.size) if self.size else 0.0


def rounded(x: Any) -> Any:
    """Numbers, also in lists, to six digits; as text where JSON has no number."""
    if isinstance(x, float):
        return float(f"{x:.6g}") if math.isfinite(x) else str(x)
    if isinstance(x, np.generic):
        return rounded(x.item())
    if isinstance(x, complex):
        return f"{x:.6g}"
    return [rounded(v) for v in x] if isinstance(x, (list, tuple)) else x


def measure(arrays: Iterable[Any]) -> dict[int, Values]:
    """The statistics of each array, by its id. Sparse arrays count their zeros; level values are measured inside."""
    found: dict[int, Values] = {}
    small: dict[Any, dict[int, np.ndarray]] = {}
    for a in arrays:
        key = id(a)
        if key in found:
            continue
        while isinstance(a, LevelValue) and not a.is_sparse:
            a = a.value
        if a.__class__ is not np.ndarray:
            if a is not None:
                found[key] = measure_sparse(a) if isinstance(a, LevelValue) else measure_large(np.asarray(a))
        elif a.size >= LARGE or a.dtype.kind not in "fc":
            found[key] = measure_large(a)
        elif a.size > FEW or a.size and a.dtype.kind == "c":
            small.setdefault(a.dtype, {})[key] = a
        else:
            found[key] = measure_few(a)
    for group in small.values():
        together = measure_small(list(group.values())) if len(group) > 1 else map(measure_large, group.values())
        found.update(zip(group, together))
    return found


def all_finite(arrays: Iterable[Any]) -> bool:
    """Whether no element of any of these is NaN or infinite."""
    small: dict[Any, list[np.ndarray]] = {}
    for a in {id(a): a for a in arrays if isinstance(a, np.ndarray) and a.dtype.kind in "fc"}.values():
        if a.size < LARGE:
            small.setdefault(a.dtype, []).append(a.reshape(-1))
            continue
        numbers = kernels.run("summary", "describe", a.size, a)
        if not (np.isfinite(a).all() if numbers is None else math.isfinite(numbers[1])):
            return False
    return all(np.isfinite(np.concatenate(group)).all() for group in small.values())


def measure_few(a: np.ndarray) -> Values:
    """Measure a few real numbers in Python."""
    values = a.tolist()
    xs = values if a.ndim == 1 else a.reshape(-1).tolist()
    n, norm = len(xs), math.hypot(*xs)
    if not n or not math.isfinite(norm):
        return measure_large(a)
    return Values(a.shape, dtype_name(a.dtype), norm, sum(xs) / n, min(xs), max(xs), xs.count(0.0) / n, 0, 0, values)


def measure_small(arrays: Sequence[np.ndarray]) -> list[Values]:
    """Measure many small arrays of one type, concatenated."""
    sizes = [a.size for a in arrays]
    flat = np.concatenate([a.reshape(-1) for a in arrays])
    flat = np.abs(flat) if flat.dtype.kind == "c" else flat
    flat = flat.astype(np.float64)
    starts = np.cumsum([0, *sizes[:-1]])
    with np.errstate(all="ignore"):
        sums, squares = np.add.reduceat(flat, starts).tolist(), np.add.reduceat(flat * flat, starts).tolist()
        least, most = np.minimum.reduceat(flat, starts).tolist(), np.maximum.reduceat(flat, starts).tolist()
        zeros = np.add.reduceat((flat == 0).astype(np.int64), starts).tolist()
    name = dtype_name(arrays[0].dtype)
    low, high = SAFE
    return [
        Values(a.shape, name, math.sqrt(q), s / n, x, y, z / n, 0, 0, a if n <= SMALL else None)
        if low < q < high or z == n
        else measure_large(a)
        for a, n, s, q, x, y, z in zip(arrays, sizes, sums, squares, least, most, zeros)
    ]


def measure_large(a: np.ndarray) -> Values:
    """Measure one array."""
    shape, name, n = a.shape, dtype_name(a.dtype), a.size
    a = a.astype(np.float32) if a.dtype.itemsize < 4 else a
    few = a if n <= SMALL else None
    if not n:
        return Values(shape, name, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, few)
    if n > 1 and not any(a.strides):  # a broadcast scalar
        v = measure_large(a[(0,) * a.ndim].reshape(()))
        return Values(shape, name, v.norm * math.sqrt(n), v.mean, v.min, v.max, v.zeros, v.nan * n, v.inf * n, few)
    a = np.abs(a) if a.dtype.kind == "c" else a
    flat = a.ravel("K")
    numbers = kernels.run("summary", "describe", n, flat)
    with np.errstate(all="ignore"):
        if numbers is None:
            flat = flat.astype(np.float64, copy=False)
            square = float(np.einsum("i,i->", flat, flat))  # BLAS's dot would wake its threads
            numbers = float(flat.sum()), square, float(flat.min()), float(flat.max()), n - int(np.count_nonzero(flat))
        total, square, least, most, zeros = numbers
        low, high = SAFE
        if low < square < high or zeros == n:
            return Values(shape, name, math.sqrt(square), total / n, least, most, zeros / n, 0, 0, few)
        flat = flat.astype(np.float64, copy=False)
        nan, inf, scale = int(np.isnan(flat).sum()), int(np.isinf(flat).sum()), float(np.abs(flat).max())
        norm = scale if nan or inf else scale * float(np.linalg.norm(flat / scale))
        return Values(
            shape, name, norm, float(flat.mean()), float(flat.min()), float(flat.max()), zeros / n, nan, inf, few
        )


def measure_sparse(a: Any) -> Values:
    """Measure a sparse array: its coalesced elements, and the zeros between them."""
    stored = a.coalesce().value
    v, n, count = Values.of(stored), math.prod(a.shape), stored.size
    few = a.dense() if n <= SMALL else None
    least, most = (v.min, v.max) if count == n else (min(v.min, 0.0), max(v.max, 0.0))
    zeros = (n - count + v.zeros * count) / n if n else 0.0
    return Values(
        tuple(a.shape), v.dtype, v.norm, v.mean * count / n if n else 0.0, least, most, zeros, v.nan, v.inf, few, count
    )
