"""Cache blocking for elementwise formulas on NumPy alone: all steps but the first find their operands in the cache.

:class:`Blocks` wraps a NumPy function where there are no kernels, as
:class:`~pullback.kernels.codegen.elementwise.Kernels` does where there are. Every element goes through the same NumPy
loops as without it, so results are the same to the bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

ndarray = np.ndarray
BLOCK = 1 << 18  # bytes of each operand: several fit into the L2 cache, and calls are few
FROM = 4 * BLOCK  # below, few steps lose as much by copying each block to its place
SHORT = 6  # elements of rows below which NumPy's inner loops are too short
KNOWN = {ndarray, int, float, bool, str, type(None), tuple}


def same_layout(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether an array is a single number, or has the shape and strides of another."""
    return a.ndim <= b.ndim if a.size == 1 else a.shape == b.shape and a.flags.c_contiguous


class Blocks:
    """One elementwise function, block by block for large contiguous arrays of one shape.

    Args:
        function: of arrays and numbers.
        start: bytes of an operand, from which on there are blocks.
    """

    def __init__(self, function: Callable, start: int = FROM) -> None:
        self.function, self.start = function, start
        self.whole: bool | None = None  # whether it is a single step, which blocks do not make faster

    def __call__(self, *values: Any) -> Any:
        arrays = [v for v in values if v.__class__ is ndarray]
        most = max(arrays, key=np.size, default=None)
        if most is None or most.nbytes < BLOCK:
            return self.function(*values)
        if not all([a.shape == most.shape or a.size == 1 for a in arrays]):
            return self._by_columns(values, arrays)
        if self.whole or most.nbytes < self.start:
            return self.function(*values)
        if self.whole is None:
            self.whole = self._is_one_step(values)
        n, step = most.size, BLOCK // max([a.itemsize for a in arrays])
        if (
            self.whole
            or not all([v.__class__ in KNOWN for v in values])
            or not all([same_layout(a, most) for a in arrays])
        ):
            return self.function(*values)
        flat = [v.reshape(-1 if v.size > 1 else ()) if v.__class__ is ndarray else v for v in values]
        out: Any = None
        for i in range(0, n, step):
            block = [v[i : i + step] if v.__class__ is ndarray and v.ndim else v for v in flat]
            part = self.function(*block)
            if out is None:
                if (
                    part.__class__ is not ndarray
                    or part.shape != (step,)
                    or any([np.may_share_memory(part, b) for b in block])
                ):
                    return self.function(*values)  # such as the gradient itself
                out = np.empty(n, part.dtype)
            out[i : i + step] = part
        return out.reshape(most.shape)

    def _by_columns(self, values: tuple, arrays: list[ndarray]) -> Any:
        """Broadcasting along short rows, column by column: NumPy's inner loops would be as short."""
        try:
            *above, n = np.broadcast_shapes(*[a.shape for a in arrays])
        except ValueError:  # for the words of the error
            n = 0
        if (
            not 0 < n < SHORT
            or not all([a.flags.c_contiguous for a in arrays])
            or not all([v.__class__ in KNOWN for v in values])
        ):
            return self.function(*values)
        out: Any = None
        for k in range(n):
            column = [v[..., k % v.shape[-1]] if v.__class__ is ndarray and v.ndim else v for v in values]
            part = self.function(*column)
            if out is None:
                if part.__class__ is not ndarray or part.shape != (*above,):
                    return self.function(*values)
                out = np.empty((*above, n), part.dtype)
            out[..., k] = part
        return out

    def _is_one_step(self, values: tuple) -> bool:
        from .codegen.llvm_ir import F32  # not before there is something large
        from .codegen.scalar import Scalar, is_single_step, trace_scalar

        expression = trace_scalar(
            self.function, [Scalar.argument(i, F32) if v.__class__ is ndarray else v for i, v in enumerate(values)]
        )
        return expression is not None and is_single_step(expression)
