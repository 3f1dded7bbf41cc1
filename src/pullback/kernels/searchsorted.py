"""Binary search without branches, for searchsorted and bucketize."""

from __future__ import annotations

import numpy as np

from .codegen.kernel_builder import COMPARED, Kernel, compiled_kernel
from .codegen.llvm_ir import I64

GRAIN = 1 << 11  # searches worth handing to another thread


@compiled_kernel
def _searchsorted(d: np.dtype, right: bool, of_rows: bool) -> str:
    """Items are values, ``each`` of them for a row of n edges. Every search takes the same number of steps, without
    branches, so that many are in flight at once.
    """
    k = Kernel("searchsorted", COMPARED[d], ["edges", "values", "out"], ["n", "each", "steps"])
    f, n, relation = k.f, k["n"], "le" if right else "lt"
    with f.loop(f["from"], f["to"]) as i:
        value = k.load_scalar(k["values"], i)
        edges = f.at(k["edges"], i // k["each"] * n, k.type) if of_rows else k["edges"]
        place, left = f.variable(0, I64), f.variable(n)
        with f.loop(0, k["steps"]):
            half = left.get() >> 1
            below = f.compare(relation, k.load_scalar(edges, place.get() + half - 1), value)
            # a branch would be guessed wrong half of the time
            place.set(place.get() + (half & f.convert("sext", below, I64)))
            left.set(left.get() - half)
        last = f.compare(relation, k.load_scalar(edges, place.get()), value)
        found = place.get() + f.convert("zext", last, I64)
        f.store(f.select(value.differs(value), n, found) if k.type.is_float else found, f.at(k["out"], i, I64))
    return k.done(GRAIN)


def searchsorted(edges: np.ndarray, values: np.ndarray, right: bool) -> np.ndarray | None:
    """Where values belong among sorted edges, or each row of them among a row of edges; NaN after all."""
    n = edges.shape[-1]
    if edges.dtype not in COMPARED or values.dtype != edges.dtype or not n or not values.size:
        return None
    of_rows, each = edges.size > n, values.shape[-1] if values.ndim else 1
    call = _searchsorted(edges.dtype, right, of_rows)
    edges, values = np.ascontiguousarray(edges), np.ascontiguousarray(values)
    return call(values.size, n, each, (n - 1).bit_length(), edges, values, np.empty(values.shape, np.int64))
