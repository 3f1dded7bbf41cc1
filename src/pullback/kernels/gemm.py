"""Matrix products: BLAS through NumPy, or a kernel where that is faster for the shapes at hand."""

from __future__ import annotations

from typing import Any

from numpy import vecdot

from .. import kernels

LONG, FEW = 1 << 12, 36  # numbers in each of so many products of rows


def product(a: Any, b: Any, bias: Any = None) -> Any:
    """``a @ b + bias`` of two matrices."""
    if (
        a.shape[1] > LONG
        and len(a) * b.shape[1] <= FEW
        and a.dtype.kind == "f"
        and a.flags.c_contiguous
        and b.flags.f_contiguous
    ):
        out = vecdot(a[:, None], b.T)  # BLAS takes up to six times as long for a few long rows
        return out if bias is None else add_row(out, bias)
    if a.size * b.shape[1] >= kernels.SIZES["matmul"] and len(a) > 1 < b.shape[1] or kernels.MODE == "always":
        out = kernels.run("matmul", "product", kernels.NEVER - 1, a, b, bias)
        if out is not None:
            return out
    out = a.dot(b)
    return out if bias is None else add_row(out, bias)


def add_row(out: Any, row: Any) -> Any:
    """``out += row``. Machine code replaces it once a program is warm, see :mod:`pullback.engine.install_native`."""
    out += row
    return out
