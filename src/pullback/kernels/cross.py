"""Vector products of triples that lie together in memory."""

from __future__ import annotations

import numpy as np

from .codegen.kernel_builder import COMPARED, Kernel, compiled_kernel

GRAIN = 1 << 13


@compiled_kernel
def _cross(d: np.dtype) -> str:
    k = Kernel("cross", COMPARED[d], ["x", "y", "out"])
    with k.f.loop(k.f["from"], k.f["to"]) as row:
        a, b = ([k.load_scalar(k[name], row * 3 + i) for i in range(3)] for name in ("x", "y"))
        for i in range(3):
            one, other = (i + 1) % 3, (i + 2) % 3
            k.store_scalar(a[one] * b[other] - a[other] * b[one], k["out"], row * 3 + i)
    return k.done(GRAIN)


def cross(x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """The products along the last dimension; None for types and layouts that NumPy is to take."""
    if x.dtype not in COMPARED or x.shape != y.shape or not (x.flags.c_contiguous and y.flags.c_contiguous):
        return None
    return _cross(x.dtype)(x.size // 3, x, y, np.empty(x.shape, x.dtype))
