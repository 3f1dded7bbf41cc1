"""The numbers in arrays, in short: small arrays all at once, large ones in one pass over their memory each.

There are many ways to the same numbers, because explaining a step is to cost little more than the step: a few elements
are quickest in Python, many small arrays as one long one, and large arrays in a kernel. Sums are in double precision.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .. import kernels
from ..core.level import LevelValue
from .record import Values

SMALL = 64  # arrays of so many elements are given in full
FEW = 16  # and are measured in Python if they have no more than this
LARGE = 1024  # arrays of so many elements are measured one by one
SAFE = 1e-280, 1e300  # between these a sum of squares has lost nothing to the limits of its type

name_of = lru_cache(lambda dtype: dtype.name)  # NumPy composes names anew each time


def measured(arrays: Iterable[Any]) -> dict[int, Values]:
    """The numbers in each array, by its id. Sparse ones count as what they stand for, lifted ones as the array
    inside.
    """
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
                found[key] = of_sparse(a) if isinstance(a, LevelValue) else of_large(np.asarray(a))
        elif a.size >= LARGE or a.dtype.kind not in "fc":
            found[key] = of_large(a)
        elif a.size > FEW or a.size and a.dtype.kind == "c":
            small.setdefault(a.dtype, {})[key] = a
        else:
            found[key] = of_few(a)
    for group in small.values():
        together = of_small(list(group.values())) if len(group) > 1 else map(of_large, group.values())
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


def of_few(a: np.ndarray) -> Values:
    """Measure a few real numbers in Python."""
    values = a.tolist()
    xs = values if a.ndim == 1 else a.reshape(-1).tolist()
    n, norm = len(xs), math.hypot(*xs)
    if not n or not math.isfinite(norm):
        return of_large(a)
    return Values(a.shape, name_of(a.dtype), norm, sum(xs) / n, min(xs), max(xs), xs.count(0.0) / n, 0, 0, values)


def of_small(arrays: Sequence[np.ndarray]) -> list[Values]:
    """Measure many small arrays of one type, as one long array in which each has its part."""
    sizes = [a.size for a in arrays]
    flat = np.concatenate([a.reshape(-1) for a in arrays])
    flat = np.abs(flat) if flat.dtype.kind == "c" else flat
    flat = flat.astype(np.float64)
    starts = np.cumsum([0, *sizes[:-1]])
    with np.errstate(all="ignore"):
        sums, squares = np.add.reduceat(flat, starts).tolist(), np.add.reduceat(flat * flat, starts).tolist()
        least, most = np.minimum.reduceat(flat, starts).tolist(), np.maximum.reduceat(flat, starts).tolist()
        zeros = np.add.reduceat((flat == 0).astype(np.int64), starts).tolist()
    name = name_of(arrays[0].dtype)
    low, high = SAFE
    return [
        Values(a.shape, name, math.sqrt(q), s / n, x, y, z / n, 0, 0, a if n <= SMALL else None)
        if low < q < high or z == n
        else of_large(a)
        for a, n, s, q, x, y, z in zip(arrays, sizes, sums, squares, least, most, zeros)
    ]


def of_large(a: np.ndarray) -> Values:
    """Measure one array."""
    shape, name, n = a.shape, name_of(a.dtype), a.size
    a = a.astype(np.float32) if a.dtype.itemsize < 4 else a
    few = a if n <= SMALL else None
    if not n:
        return Values(shape, name, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, few)
    if n > 1 and not any(a.strides):  # one number, spread over a shape
        v = of_large(a[(0,) * a.ndim].reshape(()))
        return Values(shape, name, v.norm * math.sqrt(n), v.mean, v.min, v.max, v.zeros, v.nan * n, v.inf * n, few)
    a = np.abs(a) if a.dtype.kind == "c" else a
    flat = a.ravel("K")
    numbers = kernels.run("summary", "describe", n, flat)
    with np.errstate(all="ignore"):
        if numbers is None:
            flat = flat.astype(np.float64, copy=False)
            square = float(np.einsum("i,i->", flat, flat))  # BLAS's dot would wake its threads for it
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


def of_sparse(a: Any) -> Values:
    """Measure a sparse array: its stored elements, each place once, and the zeros between them."""
    stored = a.coalesce().value
    v, n, count = Values.of(stored), math.prod(a.shape), stored.size
    few = a.dense() if n <= SMALL else None
    least, most = (v.min, v.max) if count == n else (min(v.min, 0.0), max(v.max, 0.0))
    zeros = (n - count + v.zeros * count) / n if n else 0.0
    return Values(
        tuple(a.shape), v.dtype, v.norm, v.mean * count / n if n else 0.0, least, most, zeros, v.nan, v.inf, few, count
    )
