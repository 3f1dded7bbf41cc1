"""How results lie in memory. PyTorch says so for each operation, and programs notice: by ``stride()``, by a ``view`` that
is possible or not, by random numbers, which fill memory in its order. NumPy often keeps an operand's order instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def row_major(x: Array) -> Array:
    """The array itself if the last dimension is the innermost, and so on, without gaps; else a copy of which that is true."""
    return x if x.flags.c_contiguous else x.copy()


def laid_as_images(x: Array, result: Array) -> Array:
    """What is computed from images, with its channels innermost if theirs are."""
    if x.flags.c_contiguous or x.ndim not in (4, 5) or not np.moveaxis(x, 1, -1).flags.c_contiguous:
        return result
    return channels_innermost(result)


def channels_innermost(images: Array) -> Array:
    """Images (N, C, ...) with dimension 1 the innermost in memory."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(images, 1, -1)), -1, 1)


def own_order(x: Array) -> Any:
    """The ``order`` to give NumPy for a copy: the array's own where it has neither gaps nor repetitions, else row-major."""
    if x.flags.forc:
        return "K"
    last = sum([(n - 1) * abs(stride) for n, stride in zip(x.shape, x.strides)])
    return "K" if last + x.itemsize == x.nbytes else "C"


def laid_like(x: Array, values: Array) -> Array:
    """Values of `x`'s shape, given in the order of memory, laid out as `x` is (if that is without gaps or repetitions)."""
    if x.flags.c_contiguous or own_order(x) == "C":
        return values
    laid = np.empty_like(x, values.dtype)
    laid.ravel("K")[...] = values.reshape(-1)
    return laid
