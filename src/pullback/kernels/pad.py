"""Rows with copies of their own elements at both ends."""

from __future__ import annotations

import numpy as np

from .codegen.kernel_builder import Kernel, compiled_kernel
from .codegen.llvm_ir import I64
from .transpose import STORED

GRAIN = 256


@compiled_kernel
def _pad_rows(itemsize: int) -> str:
    k = Kernel("pad_rows", STORED[itemsize], ["x", "index", "out"], ["n", "before", "after"])
    f, (n, before, after) = k.f, (k[name] for name in ("n", "before", "after"))
    width = n + before + after
    with f.loop(f["from"], f["to"]) as row:
        source, target = f.at(k["x"], row * n, k.type), f.at(k["out"], row * width, k.type)
        k.sweep(n, lambda at, mask, u: k.store(k.load(source, at, mask), target, at + before, mask), 1)
        for low, high in ((0, before), (n + before, width)):
            with f.loop(low, high) as i:
                k.store_scalar(k.load_scalar(source, f.load(f.at(k["index"], i, I64), I64)), target, i)
    return k.done(GRAIN)


def pad_rows(x: np.ndarray, before: int, after: int, index: np.ndarray) -> np.ndarray | None:
    """The last dimension with a border on both sides.

    Args:
        index: which element each of the result's is a copy of.
    """
    n = x.shape[-1]
    if x.itemsize not in STORED or not x.flags.c_contiguous or min(before, after) < 0 or not x.size:
        return None
    out = np.empty((*x.shape[:-1], len(index)), x.dtype)
    return _pad_rows(x.itemsize)(x.size // n, n, before, after, x, index, out)
