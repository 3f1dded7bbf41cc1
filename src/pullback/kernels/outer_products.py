"""Batched outer products: the weight gradient of each example of a batch.

They are bound by writing to memory. Vectors of columns stay in registers while all rows of their example are written,
and a large result is written past the caches (nontemporal stores), where it would only evict what is used next.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .codegen import jit
from .codegen.kernel_builder import TYPES, UNROLL, Kernel, compiled_kernel
from .codegen.llvm_ir import Value

SHARE = 1 << 16  # elements of the result worth handing to another thread
PAST = 1 << 20  # bytes of a result that goes past the caches


@compiled_kernel
def outer_kernel(d: np.dtype, past: bool) -> str:
    """Arguments: items, examples, examples an item, rows, columns; arrays: the factors and the result.

    Args:
        past: whether to write past the caches; then every row of the result begins on a whole vector, and ends on one.
    """
    k = Kernel("outer", TYPES[d], ["x", "y", "out"], ["count", "each", "rows", "columns"])
    f, rows, columns = k.f, k["rows"], k["columns"]

    def write(row: Value, at: Value, value: Value, mask: Value | None) -> None:
        if past:
            f.line(
                f"store {k.vector.llvm} {value.text}, ptr {f.at(row, at, k.type).text}, align {jit.WIDTH}, "
                f"!nontemporal !0"
            )
        else:
            k.store(value, row, at, mask)

    with f.loop(f["from"] * k["each"], f.smaller(f["to"] * k["each"], k["count"])) as i:
        x, y = f.at(k["x"], i * rows, k.type), f.at(k["y"], i * columns, k.type)
        out = f.at(k["out"], i * rows * columns, k.type)

        def block(start: Value, vectors: int, mask: Value | None, x: Value = x, y: Value = y, out: Value = out) -> None:
            factors = [k.load(y, start + v * k.lanes, mask) for v in range(vectors)]
            with f.loop(0, rows) as r:
                by, row = k.splat(k.load_scalar(x, r)), f.at(out, r * columns, k.type)
                for v, factor in enumerate(factors):
                    write(row, start + v * k.lanes, by * factor, mask)

        begin: Any = 0
        for vectors in (UNROLL, UNROLL // 2):
            end = columns // (k.lanes * vectors) * (k.lanes * vectors)
            with f.loop(begin, end, k.lanes * vectors) as start:
                block(start, vectors, None)
            begin = end
        with f.loop(begin, columns, k.lanes) as start:
            block(start, 1, None if past else f.mask_below(columns - start, k.lanes))
    if past:
        f.line("fence seq_cst")  # such writes wait for nothing else
    return k.done(also=["!0 = !{i32 1}"])


def outer(x: np.ndarray, y: np.ndarray) -> Any:
    """``x[:, :, None] * y[:, None, :]``, for each row of ``x`` (n, rows) and of ``y`` (n, columns)."""
    d, (n, rows), columns = x.dtype, x.shape, y.shape[1]
    if d not in TYPES or y.dtype != d or not rows * columns:
        return None
    each = max(1, SHARE // (rows * columns))
    out = np.empty((n, rows, columns), d)
    past = out.nbytes >= PAST and columns * out.itemsize % jit.WIDTH == 0 and out.ctypes.data % jit.WIDTH == 0
    return outer_kernel(d, past)(
        -(-n // each), n, each, rows, columns, np.ascontiguousarray(x), np.ascontiguousarray(y), out
    )
