"""Small convolutions, plain or transposed, driven by index tables: nothing is compiled for the sizes at hand.

For large ones :mod:`pullback.kernels.convolution` has kernels of their sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.layout import as_contiguous
from .codegen.kernel_builder import TYPES, Kernel, compiled_kernel
from .codegen.llvm_ir import I64


@compiled_kernel
def _correlate(d: np.dtype) -> str:
    k = Kernel("conv_tables", TYPES[d], ["counts", "starts", "columns", "taps", "x", "w", "bias", "out"], ["biased"])
    f, type, (biased, counts, starts, columns, taps, x, w, bias, out) = k.f, k.type, k.args.values()
    channels, features, groups, plane, rows, by_group, by_feature, by_channel = (
        f.load(f.at(counts, i, I64), I64) for i in range(8)
    )
    with f.loop(f["from"], f["to"]) as item:
        feature = item % (groups * features)
        group, total = feature // features, f.variable(0.0, type)
        source = f.at(x, (item // features) * channels * plane, type)
        weights = f.at(w, group * by_group + feature % features * by_feature, type)
        with f.loop(0, rows) as row:
            total.set(0.0)
            with f.if_then(biased.differs(0)):
                total.set(f.load(f.at(bias, feature, type), type))
            first, last = (f.load(f.at(starts, row + i, I64), I64) for i in (0, 1))
            with f.loop(0, channels) as channel:
                pixels, factors = f.at(source, channel * plane, type), f.at(weights, channel * by_channel, type)
                with f.loop(first, last) as entry:
                    column, tap = (f.load(f.at(a, entry, I64), I64) for a in (columns, taps))
                    inside = column >= 0
                    value = f.select(inside, f.load(f.at(pixels, f.select(inside, column, 0), type), type), 0.0)
                    total.set(f.fma(value, f.load(f.at(factors, tap, type), type), total.get()))
            f.store(total.get(), f.at(out, item * rows + row, type))
    return k.done(1 << 30)  # always on one thread: it is small


def correlate(
    x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, tables: Sequence[np.ndarray], shape: tuple[int, ...]
) -> Any:
    """A convolution, or transposed one: each result is the sum of elements times weights, over channels and the entries
    of its row.

    Args:
        tables: counts (of channels, features of a group, groups, elements of a plane, rows; and how far apart in ``w``
            are groups, features, channels); where in the entries the rows begin, and the last ends; of each entry the
            number of the element, -1 for padding, and that of the weight.
        shape: of the result.
    """
    d = x.dtype
    if d not in TYPES:
        return None
    x, w, biased = as_contiguous(x), np.ascontiguousarray(w), bias is not None
    return _correlate(d)(
        shape[0] * shape[1], biased, *tables, x, w, np.ascontiguousarray(bias) if biased else w, np.empty(shape, d)
    )
